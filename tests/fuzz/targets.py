"""All that reads files of others, by name: a small valid input, and how it is read."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from PIL import Image

from formlab import benchmarks, folders, pictures, registry
from formlab.benchmarks.ixbrl import gold_pages
from formlab.metrics.judge import parse as parse_judge
from formlab.readers import Source, logs, read_predictions
from formlab.readers import gold as own
from formlab.readers.types import FieldTypes
from formlab.tables import INFERRED
from formlab.text import answers, markup, values
from formlab.text.action_lines import line_rows
from formlab.text.ladder import ladder
from formlab.text.markup import read as read_flow
from formlab.text.markup import unmarked
from formlab.text.normalise import address, as_text, normalise
from formlab_arena import notation
from tests import made_vrdu
from tests.fuzz import inputs
from tests.fuzz.bench import Found, Target
from tests.fuzz.inputs import (
    DOCS,
    MAKERS,
    SAMPLES,
    corpus_found,
    files,
    predictions_found,
    put,
    scored,
)
from tests.fuzz.own_files import OWN_FILES

ROOT = Path(__file__).parents[2]
ENGINES = json.loads((ROOT / "tests/contract/data/engines.json").read_text())
LOGS = json.loads((ROOT / "tests/contract/data/logs.json").read_text())
PLUGINS = ROOT / "docs/plugins"


# --- benchmarks

HOMES = {
    "funsd": "testing_data/annotations/{}.json",
    "sroie": "key/{}.json",
    "omniai": "{}.json",
    "formcraft": "test/forms/{}.json",
    "fincriticaled": "gold_{}.txt",
}


def _load(name: str, folder: Path) -> Found:
    """The corpus is loaded, written and opened again, at once and in parts."""
    corpus = benchmarks.load(name, root=folder)
    corpus.save(folder / "saved")
    type(corpus).load(folder / "saved")
    parts = benchmarks.corpora(name, root=folder, records=4)
    names = [doc for part in parts for doc in part.documents["doc_id"]]
    assert sorted(names) == sorted(corpus.documents["doc_id"])
    return corpus_found(corpus)


def _filing(folder: Path) -> Found:
    pages, facts, notes = gold_pages(folder / "filing.htm")
    assert len(pages) == len(facts)
    return Found(frozenset(), notes)


# --- predictions of others: the gold lies beside them in the input, and is never changed


def _answers_target(name: str, benchmark: str, made: dict[str, Any], home: str = "") -> Target:
    def make(folder: Path) -> None:
        MAKERS[benchmark](folder / "gold")
        files(made)(folder / "answers")

    def read(folder: Path) -> Found:
        corpus = benchmarks.load(benchmark, root=folder / "gold")
        plain = [folder / "answers" / file for file in made if file.startswith("p.")]
        predictions = read_predictions(plain[0] if plain else folder / "answers", corpus)
        scored(corpus, predictions)
        return predictions_found(predictions)

    return Target(f"answers/{name}", make, read, only="^answers", home=home and f"answers/{home}")


def _engine(name: str, content: Any) -> Target:
    """A small form as an engine writes it, for every document."""
    engine, _, file = name.partition("/")
    ending = Path(file).suffix
    return _answers_target(
        engine, "funsd", {f"{d}{ending}": content for d in DOCS}, f"{{}}{ending}"
    )


def _form_answer(name: str) -> dict[str, Any]:
    form = inputs.form(name)
    answer = {key: form[key] for key in ("fields", "groups") if key in form}
    return answer | {"vqa": {"q1": ["a"]}, "consistency": [{"id": "c1", "answer": "Ada"}]}


FACTORY = "A12_json_grant_applications_20260102_0304"
BOX = {"x0": 1, "y0": 1, "x1": 9, "y1": 9, "page": 1}
PLAIN = [
    {"doc_id": "ada", "text": "Name: Person 0", "seconds": 1.5, "tokens_in": 7},
    {"doc_id": "bob", "path": "/entities/1", "value": "Person", "confidence": 0.5, **BOX},
    {"doc_id": "cyd", "text": None, "status": "api_error", "error": "time-out"},
]
FORMS = {f"{name}.json": _form_answer(name) for name in ("lease", "travel_claim")}
FORMS["repair_order.txt"] = 'Sure:\n```json\n{fields: [{label: "Name", value: "Ada"}\n```'
RESPONSE = {"model_response": "[15,20] Ada\n[120,20] Berg", "status": "success"}
GRANT = {"template_used": "A12", "data_source": "grant_applications", "model_response": RESPONSE}
FOUND = [["what", made_vrdu.one("tea")], ["who", made_vrdu.one("Ann")]]
RESULTS = {"meta": {"model": "m"}, "results": {"a.pdf": FOUND, "b.pdf": []}}
PRED = "<p>Page <number>47</number> of <b>Tarn Corp.</b></p>"
PARSED = {"predictedMarkdown": "9", "predictedJson": {"total": 9.0}, "usage": {"duration": 41}}

# --- logs of other harnesses


def _log(name: str, folder: Path) -> Found:
    registry.load(PLUGINS / "ocrbench.py")
    found, counted = set(), Counter[str]()
    for evaluation in logs.open_logs(folder / name):
        logs.headlines(evaluation)
        logs.differences(evaluation)
        found |= set(evaluation.documents["doc_id"])
        counted.update(evaluation.notes)
    return Found(frozenset(found), counted)


def _written_log(name: str) -> Target:
    """A log as its harness wrote it."""
    source = ROOT / "tests/readers/logs" / name

    def make(folder: Path) -> None:
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / name)

    return Target(f"log/{source.stem}", make, partial(_log, name))


def _funsd_bench(folder: Path) -> None:
    result = {"type": "full", "chunks": [{"blocks": [{"type": "Text", "content": "Name:"}]}]}
    figures = {"success": True, "cer": 0.25, "wer": 0.0, "word_match_accuracy": 1}
    documents = []
    for form in sorted((SAMPLES / "funsd/testing_data/annotations").glob("*"))[:3]:
        parse = {"filename": f"{form.stem}.png", "success": True, "duration_ms": 5100}
        parse |= {"extracted_text": "", "response": {"data": {"result": result}}}
        put(folder, f"results/parses/{form.stem}.json", parse)
        documents.append(figures | {"filename": form.stem, "ref_text": "N", "hyp_text": "N"})
    summary = {"summary": {"successful_parses": 3}, "cer_stats": {"mean": 0.25}}
    put(folder, "results/results.json", summary | {"documents": documents})


def _read_funsd_bench(folder: Path) -> Found:
    registry.load(PLUGINS / "funsd_bench.py")
    rows = logs.log_rows(folder / "results", Source(folder / "results"))
    calls = [row for row in rows if row["role"] == "call"]
    unreadable = sum(row["status"] == "api_error" for row in calls)
    return Found(frozenset(row["doc_id"] for row in calls), Counter({"unreadable": unreadable}))


# --- a user's own gold, answers and types


def _own(ending: str, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for stem, rows in (("gold", inputs.GOLD), ("answers", inputs.ANSWERS)):
        frame, file = pl.DataFrame(rows), folder / f"{stem}.{ending}"
        if ending == "csv":
            frame.write_csv(file)
        elif ending == "parquet":
            frame.write_parquet(file)
        elif ending == "xlsx":
            frame.to_pandas().to_excel(file, index=False)
        else:
            put(folder, file.name, rows)


def _own_folder(folder: Path) -> None:
    for name in DOCS:
        items = {"total": "9.00", "items": [{"name": "tea", "price": 4}]}
        put(folder, f"gold.json/{name}.json", items)
        put(folder, f"answers.json/{name}.json", {"total": 9, "items": [{"name": "jam"}]})


def _counted(corpus: folders.Corpus, predictions: folders.Predictions) -> Found:
    """Without the fields whose types were inferred."""
    flaws = {what: n for what, n in corpus.flaws.items() if not what.startswith(INFERRED)}
    odd = Counter(flaws) + Counter(predictions_found(predictions).counted)
    return Found(frozenset(corpus.documents["doc_id"]), odd)


def _pair(ending: str, folder: Path) -> Found:
    corpus = own.corpus(folder / f"gold.{ending}")
    predictions = read_predictions(folder / f"answers.{ending}", corpus)
    scored(corpus, predictions)
    return _counted(corpus, predictions)


def _types(name: str, folder: Path) -> Found:
    own.corpus(inputs.GOLD, types=folder / name)
    return Found(frozenset(FieldTypes.read(folder / name).fields))


# --- images, PDFs, and what models answer


def _image(name: str, folder: Path) -> None:
    modes = {"16.png": "I;16", "a.png": "RGBA", "c.jpg": "CMYK"}
    picture = Image.radial_gradient("L").resize((40, 30)).convert("I")
    picture = picture.convert(modes.get(name, "L")) if name == "16.png" else picture.convert("RGB")
    picture = picture.convert(modes.get(name, picture.mode))
    exif = Image.Exif()
    exif[0x0112] = 6
    more = {"save_all": True, "append_images": [picture] * 2} if name == "a.tiff" else {}
    picture.save(folder / name, **more, **({"exif": exif} if name == "exif.jpg" else {}))


def _pdf(folder: Path) -> None:
    source = sorted((SAMPLES / "vrdu/ad-buy-form/main/pdfs").glob("*.pdf"))[0]
    shutil.copy(source, folder / "a.pdf")


def _read_pages(name: str, folder: Path) -> Found:
    pages = len(pictures.page_sizes(folder / name))
    for page in range(1, min(pages, 3) + 1):
        pictures.read_image(folder / name, page=page, width=200 if name == "a.pdf" else None)
    return Found()


def _typed(text: str) -> None:
    readers = (values.number, values.money, values.date, values.choices, values.checked, address)
    for line in text.splitlines()[:20]:
        for read in readers:
            read(line)
        ladder(line, "9.00", kind="money")
        normalise(line)


def _markup(text: str) -> None:
    markup.visible_text(text)
    list(markup.events(text))
    read_flow(text)
    unmarked(text)


TEXT_READERS: dict[str, Callable[[str], object]] = {
    "json": lambda text: as_text(answers.parse(text).value),
    "html": _markup,
    "markdown": _markup,
    "lines": line_rows,
    "actions": notation.parse,
    "judge": parse_judge,
    "values": _typed,
}


def _text_target(name: str) -> Target:
    def read(folder: Path) -> Found:
        file = folder / "answer.txt"
        TEXT_READERS[name](file.read_text("utf-8", "replace") if file.is_file() else "")
        return Found()

    return Target(
        f"text/{name}", files({"answer.txt": inputs.ANSWER_TEXTS[name]}), read, placeless=True
    )


# --- all

PAGES = ("a.png", "16.png", "exif.jpg", "c.jpg", "a.tiff", "a.webp")
MADE_LOGS = ("lmms/1_samples_forms.jsonl", "kit/m_F.json", "omniai", "olmocr", "ocrbench/m.json")
_EVERY = [
    *(Target(f"load/{n}", m, partial(_load, n), home=HOMES.get(n, "")) for n, m in MAKERS.items()),
    Target("load/filing", files({"filing.htm": inputs.FILING}), _filing),
    *(_engine(name, content) for name, content in ENGINES.items()),
    _answers_target("plain", "funsd", {"p.jsonl": PLAIN}),
    _answers_target("formcraft", "formcraft", FORMS, "{}.json"),
    _answers_target(
        "formfactory",
        "formfactory",
        {f"{FACTORY}0{number}.json": GRANT | {"instance": number} for number in (1, 2)},
        FACTORY + "{0[4]}{0[5]}.json",
    ),
    _answers_target(
        "fincriticaled", "fincriticaled", {f"pred_{n}.txt": PRED for n in (3, 4, 7)}, "pred_{}.txt"
    ),
    _answers_target(
        "omniai",
        "omniai",
        {"results.json": [PARSED | {"fileUrl": f"https://x/{name}.png"} for name in DOCS]},
    ),
    _answers_target("vrdu", "vrdu", {f"{made_vrdu.SPLIT}-test_predictions.json": RESULTS}),
    *map(_written_log, ("form.eval", "model-a_FormsVQA.xlsx", "stickler.jsonl", "docling")),
    *(Target(f"log/{name}", files(LOGS), partial(_log, name)) for name in MADE_LOGS),
    Target("log/funsd_bench", _funsd_bench, _read_funsd_bench, home="results/parses/{}.json"),
    *(
        Target(f"own/{ending}", partial(_own, ending), partial(_pair, ending))
        for ending in ("csv", "jsonl", "json", "parquet", "xlsx")
    ),
    Target("own/folder", _own_folder, partial(_pair, "json"), home="gold.json/{}.json"),
    Target("own/types json", files({"types.json": inputs.SCHEMA}), partial(_types, "types.json")),
    Target("own/types yaml", files({"types.yaml": inputs.TYPES}), partial(_types, "types.yaml")),
    *OWN_FILES,
    *(Target(f"page/{name}", partial(_image, name), partial(_read_pages, name)) for name in PAGES),
    Target("page/pdf", _pdf, partial(_read_pages, "a.pdf")),
    *map(_text_target, TEXT_READERS),
]
TARGETS = {target.name: target for target in _EVERY}
