"""What explains that a system is worse on some values: slices tested together, one at a time."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab.metrics import ratio
from formlab.scoring.bands import NUMBERS
from formlab.stats.exchange import Exchanged
from formlab.stats.tests import adjusted_p

# A number is cut at so many places at most; another column has at most so many values.
_CUTS, _VALUES = 16, 200
# No more weaknesses than so many are looked for, one after the other.
_ROUNDS = 12
# A document is mostly wrong from this share on, if it has so many values.
_MOSTLY, _LEAST = 0.5, 5
# By so much a further column must make the losses likelier, as a logarithm: twenty times.
_EARNED = 3.0
# By so much a cut at another place must: more than by one loss alone.
_MOVED = 5.0
AT_LEAST, UNDER = "at least ", "under "
# How a sentence says that a number is at least so much, or less.
_PHRASES = {
    "year": ("the year is {} or later", "the year is before {}"),
    "magnitude": ("the amount is {} or more", "the amount is under {}"),
    "length": ("the value has {} characters or more", "the value has fewer than {} characters"),
    "index": ("the number of the item is {} or more", "the number of the item is under {}"),
}
Words = tuple[str, ...]


@dataclasses.dataclass
class Weakness:
    """Values on which losses are more likely, and how it was shown.

    They agree in each of some columns, or a number of theirs is on one side of a cut; without
    columns they are those of the documents that are mostly wrong.
    """

    columns: Words
    values: Words
    inside: np.ndarray
    p: float
    p_adjusted: float
    n_tested: int

    @property
    def name(self) -> str:
        """As a sentence has it: ``kind is date and the year is 2016 or later``."""
        return " and ".join(map(_phrase, self.columns, self.values))


def _phrase(column: str, value: str) -> str:
    for place, start in enumerate((AT_LEAST, UNDER)):
        if column in _PHRASES and value.startswith(start):
            return _PHRASES[column][place].format(value.removeprefix(start))
    if column == "case":
        return f"the value has {value}"
    if column in ("vertical", "horizontal"):
        return f"the value stands in the {value} third of the page"
    return f"{'the ' * (column == 'field')}{column.replace('_', ' ')} is {value}"


class Values:
    """The gold's values of one evaluation: document, loss and columns of each, as numbers.

    A loss is 1 for a wrong value and 0 for a right one; of a metric it is what the value has less
    than its share. `codes` are ranks of a column's values from 0 on, -1 for none.
    """

    def __init__(self, table: pl.DataFrame, columns: dict[str, pl.Series], *, up: bool) -> None:
        self.table = table
        self.document = (table["doc_id"].rank("dense").cast(pl.Int64) - 1).to_numpy()
        self.count = int(self.document.max(initial=-1)) + 1
        self.hits, self.total = (table[name].cast(float).to_numpy() for name in ("hits", "total"))
        self.is_count = bool((self.total == 1).all() and ((self.hits % 1) == 0).all())
        expected = 0 if self.is_count else ratio(np.array([self.hits.sum(), self.total.sum()]))
        self.loss = (-1 if up else 1) * (self.hits - expected * self.total)
        self.loss += self.is_count and up
        self.sure = table["sure"].to_numpy()
        self.codes: dict[str, np.ndarray] = {}
        self.words: dict[str, list[Any]] = {}
        self.cuts: dict[str, list[int]] = {}
        self.ranks: dict[tuple[str, str], int] = {}
        for name, series in columns.items():
            self._add(name, series)

    def _add(self, name: str, series: pl.Series) -> None:
        words = series.drop_nulls().unique().sort()
        is_number = series.dtype.is_numeric() and (name in NUMBERS or len(words) > _CUTS)
        if len(words) + bool(series.null_count()) < 2 or (not is_number and len(words) > _VALUES):
            return
        self.codes[name] = (series.rank("dense").cast(pl.Int64) - 1).fill_null(-1).to_numpy()
        self.words[name] = words.to_list()
        self.ranks |= {(name, str(word)): at for at, word in enumerate(words)}
        if is_number:
            ranks = np.sort(self.codes[name][self.codes[name] >= 0])
            places = np.arange(1, _CUTS) * len(ranks) // _CUTS
            known = range(1, len(words)) if len(words) <= _CUTS else ranks[places]
            if name == "magnitude":
                known = [*known, *np.searchsorted(words.to_numpy(), [10.0**n for n in range(8)])]
            self.cuts[name] = sorted({int(at) for at in known} - {0, len(words)})

    def atoms(self) -> Iterator[tuple[str, str]]:
        """Column and value of every slice by one column."""
        for name, words in self.words.items():
            for at in self.cuts.get(name, range(len(words))):
                if name in self.cuts:
                    yield from ((name, self.cut(name, at, side)) for side in (AT_LEAST, UNDER))
                else:
                    yield name, str(words[at])

    def cut(self, name: str, at: int, side: str) -> str:
        """The value of a slice that ends at a rank; ranks of such values are kept."""
        value = f"{side}{_edge(*self.words[name][at - 1 : at + 1])}"
        self.ranks[name, value] = at
        return value

    def mask(self, name: str, value: str) -> np.ndarray:
        """Which values one column puts into a slice."""
        codes, at = self.codes[name], self.ranks[name, value]
        if name not in self.cuts:
            return codes == at
        return codes >= at if value.startswith(AT_LEAST) else (codes >= 0) & (codes < at)


def _edge(below: float, number: float) -> str:
    """The roundest number above the first and not above the second."""
    step = 10.0 ** math.floor(math.log10(max(abs(number), 1)))
    while step >= 1e-3 and not below < math.floor(number / step) * step:
        step /= 10
    edge = math.floor(number / step) * step if isinstance(number, float) else number
    return f"{edge:,.0f}" if isinstance(edge, float) and edge >= 1_000 else f"{edge:g}"


class Search:
    """All slices of some values: how many of each document's values they hold, tested at once."""

    def __init__(
        self,
        values: Values,
        heads: Sequence[str],
        depth: int,
        min_docs: int = 3,
        min_cases: int = 5,
    ) -> None:
        self.values, self.heads = values, [name for name in heads if name in values.codes]
        self.depth, self.min_docs, self.min_cases = depth, min_docs, min_cases

    def masks(self, active: np.ndarray) -> tuple[list[tuple[Words, Words]], list[np.ndarray]]:
        """The slices with enough support, and the places of their values; the same ones once."""
        marks, count = np.random.default_rng(0).random(len(active)), int(active.sum())
        seen: set[float] = set()
        slices, places = [], []

        def add(columns: Words, words: Words, at: np.ndarray) -> bool:
            enough = len(at) >= self.min_cases
            enough &= len(np.unique(self.values.document[at])) >= self.min_docs
            mark = float(marks[at].sum())
            if enough and len(at) < count and mark not in seen:
                seen.add(mark)
                slices.append((columns, words))
                places.append(at)
            return enough

        level = [
            ((name,), (word,), np.flatnonzero(self.values.mask(name, word) & active))
            for name, word in self.values.atoms()
        ]
        level = singles = [each for each in level if add(*each)]
        for _ in range(1, self.depth):
            deeper = []
            for columns, words, at in level:
                inside = np.zeros(len(active), dtype=bool)
                inside[at] = True
                beside = self._beside(columns)
                for (name,), (word,), other in singles:
                    if name in beside:
                        both = other[inside[other]]
                        if self.min_cases <= len(both) < min(len(at), len(other)):
                            deeper.append(((*columns, name), (*words, word), both))
            level = [each for each in deeper if add(*each)]
        return slices, places

    def _beside(self, columns: Words) -> set[str]:
        """The columns that go with those before: with a head all that are none, else later ones."""
        order = list(self.values.codes)
        later = set(order[order.index(columns[-1]) + 1 :])
        if not self.heads:
            return later
        return later - set(self.heads) if columns[0] in self.heads else set()

    def weaknesses(self, alpha: float) -> list[Weakness]:
        """One after the other, each with its values taken away before the next is looked for."""
        active, found = np.ones(len(self.values.loss), dtype=bool), []
        while len(found) < _ROUNDS and (weakness := self._strongest(active, alpha)):
            found.append(weakness)
            active &= ~weakness.inside
        return found

    def _strongest(self, active: np.ndarray, alpha: float) -> Weakness | None:
        """The slice that explains most, or the documents that are mostly wrong."""
        slices, places = self.masks(active)
        p_documents, of_documents = self._documents(active)
        p = np.array([p_documents, *self._p(places, active)])
        adjusted, tested = adjusted_p(p), int((~np.isnan(p)).sum())
        holds, sure, best = adjusted <= alpha, self.values.sure, None
        if not sure[active].all() and holds[1:].any():
            again = self._p([at[sure[at]] for at in places], active & sure)
            holds[1:] &= adjusted_p(again) <= alpha
        if holds[1:].any():
            gains = np.full(len(slices), -np.inf)
            for at in np.flatnonzero(holds[1:]):
                earned = _EARNED * (len(slices[at][0]) - 1)
                gains[at] = self._gain(places[at], active) - earned
            at = int(np.argmax(gains))
            columns, words = slices[at][0], self._cut_best(*slices[at], active)
            inside = active & np.logical_and.reduce(
                [self.values.mask(*pair) for pair in zip(columns, words, strict=True)]
            )
            best = Weakness(columns, words, inside, p[at + 1], adjusted[at + 1], tested)
        # Documents are told first unless the slice explains why they are wrong.
        first = holds[0] and of_documents.any()
        if first and (best is None or self._documents(active & ~best.inside)[0] <= alpha):
            return Weakness((), (), of_documents, p[0], adjusted[0], tested)
        return best

    def _cut_best(self, columns: Words, words: Words, active: np.ndarray) -> Words:
        """The values of a slice with its numbers cut where that explains most, near by."""
        words = list(words)
        for place, name in enumerate(columns):
            cuts = self.values.cuts.get(name)
            if not cuts:
                continue
            pairs = zip(columns, words, strict=True)
            others = [self.values.mask(*pair) for n, pair in enumerate(pairs) if n != place]
            rest = np.logical_and.reduce([active, *others])
            before = self.values.ranks[name, words[place]]
            side = AT_LEAST if words[place].startswith(AT_LEAST) else UNDER
            low = max((cut for cut in cuts if cut < before), default=0) + 1
            high = min((cut for cut in cuts if cut > before), default=len(self.values.words[name]))
            near = sorted(range(low, high), key=lambda at: abs(at - before))[:_CUTS]
            values = {at: self.values.cut(name, at, side) for at in near}
            gains = {
                at: self._gain(np.flatnonzero(self.values.mask(name, value) & rest), active)
                for at, value in values.items()
            }
            # One error by chance beside a cut is no reason to move it.
            best = max(gains, key=gains.get)
            if gains[best] > gains[before] + _MOVED:
                words[place] = values[best]
        return tuple(words)

    def _gain(self, at: np.ndarray, active: np.ndarray) -> float:
        """The logarithm of how much likelier the losses are with a rate of its own for a slice."""
        loss = self.values.loss[active]
        whole, total = float(loss.sum()), len(loss)
        n, inside = max(len(at), 1), float(self.values.loss[at].sum())
        if not self.values.is_count:
            away = inside / n - (whole - inside) / max(total - n, 1)
            return 0.5 * away**2 * n / max(float(loss.var()), 1e-12)

        def likelihood(wrong: float, of: float) -> float:
            parts = np.array([wrong, of - wrong])
            return float((parts * np.log(np.maximum(parts, 1e-12) / max(of, 1e-12))).sum())

        rest = likelihood(whole - inside, total - n)
        return likelihood(inside, n) + rest - likelihood(whole, total)

    def _p(self, places: Sequence[np.ndarray], active: np.ndarray) -> np.ndarray:
        values, at = self.values, np.flatnonzero(active)
        test = Exchanged(values.document[at], values.loss[at], values.count, values.is_count)
        return test.p([(values.document[at], values.loss[at]) for at in places])

    def _documents(self, active: np.ndarray) -> tuple[float, np.ndarray]:
        """p of so many documents that are mostly wrong, and which values they hold."""
        document, loss = self.values.document[active], self.values.loss[active]
        if not self.values.is_count or not len(loss):
            return np.nan, np.zeros(len(active), dtype=bool)
        sizes = np.bincount(document, minlength=self.values.count)
        wrong = np.bincount(document, weights=loss, minlength=self.values.count)
        bad = (sizes >= _LEAST) & (wrong >= _MOSTLY * sizes)
        sizes = sizes[sizes >= _LEAST]
        p = Exchanged.spread_p(sizes, int(loss.sum()), len(loss), bad.sum(), _MOSTLY)
        return p, bad[self.values.document] & active
