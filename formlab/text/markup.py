"""HTML as events and as visible text, whatever its quality and size; text without its marks."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from html.entities import html5
from html.parser import HTMLParser

import numpy as np
from lxml import etree

# A start tag, an end tag or a run of text ("start", "end", "text"); the tag's name or the text; and
# of a start tag the columns and rows that a cell spans.
Event = tuple[str, str, tuple[int, int]]
# What a browser does not show, and ruby glosses, which the published extraction leaves out too.
SILENT = frozenset({"script", "style", "template", "rt", "rp"})
_HIDDEN = SILENT | {"noscript", "iframe"}
_VOID = (
    "area base basefont bgsound br col command embed frame hr image img input isindex keygen link"
    " menuitem meta nextid param source spacer track wbr"
)
VOID = frozenset(_VOID.split())
# Elements whose content is not read as tags by all versions of Python's parser.
_RAW = _HIDDEN | {"title", "textarea", "xmp", "noembed", "noframes", "plaintext"}
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
# A tag (its slash, name, attributes and closing slash), a comment or an instruction.
_MARKUP = re.compile(
    r"<(?:(/?)([a-zA-Z_:][^ \t\n\r\f>/]*)([^>]*?)(/?)|!--.*?--|!\[CDATA\[.*?\]\]|\?[^>]*)>",
    re.DOTALL,
)
_ATTRIBUTES = re.compile(r'(?:[ \t\n\r\f]+[a-zA-Z][\w:-]*="[^"&]*")*[ \t\n\r\f]*', re.ASCII)
_ATTRIBUTE = re.compile(r'([\w:-]+)="([^"]*)"')
_REFERENCE = re.compile(r"&(?:(#[0-9]+|#[xX][0-9a-fA-F]+|[a-zA-Z][a-zA-Z0-9]*);|(?=[ \t\n]))")
_SPACE = re.compile(r"\s+")
_FEED, _GARBAGE = re.compile("[\x0b\x0c\x1c-\x1f]"), re.compile("[\0-\x08\x0e-\x1b]")
_ONE = (1, 1)
# Beyond these a span is hostile: it would only cost memory.
_MOST_COLUMNS, _MOST_ROWS = 100, 500


class _Parser(HTMLParser):
    """Events as they are written, nothing moved or closed: what gold annotations need."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.events: list[Event] = []
        self.text: list[str] = []

    def cut(self, *_: str) -> None:
        if self.text:
            self.events.append(("text", "".join(self.text), _ONE))
            self.text = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.cut()
        self.events.append(("start", tag, _spans(dict(attrs))))

    def handle_endtag(self, tag: str) -> None:
        self.cut()
        self.events.append(("end", tag, _ONE))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_charref(self, name: str) -> None:
        self.text.append(_character(f"#{name}"))

    def handle_entityref(self, name: str) -> None:
        self.text.append(_character(name))

    handle_comment = handle_decl = handle_pi = unknown_decl = cut


def written_events(markup: str) -> list[Event]:
    """The tags and texts of an HTML file as they are written, also where tags are not closed.

    >>> [name for _, name, _ in written_events("<p>5 &lt; <Number>6")]
    ['p', '5 < ', 'number', '6']
    """
    if (parts := _plain_parts(markup)) is not None:
        return _events(parts)
    parser = _Parser()
    parser.feed(markup)
    parser.close()
    parser.cut()
    return parser.events


def _plain_parts(markup: str) -> list[str] | None:
    """The parts of HTML that has only tags and references that every parser reads alike."""
    count = markup.count("<")
    if count != markup.count(">") or "<!" in markup or "<?" in markup:
        return None
    parts = _MARKUP.split(markup)
    names, attributes = parts[2::5], parts[3::5]
    is_plain = (
        len(names) == count
        and markup.count("&") == len(_REFERENCE.findall(markup))
        and all(map(_ATTRIBUTES.fullmatch, set(attributes)))
        and _RAW.isdisjoint(map(str.lower, names))
    )
    return parts if is_plain else None


def events(markup: str) -> list[Event]:
    """The tags and texts of the tree that libxml2 builds from any HTML, in linear time."""
    # Control characters and half surrogate pairs are no characters of a document.
    markup = _GARBAGE.sub("\ufffd", _FEED.sub(" ", markup))
    data = markup.encode("utf-8", "replace")
    parser = etree.HTMLParser(encoding="utf-8", recover=True, huge_tree=True)
    try:
        root = etree.fromstring(data, parser) if data.strip() else None
    except etree.ParseError:
        root = None
    # Written out it is well formed, and split much faster than its nodes are visited.
    return [] if root is None else _events(_MARKUP.split(etree.tostring(root, encoding="unicode")))


def _events(parts: list[str]) -> list[Event]:
    events: list[Event] = [("text", _resolved(parts[0]), _ONE)] if parts[0] else []
    rest = iter(parts[1:])
    for slash, written, attributes, closed, text in zip(rest, rest, rest, rest, rest, strict=True):
        if written:
            name = written.lower()
            if slash:
                events.append(("end", name, _ONE))
            else:
                is_wide = attributes and "span" in (low := attributes.lower())
                spans = _spans(dict(_ATTRIBUTE.findall(low))) if is_wide else _ONE
                events.append(("start", name, spans))
                if closed:
                    events.append(("end", name, _ONE))
        if text:
            events.append(("text", _resolved(text) if "&" in text else text, _ONE))
    return events


def _resolved(text: str) -> str:
    return _REFERENCE.sub(lambda reference: _character(reference[1]), text)


def _character(name: str | None) -> str:
    """What a reference stands for; an unknown name is text."""
    if name and name[0] == "#":
        return html.unescape(f"&{name};")
    return html5.get(f"{name};", f"&{name}") if name else "&"


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
    "tag": "HTML tags",
    "entity": "HTML entities",
    "rule": "rules of tables",
    "heading": "marks of headings",
    "fence": "code fences",
    "emphasis": "marks of emphasis",
    "image": "image marks",
    "link": "link targets",
    "escape": "escapes",
    "bar": "table bars",
}
# Where one of these stands in a text, marks of the kind may be its own characters.
_SIGNS = {
    "rule": "---",
    "heading": "#",
    "fence": "``` ~~~",
    "emphasis": "** __",
    "escape": "\\",
    "bar": "|",
}


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
    signs = {kind for kind, texts in _SIGNS.items() if any(sign in text for sign in texts.split())}
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
