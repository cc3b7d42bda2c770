"""Small valid inputs, with an item a line: a change of one leaves the lines of the others."""

import json
import shutil
from collections import Counter
from pathlib import Path

from PIL import Image

from formlab import analysis, folders, resources
from formlab.scoring.evaluate import evaluate
from tests import made_formfactory, made_vrdu
from tests.fuzz.bench import Found
from tests.fuzz.mutations import lined

SAMPLES = resources.folder("data/sample")
# Names that stand nowhere else in an input.
DOCS = ("ada", "bob", "cyd")


def put(folder: Path, name: str, value: object) -> None:
    """A file of bytes, of text, of JSON Lines by its ending, or of JSON."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(value, bytes):
        path.write_bytes(value)
    elif isinstance(value, str):
        path.write_text(value)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in value))
    else:
        path.write_text(lined(value))


def files(made):
    """A maker of these files."""
    return lambda folder: [put(folder, name, content) for name, content in made.items()]


def corpus_found(corpus: folders.Corpus) -> Found:
    return Found(frozenset(corpus.documents["doc_id"]), corpus.flaws)


def predictions_found(predictions: folders.Predictions) -> Found:
    tables = (predictions.records, predictions.responses)
    names = frozenset(name for table in tables for name in table["doc_id"])
    odd = Counter(status for table in tables for status in table["status"] if status != "ok")
    return Found(names, odd + Counter(predictions.notes))


def scored(corpus: folders.Corpus, predictions: folders.Predictions) -> None:
    """What was read is also scored and summed up: what a loader lets in must not fail there."""
    analysis.summarise(evaluate(corpus, predictions), resamples=0)


def page(folder: Path, name: str, size=(60, 40)) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size, 255).save(folder / name)


def funsd(folder: Path) -> None:
    for number, name in enumerate(DOCS):
        words = [
            ("Name:", "question", [[0, 1]]), (f"Person {number}", "answer", [[0, 1]]),
            ("Form", "header", []), ("9.00", "other", []),
        ]  # fmt: skip
        entities = []
        for place, (text, label, links) in enumerate(words):
            word = {"text": text, "box": [5, 9 * place, 55, 9 * place + 8]}
            more = {"id": place, "label": label, "words": [word], "linking": links}
            entities.append(word | more)
        put(folder, f"testing_data/annotations/{name}.json", {"form": entities})
        page(folder, f"testing_data/images/{name}.png")


def sroie(folder: Path) -> None:
    texts = ("TEA, LTD", "01/02/2020", "9.00")
    lines = [f"0,{y},90,{y},90,{y + 9},0,{y + 9},{text}\n" for y, text in enumerate(texts)]
    for name in ("000", "001", "002"):
        put(folder, f"key/{name}.json", dict(zip(("company", "date", "total"), texts, strict=True)))
        put(folder, f"box/{name}.csv", "".join(lines))
        page(folder, f"img/{name}.jpg")


def omniai(folder: Path) -> None:
    names = {"type": "array", "items": {"properties": {"name": {"type": "string"}}}}
    kinds = {"total": {"type": "number"}, "paid": {"type": "boolean"}, "names": names}
    for name in DOCS:
        item = {
            "imageUrl": f"https://files.example/pages/{name}.png?sig=1",
            "metadata": {"documentQuality": "scan", "format": "INVOICE"},
            "jsonSchema": {"type": "object", "properties": kinds},
            "trueJsonOutput": {"total": 9.5, "paid": None, "names": [{"name": "tea"}]},
            "trueMarkdownOutput": "# Bill\n\n9.50",
        }
        put(folder, f"{name}.json", item)
        page(folder, f"{name}.png")


def ocrbench(folder: Path) -> None:
    asked = (
        ("key information extraction en", ["{'company': ['BERG & CO'], 'a/b': ['LOT 1', 'LOT']}"]),
        ("reasoning VQA en", ["9.00", "RM 9.00"]), ("full-page OCR en", ["All of it"]),
    )  # fmt: skip
    items = []
    for number, (name, (kind, answers)) in enumerate(zip(DOCS, asked, strict=True)):
        image = f"EN_part/{name}.png"
        page(folder, image)
        item = {"image_path": image, "question": "?", "dataset_name": "SROIE", "type": kind}
        items.append(item | {"id": number, "answers": answers})
    put(folder, "OCRBench_v2.json", items)


def formcraft(folder: Path) -> None:
    for name in ("lease", "travel_claim", "repair_order"):
        put(folder, f"test/forms/{name}.json", form(name))
        for image in SAMPLES.glob(f"formcraft/test/images/{name}*.png"):
            page(folder, f"test/images/{image.name}", (600, 800))


def form(name: str) -> dict:
    return json.loads((SAMPLES / f"formcraft/test/forms/{name}.json").read_text())


def vrdu(folder: Path) -> None:
    # Data sets stand in folders of their own below the root.
    home = made_vrdu.make(folder / "made")
    items = [[made_vrdu.one("tea"), made_vrdu.one("5")]]
    made_vrdu.put(home, [["who", [made_vrdu.one("Ann")]], [["what", "sum"], items]])
    for name in "abc":
        put(home, f"main/pdfs/{name}.pdf", PDF)


PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>"
    b"endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/CropBox[0 0 200 100]>>endobj\n"
    b"trailer<</Root 1 0 R>>\n"
)


def fincriticaled(folder: Path) -> None:
    for number in (3, 4, 7):
        page(folder, f"images/{number}.png", (300, 400))
        for name in (f"gold_{number}.txt", f"meta_{number}.json", f"images/{number}.json"):
            shutil.copy(SAMPLES / "fincriticaled" / name, folder / name)


MAKERS = {
    "funsd": funsd, "sroie": sroie, "omniai": omniai, "ocrbench_v2": ocrbench,
    "formcraft": formcraft, "formfactory": made_formfactory.make, "vrdu": vrdu,
    "fincriticaled": fincriticaled,
}  # fmt: skip
FILING = """<?xml version="1.0"?>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"><body>
<ix:header><ix:hidden><ix:nonNumeric name="dei:X">no</ix:nonNumeric></ix:hidden></ix:header>
<p>Report of <ix:nonNumeric name="dei:EntityRegistrantName">Tarn Corp.</ix:nonNumeric></p>
<hr style="page-break-after:always"/>
<ix:nonNumeric name="us-gaap:TextBlock"><p>Income <ix:nonFraction name="us-gaap:NI"
 scale="6" sign="-" format="ixt:num-dot-decimal" unitRef="usd">1,279</ix:nonFraction>)</p>
<hr style="page-break-after:always"/><p>Shares <ix:nonFraction name="us-gaap:S"
 format="ixt:num-comma-decimal">1.234,5</ix:nonFraction></p></ix:nonNumeric>
</body></html>"""
GOLD = [
    {"doc_id": name, "total": f"{number}.00", "day": "2024-05-01", "note": "a, b", "paid": "on"}
    for number, name in enumerate(DOCS)
]
ANSWERS = [{"doc_id": name, "path": path, "value": "2"} for name in DOCS for path in GOLD[0]]
TYPES = """total: money
day: {type: date, weight: 2}
note:
  type: string
  comparator: typed
  required: true
paid: checkbox
"""
ITEM = {"type": "object", "properties": {"name": {"type": ["string", "null"]}}}
KEYS = {
    "total": {"type": "number", "tolerance": 0.01}, "day": {"type": "string", "format": "date"},
    "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
}  # fmt: skip
SCHEMA = {"type": "object", "required": ["total"], "properties": KEYS, "$defs": {"item": ITEM}}
TASKS = [
    {"name": "ada", "address": "http://127.0.0.1:1/a", "text": "Fill.", "gold": {"Ok": True}},
    {"name": "bob", "address": "https://x/b", "text_file": "text.txt", "gold_file": "gold.json"},
    {"name": "cyd", "address": "https://example.com/c", "text": "x", "files": ["text.txt"]},
]
TEXT = """- name: A12-00{}
  kind: prose
  text: 'Given name: Jun.'
  seed: 0
  values: {{first: Jun, last: Berg, letter: false}}
"""
DECISION = {
    "benchmark": "funsd", "split": "test", "task": "text", "path": "/entities/1",
    "decision": "edit", "label": "a", "value": "b", "time": "2024-05-01T10:00:00",
    "parts": {"subtype": "circle"},
}  # fmt: skip
QUESTION = {
    "id": "d1", "question": "A?", "answers": ["5", "five"], "fields": ["/A"],
    "scope": "intra-group", "reference": "direct-link", "complexity": "simple",
    "modal": "single-modality",
}  # fmt: skip
# What a model answers, by what reads it.
ANSWER_TEXTS = {
    "json": 'Sure:\n```json\n{"fields": [{"label": "Name", "value": "Ada"}], "total": 9.00}\n```',
    "html": "<html><body><h1>Bill</h1><table><tr><td colspan=2>Tea</td><td>9 &amp; more</td></tr>"
    "</table><p>Total <number>1,279</number> of 03/05/2024</p></body></html>",
    "markdown": "# Bill\n\n| Item | Price |\n|---|---|\n| tea | **9.00** |\n\n- [x] paid\n",
    "lines": "[640,585] Ada Berg\n- [1,2] x\n[A13_2][5,6] Fall\n",
    "actions": 'click(10, 20)\ntype("Ada")\n{"action": "click", "x": 1, "y": 2}\n',
    "judge": '{"verdicts": [{"id": 1, "verdict": "correct"}]}',
    "values": "9.00\n$1,234.50\n03/05/2024\nMay 3, 2024\nyes\n[x] a, [ ] b\n1 Main St\n1.5e3\n٣٤\n",
}
