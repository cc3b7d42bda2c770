"""HTML as events, visible text, or blocks and cells in reading order; text without its marks."""

from __future__ import annotations

import html
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html.entities import html5
from html.parser import HTMLParser
from itertools import chain

import numpy as np
from lxml import etree

from formlab.text.normalise import WORDS

# A start tag, an end tag or a run of text ("start", "end", "text"); the tag's name or the text; and
# of a start tag the columns and rows that a cell spans.
Event = tuple[str, str, tuple[int, int]]
# What a browser does not show, and ruby glosses, which the published extraction leaves out too.
SILENT = frozenset({"script", "style", "template", "rt", "rp"})
_HIDDEN = SILENT | {"noscript", "iframe"}
VOID = frozenset(WORDS["html"]["void"].split())
# What tags mean here; others are passed over.
_ROLES = dict.fromkeys(WORDS["html"]["blocks"].split(), "block") | dict.fromkeys(SILENT, "silent")
_ROLES |= {"td": "cell", "th": "cell", "tr": "row", "table": "table"}
_TAG, _LAYOUT = re.compile(r"</?[a-zA-Z][^<>]*>"), re.compile(r"(?i)<(?:html|body|p|div|br)\b")
_FEED, _GARBAGE = re.compile("[\x0b\x0c\x1c-\x1f]"), re.compile("[\0-\x08\x0e-\x1b]")
# White space but for single spaces, which stay.
_SPACE = re.compile(r"\s{2,}|[^\S ]")
# Between the columns of plain lines; lines under the headers of tables.
_GAP, _RULE = re.compile(r"\t+|\s{2,}|\s*\|\s*"), re.compile(r"[\s|:+=-]+")
# Text, and a tag that Python's parser reads alike wherever it stands.
_PLAIN_TAG = re.compile(r'([^<&]*)(</?[a-zA-Z][a-zA-Z0-9]*(?: +[a-zA-Z-]+="[^"<>]*")*>)')
_ONE = (1, 1)
# Beyond these a span is hostile: it would only cost memory.
_MOST = {"colspan": 100, "rowspan": 500}


class _Events:
    """Events as a parser tells of them; texts that only a comment parts are two."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.texts: list[str] = []
        self.data = self.texts.append

    def comment(self, *_: object) -> None:
        if self.texts:
            self.events.append(("text", "".join(self.texts), _ONE))
            self.texts.clear()

    pi = close = comment

    def start(self, tag: str, attributes: Mapping[str, str] | Sequence[tuple[str, str]]) -> None:
        self.comment()
        spans = _ONE
        if attributes:
            spans = tuple(_span(dict(attributes).get(name), most) for name, most in _MOST.items())
        self.events.append(("start", tag, spans))

    def end(self, tag: str) -> None:
        self.comment()
        self.events.append(("end", tag, _ONE))

    def taken(self) -> list[Event]:
        """The events, held no longer: lxml frees a parser late, and its target with it."""
        self.comment()
        events, self.events = self.events, []
        return events


def _span(text: str | None, most: int) -> int:
    return min(max(int(text), 1), most) if text and text.isdecimal() and len(text) < 9 else 1


class _Written(HTMLParser):
    """Python's own parser, which moves and closes nothing; tags that come again are parsed once."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.found = found = _Events()
        self.known: dict[str, Event] = {}
        self.handle_data, self.handle_endtag = found.data, found.end
        self.handle_starttag = found.start
        self.handle_comment = self.handle_decl = self.handle_pi = self.unknown_decl = found.comment

    def parse_starttag(self, i: int) -> int:
        return self._tags(i, super().parse_starttag)

    def parse_endtag(self, i: int) -> int:
        return self._tags(i, super().parse_endtag)

    def _tags(self, place: int, parse: Callable[[int], int]) -> int:
        """Where the tag at a place ends, and all known tags behind it with the texts between."""
        found, known = self.found, self.known
        tag = None if self.cdata_elem else _PLAIN_TAG.match(self.rawdata, place)
        if tag is None or tag[2] not in known:
            place = parse(place)
            # Behind the start of a script tags are text.
            if tag and not self.cdata_elem:
                known[tag[2]] = found.events[-1]
            return place
        while tag and (event := known.get(tag[2])):
            if tag[1] or found.texts:
                found.texts.append(tag[1])
                found.comment()
            found.events.append(event)
            place = tag.end()
            tag = _PLAIN_TAG.match(self.rawdata, place)
        return place

    def handle_charref(self, name: str) -> None:
        self.found.data(html.unescape(f"&#{name};"))

    def handle_entityref(self, name: str) -> None:
        # An unknown name is text.
        self.found.data(html5.get(f"{name};", f"&{name}"))


def written_events(markup: str) -> list[Event]:
    """The tags and texts of an HTML file as they are written: what gold annotations need."""
    parser = _Written()
    try:
        parser.feed(markup)
        parser.close()
    except AssertionError:
        # Python's parser gives up at some marks, such as `<![<`.
        return events(markup)
    return parser.found.taken()


def events(markup: str) -> list[Event]:
    """The tags and texts that libxml2 reads in any HTML, in linear time."""
    # Control characters and half surrogate pairs are no characters of a document.
    markup = _GARBAGE.sub("\ufffd", _FEED.sub(" ", markup))
    found = _Events()
    parser = etree.HTMLParser(encoding="utf-8", recover=True, huge_tree=True, target=found)
    with suppress(etree.ParseError):
        parser.feed(markup.encode("utf-8", "replace"))
        parser.close()
    return found.taken()


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


@dataclass(slots=True)
class _Table:
    number: int
    row: int = -1
    column: int = 0
    span: int = 1
    head: bool = False
    # Column → the row before which a cell from above ends.
    reach: dict[int, int] = field(default_factory=dict)

    def next_row(self) -> None:
        self.row, self.column, self.span, self.head = self.row + 1, 0, 0, False

    def next_cell(self, name: str, spans: tuple[int, int]) -> None:
        if self.row < 0:
            self.next_row()
        self.column += self.span
        while self.reach.get(self.column, 0) > self.row:
            self.column += 1
        (self.span, rows), self.head = spans, name == "th"
        if rows > 1:
            columns = range(self.column, self.column + self.span)
            self.reach |= dict.fromkeys(columns, self.row + rows)


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
        self._tables: list[_Table] = []
        raw, tables, roles = self._raw, self._tables, _ROLES | dict.fromkeys(tags, "mark")
        # Marks that are open, by name: running number, unit, and start.
        open_marks = defaultdict[str, list[tuple[int, int, int]]](list)
        table_count = mark_count = silent = 0
        for kind, name, spans in stream:
            if kind == "text":
                if silent:
                    continue
                *others, name = name.split("\n") if lines and not tables else (name,)
                for part in others:
                    raw.append(part)
                    self._end_block()
                raw.append(name)
            elif (role := roles.get(name)) == "mark":
                if kind == "start":
                    open_marks[name].append((mark_count, len(self.units), self._measured()))
                    mark_count += 1
                elif open_marks[name]:
                    self._end_mark(*open_marks[name].pop())
            elif role == "silent":
                silent = max(0, silent + (1 if kind == "start" else -1))
            elif role:
                if raw or self._block:
                    self._end_block()
                if role == "table" and kind == "start":
                    tables.append(_Table(table_count))
                    table_count += 1
                elif role == "block" or not tables:
                    continue
                elif role == "table":
                    tables.pop()
                elif kind == "end":
                    tables[-1].head &= role != "cell"
                elif role == "row":
                    tables[-1].next_row()
                else:
                    tables[-1].next_cell(name, spans)
        self._end_block()
        for mark in chain.from_iterable(open_marks.values()):
            self._end_mark(*mark)

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
        text, self._block = self._block.rstrip(), ""
        units, line = self.units, len(self.units)
        if not self._tables:
            units.append(Unit(text, line=line))
            return
        cell = self._tables[-1]
        if units and units[-1].row == cell.row and units[-1].table == cell.number:
            line = units[-1].line
        units.append(Unit(text, cell.number, cell.row, cell.column, cell.span, cell.head, line))

    def _end_mark(self, number: int, unit: int, start: int) -> None:
        # Where the text was cut inside the tag, what belongs to its first block is marked.
        is_cut, length = unit < len(self.units), self._measured()
        if end := len(self.units[unit].text) if is_cut else length:
            self.marks[number] = (unit, start, end)


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
