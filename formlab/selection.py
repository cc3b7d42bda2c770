"""Which cases one looks at, as one line of text that is also the address of a report's view."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

import polars as pl

from formlab.errors import DataBroken, UnknownName

# Columns that stand for themselves; all others are written as slices.
NAMED = ("doc_id", "system", "task", "outcome", "cause", "status", "flip", "finding")
# What a row of a frame may say about its cases without being asked: whose they are, and which.
_IN_ROWS = ("system", "benchmark", "level", "task", "doc_id", "outcome", "cause", "status", "flip")
_IN_ROWS += ("kind", "modality", "subtype", "field")
_WHOLE = (("level", "document"), ("level", "page"))  # Of no cases of their own.
# The column of a frame that has the lines of its rows already.
LINES = "_cases"


def text(selection: Mapping[str, Sequence[str | None]]) -> str:
    """The line of a selection, such as ``slice=kind:answer&cause=clipped&slice=length``."""

    def part(column: str, value: str | None) -> str:
        name = quote(column, safe="")
        if value is None:
            return f"slice={name}"
        return f"{name}={quote(value)}" if column in NAMED else f"slice={name}:{quote(value)}"

    return "&".join(part(column, value) for column in selection for value in selection[column])


def read(line: str) -> dict[str, list[str | None]]:
    """The selection that a line stands for, or an address whose ``case=…`` opens one case."""
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
    """For each row of a table the line that selects the cases behind it; None where it has none."""
    if columns is None and LINES in frame.columns:
        return frame[LINES].to_list()
    # By column of the cases that of the frame: what is asked for, or what is named alike.
    usual = {name: name for name in _IN_ROWS if name in frame.columns and name not in without}
    named = usual if columns is None else columns
    if absent := [name for name in named.values() if name not in frame.columns]:
        raise UnknownName.of("column", absent[0], frame.columns)
    lines = []
    for row in frame.iter_rows(named=True):
        pairs = [(column, row[name]) for column, name in named.items()]
        # Null is a value of the columns that were asked for alone.
        pairs = [p for p in pairs if p not in _WHOLE and (columns is not None or p[1] is not None)]
        pairs += [] if columns == {} else _slices(row)
        lines.append(text({name: [_value(value)] for name, value in pairs if name}) or None)
    return lines


def _slices(row: Mapping[str, Any]) -> Iterator[tuple[str | None, Any]]:
    """The columns and values of ``slice_by`` with ``slice_value``, and ``x`` with ``x_value``."""
    by, value = row.get("slice_by"), row.get("slice_value")
    # Slices of several columns have a list of each, or their names joined.
    if isinstance(by, str) and isinstance(value, str) and " & " in by:
        by, value = by.split(" & "), value.split(" & ")
    yield from zip(by, value, strict=False) if isinstance(by, list) else [(by, value)]
    for axis in ("x", "y"):
        if f"{axis}_value" in row and isinstance(row.get(axis), str):
            value = row[f"{axis}_value"]
            yield row[axis], None if value == "unknown" else value


def _value(value: object) -> str | None:
    """A value as text; what tables of scores and flips call no value is None."""
    if value is None or value in ("null", "none"):
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)
