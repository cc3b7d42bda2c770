"""The search for slices of values that are worse than the rest: one after the other, by test."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from formlab.scoring.bands import NUMBERS
from formlab.stats.exchange import Exchanged, spread_p
from formlab.stats.tests import adjusted_p

AT_LEAST, UNDER = "at least ", "under "
# A number of so few values is a word. A cut that was chosen counts as so many tests at most:
# neighbouring cuts hold nearly the same values. Another column has at most so many words.
_FEW, _CUTS, _WORDS = 16, 32, 200
# No more weaknesses than so many are looked for, one after the other.
_ROUNDS = 12
# A document is mostly wrong from this share on, if it has so many values.
_MOSTLY, _LEAST = 0.5, 5
# By so much a further column must make the losses likelier, as a logarithm: twenty times.
_EARNED = 3.0


class Slice(NamedTuple):
    """Values of some columns, the places that have them all, and how many cuts were tried."""

    columns: tuple[str, ...]
    values: tuple[str, ...]
    at: np.ndarray
    tried: int = 1


class Weakness(NamedTuple):
    """Values of a slice on which losses are likelier; without columns those of bad documents."""

    columns: tuple[str, ...]
    values: tuple[str, ...]
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
        inside = column.cast(pl.String) == value
    return inside.fill_null(False).to_numpy()


def _edge(below: float, number: float) -> str:
    """The roundest number above the first and not above the second."""
    step = 10.0 ** math.floor(math.log10(max(abs(number), 1)))
    while step >= 1e-3 and not below < math.floor(number / step) * step:
        step /= 10
    edge = math.floor(number / step) * step if step >= 1e-3 else number
    return f"{edge:,.0f}" if edge >= 1_000 else f"{edge:.12g}"


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
        # Numbers, or the places of values in the words of their column, -1 without one.
        self.columns: dict[str, np.ndarray] = {}
        self.words: dict[str, list[str]] = {}
        self.integers = {name for name, of in columns.items() if of.dtype.is_integer()}
        for name, column in columns.items():
            words = column.drop_nulls().unique().sort()
            if len(words) + bool(column.null_count()) < 2:
                continue
            if column.dtype.is_numeric() and (name in NUMBERS or len(words) > _FEW):
                self.columns[name] = column.cast(float).fill_null(np.nan).to_numpy()
            elif len(words) <= _WORDS:
                self.words[name] = words.cast(pl.String).to_list()
                codes = column.cast(pl.String).cast(pl.Enum(self.words[name])).to_physical()
                self.columns[name] = codes.cast(pl.Int64).fill_null(-1).to_numpy()
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
        total, best = (self.loss[active].sum(), active.sum()), None
        slices = self._slices(active, *total)
        places, tried = [of.at for of in slices], np.array([1, *(of.tried for of in slices)])
        p_documents, of_documents = self._documents(active)
        p = np.array([p_documents, *self._p(active, places)])
        if not self.sure[active].all():
            sure = self._p(active & self.sure, [at[self.sure[at]] for at in places])
            p[1:] = np.maximum(p[1:], sure)
        adjusted, tested = adjusted_p(np.minimum(p * tried, 1)), int(tried[~np.isnan(p)].sum())
        gains = {
            number: _gain(self.loss[of.at].sum(), len(of.at), *total)
            - _EARNED * (len(of.columns) - 1)
            - math.log(of.tried)
            for number, of in enumerate(slices, start=1)
            if adjusted[number] <= alpha
        }
        if gains:
            number = max(gains, key=gains.get)
            columns, values, at, _ = slices[number - 1]
            inside = np.zeros(len(active), dtype=bool)
            inside[at] = True
            best = Weakness(columns, values, inside, p[number], adjusted[number], tested)
        # Documents are told first unless the slice explains why they are wrong.
        first = adjusted[0] <= alpha and of_documents.any()
        if first and (best is None or self._documents(active & ~best.inside)[0] <= alpha):
            return Weakness((), (), of_documents, p[0], adjusted[0], tested)
        return best

    def _p(self, active: np.ndarray, places: Sequence[np.ndarray]) -> np.ndarray:
        test = Exchanged(self.document, self.loss, active)
        return np.array([test.p(at) for at in places])

    def _slices(self, active: np.ndarray, *total: float) -> list[Slice]:
        """The slices with enough support; those of the same values once."""
        everything = np.flatnonzero(active)
        found, level = {hash(everything.tobytes()): None}, [Slice((), (), everything)]
        for _ in range(self.depth):
            level = [
                Slice((*of.columns, name), (*of.values, value), at, of.tried * tried)
                for of in level
                for name in self._further(of.columns)
                for value, at, tried in self._parts(name, of.at, *total)
                if len(at) >= self.min_cases and len(np.unique(self.document[at])) >= self.min_docs
            ]
            for of in level:
                found.setdefault(hash(of.at.tobytes()), of)
        return [*filter(None, found.values())]

    def _further(self, columns: Sequence[str]) -> list[str]:
        """The columns that go with those before: later ones, with heads only behind a head."""
        names = list(self.columns)
        if not columns:
            return names
        if self.heads and columns[0] not in self.heads:
            return []
        later = names[names.index(columns[-1]) + 1 :]
        return [name for name in later if name not in self.heads]

    def _parts(
        self, name: str, at: np.ndarray, all_lost: float, of_all: float
    ) -> Iterator[tuple[str, np.ndarray, int]]:
        """Some values by a column: by each word, or where a number is cut best either way.

        Yields the value, its places and how many cuts were tried.
        """
        values = self.columns[name][at]
        if name in self.words:
            for code in np.unique(values[values >= 0]):
                yield self.words[name][code], at[values == code], 1
            return
        order = np.argsort(values, kind="stable")[: (~np.isnan(values)).sum()]
        numbers, firsts = np.unique(values[order], return_index=True)
        if len(numbers) < 2:
            return
        below, lost = firsts[1:], np.cumsum(self.loss[at[order]])
        for start in (AT_LEAST, UNDER):
            size, loss = below, lost[below - 1]
            if start == AT_LEAST:
                size, loss = len(order) - size, lost[-1] - loss
            gains = _gain(loss, size, all_lost, of_all)
            gains[(size < self.min_cases) | (loss * of_all <= size * all_lost)] = 0
            cut = int(np.argmax(gains))
            if gains[cut] > 0:
                places = order[below[cut] :] if start == AT_LEAST else order[: below[cut]]
                is_whole = name in self.integers
                edge = f"{numbers[cut + 1]:.0f}" if is_whole else _edge(*numbers[cut : cut + 2])
                yield f"{start}{edge}", np.sort(at[places]), min(len(below), _CUTS)

    def _documents(self, active: np.ndarray) -> tuple[float, np.ndarray]:
        """p of so many documents that are mostly wrong, and which values they hold."""
        test, count = Exchanged(self.document, self.loss, active), int(active.sum())
        if not count:
            return np.nan, active
        large = test.sizes >= _LEAST
        bad = large & (test.losses >= _MOSTLY * test.sizes)
        p = spread_p(test.sizes[large], int(test.losses.sum()), count, bad.sum(), _MOSTLY)
        return p, bad[self.document] & active


def _gain(inside: Any, size: Any, lost: float, of: float) -> Any:
    """The logarithm of how much likelier losses are with a rate of its own for a slice."""
    from scipy.special import xlogy

    def likelihood(lost: Any, of: Any) -> Any:
        return xlogy(lost, lost) + xlogy(of - lost, of - lost) - xlogy(of, of)

    rest = likelihood(lost - inside, of - size)
    return likelihood(inside, size) + rest - likelihood(lost, of)
