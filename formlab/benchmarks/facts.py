"""Tagged facts of a page, in the order and with the values and hints of the released code."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from operator import attrgetter
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
_ROLES = dict.fromkeys(VOID, "void") | dict.fromkeys(SILENT, "silent")
_ROLES |= dict.fromkeys(FACTS, "fact")
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


@dataclass(slots=True, eq=False)
class _Element:
    """An element of a page, which holds the strings from `first` up to `last`.

    Elements are numbered from the root, 0, in the order of their start tags: those inside of it are
    the ones after its own `number`, up to `end`. `hint` is its normalised text, once it is needed.
    """

    tag: str
    above: _Element | None
    number: int
    first: int
    last: int = -1
    end: int = -1
    hint: str | None = None


class _Page:
    """The trimmed strings and the elements of a page as Python's own parser builds them.

    Nothing is moved, and an end tag closes all that was opened since its start tag.
    """

    def __init__(self, stream: Iterable[Event], flaws: Counter[str]) -> None:
        self.strings: list[str] = []
        self.owners: list[_Element] = []  # The element right around each string.
        self.facts: list[_Element] = []
        self.numbers: list[_Element] = []
        top: _Element | None = _Element("", None, 0, 0)
        open_tags: dict[str, int] = defaultdict(int)
        count, silent, facts = 1, 0, 0
        for event, name, _ in stream:
            role = _ROLES.get(name) if event != "text" else None
            if event == "text":
                if not silent and (text := name.strip()):
                    self.strings.append(text)
                    self.owners.append(top)
            elif event == "start" and role != "void":
                open_tags[name] += 1
                top = _Element(name, top, count, len(self.strings))
                count += 1
                if role == "fact":
                    flaws["fact tags nested in a fact tag"] += facts > 0
                    self.facts.append(top)
                if name == "number":
                    self.numbers.append(top)
                silent += role == "silent"
                facts += role == "fact"
            elif event != "start" and open_tags[name]:
                closed = ""
                while closed != name:
                    closed, top.last, top.end = top.tag, len(self.strings), count
                    open_tags[closed] -= 1
                    silent -= _ROLES.get(closed) == "silent"
                    facts -= _ROLES.get(closed) == "fact"
                    top = top.above
        while top:
            top.last, top.end, top = len(self.strings), count, top.above
        # How long the strings are up to each, joined by spaces.
        self.ends = [0, *accumulate(len(text) + 1 for text in self.strings)]

    def size(self, element: _Element) -> int:
        """The characters of an element's strings, joined by spaces."""
        return self.ends[element.last] - self.ends[element.first]

    def text(self, element: _Element, by: str = "") -> str:
        return by.join(self.strings[element.first : element.last])

    def number_after(self, element: _Element) -> str:
        """The number that a lone currency sign stands before; empty if there is none."""
        for anchor in filter(None, (element, element.above)):
            after = self._next(anchor)
            if after is None:
                # Text beside the sign itself ends the search in its own element only.
                continue
            if anchor is element and after.tag == "number":
                return self.text(after)
            place = bisect_right(self.numbers, after.number, key=attrgetter("number"))
            if place < len(self.numbers) and self.numbers[place].number < after.end:
                return self.text(self.numbers[place])
        return ""

    def _next(self, element: _Element) -> _Element | None:
        """The next sibling that has text; None where that is text itself, or nothing."""
        above, after = element.above, element.last
        if above is None or after >= above.last or self.owners[after] is above:
            return None
        sibling = self.owners[after]
        while sibling.above is not above:
            sibling = sibling.above
        return sibling

    def hint(self, element: _Element, value: str) -> str:
        """The text around a value in the closest element with enough of it."""
        above = element.above
        while above:
            # Normalised it is shorter, and no longer once it is joined by spaces.
            if above.hint is None and self.size(above) > _SHORTEST:
                above.hint = _normalised(self.text(above, " "))
            if len(above.hint or "") >= _SHORTEST:
                break
            above = above.above
        text = above.hint if above else _normalised(self.text(element, " "))
        if (at := text.find(value)) < 0:
            return text[: 2 * _AROUND].strip()
        return text[max(0, at - _AROUND) : at + len(value) + _AROUND].strip()


def tagged(
    stream: Iterable[Event], *, flaws: Counter[str] | None = None, where: object = None
) -> list[Fact]:
    """The facts of a page from its events as written.

    A hint is up to 40 characters either side of the value's first place in the closest element
    with 30 characters. A lone currency sign takes the number that follows it. `DataBroken`, with
    `where`, if facts stand in so many others that their values are many times the page.

    >>> from formlab.text.markup import written_events
    >>> page = "<td><monetaryunit>$</monetaryunit> <NUMBER>4,310</NUMBER></td>"
    >>> [(fact.type, fact.value) for fact in tagged(written_events(page))]
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
        name, kind = FACTS[element.tag]
        if name == "Monetary Unit" and value in SYMBOLS:
            value += page.number_after(element)
            flaws["currency signs without a number"] += value in SYMBOLS
        facts.append(Fact(name, kind, value, page.hint(element, value), mark))
    return sorted(facts, key=lambda fact: _ORDER[fact.type])


def _normalised(text: str) -> str:
    for sign, pattern, new in _STEPS:
        if sign in text:
            text = pattern.sub(new, text)
    return text.strip()
