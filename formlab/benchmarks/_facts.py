"""Tagged facts of a page, in the order and with the values and hints of the released code."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from formlab.text.markup import SILENT, VOID, Event

# Tag → published name of the type and its kind. The paper tags Date, the release Temporal; the
# project page writes the last tag in the singular, the files do not.
FACTS = {
    "number": ("Number", "number"),
    "temporal": ("Temporal", "temporal"),
    "date": ("Temporal", "temporal"),
    "monetaryunit": ("Monetary Unit", "monetary_unit"),
    "reportingentity": ("Reporting Entity", "reporting_entity"),
    "financialconcepts": ("Financial Concepts", "financial_concept"),
    "financialconcept": ("Financial Concepts", "financial_concept"),
}
TYPES = tuple(dict.fromkeys(name for name, _ in FACTS.values()))
KINDS = dict(FACTS.values())
_ORDER = {name: number for number, name in enumerate(TYPES)}
SYMBOLS = frozenset({"$", "€", "£", "¥", "₹", "₩", "CHF", "USD", "EUR", "GBP"})
_SHORTEST, _AROUND = 30, 40
_STRETCH = 4096
# Each with what a text has that it changes.
_STEPS = (
    ("<", re.compile(r"</?[a-zA-Z][^>]*>"), " "),
    ("$", re.compile(r"\$\s+(\d)"), r"$\1"),
    ("%", re.compile(r"(\d)\s+%"), r"\1%"),
    ("(", re.compile(r"\(\s+"), "("),
    (")", re.compile(r"\s+\)"), ")"),
    ("  ", re.compile(r" {2,}"), " "),
)


class Fact(NamedTuple):
    """A tagged fact: `mark` is the running number of its tag among all fact tags of the page."""

    type: str
    kind: str
    value: str
    hint: str
    mark: int


@dataclass(slots=True)
class _Node:
    """An element; its strings are those from `first` up to `last` of the page's."""

    tag: str
    parent: _Node | None
    first: int
    last: int = -1
    mark: int = -1
    # Its index among the children of its parent.
    index: int = 0
    children: list[_Node | str] = field(default_factory=list)
    # The first stretch of its text, normalised, and whether that is all of it.
    text: tuple[str, bool] | None = None


def tagged(stream: Iterable[Event], *, flaws: Counter[str] | None = None) -> list[Fact]:
    """The facts of a page from its events as written.

    A hint is up to 40 characters either side of the value's first place in the closest element
    with 30 characters. A lone currency sign takes the number that follows it.

    Examples
    --------
    >>> from formlab.text.markup import written_events
    >>> page = "<td><monetaryunit>$</monetaryunit> <NUMBER>4,310</NUMBER></td>"
    >>> [(fact.type, fact.value) for fact in tagged(written_events(page))]
    [('Number', '4,310'), ('Monetary Unit', '$4,310')]
    """
    flaws = Counter() if flaws is None else flaws
    strings, nodes = _grow(stream, flaws)
    facts = []
    ends = [0, *accumulate(len(text) + 1 for text in strings)]
    for node in nodes:
        value = "".join(strings[node.first : node.last])
        if not value:
            continue
        name, kind = FACTS[node.tag]
        if name == "Monetary Unit" and value in SYMBOLS:
            value += _number_after(strings, node)
            flaws["currency signs without a number"] += value in SYMBOLS
        facts.append(Fact(name, kind, value, _hint(strings, ends, node, value), node.mark))
    return sorted(facts, key=lambda fact: _ORDER[fact.type])


def _grow(stream: Iterable[Event], flaws: Counter[str]) -> tuple[list[str], list[_Node]]:
    """The page's trimmed strings and its fact elements.

    As Python's own parser builds them: nothing is moved, and an end tag closes all that was
    opened since its start tag.
    """
    strings: list[str] = []
    top = root = _Node("", None, 0)
    nodes: list[_Node] = []
    open_tags: dict[str, int] = defaultdict(int)
    silent = facts = 0
    for what, name, _ in stream:
        if what == "text":
            text = name.strip()
            if text and not silent:
                strings.append(text)
                top.children.append(text)
        elif what == "start":
            node = _Node(name, top, len(strings), -1, -1, len(top.children))
            top.children.append(node)
            if name in VOID:
                node.last = node.first
                continue
            if name in FACTS:
                flaws["fact tags nested in a fact tag"] += facts > 0
                node.mark = len(nodes)
                nodes.append(node)
                facts += 1
            silent += name in SILENT
            open_tags[name] += 1
            top = node
        elif open_tags[name]:
            while True:
                top.last, tag, top = len(strings), top.tag, top.parent  # type: ignore[assignment]
                open_tags[tag] -= 1
                silent -= tag in SILENT
                facts -= tag in FACTS
                if tag == name:
                    break
    while top is not root:
        top.last, top = len(strings), top.parent  # type: ignore[assignment]
    root.last = len(strings)
    return strings, nodes


def _number_after(strings: list[str], node: _Node) -> str:
    for anchor in (node, node.parent):
        after = _next(anchor)
        if isinstance(after, str):
            # Text beside the sign itself ends the search in its own element only.
            continue
        if after is not None:
            number = after if anchor is node and after.tag == "number" else _first_number(after)
            if number is not None:
                return "".join(strings[number.first : number.last])
    return ""


def _next(node: _Node | None) -> _Node | str | None:
    """The next sibling that has text."""
    if node is None or node.parent is None:
        return None
    siblings = node.parent.children
    for at in range(node.index + 1, len(siblings)):
        sibling = siblings[at]
        if isinstance(sibling, str) or sibling.last > sibling.first:
            return sibling
    return None


def _first_number(node: _Node) -> _Node | None:
    stack = [node]
    while stack:
        element = stack.pop()
        if element.tag == "number" and element is not node:
            return element
        stack += [child for child in reversed(element.children) if isinstance(child, _Node)]
    return None


def _hint(strings: list[str], ends: list[int], node: _Node, value: str) -> str:
    above = node.parent
    while above is not None:
        if ends[above.last] - ends[above.first] <= _SHORTEST:
            # Joined by spaces it is shorter, and no longer once it is normalised.
            above = above.parent
            continue
        text = _start(strings, above, value)
        if len(text) >= _SHORTEST:
            break
        above = above.parent
    else:
        text = _normalised(" ".join(strings[node.first : node.last]))
    at = text.find(value)
    if at < 0:
        return text[: 2 * _AROUND].strip()
    return text[max(0, at - _AROUND) : at + len(value) + _AROUND].strip()


def _start(strings: list[str], node: _Node, value: str) -> str:
    """A node's text, or as much of it as the hint needs: an unclosed tag may hold megabytes."""
    size = _STRETCH
    while True:
        if size > _STRETCH or node.text is None:
            raw, whole = _joined(strings, node, size)
            text = _normalised(raw)
            if size == _STRETCH:
                node.text = text, whole
        else:
            text, whole = node.text
        at = text.find(value)
        settled = at >= 0 and len(text) > at + len(value) + 4 * _AROUND and "<" not in text
        if whole or settled:
            return text
        size *= 8


def _joined(strings: list[str], node: _Node, size: int) -> tuple[str, bool]:
    """About the first `size` characters of a node's text, and whether that is all of it."""
    pieces, length = [], 0
    for index in range(node.first, node.last):
        if length > size:
            return " ".join(pieces), False
        piece = strings[index]
        if len(piece) > 2 * size:
            return " ".join([*pieces, piece[:size]]), False
        pieces.append(piece)
        length += len(piece) + 1
    return " ".join(pieces), True


def _normalised(text: str) -> str:
    for sign, pattern, new in _STEPS:
        if sign in text:
            text = pattern.sub(new, text)
    return text.strip()
