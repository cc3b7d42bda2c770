"""Whether a part of the values has more than its share of losses: values exchanged in documents.

What is independent are documents. Where a slice cuts through documents, the losses of each one are
exchanged among its own values, so that a document that is hard, or wrong throughout, proves
nothing; where it holds whole documents these are exchanged.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse, special

from formlab.scoring.bands import NUMBERS
from formlab.stats.tests import adjusted_p

# Sums that reach no further are counted exactly, others by their three moments, as are p from
# `_DOUBTFUL` on.
_LONGEST, _DOUBTFUL = 1024, 0.1
# Draws of whole documents, up to so many of them; p of fewer hits is by three moments.
_DRAWS, _DOCUMENTS, _HITS = 4999, 2000, 10
# So many cells of slices and documents are tested at once.
_CELLS = 250_000
# A number is cut at so many places at most; another column has at most so many values.
_CUTS, _WORDS = 16, 200
# No more weaknesses than so many are looked for, one after the other.
_ROUNDS = 12
# A document is mostly wrong from this share on, if it has so many values.
_MOSTLY, _LEAST = 0.5, 5
# By so much a further column must make the losses likelier, as a logarithm: twenty times; and a
# cut at another place: by more than one loss alone.
_EARNED, _MOVED = 3.0, 5.0
AT_LEAST, UNDER = "at least ", "under "
Words = tuple[str, ...]
# Columns, values and places of a slice.
Slice = tuple[Words, Words, np.ndarray]


class Exchanged:
    """Losses of values in documents, against which parts are tested: one-sided, more is worse.

    `document` and `loss` are of each value: documents are numbered from 0, a loss is 0 or 1. Only
    values that are `active` are exchanged.
    """

    def __init__(self, document: np.ndarray, loss: np.ndarray, active: np.ndarray) -> None:
        self.document, self.loss = document, loss
        self.count = int(document.max(initial=-1)) + 1
        self.sizes, self.losses = self._sums(np.flatnonzero(active))

    def _sums(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and losses of each document at some places."""
        document = self.document[at]
        losses = np.bincount(document, weights=self.loss[at], minlength=self.count)
        return np.bincount(document, minlength=self.count), losses

    def p(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """p of each part, given by the places of its values."""
        step, p = max(1, _CELLS // max(self.count, 1)), np.ones(len(parts))
        for begin in range(0, len(parts), step):
            block = parts[begin : begin + step]
            cells, losses = map(np.stack, zip(*map(self._sums, block), strict=True))
            is_whole = ((cells == 0) | (cells == self.sizes)).all(axis=1)
            found = np.ones(len(block))
            found[is_whole] = self._of_documents(cells[is_whole] > 0)
            found[~is_whole] = self._within(cells[~is_whole], losses[~is_whole])
            p[begin : begin + step] = found
        return p

    def _within(self, cells: np.ndarray, losses: np.ndarray) -> np.ndarray:
        """Exchanged within documents, and where several values are of one, also by documents."""
        table, number = self._table(cells)
        p = _sums(table, number, losses.sum(axis=1))
        # Values of one document may fail together: then documents with any loss in the part count.
        several = (cells > 1).any(axis=1) & (p < 0.2)
        cells, losses, number = cells[several], losses[several], number[several]
        moved = losses - cells * (self.losses / np.maximum(self.sizes, 1))
        spread = np.sqrt((moved**2).sum(axis=1))
        away = moved.sum(axis=1) / np.where(spread > 0, spread, 1)
        by_spread = special.stdtr(np.maximum((cells > 0).sum(axis=1) - 1, 1), -away)
        none = table[:, :1]
        by_any = _sums(np.hstack([none, 1 - none]), number, (losses > 0).sum(axis=1))
        p[several] = np.clip(2 * np.minimum(by_spread, by_any), p[several], 1)
        return p

    def _table(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Chances of 0, 1, 2 … losses in a part of a document, and which row each document has."""
        wide = int(self.sizes.max(initial=0)) + 1
        key = (self.sizes * wide + self.losses.astype(np.int64)) * wide + cells
        distinct, number = np.unique(key, return_inverse=True)
        size, lost, drawn = distinct // wide**2, distinct // wide % wide, distinct % wide
        k = np.arange(int(np.minimum(lost, drawn).max(initial=0)) + 1)
        table = _chances(k, size[:, None], lost[:, None], drawn[:, None])
        return table, number.reshape(cells.shape)

    def _of_documents(self, inside: np.ndarray) -> np.ndarray:
        """Exchanged between documents that a part holds whole."""
        present = self.sizes > 0
        inside, sizes, losses = inside[:, present], self.sizes[present], self.losses[present]
        moved = losses - losses.sum() / max(sizes.sum(), 1) * sizes
        seen, chosen, count = inside @ moved, inside.sum(axis=1), len(moved)
        mean = moved.sum() / max(count, 1)
        away, rest = moved - mean, count - chosen
        share = chosen * rest / max(count - 1, 1) / max(count, 1)
        third = share * (rest - chosen) / max(count - 2, 1) * (away**3).sum()
        p = tail(seen, chosen * mean, share * (away**2).sum(), third)
        if count > _DOCUMENTS or not len(inside):
            return p
        drawn = np.random.default_rng(0).permuted(np.tile(moved, (_DRAWS, 1)), axis=1)
        hits = ((inside @ drawn.T) >= seen[:, None] - 1e-9).sum(axis=1)
        by_draws = (np.maximum(hits, _HITS) + 1) / (_DRAWS + 1)
        return np.where(hits >= _HITS, by_draws, np.minimum(p, by_draws))


def _sums(table: np.ndarray, number: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The chance of `seen` or more in all documents, whose chances are rows of a table."""
    k = np.arange(table.shape[1])
    mean = table @ k
    away = k - mean[:, None]
    of_rows = mean, (table * away**2).sum(axis=1), (table * away**3).sum(axis=1)
    moments = [of[number].sum(axis=1) for of in of_rows]
    p = tail(seen - 0.5, *moments)
    reach = np.maximum(moments[0] + 12 * np.sqrt(moments[1]) + 30, seen + 2)
    short = (reach < _LONGEST) & (p < _DOUBTFUL)
    if not short.any() or table.shape[1] >= _LONGEST:
        return p
    # Sums of documents have the product of their waves.
    length = 1 << int(np.ceil(np.log2(max(reach[short].max(), table.shape[1] + 1))))
    waves = np.log(np.fft.rfft(table, length, axis=1) + 1e-300)
    rows = np.repeat(np.arange(short.sum()), number.shape[1])
    marks = np.ones(len(rows)), (rows, number[short].ravel())
    often = sparse.csr_matrix(marks, (short.sum(), len(table)))
    chances = np.fft.irfft(np.exp(often @ waves), length, axis=1)
    above = np.arange(length) >= seen[short, None]
    p[short] = np.clip((chances * above).sum(axis=1), 1e-15, 1)
    return p


def spread_p(sizes: np.ndarray, lost: int, of: int, seen: int, share: float) -> float:
    """p that `seen` documents or more have lost this share, if losses are independent.

    `lost` of all `of` values are; a document has `sizes` of them.
    """
    if not seen or not len(sizes):
        return 1.0
    distinct, times = np.unique(sizes, return_counts=True)
    chances = [drawn_p(math.ceil(share * size), size, lost, of) for size in distinct.tolist()]
    return float(special.pdtrc(seen - 1, float(times @ np.array(chances))))


def drawn_p(least: int, size: int, lost: int, of: int) -> float:
    """The chance that `size` values drawn from all have `least` of the `lost` ones, or more.

    It is that of the hypergeometric distribution, and of Fisher's exact test of one side.

    Examples
    --------
    >>> round(drawn_p(2, 2, 2, 4), 6)  # Both of two, out of six pairs.
    0.166667
    """
    return min(1.0, float(_chances(np.arange(least, min(size, lost) + 1), of, lost, size).sum()))


def _chances(k: np.ndarray, size: Any, lost: Any, drawn: Any) -> np.ndarray:
    """The hypergeometric distribution (`scipy.stats` takes a second to be imported)."""

    def ways(of: Any, some: Any) -> np.ndarray:
        some = np.clip(some, 0, of)
        return -np.log1p(of) - special.betaln(some + 1, of - some + 1)

    possible = (k <= np.minimum(lost, drawn)) & (drawn - k <= size - lost)
    chances = np.exp(ways(lost, k) + ways(size - lost, drawn - k) - ways(size, drawn))
    return np.minimum(chances, 1) * possible


def tail(seen: np.ndarray, mean: np.ndarray, variance: np.ndarray, third: np.ndarray) -> np.ndarray:
    """The chance of `seen` or more of a sum with these moments, by a shifted gamma distribution."""
    varies = variance > 1e-12
    deviation = np.sqrt(np.where(varies, variance, 1))
    skew, z = np.where(varies, third, 0) / deviation**3, (seen - mean) / deviation
    is_skewed = np.abs(skew) > 1e-3
    shape = 4 / np.where(is_skewed, skew, 1) ** 2
    x = np.maximum(shape + np.sqrt(shape) * z * np.sign(skew), 0)
    gamma = np.where(skew > 0, special.gammaincc(shape, x), special.gammainc(shape, x))
    return np.where(varies, np.where(is_skewed, gamma, special.ndtr(-z)), z <= 1e-9)


@dataclass
class Weakness:
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
        # Of each number the places in its `words` where it is cut.
        self.columns, self.words, self.cuts = {}, {}, {}
        for name, column in columns.items():
            words = column.drop_nulls().unique().sort()
            is_number = column.dtype.is_numeric() and (name in NUMBERS or len(words) > _CUTS)
            if len(words) + bool(column.null_count()) < 2:
                continue
            if is_number:
                self.columns[name], self.words[name] = column, words.to_list()
                self.cuts[name] = _cut_places(name, column.drop_nulls().sort(), words)
            elif len(words) <= _WORDS:
                self.words[name] = words.cast(pl.String).to_list()
                # Categories are compared as numbers.
                self.columns[name] = column.cast(pl.String).cast(pl.Enum(self.words[name]))
        self.heads = [name for name in heads if name in self.columns]

    def atoms(self) -> Iterator[tuple[str, str]]:
        """Column and value of every slice by one column."""
        for name, words in self.words.items():
            if name in self.cuts:
                places = itertools.product(self.cuts[name], (AT_LEAST, UNDER))
                words = [self.cut(name, at, prefix) for at, prefix in places]
            yield from zip(itertools.repeat(name), words, strict=False)

    def cut(self, name: str, at: int, prefix: str) -> str:
        """The value of a slice that ends before the number at a place."""
        return f"{prefix}{_edge(*self.words[name][at - 1 : at + 1])}"

    def slices(self, active: np.ndarray) -> list[Slice]:
        """The slices with enough support; those of the same values once."""
        total, seen, found = int(active.sum()), set(), []

        def supported(slices: Iterable[Slice]) -> list[Slice]:
            enough = []
            for columns, words, at in slices:
                if len(at) < self.min_cases:
                    continue
                if len(np.unique(self.document[at])) >= self.min_docs:
                    enough.append((columns, words, at))
                    if len(at) < total and (mark := hash(at.tobytes())) not in seen:
                        seen.add(mark)
                        found.append(enough[-1])
            return enough

        masks = ((name, word, self._mask((name,), (word,), active)) for name, word in self.atoms())
        level = singles = supported(((n,), (w,), np.flatnonzero(mask)) for n, w, mask in masks)
        for _ in range(1, self.depth):
            deeper = []
            for columns, words, at in level:
                inside = np.zeros(len(active), dtype=bool)
                inside[at] = True
                beside = self._beside(columns)
                for name, word, other in singles:
                    if name[0] in beside:
                        both = other[inside[other]]
                        if self.min_cases <= len(both) < min(len(at), len(other)):
                            deeper.append((columns + name, words + word, both))
            level = supported(deeper)
        return found

    def _beside(self, columns: Words) -> set[str]:
        """The columns that go with those before: with a head all that are none, else later ones."""
        order = list(self.columns)
        later = set(order[order.index(columns[-1]) + 1 :]) - set(self.heads)
        return later if not self.heads or columns[0] in self.heads else set()

    def weaknesses(self, alpha: float) -> list[Weakness]:
        """One after the other, each with its values taken away before the next is looked for."""
        active, found = np.ones(len(self.loss), dtype=bool), []
        while len(found) < _ROUNDS and (weakness := self._strongest(active, alpha)):
            found.append(weakness)
            active &= ~weakness.inside
        return found

    def _strongest(self, active: np.ndarray, alpha: float) -> Weakness | None:
        """The slice that explains most, or the documents that are mostly wrong."""
        slices = self.slices(active)
        p_documents, of_documents = self._documents(active)
        places = [at for *_, at in slices]
        p = np.array([p_documents, *Exchanged(self.document, self.loss, active).p(places)])
        adjusted, tested = adjusted_p(p), int((~np.isnan(p)).sum())
        holds, best = adjusted <= alpha, None
        if not self.sure[active].all() and holds[1:].any():
            test = Exchanged(self.document, self.loss, active & self.sure)
            sure = test.p([at[self.sure[at]] for at in places])
            holds[1:] &= adjusted_p(sure) <= alpha
        if holds[1:].any():
            gains = {
                number: self._gain(at, active) - _EARNED * (len(columns) - 1)
                for number, (columns, _, at) in enumerate(slices)
                if holds[number + 1]
            }
            number = max(gains, key=gains.get)
            columns, words, _ = slices[number]
            words = self._cut_best(columns, words, active)
            inside = self._mask(columns, words, active)
            best = Weakness(columns, words, inside, p[number + 1], adjusted[number + 1], tested)
        # Documents are told first unless the slice explains why they are wrong.
        first = holds[0] and of_documents.any()
        if first and (best is None or self._documents(active & ~best.inside)[0] <= alpha):
            return Weakness((), (), of_documents, p[0], adjusted[0], tested)
        return best

    def _mask(self, columns: Words, words: Words, active: np.ndarray) -> np.ndarray:
        """Which values are in a slice."""
        masks = (is_inside(self.columns[name], v) for name, v in zip(columns, words, strict=True))
        return np.logical_and.reduce([active, *masks])

    def _cut_best(self, columns: Words, words: Words, active: np.ndarray) -> Words:
        """The values of a slice with its numbers cut where that explains most, near by."""
        for place, name in enumerate(columns):
            if name not in self.cuts:
                continue
            prefix = AT_LEAST if words[place].startswith(AT_LEAST) else UNDER
            cuts = [0, *self.cuts[name], len(self.words[name])]
            at = next(n for n in cuts[1:] if self.cut(name, n, prefix) == words[place])
            low, high = cuts[cuts.index(at) - 1] + 1, cuts[cuts.index(at) + 1]
            near = sorted(range(low, high), key=lambda n: abs(n - at))[:_CUTS]
            tried = [(*words[:place], self.cut(name, n, prefix), *words[place + 1 :]) for n in near]
            masks = (self._mask(columns, of, active) for of in tried)
            gains = [self._gain(np.flatnonzero(mask), active) for mask in masks]
            # One error by chance beside a cut is no reason to move it. The first is as it was.
            best = int(np.argmax(gains))
            words = tried[best] if gains[best] > gains[0] + _MOVED else words
        return words

    def _gain(self, at: np.ndarray, active: np.ndarray) -> float:
        """The logarithm of how much likelier the losses are with a rate of its own for a slice."""

        def likelihood(lost: float, of: float) -> float:
            parts = np.array([lost, of - lost, of])
            return float(special.xlogy(parts, parts) @ (1, 1, -1))

        inside, lost, total = float(self.loss[at].sum()), self.loss[active].sum(), active.sum()
        rest = likelihood(lost - inside, total - len(at))
        return likelihood(inside, len(at)) + rest - likelihood(lost, total)

    def _documents(self, active: np.ndarray) -> tuple[float, np.ndarray]:
        """p of so many documents that are mostly wrong, and which values they hold."""
        test, count = Exchanged(self.document, self.loss, active), int(active.sum())
        if not count:
            return np.nan, active
        bad = (test.sizes >= _LEAST) & (test.losses >= _MOSTLY * test.sizes)
        sizes = test.sizes[test.sizes >= _LEAST]
        p = spread_p(sizes, int(test.losses.sum()), count, bad.sum(), _MOSTLY)
        return p, bad[self.document] & active


def _cut_places(name: str, ordered: pl.Series, words: pl.Series) -> list[int]:
    """Where a number is cut: at each of its few values, or so that parts are about equal."""
    at = np.arange(1, len(words))
    if len(words) > _CUTS:
        numbers = ordered.to_numpy()
        at = np.searchsorted(words, numbers[np.arange(1, _CUTS) * len(numbers) // _CUTS])
    tens = np.searchsorted(words, [10.0**n for n in range(8)]) if name == "magnitude" else []
    return sorted({int(place) for place in (*at, *tens)} - {0, len(words)})
