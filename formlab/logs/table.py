"""Any table with a row per sample: CSV, TSV, JSON lines, JSON, Parquet, a workbook, or a frame."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from formlab import tables
from formlab.errors import DataBroken, UnknownName
from formlab.logs._peek import columns as peeked
from formlab.logs._samples import ANSWER, Row, Samples, number
from formlab.logs._spec import LogFormat, LogRun
from formlab.readers.door import as_text, items

# What a column can be, with the names that tell it where `columns` does not.
NAMES = {
    "doc_id": ("doc_id", "id", "document", "document_id", "sample_id", "index", "file", "filename"),
    "path": ("path", "field"),
    "gold": ("gold", "target", "reference", "expected", "truth", "ground_truth"),
    "value": ("value", "prediction", "pred", "output", "response", "completion", "model_output"),
    "score": ("score", "correct", "is_correct"),
    "status": ("status",),
    "error": ("error",),
    "system": ("system", "model"),
    "epoch": ("epoch", "repeat"),
}
_NEEDED = ("gold", "value")
_EXAMPLE = "--columns doc_id=id,gold=target,value=output"


def detect(path: Path) -> bool:
    """Whether the names of a table's columns tell its gold and its answers."""
    return all(peeked(path) & set(NAMES[name]) for name in _NEEDED)


def read(source: Any, columns: Mapping[str, str] | None = None) -> list[LogRun]:
    """The runs in a table, one for each system and epoch.

    Parameters
    ----------
    source
        A path, a frame of polars or pandas, or a list of dicts.
    columns
        The source's name for each of `NAMES`; the rest are found by the usual names. Columns that
        are none of them are kept with the gold.

    Raises
    ------
    UnknownName
        If `columns` names something that is no column, or no kind of column.
    DataBroken
        If no column is the document, the gold or the answer, or the table cannot be read.
    """
    path = Path(source) if isinstance(source, str | Path) else None
    samples = Samples("table", path.stem if path else "frame", [path] if path else [])
    rows = [(o, r) for o, r, _ in items(source, samples.notes)]
    named = _named(dict.fromkeys(name for _, row in rows for name in row), columns or {}, path)
    for index, (origin, row) in enumerate(rows):
        with samples.reading(origin):
            _add(samples, row, named, origin, index)
    return samples.runs()


def _named(there: Mapping[str, Any], columns: Mapping[str, str], path: Path | None) -> Row:
    """For each kind of column the name that it has in the table."""
    for kind, name in columns.items():
        if kind not in NAMES:
            raise UnknownName.of("column to name", kind, NAMES)
        if name not in there:
            raise UnknownName.of("column", name, there)
    named = dict(columns)
    for kind, names in NAMES.items():
        known = [name for name in names if name in there and name not in named.values()]
        if kind not in named and known:
            named[kind] = known[0]
    if "value" not in named:
        listed = ", ".join(map(str, there))
        what = f"no column is the answer; the table has: {listed}"
        raise DataBroken(what, where=path, remedy=_EXAMPLE)
    return named


def _add(samples: Samples, row: Row, named: Row, origin: str, index: int) -> None:
    cell = {kind: row.get(name) for kind, name in named.items()}
    status, error = as_text(cell.get("status")), as_text(cell.get("error"))
    if status not in tables.STATUSES:
        # Another tool's word for it is kept, as the reason.
        error = error or (status if status not in (None, "success", "completed") else None)
        status = "api_error" if error and cell["value"] is None else "ok"
    path = as_text(cell.get("path"))
    score = cell.get("score")
    gold = cell.get("gold")
    doc_id = as_text(cell.get("doc_id"))
    if "doc_id" in named and not doc_id:
        samples.notes[f"rows without {named['doc_id']}, called by their number"] += 1
    samples.add(
        doc_id or str(index + 1), _path(path, "path" in named),
        gold=gold if isinstance(gold, dict | list) else as_text(gold),
        answer=cell["value"] if isinstance(cell["value"], dict) else as_text(cell["value"]),
        status=status, error=error, system=as_text(cell.get("system")) or "",
        epoch=int(number(cell.get("epoch")) or 1), origin=origin,
        scores={} if score is None else {named["score"]: _credit(score)},
        own={name: value for name, value in row.items() if name not in named.values()},
    )  # fmt: skip


def _path(path: str | None, has_paths: bool) -> str | None:
    """The JSON Pointer of a field; without a column of fields, that of the one answer."""
    if not has_paths:
        return ANSWER
    return path if path is None or path.startswith("/") else f"/{path}"


def _credit(score: Any) -> float | None:
    words = {"true": 1.0, "yes": 1.0, "c": 1.0, "false": 0.0, "no": 0.0, "i": 0.0}
    return words.get(str(score).strip().lower(), number(score))


FORMAT = LogFormat("table", "a table with a row per sample, named by --columns", detect, read)
