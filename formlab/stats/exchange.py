"""Whether a part of the values has more than its share of losses: values exchanged in documents.

What is independent are documents. Where a slice cuts through documents, the losses of each one are
exchanged among its own values, so that a document that is hard, or wrong throughout, proves
nothing; where it holds whole documents these are exchanged.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

# Sums that reach no further are counted exactly, others by their three moments, as are p from
# `_DOUBTFUL` on.
_LONGEST, _DOUBTFUL = 1024, 0.1
# Draws of whole documents, up to so many of them; p of fewer hits is by three moments.
_DRAWS, _DOCUMENTS, _HITS = 4999, 2000, 10


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

    def p(self, at: np.ndarray) -> float:
        """p of a part, given by the places of its values."""
        cells, losses = self._sums(at)
        inside = cells > 0
        if (cells[inside] == self.sizes[inside]).all():
            return self._of_documents(inside)
        documents = (self.sizes[inside], self.losses[inside], cells[inside])
        return self._within(*documents, losses[inside])

    def _within(
        self, sizes: np.ndarray, lost: np.ndarray, cells: np.ndarray, losses: np.ndarray
    ) -> float:
        """Exchanged within documents, and where several values are of one, also by documents."""
        from scipy import special

        # Documents that are alike have the same chances: of each kind the first one stands for all.
        wide = int(sizes.max()) + 1
        key = (sizes * wide + lost.astype(np.int64)) * wide + cells
        _, firsts, times = np.unique(key, return_index=True, return_counts=True)
        k = np.arange(np.minimum(lost, cells).max() + 1)
        table = _chances(k, *(of[firsts, None] for of in (sizes, lost, cells)))
        p = _sum_p(table, times, losses.sum())
        if (cells == 1).all():
            return p
        # Values of one document may fail together: then documents with any loss in the part count.
        none = table[:, :1]
        by_any = _sum_p(np.hstack([none, 1 - none]), times, (losses > 0).sum())
        moved = losses - cells * lost / sizes
        away = moved.sum() / (math.sqrt((moved**2).sum()) or 1)
        by_spread = special.stdtr(max(len(cells) - 1, 1), -away)
        return float(np.clip(2 * min(by_spread, by_any), p, 1))

    def _of_documents(self, inside: np.ndarray) -> float:
        """Exchanged between documents that a part holds whole."""
        moved, chosen = self._moved, inside.sum()
        seen, count = moved[inside[self.sizes > 0]].sum(), len(moved)
        mean, rest = moved.sum() / max(count, 1), count - chosen
        away, share = moved - mean, chosen * rest / max(count - 1, 1) / max(count, 1)
        third = share * (rest - chosen) / max(count - 2, 1) * (away**3).sum()
        p = tail(seen, chosen * mean, share * (away**2).sum(), third)
        if count > _DOCUMENTS:
            return p
        hits = (self._drawn[:, :chosen].sum(axis=1) >= seen - 1e-9).sum()
        by_draws = (max(hits, _HITS) + 1) / (_DRAWS + 1)
        return by_draws if hits >= _HITS else min(p, by_draws)

    @cached_property
    def _moved(self) -> np.ndarray:
        """How many more losses each document has than are expected of its size."""
        present = self.sizes > 0
        sizes, losses = self.sizes[present], self.losses[present]
        return losses - losses.sum() / max(sizes.sum(), 1) * sizes

    @cached_property
    def _drawn(self) -> np.ndarray:
        """The documents in random orders, the first of which a part of as many holds."""
        orders = np.tile(self._moved, (_DRAWS, 1))
        return np.random.default_rng(0).permuted(orders, axis=1)


def _sum_p(table: np.ndarray, times: np.ndarray, seen: float) -> float:
    """The chance of `seen` or more in all documents; a row of a table has the chances of some."""
    k = np.arange(table.shape[1])
    mean = table @ k
    away = k - mean[:, None]
    of_rows = mean, (table * away**2).sum(axis=1), (table * away**3).sum(axis=1)
    mean, variance, third = (float(times @ of) for of in of_rows)
    p = tail(seen - 0.5, mean, variance, third)
    reach = max(mean + 12 * math.sqrt(variance) + 30, seen + 2, len(k))
    if p >= _DOUBTFUL or reach >= _LONGEST:
        return p
    # Sums of documents have the product of their waves.
    waves = np.log(np.fft.rfft(table, _LONGEST, axis=1) + 1e-300)
    chances = np.fft.irfft(np.exp(times @ waves), _LONGEST)
    return float(np.clip(chances[int(seen) :].sum(), 1e-15, 1))


def tail(seen: float, mean: float, variance: float, third: float) -> float:
    """The chance of `seen` or more of a sum with these moments, by a shifted gamma distribution."""
    from scipy import special

    if variance <= 1e-12:
        return float(seen - mean <= 1e-9)
    deviation = math.sqrt(variance)
    z, skew = (seen - mean) / deviation, third / deviation**3
    if abs(skew) <= 1e-3:
        return float(special.ndtr(-z))
    shape = 4 / skew**2
    x = max(shape + math.sqrt(shape) * z * math.copysign(1, skew), 0)
    return float(special.gammaincc(shape, x) if skew > 0 else special.gammainc(shape, x))


def spread_p(sizes: np.ndarray, lost: int, of: int, seen: int, share: float) -> float:
    """p that `seen` documents or more have lost this share, if losses are independent.

    `lost` of all `of` values are; a document has `sizes` of them.
    """
    from scipy import special

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
    from scipy import special

    def ways(of: Any, some: Any) -> np.ndarray:
        some = np.clip(some, 0, of)
        return -np.log1p(of) - special.betaln(some + 1, of - some + 1)

    possible = (k <= np.minimum(lost, drawn)) & (drawn - k <= size - lost)
    chances = np.exp(ways(lost, k) + ways(size - lost, drawn - k) - ways(size, drawn))
    return np.minimum(chances, 1) * possible
