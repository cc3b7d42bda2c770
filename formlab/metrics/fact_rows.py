"""The rows of a predicted page beside those of its gold page, as facts are looked for in them.

A row is identified by its label, which may be misread; where a label is lost, by its position among
the rows that are known, and by its values.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cached_property
from typing import NamedTuple

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from formlab.metrics.metric import assign
from formlab.metrics.places import Places

# Similarity of a label with a misread one: a third of its letters at most, as of "tax" and "tex".
_SLIP = 0.65
# Letters that a label must have to be taken for the beginning or the end of another.
_PART = 4
# What is compared at most, since a model may repeat itself: pairs of labels, values without label.
_MOST_LABELS, _MOST_LOOSE = 250_000, 2_000


class _Line(NamedTuple):
    """Numbers side by side on a predicted page, and whether no letter stands beside them.

    `gold` is the run of numbers of the gold page that they are; -1 where that is not known: the
    row's label, or nothing, tells.
    """

    numbers: list[int]
    bare: bool = False
    gold: int = -1


class Rows:
    """The rows of a predicted page beside those of a gold page."""

    def __init__(self, gold: Places, pred: Places) -> None:
        self.gold, self.pred = gold, pred
        # The runs under each label of the gold page, and of the prediction as it is written there.
        self.runs, self.labelled = _by_label(gold), _by_label(pred)
        self._twins: dict[int, int] = {}

    def same(self, ours: int, theirs: int) -> bool:
        """Whether two numbers have the same place in rows that both pages label and head alike."""
        run, at = self.gold.run.get(ours, (-1, -1))
        other, index = self.pred.run.get(theirs, (-1, -1))
        if run < 0 or other < 0 or at != index or theirs in self.cut:
            return False
        if run not in self._twins:
            row = _surroundings(self.gold, run)
            if len(row[1]) != 1 or row != _surroundings(self.pred, other):
                return False
            self._twins[run] = other
        return self._twins[run] == other

    def known(self, label: str) -> str | None:
        """The label of the gold page that `label` is, if it is one, as written or misread."""
        return label if label in self.runs else self._misread.get(label)

    def written(self, label: str) -> list[int]:
        """The runs of the prediction under a label of the gold page, misread or not."""
        return self.labelled.get(label) or self.labelled.get(self._as_read.get(label), [])

    @cached_property
    def _as_read(self) -> dict[str, str]:
        return {ours: theirs for theirs, ours in self._misread.items()}

    @cached_property
    def _misread(self) -> dict[str, str]:
        ours = [label for label in self.runs if label and label not in self.labelled]
        theirs = [label for label in self.labelled if label and label not in self.runs]
        if not ours or not theirs or len(ours) * len(theirs) > _MOST_LABELS:
            return {}
        how = {"scorer": Levenshtein.normalized_similarity, "score_cutoff": _SLIP, "workers": 1}
        alike = process.cdist(theirs, ours, dtype=np.float64, **how)
        matched = {theirs[row]: ours[column] for row, column in assign(alike)}
        # Of the rest, labels that lost words or were given some, where one alone holds the other.
        left = set(ours) - set(matched.values())
        parts = {
            label: [other for other in left if _in(label, other) or _in(other, label)]
            for label in theirs
            if label not in matched
        }
        uses = Counter(other for ones in parts.values() for other in ones)
        single = {label: ones[0] for label, ones in parts.items() if len(ones) == 1}
        return matched | {label: one for label, one in single.items() if uses[one] == 1}

    def row(self, number: int) -> _Line:
        """The row of a number of the prediction."""
        return self.cut.get(number) or _Line(self.pred.runs[self.pred.run[number][0]])

    def is_unlabelled(self, number: int) -> bool:
        """Whether a number stands on a line without letters, and in no row that is known."""
        line = self.cut.get(number)
        return line is not None and line.bare and line.gold < 0

    @cached_property
    def cut(self) -> dict[int, _Line]:
        """The rows of the numbers whose run is longer than the row of its label."""
        rows, gaps = self._parts
        for before, lines in gaps:
            placed = [line for line in lines if line.bare] + self._in_order(before, lines)
            rows |= {number: line for line in placed for number in line.numbers}
        return rows

    @cached_property
    def _parts(self) -> tuple[dict[int, _Line], list[tuple[int, list[_Line]]]]:
        """Runs that are longer than the row of their label, cut where the row is full.

        The rows, by number; and the lines that follow one another without a known label, with
        the gold run of the last label before them.
        """
        rows: dict[int, _Line] = {}
        gaps: list[tuple[int, list[_Line]]] = []
        before, uses, is_open = -1, Counter(), False
        for run in filter(None, self.pred.runs):
            label, cut = self.known(self.pred.label(run[0])), 0
            if label is not None:
                runs = self.runs[label]
                before, is_open = runs[min(uses[label], len(runs) - 1)], False
                uses[label] += 1
                cut = self._full(run, max(len(self.gold.runs[number]) for number in runs))
            if cut == len(run):
                continue
            rows |= dict.fromkeys(run[:cut], _Line(run[:cut]))
            if not is_open:
                gaps.append((before, []))
                is_open = True
            gaps[-1][1].extend(self._lines(run[cut:]))
        return rows, gaps

    def _full(self, run: list[int], size: int) -> int:
        """How many numbers of a run are in the row of its label, which has `size` in the gold.

        Whole lines, as far as they fit; a row of a table is one line.
        """
        first = self.pred.blocks[self.pred.units[run[0]]]
        in_table = first.table >= 0
        if in_table and first.line not in self._lettered:
            return 0
        if first.line == self._line(run[-1]):
            return len(run)
        end = 0
        for line in self._lines(run):
            if end and (in_table or end + len(line.numbers) > size):
                break
            end += len(line.numbers)
        return end

    def _lines(self, numbers: list[int]) -> list[_Line]:
        lines: dict[int, list[int]] = defaultdict(list)
        for number in numbers:
            lines[self._line(number)].append(number)
        return [_Line(values, line not in self._lettered) for line, values in lines.items()]

    def _line(self, number: int) -> int:
        return self.pred.blocks[self.pred.units[number]].line

    @cached_property
    def _lettered(self) -> set[int]:
        """The lines that have letters."""
        before = self.pred.block_before
        blocks = enumerate(self.pred.blocks)
        return {block.line for unit, block in blocks if before[unit + 1] > before[unit]}

    def _in_order(self, before: int, lines: list[_Line]) -> list[_Line]:
        """Lines without a known label beside the gold rows that follow, as far as none has one."""
        golds = []
        for number, run in enumerate(self.gold.runs[before + 1 :], start=before + 1):
            if run and self._has_label(self.gold.label(run[0])):
                break
            golds += [number] if run else []
        if len(golds) == len(lines):
            pairs = zip(lines, golds, strict=True)
            return [line._replace(gold=gold) for line, gold in pairs if line.bare]
        # Lines that are more or fewer than the gold rows: each value beside its like.
        ours = [(number, gold) for gold in golds for number in self.gold.runs[gold]]
        theirs = [number for line in lines for number in line.numbers]
        if not ours or max(len(ours), len(theirs)) > _MOST_LOOSE:
            return []
        owner: dict[int, int] = {}
        if len(ours) == len(theirs) == len(lines):
            # Every value has a line of its own.
            owner = {number: gold for number, (_, gold) in zip(theirs, ours, strict=True)}
        else:
            words = [self.pred.words[n] for n in theirs], [self.gold.words[n] for n, _ in ours]
            for tag, start, end, other, _ in Levenshtein.opcodes(*words):
                for step in range(end - start) if tag in ("equal", "replace") else ():
                    owner[theirs[start + step]] = ours[other + step][1]
        members: dict[int, list[int]] = defaultdict(list)
        for line in filter(lambda line: line.bare, lines):
            # What is beside them belongs to their row, though it is like nothing there.
            beside = Counter(owner[n] for n in line.numbers if n in owner).most_common(1)
            for number in line.numbers if beside else ():
                members[owner.get(number, beside[0][0])].append(number)
        return [_Line(row, gold=gold) for gold, row in members.items()]

    def is_elsewhere(self, label: str, number: int) -> bool:
        """Whether a gold label has values of its own, or stands only after a number."""
        if not label or not self._has_label(label):
            return False
        after = self.pred.letters.find(label) >= self.pred.before[number]
        return bool(self.written(label)) or after

    def _has_label(self, label: str) -> bool:
        """Whether a gold label stands in the prediction, misread or as often as in the gold."""
        if not label or label in self._as_read:
            return True
        return self.pred.letters.count(label) >= self.gold.letters.count(label)


def _by_label(page: Places) -> dict[str, list[int]]:
    runs: dict[str, list[int]] = {}
    for number, run in enumerate(page.runs):
        if run:
            runs.setdefault(page.label(run[0]), []).append(number)
    return runs


def _in(fragment: str, whole: str) -> bool:
    return len(fragment) >= _PART and (whole.startswith(fragment) or whole.endswith(fragment))


def _surroundings(page: Places, run: int) -> tuple[str, set[str], list[str]]:
    """The letters before a row of numbers, their labels, and the head of each."""
    numbers = page.runs[run]
    return page.left(numbers[0]), set(map(page.label, numbers)), list(map(page.header, numbers))
