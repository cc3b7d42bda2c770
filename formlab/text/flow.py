"""The visible text of a page in reading order, block by block and cell by cell."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from formlab.text.markup import SILENT, Event, events, is_html

_BLOCKS = (
    "address article aside blockquote body br caption center dd div dl dt fieldset figure footer"
    " form h1 h2 h3 h4 h5 h6 head header hr html legend li main nav ol option p pre section select"
    " table tbody td tfoot th thead title tr ul"
)
# Tags without a meaning here are passed over.
_ROLES = dict.fromkeys(_BLOCKS.split(), "block") | dict.fromkeys(SILENT, "silent")
_ROLES |= {"td": "cell", "th": "cell", "tr": "row", "table": "table"}
_LAYOUT = re.compile(r"<(?:html|body|p|div|br)\b", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_GAP = re.compile(r"\t+|\s{2,}|\s*\|\s*")
_RULE = re.compile(r"[\s|:+=-]+")


@dataclass(slots=True)
class Unit:
    """A block or cell's visible text; `table`, `row`, `column` and `span` are -1 outside tables.

    `line` is the same for what stands side by side: the cells of a row, the pieces of a line.
    """

    text: str
    table: int = -1
    row: int = -1
    column: int = -1
    span: int = -1
    head: bool = False
    line: int = -1


@dataclass
class _Table:
    number: int
    row: int = -1
    column: int = 0
    span: int = 1
    head: bool = False
    inside: bool = False
    # Column → how many more rows a cell from above reaches into it.
    reach: dict[int, int] = field(default_factory=dict)


class Flow:
    """Units of visible text in reading order, built from events.

    `marks` maps the running number of each start tag named in `tags`, which are no tags of HTML,
    to its unit and the start and end of its text in there.

    Examples
    --------
    >>> from formlab.text.markup import written_events
    >>> flow = Flow(written_events("<tr><td>Cash<td><number>5</number> m"), tags={"number"})
    >>> [unit.text for unit in flow.units], flow.marks
    (['Cash', '5 m'], {0: (1, 0, 1)})
    """

    def __init__(
        self, stream: Iterable[Event], *, tags: Iterable[str] = (), lines: bool = False
    ) -> None:
        self.units: list[Unit] = []
        self.marks: dict[int, tuple[int, int, int]] = {}
        # Text of the block as it is written, and what of it was measured for a mark.
        self._texts: list[str] = []
        self._block: list[str] = []
        self._length = self._tables = self._count = silent = 0
        self._open: list[tuple[str, int, int, int]] = []
        self._stack: list[_Table] = []
        plain, roles, stack = not lines, _ROLES | dict.fromkeys(tags, "mark"), self._stack
        for kind, name, spans in stream:
            start = kind == "start"
            if kind == "text":
                parts = [name] if plain or stack else name.split("\n")
                for number, part in enumerate(parts if not silent else ()):
                    if number:
                        self._flush()
                    self._texts.append(part)
                continue
            role = roles.get(name)
            if role == "mark":
                self._mark(name, start)
            elif role == "silent":
                silent = max(0, silent + (1 if start else -1))
            elif role:
                self._flush()
                if role == "table" and start:
                    stack.append(_Table(self._tables))
                    self._tables += 1
                elif role == "table" and stack:
                    stack.pop()
                elif stack and role == "cell":
                    if start:
                        self._next_cell(stack[-1], name, spans)
                    stack[-1].inside = start
                elif stack and role == "row" and start:
                    self._next_row(stack[-1])
        self._flush()
        while self._open:
            self._close(len(self._open) - 1)

    def _measured(self) -> int:
        """How long the block's text is so far, with one space for each run of white space."""
        if self._texts:
            piece = _SPACE.sub(" ", "".join(self._texts))
            self._texts.clear()
            if not self._block or self._block[-1].endswith(" "):
                piece = piece.lstrip(" ")
            if piece:
                self._block.append(piece)
                self._length += len(piece)
        return self._length

    def _flush(self) -> None:
        self._measured()
        text = "".join(self._block).rstrip()
        self._block, self._length = [], 0
        if not text:
            return
        unit = Unit(text, line=len(self.units))
        if self._stack:
            table = self._stack[-1]
            unit.table, unit.row, unit.column, unit.span = (
                table.number, table.row, table.column, table.span,
            )  # fmt: skip
            unit.head = table.head and table.inside
            before = self.units[-1] if self.units else unit
            if (before.table, before.row) == (unit.table, unit.row):
                unit.line = before.line
        self.units.append(unit)

    @staticmethod
    def _next_row(table: _Table) -> None:
        table.row, table.column, table.span, table.inside = table.row + 1, 0, 0, False
        table.reach = {column: left - 1 for column, left in table.reach.items() if left > 1}

    @staticmethod
    def _next_cell(table: _Table, name: str, spans: tuple[int, int]) -> None:
        if table.row < 0:
            Flow._next_row(table)
        table.column += table.span
        while table.reach.get(table.column, 0) > 0:
            table.column += 1
        table.span, rows = spans
        table.head = name == "th"
        if rows > 1:
            # One more than the rows below, as the next row counts all down by one.
            cells = range(table.column, table.column + table.span)
            table.reach |= dict.fromkeys(cells, rows)

    def _mark(self, name: str, start: bool) -> None:
        if start:
            self._open.append((name, self._count, len(self.units), self._measured()))
            self._count += 1
            return
        places = [place for place, mark in enumerate(self._open) if mark[0] == name]
        if places:
            self._close(places[-1])

    def _close(self, index: int) -> None:
        _, number, unit, start = self._open.pop(index)
        length = self._measured()
        if unit < len(self.units):
            # The text was cut inside the tag: what belongs to its first block is marked.
            self.marks[number] = (unit, start, len(self.units[unit].text))
        elif unit == len(self.units) and length:
            self.marks[number] = (unit, start, length)


def read(text: str) -> Flow:
    """The units of model output: HTML, Markdown with pipe tables, or plain lines.

    Columns of plain lines are told apart by tabs, bars or two and more spaces.

    Examples
    --------
    >>> units = read("| a | b |\\n|---|---|\\n| c | 1 |").units
    >>> [(unit.text, unit.row, unit.column) for unit in units]
    [('a', 0, 0), ('b', 0, 1), ('c', 1, 0), ('1', 1, 1)]
    """
    if is_html(text):
        return Flow(events(text), lines=_LAYOUT.search(text) is None)
    flow, table, row = Flow(()), -1, -1
    for number, line in enumerate(html.unescape(text).splitlines()):
        cells = line.strip()
        if cells.count("|") < 2:
            texts = map(str.strip, _GAP.split(cells))
            flow.units += [Unit(cell, line=number) for cell in texts if cell]
            row = -1
            continue
        if row < 0:
            table, row = table + 1, 0
        if _RULE.fullmatch(cells):
            continue
        for column, cell in enumerate(cells.strip("|").split("|")):
            if words := _SPACE.sub(" ", cell).strip():
                flow.units.append(Unit(words, table, row, column, 1, line=number))
        row += 1
    return flow
