"""Tagged facts of a page: found, correct, and in the right row, by rules without a model.

Every place of a value in the gold competes for the places that it has in the prediction. Two
places are one fact if they stand in the same row, which its label tells, also a misread one, and
in the same column; else if the text around them is alike. A page is read as `Places`. Tested in
`tests/metrics/test_facts.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np
from rapidfuzz import fuzz, process
from rapidfuzz.distance import Levenshtein

from formlab.metrics.assignment import assign
from formlab.metrics.metric import family
from formlab.metrics.places import Places, lowered, tokens

# Similarity from which on two contexts are one, two readings are one misread value, and two labels
# are one misread label: a third of its letters at most, as of "tax" and "tex".
SAME, READABLE, SAME_LABEL = 0.7, 0.6, 0.65
# Letters and digits that make a value unlikely to stand on a page by chance.
TELLING = 4
# What is compared at most, since a model may repeat itself: pairs of labels, pairs of places of
# one value, values that make a row, letters of a page.
_MOST_LABELS, _MOST_PAIRS, _WIDEST, _MOST_TEXT = 250_000, 10_000, 100, 200_000
_WORDS = frozenset({"reporting_entity", "financial_concept"})
_NUMBERS = frozenset({"number", "monetary_unit"})
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
    """Where a tagged fact stands in its page; None if its tag holds no text that is shown.

    A tag on part of a number or word stands for all of it.
    """
    if mark not in gold.marks:
        return None
    first, last = gold.spanned(*gold.marks[mark])
    words = tokens(value)
    if len(words) > last - first:
        # A currency sign that was given a number: the two stand together further on, if anywhere.
        near = [start for start in gold.find(words) if first <= start <= first + 200]
        first, last = (near[0], near[0] + len(words)) if near else (first, last)
    return GoldFact(kind, value, first, last) if last > first else None


def match_facts(gold: Places, facts: Sequence[GoldFact | None], pred: Places) -> list[FactVerdict]:
    """A verdict on each fact of one page.

    A fact is correct where the same tokens stand with the same sign, next to the same row label
    or words and in the same column; every place of a value in the gold competes for the places
    it has in the prediction. A whole number is one token, so it is never found inside another.

    Examples
    --------
    >>> from formlab.text.flow import read
    >>> gold = Places(read("Net sales 4,310\\nCosts (15)\\nShares 7"))
    >>> facts = [GoldFact("number", "4,310", 2, 3), GoldFact("number", "15", 5, 6)]
    >>> match_facts(gold, facts, Places(read("Net sales 4310\\nCosts (15)\\nShares 2015")))
    [FactVerdict(found=True, correct=False, misplaced=False, text='4310'), \
FactVerdict(found=True, correct=True, misplaced=False, text='15')]
    """
    rows = _Rows(gold, pred)
    matched: dict[tuple[str, ...], tuple[dict[int, Span], list[Span]]] = {}
    verdicts = []
    for fact in facts:
        if fact is None:
            verdicts.append(MISSING)
            continue
        key = tuple(gold.words[fact.first : fact.last])
        if key not in matched:
            matched[key] = _paired(rows, list(key), words=fact.kind in _WORDS)
        pairs, unmatched = matched[key]
        # A short number stands on a page by chance: the value in its own place says more.
        telling = len("".join(key)) >= TELLING
        if fact.first in pairs:
            verdict = FactVerdict(True, True, False, pred.text(*pairs[fact.first]))
        elif not (unmatched and telling) and (misread := _misread(rows, fact)):
            verdict = FactVerdict(True, False, False, misread)
        else:
            text = pred.text(*unmatched[0]) if unmatched else ""
            verdict = FactVerdict(True, False, True, text) if unmatched else MISSING
        verdicts.append(verdict)
    return verdicts


class _Rows:
    """The rows of numbers of a gold page and its prediction, and which of them are the same."""

    def __init__(self, gold: Places, pred: Places) -> None:
        self.gold, self.pred = gold, pred
        # The runs of numbers under each label of either page.
        self.runs, self.pred_runs = _by_label(gold), _by_label(pred)
        self.misread = self._misread_labels()
        self.rows, self.unlabelled = self._cut()

    def _misread_labels(self) -> dict[str, str]:
        """Labels of the gold page by what was read of them, where it differs."""
        golds = [label for label in self.runs if label and label not in self.pred_runs]
        preds = [label for label in self.pred_runs if label and label not in self.runs]
        if not golds or not preds or len(golds) * len(preds) > _MOST_LABELS:
            return {}
        options = {"scorer": Levenshtein.normalized_similarity, "score_cutoff": SAME_LABEL}
        alike = process.cdist(preds, golds, dtype=np.float64, workers=1, **options)
        matched = {preds[row]: golds[column] for row, column in assign(alike)}
        # Of the rest, labels that lost words or were given some, where one alone holds the other.
        left = set(golds) - set(matched.values())
        holds = [
            (label, other)
            for label in set(preds) - set(matched)
            for other in left
            if _holds(label, other) or _holds(other, label)
        ]
        uses = Counter(label for pair in holds for label in pair)
        matched |= {label: other for label, other in holds if uses[label] == uses[other] == 1}
        return matched

    def gold_label(self, label: str) -> str | None:
        """The label of the gold page that `label` is, if it is one, as written or misread."""
        return label if label in self.runs else self.misread.get(label)

    def written(self, label: str) -> list[int]:
        """The runs of the prediction under a label of the gold page, misread or not."""
        read = next((read for read, name in self.misread.items() if name == label), label)
        return self.pred_runs.get(label) or self.pred_runs.get(read, [])

    def _cut(self) -> tuple[dict[int, list[int]], set[int]]:
        """The predicted row of each number, and the numbers on lines without a label.

        A run of numbers goes on where a label is lost. It ends where the row of its label is full:
        after whole lines, as far as they fit the gold's row; in a table after one line.
        """
        pred, rows, unlabelled = self.pred, {}, set()
        blocks = [(block.line, block.table >= 0) for block in pred.blocks]
        lettered = {
            line
            for unit, (line, _) in enumerate(blocks)
            if pred.block_before[unit + 1] > pred.block_before[unit]
        }
        golds = self.gold.runs
        sizes = {label: max(len(golds[n]) for n in runs) for label, runs in self.runs.items()}
        for run in filter(None, pred.runs):
            label = self.gold_label(pred.label(run[0]))
            size = sizes.get(label, 0)
            full, row = label is None, []
            for (line, in_table), group in groupby(run, lambda n: blocks[pred.units[n]]):
                numbers = list(group)
                lost = line not in lettered
                beyond = in_table or len(row) + len(numbers) > size > 0
                full |= (beyond and bool(row)) or (in_table and lost)
                if full:
                    row = []
                    unlabelled.update(numbers if lost else ())
                row += numbers
                rows |= dict.fromkeys(numbers, row)
        return rows, unlabelled

    def differ(self, gold_place: int, pred_place: int) -> bool:
        """Whether a place is in another row or column than a gold place."""
        gold_number, pred_number = self.gold.number(gold_place), self.pred.number(pred_place)
        is_column = self._is_column(gold_place, pred_place, gold_number, pred_number)
        return not is_column or self._is_other_row(gold_place, pred_place, pred_number)

    def _is_other_row(self, gold_place: int, pred_place: int, number: int | None) -> bool:
        """Whether the predicted place has the label of another row of the gold page."""
        label, other = self.gold.label(gold_place), self.pred.label(pred_place)
        named, head = self.gold_label(other), self.pred.header(pred_place)
        if head in self.runs and head != label and head not in self.gold.header(gold_place):
            # Rows are written as columns, each under its label.
            return True
        if number in self.unlabelled:
            # Its own row stands elsewhere, with other values or after it.
            after = self.pred.letters.find(label) >= self.pred.before[number]
            return label not in (named, other) and (after or bool(self.written(label)))
        lefts = self.gold.left(gold_place), self.pred.left(pred_place)
        if named == label and lefts[0] == lefts[1]:
            return False
        if named == label:
            # Or it is the end of a longer label, which the line before began.
            longer = [end for end in self.runs if label and end != label and end.endswith(label)]
            return any(lefts[1].endswith(e) and not lefts[0].endswith(e) for e in longer)
        if named is None:
            return False
        partial = other in named or named in other
        if not partial and _alike(label, other) >= _alike(named, other):
            return False
        # A label that is broken over two lines ends like itself, and maybe like another label.
        for whole, end, left in ((label, named, lefts[1]), (named, label, lefts[0])):
            if end and whole.endswith(end):
                return fuzz.ratio(whole, left[-len(whole) :]) / 100 < SAME
        return True

    def _is_column(
        self, gold_place: int, pred_place: int, gold_number: int | None, pred_number: int | None
    ) -> bool:
        head, other = self.gold.header(gold_place), self.pred.header(pred_place)
        gold_row, at = self.row(self.gold, gold_number)
        pred_row, index = self.row(self.pred, pred_number)
        if head and other:
            heads = list(map(self.gold.header, gold_row))
            if heads.count(head) == 1 and other in heads:
                return head == other
        if at < 0 or index < 0 or max(len(gold_row), len(pred_row)) > _WIDEST:
            return True
        if len(gold_row) == len(pred_row):
            return at == index
        before, after = self.gold.beside(gold_row, at)
        ahead, behind = self.pred.beside(pred_row, index)
        return not ((before - after) & (behind - ahead) or (after - before) & (ahead - behind))

    def row(self, page: Places, number: int | None) -> tuple[list[int], int]:
        """The numbers beside a number, and its place among them."""
        if number is None:
            return [], -1
        run, at = page.run[number]
        if page is self.gold:
            return page.runs[run], at
        return self.rows[number], self.rows[number].index(number)

    @cached_property
    def texts(self) -> tuple[str, str, str]:
        """The prediction as it is written and in lower case, and the gold in lower case."""
        written, gold = (" ".join(b.text for b in page.blocks) for page in (self.pred, self.gold))
        written = written[:_MOST_TEXT]
        return written, lowered(written), gold.lower()


def _holds(label: str, part: str) -> bool:
    return len(part) >= TELLING and (label.startswith(part) or label.endswith(part))


def _by_label(page: Places) -> dict[str, list[int]]:
    runs: dict[str, list[int]] = {}
    for number, run in enumerate(page.runs):
        if run:
            runs.setdefault(page.label(run[0]), []).append(number)
    return runs


def _paired(rows: _Rows, value: list[str], *, words: bool) -> tuple[dict[int, Span], list[Span]]:
    """Gold places of a value with their places in the prediction, and the places left over."""
    gold, pred, size = rows.gold, rows.pred, len(value)
    telling = len("".join(value)) >= TELLING
    starts = gold.find(value)
    spans = [(start, start + size) for start in pred.find(value)[: _MOST_PAIRS // len(starts)]]
    if not spans and telling:
        spans = pred.run_together(value)
    signs = [gold.sign(start, start + size) for start in starts]
    # A telling value that stands once on both pages is the same fact unless its row says no; of
    # words that carry their own meaning, as many as the gold has are all there.
    single = telling and len(starts) == len(spans) == 1
    free = words and len(spans) >= len(starts)
    ranked = []
    for a, first in enumerate(starts):
        for b, span in enumerate(spans):
            if pred.sign(*span) != signs[a]:
                continue
            if single:
                score = float(words or not rows.differ(first, span[0]))
            else:
                score = _context(rows, (first, first + size), span, free=free, words=words)
            drift = abs(a / len(starts) - b / len(spans))
            ranked += [(-score, drift, a, b)] if score else []
    pairs: dict[int, Span] = {}
    taken: set[int] = set()
    for _, _, a, b in sorted(ranked):
        if starts[a] not in pairs and b not in taken:
            pairs[starts[a]] = spans[b]
            taken.add(b)
    left = (span for b, span in enumerate(spans) if b not in taken)
    return pairs, [span for span in left if pred.sign(*span) in signs]


def _context(rows: _Rows, gold_span: Span, pred_span: Span, *, free: bool, words: bool) -> float:
    """How well two places of one value agree; 0 where they are different facts."""
    gold, pred = rows.gold, rows.pred
    label, other = gold.label(gold_span[0]), pred.label(pred_span[0])
    if not words:
        if rows.differ(gold_span[0], pred_span[0]):
            return 0.0
        other = label if rows.gold_label(other) == label else other
    left = max(_alike(label, other), _alike(gold.left(gold_span[0]), pred.left(pred_span[0])))
    right = _alike(gold.right(gold_span[1]), pred.right(pred_span[1]), start=True)
    if left >= SAME:
        return 1.0 + left + right / 2
    if right >= SAME:
        return right
    return 0.1 + (left + right) / 4 if free else 0.0


def _misread(rows: _Rows, fact: GoldFact) -> str:
    """What stands in the fact's place, if it is readable as the fact; else nothing."""
    if fact.kind not in _WORDS and (near := _in_slot(rows, fact)):
        return near
    return "" if fact.kind in _NUMBERS else _similar(rows, fact)


def _in_slot(rows: _Rows, fact: GoldFact) -> str:
    """The value at the same label and column."""
    gold, pred = rows.gold, rows.pred
    row, at = rows.row(gold, gold.number(fact.first))
    left, words = gold.left(fact.first), gold.words[fact.first : fact.last]
    runs = rows.written(gold.label(fact.first)) if at >= 0 else []
    for line in map(pred.runs.__getitem__, runs):
        if len(line) != len(row):
            continue
        token = line[at]
        if _alike(left, pred.left(token)) < SAME and len(runs) > 1:
            continue
        word = pred.words[token]
        # It may have lost its sign alone.
        if word in words or fuzz.ratio("".join(words), word) / 100 >= READABLE:
            return pred.figure(token, token + 1) or ""
    return ""


def _similar(rows: _Rows, fact: GoldFact) -> str:
    """A similar stretch of text that the gold page does not have."""
    value = _SPACE.sub(" ", fact.value.lower())
    if len(value) < TELLING:
        return ""
    written, lower, gold_text = rows.texts
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


def _alike(first: str, second: str, *, start: bool = False) -> float:
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
    flags = np.array([verdict[:3] for verdict in verdicts], dtype=float).reshape(-1, 3)
    found, correct, misplaced = flags.T
    every = np.ones_like(found)
    parts = ((correct, every), (correct, found), (1 - found, every), (misplaced, every))
    return {name: np.stack(pair, axis=1) for name, pair in zip(METRICS, parts, strict=False)}


_PAPER = "He et al., arXiv:2511.14998v1, equations 6 to 9"
_EITHER = "correct per gold number or date"
_EQUATIONS = "He et al., arXiv:2511.14998v1, equations 4 and 6"
_RELEASE = "The-FinAI/FinCriticalED, evaluate_performance of the released notebook"
_DOWN = {"direction": "down"}
METRICS = family(
    ("fact_accuracy", "financial fact accuracy (FFA)", "correct per gold fact", _PAPER),
    ("fact_accuracy_of_found", "FFA of facts found", "correct per found fact", _RELEASE),
    ("fact_missing_rate", "facts missing", "not found per gold fact", _RELEASE, _DOWN),
    ("fact_misplaced_rate", "facts in a wrong row", "misplaced per gold fact", "formlab", _DOWN),
    ("number_date_accuracy", "FFA of numbers and dates", _EITHER, _EQUATIONS),
    units=("fact",),
)
