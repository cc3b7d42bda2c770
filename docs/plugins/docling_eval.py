"""A reader of one's own: logs of docling-eval, a benchmark of documents.

They are Parquet shards with gold and prediction, or a folder of predictions.

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

import formlab
from formlab import files
from formlab.errors import DataBroken
from formlab.readers import door, samples
from formlab.readers.rows import Row, Source
from formlab.tables import BOX, USABLE
from formlab.trees import escape

SEVERAL = "documents with several key-value items; docling-eval scores only the first"
_COLUMNS = ("document_id", "GroundTruthDocument", "PredictedDocument", "status", "predictor_info")
_STATUS = {"success": "ok", "partial_success": "truncated", "pending": "missing"}
_DEEPEST, _FIRST = 60, 50


def fits(path: Path) -> bool:
    """Whether Parquet files have these columns, or a folder holds Docling documents."""
    for shard in _shards(path)[:1]:
        try:
            return files.is_file(shard) and {*_COLUMNS[:2]} <= {*files.parquet_columns(shard)}
        except (pl.exceptions.PolarsError, OSError):
            return False
    # Not all of a folder of thousands of answers, which is asked about too.
    return path.is_dir() and any(map(_is_document, sorted(path.iterdir())[:_FIRST]))


@formlab.reader("docling_eval", title="docling-eval's Parquet or folder of predictions", fits=fits)
def read(source: Source) -> Iterator[Row]:
    """The rows of a file or folder."""
    path, shards = source.path.resolve(), _shards(source.path)
    folder = path if path.is_dir() else path.parent
    beside, scores, figures = sorted(folder.glob("evaluation_*.json")), {}, []
    source.files += [*shards, *beside]
    for file in beside:
        with samples.reading(source, file.name, samples.FIGURES):
            figures += _figures(file, scores, source)
    documents = filter(_is_document, sorted(path.iterdir()) if path.is_dir() else ())
    listed = _compared(source, shards) if shards else (_predicted(f, source) for f in documents)
    scored = (_scored(sample, scores) for sample in listed)
    yield from samples.sample_rows(scored, source, path.stem if path.is_file() else path.name)
    yield from figures


def _shards(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.rglob("*.parquet"))
    return [path] if door.ending(path) == ".parquet" and path.is_file() else []


def _is_document(file: Path) -> bool:
    start = door.head(file) if not file.name.startswith("evaluation_") else b""
    return door.ending(file) == ".json" and b"DoclingDocument" in start


def _scored(sample: samples.Sample, scores: dict[str, Row]) -> samples.Sample:
    sample.scores = scores.get(str(sample.doc_id), {})
    return sample


def _predicted(file: Path, source: Source) -> samples.Sample:
    """One document of a folder of predictions: the text of its pages."""
    status, error, text = "ok", None, None
    try:
        text = text_of(door.decoded(door.read_bytes(file), dict[str, Any], file))
    except samples.ODD as problem:
        source.notes[samples.UNREADABLE] += 1
        status, error = "bad_json", str(problem).partition("\n")[0]
    more = {"status": status, "call": {"error": error}, "system": file.parent.name}
    return samples.Sample(file.stem, None, answer=text, origin=file.name, **more)


def _compared(source: Source, shards: list[Path]) -> Iterator[samples.Sample]:
    for shard in shards:
        files.read_bytes(shard, 1)  # Polars would wait for a pipe.
        try:
            # Not the images, which are most of a shard.
            names = set(files.parquet_columns(shard))
            rows = pl.scan_parquet(shard, glob=False).select(c for c in _COLUMNS if c in names)
            rows = rows.collect().to_dicts()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise DataBroken(f"not a readable Parquet file: {error}", where=shard) from error
        for number, row in enumerate(rows, start=1):
            with samples.reading(source, origin := f"{shard.name}, row {number}"):
                yield _document(row, origin, source)


def _document(row: Row, origin: str, source: Source) -> samples.Sample:
    gold, answer = (_object(row.get(name), origin) for name in _COLUMNS[1:3])
    info = _object(row.get("predictor_info"), origin)
    stated = str(row.get("status") or "success").lower().rpartition(".")[2]
    status = _STATUS.get(stated, "api_error") if answer else "api_error"
    source.notes[SEVERAL] += len(gold.get("key_value_items") or ()) > 1
    # Several values of one key, on either side, are numbered.
    counts = [Counter(path for path, _ in _pairs(document)) for document in (gold, answer)]
    numbered = {path for count in counts for path in count if count[path] > 1}
    text, page = text_of(answer) if answer else None, {"path": None, "kind": "page"}
    golds = [page | {"value": text_of(gold)}]
    golds += [_size(gold, 1) | field for field in fields_of(gold, numbered)]
    is_usable = status in USABLE
    claims = [page | {"value": text if is_usable else None}]
    claims += fields_of(answer, numbered) if is_usable else ()
    return samples.Sample(
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
    cells = (node.get("data") or {}).get("table_cells") or ()
    yield from (str(part["text"]) for part in (node, *cells) if part.get("text"))
    for child in node.get("children") or () if depth < _DEEPEST else ():
        target: Any = document
        for step in str(child.get("$ref", "")).removeprefix("#/").split("/"):
            target = target[int(step)] if isinstance(target, list) else target.get(step) or {}
        yield from _texts(document, target, seen, depth + 1)


def fields_of(document: Row, numbered: set[str]) -> Iterator[Row]:
    """The values that a key leads to, at the key's text, with boxes from the top left."""
    seen: Counter[str] = Counter()
    for path, cell in _pairs(document):
        place = f"{path}/{seen[path]}" if path in numbered else path
        seen[path] += 1
        yield {"path": place, "value": door.as_text(cell.get("text")), **_box(document, cell)}


def _pairs(document: Row) -> Iterator[tuple[str, Row]]:
    """The path of each key and the cell of its value."""
    for item in document.get("key_value_items") or ():
        graph = item.get("graph") or {}
        cells = {cell.get("cell_id"): cell for cell in graph.get("cells") or ()}
        for link in graph.get("links") or ():
            key, value = (cells.get(link.get(f"{end}_cell_id")) for end in ("source", "target"))
            # A link may be there a second time, as seen from its value.
            if key and value and link.get("label") != "to_key":
                yield f"/{escape(str(key.get('text') or ''))}", value


def _box(document: Row, cell: Row) -> Row:
    places = cell.get("prov")
    place = places[0] if isinstance(places, list) and places else places
    box = place.get("bbox") if isinstance(place, dict) else None
    if not isinstance(place, dict) or not isinstance(box, dict):
        return {}
    page = int(samples.number(place.get("page_no")) or 1)
    left, top, right, bottom = (samples.number(box.get(side)) for side in "ltrb")
    height = _size(document, page).get("height")
    is_turned = str(box.get("coord_origin", "")).upper() == "BOTTOMLEFT"
    if None in (left, top, right, bottom) or (is_turned and not height):
        return {"page": page}
    if is_turned:
        top, bottom = height - top, height - bottom
    return {"page": page} | dict(zip(BOX, (left, top, right, bottom), strict=True))


def _size(document: Row, page: int) -> dict[str, int]:
    size = ((document.get("pages") or {}).get(str(page)) or {}).get("size") or {}
    sides = {name: samples.number(size.get(name)) for name in ("width", "height")}
    return {name: round(side) for name, side in sides.items() if side and 0 < side < 2**31}


def _figures(file: Path, scores: dict[str, Row], source: Source) -> Iterator[Row]:
    """What is stated of all documents; `scores` gets the figures of each."""
    stated = door.decoded(door.read_bytes(file), dict[str, Any], file)
    modality = file.stem.rpartition("_")[2]
    for row in stated.get("evaluations") or ():
        figures = {f"{modality}/{k}": v for k, v in row.items() if k.endswith(("f1", "_bbox"))}
        scores.setdefault(str(row.get("doc_id")), {}).update(figures)
    for reason, count in (stated.get("rejected_samples") or {}).items():
        source.notes[f"documents that docling-eval rejected: {reason}"] += int(count)
    for key, value in stated.items():
        if key.endswith("_stats") and isinstance(value, dict) and "mean" in value:
            scorer = f"{modality}/{key.removesuffix('_stats')}"
            yield samples.figure(scorer, "mean", value["mean"], value.get("total"))
