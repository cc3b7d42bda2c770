"""Tests of two systems on the same documents, from tallies: nothing is scored twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from formlab.analysis.intervals import BLOCK, drawn_sums, percentiles
from formlab.analysis.power import least_difference

# So few documents that differ are swapped in every way: 2 to this power.
EXACT = 12
# A swap that only rounding tells from the observed difference is as extreme as it.
ROUNDING = 1e-9
NAN = float("nan")


@dataclass
class Pair:
    """Two systems to tell apart by one score.

    `first` and `second` hold the parts of each document, shape (documents, k), and `score` takes
    (…, k) to (…). `labels` are the columns that the row is known by.
    """

    first: np.ndarray
    second: np.ndarray
    score: Callable[[np.ndarray], np.ndarray]
    labels: dict[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> tuple[float, float]:
        """The score of each system."""
        sums = self.first.sum(axis=0), self.second.sum(axis=0)
        return float(self.score(sums[0])), float(self.score(sums[1]))


def differences(
    pairs: Sequence[Pair],
    *,
    resamples: int = 1000,
    permutations: int = 9999,
    level: float = 0.95,
    power: float = 0.8,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """The difference of each pair (second less first), with interval, p and what could be shown.

    Parameters
    ----------
    pairs
        All over the same documents, in the same order.
    resamples
        Draws of documents with replacement, those of `summarise`, for the percentile interval.
    permutations
        Random swaps of the two systems' tallies of a document, for the two-sided p. Where at most
        twelve documents differ, every swap is made once instead and p is exact. A swap under which
        the score is undefined counts as extreme.
    level, power
        Of interval and test, and of the least difference.
    seed
        Of draws and swaps.

    Returns
    -------
    list of dict
        For each pair its labels and `value_a value_b difference ci_low ci_high p
        least_difference`.
    """
    spans = _intervals(pairs, resamples=resamples, level=level, power=power, seed=seed)
    extremes = _p_values(pairs, permutations=permutations, seed=seed)
    rows = []
    for pair, (low, high, least), p in zip(pairs, spans, extremes, strict=True):
        first, second = pair.values
        numbers = {"value_a": first, "value_b": second, "difference": second - first}
        numbers |= {"ci_low": low, "ci_high": high, "p": p, "least_difference": least}
        rows.append(pair.labels | numbers)
    return rows


def _difference(pair: Pair, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return pair.score(second) - pair.score(first)


def _stacked(pairs: Sequence[Pair]) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """All parts side by side, and where each pair's first and second begin."""
    columns, places, start = [], [], 0
    for pair in pairs:
        size = pair.first.shape[1]
        columns += [pair.first, pair.second]
        places.append((start, size))
        start += 2 * size
    return np.concatenate(columns, axis=1).astype(float), places


def _intervals(
    pairs: Sequence[Pair], *, resamples: int, level: float, power: float, seed: int
) -> list[tuple[float, float, float]]:
    count = len(pairs[0].first) if pairs else 0
    if count < 2 or not resamples:
        return [(NAN, NAN, NAN)] * len(pairs)
    parts, places = _stacked(pairs)
    summed = drawn_sums(parts, resamples=resamples, seed=seed)
    found = []
    for pair, (start, size) in zip(pairs, places, strict=True):
        middle = start + size
        ends = summed[:, start:middle], summed[:, middle : middle + size]
        values = _difference(pair, *ends)
        values = values[~np.isnan(values)]
        if values.size < 2:
            found.append((NAN, NAN, NAN))
            continue
        error = float(values.std(ddof=1))
        least = least_difference(error, level=level, power=power)
        found.append((*percentiles(values, level), least))
    return found


def _p_values(pairs: Sequence[Pair], *, permutations: int, seed: int) -> list[float]:
    found = [NAN] * len(pairs)
    random = []
    for place, pair in enumerate(pairs):
        differ = (pair.first != pair.second).any(axis=1)
        if np.isnan(np.subtract(*pair.values)):
            continue
        if differ.sum() <= EXACT:
            found[place] = _exact(pair, differ)
        elif permutations:
            random.append(place)
    chosen = [pairs[place] for place in random]
    for place, p in zip(random, _random(chosen, permutations, seed), strict=True):
        found[place] = p
    return found


def _exact(pair: Pair, differ: np.ndarray) -> float:
    count = int(differ.sum())
    swaps = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
    moved = swaps @ (pair.second - pair.first)[differ]
    return float(_extreme(pair, moved).mean())


def _random(pairs: Sequence[Pair], permutations: int, seed: int) -> list[float]:
    if not pairs:
        return []
    deltas = np.concatenate([pair.second - pair.first for pair in pairs], axis=1).astype(float)
    counts = np.zeros(len(pairs))
    for block in swapped(len(deltas), permutations=permutations, seed=seed):
        moved, start = block @ deltas, 0
        for place, pair in enumerate(pairs):
            size = pair.first.shape[1]
            counts[place] += _extreme(pair, moved[:, start : start + size]).sum()
            start += size
    # The observed assignment is one of those that could have been.
    return ((counts + 1) / (permutations + 1)).tolist()


def _extreme(pair: Pair, moved: np.ndarray) -> np.ndarray:
    """Whether the difference is at least as large once `moved` has changed sides."""
    first, second = pair.first.sum(axis=0), pair.second.sum(axis=0)
    seen = abs(_difference(pair, first, second))
    values = abs(_difference(pair, first + moved, second - moved))
    return ~(values < seen * (1 - ROUNDING))


def swapped(count: int, *, permutations: int, seed: int) -> Iterator[np.ndarray]:
    """Blocks of shape (b, count) of zeros and ones: which documents change sides.

    Examples
    --------
    >>> sum(block.shape[0] for block in swapped(3, permutations=10, seed=0))
    10
    """
    generator = np.random.default_rng([seed, 1])
    step = max(1, min(permutations, BLOCK // count))
    for begin in range(0, permutations, step):
        size = (min(step, permutations - begin), count)
        yield generator.integers(0, 2, size=size, dtype=np.int8).astype(float)


def adjusted_p(p: Sequence[float] | np.ndarray, method: str = "holm") -> np.ndarray:
    """p adjusted for all comparisons looked at; what could not be tested stays NaN.

    Parameters
    ----------
    method
        ``holm``, ``fdr_bh`` (Benjamini and Hochberg) or ``fdr_by`` (Benjamini and Yekutieli).

    Examples
    --------
    >>> adjusted_p([0.01, float("nan"), 0.04]).tolist()
    [0.02, nan, 0.04]
    """
    # Heavy, and not needed to score.
    from statsmodels.stats.multitest import multipletests

    adjusted = np.array(p, dtype=float)
    known = ~np.isnan(adjusted)
    if known.any():
        adjusted[known] = multipletests(adjusted[known], method=method)[1]
    return adjusted
