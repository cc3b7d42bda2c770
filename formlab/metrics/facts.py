"""Tagged facts of a page: found, correct, and in the right row, by rules without a model.

A fact is correct where the same tokens stand with the same sign, next to the same row label or
words and in the same column; every place of a value in the gold competes for the places it has in
the prediction. A whole number is one token, so it is never found inside another.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import product
from typing import NamedTuple

from rapidfuzz import fuzz

from formlab.metrics.places import Places, Rows, Span, places_of, tokens

# Similarity from which on two contexts are one, and two readings are one misread value.
SAME, READABLE = 0.7, 0.6
# Letters and digits that make a value unlikely to stand on a page by chance.
TELLING = 4
# What is compared at most, since a model may repeat itself: pairs of places of one value (beyond,
# only equal labels meet), places of one value, values that make a row, letters of a page.
_MOST_PAIRS, _MOST_PLACES, _WIDEST, _MOST_TEXT = 10_000, 5_000, 100, 200_000
_WORDS = frozenset({"reporting_entity", "financial_concept"})
_NUMBERS = frozenset({"number", "monetary_unit"})
Matches = tuple[dict[int, Span], list[Span]]


class GoldFact(NamedTuple):
    """A fact to look for: its kind, its value, and its tokens `first` up to `last` in the gold."""

    kind: str
    value: str
    first: int
    last: int


class FactVerdict(NamedTuple):
    """What became of a fact: `text` is what stands for it; `misplaced` is right but elsewhere."""

    found: bool
    correct: bool
    misplaced: bool
    text: str


MISSING = FactVerdict(False, False, False, "")


def locate(gold: Places, kind: str, value: str, mark: int) -> GoldFact | None:
    """Where a tagged fact stands in its page; None if its tag holds no text that is shown."""
    if mark not in gold.marks:
        return None
    # A tag on part of a number or word stands for all of it.
    first, last = gold.spanned(*gold.marks[mark])
    if len(words := tokens(value)) > last - first:
        # A currency sign that was given a number: the two stand together further on, if anywhere.
        near = (span for span in gold.find(words) if first <= span[0] <= first + 200)
        first, last = next(near, (first, last))
    return GoldFact(kind, value, first, last) if last > first else None


def match_facts(gold: Places, facts: Sequence[GoldFact | None], pred: Places) -> list[FactVerdict]:
    """A verdict on each fact of one page."""
    alignment = _Alignment(gold, pred)
    return [MISSING if fact is None else alignment.verdict(fact) for fact in facts]


class _Alignment(Rows):
    """One page against its prediction; what is shared by its facts is worked out once."""

    def __init__(self, gold: Places, pred: Places) -> None:
        super().__init__(gold, pred)
        self._pairs: dict[str, Matches] = {}

    def verdict(self, fact: GoldFact) -> FactVerdict:
        """What became of a fact."""
        words = self.gold.words[fact.first : fact.last]
        key = " ".join(words)
        telling = len(key) - len(words) + 1 >= TELLING
        if key not in self._pairs:
            self._pairs[key] = self._matched(words, telling=telling, named=fact.kind in _WORDS)
        pairs, unmatched = self._pairs[key]
        if fact.first in pairs:
            return FactVerdict(True, True, False, self.pred.text(*pairs[fact.first]))
        # A short number stands on a page by chance: what is in its own place says more.
        if not (unmatched and telling):
            near = self._similar if fact.kind not in _NUMBERS else self._same_digits
            if misread := self._in_slot(fact) or near(fact):
                return FactVerdict(True, False, False, misread)
        if unmatched:
            return FactVerdict(True, False, True, self.pred.text(*unmatched[0]))
        return MISSING

    def _matched(self, value: list[str], *, telling: bool, named: bool) -> Matches:
        """Gold places of a value with their places in the prediction, and the places left over."""
        ours, sign = self.gold.find(value), self.pred.sign
        theirs = self.pred.find(value)[:_MOST_PLACES]
        theirs = theirs or (self.pred.run_together(value) if telling else [])
        if telling and len(ours) == len(theirs) == 1:
            # They are the same fact or not: how well they agree ranks nothing.
            (here,), (there,) = ours, theirs
            if sign(*there) != self.gold.sign(*here):
                return {}, []
            is_fact = named or self._in_its_row(here[0], there[0]) is not False
            return ({here[0]: there}, []) if is_fact else ({}, [there])
        signs = [self.gold.sign(*span) for span in ours]
        # Words name what they are: as many as the gold has are all there.
        free = named and len(theirs) >= len(ours)
        ranked = []
        for a, b in self._candidates(ours, theirs):
            if sign(*theirs[b]) == signs[a]:
                score = self._context(ours[a], theirs[b], free=free, named=named)
                drift = abs(a / len(ours) - b / len(theirs))
                ranked += [(-score, drift, a, b)] if score else []
        pairs: dict[int, Span] = {}
        taken: set[int] = set()
        for _, _, a, b in sorted(ranked):
            if ours[a][0] not in pairs and b not in taken:
                pairs[ours[a][0]] = theirs[b]
                taken.add(b)
        left = (span for b, span in enumerate(theirs) if b not in taken)
        return pairs, [span for span in left if sign(*span) in signs]

    def _candidates(self, ours: list[Span], theirs: list[Span]) -> Iterable[tuple[int, int]]:
        if len(ours) * len(theirs) <= _MOST_PAIRS:
            return product(range(len(ours)), range(len(theirs)))
        labelled, pairs = places_of(self.pred.label(first) for first, _ in theirs), []
        for label, places in places_of(self.gold.label(first) for first, _ in ours).items():
            for place, a in enumerate(places):
                # The n-th place under a label is tried with the prediction's n-th and those beside.
                start = max(0, min(place, len(labelled[label])) - 4)
                pairs += [(a, b) for b in labelled[label][start : start + 9]]
        return pairs

    def _context(self, ours: Span, theirs: Span, *, free: bool, named: bool) -> float:
        """How well two places of one value agree; 0 where they are different facts."""
        gold, pred = self.gold, self.pred
        label, other = gold.label(ours[0]), pred.label(theirs[0])
        if not named:
            if (row := self._in_its_row(ours[0], theirs[0])) is not None:
                return float(row)
            other = label if self.known.get(other) == label else other
        left = max(_same(label, other), _same(gold.left(ours[0]), pred.left(theirs[0])))
        right = _same(gold.right(ours[1]), pred.right(theirs[1]), start=True)
        if left >= SAME:
            return 1.0 + left + right / 2
        if right >= SAME:
            return right
        return 0.1 + (left + right) / 4 if free else 0.0

    def _in_its_row(self, ours: int, theirs: int) -> bool | None:
        """Whether a place is in the row and column of a gold place; None if nothing tells."""
        gold, pred = self.gold, self.pred
        line = self.rows.get(theirs)
        if line and line.gold < 0 and gold.around(ours) == pred.around(theirs):
            # Mostly all around is alike, and nothing more needs to be asked.
            return None
        mine, yours = gold.number(ours), pred.number(theirs)
        line = self.rows.get(yours)
        if not self._in_its_column(ours, theirs, mine, yours):
            return False
        if line and line.gold >= 0 and mine is not None:
            # A place without a label is where its line stands among the rows.
            return line.gold == gold.run[mine][0]
        return False if self._in_other_row(ours, theirs, yours) else None

    def _in_other_row(self, ours: int, theirs: int, number: int | None) -> bool:
        """Whether the predicted place has the label of another row of the gold page."""
        label, other = self.gold.label(ours), self.pred.label(theirs)
        named, head = self.known.get(other), self.pred.header(theirs)
        if head in self.gold.labelled and head != label and head not in self.gold.header(ours):
            # Rows are written as columns, each under its label.
            return True
        line = self.rows.get(number)
        if line and line.bare and line.gold < 0:
            # Its own row stands elsewhere, with other values or after it.
            letters, before = self.pred.letters, self.pred.before[number]
            is_elsewhere = label in self.written or letters.find(label) >= before
            return bool(label not in (named, other, "") and self.has_label(label) and is_elsewhere)
        lefts = self.gold.left(ours), self.pred.left(theirs)
        if named == label:
            # Or it is the end of a longer label, which the line before began.
            longer = (end for end in self.gold.labelled if label and end.endswith(label))
            return any(lefts[1].endswith(end) and not lefts[0].endswith(end) for end in longer)
        if named is None:
            return False
        partial = other in named or named in other
        if not partial and _same(label, other) >= _same(named, other):
            return False
        # A label that is broken over two lines ends like itself, and maybe like another label.
        for whole, end, left in ((label, named, lefts[1]), (named, label, lefts[0])):
            if end and whole.endswith(end):
                return fuzz.ratio(whole, left[-len(whole) :]) / 100 < SAME
        return True

    def _in_its_column(self, ours: int, theirs: int, mine: int | None, yours: int | None) -> bool:
        head, other = self.gold.header(ours), self.pred.header(theirs)
        row = self.gold.runs[self.gold.run[mine][0]] if mine is not None else []
        if head and other:
            heads = list(map(self.gold.header, row))
            if heads.count(head) == 1 and other in heads:
                return head == other
        if mine is None or yours is None:
            return True
        line = self.rows[yours].numbers
        at, index = row.index(mine), line.index(yours)
        if max(len(row), len(line)) > _WIDEST:
            return True
        if len(row) == len(line):
            return at == index
        before, after = ({self.gold.words[n] for n in side} for side in (row[:at], row[at + 1 :]))
        sides = line[:index], line[index + 1 :]
        ahead, behind = ({self.pred.words[n] for n in side} for side in sides)
        return not ((before - after) & (behind - ahead) or (after - before) & (ahead - behind))

    def _in_slot(self, fact: GoldFact) -> str:
        """The value at the same label and column."""
        if fact.kind in _WORDS or (number := self.gold.number(fact.first)) is None:
            return ""
        _, at, size = self.gold.run[number]
        left, words = self.gold.left(fact.first), self.gold.words[fact.first : fact.last]
        lines = self.written.get(self.gold.label(fact.first), [])
        runs = map(self.pred.runs.__getitem__, lines)
        for token in [run[at] for run in runs if len(run) == size]:
            is_there = len(lines) == 1 or _same(left, self.pred.left(token)) >= SAME
            # It may have lost its sign alone.
            near = self.pred.words[token] in words
            near = near or fuzz.ratio("".join(words), self.pred.words[token]) / 100 >= READABLE
            if is_there and near:
                return self.pred.figure(token, token + 1)
        return ""

    def _same_digits(self, fact: GoldFact) -> str:
        """A number of the same digits anywhere on the page: separators, decimals or sign differ."""
        if (token := self._digits.get(re.sub(r"\D", "", fact.value))) is None:
            return ""
        # The very number is not misread: it stands in another place.
        signs = self.pred.sign(token, token + 1), self.gold.sign(fact.first, fact.last)
        is_same = self.pred.words[token] in fact.value and signs[0] == signs[1]
        return "" if is_same else self.pred.figure(token, token + 1)

    @cached_property
    def _digits(self) -> dict[str, int]:
        """The first token of each sequence of digits that says enough."""
        digits = {re.sub(r"\D", "", self.pred.words[n]): n for n in reversed(self.pred.run)}
        return {text: token for text, token in digits.items() if len(text) >= TELLING}

    def _similar(self, fact: GoldFact) -> str:
        """A similar stretch of text that the gold page does not have."""
        value = " ".join(fact.value.lower().split())
        if len(value) < TELLING:
            return ""
        # Of equal length, so that a place here is a place in the page as written.
        text = self.pred.lower[:_MOST_TEXT].replace(value, " " * len(value))
        near = fuzz.partial_ratio_alignment(value, text, score_cutoff=80) if text else None
        if near is None or near.dest_end == near.dest_start:
            return ""
        # Out to the ends of words: what differs may be the last figure of a year.
        first = text.rfind(" ", 0, near.dest_start + 1) + 1
        end = min(f"{text} ".find(" ", near.dest_end), first + 4 * len(value))
        near = text[first:end].strip()
        return "" if near in self.gold.lower else self.pred.written[first:end].strip()


def _same(first: str, second: str, *, start: bool = False) -> float:
    """Similarity of two contexts, in [0, 1], over the letters next to the value that both have."""
    size = min(len(first), len(second))
    # Of a short label all counts: "costs" is not "net sales costs".
    if first != second and size >= 2 * TELLING:
        first, second = (first[:size], second[:size]) if start else (first[-size:], second[-size:])
    return fuzz.ratio(first, second) / 100
