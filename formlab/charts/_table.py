"""A polars frame as a table for readers."""

from __future__ import annotations

import dataclasses
import html
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl

from formlab import frames, selection
from formlab.charts._output import MISSING, bundle, clean, number
from formlab.errors import UnknownName


@dataclasses.dataclass(frozen=True)
class Column:
    """How one column is shown: its title, its side, its decimals (None for text), as a link."""

    name: str
    title: str
    align: Literal["left", "right"]
    digits: int | None
    link: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """A table for readers: titled columns, numbers right-aligned in fixed digits, ``–`` for none.

    Parameters
    ----------
    frame
        Rows and columns as shown, in order.
    titles
        Column name to heading; a column that is left out keeps its name, ``_`` read as a space.
    digits
        Decimals of float columns, or column name to decimals; 3 by default. Integers have none.
    best
        Column name to ``max`` or ``min``: its best values are printed bold. Say so in `note`.
    links
        Columns of names of pages beside the report, such as ``10_content_modality.html``; what is
        no such name is shown as text.
    note
        A line under the table.
    rows
        At most so many rows are shown; the note then says how many there are.
    strong
        Cells to print bold beside those of `best`: number of the row and name of the column.
    aside
        Numbers of the rows that are not measured here, printed in another style.
    numeric
        Columns of text that hold numbers and are right-aligned.
    cases
        For a report that leads from a row to its cases: the columns of cases, and those of `frame`
        that hold their values; or for each row the line of `formlab.selection`. Without it
        ``slice_by`` and columns named as those of cases are taken; with {} no row leads anywhere.
    fold
        In a report the table is folded away behind these words.

    Raises
    ------
    UnknownName
        If `titles`, `digits`, `best`, `links`, `strong` or `numeric` names a column that `frame`
        does not have.

    Examples
    --------
    >>> table = Table(pl.DataFrame({"system": ["a"], "value": [0.25]}), titles={"value": "CER"})
    >>> print(table)
    system    CER
    a       0.250
    """

    frame: pl.DataFrame
    titles: Mapping[str, str] = dataclasses.field(default_factory=dict)
    digits: int | Mapping[str, int] = 3
    best: Mapping[str, Literal["max", "min"]] = dataclasses.field(default_factory=dict)
    note: str | None = None
    rows: int = 500
    links: tuple[str, ...] = ()
    strong: tuple[tuple[int, str], ...] = ()
    aside: tuple[int, ...] = ()
    numeric: tuple[str, ...] = ()
    cases: Mapping[str, str] | Sequence[str | None] | None = None
    fold: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "frame", frames.to_polars(self.frame))
        digits = self.digits if isinstance(self.digits, Mapping) else ()
        strong = (name for _, name in self.strong)
        for name in [*self.titles, *digits, *self.best, *self.links, *strong, *self.numeric]:
            if name not in self.frame.columns:
                raise UnknownName.of("column", name, self.frame.columns)

    @property
    def columns(self) -> list[Column]:
        """Each column as it is shown."""
        digits = self.digits if isinstance(self.digits, Mapping) else {}
        default = 3 if isinstance(self.digits, Mapping) else self.digits
        columns = []
        for name, dtype in self.frame.schema.items():
            title = clean(self.titles.get(name, name.replace("_", " ")), limit=200)
            if dtype.is_numeric():
                decimals = digits.get(name, 0 if dtype.is_integer() else default)
                columns.append(Column(clean(name), title, "right", decimals))
            else:
                align = "right" if name in self.numeric else "left"
                columns.append(Column(clean(name), title, align, None, name in self.links))
        return columns

    def _payload(self) -> dict[str, Any]:
        shown = self.frame.head(self.rows)
        cells = [[_cell(value) for value in row] for row in shown.iter_rows()]
        bold = [[row, self.frame.columns.index(name)] for row, name in self.strong]
        bold += [
            [row, self.frame.columns.index(name)]
            for name, which in self.best.items()
            for row, value in enumerate(shown[name].to_list())
            if value is not None and value == getattr(self.frame[name].drop_nans(), which)()
        ]
        notes = [self.note] if self.note else []
        if shown.height < self.frame.height:
            notes.append(f"First {shown.height:,} of {self.frame.height:,} rows.")
        lines = self.cases
        if lines is None or isinstance(lines, Mapping):
            lines = selection.of_rows(shown, lines)
        return {
            "columns": [dataclasses.asdict(column) for column in self.columns],
            "rows": cells,
            "bold": bold,
            "aside": list(self.aside),
            "note": clean(" ".join(notes)) or None,
            "cases": [line and clean(line) for line in lines[: shown.height]],
            "fold": clean(self.fold, limit=200) or None,
        }

    def _texts(self, payload: Mapping[str, Any]) -> list[list[str]]:
        return [
            [_shown(value, column) for value, column in zip(row, self.columns, strict=True)]
            for row in payload["rows"]
        ]

    def __str__(self) -> str:
        columns = self.columns
        rows = [[column.title for column in columns], *self._texts(self._payload())]
        widths = [min(60, max(len(row[i]) for row in rows)) for i in range(len(columns))]
        sides = ["<" if column.align == "left" else ">" for column in columns]
        line = "  ".join(f"{{:{s}{w}}}" for s, w in zip(sides, widths, strict=True))
        return "\n".join(line.format(*row).rstrip() for row in rows)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        payload = self._payload()
        return bundle("table", payload, str(self), self._html(payload))

    def _html(self, payload: Mapping[str, Any]) -> str:
        columns, bold = self.columns, {tuple(place) for place in payload["bold"]}
        sides = [f"text-align:{column.align}" for column in columns]
        head = "".join(
            f'<th style="{side}">{html.escape(column.title)}</th>'
            for side, column in zip(sides, columns, strict=True)
        )
        body = ""
        for y, row in enumerate(self._texts(payload)):
            cells = (
                f'<td style="{side}{";font-weight:700" if (y, x) in bold else ""}">'
                f"{_linked(text) if columns[x].link else html.escape(text)}</td>"
                for x, (side, text) in enumerate(zip(sides, row, strict=True))
            )
            style = ' style="font-style:italic;opacity:.75"' if y in self.aside else ""
            body += f"<tr{style}>{''.join(cells)}</tr>"
        note = f"<p><small>{html.escape(payload['note'])}</small></p>" if payload["note"] else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def _linked(text: str) -> str:
    shown = html.escape(text)
    # A page beside this one and nothing else: no scheme, no folder.
    return f'<a href="{shown}">{shown}</a>' if re.fullmatch(r"\w[\w-]*\.html", text) else shown


def _cell(value: object) -> object:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else number(value)
    return clean(value, limit=2_000)


def _shown(value: object, column: Column) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value, column.digits or 0)
    return str(value)
