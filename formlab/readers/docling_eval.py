"""Logs of docling-eval: Parquet shards with gold and prediction, which are Docling documents.

The page's text is that of the body in reading order; a field is a key and the value that a link
leads to, at ``/<key>``. Figures stand beside them in ``evaluation_<benchmark>_<modality>.json``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files
from formlab.readers import door, samples
from formlab.readers.engine import at
from formlab.readers.rows import Reader, Row, Source
from formlab.tables import USABLE
from formlab.trees import escape

_COLUMNS = ("GroundTruthDocument", "PredictedDocument", "predictor_info", "status", "document_id")
_STATUS = {"success": "ok", "partial_success": "truncated", "pending": "missing"}


def _shards(path: Path) -> list[Path]:
    found = path.rglob("*.parquet") if path.is_dir() else [path]
    return sorted(f for f in found if door.ending(f) == ".parquet" and files.is_file(f))


def _fits(path: Path) -> bool:
    with suppress(pl.exceptions.PolarsError, OSError):
        return any({*_COLUMNS[:2]} <= {*files.parquet_columns(f)} for f in _shards(path)[:1])
    return False


def _read(source: Source) -> Iterator[Row]:
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

    def sample_of(row: Row, origin: str) -> samples.Sample:
        gold, answer, info = (
            value if isinstance(value, dict) else door.decoded(value or "{}", dict, origin)
            for value in map(row.get, _COLUMNS[:3])
        )
        stated = str(row.get("status") or "success").lower().rpartition(".")[2]
        status = _STATUS.get(stated, "api_error") if answer else "api_error"
        claims = [*_values(answer)] if status in USABLE else [{"path": None, "kind": "page"}]
        return samples.Sample(
            row["document_id"],
            None,
            golds=list(_values(gold)),
            claims=claims,
            answer=text_of(answer) if answer else None,
            status=status,
            scores=scores.get(str(row["document_id"]), {}),
            call={"error": None if status in USABLE else f"conversion: {stated}"},
            system=str(info.get("asset") or info.get("name") or "docling"),
        )

    source.files += shards
    beside = sorted((path if path.is_dir() else path.parent).glob("evaluation_*.json"))
    headline = [row for file in beside for row in samples.stated(source, file, figures)]
    # Not the images, which are most of a shard.
    names = pl.col(f"^({'|'.join(_COLUMNS)})$")
    frames = (pl.scan_parquet(shard, glob=False).select(names).collect() for shard in shards)
    rows = (
        (f"{shard.name}, row {count}", row)
        for shard, frame in zip(shards, frames, strict=True)
        for count, row in enumerate(frame.to_dicts(), start=1)
    )
    yield from samples.sample_rows(source, door.stem(path), rows, sample_of)
    yield from headline


def text_of(document: Row) -> str:
    """The text of a Docling document, in the order of its body; without headers and footers."""
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


def _values(document: Row) -> Iterator[Row]:
    """The text of the page, and of each value at its key; a further one of a key is numbered."""
    yield {"path": None, "kind": "page", "value": text_of(document)}
    seen = Counter[str]()
    for item in document.get("key_value_items") or ():
        cells = {cell.get("cell_id"): cell for cell in at(item, "graph", "cells") or ()}
        for link in at(item, "graph", "links") or ():
            key, value = (cells.get(link.get(f"{end}_cell_id")) for end in ("source", "target"))
            # A link may be there a second time, as seen from its value.
            if key and value and link.get("label") != "to_key":
                path = f"/{escape(str(key.get('text') or ''))}"
                number = f"/{seen[path]}" if seen[path] else ""
                seen[path] += 1
                yield {"path": path + number, "value": door.as_text(value.get("text"))}


READERS = {"docling_eval": Reader("docling_eval", "docling-eval's Parquet", _fits, _read)}
