"""What each column of a table is: the document, the path, the value, or what is said beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from itertools import chain, islice
from typing import Any, NamedTuple

import polars as pl

from formlab import tables
from formlab.errors import DataBroken, UnknownName
from formlab.readers.content import number
from formlab.readers.door import Batch, as_text
from formlab.text import answers

# Other names of the three columns that make a table of values.
SYNONYMS = {
    "doc_id": ("document", "document_id", "doc", "id", "file", "filename", "file_name", "image"),
    "path": ("field", "key", "label", "name", "pointer"),
    "value": ("gold", "target", "expected", "truth", "ground_truth", "prediction", "pred", "answer",
              "output", "response", "completion", "text"),
}  # fmt: skip
# What a row may say beside its value: of the record, then of its document.
PLACE = ("confidence", "page", *tables.BOX)
RECORD = (*PLACE, "kind", "accepted", "status", "modality", "subtype", "task", "scope",
          "reference", "complexity", "modal")  # fmt: skip
DOCUMENT = ("image", "width", "height", "template", "domain", "context")
_SCHEMA = tables.DOCUMENTS | tables.RECORDS
_ALLOWED = {"status": tables.STATUSES, "task": tables.TASKS}


class Layout(NamedTuple):
    """A table's own name of each column, and whether each row is a value."""

    names: dict[str, str]
    is_long: bool

    @classmethod
    def of(cls, batch: Batch, columns: Mapping[str, str]) -> Layout:
        """The layout of a source that begins with these rows."""
        known = batch.names
        for name in columns.values():
            if name not in known:
                raise UnknownName.of("column", name, known)
        if batch.documents:
            return cls({"doc_id": "doc_id"} | dict(columns), is_long=False)
        names = {n: columns.get(n) or _named(n, known, columns) for n in SYNONYMS}
        names = {name: column for name, column in names.items() if column} | dict(columns)
        if "doc_id" not in names:
            what = f"no column for the document among {', '.join(name[:40] for name in known[:12])}"
            nearest = get_close_matches("doc_id", known, 1) or [*known[:1], "…"]
            where = batch.home + batch.origins[0]
            raise DataBroken(what, where=where, remedy=f"--columns doc_id={nearest[0]:.40}")
        others = [name for name in known if name not in names.values()]
        is_answer = "path" not in names and _holds_json(batch, names.get("value"))
        if not (is_answer or _is_long(batch, names, others, columns)):
            return cls({"doc_id": names["doc_id"]} | dict(columns), is_long=False)
        # A row without a path may say `text` for its value, as in formlab's plainest file.
        rest = {name: name for name in others if name not in (*names, "text")}
        return cls(names | rest, is_long=True)


def _named(name: str, known: list[str], columns: Mapping[str, str]) -> str | None:
    """The column of that name in any case, else the only one with a synonym of it."""
    lower = {column.lower(): column for column in known if column not in columns.values()}
    found = [lower[synonym] for synonym in SYNONYMS[name] if synonym in lower]
    if name in lower:
        return lower[name]
    if name == "doc_id" and len(found) > 1:
        what = f"the document's column may be any of {', '.join(found)}"
        raise DataBroken(what, remedy=f"--columns doc_id={found[0]}")
    return found[0] if len(found) == 1 else None


def _holds_json(batch: Batch, column: str | None) -> bool:
    """Whether the first texts of a column are answers in JSON, or hold a model's reasoning."""
    found = (cell for cell in batch.column(column) if column and isinstance(cell, str) and cell)
    return any(answers.is_json(text) or answers.plain(text).changes for text in islice(found, 20))


def _is_long(
    batch: Batch, names: dict[str, str], others: list[str], columns: Mapping[str, str]
) -> bool:
    """Whether each row is a value; a wide table may have fields called name and text as well."""
    fields = [n for n in others if n not in {*RECORD, *DOCUMENT, *tables.RECORDS}]

    def again(name: str) -> bool:
        return len(set(map(as_text, batch.column(names[name])))) < len(batch.origins)

    is_long = "value" in columns or "path" in columns
    if names.get("path") == "path" and "value" not in names and not fields and others:
        # Rows that only say what became of a field.
        return True
    if not is_long and {"value", "path"} <= names.keys():
        # A table of values names a document again for its next value, or a field in the next one.
        is_alone = not fields and (len(batch.origins) == 1 or again("path"))
        named = {names["path"].lower(), names["value"].lower()} == {"path", "value"}
        return named or again("doc_id") or is_alone
    is_long = is_long or ("value" in names and not fields)
    lacks = "path" if "value" in names else "value"
    has_one = bool({"path", "value"} & names.keys())
    if lacks == "value" if is_long else has_one and fields and again("doc_id"):
        known = [name[:40] for name in [*names.values(), *others][:12]]
        nearest = get_close_matches(lacks, fields, 1, 0.3) or [*fields, "…"]
        what = f"no column `{lacks}` (columns: {', '.join(known)})"
        where = batch.home + batch.origins[0]
        raise DataBroken(what, where=where, remedy=f"--columns {lacks}={nearest[0]:.40}")
    return is_long


def texts(values: list[Any]) -> pl.Series:
    """Values as texts of a column; half of a surrogate pair is kept as its escape."""
    if not set(map(type, values)) <= {str, type(None)}:
        values = list(map(as_text, values))
    try:
        return pl.Series(values, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series(list(map(tables.storable, values)), dtype=pl.String)


def documents_of(batch: Batch, column: str) -> list[str]:
    """The document of each row; `DataBroken` names the first without one."""
    cells = batch.column(column)
    names = [cell.strip() if type(cell) is str else (as_text(cell) or "").strip() for cell in cells]
    is_odd = "" in names or not {*map(type, cells)}.isdisjoint((dict, list, tuple))
    for place, (name, cell) in enumerate(zip(names, cells, strict=True)) if is_odd else ():
        if not name or isinstance(cell, dict | list | tuple):
            what = f"{column} is no text but a list or an object" if name else f"no {column}"
            remedy = "a name of the document in every row"
            raise DataBroken(what, where=batch.where(place), remedy=remedy)
    return names


def column_of(name: str, batch: Batch, column: str) -> pl.Series:
    """What rows say beside their values, as the dtype of its column; an own column is text."""
    dtype = _SCHEMA.get(name, pl.String) if name in (*RECORD, *DOCUMENT) else pl.String
    cells = batch.column(column)
    if isinstance(dtype, pl.List):
        return pl.Series([None if cell is None else _several(cell) for cell in cells], dtype=dtype)
    if dtype == pl.String and name not in _ALLOWED:
        return texts([cell if cell != "" else None for cell in cells])
    known: dict[str, Any] = {"": None}
    stated = [(as_text(cell) or "").strip() for cell in cells]
    for place, text in enumerate(stated):
        if text in known:
            continue
        known[text] = value = text if dtype == pl.String else number(text)
        if text not in _ALLOWED.get(name, (text,)):
            remedy = f"one of: {', '.join(_ALLOWED[name])}"
            raise DataBroken(f"unknown {name} {text!r}", where=batch.where(place), remedy=remedy)
        if value is None or (dtype == pl.Int64 and value % 1 != 0):
            what = f"{name} cannot be {text!r:.80}"
            raise DataBroken(what, where=batch.where(place), remedy="a number")
    return pl.Series([known[text] for text in stated], strict=False).cast(dtype)


def _several(cell: Any) -> list[str]:
    """Further right values: a list, a JSON list, or texts between ``|``."""
    if isinstance(cell, str):
        try:
            parsed = json.loads(cell)
        except (ValueError, RecursionError):
            parsed = None
        cell = parsed if isinstance(parsed, list) else cell.split("|")
    cell = cell.tolist() if hasattr(cell, "tolist") else cell
    found = cell if isinstance(cell, list | tuple) else [cell]
    return [tables.storable(as_text(item)) for item in found if item not in (None, "")]


def box(value: Any) -> tuple[float, float, float, float] | None:
    """The box around corners: of four numbers, of eight, or of points.

    Examples
    --------
    >>> box([1, 2, 3, 4]), box([[1, 2], [5, 2], [5, 9], [1, 9]]), box("x")
    ((1.0, 2.0, 3.0, 4.0), (1.0, 2.0, 5.0, 9.0), None)
    """
    points = value if isinstance(value, list) else []
    parts = [list(p.values()) if isinstance(p, dict) else p for p in points]
    flat = chain.from_iterable(part if isinstance(part, list) else [part] for part in parts)
    numbers = list(map(number, flat))
    if len(numbers) < 4 or len(numbers) % 2 or None in numbers:
        return None
    across, down = numbers[::2], numbers[1::2]
    return min(across), min(down), max(across), max(down)
