"""Places of facts on a page: paths and offsets of Label Studio, characters, tags in its HTML."""

import html
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from html.parser import HTMLParser
from typing import Any, NamedTuple

from lxml import etree
from lxml.html import HTMLParser as TreeParser
from lxml.html import document_fromstring

from formlab.benchmarks.fincriticaled import FACTS
from formlab.errors import DataBroken

# Label as annotators see it → tag of the released files.
LABELS = {
    "Number": "number", "Date": "date", "Temporal": "temporal", "Monetary Unit": "monetaryunit",
    "Reporting Entity": "reportingentity", "Financial Concepts": "financialconcepts",
}  # fmt: skip
_FACT_TAG = re.compile(rf"</?(?:{'|'.join(FACTS)})\b[^>]*>", re.IGNORECASE)
_BODY = re.compile(r"<body\b", re.IGNORECASE)
_STEP = re.compile(r"([^/\[\]]+)(?:\[(\d{1,9})\])?")
_TEXT = re.compile(r"(.*?)/?text\(\)\[(\d{1,9})\]")
_WORD = re.compile(r"\S+")


class Span(NamedTuple):
    """One annotated stretch of a page: its label, its characters `first` to `last`, their text.

    `start` and `end` are the paths of the text nodes as exported.
    """

    page: str
    annotator: str
    label: str
    first: int
    last: int
    text: str
    start: str = ""
    end: str = ""


def without_tags(markup: str) -> str:
    """A page without its fact tags, as annotators get it.

    Examples
    --------
    >>> without_tags("<p>Net sales <Number>4,310</Number></p>")
    '<p>Net sales 4,310</p>'
    """
    return _FACT_TAG.sub("", markup)


class PageText:
    """The text of a page's body, white space included and a line break as one character.

    Examples
    --------
    >>> page = PageText("<p>Net sales <b>4,310</b></p>")
    >>> place = {"start": "/p[1]/b[1]/text()[1]", "startOffset": 0, "endOffset": 5}
    >>> page.text, page.place(place)
    ('Net sales 4,310', (10, 15))
    >>> page.tagged([(10, 15, "Number")])
    '<p>Net sales <b><number>4,310</number></b></p>'
    """

    def __init__(self, markup: str) -> None:
        self.markup = markup
        self._body = _body(markup)
        # Text nodes with their element; line breaks are in the text and in no node.
        self._texts: list[tuple[int, str, etree._Element]] = []
        self._nodes: dict[etree._Element, list[tuple[int, str]]] = {}
        pieces: list[str] = []
        length = 0
        for owner, text in _texts(self._body):
            if owner is not None:
                self._texts.append((length, text, owner))
                self._nodes.setdefault(owner, []).append((length, text))
            pieces.append(text)
            length += len(text)
        self.text = "".join(pieces)
        self._begins = [begin for begin, _, _ in self._texts]

    def place(self, value: Mapping[str, Any]) -> tuple[int, int] | None:
        """First character and the one after the last of an exported mark; None if it is not there.

        Its paths are tried first, then its global offsets; either must lead to its text.
        """
        # Where a mark reaches over a line break, Label Studio writes it as a backslash and an n.
        text = "".join(str(value.get("text") or "").replace("\\n", " ").split())
        for first, last in (self._by_paths(value), self._by_offsets(value)):
            if not 0 <= first < last <= len(self.text):
                continue
            marked = self.text[first:last]
            if not marked.strip() or (text and "".join(marked.split()) != text):
                continue
            first += len(marked) - len(marked.lstrip())
            return first, first + len(marked.strip())
        return None

    def _by_paths(self, value: Mapping[str, Any]) -> tuple[int, int]:
        start = str(value.get("start") or "")
        first = self._offset(start, value.get("startOffset"))
        return first, self._offset(str(value.get("end") or start), value.get("endOffset"))

    def _offset(self, path: str, offset: Any) -> int:
        match = _TEXT.fullmatch(path)
        home = _node_at(self._body, match[1]) if match else None
        nodes = self._nodes.get(home, []) if home is not None else []
        number = int(match[2]) if match else 0
        if type(offset) is not int or offset < 0 or not 0 < number <= len(nodes):
            return -1
        begin, text = nodes[number - 1]
        # Browsers count in units of UTF-16.
        units = text.encode("utf-16-le", "surrogatepass")
        before = units[: 2 * offset].decode("utf-16-le", "ignore")
        return begin + len(before) if 2 * offset <= len(units) else -1

    def _by_offsets(self, value: Mapping[str, Any]) -> tuple[int, int]:
        ends = value.get("globalOffsets")
        ends = (ends.get("start"), ends.get("end")) if isinstance(ends, dict) else ()
        return ends if len(ends) == 2 and all(type(end) is int for end in ends) else (-1, -1)

    def words(self) -> Iterator[tuple[int, int]]:
        """First and last of each word; none reaches over two text nodes."""
        for begin, text, owner in self._texts:
            if owner.tag not in ("script", "style"):
                for word in _WORD.finditer(text):
                    yield begin + word.start(), begin + word.end()

    def _node(self, at: int) -> tuple[int, str, etree._Element]:
        return self._texts[bisect_right(self._begins, at) - 1]

    def around(self, first: int, last: int) -> tuple[str, str]:
        """What stands before and after these characters in their own text nodes."""
        begin, text, _ = self._node(first)
        end, after, _ = self._node(last - 1)
        return text[: first - begin], after[last - end :]

    def context(self, first: int, last: int, size: int = 40) -> str:
        """These characters in square brackets, with up to `size` on either side."""
        pieces = []
        for begin, text, _ in self._texts:
            start = max(0, first - size - begin)
            piece = text[start : max(0, last + size - begin)]
            begin += start
            if 0 < last - begin <= len(piece):
                piece = f"{piece[: last - begin]}]{piece[last - begin :]}"
            if 0 <= first - begin < len(piece):
                piece = f"{piece[: first - begin]}[{piece[first - begin :]}"
            pieces += piece.split()
        return " ".join(pieces)

    def in_one_element(self, first: int, last: int) -> bool:
        """Whether a tag around these characters leaves every other element whole."""
        return self._node(first)[2] is self._node(last - 1)[2]

    def tagged(self, facts: Iterable[tuple[int, int, str]]) -> str:
        """The page's HTML, unchanged but for a fact tag around each (first, last, label)."""
        # By characters that are not white: parsers differ in white space. The head's come first.
        solid = [at for at, character in enumerate(self.text) if not character.isspace()]
        source = _Source(self.markup).characters
        source = source[max(0, len(source) - len(solid)) :]
        if "".join(self.text[at] for at in solid) != "".join(c for c, _, _ in source):
            raise DataBroken("the text of this page cannot be followed in its HTML")
        numbers = {at: number for number, at in enumerate(solid)}
        markup = self.markup
        for first, last, label in sorted(facts, reverse=True):
            start = source[numbers[first]][1]
            end = source[numbers[last - 1]][2]
            tag = LABELS[label]
            markup = f"{markup[:start]}<{tag}>{markup[start:end]}</{tag}>{markup[end:]}"
        return markup


def _body(markup: str) -> etree._Element:
    # Without a body of its own, the parser would move leading text into a paragraph.
    if _BODY.search(markup) is None:
        markup = f"<html><body>{markup}</body></html>"
    data = markup.replace("\0", "\ufffd").encode("utf-8", "replace")
    parser = TreeParser(encoding="utf-8", huge_tree=True)
    return document_fromstring(data, parser=parser, ensure_head_body=True).body


def _texts(body: etree._Element) -> Iterator[tuple[etree._Element | None, str]]:
    """Each text of the body with its element; line breaks with none."""
    for what, node in etree.iterwalk(body, events=("start", "end", "comment", "pi")):
        if what == "start":
            if node.tag == "br":
                yield None, "\n"
            owner, text = node, node.text
        else:
            owner, text = node.getparent(), None if node is body else node.tail
        if text:
            yield owner, text


def _node_at(node: etree._Element, path: str) -> etree._Element | None:
    # Not by XPath: tags of filings hold a colon, which stands for a namespace there.
    for tag, number in _STEP.findall(path):
        same = [child for child in node if child.tag == tag]
        if tag == "tbody" and not same:
            # A browser adds it to rows that stand in the table itself.
            continue
        if not 0 < int(number or 1) <= len(same):
            return None
        node = same[int(number or 1) - 1]
    return node


class _Source(HTMLParser):
    """The characters of a page that are not white, with where each stands in the source."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=False)
        self.characters: list[tuple[str, int, int]] = []
        self._markup = markup
        self._lines = [0, *(match.end() for match in re.finditer("\n", markup))]
        self.feed(markup)
        self.close()

    def _at(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def handle_data(self, data: str) -> None:
        at = self._at()
        self.characters += [
            (character, at + n, at + n + 1)
            for n, character in enumerate(data)
            if not character.isspace()
        ]

    def _reference(self, written: str) -> None:
        at = self._at()
        end = at + len(written)
        end += self._markup[end : end + 1] == ";"
        self.characters += [(c, at, end) for c in html.unescape(f"{written};") if not c.isspace()]

    def handle_charref(self, name: str) -> None:
        self._reference(f"&#{name}")

    def handle_entityref(self, name: str) -> None:
        self._reference(f"&{name}")
