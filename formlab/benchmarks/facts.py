"""Tagged facts of a page, in the order and with the values and hints of the released code."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from formlab.errors import DataBroken
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
# More characters than the values of a page have, unless its tags were not closed.
_LARGEST = 10_000_000
_ROLES = (
    dict.fromkeys(VOID, "void") | dict.fromkeys(SILENT, "silent") | dict.fromkeys(FACTS, "fact")
)
# Each with what a text has that it changes.
_STEPS = (
    ("<", re.compile(r"</?[a-zA-Z][^>]*>"), " "),
    ("$", re.compile(r"\$\s+(?=\d)"), "$"),
    ("%", re.compile(r"(?<=\d)\s+%"), "%"),
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
class _Tree:
    """A page's trimmed strings and its elements that may hold some, numbered from the root, 0.

    Element n holds the strings from ``first[n]`` up to ``last[n]``, and the elements behind it
    up to ``end[n]``.
    """

    strings: list[str] = field(default_factory=list)
    # How long they are up to each, joined by spaces, and the element right around each.
    ends: list[int] = field(default_factory=lambda: [0])
    owner: list[int] = field(default_factory=list)
    tags: list[str] = field(default_factory=lambda: [""])
    above: list[int] = field(default_factory=lambda: [-1])
    first: list[int] = field(default_factory=lambda: [0])
    last: list[int] = field(default_factory=lambda: [-1])
    end: list[int] = field(default_factory=lambda: [-1])
    # The elements that are facts.
    facts: list[int] = field(default_factory=list)
    # The elements that are numbers; and of each element, itself or the closest one around it whose
    # strings are long enough for a hint, the last one standing for none.
    numbers: list[int] = field(default_factory=list)
    longer: list[int] = field(default_factory=list)
    # The normalised text of elements that hints were taken from.
    texts: dict[int, str] = field(default_factory=dict)

    def text(self, node: int, by: str = "") -> str:
        return by.join(self.strings[self.first[node] : self.last[node]])


def tagged(
    stream: Iterable[Event], *, flaws: Counter[str] | None = None, where: object = None
) -> list[Fact]:
    """The facts of a page from its events as written.

    A hint is up to 40 characters either side of the value's first place in the closest element
    with 30 characters. A lone currency sign takes the number that follows it. `DataBroken`, with
    `where`, if facts stand in so many others that their values are many times the page.

    Examples
    --------
    >>> from formlab.text.markup import written_events
    >>> page = "<td><monetaryunit>$</monetaryunit> <NUMBER>4,310</NUMBER></td>"
    >>> [(fact.type, fact.value) for fact in tagged(written_events(page))]
    [('Number', '4,310'), ('Monetary Unit', '$4,310')]
    """
    flaws = Counter() if flaws is None else flaws
    page = _grow(stream, flaws)
    facts = []
    page.ends += accumulate([len(text) + 1 for text in page.strings])
    _measure(page)
    size = sum(page.ends[page.last[node]] - page.ends[page.first[node]] for node in page.facts)
    if size > max(_LARGEST, 2 * page.ends[-1]):
        what = f"fact tags in fact tags, with {size:,} characters as values"
        raise DataBroken(what, where=where, remedy="close the tags")
    for mark, node in enumerate(page.facts):
        value = page.text(node)
        if not value:
            continue
        name, kind = FACTS[page.tags[node]]
        if name == "Monetary Unit" and value in SYMBOLS:
            value += _number_after(page, node)
            flaws["currency signs without a number"] += value in SYMBOLS
        facts.append(Fact(name, kind, value, _hint(page, node, value), mark))
    return sorted(facts, key=lambda fact: _ORDER[fact.type])


def _grow(stream: Iterable[Event], flaws: Counter[str]) -> _Tree:
    """The elements as Python's own parser builds them.

    Nothing is moved, and an end tag closes all that was opened since its start tag.
    """
    page = _Tree()
    strings, owner, tags, above = page.strings, page.owner, page.tags, page.above
    first, last, end = page.first, page.last, page.end
    open_tags: dict[str, int] = defaultdict(int)
    top = silent = facts = 0
    for what, name, _ in stream:
        if what == "text":
            if not silent and (text := name.strip()):
                strings.append(text)
                owner.append(top)
        elif what == "start":
            role = _ROLES.get(name)
            if role:
                if role == "void":
                    continue
                if role == "fact":
                    flaws["fact tags nested in a fact tag"] += facts > 0
                    page.facts.append(len(tags))
                    facts += 1
                else:
                    silent += 1
            open_tags[name] += 1
            above.append(top)
            top = len(tags)
            tags.append(name)
            first.append(len(strings))
            last.append(-1)
            end.append(-1)
        elif open_tags[name]:
            tag, here, size = "", len(strings), len(tags)
            while tag != name:
                tag, last[top], end[top] = tags[top], here, size
                open_tags[tag] -= 1
                role = _ROLES.get(tag)
                if role:
                    silent -= role == "silent"
                    facts -= role == "fact"
                top = above[top]
    while top >= 0:
        last[top], end[top], top = len(strings), len(tags), above[top]
    return page


def _measure(page: _Tree) -> None:
    """Set `numbers` and `longer` of a page whose elements are all known."""
    page.numbers += [node for node, tag in enumerate(page.tags) if tag == "number"]
    ends, longer = page.ends, page.longer
    elements = zip(page.above, page.first, page.last, strict=True)
    for node, (above, first, last) in enumerate(elements):
        # Joined by spaces it is shorter, and no longer once it is normalised.
        is_long = ends[last] - ends[first] > _SHORTEST
        longer.append(node if is_long else longer[above] if node else -1)
    longer.append(-1)


def _number_after(page: _Tree, node: int) -> str:
    for anchor in (node, page.above[node]):
        after = _next(page, anchor)
        if after is None:
            # Text beside the sign itself ends the search in its own element only.
            continue
        if anchor == node and page.tags[after] == "number":
            return page.text(after)
        place = bisect_right(page.numbers, after)
        if place < len(page.numbers) and page.numbers[place] < page.end[after]:
            return page.text(page.numbers[place])
    return ""


def _next(page: _Tree, node: int) -> int | None:
    """The next sibling that has text; None where that is text itself, or nothing."""
    above, after = page.above[node], page.last[node]
    if above < 0 or after >= page.last[above]:
        return None
    sibling = page.owner[after]
    if sibling == above:
        return None
    while page.above[sibling] != above:
        sibling = page.above[sibling]
    return sibling


def _hint(page: _Tree, node: int, value: str) -> str:
    above = page.longer[page.above[node]]
    while above >= 0:
        if above not in page.texts:
            page.texts[above] = _normalised(page.text(above, " "))
        text = page.texts[above]
        if len(text) >= _SHORTEST:
            break
        above = page.longer[page.above[above]]
    else:
        text = _normalised(page.text(node, " "))
    at = text.find(value)
    if at < 0:
        return text[: 2 * _AROUND].strip()
    return text[max(0, at - _AROUND) : at + len(value) + _AROUND].strip()


def _normalised(text: str) -> str:
    for sign, pattern, new in _STEPS:
        if sign in text:
            text = pattern.sub(new, text)
    return text.strip()
