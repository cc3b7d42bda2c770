"""Whether a part of the values has more than its share of losses: values exchanged in documents.

What is independent are documents. Where a slice cuts through documents, the losses of each one are
exchanged among its own values, so that a document that is hard, or wrong throughout, proves
nothing; where it holds whole documents these are exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse, special

# Sums that reach no further are counted exactly, others by their three moments.
_LONGEST = 1024
# From this p on, by the moments, nothing is counted exactly.
_DOUBTFUL = 0.1
# Draws of whole documents, up to so many of them; p of fewer hits is by three moments.
_DRAWS, _DOCUMENTS, _HITS = 4999, 2000, 10
# So many cells of slices and documents are tested at once.
_CELLS = 250_000
Part = tuple[np.ndarray, np.ndarray]


class Exchanged:
    """Losses of values in documents, against which parts are tested: one-sided, more is worse.

    Parameters
    ----------
    document, loss
        Of each value; documents are numbered from 0 to `count` - 1, a loss is 0 or 1.
    """

    def __init__(self, document: np.ndarray, loss: np.ndarray, count: int) -> None:
        self.count, self.sizes = count, np.bincount(document, minlength=count)
        self.losses = np.bincount(document, weights=loss, minlength=count)

    def p(self, parts: Sequence[Part]) -> np.ndarray:
        """p of each part, given by document and loss of its values."""
        step = max(1, _CELLS // max(self.count, 1))
        blocks = [self._block(parts[at : at + step]) for at in range(0, len(parts), step)]
        return np.concatenate([np.zeros(0), *blocks])

    def _block(self, parts: Sequence[Part]) -> np.ndarray:
        cells = np.stack([np.bincount(d, minlength=self.count) for d, _ in parts])
        losses = np.stack([np.bincount(d, weights=x, minlength=self.count) for d, x in parts])
        whole = ((cells == 0) | (cells == self.sizes)).all(axis=1)
        p = np.ones(len(parts))
        p[whole] = self._of_documents(cells[whole] > 0)
        p[~whole] = self._within(cells[~whole], losses[~whole])
        return p

    def _within(self, cells: np.ndarray, losses: np.ndarray) -> np.ndarray:
        """Exchanged within documents, and where several values are of one, also by documents."""
        table, number = self._chances(cells)
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

    def _chances(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Chances of 0, 1, 2 … losses in a part of a document, and which row each document has."""
        wide = int(self.sizes.max(initial=0)) + 1
        key = (self.sizes * wide + self.losses.astype(np.int64)) * wide + cells
        distinct, number = np.unique(key, return_inverse=True)
        n, lost, m = distinct // wide**2, distinct // wide % wide, distinct % wide
        n, lost, m = n[:, None], lost[:, None], m[:, None]
        k = np.arange(int(np.minimum(lost, m).max(initial=0)) + 1)[None, :]
        possible = (k <= np.minimum(lost, m)) & (m - k <= n - lost)
        table = np.exp(_ways(lost, k) + _ways(n - lost, m - k) - _ways(n, m)) * possible
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
        draw = np.random.default_rng(0)
        drawn = draw.permuted(np.tile(moved, (_DRAWS, 1)), axis=1)
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
    # What is far from significant need not be exact.
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
    chances = [drawn_p(int(np.ceil(share * size)), int(size), lost, of) for size in distinct]
    return float(special.pdtrc(seen - 1, float(times @ np.array(chances))))


def drawn_p(least: int, size: int, lost: int, of: int) -> float:
    """The chance that `size` values drawn from all have `least` of the `lost` ones, or more.

    It is that of the hypergeometric distribution, and of Fisher's exact test of one side.

    Examples
    --------
    >>> round(drawn_p(2, 2, 2, 4), 6)  # Both of two, out of six pairs.
    0.166667
    """
    k = np.arange(max(least, size + lost - of), min(size, lost) + 1)
    chances = np.exp(_ways(lost, k) + _ways(of - lost, size - k) - _ways(of, size))
    return min(1.0, float(chances.sum()))


def _ways(of: np.ndarray | int, some: np.ndarray | int) -> np.ndarray:
    """The logarithm of in how many ways some can be chosen."""
    some = np.clip(some, 0, of)
    return special.gammaln(of + 1) - special.gammaln(some + 1) - special.gammaln(of - some + 1)


def tail(seen: np.ndarray, mean: np.ndarray, variance: np.ndarray, third: np.ndarray) -> np.ndarray:
    """The chance of `seen` or more of a sum with these moments, by a shifted gamma distribution."""
    varies = variance > 1e-12
    deviation = np.sqrt(np.where(varies, variance, 1))
    skew, z = np.where(varies, third, 0) / deviation**3, (seen - mean) / deviation
    skewed = np.abs(skew) > 1e-3
    shape = 4 / np.where(skewed, skew, 1) ** 2
    x = np.maximum(shape + np.sqrt(shape) * z * np.sign(skew), 0)
    gamma = np.where(skew > 0, special.gammaincc(shape, x), special.gammainc(shape, x))
    return np.where(varies, np.where(skewed, gamma, special.ndtr(-z)), 1.0 * (z <= 1e-9))
