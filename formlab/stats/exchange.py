"""Whether a part of the values has more than its share of losses: values exchanged in documents.

What is independent are documents. Where a slice cuts through documents, the losses of each one are
exchanged among its own values, so that a document that is hard, or wrong throughout, proves
nothing; where it holds whole documents these are exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse, special

# Sums whose mean and spread reach no further are counted exactly, others by their three moments.
_LONGEST = 1024
# From this p on, by the moments, nothing is counted exactly.
_DOUBTFUL = 0.1
# Draws of whole documents, up to so many of them; p of fewer hits is by three moments.
_DRAWS, _DOCUMENTS, _HITS = 4999, 2000, 10
# So many cells of slices and documents are tested at once.
_CELLS = 1_000_000
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
        self.mean = self.losses / np.maximum(self.sizes, 1)
        self.variance = self.mean * (1 - self.mean)
        self.third = self.variance * (1 - 2 * self.mean)
        self.rate = self.losses.sum() / max(self.sizes.sum(), 1)

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
        if whole.any():
            p[whole] = self._of_documents(cells[whole] > 0)
        if not whole.all():
            p[~whole] = self._within(cells[~whole], losses[~whole])
        return p

    def _within(self, cells: np.ndarray, losses: np.ndarray) -> np.ndarray:
        """Exchanged within documents, and where several values are of one, also by documents."""
        # Values of one document may fail together.
        p = self._sums(cells, losses, any_loss=False)
        several = (cells > 1).any(axis=1) & (p < 0.2)
        if several.any():
            cells, losses = cells[several], losses[several]
            moved = losses - cells * self.mean
            spread = np.sqrt((moved**2).sum(axis=1))
            free = np.maximum((cells > 0).sum(axis=1) - 1, 1)
            away = moved.sum(axis=1) / np.where(spread > 0, spread, 1)
            by_any = self._sums(cells, losses, any_loss=True)
            by_document = 2 * np.minimum(special.stdtr(free, -away), by_any)
            p[several] = np.maximum(p[several], np.minimum(by_document, 1))
        return p

    def _sums(self, cells: np.ndarray, losses: np.ndarray, *, any_loss: bool) -> np.ndarray:
        """p of the losses of each part; with `any_loss` of the documents that have one in it."""
        n, m = np.maximum(self.sizes, 1), cells.astype(float)
        seen = ((losses > 0) if any_loss else losses).sum(axis=1)
        if any_loss:
            table, number = self._chances(cells)
            table = np.stack([table[:, 0], 1 - table[:, 0]], axis=1)
            one = table[number, 1]
            spread = one * (1 - one)
            moments = [each.sum(axis=1) for each in (one, spread, spread * (1 - 2 * one))]
        else:
            share = m * (n - m) / np.maximum(n - 1, 1)
            third = share * (n - 2 * m) @ (self.third / np.maximum(n - 2, 1))
            moments = [m @ self.mean, share @ self.variance, third]
        p = tail(seen - 0.5, *moments)
        reach = np.maximum(moments[0] + 12 * np.sqrt(moments[1]) + 30, seen + 2)
        # What is far from significant need not be exact.
        short = (reach < _LONGEST) & (p < _DOUBTFUL)
        if short.any():
            if any_loss:
                number = number[short]
            else:
                table, number = self._chances(cells[short])
            if table.shape[1] < _LONGEST:
                p[short] = self._exact(table, number, seen[short].astype(int), reach[short].max())
        return p

    @staticmethod
    def _exact(table: np.ndarray, number: np.ndarray, seen: np.ndarray, reach: float) -> np.ndarray:
        """The chance of `seen` losses or more, each document's chances folded by their waves."""
        length = 1 << int(np.ceil(np.log2(max(reach, table.shape[1] + 1))))
        waves = np.log(np.fft.rfft(table, length, axis=1) + 1e-300)
        rows = np.repeat(np.arange(len(number)), number.shape[1])
        each = sparse.csr_matrix(
            (np.ones(len(rows)), (rows, number.ravel())), (len(number), len(table))
        )
        chances = np.fft.irfft(np.exp(each @ waves), length, axis=1)
        above = np.arange(length) >= seen[:, None]
        return np.clip((chances * above).sum(axis=1), 1e-15, 1)

    def _chances(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Chances of 0, 1, 2 … losses in a part of a document, and which row each document has."""
        wide = int(self.sizes.max(initial=0)) + 1
        key = (self.sizes * wide + self.losses.astype(np.int64)) * wide + cells
        known, number = np.unique(key, return_inverse=True)
        n, lost, m = known // wide**2, known // wide % wide, known % wide
        k = np.arange(int(np.minimum(lost, m).max(initial=0)) + 1)[None, :]
        n, lost, m = n[:, None], lost[:, None], m[:, None]
        possible = (k <= np.minimum(lost, m)) & (m - k <= n - lost)

        table = np.exp(_ways(lost, k) + _ways(n - lost, m - k) - _ways(n, m)) * possible
        return table, number.reshape(cells.shape)

    def _of_documents(self, inside: np.ndarray) -> np.ndarray:
        """Exchanged between documents that a part holds whole."""
        known = self.sizes > 0
        inside = inside[:, known]
        moved = self.losses[known] - self.rate * self.sizes[known]
        seen, chosen, count = inside @ moved, inside.sum(axis=1), len(moved)
        left = count - chosen
        away = moved - moved.mean()
        share = chosen * left / max(count - 1, 1)
        variance = share * (away**2).mean()
        third = share * (left - chosen) / max(count - 2, 1) * (away**3).mean()
        p = tail(seen, chosen * moved.mean(), variance, third)
        if count > _DOCUMENTS:
            return p
        draw = np.random.default_rng(0)
        drawn = draw.permuted(np.tile(moved, (_DRAWS, 1)), axis=1)
        hits = ((inside @ drawn.T) >= seen[:, None] - 1e-9).sum(axis=1)
        by_draws = (hits + 1) / (_DRAWS + 1)
        return np.where(hits >= _HITS, by_draws, np.minimum(p, (_HITS + 1) / (_DRAWS + 1)))

    @staticmethod
    def spread_p(sizes: np.ndarray, lost: int, of: int, seen: int, share: float) -> float:
        """p that `seen` documents or more have lost this share, if losses are independent.

        `lost` of all `of` values are; a document has `sizes` of them.
        """
        if not seen or not len(sizes):
            return 1.0
        known, times = np.unique(sizes, return_counts=True)
        least = np.ceil(share * known).astype(int)
        chances = [
            drawn_p(*each, lost, of) for each in zip(least.tolist(), known.tolist(), strict=True)
        ]
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
    deviation = np.sqrt(np.where(variance > 1e-12, variance, 1))
    skew = np.where(variance > 1e-12, third, 0) / deviation**3
    z = (seen - mean) / deviation
    p = special.ndtr(-z)
    skewed = np.abs(skew) > 1e-3
    shape = 4 / np.where(skewed, skew, 1) ** 2
    x = shape + np.sqrt(shape) * z * np.sign(skew)
    x = np.maximum(x, 0)
    gamma = np.where(skew > 0, special.gammaincc(shape, x), special.gammainc(shape, x))
    p = np.where(skewed, gamma, p)
    return np.where(variance <= 1e-12, np.where(z > 1e-9, 0.0, 1.0), p)
