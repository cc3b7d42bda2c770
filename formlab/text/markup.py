"""HTML as events, visible text, or blocks and cells in reading order; text without its marks."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from lxml import etree

from formlab.text.normalise import WORDS

# A start tag, an end tag or a run of text ("start", "end", "text"); the tag's name or the text; and
# of a start tag the columns and rows that a cell spans.
Event = tuple[str, str, tuple[int, int]]
# What a browser does not show, and ruby glosses, which the published extraction leaves out too.
_SILENT = frozenset({"script", "style", "template", "rt", "rp"})
VOID = frozenset(WORDS["html"]["void"].split())
# What tags mean here; others are passed over.
_ROLES = dict.fromkeys(WORDS["html"]["blocks"].split(), "block")
_ROLES |= {"td": "cell", "th": "cell", "tr": "row", "table": "table"}
_TAG, _LAYOUT, _FEED, _GARBAGE, _SPACE, _GAP, _RULE = map(
    re.compile, WORDS["html"]["patterns"].values()
)
_ONE = (1, 1)
# Beyond these a span is hostile: it would only cost memory.
_MOST = {"colspan": 100, "rowspan": 500}


def events(markup: str) -> list[Event]:
    """The tags and texts of any HTML as libxml2 reads it, in linear time, without silent ones."""
    # Control characters and half surrogate pairs are no characters of a document.
    plain = _GARBAGE.sub("\ufffd", _FEED.sub(" ", markup)).encode("utf-8", "replace")
    parser = etree.HTMLParser(encoding="utf-8", recover=True, huge_tree=True)
    found: list[Event] = []
    with suppress(etree.ParseError):  # There is nothing in it.
        root = etree.fromstring(plain, parser)
        walk = () if root is None else etree.iterwalk(root, ("start", "end", "comment", "pi"))
        for kind, element in walk:
            if element.tag in _SILENT and kind == "start":
                walk.skip_subtree()
                continue
            if kind in ("start", "end") and element.tag not in _SILENT:
                spans = (_span(element.get(name), most) for name, most in _MOST.items())
                found.append((kind, element.tag, tuple(spans) if element.attrib else _ONE))
            # Texts that only a comment parts are two.
            if text := element.text if kind == "start" else element.tail:
                found.append(("text", text, _ONE))
    if parser.error_log.filter_from_fatals():
        # libxml2 stops at 2,048 levels, which no page has: what it says is its text alone.
        return [("text", html.unescape(_TAG.sub(" ", markup)), _ONE)]
    return found


def _span(text: str | None, most: int) -> int:
    return min(max(int(text), 1), most) if text and text.isdecimal() and len(text) < 9 else 1


def is_html(text: str) -> bool:
    """Whether a text has at least one tag; model output is HTML, Markdown or plain."""
    return _TAG.search(text) is not None


def visible_text(markup: str) -> str:
    """The text of HTML or of plain text: pieces joined by one space, white space collapsed."""
    if "<" in markup and ">" in markup:
        pieces, depth = [], 0
        for kind, name, _ in events(markup):
            if kind != "text":
                depth += (name in ("noscript", "iframe")) * (1 if kind == "start" else -1)
            elif not depth:
                pieces.append(name)
        markup = " ".join(pieces)
    return " ".join(html.unescape(markup).split())


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


class Flow:
    """Units of visible text in reading order, built from events.

    `marks` maps the running number of each start tag named in `tags`, which are no tags of HTML,
    to its unit and the start and end of its text there. With `lines` line ends part units.
    """

    def __init__(
        self, stream: Iterable[Event], *, tags: Iterable[str] = (), lines: bool = False
    ) -> None:
        self.units: list[Unit] = []
        self.marks: dict[int, tuple[int, int, int]] = {}
        # Text of the block that was not measured, and text that was: with one space for each gap.
        self._raw: list[str] = []
        self._block = ""
        # The cell of each open table that text goes to; outside of all it is that of no table.
        self._cells = [Unit("")]
        raw, cells, roles = self._raw, self._cells, _ROLES | dict.fromkeys(tags, "mark")
        # Of open tables by column the row before which a cell from above ends; of open marks their
        # running number, unit, and start.
        reach: list[dict[int, int]] = []
        open_marks: list[tuple[int, int, int]] = []
        table_count = mark_count = 0
        for kind, name, spans in stream:
            if kind == "text":
                *others, name = name.split("\n") if lines and not reach else (name,)
                for part in others:
                    raw.append(part)
                    self._end_block()
                raw.append(name)
            elif (role := roles.get(name)) == "mark":
                if kind == "start":
                    open_marks.append((mark_count, len(self.units), self._measured()))
                    mark_count += 1
                else:
                    self._end_mark(*open_marks.pop())
            elif role:
                if raw or self._block:
                    self._end_block()
                if role == "table" and kind == "start":
                    cells.append(Unit("", table_count, column=0, span=1))
                    reach.append({})
                    table_count += 1
                elif role == "table":
                    cells.pop()
                    reach.pop()
                elif role != "block" and reach:
                    _next_cell(cells[-1], reach[-1], kind, role, name, spans)
        self._end_block()

    def _measured(self) -> int:
        """How long the block's text is so far, with one space for each run of white space."""
        if self._raw:
            piece = _SPACE.sub(" ", "".join(self._raw))
            self._raw.clear()
            self._block += piece if self._block[-1:] not in ("", " ") else piece.lstrip(" ")
        return len(self._block)

    def _end_block(self) -> None:
        """Make a unit of the block's text, if it has any."""
        if not self._measured():
            return
        cell, last, line = self._cells[-1], self.units[-1:], len(self.units)
        if cell.table >= 0 and last and (last[0].table, last[0].row) == (cell.table, cell.row):
            line = last[0].line
        place = cell.table, cell.row, cell.column, cell.span, cell.head
        self.units.append(Unit(self._block.rstrip(), *place, line))
        self._block = ""

    def _end_mark(self, number: int, unit: int, start: int) -> None:
        # Where the text was cut inside the tag, what belongs to its first block is marked.
        is_cut, length = unit < len(self.units), self._measured()
        if end := len(self.units[unit].text) if is_cut else length:
            self.marks[number] = (unit, start, end)


def _next_cell(
    cell: Unit, reach: dict[int, int], kind: str, role: str, name: str, spans: tuple[int, int]
) -> None:
    """Move to the next cell or row of a table, and out of a head at its end."""
    if kind == "end":
        cell.head &= role != "cell"
        return
    if role == "row" or cell.row < 0:
        cell.row, cell.column, cell.span, cell.head = cell.row + 1, 0, 0, False
    if role == "cell":
        cell.column += cell.span
        while reach.get(cell.column, 0) > cell.row:
            cell.column += 1
        (cell.span, rows), cell.head = spans, name == "th"
        if rows > 1:
            below = range(cell.column, cell.column + cell.span)
            reach |= dict.fromkeys(below, cell.row + rows)


def read(text: str) -> Flow:
    """The units of model output: HTML, Markdown with pipe tables, or plain lines."""
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
        if not _RULE.fullmatch(cells):
            words = enumerate(_SPACE.sub(" ", cell).strip() for cell in cells.strip("|").split("|"))
            flow.units += [Unit(w, table, row, column, 1, line=number) for column, w in words if w]
            row += 1
    return flow


_MARKS = re.compile(
    "|".join(f"(?P<{kind}>{form})" for kind, form in WORDS["page_marks"].items()), re.MULTILINE
)
# What marks of each kind are called, and what a text has whose own characters may be such marks.
TITLES = WORDS["titles_of_marks"]
_SIGNS = {kind: signs.split() for kind, signs in WORDS["signs_of_marks"].items()}


def own_marks(text: str) -> set[str]:
    """The kinds of marks that a text has among its own characters."""
    kinds = {mark.lastgroup or "" for mark in _MARKS.finditer(text)}
    signs = {kind for kind, texts in _SIGNS.items() if any(sign in text for sign in texts)}
    return (kinds - _SIGNS.keys()) | signs


def unmarked(text: str, keep: Collection[str] = ()) -> tuple[str, np.ndarray, Counter[str]]:
    """A text without marks but of kinds in `keep`, where each character stood, counts of marks."""
    # Bars count as marks only in a line with at least two.
    bars, at = set(), 0
    for line in text.splitlines(keepends=True):
        bars.update(range(at, at + len(line)) if line.count("|") > 1 else ())
        at += len(line)
    pieces, places, counts, end = [], [], Counter(), 0
    for mark in _MARKS.finditer(text):
        kind, start = mark.lastgroup or "", mark.start()
        if kind in keep or (kind == "bar" and start not in bars):
            continue
        # These part words; other marks do not.
        shown = " " if kind in ("tag", "bar", "rule") else ""
        shown = html.unescape(mark[0]) if kind == "entity" else shown
        pieces += (text[end:start], shown)
        places += [*range(end, start), *[start] * len(shown)]
        end = mark.end()
        counts[kind] += 1
    places += range(end, len(text))
    return "".join([*pieces, text[end:]]), np.array(places, dtype=np.int64), counts
