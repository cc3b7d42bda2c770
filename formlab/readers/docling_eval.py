"""Logs of docling-eval: Parquet shards with gold and prediction, or a folder of predictions.

Both sides are Docling documents, written as JSON. The page's text is that of its body in reading
order; a field is a key and the value that a link leads to, at ``/<key>``. A document whose
conversion failed is `api_error`, a partial one `truncated`. Figures of the run stand beside them in
``evaluation_<benchmark>_<modality>.json``. A folder of predictions has no gold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files
from formlab.readers import door, samples
from formlab.readers.engine import at, numbered
from formlab.readers.rows import Reader, Row, Source
from formlab.tables import USABLE
from formlab.trees import escape

SEVERAL = "documents with several key-value items; docling-eval scores only the first"
_COLUMNS = ("GroundTruthDocument", "PredictedDocument", "predictor_info", "status", "document_id")
_STATUS = {"success": "ok", "partial_success": "truncated", "pending": "missing"}
_PAGE = {"path": None, "kind": "page"}
_FIRST = 50


def fits(path: Path) -> bool:
    """Whether Parquet files have these columns, or a folder holds Docling documents."""
    for shard in _shards(path)[:1]:
        try:
            return {_COLUMNS[0], _COLUMNS[-1]} <= {*files.parquet_columns(shard)}
        except (pl.exceptions.PolarsError, OSError):
            return False
    # Not all of a folder of thousands of answers, which is asked about too.
    return path.is_dir() and any(map(_is_document, sorted(path.iterdir())[:_FIRST]))


def read(source: Source) -> Iterator[Row]:
    """The rows of a file or folder."""
    path, shards = source.path.resolve(), _shards(source.path)
    scores: dict[str, Row] = {}

    def figures(file: Path) -> Iterator[Row]:
        modality, stated = file.stem.rpartition("_")[2], files.read_json(file)
        for row in stated.get("evaluations") or ():
            named = {f"{modality}/{k}": v for k, v in row.items() if k.endswith(("f1", "_bbox"))}
            scores.setdefault(str(row.get("doc_id")), {}).update(named)
        for reason, count in (stated.get("rejected_samples") or {}).items():
            source.notes[f"documents that docling-eval rejected: {reason}"] += int(count)
        for key, value in stated.items():
            if key.endswith("_stats") and isinstance(value, dict) and "mean" in value:
                scorer = f"{modality}/{key.removesuffix('_stats')}"
                yield samples.figure(scorer, "mean", value["mean"], value.get("total"))

    def sample_of(entry: Row | Path, origin: str) -> samples.Sample:
        sample = (_predicted if isinstance(entry, Path) else _compared)(entry, origin, source)
        sample.scores = scores.get(str(sample.doc_id), {})
        return sample

    source.files += shards
    beside = sorted((path if path.is_dir() else path.parent).glob("evaluation_*.json"))
    headline = [row for file in beside for row in samples.stated(source, file, figures)]
    documents = filter(_is_document, sorted(path.iterdir()) if path.is_dir() else ())
    entries = _rows(shards) if shards else ((file.name, file) for file in documents)
    yield from samples.sample_rows(source, door.stem(path), entries, sample_of)
    yield from headline


def _shards(path: Path) -> list[Path]:
    found = path.rglob("*.parquet") if path.is_dir() else [path]
    return sorted(f for f in found if door.ending(f) == ".parquet" and files.is_file(f))


def _rows(shards: list[Path]) -> Iterator[tuple[str, Row]]:
    for shard in shards:
        # Not the images, which are most of a shard.
        names = [name for name in files.parquet_columns(shard) if name in _COLUMNS]
        rows = pl.read_parquet(shard, columns=names, glob=False).to_dicts()
        yield from ((f"{shard.name}, row {count}", row) for count, row in enumerate(rows, start=1))


def _is_document(file: Path) -> bool:
    start = door.head(file) if not file.name.startswith("evaluation_") else b""
    return door.ending(file) == ".json" and b"DoclingDocument" in start


def _predicted(file: Path, origin: str, source: Source) -> samples.Sample:
    """One document of a folder of predictions: the text of its pages."""
    sample = samples.Sample(file.stem, None, status="bad_json", system=file.parent.name)
    with samples.reading(source, origin):
        sample.answer = text_of(files.read_json(file))
        sample.status = "ok"
    return sample


def _compared(row: Row, origin: str, source: Source) -> samples.Sample:
    """One document with its gold: the texts of its pages, and the values of its keys."""
    gold, answer, info = (
        value if isinstance(value, dict) else door.decoded(value or "{}", dict[str, Any], origin)
        for value in map(row.get, _COLUMNS[:3])
    )
    stated = str(row.get("status") or "success").lower().rpartition(".")[2]
    status = _STATUS.get(stated, "api_error") if answer else "api_error"
    is_usable = status in USABLE
    source.notes[SEVERAL] += len(gold.get("key_value_items") or ()) > 1
    sides = [list(_pairs(gold)), list(_pairs(answer)) if is_usable else []]
    # Several values of one key, on either side, are numbered.
    counts = [Counter(path for path, _ in side) for side in sides]
    lists = {path for count in counts for path in count if count[path] > 1}
    places = [numbered([path for path, _ in side], lists) for side in sides]
    golds, claims = (
        [{"path": path, "value": pair[1]} for path, pair in zip(paths, side, strict=True)]
        for paths, side in zip(places, sides, strict=True)
    )
    return samples.Sample(
        row["document_id"],
        None,
        golds=[_PAGE | {"value": text_of(gold)}, *golds],
        claims=[_PAGE | {"value": text_of(answer) if is_usable else None}, *claims],
        answer=text_of(answer) if answer else None,
        status=status,
        call={"error": None if is_usable else f"conversion: {stated}"},
        system=str(info.get("asset") or info.get("name") or "docling"),
    )


def text_of(document: Row) -> str:
    """The text of a Docling document, in the order of its body; without headers and footers.

    >>> text_of({"texts": [{"text": "Name"}, {"text": "Ada"}], "body": {"children": [
    ...     {"$ref": "#/texts/1"}, {"$ref": "#/texts/0"}]}})
    'Ada Name'
    """
    texts, nodes, seen = [], [document.get("body") or {}], set()
    while nodes:
        # Of children that lead back to what they are children of there would be no end.
        if id(node := nodes.pop()) in seen:
            continue
        seen.add(id(node))
        cells = at(node, "data", "table_cells") or ()
        texts += [str(part["text"]) for part in (node, *cells) if part.get("text")]
        for child in reversed(node.get("children") or ()):
            target: Any = document
            for step in str(child.get("$ref", "")).removeprefix("#/").split("/"):
                target = target[int(step)] if isinstance(target, list) else target.get(step) or {}
            nodes.append(target)
    return " ".join(texts)


def _pairs(document: Row) -> Iterator[tuple[str, str | None]]:
    """The path of each key and the text of its value."""
    for item in document.get("key_value_items") or ():
        cells = {cell.get("cell_id"): cell for cell in at(item, "graph", "cells") or ()}
        for link in at(item, "graph", "links") or ():
            key, value = (cells.get(link.get(f"{end}_cell_id")) for end in ("source", "target"))
            # A link may be there a second time, as seen from its value.
            if key and value and link.get("label") != "to_key":
                yield f"/{escape(str(key.get('text') or ''))}", door.as_text(value.get("text"))


DOCLING_EVAL = Reader("docling_eval", "docling-eval's Parquet or folder of predictions", fits, read)
