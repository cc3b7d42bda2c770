"""Align occurrences of a value between a predicted page and its gold page."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from rapidfuzz import fuzz

from formlab.metrics._fact_rows import Rows
from formlab.metrics.places import Places, lowered

# Similarity from which on two contexts are one, and two readings are one misread value.
SAME, READABLE = 0.7, 0.6
# Letters and digits that make a value unlikely to stand on a page by chance.
TELLING = 4
# Pairs of places of one value that are compared in full; beyond, only equal contexts meet.
_MOST_PAIRS = 10_000
_MOST_TEXT = 200_000
# Places of one value that are looked at, and values that make a row: a model may repeat itself.
_MOST_PLACES, _WIDEST = 5_000, 100
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


class FactAlignment:
    """One page against its prediction; what is shared by its facts is worked out once."""

    def __init__(self, gold: Places, pred: Places) -> None:
        self.gold, self.pred = gold, pred
        self._pairs: dict[tuple[str, ...], tuple[dict[int, Span], list[Span]]] = {}
        self._longer_labels: dict[str, list[str]] = {}
        self._heads: dict[int, list[str]] = {}
        self._rows = Rows(gold, pred)

    def verdict(self, fact: GoldFact) -> FactVerdict:
        there = self._alone(fact.first) if fact.last - fact.first == 1 else -1
        if there >= 0:
            return FactVerdict(True, True, False, self.pred.text(there, there + 1))
        key = tuple(self.gold.words[fact.first : fact.last])
        if key not in self._pairs:
            self._pairs[key] = self._matched(list(key), words=fact.kind in _WORDS)
        pairs, unmatched = self._pairs[key]
        if fact.first in pairs:
            return FactVerdict(True, True, False, self.pred.text(*pairs[fact.first]))
        # A short number stands on a page by chance: what is in its own place says more.
        telling = len("".join(key)) >= TELLING
        near = "" if unmatched and telling else self._misread(fact)
        if near:
            return FactVerdict(True, False, False, near)
        if unmatched:
            return FactVerdict(True, False, True, self.pred.text(*unmatched[0]))
        return MISSING

    def _alone(self, number: int) -> int:
        """The place of a number that each page has once, in the same row; -1 for any other."""
        word = self.gold.words[number]
        places = self.pred.index.get(word, ())
        if len(word) < TELLING or len(places) != 1 or len(self.gold.index[word]) != 1:
            return -1
        there = places[0]
        same = self.pred.sign(there, there + 1) == self.gold.sign(number, number + 1)
        return there if same and self._rows.same(number, there) else -1

    def _matched(self, value: list[str], *, words: bool) -> tuple[dict[int, Span], list[Span]]:
        """Gold places of a value with their places in the prediction, and the places left over."""
        size = len(value)
        telling = len("".join(value)) >= TELLING
        ours = self.gold.find(value)
        theirs = [(start, start + size) for start in self.pred.find(value)[:_MOST_PLACES]]
        if not theirs and telling:
            theirs = self.pred.run_together(value)
        signs = [self.gold.sign(start, start + size) for start in ours]
        single = telling and len(ours) == len(theirs) == 1
        if single:
            # They are the same fact or not: how well they agree ranks nothing.
            there = theirs[0]
            if self.pred.sign(*there) != signs[0]:
                return {}, []
            alike = (
                words
                or self._rows.same(ours[0], there[0])
                or self._in_its_row(ours[0], there[0]) is not False
            )
            return ({ours[0]: there}, []) if alike else ({}, [there])
        # Words carry their own meaning: as many as the gold has are all there.
        free = words and len(theirs) >= len(ours)
        ranked = []
        for a, b in self._candidates(ours, theirs):
            if self.pred.sign(*theirs[b]) != signs[a]:
                continue
            score = self._context((ours[a], ours[a] + size), theirs[b], free=free, words=words)
            if score:
                drift = abs(a / len(ours) - b / len(theirs))
                ranked.append((-score, drift, a, b))
        pairs: dict[int, Span] = {}
        taken: set[int] = set()
        for _, _, a, b in sorted(ranked):
            if ours[a] not in pairs and b not in taken:
                pairs[ours[a]] = theirs[b]
                taken.add(b)
        left = (start for b, start in enumerate(theirs) if b not in taken)
        return pairs, [start for start in left if self.pred.sign(*start) in signs]

    def _candidates(self, ours: list[int], theirs: list[Span]) -> list[tuple[int, int]]:
        if len(ours) * len(theirs) <= _MOST_PAIRS:
            return [(a, b) for a in range(len(ours)) for b in range(len(theirs))]
        known: dict[str, list[int]] = defaultdict(list)
        for b, occurrence in enumerate(theirs):
            known[self.pred.label(occurrence[0])].append(b)
        pairs, uses = [], defaultdict(int)
        for a, occurrence in enumerate(ours):
            label = self.gold.label(occurrence)
            same = known.get(label, [])
            # The n-th place under a label is tried with the prediction's n-th and those beside it.
            start = max(0, min(uses[label], len(same)) - 4)
            pairs += [(a, b) for b in same[start : start + 9]]
            uses[label] += 1
        return pairs

    def _context(self, ours: Span, theirs: Span, *, free: bool, words: bool) -> float:
        """How well two places of one value agree; 0 where they are different facts."""
        gold, pred = self.gold, self.pred
        label, other = gold.label(ours[0]), pred.label(theirs[0])
        if not words:
            row = self._in_its_row(ours[0], theirs[0])
            if row is not None:
                return float(row)
            other = label if self._rows.known(other) == label else other
        left = max(_same(label, other), _same(gold.left(ours[0]), pred.left(theirs[0])))
        right = _same(gold.right(ours[1]), pred.right(theirs[1]), start=True)
        if left >= SAME:
            return 1.0 + left + right / 2
        if right >= SAME:
            return right
        return 0.1 + (left + right) / 4 if free else 0.0

    def _in_its_row(self, ours: int, theirs: int) -> bool | None:
        """Whether a place is in the row and column of a gold place; None if nothing tells."""
        mine, yours = self._number(self.gold, ours), self._number(self.pred, theirs)
        if not self._column(ours, theirs, mine, yours):
            return False
        order = self._by_order(mine, yours)
        if order is None and self._other_row(ours, theirs, yours):
            return False
        return order

    def _by_order(self, mine: int | None, yours: int | None) -> bool | None:
        """Whether a place without a label is in the row of the gold place; None if not known."""
        if mine is None or yours is None or not self._rows.cut:
            return None
        gold = self._rows.row(yours).gold
        return None if gold < 0 else gold == self.gold.run[mine][0]

    def _other_row(self, ours: int, theirs: int, number: int | None) -> bool:
        """Whether the predicted place has the label of another row of the gold page."""
        label, other = self.gold.label(ours), self.pred.label(theirs)
        named = self._rows.known(other)
        head = self.pred.header(theirs)
        if head in self._rows.runs and head != label and head not in self.gold.header(ours):
            # Rows are written as columns, each under its label.
            return True
        if number is not None and self._rows.cut and self._rows.unlabelled(number):
            # Its own row stands elsewhere, with other values or after it.
            return label not in (named, other) and self._rows.elsewhere(label, number)
        if named == label:
            # Or it is the end of a longer label, which the line before began.
            longer = self._longer(label)
            if not longer:
                return False
            lefts = self.gold.left(ours), self.pred.left(theirs)
            return any(lefts[1].endswith(e) and not lefts[0].endswith(e) for e in longer)
        if named is None:
            return False
        partial = other in named or named in other
        if not partial and _same(label, other) >= _same(named, other):
            return False
        # A label that is broken over two lines ends like itself, and maybe like another label.
        for whole, end, left in (
            (label, named, self.pred.left(theirs)),
            (named, label, self.gold.left(ours)),
        ):
            if end and whole.endswith(end):
                return fuzz.ratio(whole, left[-len(whole) :]) / 100 < SAME
        return True

    def _longer(self, label: str) -> list[str]:
        """The labels of the gold page that end with a label and are longer."""
        if not label:
            return []
        if label not in self._longer_labels:
            end, longer = label[::-1], []
            for other in islice(self._ends, bisect_right(self._ends, end), None):
                if not other.startswith(end):
                    break
                longer.append(other[::-1])
            self._longer_labels[label] = longer
        return self._longer_labels[label]

    @cached_property
    def _ends(self) -> list[str]:
        return sorted(label[::-1] for label in self._rows.runs)

    def _column(self, ours: int, theirs: int, mine: int | None, yours: int | None) -> bool:
        head, other = self.gold.header(ours), self.pred.header(theirs)
        gold_row, at = self._row(self.gold, mine)
        pred_row, index = self._row(self.pred, yours)
        if head and other:
            heads = self._heads_of(gold_row)
            if heads.count(head) == 1:
                if head == other:
                    return True
                if other in heads:
                    return False
        if at < 0 or index < 0 or max(len(gold_row), len(pred_row)) > _WIDEST:
            return True
        if len(gold_row) == len(pred_row):
            return at == index
        before, after = self.gold.beside(gold_row, at)
        ahead, behind = self.pred.beside(pred_row, index)
        return not ((before - after) & (behind - ahead) or (after - before) & (ahead - behind))

    def _heads_of(self, gold_row: list[int]) -> list[str]:
        key = gold_row[0] if gold_row else -1
        if key not in self._heads:
            self._heads[key] = [self.gold.header(token) for token in gold_row]
        return self._heads[key]

    @staticmethod
    def _number(page: Places, first: int) -> int | None:
        """The token that has the row and column of a value, which may begin with its sign."""
        if first in page.run:
            return first
        for token in range(first, min(first + 3, len(page.words))):
            if token in page.run:
                return token
            if page.words[token].isalpha():
                break
        return None

    def _row(self, page: Places, number: int | None) -> tuple[list[int], int]:
        if number is None:
            return [], -1
        run, at = page.run[number]
        if page is self.gold or not self._rows.cut:
            return page.runs[run], at
        row = self._rows.row(number).numbers
        return row, row.index(number) if row is not page.runs[run] else at

    def _misread(self, fact: GoldFact) -> str:
        """What stands in the fact's place, if it is readable as the fact; else nothing."""
        if fact.kind not in _WORDS and (near := self._in_slot(fact)):
            return near
        if fact.kind in _NUMBERS:
            return self._same_digits(fact)
        return self._similar(fact)

    def _in_slot(self, fact: GoldFact) -> str:
        """The value at the same label and column."""
        row, at = self._row(self.gold, self._number(self.gold, fact.first))
        if at < 0:
            return ""
        label, left = self.gold.label(fact.first), self.gold.left(fact.first)
        value = "".join(self.gold.words[fact.first : fact.last])
        runs = self._rows.written(label)
        for run in runs:
            line = self.pred.runs[run]
            if len(line) != len(row):
                continue
            token = line[at]
            if _same(left, self.pred.left(token)) < SAME and len(runs) > 1:
                continue
            there = self.pred.words[token]
            sign_lost = there in self.gold.words[fact.first : fact.last]
            if sign_lost or fuzz.ratio(value, there) / 100 >= READABLE:
                return self.pred.figure(token, token + 1) or ""
        return ""

    def _same_digits(self, fact: GoldFact) -> str:
        """A number of the same digits anywhere on the page: separators, decimals or sign differ."""
        digits = _NOT_DIGIT.sub("", fact.value)
        if len(digits) < TELLING:
            return ""
        token = self._digits.get(digits)
        # The very number is not misread: it stands in another place.
        exact = token is not None and self.pred.words[token] in fact.value
        if token is None or (
            exact and self.pred.sign(token, token + 1) == self.gold.sign(fact.first, fact.last)
        ):
            return ""
        return self.pred.figure(token, token + 1) or ""

    @cached_property
    def _digits(self) -> dict[str, int]:
        tokens: dict[str, int] = {}
        for token in self.pred.run:
            word = self.pred.words[token]
            digits = word.replace(",", "").replace(".", "")
            digits = digits if digits.isdecimal() else _NOT_DIGIT.sub("", word)
            tokens.setdefault(digits, token)
        return tokens

    def _similar(self, fact: GoldFact) -> str:
        """A similar stretch of text that the gold page does not have."""
        value = _SPACE.sub(" ", fact.value.lower())
        if len(value) < TELLING:
            return ""
        # Of equal length, so that a place here is a place in the page as written.
        text = self._text.replace(value, " " * len(value))
        near = fuzz.partial_ratio_alignment(value, text, score_cutoff=80) if text else None
        if near is None or near.dest_end == near.dest_start:
            return ""
        # Out to the ends of words: what differs may be the last figure of a year.
        first = text.rfind(" ", 0, near.dest_start + 1) + 1
        last = text.find(" ", near.dest_end)
        end = min(last if last >= 0 else len(text), first + 4 * len(value))
        seen = text[first:end].strip()
        return "" if seen in self._gold_text else self._written[first:end].strip()

    @cached_property
    def _written(self) -> str:
        return " ".join(block.text for block in self.pred.blocks)[:_MOST_TEXT]

    @cached_property
    def _text(self) -> str:
        return lowered(self._written)

    @cached_property
    def _gold_text(self) -> str:
        return " ".join(block.text for block in self.gold.blocks).lower()


def _same(first: str, second: str, *, start: bool = False) -> float:
    """Similarity of two contexts, in [0, 1], over the letters next to the value that both have."""
    if not first or not second:
        return float(first == second)
    size = min(len(first), len(second))
    # Of a short label all counts: "costs" is not "net sales costs".
    if first != second and size >= 2 * TELLING:
        first, second = (first[:size], second[:size]) if start else (first[-size:], second[-size:])
    return fuzz.ratio(first, second) / 100
