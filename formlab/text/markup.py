"""Pages: HTML as events, visible text, or blocks and cells; boxes in rows; marks and clicks."""

import html
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from html.entities import html5
from html.parser import HTMLParser
from itertools import chain, groupby, zip_longest
from statistics import median
from typing import Any

import numpy as np
from lxml import etree

from formlab.tables import BOX
from formlab.text.normalise import WORDS

# "start", "end" or "text"; the tag's name or the text; of a start tag a cell's columns and rows.
Event = tuple[str, str, tuple[int, int]]
# What a browser does not show, and ruby glosses, which the published extraction leaves out too.
SILENT = frozenset({"script", "style", "template", "rt", "rp"})
_HIDDEN = SILENT | {"noscript", "iframe"}
VOID = frozenset(WORDS["html"]["void"].split())
# What tags mean here; others are passed over.
_ROLES = dict.fromkeys(WORDS["html"]["blocks"].split(), "block") | dict.fromkeys(SILENT, "silent")
_ROLES |= {"td": "cell", "th": "cell", "tr": "row", "table": "table"}
_PATTERNS = map(re.compile, WORDS["html"]["patterns"].values())
_TAG, _PLAIN_TAG, _LAYOUT, _CONTROL, _SPACE, _GAP, _RULE = _PATTERNS
# Marks of HTML and Markdown, what each kind is called, and what hints that they are a text's own.
_MARKS = re.compile(
    "|".join(f"(?P<{kind}>{form})" for kind, form in WORDS["page_marks"].items()), re.MULTILINE
)
_ACTION, _FENCE_LINE = map(re.compile, WORDS["action"].values())
TITLES = WORDS["titles_of_marks"]
_SIGNS = {kind: signs.split() for kind, signs in WORDS["signs_of_marks"].items()}
# Beyond these a span is hostile: it would only cost memory.
_MOST = {"colspan": 100, "rowspan": 500}
_ONE = (1, 1)


class _Events(HTMLParser):
    """Events as Python's own parser, which moves and closes nothing, or libxml2 tells of them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[Event] = []
        self.texts: list[str] = []
        self.data = self.handle_data = self.texts.append

    def comment(self, *_: object) -> None:
        # Texts that only a comment parts are two.
        if self.texts:
            self.found.append(("text", "".join(self.texts), _ONE))
            self.texts.clear()

    pi = handle_comment = handle_decl = handle_pi = unknown_decl = comment

    def start(self, tag: str, attributes: Mapping[str, str] | Sequence[tuple[str, str]]) -> None:
        self.comment()
        spans = _ONE
        if attributes:
            spans = tuple(_span(dict(attributes).get(name), most) for name, most in _MOST.items())
        self.found.append(("start", tag, spans))

    def end(self, tag: str) -> None:
        self.comment()
        self.found.append(("end", tag, _ONE))

    handle_starttag, handle_endtag = start, end

    def handle_charref(self, name: str) -> None:
        self.data(html.unescape(f"&#{name};"))

    def handle_entityref(self, name: str) -> None:
        # An unknown name is text.
        self.data(html5.get(f"{name};", f"&{name}"))


def _span(text: str | None, most: int) -> int:
    return min(max(int(text), 1), most) if text and text.isdecimal() and len(text) < 9 else 1


@lru_cache(maxsize=2**10)
def _plain_events(tag: str) -> list[Event] | None:
    """What a plain tag says; None of a script's start, behind which tags are text."""
    parser = _Events()
    parser.feed(tag)
    return None if parser.cdata_elem else parser.found


def written_events(markup: str) -> list[Event]:
    """The tags and texts of an HTML file as they are written: what gold annotations need."""
    # Of texts and plain tags alone, Python's parser, which takes longer, reads each tag once.
    pieces = _PLAIN_TAG.split(markup)
    plain, tags = "".join(pieces[::2]), list(map(_plain_events, pieces[1::2]))
    if "<" not in plain and "&" not in plain and None not in tags:
        texts = ([("text", text, _ONE)] if text else [] for text in pieces[::2])
        return [*chain.from_iterable(chain.from_iterable(zip_longest(texts, tags, fillvalue=[])))]
    parser = _Events()
    try:
        parser.feed(markup)
        parser.close()
    except AssertionError:
        # Python's parser gives up at some marks, such as `<![<`.
        return events(markup)
    parser.comment()
    return parser.found


def events(markup: str) -> list[Event]:
    """The tags and texts that libxml2 reads in any HTML, in linear time."""
    # Control characters and half surrogate pairs are no characters of a document.
    markup = _CONTROL.sub(lambda sign: " " if sign[0].isspace() else "\ufffd", markup)
    target = _Events()
    parser = etree.HTMLParser(encoding="utf-8", recover=True, huge_tree=True, target=target)
    with suppress(etree.ParseError):
        parser.feed(markup.encode("utf-8", "replace"))
        parser.close()
    target.comment()
    # lxml frees a parser late, and its target with it.
    found, target.found = target.found, []
    return found


def is_html(text: str) -> bool:
    """Whether a text has at least one tag; model output is HTML, Markdown or plain."""
    return _TAG.search(text) is not None


def shown_texts(stream: Iterable[Event], hidden: Collection[str]) -> Iterator[str]:
    """The texts that stand in no element with a name in `hidden`."""
    depth = 0
    for kind, name, _ in stream:
        if kind != "text" and name in hidden:
            depth = max(0, depth + (1 if kind == "start" else -1))
        elif kind == "text" and not depth:
            yield name


def visible_text(markup: str) -> str:
    """The text of HTML or of plain text: pieces joined by one space, white space collapsed."""
    if "<" in markup and ">" in markup:
        markup = " ".join(shown_texts(events(markup), _HIDDEN))
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
        units, roles = self.units, _ROLES | dict.fromkeys(tags, "mark")
        # The text of the block, with one space for each gap.
        block, table_count, silent = "", 0, 0
        # The cell of each open table that text goes to, and by column the row before which one from
        # above ends; outside of all it is the cell of no table.
        tables: list[tuple[Unit, dict[int, int]]] = [(Unit(""), {})]
        cell, reach = tables[0]
        # The unit, start and end of each mark, and by name the open ones, which have no end.
        marks: list[list[int]] = []
        open_marks = defaultdict[str, list[list[int]]](list)
        for kind, name, spans in stream:
            if kind == "text":
                pieces = name.split("\n") if lines and cell.table < 0 else (name,)
                for number, text in enumerate(() if silent else pieces):
                    if number and block:
                        block = self._end_block(block, cell)
                    if "  " in text or not text.isprintable():
                        text = _SPACE.sub(" ", text)
                    block += text if block and block[-1] != " " else text.lstrip(" ")
            elif (role := roles.get(name)) == "mark":
                if kind == "start":
                    marks.append([len(units), len(block), -1])
                    open_marks[name].append(marks[-1])
                elif open_marks[name] and (mark := open_marks[name].pop())[0] == len(units):
                    mark[2] = len(block)
            elif role == "silent":
                silent = max(0, silent + (1 if kind == "start" else -1))
            elif role:
                block = block and self._end_block(block, cell)
                if role == "table" and kind == "start":
                    tables.append((Unit("", table_count, column=0, span=1), {}))
                    cell, reach = tables[-1]
                    table_count += 1
                elif role == "block" or cell.table < 0:
                    continue
                elif role == "table":
                    tables.pop()
                    cell, reach = tables[-1]
                elif kind == "end":
                    cell.head &= role != "cell"
                else:
                    if role == "row" or cell.row < 0:
                        cell.row, cell.column, cell.span, cell.head = cell.row + 1, 0, 0, False
                    if role == "cell":
                        column = cell.column + cell.span
                        while reach.get(column, 0) > cell.row:
                            column += 1
                        (cell.span, rows), cell.column, cell.head = spans, column, name == "th"
                        if rows > 1:
                            columns = range(column, column + cell.span)
                            reach |= dict.fromkeys(columns, cell.row + rows)
        if block:
            self._end_block(block, cell)
        for number, (unit, start, end) in enumerate(marks):
            # Of a mark that is cut by blocks, or never closed, the first block counts.
            if unit < len(units) and end:
                self.marks[number] = unit, start, len(units[unit].text) if end < 0 else end

    def _end_block(self, text: str, cell: Unit) -> str:
        """Make a unit of the text of a block, if it has any; the next one begins with none."""
        units, line = self.units, len(self.units)
        if line and cell.table >= 0 and units[-1].row == cell.row and units[-1].table == cell.table:
            line = units[-1].line
        place = cell.table, cell.row, cell.column, cell.span, cell.head
        units.append(Unit(text.rstrip(), *place, line))
        return ""


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


def in_rows(boxes: np.ndarray) -> list[list[int]]:
    """Places in `boxes`, shape (n, 4), by rows of text: top to bottom, each from left to right."""
    places = np.asarray(boxes, dtype=float).reshape(-1, 4).tolist()
    grouped: list[list[int]] = []
    top = bottom = 0.0
    for index in sorted(range(len(places)), key=lambda index: places[index][1] + places[index][3]):
        _, y0, _, y1 = places[index]
        shared = min(bottom, y1) - max(top, y0)
        # Boxes share a row if they share half of the lower one's height.
        if grouped and shared >= 0.5 * max(min(bottom - top, y1 - y0), 1e-9):
            grouped[-1].append(index)
        else:
            grouped.append([index])
        # A row keeps the extent of its middle, so that skewed rows do not swallow the next.
        top, bottom = (median(places[member][side] for member in grouped[-1]) for side in (1, 3))
    return [sorted(row, key=lambda index: places[index][0]) for row in grouped]


def page_text(boxes: np.ndarray, texts: Sequence[str]) -> str:
    """The texts in reading order: a space between boxes of a row, a line break between rows."""
    return "\n".join(" ".join(texts[index] for index in row) for row in in_rows(boxes))


def page_html(boxes: np.ndarray, texts: Sequence[str]) -> str:
    """The page as HTML: consecutive rows of several boxes are a table, other rows paragraphs."""
    boxes, texts = np.asarray(boxes, dtype=float).reshape(-1, 4), list(map(html.escape, texts))
    lines: list[str] = []
    for several, run in groupby(in_rows(boxes), key=lambda row: len(row) > 1):
        members = list(run)
        if not several or len(members) == 1:
            lines += [f"<p>{' '.join(texts[index] for index in row)}</p>" for row in members]
            continue
        # Columns are those of the longest row; a box goes to the nearest of them.
        left, right = boxes[max(members, key=len)][:, [0, 2]].T
        lines.append("<table>")
        for row in members:
            cells: list[list[str]] = [[] for _ in left]
            for index in row:
                gaps = np.maximum(left, boxes[index, 0]) - np.minimum(right, boxes[index, 2])
                cells[int(gaps.argmin())].append(texts[index])
            lines.append(f"<tr><td>{'</td><td>'.join(map(' '.join, cells))}</td></tr>")
        lines.append("</table>")
    return "\n".join(lines)


def own_marks(text: str) -> set[str]:
    """The kinds of marks that a text has among its own characters."""
    signs = {kind for kind, texts in _SIGNS.items() if any(sign in text for sign in texts)}
    return signs | {mark.lastgroup or "" for mark in _MARKS.finditer(text)} - _SIGNS.keys()


def unmarked(text: str, keep: Collection[str] = ()) -> tuple[str, np.ndarray, Counter[str]]:
    """A text without marks but of kinds in `keep`, where each character stood, counts of marks."""
    # Bars count as marks only in a line with at least two.
    lines = ([line.count("|") > 1] * len(line) for line in text.splitlines(keepends=True))
    has_bars = [*chain.from_iterable(lines)]
    pieces, places, counts, end = [], [], Counter(), 0
    for mark in _MARKS.finditer(text):
        kind, start = mark.lastgroup or "", mark.start()
        if kind in keep or (kind == "bar" and not has_bars[start]):
            continue
        # These part words; other marks do not.
        parting = " " if kind in ("tag", "bar", "rule") else ""
        shown = html.unescape(mark[0]) if kind == "entity" else parting
        pieces += (text[end:start], shown)
        places += [*range(end, start), *[start] * len(shown)]
        end = mark.end()
        counts[kind] += 1
    places += range(end, len(text))
    return "".join([*pieces, text[end:]]), np.array(places, dtype=np.int64), counts


def line_rows(output: str) -> list[dict[str, Any]]:
    """A row for each line that starts with a point; other lines go on with its value."""
    rows: list[dict[str, Any]] = []
    # Not splitlines(): a value may hold U+2028 or a form feed.
    for line in output.replace("\r\n", "\n").split("\n"):
        if match := _ACTION.fullmatch(line):
            point, page = (float(match["x"]), float(match["y"])), match["page"]
            row = {"task": "click", "path": f"/lines/{len(rows)}", "kind": "line"}
            row |= {"value": [match["value"].strip()], "page": int(page) if page else None}
            rows.append(row | dict(zip(BOX, point * 2, strict=True)))
        elif rows and not _FENCE_LINE.fullmatch(line):
            rows[-1]["value"].append(line)
    return [row | {"value": "\n".join(row["value"]).strip()} for row in rows]
