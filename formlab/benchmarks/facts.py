"""Tagged facts of a page, in the order and with the values and hints of the released code."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from formlab.errors import DataBroken
from formlab.text.markup import Event

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
SYMBOLS = frozenset({"$", "€", "£", "¥", "₹", "₩", "CHF", "USD", "EUR", "GBP"})
_SHORTEST, _AROUND = 30, 40
# More characters than the values of a page have, unless its tags were not closed.
_LARGEST = 10_000_000
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


class _Page:
    """The trimmed strings and the elements of a page.

    Elements are numbers from the root, 0, by start tags: inside of one are those up to its `end`,
    and the strings from its `first` up to its `last`.
    """

    def __init__(self, stream: Iterable[Event], flaws: Counter[str]) -> None:
        self.strings: list[str] = []
        self.owners: list[int] = []  # The element right around each string.
        self.facts: list[int] = []
        self.tags, self.above, self.first = [""], [-1], [0]
        self.last, self.end, self.hints = dict[int, int](), dict[int, int](), dict[int, str]()
        strings, tags, above = self.strings, self.tags, self.above
        top = facts = 0
        for event, name, _ in stream:
            if event == "text":
                if text := name.strip():
                    strings.append(text)
                    self.owners.append(top)
            elif event == "start":
                above.append(top)
                top = len(tags)
                tags.append(name)
                self.first.append(len(strings))
                if name in FACTS:
                    flaws["fact tags nested in a fact tag"] += facts > 0
                    self.facts.append(top)
                    facts += 1
            else:
                self.last[top], self.end[top], top = len(strings), len(tags), above[top]
                facts -= name in FACTS
        self.last[0], self.end[0] = len(strings), len(tags)
        self.numbers = [element for element, tag in enumerate(tags) if tag == "number"]
        # How long the strings are up to each, joined by spaces.
        self.ends = [0, *accumulate(len(text) + 1 for text in strings)]
        # The page normalised and where strings begin, unless tags written as text may join these.
        joined = "\0".join(strings)
        self.is_plain = "<" not in joined and joined.count("\0") == len(strings) - 1
        pieces = _normalised(joined).split("\0") if self.is_plain else []
        for number, (before, after) in enumerate(pairwise(pieces)):
            pieces[number] += _gap(before[-1], after[0])
        self.normal, self.places = "".join(pieces), [0, *accumulate(map(len, pieces))]

    def size(self, element: int) -> int:
        """The characters of an element's strings, joined by spaces."""
        return self.ends[self.last[element]] - self.ends[self.first[element]]

    def text(self, element: int, by: str = "") -> str:
        return by.join(self.strings[self.first[element] : self.last[element]])

    def number_after(self, element: int) -> str:
        """The number that a lone currency sign stands before; empty if there is none."""
        for anchor in (element, self.above[element]):
            # Text beside the sign itself ends the search in its own element only.
            if (after := self._next(anchor)) is None:
                continue
            place = bisect_left(self.numbers, after + (anchor != element))
            if place < len(self.numbers) and self.numbers[place] < self.end[after]:
                return self.text(self.numbers[place])
        return ""

    def _next(self, element: int) -> int | None:
        """The next sibling that has text; None where that is text itself, or nothing."""
        above, after = self.above[element], self.last[element]
        if above < 0 or after >= self.last[above] or self.owners[after] == above:
            return None
        sibling = self.owners[after]
        while self.above[sibling] != above:
            sibling = self.above[sibling]
        return sibling

    def hint(self, element: int, value: str) -> str:
        """The text around a value in the closest element with enough of it."""
        above = self.above[element]
        # Normalised it is shorter, and no longer once it is joined by spaces.
        while above >= 0 and (self.size(above) <= _SHORTEST or len(self._hint(above)) < _SHORTEST):
            above = self.above[above]
        text = self._hint(above) if above >= 0 else _normalised(self.text(element, " "))
        if (at := text.find(value)) < 0:
            return text[: 2 * _AROUND].strip()
        return text[max(0, at - _AROUND) : at + len(value) + _AROUND].strip()

    def _hint(self, element: int) -> str:
        if element not in self.hints and self.is_plain:
            start, end = self.places[self.first[element]], self.places[self.last[element]]
            self.hints[element] = self.normal[start:end].rstrip()
        elif element not in self.hints:
            self.hints[element] = _normalised(self.text(element, " "))
        return self.hints[element]


def tagged(
    stream: Iterable[Event], *, flaws: Counter[str] | None = None, where: object = None
) -> list[Fact]:
    """The facts of a page from its events as written.

    A hint is up to 40 characters either side of the value's first place in the closest element
    with 30 characters. A lone currency sign takes the number that follows it. `DataBroken`, with
    `where`, if facts stand in so many others that their values are many times the page.

    >>> from formlab.text.markup import events
    >>> page = "<td><monetaryunit>$</monetaryunit> <NUMBER>4,310</NUMBER></td>"
    >>> [(fact.type, fact.value) for fact in tagged(events(page))]
    [('Number', '4,310'), ('Monetary Unit', '$4,310')]
    """
    flaws = Counter() if flaws is None else flaws
    page, facts = _Page(stream, flaws), []
    if (size := sum(map(page.size, page.facts))) > max(_LARGEST, 2 * page.ends[-1]):
        what = f"fact tags in fact tags, with {size:,} characters as values"
        raise DataBroken(what, where=where, remedy="close the tags")
    for mark, element in enumerate(page.facts):
        if not (value := page.text(element)):
            continue
        name, kind = FACTS[page.tags[element]]
        if name == "Monetary Unit" and value in SYMBOLS:
            value += page.number_after(element)
            flaws["currency signs without a number"] += value in SYMBOLS
        facts.append(Fact(name, kind, value, page.hint(element, value), mark))
    return sorted(facts, key=lambda fact: TYPES.index(fact.type))


def _normalised(text: str) -> str:
    for sign, pattern, new in _STEPS:
        if sign in text:
            text = pattern.sub(new, text)
    return text.strip()


@lru_cache(maxsize=4096)
def _gap(before: str, after: str) -> str:
    """What is left of a space between two characters."""
    return _normalised(f"{before} {after}")[1:-1]
