"""Tagged facts of a page: found, correct, and in the right row, by rules without a model.

A fact is correct where the same tokens stand with the same sign, next to the same row label or
words and in the same column; every place of a value in the gold competes for the places it has in
the prediction. A whole number is one token, so it is never found inside another.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from rapidfuzz import fuzz

from formlab.metrics.places import Places, Rows, lowered, tokens

# Similarity from which on two contexts are one, and two readings are one misread value.
SAME, READABLE = 0.7, 0.6
# Letters and digits that make a value unlikely to stand on a page by chance.
TELLING = 4
# What is compared at most, since a model may repeat itself: pairs of places of one value (beyond,
# only equal labels meet), places of one value, values that make a row, letters of a page.
_MOST_PAIRS, _MOST_PLACES, _WIDEST, _MOST_TEXT = 10_000, 5_000, 100, 200_000
_WORDS = frozenset({"reporting_entity", "financial_concept"})
_NUMBERS = frozenset({"number", "monetary_unit"})
_NOT_DIGIT = re.compile(r"\D")
_SPACE = re.compile(r"\s+")
Span = tuple[int, int]


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
    if last - first == 1 and gold.words[first] == value:
        return GoldFact(kind, value, first, last)
    words = tokens(value)
    if len(words) > last - first:
        # A currency sign that was given a number: the two stand together further on, if anywhere.
        near = [start for start in gold.find(words) if first <= start <= first + 200]
        first, last = (near[0], near[0] + len(words)) if near else (first, last)
    return GoldFact(kind, value, first, last) if last > first else None


def match_facts(gold: Places, facts: Sequence[GoldFact | None], pred: Places) -> list[FactVerdict]:
    """A verdict on each fact of one page."""
    alignment = _Alignment(gold, pred)
    return [MISSING if fact is None else alignment.verdict(fact) for fact in facts]


class _Alignment(Rows):
    """One page against its prediction; what is shared by its facts is worked out once."""

    def __init__(self, gold: Places, pred: Places) -> None:
        super().__init__(gold, pred)
        self._pairs: dict[str, tuple[dict[int, Span], list[Span]]] = {}

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

    def _matched(
        self, value: list[str], *, telling: bool, named: bool
    ) -> tuple[dict[int, Span], list[Span]]:
        """Gold places of a value with their places in the prediction, and the places left over."""
        size, ours, sign = len(value), self.gold.find(value), self.pred.sign
        theirs = [(start, start + size) for start in self.pred.find(value)[:_MOST_PLACES]]
        theirs = theirs or (self.pred.run_together(value) if telling else [])
        if not theirs:
            return {}, []
        if telling and len(ours) == len(theirs) == 1:
            # They are the same fact or not: how well they agree ranks nothing.
            (here,), (there,) = ours, theirs
            if sign(*there) != self.gold.sign(here, here + size):
                return {}, []
            is_fact = named or self._in_its_row(here, there[0]) is not False
            return ({here: there}, []) if is_fact else ({}, [there])
        signs = [self.gold.sign(start, start + size) for start in ours]
        # Words name what they are: as many as the gold has are all there.
        free = named and len(theirs) >= len(ours)
        ranked = []
        for a, b in self._candidates(ours, theirs):
            if sign(*theirs[b]) == signs[a]:
                score = self._context((ours[a], ours[a] + size), theirs[b], free=free, named=named)
                drift = abs(a / len(ours) - b / len(theirs))
                ranked += [(-score, drift, a, b)] if score else []
        pairs: dict[int, Span] = {}
        taken: set[int] = set()
        for _, _, a, b in sorted(ranked):
            if ours[a] not in pairs and b not in taken:
                pairs[ours[a]] = theirs[b]
                taken.add(b)
        left = (span for b, span in enumerate(theirs) if b not in taken)
        return pairs, [span for span in left if sign(*span) in signs]

    def _candidates(self, ours: list[int], theirs: list[Span]) -> list[tuple[int, int]]:
        if len(ours) * len(theirs) <= _MOST_PAIRS:
            return [(a, b) for a in range(len(ours)) for b in range(len(theirs))]
        known, uses = defaultdict[str, list[int]](list), Counter[str]()
        for b, (first, _) in enumerate(theirs):
            known[self.pred.label(first)].append(b)
        pairs = []
        for a, first in enumerate(ours):
            same = known[label := self.gold.label(first)]
            # The n-th place under a label is tried with the prediction's n-th and those beside it.
            start = max(0, min(uses[label], len(same)) - 4)
            pairs += [(a, b) for b in same[start : start + 9]]
            uses[label] += 1
        return pairs

    def _context(self, ours: Span, theirs: Span, *, free: bool, named: bool) -> float:
        """How well two places of one value agree; 0 where they are different facts."""
        gold, pred = self.gold, self.pred
        label, other = gold.label(ours[0]), pred.label(theirs[0])
        if not named:
            if (row := self._in_its_row(ours[0], theirs[0])) is not None:
                return float(row)
            other = label if self.known(other) == label else other
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
        if line is not None and line.gold < 0 and ours in gold.run:
            (run, at), (other, place) = gold.run[ours], pred.run[theirs]
            is_row = len(gold.runs[run]) == len(pred.runs[other]) == len(line.numbers)
            # Mostly all around is alike, and nothing more needs to be asked.
            alike = is_row and at == place and gold.beside(ours) == pred.beside(theirs)
            if alike and gold.header(ours) == pred.header(theirs):
                return None
        mine, yours = gold.number(ours), pred.number(theirs)
        if not self._in_its_column(ours, theirs, mine, yours):
            return False
        line = self.rows.get(yours)
        if line and line.gold >= 0 and mine is not None:
            # A place without a label is where its line stands among the rows.
            return line.gold == gold.run[mine][0]
        return False if self._in_other_row(ours, theirs, yours) else None

    def _in_other_row(self, ours: int, theirs: int, number: int | None) -> bool:
        """Whether the predicted place has the label of another row of the gold page."""
        label, other = self.gold.label(ours), self.pred.label(theirs)
        named, head = self.known(other), self.pred.header(theirs)
        if head in self.gold.labelled and head != label and head not in self.gold.header(ours):
            # Rows are written as columns, each under its label.
            return True
        line = self.rows.get(number)
        if line and line.bare and line.gold < 0:
            # Its own row stands elsewhere, with other values or after it.
            return label not in (named, other) and self.is_elsewhere(label, number)
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
        run, at = self.gold.run[number]
        left, words = self.gold.left(fact.first), self.gold.words[fact.first : fact.last]
        runs = self.written(self.gold.label(fact.first))
        for line in map(self.pred.runs.__getitem__, runs):
            if len(line) != len(self.gold.runs[run]):
                continue
            token = line[at]
            if _same(left, self.pred.left(token)) < SAME and len(runs) > 1:
                continue
            there = self.pred.words[token]
            # It may have lost its sign alone.
            if there in words or fuzz.ratio("".join(words), there) / 100 >= READABLE:
                return self.pred.figure(token, token + 1)
        return ""

    def _same_digits(self, fact: GoldFact) -> str:
        """A number of the same digits anywhere on the page: separators, decimals or sign differ."""
        digits = _NOT_DIGIT.sub("", fact.value)
        token = self._digits.get(digits) if len(digits) >= TELLING else None
        if token is None:
            return ""
        # The very number is not misread: it stands in another place.
        signs = self.pred.sign(token, token + 1), self.gold.sign(fact.first, fact.last)
        is_same = self.pred.words[token] in fact.value and signs[0] == signs[1]
        return "" if is_same else self.pred.figure(token, token + 1)

    @cached_property
    def _digits(self) -> dict[str, int]:
        """The first token of each sequence of digits."""
        return {_NOT_DIGIT.sub("", self.pred.words[n]): n for n in reversed(self.pred.run)}

    def _similar(self, fact: GoldFact) -> str:
        """A similar stretch of text that the gold page does not have."""
        value = _SPACE.sub(" ", fact.value.lower())
        if len(value) < TELLING:
            return ""
        written, lower, gold_text = self._texts
        # Of equal length, so that a place here is a place in the page as written.
        text = lower.replace(value, " " * len(value))
        near = fuzz.partial_ratio_alignment(value, text, score_cutoff=80) if text else None
        if near is None or near.dest_end == near.dest_start:
            return ""
        # Out to the ends of words: what differs may be the last figure of a year.
        first = text.rfind(" ", 0, near.dest_start + 1) + 1
        last = text.find(" ", near.dest_end)
        end = min(last if last >= 0 else len(text), first + 4 * len(value))
        return "" if text[first:end].strip() in gold_text else written[first:end].strip()

    @cached_property
    def _texts(self) -> tuple[str, str, str]:
        """The prediction as it is written and in lower case, and the gold in lower case."""
        written, gold = (" ".join(b.text for b in page.blocks) for page in (self.pred, self.gold))
        written = written[:_MOST_TEXT]
        return written, lowered(written), gold.lower()


def _same(first: str, second: str, *, start: bool = False) -> float:
    """Similarity of two contexts, in [0, 1], over the letters next to the value that both have."""
    if not first or not second:
        return float(first == second)
    size = min(len(first), len(second))
    # Of a short label all counts: "costs" is not "net sales costs".
    if first != second and size >= 2 * TELLING:
        first, second = (first[:size], second[:size]) if start else (first[-size:], second[-size:])
    return fuzz.ratio(first, second) / 100


def counts(verdicts: Sequence[FactVerdict]) -> dict[str, np.ndarray]:
    """Tallies of each metric that is of all facts, shape (facts, 2)."""
    flags = [verdict[:3] for verdict in verdicts]
    found, correct, misplaced = np.array(flags, dtype=float).reshape(-1, 3).T
    every = np.ones_like(found)
    parts = {"fact_accuracy": (correct, every), "fact_accuracy_of_found": (correct, found)}
    parts |= {"fact_missing_rate": (1 - found, every), "fact_misplaced_rate": (misplaced, every)}
    return {name: np.stack(pair, axis=1) for name, pair in parts.items()}
