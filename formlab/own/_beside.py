"""What rows say beside their values, of a value or of its document."""

from __future__ import annotations

import json
import math
from typing import Any

import polars as pl

from formlab import tables
from formlab.errors import DataBroken
from formlab.own._cells import as_text, as_texts, texts
from formlab.own._rows import RawRows

# What a row may say beside its value: of the record, then of its document.
RECORD = (
    "kind", "page", *tables.BOX, "accepted", "confidence", "status", "modality", "subtype", "task",
    "scope", "reference", "complexity", "modal",
)  # fmt: skip
DOCUMENT = ("image", "width", "height", "template", "domain", "context")
_SCHEMA = tables.DOCUMENTS | tables.RECORDS
_ALLOWED = {"status": tables.STATUSES, "task": tables.TASKS}
# Beyond this a number is no page and no width.
_MOST = 2.0**53
# What Python strips, and a number as polars reads it too.
BLANK = "".join(filter(str.isspace, map(chr, range(0x3001))))
_PLAIN = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def _dtype(name: str) -> Any:
    return _SCHEMA.get(name, pl.String) if name in (*RECORD, *DOCUMENT) else pl.String


def column_of(name: str, rows: RawRows, column: str) -> pl.Series:
    """What rows say beside their values, as the dtype of its column; an own column is text."""
    cells, dtype = rows.column(column), _dtype(name)
    if isinstance(dtype, pl.List):
        cells = cells.to_list() if isinstance(cells, pl.Series) else cells
        listed = [None if cell is None else _several(cell) for cell in cells]
        return pl.Series(name, listed, dtype=dtype)
    stated, nested = as_texts(cells)
    if nested:
        stated = texts(None if c is None else _cell(name, c, rows, n) for n, c in enumerate(cells))
    frame = stated.alias("text").to_frame()
    filled = pl.col("text").str.strip_chars(BLANK) != ""
    if dtype == pl.String:
        result = frame.select(pl.when(pl.col("text") != "").then("text")).to_series()
        odd = ~result.is_in(_ALLOWED[name]) if name in _ALLOWED else None
    else:
        number = pl.when(pl.col("text").str.contains(_PLAIN)).then("text").cast(pl.Float64)
        if dtype == pl.Int64:
            number = pl.when(number == number.floor(), number.abs() < _MOST).then(number)
        frame = frame.with_columns(number=pl.when(number.is_finite()).then(number), filled=filled)
        result, odd = frame["number"], frame["filled"] & frame["number"].is_null()
    if odd is not None and odd.any():
        # Only Python knows whether it is a number, and the error names the row.
        numbers = odd.arg_true().to_list()
        known = {cell: _cell(name, cell, rows, n) for n in numbers for cell in (stated[n],)}
        result = result.scatter(numbers, [known[stated[n]] for n in numbers])
    return result.cast(dtype).alias(tables.storable(name))


def _cell(name: str, cell: Any, rows: RawRows, number: int) -> Any:
    """One cell beside a value, as the dtype of its column."""
    dtype = _dtype(name)
    try:
        if isinstance(cell, dict | list | tuple):
            return json.dumps(cell, ensure_ascii=False, default=str)
        text = as_text(cell)
        if dtype == pl.String or text is None or not text.strip():
            value: Any = text or None
        else:
            value = float(text)
            whole = value.is_integer() and abs(value) < _MOST
            if not math.isfinite(value) or (dtype == pl.Int64 and not whole):
                raise ValueError
            value = int(value) if dtype == pl.Int64 else value
    except ValueError as error:
        what = f"{name} cannot be {as_text(cell)!r:.80}"
        raise DataBroken(what, where=rows.where(number), remedy="a number") from error
    if value is not None and value not in _ALLOWED.get(name, (value,)):
        remedy = f"one of: {', '.join(_ALLOWED[name])}"
        raise DataBroken(f"unknown {name} {value!r}", where=rows.where(number), remedy=remedy)
    return tables.storable(value)


def _several(cell: Any) -> list[str]:
    """Further right values: a list, a JSON list, or texts between ``|``."""
    if hasattr(cell, "tolist"):
        cell = cell.tolist()
    if isinstance(cell, str):
        try:
            listed = json.loads(cell)
        except (ValueError, RecursionError):
            listed = None
        cell = listed if isinstance(listed, list) else cell.split("|")
    items = cell if isinstance(cell, list | tuple) else [cell]
    return [tables.storable(as_text(item)) for item in items if item not in (None, "")]
