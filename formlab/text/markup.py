"""HTML as events, as a tree and as visible text, whatever its quality and size."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from html.entities import html5
from html.parser import HTMLParser
from typing import Any, NamedTuple

import numpy as np
from lxml import etree

# What a browser does not show, and ruby glosses, which the published extraction leaves out too.
SILENT = frozenset({"script", "style", "template", "rt", "rp"})
_HIDDEN = frozenset({"script", "style", "template", "noscript", "iframe", "rt", "rp"})
_VOID = (
    "area base basefont bgsound br col command embed frame hr image img input isindex keygen link"
    " menuitem meta nextid param source spacer track wbr"
)
VOID = frozenset(_VOID.split())
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_SPACE = re.compile(r"\s+")
# Beyond these a span is hostile: it would only cost memory.
_MOST_COLUMNS, _MOST_ROWS = 100, 500

_ONE = (1, 1)


class Event(NamedTuple):
    """A start tag, an end tag or a run of text; `data` is the tag's name or the text."""

    what: str
    data: str
    spans: tuple[int, int] = _ONE


class _Tokens(HTMLParser):
    """Events as they are written, nothing moved or closed: what gold annotations need."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.events: list[Event] = []
        self.text: list[str] = []

    def cut(self) -> None:
        if self.text:
            self.events.append(Event("text", "".join(self.text)))
            self.text = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.cut()
        self.events.append(Event("start", tag, _spans(dict(attrs))))

    def handle_endtag(self, tag: str) -> None:
        self.cut()
        self.events.append(Event("end", tag))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_charref(self, name: str) -> None:
        self.text.append(html.unescape(f"&#{name};"))

    def handle_entityref(self, name: str) -> None:
        self.text.append(html5.get(f"{name};", f"&{name}"))

    def handle_comment(self, data: str) -> None:  # noqa: ARG002 - the parser's interface
        self.cut()

    handle_decl = handle_pi = unknown_decl = handle_comment


def written_events(markup: str) -> list[Event]:
    """The tags and texts of an HTML file as they are written, also where tags are not closed.

    Examples
    --------
    >>> [event.data for event in written_events("<p>5 &lt; <Number>6")]
    ['p', '5 < ', 'number', '6']
    """
    parser = _Tokens()
    parser.feed(markup)
    parser.close()
    parser.cut()
    return parser.events


def tree(markup: str) -> etree._Element | None:
    """The tree that libxml2 makes of HTML, of whatever quality and size; None for no content."""
    # NUL and half surrogate pairs are no characters of a document.
    data = markup.replace("\0", "\ufffd").encode("utf-8", "replace")
    parser = etree.HTMLParser(encoding="utf-8", recover=True, huge_tree=True)
    try:
        return etree.fromstring(data, parser) if data.strip() else None
    except etree.ParseError:
        return None


def events(markup: str) -> Iterator[Event]:
    """The tags and texts of a tree that is built from any HTML in time that is linear in it."""
    root = tree(markup)
    if root is None:
        return
    for what, node in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        tag = node.tag
        if isinstance(tag, str):
            is_cell = what == "start" and tag in ("td", "th")
            yield Event(what, tag, _spans(node) if is_cell else _ONE)
        text = node.text if what == "start" else node.tail
        # iterwalk yields a comment once; its text is not shown, its tail is.
        if text and (what != "start" or isinstance(tag, str)):
            yield Event("text", text)


def _spans(attributes: Any) -> tuple[int, int]:
    """The columns and rows of a cell; `attributes` of either parser have a method `get`."""
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

    Examples
    --------
    >>> visible_text("<td>Net&nbsp;sales</td><td>5</td><script>x()</script>")
    'Net sales 5'
    """
    if "<" in markup and ">" in markup:
        root = tree(markup)
        pieces = [] if root is None else [piece.strip() for piece in _texts(root)]
        markup = " ".join(filter(None, pieces))
    return _SPACE.sub(" ", html.unescape(markup)).strip()


def _texts(root: etree._Element) -> Iterator[str]:
    hidden = 0
    for what, node in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if what in ("start", "end") and node.tag in _HIDDEN:
            hidden += 1 if what == "start" else -1
        text = node.text if what == "start" else node.tail
        if text and not hidden:
            yield text


# Only what cannot be the page's own: a lone `*`, `_`, `-` or `#` may be printed there. Each part
# reads a bounded stretch or stops at the next mark, so that hostile text takes linear time.
_MARKS = re.compile(
    r"(?P<tag></?[a-zA-Z][^<>]*>|<!--[^<>]*-->)"
    r"|(?P<entity>&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]\w{1,30});)"
    r"|(?P<rule>^[ \t]{0,8}\|?[ \t]{0,8}:?-{3,}:?[ \t]{0,99}(?:\|[ \t|:-]*)?$)"
    r"|(?P<heading>^[ \t]{0,3}\#{1,6}(?=[ \t]))"
    r"|(?P<fence>^[ \t]{0,3}(?:```|~~~)[ \t]?\w{0,20}$)"
    r"|(?P<emphasis>\*\*|(?<!_)__(?!_))"
    r"|(?P<image>!\[(?=[^\[\]\n]{0,300}\]\())|(?P<link>\]\([^()\s]{0,2000}\))"
    r"|(?P<escape>\\(?=[!-/:-@\[-`{-~]))"
    r"|(?P<bar>\|)",
    re.MULTILINE,
)
TITLES = {
    "tag": "HTML tags", "entity": "HTML entities", "rule": "rules of tables",
    "heading": "marks of headings", "fence": "code fences", "emphasis": "marks of emphasis",
    "image": "image marks", "link": "link targets", "escape": "escapes", "bar": "table bars",
}  # fmt: skip
# Where one of these stands in a text, marks of the kind may be its own characters.
_SIGNS = {
    "rule": ("---",), "heading": ("#",), "fence": ("```", "~~~"), "emphasis": ("**", "__"),
    "escape": ("\\",), "bar": ("|",),
}  # fmt: skip


@dataclass(frozen=True)
class Unmarked:
    """A text without marks; `places[i]` is where its character i stood; `counts` of marks."""

    text: str
    places: np.ndarray
    counts: Counter[str]


def own_marks(text: str) -> set[str]:
    """The kinds of marks that a text has among its own characters.

    Examples
    --------
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

    Examples
    --------
    >>> unmarked("| **Name:** | R&amp;D |").text.split()
    ['Name:', 'R&D']
    >>> unmarked("# A<br>b_c * 2").counts == {"heading": 1, "tag": 1}
    True
    """
    pieces, places, counts, start, at = [], [], Counter(), 0, 0
    bars: set[int] = set()
    for line in text.splitlines(keepends=True):
        if line.count("|") > 1:
            bars.update(place for place, char in enumerate(line, at) if char == "|")
        at += len(line)
    for mark in _MARKS.finditer(text):
        kind, at = mark.lastgroup or "", mark.start()
        if kind in keep or (kind == "bar" and at not in bars):
            continue
        shown = " " if kind in ("tag", "bar", "rule") else ""
        shown = html.unescape(mark[0]) if kind == "entity" else shown
        pieces += (text[start:at], shown)
        places += [*range(start, at), *[at] * len(shown)]
        start = mark.end()
        counts[kind] += 1
    pieces.append(text[start:])
    places += range(start, len(text))
    return Unmarked("".join(pieces), np.array(places, dtype=np.int64), counts)
