"""What each column of a table is: the document, the path, the value, or what is said beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any, NamedTuple

import polars as pl

from formlab import files, tables
from formlab.errors import DataBroken, UnknownName
from formlab.readers.door import LARGEST, as_text
from formlab.readers.rows import Batch
from formlab.text import answers

# Other names of the three columns that make a table of values.
SYNONYMS = {
    name: tuple(others.split())
    for name, others in {
        "doc_id": "document document_id doc docid id file filename file_name image",
        "path": "field key label name pointer",
        "value": "gold target expected truth ground_truth prediction pred answer output response "
        "completion text",
    }.items()
}
# What a row may say beside its value: of the record, then of its document.
PLACE = ("confidence", "page", *tables.BOX)
RECORD = (*PLACE, "kind", "accepted", "status", "modality", "subtype", "task", "scope")
RECORD += ("reference", "complexity", "modal")
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
        known, keys = batch.names, {"path", "value"}
        for name, column in columns.items():
            if column not in known:
                raise UnknownName.of("column", column, known)
            if name not in (names := [*SYNONYMS, *RECORD, *DOCUMENT, "system"]):
                raise UnknownName.of("name for a column", name, names)
        if batch.documents:
            return cls({"doc_id": "doc_id"} | dict(columns), is_long=False)
        names = {name: columns.get(name) or _named(name, known, columns) for name in SYNONYMS}
        names = {name: column for name, column in names.items() if column} | dict(columns)
        if "doc_id" not in names:
            raise _lacks("doc_id", "no column for the document among ", known, known, batch)
        others = [name for name in known if name not in names.values()]
        fields = [name for name in others if name not in {*RECORD, *DOCUMENT, *tables.RECORDS}]

        def is_repeated(name: str) -> bool:
            return len(set(map(as_text, batch.column(names[name])))) < len(batch.origins)

        # A wide table may have fields called name and text as well.
        if "path" not in names and _holds_json(batch, names.get("value")):
            is_long = True
        elif names.get("path") == "path" and "value" not in names and not fields and others:
            # Rows that only say what became of a field.
            is_long = True
        elif keys <= names.keys() and keys.isdisjoint(columns):
            # A table of values names a document again for its next value, or a field in the next.
            is_alone = not fields and (len(batch.origins) == 1 or is_repeated("path"))
            is_plain = {names[name].lower() for name in keys} == keys
            is_long = is_plain or is_repeated("doc_id") or is_alone
        else:
            is_long = not keys.isdisjoint(columns) or ("value" in names and not fields)
            lacks = "path" if "value" in names else "value"
            has_one = not keys.isdisjoint(names)
            if lacks == "value" if is_long else has_one and fields and is_repeated("doc_id"):
                columns_ = [*names.values(), *others]
                raise _lacks(lacks, f"no column `{lacks}` among ", columns_, fields, batch)
        if not is_long:
            return cls({"doc_id": names["doc_id"]} | dict(columns), is_long=False)
        # A row without a path may say `text` for its value, as in formlab's plainest file.
        rest = {name: name for name in others if name not in (*names, "text")}
        return cls(names | rest, is_long=True)


def _lacks(name: str, what: str, known: list[str], fields: list[str], batch: Batch) -> DataBroken:
    """The error of a table without a column, with the one that is called most like it."""
    near = get_close_matches(name, fields, 1, 0.3) or [*fields, "…"]
    listed, where = ", ".join(column[:40] for column in known[:12]), batch.home + batch.origins[0]
    return DataBroken(what + listed, where=where, remedy=f"--columns {name}={near[0]:.40}")


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


def texts(values: Sequence[Any]) -> pl.Series:
    """Values as texts of a column; half of a surrogate pair is kept as its escape."""
    if not set(map(type, values)) <= {str, type(None)}:
        values = list(map(as_text, values))
    try:
        return pl.Series(values, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series([*map(files.storable, values)], dtype=pl.String)


def documents_of(batch: Batch, column: str) -> pl.Series:
    """The document of each row; `DataBroken` names the first without one."""
    cells = batch.column(column)
    is_list = [isinstance(cell, dict | list | tuple) for cell in cells]
    names = texts(cells).str.strip_chars().fill_null("")
    for number in ((names == "") | pl.Series(is_list, dtype=pl.Boolean)).arg_true()[:1]:
        what = f"{column} is no text but a list or an object" if names[number] else f"no {column}"
        where, remedy = batch.home + batch.origins[number], "a name of the document in every row"
        raise DataBroken(what, where=where, remedy=remedy)
    return names


def column_of(name: str, batch: Batch, column: str) -> pl.Series:
    """What rows say beside their values, as the dtype of its column; an own column is text."""
    dtype = _SCHEMA.get(name, pl.String) if name in (*RECORD, *DOCUMENT) else pl.String
    cells = batch.column(column)
    if isinstance(dtype, pl.List):
        return pl.Series([None if cell is None else _several(cell) for cell in cells], dtype=dtype)
    stated = texts(cells)
    if dtype == pl.String and name not in _ALLOWED:
        return stated.replace("", None)
    stated = stated.str.strip_chars().replace("", None)
    what, remedy = f"{name} cannot be", "a number"
    if dtype == pl.String:
        known = stated.set(~stated.is_in(_ALLOWED[name]), None)
        what, remedy = f"unknown {name}", f"one of: {', '.join(_ALLOWED[name])}"
    else:
        number = stated.cast(pl.Float64, strict=False)
        is_odd = ~(number.abs() < LARGEST) | ((number % 1 != 0) & (dtype == pl.Int64))
        known = number.set(is_odd, None).cast(dtype)
    for row in (stated.is_not_null() & known.is_null()).arg_true()[:1]:
        where = batch.home + batch.origins[row]
        raise DataBroken(f"{what} {stated[row]!r:.80}", where=where, remedy=remedy)
    return known


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
    return [files.storable(as_text(item)) for item in found if item not in (None, "")]
