"""Which cases one looks at, as one line of text that is also the address of a report's view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, unquote

import polars as pl

from formlab.errors import DataBroken

# Columns that stand for themselves; all others are written as slices.
NAMED = ("doc_id", "system", "task", "outcome", "cause", "status", "flip", "finding")
# What a row of a frame may say about its cases without being asked.
_IN_ROWS = ("doc_id", "outcome", "cause", "status", "flip", "kind", "modality", "subtype")

Selection = Mapping[str, Sequence[str | None]]


def text(selection: Selection) -> str:
    """The line of a selection: of each column the values wanted, None for no value.

    Values of one column are alternatives; several columns must all fit.

    Examples
    --------
    >>> text({"kind": ["answer"], "cause": ["clipped"], "length": [None]})
    'slice=kind:answer&cause=clipped&slice=length'
    """
    pairs = []
    for column, values in selection.items():
        for value in values:
            name, written = quote(column, safe=" "), quote(value or "", safe=" /")
            if column in NAMED and value is not None:
                pairs.append(f"{name}={written}")
            else:
                pairs.append(f"slice={name}" if value is None else f"slice={name}:{written}")
    return "&".join(pairs).replace(" ", "%20")


def read(line: str) -> dict[str, list[str | None]]:
    """The selection that a line, or an address that ends in it, stands for.

    The ``case=…`` of an address, which opens one case, selects none.

    Raises
    ------
    DataBroken
        If a part of it is neither ``name=value`` nor ``slice=column:value``.

    Examples
    --------
    >>> read("report.html#slice=kind:answer&cause=clipped&slice=length")
    {'kind': ['answer'], 'cause': ['clipped'], 'length': [None]}
    """
    selection: dict[str, list[str | None]] = {}
    for part in filter(None, line.rpartition("#")[2].split("&")):
        name, equals, value = part.partition("=")
        if name == "case" and equals:
            continue
        column: str = name
        chosen: str | None = value
        if name == "slice":
            column, colon, value = value.partition(":")
            chosen = value if colon else None
        if not equals or not column or (name != "slice" and name not in NAMED):
            raise DataBroken(
                f"{part!r} selects no cases",
                remedy="slice=column:value, or one of: " + ", ".join(f"{n}=…" for n in NAMED),
            )
        chosen = None if chosen is None else unquote(chosen)
        selection.setdefault(unquote(column), []).append(chosen)
    return selection


def of_rows(frame: pl.DataFrame, columns: Mapping[str, str] | None = None) -> list[str | None]:
    """For each row of a table the line that selects the cases behind it; None where it has none.

    `columns` names the columns of cases and those of the frame that hold their values; without it
    the frame's ``slice_by`` and ``slice_value`` and the columns that cases have too are taken.

    Examples
    --------
    >>> of_rows(pl.DataFrame({"slice_by": ["kind", None], "slice_value": ["answer", None]}))
    ['slice=kind:answer', None]
    """
    if columns is None:
        columns = {name: name for name in _IN_ROWS if name in frame.columns}
    lines: list[str | None] = []
    for row in frame.iter_rows(named=True):
        chosen = {of: [_value(row[name])] for of, name in columns.items() if row[name] is not None}
        chosen |= dict(_slices(row))
        lines.append(text(chosen) or None)
    return lines


def _slices(row: Mapping[str, object]) -> list[tuple[str, list[str | None]]]:
    by, value = row.get("slice_by"), row.get("slice_value")
    if by is None:
        return []
    # Slices of several columns have a list of each.
    pairs = zip(by, value, strict=True) if isinstance(by, list) else [(by, value)]
    return [(str(column), [_value(one)]) for column, one in pairs]


def _value(value: object) -> str | None:
    return None if value is None or value in ("null", "none") else str(value)
