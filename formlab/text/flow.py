"""The visible text of a page in reading order, block by block and cell by cell."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from formlab.text.markup import SILENT, Event, events, is_html
from formlab.text.normalise import WORDS

# Tags without a meaning here are passed over.
_ROLES = dict.fromkeys(WORDS["html"]["blocks"].split(), "block") | dict.fromkeys(SILENT, "silent")
_ROLES |= {"td": "cell", "th": "cell", "tr": "row", "table": "table"}
_LAYOUT = re.compile(r"<(?:html|body|p|div|br)\b", re.IGNORECASE)
# White space but for single spaces, which stay.
_SPACE = re.compile(r"\s{2,}|[^\S ]")
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


@dataclass(slots=True)
class _Table:
    number: int
    row: int = -1
    column: int = 0
    span: int = 1
    head: bool = False
    inside: bool = False
    # Column → how many more rows a cell from above reaches into it.
    reach: dict[int, int] = field(default_factory=dict)

    def next_row(self) -> None:
        self.row, self.column, self.span, self.inside = self.row + 1, 0, 0, False
        if self.reach:
            self.reach = {column: left - 1 for column, left in self.reach.items() if left > 1}

    def next_cell(self, name: str, spans: tuple[int, int]) -> None:
        if self.row < 0:
            self.next_row()
        self.column += self.span
        while self.reach.get(self.column, 0) > 0:
            self.column += 1
        self.span, rows = spans
        self.head = name == "th"
        if rows > 1:
            # One more than the rows below, as the next row counts all down by one.
            self.reach |= dict.fromkeys(range(self.column, self.column + self.span), rows)


class Flow:
    """Units of visible text in reading order, built from events.

    `marks` maps the running number of each start tag named in `tags`, which are no tags of HTML,
    to its unit and the start and end of its text in there. With `lines` line ends outside of
    tables part units.

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
        # Text of the block that was not measured, and text that was: with one space for each gap.
        self._raw: list[str] = []
        self._block = ""
        self._stack: list[_Table] = []
        # Marks that are open: name, running number, unit, and start.
        self._open: list[tuple[str, int, int, int]] = []
        tables = marks = silent = 0
        raw, stack, roles = self._raw, self._stack, _ROLES | dict.fromkeys(tags, "mark")
        for kind, name, spans in stream:
            if kind == "text":
                if silent:
                    continue
                if lines and not stack and "\n" in name:
                    *others, name = name.split("\n")
                    for part in others:
                        raw.append(part)
                        self._cut()
                raw.append(name)
            elif (role := roles.get(name)) is None:
                continue
            elif role == "mark" and kind == "start":
                self._open.append((name, marks, len(self.units), self._measured()))
                marks += 1
            elif role == "mark":
                self._close(name)
            elif role == "silent":
                silent = max(0, silent + (1 if kind == "start" else -1))
            else:
                if raw or self._block:
                    self._cut()
                is_start = kind == "start"
                if role == "table" and is_start:
                    stack.append(_Table(tables))
                    tables += 1
                elif not stack:
                    continue
                elif role == "cell":
                    if is_start:
                        stack[-1].next_cell(name, spans)
                    stack[-1].inside = is_start
                elif role == "row" and is_start:
                    stack[-1].next_row()
                elif role == "table":
                    stack.pop()
        self._cut()
        for name, *_ in reversed(self._open):
            self._close(name)

    def _measured(self) -> int:
        """How long the block's text is so far, with one space for each run of white space."""
        if self._raw:
            piece = _SPACE.sub(" ", "".join(self._raw))
            self._raw.clear()
            self._block += piece if self._block[-1:] not in ("", " ") else piece.lstrip(" ")
        return len(self._block)

    def _cut(self) -> None:
        """End the block, if there is one."""
        if self._block:
            self._measured()
            text, self._block = self._block.rstrip(), ""
        else:
            text = " ".join("".join(self._raw).split())
            self._raw.clear()
        if not text:
            return
        line, units = len(self.units), self.units
        if not self._stack:
            units.append(Unit(text, line=line))
            return
        table = self._stack[-1]
        if units and units[-1].row == table.row and units[-1].table == table.number:
            line = units[-1].line
        head = table.head and table.inside
        units.append(Unit(text, table.number, table.row, table.column, table.span, head, line))

    def _close(self, name: str) -> None:
        """End the last open mark of a name."""
        places = [place for place, mark in enumerate(self._open) if mark[0] == name]
        if not places:
            return
        _, number, unit, start = self._open.pop(places[-1])
        length = self._measured()
        if unit < len(self.units):
            # The text was cut inside the tag: what belongs to its first block is marked.
            self.marks[number] = (unit, start, len(self.units[unit].text))
        elif unit == len(self.units) and length:
            self.marks[number] = (unit, start, length)


def read(text: str) -> Flow:
    """The units of model output: HTML, Markdown with pipe tables, or plain lines.

    Columns of plain lines are told apart by tabs, bars or two and more spaces.

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
            pieces = map(str.strip, _GAP.split(cells))
            flow.units += [Unit(piece, line=number) for piece in pieces if piece]
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
