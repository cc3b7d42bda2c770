"""Logs of docling-eval: Parquet shards with gold and prediction, or a folder of predictions.

Both sides are Docling documents, written as JSON. The page's text is that of its body in reading
order; a field is a key and the value that a link leads to, at ``/<key>``. Figures of the run stand
beside them in ``evaluation_<benchmark>_<modality>.json``.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from formlab import files
from formlab.errors import DataBroken
from formlab.logs._samples import FIGURES, ODD, UNREADABLE, Row, Samples, as_text, frame, number
from formlab.logs._spec import LogFormat, LogRun
from formlab.tables import BOX, USABLE
from formlab.trees import escape

SEVERAL = "documents with several key-value items; docling-eval scores only the first"
_COLUMNS = ("document_id", "GroundTruthDocument", "PredictedDocument", "status", "predictor_info")
_ENDINGS = (".json", ".dt", ".yaml", ".yml")
_STATUS = {"success": "ok", "partial_success": "truncated", "pending": "missing"}
# Tags of DocTags: places and labels around the text.
_TAG = re.compile(r"<[^<>]*>")
_DEEPEST = 60


def detect(path: Path) -> bool:
    """Whether Parquet files have these columns, or a folder holds Docling documents."""
    if shards := _shards(path):
        if not files.is_file(shards[0]):
            return False
        try:
            names = set(files.parquet_columns(shards[0]))
        except (pl.exceptions.PolarsError, OSError):
            return False
        return {"document_id", "GroundTruthDocument"} <= names
    return path.is_dir() and next(_predictions(path), None) is not None


def read(path: Path) -> list[LogRun]:
    """The one run in a file or folder.

    A document whose conversion failed is `api_error`, a partial one `truncated`. A folder of
    predictions has no gold: it needs a benchmark.

    Raises
    ------
    DataBroken
        If a shard, or a document in it, cannot be read.
    """
    shards = _shards(path)
    beside = sorted((path if path.is_dir() else path.parent).glob("evaluation_*.json"))
    name = path.resolve().stem if path.is_file() else path.resolve().name
    samples = Samples("docling_eval", name, [*shards, *beside])
    scores = _scores(beside, samples)
    if not shards:
        for file in _predictions(path):
            _predicted(samples, file, scores)
        return samples.runs()
    sides: dict[str, list[Row]] = {"gold": [], "answers": []}
    for shard in shards:
        for number_, row in enumerate(_rows(shard), start=1):
            with samples.reading(origin := f"{shard.name}, row {number_}"):
                _add(samples, row, origin, scores, sides)
    runs = samples.runs()
    moved = {side: frame(rows) for side, rows in sides.items()}
    return [dataclasses.replace(run, **moved) for run in runs]


def _shards(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.rglob("*.parquet"))
    return [path] if path.suffix == ".parquet" and path.is_file() else []


def _rows(shard: Path) -> Iterator[Row]:
    files.read_bytes(shard, 1)  # Polars would wait for a pipe.
    try:
        there = set(files.parquet_columns(shard))
        # Not the images, which are most of a shard.
        table = (
            pl.scan_parquet(shard, glob=False).select([c for c in _COLUMNS if c in there]).collect()
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataBroken(f"not a readable Parquet file: {error}", where=shard) from error
    yield from table.iter_rows(named=True)


def _predictions(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.iterdir()):
        if file.suffix not in _ENDINGS or file.name.startswith("evaluation_"):
            continue
        start = files.read_bytes(file, 2048)
        if b"DoclingDocument" in start or (file.suffix == ".dt" and b"<" in start):
            yield file


def _predicted(samples: Samples, file: Path, scores: Mapping[str, Row]) -> None:
    """One document of a folder of predictions: the text of its pages."""
    status, error, text = "ok", None, None
    try:
        content = files.read_text(file)
        if file.suffix == ".dt":
            text = " ".join(_TAG.sub(" ", content).split())
        elif file.suffix == ".json":
            text = text_of(files.parse_json(content, where=str(file)))
        else:
            text = text_of(yaml.safe_load(content))
    except (*ODD, yaml.YAMLError) as problem:
        samples.notes[UNREADABLE] += 1
        status, error = "bad_json", str(problem).partition("\n")[0]
    samples.add(
        file.stem, None, answer=text, status=status, error=error, origin=file.name,
        system=file.resolve().parent.name, scores=scores.get(file.stem),
    )  # fmt: skip


def _add(
    samples: Samples, row: Row, origin: str, scores: Mapping[str, Row], sides: dict[str, list[Row]]
) -> None:
    doc_id = str(row["document_id"])
    gold = _document(row["GroundTruthDocument"], origin)
    pred = _document(row.get("PredictedDocument"), origin)
    stated = str(row.get("status") or "success").lower().rpartition(".")[2]
    status = _STATUS.get(stated, "api_error") if pred else "api_error"
    several = len(gold.get("key_value_items") or ()) > 1
    samples.notes[SEVERAL] += several
    key = {"doc_id": doc_id}
    page = key | {"path": None, "kind": "page"}
    size = {name: number_ for name, number_ in _size(gold, 1).items() if number_}
    listed = _repeated(gold) | _repeated(pred)
    golds = [page | {"value": text_of(gold)}]
    golds += [key | size | field for field in fields_of(gold, listed)]
    text = text_of(pred) if status in USABLE else None
    answers = [page | {"value": text, "status": status, "origin": origin}]
    if status in USABLE:
        known = key | {"status": status, "origin": origin}
        answers += [known | field for field in fields_of(pred, listed)]
    samples.add(
        doc_id, None, gold=text_of(gold), answer=text_of(pred) if pred else None, status=status,
        error=None if status in USABLE else f"conversion: {stated}", origin=origin,
        system=_system(row.get("predictor_info")), scores=scores.get(doc_id),
    )  # fmt: skip
    sides["gold"] += golds
    sides["answers"] += answers


def _document(value: Any, origin: str) -> Row:
    """A Docling document as an object; a text of it is read."""
    if isinstance(value, str):
        value = files.parse_json(value, where=origin) if value.strip() else None
    return value if isinstance(value, dict) else {}


def _system(info: Any) -> str:
    predictor = (
        files.parse_json(info, where="predictor_info") if isinstance(info, str) and info else info
    )
    names = predictor if isinstance(predictor, dict) else {}
    return str(names.get("asset") or names.get("name") or "docling")


def text_of(document: Mapping[str, Any]) -> str:
    """The text of a Docling document, in the order of its body; without headers and footers.

    Examples
    --------
    >>> text_of({"texts": [{"text": "Name"}, {"text": "Ada"}], "body": {"children": [
    ...     {"$ref": "#/texts/1"}, {"$ref": "#/texts/0"}]}})
    'Ada Name'
    """
    return " ".join(_texts(document, document.get("body") or {}, set()))


def _texts(
    document: Mapping[str, Any], node: Mapping[str, Any], seen: set[int], depth: int = 0
) -> Iterator[str]:
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


def fields_of(document: Mapping[str, Any], listed: Collection[str] = ()) -> Iterator[Row]:
    """The values that a key leads to, at the key's text; several of one key are numbered.

    So are those of the keys `listed`. Boxes are measured from the top left of their page, in its
    unit.
    """
    seen: Counter[str] = Counter()
    numbered = _repeated(document) | set(listed)
    for path, cell in _pairs(document):
        pointer = f"{path}/{seen[path]}" if path in numbered else path
        seen[path] += 1
        yield {"path": pointer, "value": as_text(cell.get("text")), **_box(document, cell)}


def _repeated(document: Mapping[str, Any]) -> set[str]:
    counts = Counter(path for path, _ in _pairs(document))
    return {path for path, count in counts.items() if count > 1}


def _pairs(document: Mapping[str, Any]) -> Iterator[tuple[str, Row]]:
    """The path of each key and the cell of its value."""
    for item in document.get("key_value_items") or ():
        graph = item.get("graph") or {}
        cells = {cell.get("cell_id"): cell for cell in graph.get("cells") or ()}
        for link in graph.get("links") or ():
            # A link may be there a second time, as seen from its value.
            if str(link.get("label", "to_value")) == "to_key":
                continue
            key, value = (cells.get(link.get(f"{e}_cell_id")) for e in ("source", "target"))
            if key and value:
                yield f"/{escape(str(key.get('text') or ''))}", value


def _box(document: Mapping[str, Any], cell: Mapping[str, Any]) -> Row:
    provenances = cell.get("prov")
    provenance = provenances[0] if isinstance(provenances, list) and provenances else provenances
    box = provenance.get("bbox") if isinstance(provenance, dict) else None
    if not isinstance(provenance, dict) or not isinstance(box, dict):
        return {}
    page = int(number(provenance.get("page_no")) or 1)
    left, top, right, bottom = (number(box.get(side)) for side in "ltrb")
    if None in (left, top, right, bottom):
        return {"page": page}
    if str(box.get("coord_origin", "")).upper() == "BOTTOMLEFT":
        height = _size(document, page).get("height")
        if not height:
            return {"page": page}
        top, bottom = height - top, height - bottom
    return {"page": page} | dict(zip(BOX, (left, top, right, bottom), strict=True))


def _size(document: Mapping[str, Any], page: int) -> dict[str, int | None]:
    size = ((document.get("pages") or {}).get(str(page)) or {}).get("size") or {}
    sides = {name: number(size.get(name)) for name in ("width", "height")}
    return {n: round(side) if side and 0 < side < 2**31 else None for n, side in sides.items()}


def _scores(beside: list[Path], samples: Samples) -> dict[str, Row]:
    """Figures of each document, and what is stated of all of them."""
    scores: dict[str, Row] = {}
    for file in beside:
        with samples.reading(file.name, FIGURES):
            _figures(file, samples, scores)
    return scores


def _figures(file: Path, samples: Samples, scores: dict[str, Row]) -> None:
    stated = files.read_json(file)
    modality = file.stem.rpartition("_")[2]
    for row in stated.get("evaluations") or ():
        figures = {f"{modality}/{k}": v for k, v in row.items() if k.endswith(("f1", "_bbox"))}
        scores.setdefault(str(row.get("doc_id")), {}).update(figures)
    for key, value in stated.items():
        if key.endswith("_stats") and isinstance(value, dict) and "mean" in value:
            samples.headline.append({
                    "scorer": f"{modality}/{key.removesuffix('_stats')}", "metric": "mean",
                    "value": number(value["mean"]), "n": value.get("total"),
                })  # fmt: skip
    for reason, count in (stated.get("rejected_samples") or {}).items():
        samples.notes[f"documents that docling-eval rejected: {reason}"] += int(count)


FORMAT = LogFormat("docling_eval", "docling-eval's Parquet or folder of predictions", detect, read)
