"""Tests of two systems on the same documents, from tallies: nothing is scored twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, log2
from typing import Any

import numpy as np
from scipy import special

from formlab.analysis._draws import fill_swaps
from formlab.analysis.intervals import (
    BLOCK,
    DOCUMENTS,
    AnyParts,
    drawn_parts,
    exact_sums,
    opened,
    percentiles,
    rounded,
    weighted_sums,
)

# So few documents that differ are swapped in every way: 2 to this power.
EXACT = 12
# A swap that only rounding tells from the observed difference is as extreme as it.
ROUNDING = 1e-9
# Swaps are other random numbers than draws of the same seed.
_SWAPS = 2**40
NAN = float("nan")


@dataclass
class Pair:
    """Two systems to tell apart by one score.

    `first` and `second` hold the parts of each document, shape (documents, k), as an array or as
    `intervals.Dense`; `score` takes (…, k) to (…). `labels` are the columns that the row is known
    by. Documents stand in the order of their `doc_id`, by which they are drawn and swapped.
    """

    first: AnyParts
    second: AnyParts
    score: Callable[[np.ndarray], np.ndarray]
    labels: dict[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> tuple[float, float]:
        """The score of each system."""
        return float(self.score(self.sums[0])), float(self.score(self.sums[1]))

    @cached_property
    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """The parts of each system over all documents."""
        return opened(self.first).sums, opened(self.second).sums


class _Deltas:
    """What changes sides with each document of a pair: the parts of the second less the first."""

    def __init__(self, pair: Pair) -> None:
        self.sides = opened(pair.first), opened(pair.second)
        self.shape = self.sides[0].shape
        self.peaks, self.differ = np.zeros(self.shape[1]), 0
        # The first of those that differ; more are not swapped in every way.
        self.few = np.zeros((self.shape[1], 0))
        for begin in range(0, self.shape[0], DOCUMENTS):
            block = self.block(begin, min(begin + DOCUMENTS, self.shape[0]))
            differ = np.flatnonzero((block != 0).any(axis=0))
            self.differ += differ.size
            self.peaks = np.maximum(self.peaks, np.abs(block).max(axis=1, initial=0.0))
            if self.few.shape[1] <= EXACT:
                self.few = np.concatenate([self.few, block[:, differ[: EXACT + 1]]], axis=1)

    def block(self, begin: int, end: int) -> np.ndarray:
        """The parts of some documents, shape (k, end - begin)."""
        return self.sides[1].block(begin, end) - self.sides[0].block(begin, end)


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
        Of interval and test, and of the least difference, which is NaN where the pair has fewer
        than `documents_needed`, and where no draw differs from another.
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


def _intervals(
    pairs: Sequence[Pair], *, resamples: int, level: float, power: float, seed: int
) -> list[tuple[float, float, float]]:
    if not pairs or pairs[0].first.shape[0] < 2 or not resamples:
        return [(NAN, NAN, NAN)] * len(pairs)
    sides = [side for pair in pairs for side in (pair.first, pair.second)]
    drawn = drawn_parts(sides, resamples=resamples, seed=seed)
    spans = []
    for pair, first, second in zip(pairs, drawn[::2], drawn[1::2], strict=True):
        values = pair.score(second) - pair.score(first)
        values = values[~np.isnan(values)]
        if values.size < 2:
            spans.append((NAN, NAN, NAN))
            continue
        error = float(values.std(ddof=1))
        few = pair.labels.get("n_docs", pair.first.shape[0]) < documents_needed(1 - level)
        known = error > ROUNDING and not few
        least = least_difference(error, level=level, power=power) if known else NAN
        spans.append((*percentiles(values, level), least))
    return spans


def _p_values(pairs: Sequence[Pair], *, permutations: int, seed: int) -> list[float]:
    p_values = [NAN] * len(pairs)
    random: dict[int, _Deltas] = {}
    for number, pair in enumerate(pairs):
        if np.isnan(np.subtract(*pair.values)):
            continue
        deltas = _Deltas(pair)
        if deltas.differ <= EXACT:
            p_values[number] = _exact(pair, deltas)
        elif permutations:
            random[number] = deltas

    def fill(weights: np.ndarray, first: int, _: int, begin: int) -> None:
        fill_swaps(weights, seed + _SWAPS, first, begin)

    every = list(random.values())
    moved = weighted_sums(every, permutations, fill, lambda _: DOCUMENTS) if every else ()
    for number, each in zip(random, moved, strict=True):
        # The observed assignment is one of those that could have been.
        p_values[number] = (_extreme(pairs[number], each).sum() + 1) / (permutations + 1)
    return p_values


def _exact(pair: Pair, deltas: _Deltas) -> float:
    swaps = (np.arange(2**deltas.differ)[:, None] >> np.arange(deltas.differ)) & 1
    moved = swaps @ rounded(deltas.few, deltas.peaks * deltas.shape[0]).T
    return float(_extreme(pair, moved).mean())


def _extreme(pair: Pair, moved: np.ndarray) -> np.ndarray:
    """Whether the difference is at least as large once `moved` has changed sides."""
    first, second = pair.sums
    seen = abs(pair.score(second) - pair.score(first))
    values = abs(pair.score(second - moved) - pair.score(first + moved))
    return ~(values < seen * (1 - ROUNDING))


def loss_test(
    pair: Pair, margin: float, *, alpha: float = 0.05, up: bool = True, permutations: int = 9999,
    seed: int = 0,
) -> tuple[float, float]:  # fmt: skip
    """Whether the second system of a pair loses less than `margin` against the first.

    A one-sided sign-flip test of what each document adds to the difference (its jackknife value),
    moved by the margin; documents without what the metric counts have no say. With up to twelve
    documents every flip is made and p is exact; then 1 / 2^n is the least p of n documents.
    Measured at 5 to 100 documents of unequal size, a loss of just the margin passes at 0.05 in 3 to
    6 of 100 corpora; where one document in ten loses half and the others nothing, in 19 of 100 at
    n = 50.

    Parameters
    ----------
    pair
        The baseline first.
    margin
        In the unit of the score, 0 and more.
    alpha
        The level of the test, in (0, 1).
    up
        Whether more is better.
    permutations, seed
        Of the random flips.

    Returns
    -------
    float, float
        p in (0, 1] under the hypothesis that `margin` or more is lost, and the loss from which on
        it is at most `alpha`, infinite where no margin will do. Both NaN for fewer than two
        documents, or where the score is undefined without one of them.

    References
    ----------
    S. Wellek, Testing Statistical Hypotheses of Equivalence and Noninferiority, 2010.

    Examples
    --------
    >>> parts = np.array([[4.0, 5.0], [3.0, 5.0], [5.0, 5.0], [4.0, 5.0], [2.0, 5.0]])
    >>> p, most = loss_test(Pair(parts, parts, lambda sums: sums[..., 0] / sums[..., 1]), 0.1)
    >>> p, round(most, 9) == 0
    (0.03125, True)
    """
    counted = (pair.first != 0).any(axis=1) | (pair.second != 0).any(axis=1)
    losses = contributions(Pair(pair.first[counted], pair.second[counted], pair.score))
    losses, count = (-losses if up else losses), len(losses)
    if count < 2 or np.isnan(losses).any():
        return NAN, NAN
    losses = rounded(losses[None], np.abs(losses).max(keepdims=True) * count)[0]
    exact = count <= EXACT
    flips = (
        [(np.arange(2**count)[:, None] >> np.arange(count)) & 1] if exact
        else swapped(count, permutations=permutations, seed=seed)
    )  # fmt: skip
    # Flipping documents leaves the sum as large as it is as long as the margin is at most their
    # mean loss. No flip at all always does; it is in `flips` where these are exact.
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.concatenate([(block @ losses) / block.sum(axis=1) for block in flips])
    means = np.nan_to_num(means, nan=np.inf)
    means = np.sort(means if exact else np.append(means, np.inf))[::-1]
    slack = ROUNDING * np.abs(losses).max()
    allowed = int(alpha * len(means) + ROUNDING)
    most = means[allowed] if allowed < len(means) else -np.inf
    return float((means >= margin - slack).mean()), float(most)


def contributions(pair: Pair) -> np.ndarray:
    """What each document adds to the difference of a pair; their mean is the difference."""
    sums = pair.sums
    whole = pair.score(sums[1]) - pair.score(sums[0])
    without = pair.score(sums[1] - pair.second) - pair.score(sums[0] - pair.first)
    values = (len(pair.first) - 1) * (whole - without)
    return values - exact_sums(values[None])[0] / max(len(values), 1) + whole


def swapped(count: int, *, permutations: int, seed: int) -> Iterator[np.ndarray]:
    """Blocks of shape (b, count) of zeros and ones: which documents change sides."""
    step = max(1, min(permutations, BLOCK // count))
    for begin in range(0, permutations, step):
        block = np.empty((min(step, permutations - begin), count))
        fill_swaps(block, seed + _SWAPS, begin, 0)
        yield block


def documents_needed(alpha: float = 0.05) -> int:
    """From how many documents on the test of `differences` can come to `alpha` at all.

    Of the 2^n swaps of n documents two are as extreme as the most extreme one.

    Examples
    --------
    >>> documents_needed(0.05), documents_needed(0.05 / 3)
    (6, 7)
    """
    return ceil(log2(2 / alpha) - ROUNDING)


def least_difference(error: float, *, level: float = 0.95, power: float = 0.8) -> float:
    """The least true difference that a two-sided test at `level` finds with `power`.

    It is (z of level + z of power) times the standard error, here the spread of the paired
    bootstrap (H. S. Bloom, Minimum detectable effects, Evaluation Review 19(5), 1995).
    """
    return float((special.ndtri((1 + level) / 2) + special.ndtri(power)) * error)


def adjusted_p(p: Sequence[float] | np.ndarray, method: str = "holm") -> np.ndarray:
    """p adjusted for all comparisons looked at; what could not be tested stays NaN.

    `method` is ``holm``, ``fdr_bh`` (Benjamini, Hochberg) or ``fdr_by`` (Benjamini, Yekutieli).
    """
    adjusted = np.array(p, dtype=float)
    known = ~np.isnan(adjusted)
    if known.any():
        tested = adjusted[known]
        # statsmodels collects all garbage at every call, `scipy.stats` takes a second to import.
        left, steps = np.arange(len(tested), 0, -1), np.sort(tested)
        if method == "holm":
            steps = np.maximum.accumulate(steps * left)
        else:
            many = len(tested) * ((1 / left).sum() if method == "fdr_by" else 1)
            steps = np.minimum.accumulate((steps * many / left[::-1])[::-1])[::-1]
        adjusted[known] = np.minimum(steps, 1.0)[np.argsort(np.argsort(tested, kind="stable"))]
    return adjusted
