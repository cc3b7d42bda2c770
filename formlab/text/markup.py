"""HTML as events and as visible text, whatever its quality and size; text without its marks."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html.entities import html5
from html.parser import HTMLParser

import numpy as np
from lxml import etree

from formlab.text.normalise import WORDS

# A start tag, an end tag or a run of text ("start", "end", "text"); the tag's name or the text; and
# of a start tag the columns and rows that a cell spans.
Event = tuple[str, str, tuple[int, int]]
Attributes = Mapping[str, str | None] | Sequence[tuple[str, str | None]]
# What a browser does not show, and ruby glosses, which the published extraction leaves out too.
SILENT = frozenset({"script", "style", "template", "rt", "rp"})
_HIDDEN = SILENT | {"noscript", "iframe"}
VOID = frozenset(WORDS["html"]["void"].split())
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
# A tag without attributes, and the text behind it up to the next tag or entity.
_PIECE = re.compile(r"<(/?)((?!(?i:script|style)>)[a-zA-Z]+[1-6]?)>([^<&]*)")
_SPACE = re.compile(r"\s+")
_FEED, _GARBAGE = re.compile("[\x0b\x0c\x1c-\x1f]"), re.compile("[\0-\x08\x0e-\x1b]")
_ONE = (1, 1)
# Beyond these a span is hostile: it would only cost memory.
_MOST_COLUMNS, _MOST_ROWS = 100, 500


class _Events:
    """Events as a parser tells of them; texts that only a comment parts are two."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.texts: list[str] = []
        self.data = self.texts.append

    def _cut(self, *_: object) -> None:
        if self.texts:
            self.events.append(("text", "".join(self.texts), _ONE))
            self.texts.clear()

    def start(self, tag: str, attributes: Attributes) -> None:
        self._cut()
        self.events.append(("start", tag, _spans(dict(attributes)) if attributes else _ONE))

    def end(self, tag: str) -> None:
        self._cut()
        self.events.append(("end", tag, _ONE))

    def taken(self) -> list[Event]:
        """The events, held no longer: lxml frees a parser late, and its target with it."""
        self._cut()
        events, self.events = self.events, []
        return events

    comment = pi = close = _cut


class _Parser(HTMLParser):
    """Tags as they are written, nothing moved or closed: what gold annotations need."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.collector = found = _Events()
        self.handle_data, self.handle_endtag = found.data, found.end
        self.handle_starttag = found.start
        self.handle_comment = self.handle_decl = self.handle_pi = self.unknown_decl = found.comment

    def parse_starttag(self, i: int) -> int:
        """Where a start tag ends, with the tags and texts behind it that need no closer look."""
        end = i
        while piece := _PIECE.match(self.rawdata, end):
            if piece[1]:
                self.handle_endtag(piece[2].lower())
            else:
                self.handle_starttag(piece[2].lower(), ())
            if piece[3]:
                self.handle_data(piece[3])
            end = piece.end()
        return end if end > i else super().parse_starttag(i)

    def handle_charref(self, name: str) -> None:
        self.collector.data(html.unescape(f"&#{name};"))

    def handle_entityref(self, name: str) -> None:
        # An unknown name is text.
        self.collector.data(html5.get(f"{name};", f"&{name}"))


def written_events(markup: str) -> list[Event]:
    """The tags and texts of an HTML file as they are written, also where tags are not closed.

    >>> [name for _, name, _ in written_events("<p>5 &lt; <Number>6")]
    ['p', '5 < ', 'number', '6']
    """
    parser = _Parser()
    parser.feed(markup)
    parser.close()
    return parser.collector.taken()


def events(markup: str) -> list[Event]:
    """The tags and texts that libxml2 reads in any HTML, in linear time."""
    # Control characters and half surrogate pairs are no characters of a document.
    markup = _GARBAGE.sub("\ufffd", _FEED.sub(" ", markup))
    collector = _Events()
    parser = etree.HTMLParser(encoding="utf-8", recover=True, huge_tree=True, target=collector)
    with suppress(etree.ParseError):
        parser.feed(markup.encode("utf-8", "replace"))
        parser.close()
    return collector.taken()


def _spans(attributes: Mapping[str, str | None]) -> tuple[int, int]:
    """The columns and rows of a cell."""
    bounds = {"colspan": _MOST_COLUMNS, "rowspan": _MOST_ROWS}
    texts = ((attributes.get(name) or "1", most) for name, most in bounds.items())
    return tuple(
        min(max(int(text), 1), most) if text.isdecimal() and len(text) < 9 else 1
        for text, most in texts
    )


def is_html(text: str) -> bool:
    """Whether a text has at least one tag; model output is HTML, Markdown or plain."""
    return _TAG.search(text) is not None


def visible_text(markup: str) -> str:
    """The text of HTML or of plain text: pieces joined by one space, white space collapsed.

    >>> visible_text("<td>Net&nbsp;sales</td><td>5</td><script>x()</script>")
    'Net sales 5'
    """
    if "<" in markup and ">" in markup:
        pieces, hidden = [], 0
        for kind, name, _ in events(markup):
            if kind != "text":
                hidden += (1 if kind == "start" else -1) if name in _HIDDEN else 0
            elif not hidden and (piece := name.strip()):
                pieces.append(piece)
        markup = " ".join(pieces)
    return _SPACE.sub(" ", html.unescape(markup)).strip()


_FORMS = WORDS["page_marks"]
_MARKS = re.compile("|".join(f"(?P<{kind}>{form})" for kind, form in _FORMS.items()), re.MULTILINE)
# What marks of each kind are called, and what a text has whose own characters may be such marks.
TITLES = WORDS["titles_of_marks"]
_SIGNS = {kind: signs.split() for kind, signs in WORDS["signs_of_marks"].items()}


@dataclass(frozen=True)
class Unmarked:
    """A text without marks; `places[i]` is where its character i stood; `counts` of marks."""

    text: str
    places: np.ndarray
    counts: Counter[str]


def own_marks(text: str) -> set[str]:
    """The kinds of marks that a text has among its own characters.

    >>> sorted(own_marks("Box #1: **"))
    ['emphasis', 'heading']
    """
    kinds = {mark.lastgroup or "" for mark in _MARKS.finditer(text)}
    signs = {kind for kind, texts in _SIGNS.items() if any(sign in text for sign in texts)}
    return (kinds - _SIGNS.keys()) | signs


def unmarked(text: str, *, keep: Collection[str] = ()) -> Unmarked:
    """`text` without tags, bars of tables, headings' and emphasis' marks; entities are read.

    A tag, a bar or a rule parts words; other marks do not. Bars count as marks only in a line
    with at least two. Kinds of marks in `keep` (of `TITLES`) stay.

    >>> unmarked("| **Name:** | R&amp;D |").text.split()
    ['Name:', 'R&D']
    """
    pieces, places, counts, bars, end, at = [], [], Counter(), set(), 0, 0
    for line in text.splitlines(keepends=True):
        bars.update(range(at, at + len(line)) if line.count("|") > 1 else ())
        at += len(line)
    for mark in _MARKS.finditer(text):
        kind, start = mark.lastgroup or "", mark.start()
        if kind in keep or (kind == "bar" and start not in bars):
            continue
        shown = " " if kind in ("tag", "bar", "rule") else ""
        shown = html.unescape(mark[0]) if kind == "entity" else shown
        pieces += (text[end:start], shown)
        places += [*range(end, start), *[start] * len(shown)]
        end = mark.end()
        counts[kind] += 1
    places += range(end, len(text))
    return Unmarked("".join([*pieces, text[end:]]), np.array(places, dtype=np.int64), counts)
