"""HTML as events, as a tree and as visible text, whatever its quality and size."""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Iterable, Iterator
from html.entities import html5
from html.parser import HTMLParser
from typing import NamedTuple

from lxml import etree

# What a browser does not show, and ruby glosses, which the published extraction leaves out too.
SILENT = frozenset({"script", "style", "template", "rt", "rp"})
_HIDDEN = frozenset({"script", "style", "template", "noscript", "iframe", "rt", "rp"})
VOID = frozenset([
    "area", "base", "basefont", "bgsound", "br", "col", "command", "embed", "frame", "hr",
    "image", "img", "input", "isindex", "keygen", "link", "menuitem", "meta", "nextid", "param",
    "source", "spacer", "track", "wbr",
])  # fmt: skip
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_SPACE = re.compile(r"\s+")
# What every parser of HTML reads alike: tags with names and quoted or plain values, comments.
_VALUE = r"""(?:"[^"<>]*"|'[^'<>]*'|[\w%.#:-]+(?=[ \n\t>]))"""
_SIMPLE = re.compile(
    rf"(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[ \n\t]+[a-zA-Z][\w:-]*(?:={_VALUE})?)*)[ \n\t]*(/?)>"
    r"|!--[^&-]*(?:-[^&-]+)*-->|!(?:DOCTYPE|doctype)[ ][\w ]+>"
)
_ATTRIBUTE = re.compile(rf"([a-zA-Z][\w:-]*)(?:=({_VALUE}))?")
_REFERENCE = re.compile(
    r"&(?:(#(?:[0-9]+|[xX][0-9a-fA-F]+));|([a-zA-Z][a-zA-Z0-9]*)(?:;|(?=[^-.;a-zA-Z0-9]))"
    r"|(?=[ \n]))"
)
# In these a parser may look for no tags; they are simple up to an end tag that is the next one.
_RAW = frozenset([
    "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "noscript",
    "plaintext",
])  # fmt: skip
# Beyond these a span is hostile: it would only cost memory.
_MOST_COLUMNS, _MOST_ROWS = 100, 500

# What may stand in what, so that libxml2 moves, closes and adds nothing that is shown.
_INLINE = frozenset(["b", "strong", "i", "em", "u", "sup", "sub", "span", "br"])
_BODY = frozenset(["table", "p", "div", "h1", "h2", "h3", "h4", "h5", "h6"])
_CELL = _INLINE | {"p", "div"}
_ROWS, _CELLS = frozenset(["tr"]), frozenset(["td", "th"])
_CHILDREN = (
    dict.fromkeys(_INLINE - {"br"}, _INLINE) | dict.fromkeys(_BODY, _INLINE)
    | dict.fromkeys(("thead", "tbody", "tfoot"), _ROWS) | dict.fromkeys(("td", "th"), _CELL)
    | {
        "": _BODY, "html": frozenset(["body"]), "body": _BODY, "tr": _CELLS,
        "table": _ROWS | {"thead", "tbody", "tfoot"}, "div": _CELL,
    }
)  # fmt: skip
# In these libxml2 would put a text into a paragraph, or drop it.
_TEXTLESS = frozenset(["", "html", "body", "table", "thead", "tbody", "tfoot", "tr"])
_ODD = re.compile(
    r"[^\t\n -~\u00a0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffc]|&(?!(?:amp|lt|gt|quot|nbsp);)"
    r"|span\b[^<>]*span\b"
)

# Beyond this depth libxml2 may stop.
_DEEP = 100
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
    simple = _simple_events(markup)
    if simple is not None:
        return simple
    parser = _Tokens()
    parser.feed(markup)
    parser.close()
    parser.cut()
    return parser.events


def _simple_events(markup: str) -> list[Event] | None:
    """The same for HTML without anything that parsers read differently; None for any other."""
    first, *pieces = markup.split("<")
    events, raw = [], ""
    if first:
        if "&" in first and (not pieces or (first := _resolved(f"{first}<")) is None):
            return None
        events.append(Event("text", first))
    last = len(pieces) - 1
    # Most pieces of a page are like another: `</td>`.
    known: dict[str, tuple[Event, ...]] = {}
    for number, piece in enumerate(pieces):
        if not raw and piece in known:
            events += known[piece]
            continue
        head, _, text = piece.partition(">")
        tags = _simple_tags(head)
        if tags is None or len(head) == len(piece):
            return None
        if raw:
            if len(tags) != 1 or tags[0] != Event("end", raw):
                return None
            raw = ""
        elif tags and tags[0].data in _RAW and tags[0].what == "start":
            raw = tags[0].data
            if len(tags) > 1:
                return None
        elif not text:
            known[piece] = tags
        events += tags
        if text:
            if "&" in text and raw not in ("script", "style"):
                resolved = None if number == last else _resolved(f"{text}<")
                if resolved is None:
                    return None
                text = resolved
            events.append(Event("text", text))
    return None if raw else events


@functools.lru_cache(maxsize=4096)
def _simple_tags(head: str) -> tuple[Event, ...] | None:
    """The events of what stands between "<" and ">"; none for a comment, None for what is odd."""
    match = _SIMPLE.fullmatch(f"{head}>")
    if match is None:
        return None
    closing, name, attributes, closed = match.groups()
    if name is None:
        return ()
    name = name.lower()
    if closing:
        return None if attributes or closed else (_tag("end", name),)
    spans = _ONE
    if "span" in attributes.lower():
        if "&" in attributes:
            return None
        pairs = _ATTRIBUTE.findall(f"{attributes}>")
        spans = _spans({key.lower(): _unquoted(value) for key, value in pairs})
    return (Event("start", name, spans), *([_tag("end", name)] if closed else ()))


def _unquoted(value: str) -> str:
    return value[1:-1] if value.startswith(("'", '"')) else value


@functools.lru_cache(maxsize=512)
def _tag(what: str, name: str) -> Event:
    return Event(what, name)


def _resolved(text: str) -> str | None:
    """A text that ends in "<", without it and with its references resolved; None if one is odd."""
    if text.count("&") != len(_REFERENCE.findall(text)):
        return None
    return _REFERENCE.sub(_character, text)[:-1]


def _character(match: re.Match[str]) -> str:
    number, name = match.groups()
    if number:
        return html.unescape(f"&{number};")
    return html5.get(f"{name};", f"&{name}") if name else "&"


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
            cell = what == "start" and (tag == "td" or tag == "th")
            spans = _spans(node) if cell else _ONE
            yield _tag(what, tag) if spans == _ONE else Event(what, tag, spans)
        text = node.text if what == "start" else node.tail
        # iterwalk yields a comment once; its text is not shown, its tail is.
        if text and (what != "start" or isinstance(tag, str)):
            yield Event("text", text)


def shown_events(markup: str) -> Iterable[Event]:
    """Events that show what those of `events` do; fast where all is well nested and closed."""
    plain = markup.isascii() and "&" not in markup and "span" not in markup
    plain = plain and markup.replace("\n", " ").replace("\t", " ").isprintable()
    # The pattern looks at each character, which takes a while.
    if plain or _ODD.search(markup) is None:
        simple = _simple_events(markup)
        if simple is not None and _well_nested(simple):
            return simple
    return events(markup)


def _well_nested(stream: list[Event]) -> bool:
    top, above, allowed = "", [], _BODY | {"html", "body"}
    for what, name, _ in stream:
        if what == "text":
            if top in _TEXTLESS and not name.isspace():
                return False
        elif name == "br":
            if name not in allowed:
                return False
        elif what == "start":
            if name not in allowed or (name in _INLINE and name in above) or len(above) > _DEEP:
                return False
            above.append(top)
            top, allowed = name, _CHILDREN[name]
        elif name != top:
            return False
        else:
            top = above.pop()
            # After the end of the page nothing is shown.
            allowed = () if name in ("html", "body") else _CHILDREN[top]
    return not top


def _spans(attributes: Iterable) -> tuple[int, int]:
    def span(name: str, most: int) -> int:
        text = attributes.get(name)  # type: ignore[attr-defined]
        if not text:
            return 1
        return min(max(int(text), 1), most) if text.isdecimal() and len(text) < 9 else 1

    return span("colspan", _MOST_COLUMNS), span("rowspan", _MOST_ROWS)


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
