"""The loaders of benchmarks."""

import json
import shutil
from collections import Counter
from functools import partial
from pathlib import Path

from formlab import benchmarks, resources
from formlab.benchmarks.ixbrl import gold_pages
from tests import made_formfactory, made_vrdu
from tests.fuzz.targets.common import DOCS, corpus_found, page, put
from tests.fuzz.verdicts import Found, Target

SAMPLES = resources.folder("data/sample")


def funsd(folder: Path) -> None:
    for number, name in enumerate(DOCS):
        entities = [
            {"id": place, "text": text, "box": [5, 9 * place, 55, 9 * place + 8], "label": label,
             "words": [{"text": text, "box": [5, 9 * place, 55, 9 * place + 8]}],
             "linking": links}
            for place, (text, label, links) in enumerate(
                [("Name:", "question", [[0, 1]]), (f"Person {number}", "answer", [[0, 1]]),
                 ("Form", "header", []), ("9.00", "other", [])])
        ]  # fmt: skip
        put(folder, f"testing_data/annotations/{name}.json", {"form": entities})
        page(folder, f"testing_data/images/{name}.png")


def sroie(folder: Path) -> None:
    for name in ("000", "001", "002"):
        put(
            folder,
            f"key/{name}.json",
            {"company": "TEA, LTD", "date": "01/02/2020", "total": "9.00"},
        )
        lines = [
            "0,0,90,0,90,10,0,10,TEA, LTD",
            "0,40,50,40,50,50,0,50,01/02/2020",
            "0,60,50,60,50,70,0,70,9.00",
        ]
        put(folder, f"box/{name}.csv", "\n".join(lines) + "\n")
        page(folder, f"img/{name}.jpg")


def omniai(folder: Path) -> None:
    kinds = {
        "total": {"type": "number"},
        "paid": {"type": "boolean"},
        "names": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}}},
        },
    }
    for name in DOCS:
        item = {
            "imageUrl": f"https://files.example/pages/{name}.png?sig=1",
            "metadata": {"documentQuality": "scan", "format": "INVOICE"},
            "jsonSchema": {"type": "object", "properties": kinds},
            "trueJsonOutput": {"total": 9.5, "paid": None, "names": [{"name": "tea"}]},
            "trueMarkdownOutput": "# Bill\n\n9.50",
        }  # fmt: skip
        put(folder, f"{name}.json", item)
        page(folder, f"{name}.png")


def ocrbench(folder: Path) -> None:
    kie = "key information extraction en"
    items = [
        {"image_path": "EN_part/ada.png", "question": "Keys?", "dataset_name": "SROIE", "type": kie,
         "id": 1, "answers": ["{'company': ['BERG & CO'], 'a/b': ['LOT 1', 'LOT'], 'none': []}"]},
        {"image_path": "EN_part/bob.png", "question": "Due?", "dataset_name": "SROIE",
         "type": "reasoning VQA en", "id": 2, "answers": ["9.00", "RM 9.00"]},
        {"image_path": "EN_part/cyd.png", "question": "All?", "dataset_name": "FUNSD",
         "type": "full-page OCR en", "id": 3, "answers": ["All of it"]},
    ]  # fmt: skip
    put(folder, "OCRBench_v2.json", items)
    for name in DOCS:
        page(folder, f"EN_part/{name}.png")


def formcraft(folder: Path) -> None:
    for name in ("lease", "travel_claim", "repair_order"):
        form = json.loads((SAMPLES / f"formcraft/test/forms/{name}.json").read_text())
        put(folder, f"test/forms/{name}.json", form)
        for image in SAMPLES.glob(f"formcraft/test/images/{name}*.png"):
            page(folder, f"test/images/{image.name}", (600, 800))


def vrdu(folder: Path, packed: bool = False) -> None:
    made_vrdu.make(folder)
    # Data sets stand in folders of their own below the root.
    found = [
        ["who", [made_vrdu.one("Ann")]],
        [["what", "sum"], [[made_vrdu.one("tea"), made_vrdu.one("5")]]],
    ]
    made_vrdu.put(folder, found, packed=packed)
    if packed:
        (folder / "main" / "dataset.jsonl").unlink()
    home = folder / "made"
    home.mkdir()
    for name in ("main", "few_shot-splits"):
        shutil.move(folder / name, home / name)
    for name in "abc":
        (home / "main" / "pdfs" / f"{name}.pdf").write_bytes(PDF)


PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>"
    b"endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/CropBox[0 0 200 100]>>endobj\n"
    b"trailer<</Root 1 0 R>>\n"
)


def fincriticaled(folder: Path) -> None:
    source = SAMPLES / "fincriticaled"
    folder.mkdir(exist_ok=True)
    for number in (3, 4, 7):
        for name in (f"gold_{number}.txt", f"meta_{number}.json"):
            shutil.copy(source / name, folder / name)
        page(folder, f"images/{number}.png", (300, 400))
        put(
            folder,
            f"images/{number}.json",
            json.loads((source / f"images/{number}.json").read_text()),
        )


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


def _filing(folder: Path) -> Found:
    pages, facts, notes = gold_pages(folder / "filing.htm")
    assert len(pages) == len(facts)
    return Found(frozenset(), notes)


def load(name: str, folder: Path) -> Found:
    """The corpus is loaded, written, opened again, and scored without any answer."""
    corpus = benchmarks.load(name, root=folder)
    if corpus.records.height < 2000:
        corpus.save(folder / "saved")
        type(corpus).load(folder / "saved")
    return corpus_found(corpus)


def parts(name: str, folder: Path) -> Found:
    found = [corpus_found(corpus) for corpus in benchmarks.corpora(name, root=folder, records=4)]
    names = [name for one in found for name in one.documents]
    assert len(names) == len(set(names))
    return Found(frozenset(names), sum((Counter(one.counted) for one in found), Counter()))


def _silent(settings, threads):
    return lambda document, root: []


MAKERS = {
    "funsd": funsd, "sroie": sroie, "omniai": omniai, "ocrbench_v2": ocrbench,
    "formcraft": formcraft,
    "formfactory": made_formfactory.make, "vrdu": vrdu, "fincriticaled": fincriticaled,
}  # fmt: skip
HOMES = {
    "funsd": "testing_data/annotations/{}.json", "sroie": "key/{}.json", "omniai": "{}.json",
    "formcraft": "test/forms/{}.json", "fincriticaled": "gold_{}.txt",
}  # fmt: skip
TARGETS = [
    *(
        Target(f"load/{name}", make, partial(load, name), home=HOMES.get(name, ""))
        for name, make in MAKERS.items()
    ),
    Target(
        "load/vrdu packed", partial(vrdu, packed=True), partial(load, "vrdu"), only=r"\.gz$|split"
    ),
    *(
        Target(f"parts/{name}", MAKERS[name], partial(parts, name), home=HOMES.get(name, ""))
        for name in ("funsd", "formcraft", "vrdu", "omniai")
    ),
    Target("load/filing", lambda folder: put(folder, "filing.htm", FILING), _filing),
]
