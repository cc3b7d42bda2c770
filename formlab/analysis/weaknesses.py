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


@dataclasses.dataclass(frozen=True)
class Slice:
    """Values that agree in each of some columns, or of which a number is on one side of a cut."""

    columns: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """As a sentence has it: ``kind is date and the year is 2016 or later``."""
        return " and ".join(map(_phrase, self.columns, self.values))


# How a sentence says that a number is at least so much, or less.
_PHRASES = {
    "year": ("the year is {} or later", "the year is before {}"),
    "magnitude": ("the amount is {} or more", "the amount is under {}"),
    "length": ("the value has {} characters or more", "the value has fewer than {} characters"),
    "index": ("the number of the item is {} or more", "the number of the item is under {}"),
}


def _phrase(column: str, value: str) -> str:
    for place, start in enumerate((AT_LEAST, UNDER)):
        if column in _PHRASES and value.startswith(start):
            return _PHRASES[column][place].format(value.removeprefix(start))
    if column == "case":
        return f"the value has {value}"
    if column in ("vertical", "horizontal"):
        return f"the value stands in the {value} third of the page"
    return f"{'the ' * (column == 'field')}{column.replace('_', ' ')} is {value}"


@dataclasses.dataclass
class Weakness:
    """A slice, or without one the documents that are mostly wrong, and how it was shown."""

    slice: Slice | None
    inside: np.ndarray
    p: float
    p_adjusted: float
    n_tested: int
    shadows: list[str]


class Values:
    """The gold's values of one evaluation: document, loss and columns of each, as numbers.

    A loss is 1 for a wrong value and 0 for a right one; of a metric it is what the value has less
    than its share. `codes` are ranks of a column's values from 0 on, -1 for none.
    """

    def __init__(self, table: pl.DataFrame, columns: dict[str, pl.Series], *, up: bool) -> None:
        self.table = table
        codes = table["doc_id"].rank("dense").cast(pl.Int64) - 1
        self.document = codes.to_numpy()
        self.count = int(self.document.max(initial=-1)) + 1
        self.hits, self.total = (table[name].cast(float).to_numpy() for name in ("hits", "total"))
        rate = float(ratio(np.array([self.hits.sum(), self.total.sum()])))
        self.is_count = bool((self.total == 1).all() and ((self.hits % 1) == 0).all())
        sign = -1 if up else 1
        self.loss = 1 - self.hits if self.is_count and up else sign * (
            self.hits - (0 if self.is_count else rate) * self.total
        )  # fmt: skip
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
        rank = series.rank("dense").cast(pl.Int64) - 1
        self.codes[name] = rank.fill_null(-1).to_numpy()
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
        codes = self.codes[name]
        if name not in self.cuts:
            return codes == self.ranks[name, value]
        at = self.ranks[name, value]
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
        self.count = values.count
        # Losses, number and variance of what is looked at in this round.
        self.whole = 0.0, 0, 0.0

    def masks(self, active: np.ndarray) -> tuple[list[Slice], list[np.ndarray]]:
        """The slices with enough support, and the places of their values; the same ones once."""
        marks, count = np.random.default_rng(0).random(len(active)), int(active.sum())
        seen: set[float] = set()
        slices, places = [], []

        def add(columns: tuple[str, ...], words: tuple[str, ...], at: np.ndarray) -> bool:
            documents = np.bincount(self.values.document[at], minlength=1)
            enough = len(at) >= self.min_cases and np.count_nonzero(documents) >= self.min_docs
            mark = float(marks[at].sum())
            if enough and len(at) < count and mark not in seen:
                seen.add(mark)
                slices.append(Slice(columns, words))
                places.append(at)
            return enough

        singles = [
            (name, word, np.flatnonzero(self.values.mask(name, word) & active))
            for name, word in self.values.atoms()
        ]
        singles = [each for each in singles if add((each[0],), (each[1],), each[2])]
        level = [((name,), (word,), at) for name, word, at in singles]
        for _ in range(1, self.depth):
            deeper = []
            for columns, words, at in level:
                inside = np.zeros(len(active), dtype=bool)
                inside[at] = True
                beside = self._beside(columns)
                for name, word, other in singles:
                    if name in beside:
                        both = other[inside[other]]
                        if self.min_cases <= len(both) < min(len(at), len(other)):
                            deeper.append(((*columns, name), (*words, word), both))
            level = [each for each in deeper if add(*each)]
        return slices, places

    def _beside(self, columns: tuple[str, ...]) -> set[str]:
        """The columns that go with those before: with a head all that are none, else later ones."""
        order = list(self.values.codes)
        later = set(order[order.index(columns[-1]) + 1 :])
        if not self.heads:
            return later
        return later - set(self.heads) if columns[0] in self.heads else set()

    def weaknesses(self, alpha: float) -> list[Weakness]:
        """One after the other, each with its values taken away before the next is looked for."""
        active, found = np.ones(len(self.values.loss), dtype=bool), []
        before: list[str] = []
        for _ in range(_ROUNDS):
            weakness, significant = self._strongest(active, alpha)
            if found:
                left = set(significant)
                found[-1].shadows = [name for name in before if name not in left]
            if weakness is None:
                break
            found.append(weakness)
            before = [n for n in significant if weakness.slice is None or n != weakness.slice.name]
            active &= ~weakness.inside
        return found

    def _strongest(self, active: np.ndarray, alpha: float) -> tuple[Weakness | None, list[str]]:
        """The slice that explains most, or the documents, and the names of all that hold."""
        slices, places = self.masks(active)
        documents = self._documents(active)
        p = np.array([documents[0], *self._p(places, active)])
        adjusted, tested = adjusted_p(p), int((~np.isnan(p)).sum())
        holds = adjusted <= alpha
        if not self.values.sure[active].all() and holds[1:].any():
            sure = self.values.sure
            again = self._p([at[sure[at]] for at in places], active & sure)
            holds[1:] &= adjusted_p(again) <= alpha
        best = None
        if holds[1:].any():
            loss = self.values.loss[active]
            self.whole = float(loss.sum()), len(loss), float(loss.var())
            gains = np.array(
                [
                    self._gain(at) if held else 0.0
                    for at, held in zip(places, holds[1:], strict=True)
                ]
            )
            gains -= _EARNED * np.array([len(each.columns) - 1 for each in slices])
            at = int(np.argmax(np.where(holds[1:], gains, -np.inf)))
            held = self._cut_best(slices[at], active)
            inside = active & np.logical_and.reduce(
                [self.values.mask(*pair) for pair in zip(held.columns, held.values, strict=True)]
            )
            best = Weakness(held, inside, p[at + 1], adjusted[at + 1], tested, [])
        names = [each.name for each, held in zip(slices, holds[1:], strict=True) if held]
        # Documents are told first unless the slice explains why they are wrong.
        if (
            holds[0]
            and documents[1].any()
            and (best is None or self._documents(active & ~best.inside)[0] <= alpha)
        ):
            best = Weakness(None, documents[1], p[0], adjusted[0], tested, [])
        return best, names

    def _cut_best(self, held: Slice, active: np.ndarray) -> Slice:
        """The slice with its numbers cut where that explains most, of all places near by."""
        words = list(held.values)
        for place, name in enumerate(held.columns):
            cuts = self.values.cuts.get(name)
            if not cuts:
                continue
            pairs = zip(held.columns, words, strict=True)
            others = [self.values.mask(*pair) for n, pair in enumerate(pairs) if n != place]
            rest = np.logical_and.reduce([active, *others])
            before = self.values.ranks[name, words[place]]
            side = AT_LEAST if words[place].startswith(AT_LEAST) else UNDER
            low = max((cut for cut in cuts if cut < before), default=0) + 1
            high = min((cut for cut in cuts if cut > before), default=len(self.values.words[name]))
            near = {at: self.values.cut(name, at, side) for at in range(low, high)}
            gains = {
                at: self._gain(np.flatnonzero(self.values.mask(name, near[at]) & rest))
                for at in sorted(near, key=lambda at: abs(at - before))[:_CUTS]
            }
            # One error by chance beside a cut is no reason to move it.
            best = max(gains, key=gains.get)
            if gains[best] > gains[before] + _MOVED:
                words[place] = near[best]
        return Slice(held.columns, tuple(words))

    def _gain(self, at: np.ndarray) -> float:
        """The logarithm of how much likelier the losses are with a rate of its own for a slice."""
        whole, total, variance = self.whole
        n, inside = max(len(at), 1), float(self.values.loss[at].sum())
        if not self.values.is_count:
            away = inside / n - (whole - inside) / max(total - n, 1)
            return 0.5 * away**2 * n / max(variance, 1e-12)

        def likelihood(wrong: float, of: float) -> float:
            parts = np.array([wrong, of - wrong])
            return float((parts * np.log(np.maximum(parts, 1e-12) / max(of, 1e-12))).sum())

        rest = likelihood(whole - inside, total - n)
        return likelihood(inside, n) + rest - likelihood(whole, total)

    def _p(self, places: Sequence[np.ndarray], active: np.ndarray) -> np.ndarray:
        values = self.values
        at = np.flatnonzero(active)
        test = Exchanged(values.document[at], values.loss[at], self.count, values.is_count)
        return test.p([(values.document[at], values.loss[at]) for at in places])

    def _documents(self, active: np.ndarray) -> tuple[float, np.ndarray]:
        """p of so many documents that are mostly wrong, and which values they hold."""
        document, loss = self.values.document[active], self.values.loss[active]
        none = np.zeros(len(active), dtype=bool)
        if not self.values.is_count or not len(loss):
            return np.nan, none
        sizes = np.bincount(document, minlength=self.count)
        wrong = np.bincount(document, weights=loss, minlength=self.count)
        bad = (sizes >= _LEAST) & (wrong >= _MOSTLY * sizes)
        p = Exchanged.spread_p(
            sizes[sizes >= _LEAST], int(loss.sum()), len(loss), bad.sum(), _MOSTLY
        )
        return p, bad[self.values.document] & active
