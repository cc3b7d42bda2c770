"""Whether a part of the values has more than its share of losses: values exchanged in documents.

What is independent are documents. Where a slice cuts through documents, the losses of each one are
exchanged among its own values, so that a document that is hard, or wrong throughout, proves
nothing; where it holds whole documents these are exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Sums that reach no further are counted exactly, others by their three moments, as are p from
# `_DOUBTFUL` on.
_LONGEST, _DOUBTFUL = 1024, 0.1
# Draws of whole documents, up to so many of them; p of fewer hits is by three moments.
_DRAWS, _DOCUMENTS, _HITS = 4999, 2000, 10
# So many cells of slices and documents are tested at once.
_CELLS = 250_000


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
            found = self._within(cells, losses)
            if is_whole.any():
                found[is_whole] = self._of_documents(cells[is_whole])
            p[begin : begin + step] = found
        return p

    def _within(self, cells: np.ndarray, losses: np.ndarray) -> np.ndarray:
        """Exchanged within documents, and where several values are of one, also by documents."""
        from scipy import stats

        # Documents alike in size, losses and values inside share a row of chances.
        wide = int(self.sizes.max(initial=0)) + 1
        key = (self.sizes * wide + self.losses.astype(np.int64)) * wide + cells
        key, number = np.unique(key, return_inverse=True)
        size, lost, drawn = key // wide**2, key // wide % wide, key % wide
        k, number = np.arange(min(lost.max(), drawn.max()) + 1), number.reshape(cells.shape)
        # Of a document without values none is sure to be drawn.
        alike = np.maximum(size, 1), lost, drawn
        table = stats.hypergeom.pmf(k, *(of[:, None] for of in alike))
        p = _sums(table, number, losses.sum(axis=1))
        # Values of one document may fail together: then documents with any loss in the part count.
        none = table[:, :1]
        by_any = _sums(np.hstack([none, 1 - none]), number, (losses > 0).sum(axis=1))
        moved = losses - cells * (self.losses / np.maximum(self.sizes, 1))
        spread = np.sqrt((moved**2).sum(axis=1))
        away = moved.sum(axis=1) / np.where(spread > 0, spread, 1)
        by_spread = stats.t.sf(away, np.maximum((cells > 0).sum(axis=1) - 1, 1))
        by_documents = np.clip(2 * np.minimum(by_spread, by_any), p, 1)
        return np.where((cells > 1).any(axis=1), by_documents, p)

    def _of_documents(self, cells: np.ndarray) -> np.ndarray:
        """Exchanged between documents that a part holds whole."""
        present = self.sizes > 0
        inside, sizes, losses = cells[:, present] > 0, self.sizes[present], self.losses[present]
        moved = losses - losses.sum() / max(sizes.sum(), 1) * sizes
        chosen, count = inside.sum(axis=1), len(moved)
        mean = moved.sum() / max(count, 1)
        away, rest = moved - mean, count - chosen
        share = chosen * rest / max(count - 1, 1) / max(count, 1)
        third = share * (rest - chosen) / max(count - 2, 1) * (away**3).sum()
        seen = inside @ moved
        p = tail(seen, chosen * mean, share * (away**2).sum(), third)
        if count > _DOCUMENTS:
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
    # Sums of documents have the product of their waves.
    reach = np.maximum(moments[0] + 12 * np.sqrt(moments[1]) + 30, seen + 2)
    waves = np.log(np.fft.rfft(table, _LONGEST, axis=1) + 1e-300)
    for row in np.flatnonzero((p < _DOUBTFUL) & (np.maximum(reach, len(k)) < _LONGEST)):
        found, often = np.unique(number[row], return_counts=True)
        # Not by `@`, whose threads wait for one another longer than they work here.
        chances = np.fft.irfft(np.exp(np.einsum("i,ij", often, waves[found])), _LONGEST)
        p[row] = np.clip(chances[int(seen[row]) :].sum(), 1e-15, 1)
    return p


def tail(seen: np.ndarray, mean: np.ndarray, variance: np.ndarray, third: np.ndarray) -> np.ndarray:
    """The chance of `seen` or more of a sum with these moments, by a shifted gamma distribution."""
    from scipy import stats

    varies = variance > 1e-12
    deviation = np.sqrt(np.where(varies, variance, 1))
    skew = np.where(varies, third, 0) / deviation**3
    p = stats.pearson3.sf((seen - mean) / deviation, skew)
    return np.where(varies, p, seen - mean <= 1e-9)


def spread_p(sizes: np.ndarray, lost: int, of: int, seen: int, share: float) -> float:
    """p that `seen` documents or more have lost this share, if losses are independent.

    `lost` of all `of` values are; a document has `sizes` of them.
    """
    if not seen or not len(sizes):
        return 1.0
    from scipy import stats

    distinct, times = np.unique(sizes, return_counts=True)
    chances = stats.hypergeom.sf(np.ceil(share * distinct) - 1, of, lost, distinct)
    return float(stats.poisson.sf(seen - 1, times @ chances))


def drawn_p(least: int, size: int, lost: int, of: int) -> float:
    """The chance that `size` values drawn from all have `least` of the `lost` ones, or more.

    It is that of the hypergeometric distribution, and of Fisher's exact test of one side.

    >>> round(drawn_p(2, 2, 2, 4), 6)  # Both of two, out of six pairs.
    0.166667
    """
    from scipy import stats

    return float(stats.hypergeom.sf(least - 1, of, lost, size))
