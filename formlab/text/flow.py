"""The visible text of a page in reading order, block by block and cell by cell."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from formlab.text.markup import SILENT, Event, events, is_html

_BLOCKS = frozenset([
    "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "div",
    "dl", "dt", "fieldset", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    "head", "header", "hr", "html", "legend", "li", "main", "nav", "ol", "option", "p", "pre",
    "section", "select", "table", "tbody", "td", "tfoot", "th", "thead", "title", "tr", "ul",
])  # fmt: skip
# Tags without a meaning here are passed over.
_ROLES = (
    dict.fromkeys(_BLOCKS, "block") | {"td": "cell", "th": "cell", "tr": "row", "table": "table"}
    | dict.fromkeys(SILENT, "silent")
)  # fmt: skip
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
        self._buffer: list[str] = []
        self._length, self._spaced, self._silent, self._tables = 0, True, 0, 0
        self._open: list[tuple[str, int, int, int]] = []
        self._stack: list[_Table] = []
        self._count = 0
        plain, texts, roles = not lines, self._texts, _ROLES | dict.fromkeys(tags, "mark")
        stack = self._stack
        for what, name, spans in stream:
            if what == "text":
                if self._silent:
                    continue
                if plain or stack:
                    texts.append(name)
                else:
                    self._lines(name)
            elif role := roles.get(name):
                if role == "mark":
                    self._mark(name, what == "start")
                    continue
                if role == "silent":
                    self._silent = max(0, self._silent + (1 if what == "start" else -1))
                    continue
                if texts or self._buffer:
                    self._flush()
                if role == "table":
                    self._table(what == "start")
                elif stack and role == "cell":
                    if what == "start":
                        self._next_cell(stack[-1], name, spans)
                    else:
                        stack[-1].inside = False
                elif stack and role == "row" and what == "start":
                    self._next_row(stack[-1])
        self._flush()
        while self._open:
            self._close(len(self._open) - 1)

    def _lines(self, text: str) -> None:
        for number, line in enumerate(text.split("\n")):
            if number:
                self._flush()
            self._texts.append(line)

    def _measured(self) -> int:
        """How long the block's text is so far, with one space for each run of white space."""
        if self._texts:
            piece = _SPACE.sub(" ", "".join(self._texts))
            self._texts.clear()
            if self._spaced:
                piece = piece.lstrip(" ")
            if piece:
                self._buffer.append(piece)
                self._length += len(piece)
                self._spaced = piece.endswith(" ")
        return self._length

    def _flush(self) -> None:
        self._measured()
        text = "".join(self._buffer).rstrip()
        self._buffer, self._length, self._spaced = [], 0, True
        if not text:
            return
        units = self.units
        if not self._stack:
            units.append(Unit(text, line=len(units)))
            return
        table, line = self._stack[-1], len(units)
        number, row = table.number, table.row
        if units and (before := units[-1]).row == row and before.table == number:
            line = before.line
        head = table.head and table.inside
        units.append(Unit(text, number, row, table.column, table.span, head, line))

    def _table(self, start: bool) -> None:
        if start:
            self._stack.append(_Table(self._tables))
            self._tables += 1
        elif self._stack:
            self._stack.pop()

    @staticmethod
    def _next_row(table: _Table) -> None:
        table.row, table.column, table.span, table.inside = table.row + 1, 0, 0, False
        if table.reach:
            table.reach = {column: left - 1 for column, left in table.reach.items() if left > 1}

    @staticmethod
    def _next_cell(table: _Table, name: str, spans: tuple[int, int]) -> None:
        if table.row < 0:
            Flow._next_row(table)
        table.column += table.span
        if table.reach:
            while table.reach.get(table.column, 0) > 0:
                table.column += 1
        table.span, rows = spans
        table.head, table.inside = name == "th", True
        if rows > 1:
            # One more than the rows below, as the next row counts all down by one.
            cells = range(table.column, table.column + table.span)
            table.reach |= dict.fromkeys(cells, rows)

    def _mark(self, name: str, start: bool) -> None:
        if start:
            self._open.append((name, self._count, len(self.units), self._measured()))
            self._count += 1
            return
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at][0] == name:
                self._close(at)
                return

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
    flow = Flow(())
    table = -1
    row = 0
    for number, line in enumerate(html.unescape(text).splitlines()):
        cells = line.strip()
        if cells.count("|") < 2:
            flow.units += [
                Unit(cell, line=number) for cell in map(str.strip, _GAP.split(cells)) if cell
            ]
            row = -1
            continue
        if row < 0 or table < 0:
            table, row = table + 1, 0
        if _RULE.fullmatch(cells):
            continue
        for column, cell in enumerate(cells.strip("|").split("|")):
            if words := _SPACE.sub(" ", cell).strip():
                flow.units.append(Unit(words, table, row, column, 1, line=number))
        row += 1
    return flow
