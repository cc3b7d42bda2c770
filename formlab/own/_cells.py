"""Cells of a user's table as text, and the header above them."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from formlab.errors import DataBroken
from formlab.tables import storable

Row = dict[str, Any]


def check_full(path: Path, header: Header | None, count: int) -> None:
    """`DataBroken` for a table without a header or without rows."""
    if header is None:
        raise DataBroken("the file is empty", where=path, remedy="a header and one row a value")
    if not count:
        raise DataBroken("the file has no rows", where=path, remedy="one row a value")


class Header(NamedTuple):
    """How many columns a table has, and the place and name of each that has one."""

    width: int
    named: list[tuple[int, str]]

    @classmethod
    def of(cls, cells: list[Any], where: str, flaws: Counter[str]) -> Header:
        """The columns of a header; `DataBroken` if two have one name."""
        header = [str(cell).strip() for cell in cells]
        while header and not header[-1]:
            header.pop()
        named = [(index, name) for index, name in enumerate(header) if name]
        flaws["columns without a name, left out"] += len(header) - len(named)
        counts = Counter(name for _, name in named)
        if twice := [name for name, count in counts.items() if count > 1]:
            raise DataBroken(f"two columns are called {twice[0]!r}", where=where,
                             remedy="rename one")  # fmt: skip
        return cls(len(header), named)

    def check(self, cells: list[Any], where: str) -> None:
        """`DataBroken` if a row has more cells than the header that are not blank."""
        if any(cell != "" for cell in cells[self.width :]):
            what = f"{len(cells)} cells, and {self.width} in the header"
            raise DataBroken(what, where=where, remedy="quote cells that hold the delimiter")


def as_text(value: Any) -> str | None:
    """A value as text: whole numbers without a point, dates as ISO 8601, null as null.

    Examples
    --------
    >>> as_text(9.0), as_text(True), as_text(datetime.datetime(2024, 5, 1)), as_text("007")
    ('9', 'true', '2024-05-01', '007')
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value != value:
            return None
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime.datetime):
        # A spreadsheet's date is a time at midnight.
        midnight = value.time() == datetime.time() and value.tzinfo is None
        return (value.date() if midnight else value).isoformat()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if hasattr(value, "item"):  # A number of numpy.
        return as_text(value.item())
    return str(value)


def texts(values: Iterable[Any], convert: Callable[[Any], Any] = as_text) -> pl.Series:
    """Values as texts of a column; half of a surrogate pair is kept as its escape."""
    values = list(values)
    if not set(map(type, values)) <= {str, type(None)}:
        values = list(map(convert, values))
    try:
        return pl.Series(values, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series(list(map(storable, values)), dtype=pl.String)


def as_texts(cells: pl.Series | list[Any]) -> tuple[pl.Series, list[int]]:
    """The cells of a column as texts, and the numbers of those that are objects or lists.

    These are null among the texts.
    """
    if isinstance(cells, pl.Series):
        if cells.dtype == pl.String:
            return cells, []
        if cells.dtype.is_integer() or cells.dtype in (pl.Boolean, pl.Categorical, pl.Null):
            return cells.cast(pl.String), []
        cells = cells.to_list()
    if set(map(type, cells)) <= {str, type(None)}:
        return texts(cells), []
    nested = [number for number, cell in enumerate(cells) if _is_nested(cell)]
    cells = list(cells)
    for number in nested:
        cells[number] = None
    return texts(cells), nested


def _is_nested(cell: Any) -> bool:
    # An array in a cell of a frame has dimensions; a number of numpy has none.
    return isinstance(cell, dict | list | tuple) or bool(getattr(cell, "ndim", 0))
