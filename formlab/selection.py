"""Which cases one looks at, as one line of text that is also the address of a report's view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, unquote

import polars as pl

from formlab.errors import DataBroken, UnknownName

# Columns that stand for themselves; all others are written as slices.
NAMED = ("doc_id", "system", "task", "outcome", "cause", "status", "flip", "finding")
# What a row of a frame may say about its cases without being asked: whose they are, and which.
_IN_ROWS = ("system", "benchmark", "level", "task", "doc_id", "outcome", "cause", "status", "flip")
_IN_ROWS += ("kind", "modality", "subtype", "field")
_WHOLE = (("level", "document"), ("level", "page"))
# The column of a frame that has the lines of its rows already.
LINES = "_cases"

Selection = Mapping[str, Sequence[str | None]]


def text(selection: Selection) -> str:
    """The line of a selection: of each column the values wanted, None for no value.

    Values of one column are alternatives; several columns must all fit.

    >>> text({"kind": ["answer"], "cause": ["clipped"], "length": [None]})
    'slice=kind:answer&cause=clipped&slice=length'
    """
    parts = []
    for column, values in selection.items():
        name, is_named = quote(column, safe=""), column in NAMED
        for value in values:
            end = "" if value is None else f"{'=' if is_named else ':'}{quote(value)}"
            parts.append(f"{'' if is_named and end else 'slice='}{name}{end}")
    return "&".join(parts)


def read(line: str) -> dict[str, list[str | None]]:
    """The selection that a line, or an address that ends in it, stands for.

    The ``case=…`` of an address, which opens one case, selects none. `DataBroken` if a part of it
    is neither ``name=value`` nor ``slice=column:value``.
    """
    selection: dict[str, list[str | None]] = {}
    for part in filter(None, line.rpartition("#")[2].split("&")):
        column, equals, value = part.partition("=")
        is_known = equals and column in ("case", "slice", *NAMED)
        if column == "slice":
            column, equals, value = value.partition(":")
        if not is_known or not column:
            remedy = f"slice=column:value, or one of: {', '.join(f'{name}=…' for name in NAMED)}"
            raise DataBroken(f"{part!r} selects no cases", remedy=remedy)
        if not part.startswith("case="):
            selection.setdefault(unquote(column), []).append(unquote(value) if equals else None)
    return selection


def of_rows(
    frame: pl.DataFrame, columns: Mapping[str, str] | None = None, *, without: Sequence[str] = ()
) -> list[str | None]:
    """For each row of a table the line that selects the cases behind it; None where it has none.

    `columns` names the columns of cases and those of the frame that hold their values, where null
    is no value (`UnknownName` if it has none of that name). Without it, what the frame names like a
    column of cases is taken, but for the columns `without`; ``slice_by`` with ``slice_value``, and
    ``x`` with ``x_value``, always are. A frame with a column `LINES` has its own.

    >>> of_rows(pl.DataFrame({"slice_by": ["kind", None], "slice_value": ["answer", None]}))
    ['slice=kind:answer', None]
    """
    if columns is None and LINES in frame.columns:
        return frame[LINES].to_list()
    found = {name: name for name in _IN_ROWS if name in frame.columns and name not in without}
    named = found if columns is None else columns
    if absent := [name for name in named.values() if name not in frame.columns]:
        raise UnknownName.of("column", absent[0], frame.columns)
    lines: list[str | None] = []
    for row in frame.iter_rows(named=True):
        pairs = [(column, row[name]) for column, name in named.items()]
        # Scores of whole documents and pages are of no cases of their own.
        pairs = [pair for pair in pairs if pair not in _WHOLE]
        pairs = pairs if columns is not None else [pair for pair in pairs if pair[1] is not None]
        if columns != {}:
            by, value = row.get("slice_by"), row.get("slice_value")
            # Slices of several columns have a list of each, or their names joined.
            if isinstance(by, str) and isinstance(value, str) and " & " in by:
                by, value = by.split(" & "), value.split(" & ")
            pairs += zip(by, value, strict=False) if isinstance(by, list) else [(by, value)]
            for axis in ("x", "y"):
                if f"{axis}_value" in row and isinstance(row.get(axis), str):
                    place = row[f"{axis}_value"]
                    pairs.append((row[axis], None if place == "unknown" else place))
        selection = {name: [_value(value)] for name, value in pairs if name is not None}
        lines.append(text(selection) or None)
    return lines


def _value(value: object) -> str | None:
    """A value as text; what tables of scores and flips call no value is None."""
    if value is None or value in ("null", "none"):
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)
