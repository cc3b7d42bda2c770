"""The search for slices of values that are worse than the rest: one after the other, by test."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from formlab.scoring.bands import NUMBERS
from formlab.stats.exchange import Exchanged, spread_p
from formlab.stats.tests import adjusted_p

AT_LEAST, UNDER = "at least ", "under "
# A number is cut at so many places at most; another column has at most so many values.
_CUTS, _WORDS = 16, 200
# No more weaknesses than so many are looked for, one after the other.
_ROUNDS = 12
# A document is mostly wrong from this share on, if it has so many values.
_MOSTLY, _LEAST = 0.5, 5
# By so much a further column must make the losses likelier, as a logarithm: twenty times; and a
# cut at another place: by more than one loss alone.
_EARNED, _MOVED = 3.0, 5.0
Words = tuple[str, ...]
# Columns, values and places of a slice.
Slice = tuple[Words, Words, np.ndarray]


class Weakness(NamedTuple):
    """Values of a slice on which losses are likelier; without columns those of bad documents."""

    columns: Words
    values: Words
    inside: np.ndarray
    p: float
    p_adjusted: float
    n_tested: int


def is_inside(column: pl.Series, value: str) -> np.ndarray:
    """Which values of a column a slice holds."""
    if column.dtype.is_numeric() and value.startswith((AT_LEAST, UNDER)):
        edge = float(value.rpartition(" ")[2].replace(",", ""))
        inside = column >= edge if value.startswith(AT_LEAST) else column < edge
    else:
        inside = (column.cast(pl.String) if column.dtype.is_numeric() else column) == value
    return inside.fill_null(False).to_numpy()


def _edge(below: float, number: float) -> str:
    """The roundest number above the first and not above the second."""
    step = 10.0 ** math.floor(math.log10(max(abs(number), 1)))
    while step >= 1e-3 and not below < math.floor(number / step) * step:
        step /= 10
    edge = math.floor(number / step) * step if isinstance(number, float) else number
    return f"{edge:,.0f}" if isinstance(edge, float) and edge >= 1_000 else f"{edge:.12g}"


def _cut_places(name: str, column: pl.Series) -> list[int]:
    """Where sorted numbers are cut: at each of a few, or so that parts are about equal."""
    ordered = column.drop_nulls().sort()
    numbers = ordered.unique().sort()
    at = np.arange(len(numbers))
    if len(numbers) > _CUTS:
        parts = ordered.gather(np.arange(1, _CUTS) * len(ordered) // _CUTS)
        at = np.searchsorted(numbers, parts)
    tens = np.searchsorted(numbers, [10.0**n for n in range(8)]) if name == "magnitude" else []
    return sorted({0, *map(int, at), *map(int, tens), len(numbers)})


class Search:
    """All slices of the gold's values of one evaluation, tested at once.

    `table` has `doc_id`, `right`, and `sure`, that a label is not in doubt; `columns` are numbers
    or words, `heads` those within whose values others are looked at, or without any all are.
    """

    def __init__(
        self,
        table: pl.DataFrame,
        columns: Mapping[str, pl.Series],
        heads: Sequence[str],
        depth: int = 2,
        min_docs: int = 3,
        min_cases: int = 5,
    ) -> None:
        self.table, self.depth, self.min_docs, self.min_cases = table, depth, min_docs, min_cases
        self.document = (table["doc_id"].rank("dense").cast(pl.Int64) - 1).to_numpy()
        self.count = int(self.document.max(initial=-1)) + 1
        self.loss, self.sure = (~table["right"]).cast(float).to_numpy(), table["sure"].to_numpy()
        # Of each column its words in order, and of a number the places in them where it is cut.
        self.columns, self.words, self.cuts = {}, {}, {}
        for name, column in columns.items():
            words = column.drop_nulls().unique().sort()
            if len(words) + bool(column.null_count()) < 2:
                continue
            if column.dtype.is_numeric() and (name in NUMBERS or len(words) > _CUTS):
                self.columns[name], self.words[name] = column, words.to_list()
                self.cuts[name] = _cut_places(name, column)
            elif len(words) <= _WORDS:
                self.words[name] = words.cast(pl.String).to_list()
                # Categories are compared as numbers.
                self.columns[name] = column.cast(pl.String).cast(pl.Enum(self.words[name]))
        self.heads = [name for name in heads if name in self.columns]

    def weaknesses(self, alpha: float) -> list[Weakness]:
        """One after the other, each with its values taken away before the next is looked for."""
        active, found = np.ones(len(self.loss), dtype=bool), []
        while len(found) < _ROUNDS and (weakness := self._strongest(active, alpha)):
            found.append(weakness)
            active &= ~weakness.inside
        return found

    def _strongest(self, active: np.ndarray, alpha: float) -> Weakness | None:
        """The slice that explains most, or the documents that are mostly wrong."""
        slices, best = self._slices(active), None
        places = [at for *_, at in slices]
        p_documents, of_documents = self._documents(active)
        p = np.array([p_documents, *self._p(active, places)])
        if not self.sure[active].all():
            sure = self._p(active & self.sure, [at[self.sure[at]] for at in places])
            p[1:] = np.maximum(p[1:], sure)
        adjusted, tested = adjusted_p(p), int((~np.isnan(p)).sum())
        gains = {
            number: self._gain(at, active) - _EARNED * (len(columns) - 1)
            for number, (columns, _, at) in enumerate(slices, start=1)
            if adjusted[number] <= alpha
        }
        if gains:
            number = max(gains, key=gains.get)
            columns, values, _ = slices[number - 1]
            values = self._cut_best(columns, values, active)
            inside = self._mask(columns, values, active)
            best = Weakness(columns, values, inside, p[number], adjusted[number], tested)
        # Documents are told first unless the slice explains why they are wrong.
        first = adjusted[0] <= alpha and of_documents.any()
        if first and (best is None or self._documents(active & ~best.inside)[0] <= alpha):
            return Weakness((), (), of_documents, p[0], adjusted[0], tested)
        return best

    def _p(self, active: np.ndarray, places: Sequence[np.ndarray]) -> np.ndarray:
        return Exchanged(self.document, self.loss, active).p(places)

    def _slices(self, active: np.ndarray) -> list[Slice]:
        """The slices with enough support; those of the same values once."""

        def supported(slices: Iterator[Slice]) -> list[Slice]:
            enough = (of for of in slices if len(of[2]) >= self.min_cases)
            return [of for of in enough if len(np.unique(self.document[of[2]])) >= self.min_docs]

        atoms = (((n,), (value,)) for n in self.columns for value in self._values(n))
        singles = supported((*of, np.flatnonzero(self._mask(*of, active))) for of in atoms)
        levels, found = [singles], {}
        for _ in range(1, self.depth):
            levels.append(supported(self._deeper(levels[-1], singles)))
        for slice_ in itertools.chain(*levels):
            if len(slice_[2]) < active.sum():
                found.setdefault(hash(slice_[2].tobytes()), slice_)
        return [*found.values()]

    def _values(self, name: str) -> list[str]:
        """The values of slices by a column."""
        if name not in self.cuts:
            return self.words[name]
        pairs = itertools.product(self.cuts[name][1:-1], (AT_LEAST, UNDER))
        return [self._cut(name, at, start) for at, start in pairs]

    def _cut(self, name: str, at: int, start: str) -> str:
        """The value of a slice that ends before the number at a place."""
        return f"{start}{_edge(*self.words[name][at - 1 : at + 1])}"

    def _deeper(self, level: Sequence[Slice], singles: Sequence[Slice]) -> Iterator[Slice]:
        """Each slice with a value of a later column; with heads only what begins with one."""
        order = {name: place for place, name in enumerate(self.columns)}
        for columns, values, at in level:
            if self.heads and columns[0] not in self.heads:
                continue
            inside = np.zeros(len(self.loss), dtype=bool)
            inside[at] = True
            for name, value, other in singles:
                if order[name[0]] > order[columns[-1]] and name[0] not in self.heads:
                    both = other[inside[other]]
                    if self.min_cases <= len(both) < min(len(at), len(other)):
                        yield columns + name, values + value, both

    def _mask(self, columns: Words, values: Words, active: np.ndarray) -> np.ndarray:
        """Which values are in a slice."""
        masks = (is_inside(self.columns[name], v) for name, v in zip(columns, values, strict=True))
        return np.logical_and.reduce([active, *masks])

    def _cut_best(self, columns: Words, values: Words, active: np.ndarray) -> Words:
        """The values of a slice with its numbers cut where that explains most, near by."""
        for place, name in enumerate(columns):
            if name not in self.cuts:
                continue
            start = AT_LEAST if values[place].startswith(AT_LEAST) else UNDER
            n = 1 + self._values(name)[start == UNDER :: 2].index(values[place])
            low, at, high = self.cuts[name][n - 1 : n + 2]
            near = sorted(range(low + 1, high), key=lambda cut: abs(cut - at))[:_CUTS]
            tried = [
                (*values[:place], self._cut(name, n, start), *values[place + 1 :]) for n in near
            ]
            masks = (self._mask(columns, of, active) for of in tried)
            gains = [self._gain(np.flatnonzero(mask), active) for mask in masks]
            # One error by chance beside a cut is no reason to move it. The first is as it was.
            best = int(np.argmax(gains))
            values = tried[best] if gains[best] > gains[0] + _MOVED else values
        return values

    def _gain(self, at: np.ndarray, active: np.ndarray) -> float:
        """The logarithm of how much likelier the losses are with a rate of its own for a slice."""
        from scipy import special

        lost, of = self.loss[active].sum(), active.sum()
        inside, size = self.loss[at].sum(), len(at)
        # Losses and the rest of the slice, of all else, and of all together.
        parts = np.array([[inside, size], [lost - inside, of - size], [lost, of]])
        parts = np.column_stack([parts, parts[:, 1] - parts[:, 0]])
        return float((1, 1, -1) @ special.xlogy(parts, parts) @ (1, -1, 1))

    def _documents(self, active: np.ndarray) -> tuple[float, np.ndarray]:
        """p of so many documents that are mostly wrong, and which values they hold."""
        test, count = Exchanged(self.document, self.loss, active), int(active.sum())
        if not count:
            return np.nan, active
        large = test.sizes >= _LEAST
        bad = large & (test.losses >= _MOSTLY * test.sizes)
        p = spread_p(test.sizes[large], int(test.losses.sum()), count, bad.sum(), _MOSTLY)
        return p, bad[self.document] & active
