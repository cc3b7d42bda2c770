"""Logs of docling-eval: Parquet shards with gold and prediction, or a folder of predictions.

Both sides are Docling documents, written as JSON. The page's text is that of its body in reading
order; a field is a key and the value that a link leads to, at ``/<key>``. Figures of the run stand
beside them in ``evaluation_<benchmark>_<modality>.json``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from formlab import files
from formlab.errors import DataBroken
from formlab.readers import door
from formlab.readers.door import as_text
from formlab.readers.rows import Reader, Row, Source
from formlab.readers.samples import (
    FIGURES,
    ODD,
    UNREADABLE,
    Sample,
    figure,
    number,
    reading,
    sample_rows,
)
from formlab.tables import BOX, USABLE
from formlab.trees import escape

SEVERAL = "documents with several key-value items; docling-eval scores only the first"
_COLUMNS = ("document_id", "GroundTruthDocument", "PredictedDocument", "status", "predictor_info")
_STATUS = {"success": "ok", "partial_success": "truncated", "pending": "missing"}
# Tags of DocTags: places and labels around the text.
_TAG = re.compile(r"<[^<>]*>")
_DEEPEST = 60


def fits(path: Path) -> bool:
    """Whether Parquet files have these columns, or a folder holds Docling documents."""
    for shard in _shards(path)[:1]:
        try:
            return files.is_file(shard) and {*_COLUMNS[:2]} <= {*files.parquet_columns(shard)}
        except (pl.exceptions.PolarsError, OSError):
            return False
    return path.is_dir() and next(_predictions(path), None) is not None


def read(source: Source) -> Iterator[Row]:
    """The rows of a file or folder.

    A document whose conversion failed is `api_error`, a partial one `truncated`. A folder of
    predictions has no gold: it needs a benchmark.
    """
    path, shards = source.path, _shards(source.path)
    beside = sorted((path if path.is_dir() else path.parent).glob("evaluation_*.json"))
    source.files += [*shards, *beside]
    scores: dict[str, Row] = {}
    figures: list[Row] = []
    for file in beside:
        with reading(source, file.name, FIGURES):
            figures += _figures(file, scores, source)
    samples = _compared(source, shards) if shards else map(_predicted, _predictions(path))
    scored = (_scored(sample, scores, source) for sample in samples)
    yield from sample_rows(
        scored, source, path.resolve().stem if path.is_file() else path.resolve().name
    )
    yield from figures


def _shards(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.rglob("*.parquet"))
    return [path] if door.ending(path) == ".parquet" and path.is_file() else []


def _predictions(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.iterdir()):
        start = door.head(file) if not file.name.startswith("evaluation_") else b""
        is_document = file.suffix in (".json", ".yaml", ".yml") and b"DoclingDocument" in start
        if is_document or (file.suffix == ".dt" and b"<" in start):
            yield file


def _scored(sample: Sample, scores: dict[str, Row], source: Source) -> Sample:
    sample.scores = scores.get(str(sample.doc_id), {})
    source.notes[UNREADABLE] += sample.status == "bad_json"
    return sample


def _predicted(file: Path) -> Sample:
    """One document of a folder of predictions: the text of its pages."""
    status, error, text = "ok", None, None
    try:
        content = files.read_text(file)
        if file.suffix == ".dt":
            text = " ".join(_TAG.sub(" ", content).split())
        elif file.suffix == ".json":
            text = text_of(door.decoded(content, dict[str, Any], file))
        else:
            text = text_of(yaml.safe_load(content))
    except (*ODD, yaml.YAMLError) as problem:
        status, error = "bad_json", str(problem).partition("\n")[0]
    system, call = file.resolve().parent.name, {"error": error}
    return Sample(
        file.stem, None, answer=text, status=status, call=call, origin=file.name, system=system
    )


def _compared(source: Source, shards: list[Path]) -> Iterator[Sample]:
    for shard in shards:
        files.read_bytes(shard, 1)  # Polars would wait for a pipe.
        try:
            # Not the images, which are most of a shard.
            names = set(files.parquet_columns(shard))
            rows = pl.scan_parquet(shard, glob=False).select(c for c in _COLUMNS if c in names)
            rows = rows.collect().to_dicts()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise DataBroken(f"not a readable Parquet file: {error}", where=shard) from error
        for number_, row in enumerate(rows, start=1):
            with reading(source, origin := f"{shard.name}, row {number_}"):
                yield _document(row, origin, source)


def _document(row: Row, origin: str, source: Source) -> Sample:
    if not row["document_id"]:
        raise DataBroken("a document without a name", where=origin)
    gold, answer = (_object(row.get(name), origin) for name in _COLUMNS[1:3])
    stated = str(row.get("status") or "success").lower().rpartition(".")[2]
    status = _STATUS.get(stated, "api_error") if answer else "api_error"
    source.notes[SEVERAL] += len(gold.get("key_value_items") or ()) > 1
    golds = [{"path": None, "kind": "page", "value": text_of(gold)}]
    numbered = _repeated(gold) | _repeated(answer)
    golds += [_size(gold, 1) | field for field in fields_of(gold, numbered)]
    text = text_of(answer) if answer else None
    is_usable = status in USABLE
    claims = [{"path": None, "kind": "page", "value": text if is_usable else None}]
    claims += fields_of(answer, numbered) if is_usable else ()
    info = _object(row.get("predictor_info"), origin)
    return Sample(
        row["document_id"],
        None,
        golds=golds,
        claims=[claim | {"status": status, "origin": origin} for claim in claims],
        answer=text,
        status=status,
        call={"error": None if is_usable else f"conversion: {stated}"},
        system=str(info.get("asset") or info.get("name") or "docling"),
    )


def _object(value: Any, origin: str) -> Row:
    """A Docling document as an object; a text of it is read."""
    if isinstance(value, str):
        value = door.decoded(value, Any, origin) if value.strip() else None
    return value if isinstance(value, dict) else {}


def text_of(document: Row) -> str:
    """The text of a Docling document, in the order of its body; without headers and footers.

    Examples
    --------
    >>> text_of({"texts": [{"text": "Name"}, {"text": "Ada"}], "body": {"children": [
    ...     {"$ref": "#/texts/1"}, {"$ref": "#/texts/0"}]}})
    'Ada Name'
    """
    return " ".join(_texts(document, document.get("body") or {}, set()))


def _texts(document: Row, node: Row, seen: set[int], depth: int = 0) -> Iterator[str]:
    # Of children that lead back to what they are children of there would be no end.
    if id(node) in seen:
        return
    seen.add(id(node))
    if text := node.get("text"):
        yield str(text)
    cells = (node.get("data") or {}).get("table_cells") or ()
    yield from (str(cell["text"]) for cell in cells if cell.get("text"))
    for child in node.get("children") or () if depth < _DEEPEST else ():
        target: Any = document
        for step in str(child.get("$ref", "")).removeprefix("#/").split("/"):
            target = target[int(step)] if isinstance(target, list) else target.get(step) or {}
        yield from _texts(document, target, seen, depth + 1)


def fields_of(document: Row, numbered: set[str]) -> Iterator[Row]:
    """The values that a key leads to, at the key's text; several of the keys `numbered` in order.

    Boxes are measured from the top left of their page, in its unit.
    """
    seen: Counter[str] = Counter()
    for path, cell in _pairs(document):
        place = f"{path}/{seen[path]}" if path in numbered else path
        seen[path] += 1
        yield {"path": place, "value": as_text(cell.get("text")), **_box(document, cell)}


def _repeated(document: Row) -> set[str]:
    counts = Counter(path for path, _ in _pairs(document))
    return {path for path, count in counts.items() if count > 1}


def _pairs(document: Row) -> Iterator[tuple[str, Row]]:
    """The path of each key and the cell of its value."""
    for item in document.get("key_value_items") or ():
        graph = item.get("graph") or {}
        cells = {cell.get("cell_id"): cell for cell in graph.get("cells") or ()}
        for link in graph.get("links") or ():
            key, value = (cells.get(link.get(f"{e}_cell_id")) for e in ("source", "target"))
            # A link may be there a second time, as seen from its value.
            if key and value and link.get("label") != "to_key":
                yield f"/{escape(str(key.get('text') or ''))}", value


def _box(document: Row, cell: Row) -> Row:
    places = cell.get("prov")
    place = places[0] if isinstance(places, list) and places else places
    box = place.get("bbox") if isinstance(place, dict) else None
    if not isinstance(place, dict) or not isinstance(box, dict):
        return {}
    page = int(number(place.get("page_no")) or 1)
    left, top, right, bottom = (number(box.get(side)) for side in "ltrb")
    height = _size(document, page).get("height")
    is_turned = str(box.get("coord_origin", "")).upper() == "BOTTOMLEFT"
    if None in (left, top, right, bottom) or (is_turned and not height):
        return {"page": page}
    if is_turned:
        top, bottom = height - top, height - bottom
    return {"page": page} | dict(zip(BOX, (left, top, right, bottom), strict=True))


def _size(document: Row, page: int) -> dict[str, int]:
    size = ((document.get("pages") or {}).get(str(page)) or {}).get("size") or {}
    sides = {name: number(size.get(name)) for name in ("width", "height")}
    return {name: round(side) for name, side in sides.items() if side and 0 < side < 2**31}


def _figures(file: Path, scores: dict[str, Row], source: Source) -> list[Row]:
    """What is stated of all documents; `scores` gets the figures of each."""
    stated = door.decoded(door.read_bytes(file), dict[str, Any], file)
    modality = file.stem.rpartition("_")[2]
    for row in stated.get("evaluations") or ():
        figures = {f"{modality}/{k}": v for k, v in row.items() if k.endswith(("f1", "_bbox"))}
        scores.setdefault(str(row.get("doc_id")), {}).update(figures)
    for reason, count in (stated.get("rejected_samples") or {}).items():
        source.notes[f"documents that docling-eval rejected: {reason}"] += int(count)
    return [
        figure(
            f"{modality}/{key.removesuffix('_stats')}", "mean", value["mean"], value.get("total")
        )
        for key, value in stated.items()
        if key.endswith("_stats") and isinstance(value, dict) and "mean" in value
    ]


DOCLING_EVAL = Reader("docling_eval", "docling-eval's Parquet or folder of predictions", fits, read)
