"""A user's own gold, answers and types."""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import polars as pl

from formlab.readers import gold as own
from formlab.readers.types import FieldTypes
from formlab.scoring import batches
from formlab.tables import INFERRED
from tests.fuzz.targets.common import DOCS, corpus_found, page, predictions_found, put, rows, scored
from tests.fuzz.verdicts import Found, Target

ROWS = [
    {"doc_id": name, "total": f"{number + 1}.00", "day": "2024-05-01", "note": "a, b", "paid": "on"}
    for number, name in enumerate(DOCS)
]  # fmt: skip
ANSWERS = [
    {"doc_id": name, "path": path, "value": "2.00"} for name in DOCS for path in ("total", "day")
]  # fmt: skip


def _table(ending: str, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for stem, values in (("gold", ROWS), ("answers", ANSWERS)):
        _written(pl.DataFrame(values), folder, stem, ending)
    for name in DOCS:
        page(folder, f"images/{name}.png")


def _written(frame: pl.DataFrame, folder: Path, stem: str, ending: str) -> None:
    file = folder / f"{stem}.{ending}"
    if ending in ("csv", "tsv"):
        frame.write_csv(file, separator="," if ending == "csv" else "\t")
    elif ending == "parquet":
        frame.write_parquet(file)
    elif ending == "jsonl":
        rows(folder, file.name, frame.to_dicts())
    elif ending == "json":
        put(folder, file.name, frame.to_dicts())
    else:
        _workbook(frame, file)


def _workbook(frame: pl.DataFrame, file: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(frame.columns)
    for row in frame.rows():
        book.active.append(row)
    book.save(file)


def _folder(folder: Path) -> None:
    for name in DOCS:
        put(
            folder,
            f"gold.json/{name}.json",
            {"total": "9.00", "items": [{"name": "tea", "price": 4}]},
        )
        put(folder, f"answers.json/{name}.json", {"total": 9, "items": [{"name": "jam"}]})
        page(folder, f"images/{name}.png")


def _pair(ending: str, folder: Path) -> Found:
    corpus, answers = own.pair(
        folder / f"gold.{ending}", folder / f"answers.{ending}", images=folder / "images"
    )
    scored(corpus, answers)
    found, said = corpus_found(corpus), predictions_found(answers)
    return Found(found.documents, _flaws(corpus.flaws) + Counter(said.counted))


def _flaws(flaws: Mapping[str, int]) -> Counter[str]:
    """Without the fields whose types were inferred."""
    return Counter({what: n for what, n in flaws.items() if not what.startswith(INFERRED)})


def _cut(ending: str, folder: Path) -> Found:
    gold, answers = folder / f"gold.{ending}", folder / f"answers.{ending}"
    corpora = batches.own_gold(gold, folder / "own")
    cut = batches.batches(corpora, answers, folder / "batches")
    names, counted = set(), _flaws(cut.corpus.flaws)
    counted.update(cut.predictions.notes)
    for batch in cut.batches:
        corpus, predictions = batch.opened()
        names |= set(corpus.documents["doc_id"])
        counted.update(predictions_found(predictions).counted)
    return Found(frozenset(names), counted)


SCHEMA = {
    "$schema": "x", "type": "object", "required": ["total"],
    "properties": {"total": {"type": "number", "tolerance": 0.01},
                   "day": {"type": "string", "format": "date"},
                   "items": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
    "$defs": {"item": {"type": "object", "properties": {"name": {"type": ["string", "null"]}}}},
}  # fmt: skip
FIELDS = """total: money
day: {type: date, weight: 2}
note:
  type: string
  comparator: typed
  required: true
paid: checkbox
"""


def _types(name: str, folder: Path) -> Found:
    own.corpus(ROWS, types=folder / name)
    return Found(frozenset(FieldTypes.read(folder / name).fields))


def _target(
    name: str, make: Callable[[Path], object], read: Callable[[Path], Found], home: str = ""
) -> Target:
    return Target(f"own/{name}", make, read, home=home)


ENDINGS = ("csv", "tsv", "jsonl", "json", "parquet", "xlsx")
TARGETS = [
    *(_target(ending, partial(_table, ending), partial(_pair, ending)) for ending in ENDINGS),
    _target("folder", _folder, partial(_pair, "json"), home="gold.json/{}.json"),
    *(
        _target(f"batches {ending}", partial(_table, ending), partial(_cut, ending))
        for ending in ("csv", "jsonl", "parquet")
    ),
    _target("batches folder", _folder, partial(_cut, "json"), home="gold.json/{}.json"),
    _target(
        "types json",
        lambda folder: put(folder, "types.json", SCHEMA),
        partial(_types, "types.json"),
    ),
    _target(
        "types yaml",
        lambda folder: put(folder, "types.yaml", FIELDS),
        partial(_types, "types.yaml"),
    ),
]
