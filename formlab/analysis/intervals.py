"""Sums by document, draws of documents with replacement, and their percentile intervals.

Every sum is exact, so that it is the same in whatever order documents come: whole numbers as they
are, others rounded to a power of two that leaves no sum of them to be rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl

from formlab.analysis._draws import fill_blocks, fill_draws

# The most numbers that one block of resampling weights may hold.
BLOCK = 5_000_000
# Documents that are drawn together: the weights of some draws of them stay in a fast memory, and
# of as many more as documents are fewer.
DOCUMENTS, DRAWS, WEIGHTS = 16_384, 32, 1 << 16
# The most columns of parts that are opened at once.
COLUMNS = 512


class Opened(Protocol):
    """Parts of documents that are opened a block at a time, as by `Dense`."""

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and parts of each."""

    @property
    def peaks(self) -> np.ndarray:
        """The greatest absolute value of each part."""

    @property
    def sums(self) -> np.ndarray:
        """The sum of each part over all documents."""

    def block(self, begin: int, end: int) -> np.ndarray:
        """The parts of some documents, shape (k, end - begin)."""


@dataclass(frozen=True)
class Dense:
    """Parts of documents as one array of shape (documents, k)."""

    table: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and parts of each."""
        return self.table.shape

    @property
    def peaks(self) -> np.ndarray:
        """The greatest absolute value of each part."""
        return np.abs(self.table).max(axis=0, initial=0).astype(float)

    @property
    def sums(self) -> np.ndarray:
        """The sum of each part over all documents, exactly."""
        return exact_sums(self.block(0, len(self.table)))

    def block(self, begin: int, end: int) -> np.ndarray:
        """The parts of some documents, shape (k, end - begin)."""
        return np.ascontiguousarray(self.table[begin:end].T, dtype=float)


def small(values: np.ndarray) -> np.ndarray:
    """Numbers in the smallest of four types that holds them all unchanged.

    Examples
    --------
    >>> small(np.array([0.0, 3.0])).dtype, small(np.array([0.5])).dtype
    (dtype('uint8'), dtype('float64'))
    """
    low, high = values.min(initial=0), values.max(initial=0)
    for kind in (np.uint8, np.uint16, np.uint32) if low >= 0 else ():
        if high <= np.iinfo(kind).max:
            cast = values.astype(kind)
            return cast if (cast == values).all() else values
    return values


AnyParts = np.ndarray | Opened


def opened(parts: AnyParts) -> Opened:
    """Parts of either kind, to be opened a block at a time."""
    return Dense(parts) if isinstance(parts, np.ndarray) else parts


def by_document(number: np.ndarray, columns: Iterable[np.ndarray], count: int) -> np.ndarray:
    """Columns of numbers summed by the `number` of their document: shape (count, columns)."""
    return np.stack([np.bincount(number, weights=c, minlength=count) for c in columns], axis=1)


# Fills the weights of some draws for some documents: weights, number of the first draw, block of
# documents, number of the first document.
Fill = Callable[[np.ndarray, int, int, int], None]


def weighted_sums(
    parts: Sequence[AnyParts], times: int, fill: Fill, most: Callable[[int], float]
) -> Iterator[np.ndarray]:
    """Each of the parts summed `times` times with other weights, shape (times, k), exactly.

    Parts of one size after another; no more is held at once than some draws of a block of
    documents, and its parts. `most` is the greatest sum of weights in a block.
    """
    parts = [opened(each) for each in parts]
    widths = np.cumsum([each.shape[1] for each in parts])
    group = widths // max(1, min(COLUMNS, BLOCK // max(times, 1)))
    for number in dict.fromkeys(group.tolist()):
        own = [parts[at] for at in np.flatnonzero(group == number)]
        yield from _group_sums(own, times, fill, most)


def _group_sums(
    parts: Sequence[Opened], times: int, fill: Fill, most: Callable[[int], float]
) -> list[np.ndarray]:
    ends = np.cumsum([each.shape[1] for each in parts])
    sums, count = np.zeros((times, ends[-1])), parts[0].shape[0]
    peaks = np.concatenate([each.peaks for each in parts])
    for block, begin in enumerate(range(0, count, DOCUMENTS)):
        end = min(begin + DOCUMENTS, count)
        columns = np.concatenate([each.block(begin, end) for each in parts])
        whole = (columns == np.rint(columns)).all(axis=1)
        columns[~whole] = rounded(columns[~whole], peaks[~whole] * count)
        # Whole numbers whose sums stay below 2^24 are exact in the type that is twice as fast.
        few = whole & (peaks * most(block) < 2**24)
        # One column of ones stands for all of the same number throughout, as of what is defined.
        even = few & (columns == columns[:, :1]).all(axis=1)
        varied, ones = few & ~even, np.ones((int(even.any()), end - begin))
        small = np.concatenate([columns[varied], ones]).T.astype(np.float32)
        large, known = columns[~few].T, int(varied.sum())
        several = max(DRAWS, WEIGHTS // max(end - begin, 1))
        weights = np.empty((min(several, times), end - begin), dtype=np.float32)
        for first in range(0, times, several):
            rows = weights[: times - first]
            fill(rows, first, block, begin)
            part, added = sums[first : first + len(rows)], rows @ small
            part[:, varied] += added[:, :known]
            part[:, even] += added[:, known:] * columns[even, 0]
            if large.size:
                part[:, ~few] += rows.astype(float) @ large
    return np.split(sums, ends[:-1], axis=1)


def rounded(columns: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Each column to multiples of a power of two, so small that sums up to `most` are exact.

    Examples
    --------
    >>> rounded(np.array([[1.3, 1 / 3]]), np.array([2.0**51])).tolist()
    [[1.5, 0.5]]
    """
    step = np.ldexp(1.0, np.frexp(most)[1] - 53)[:, None]
    return np.rint(columns / step) * step


def exact_sums(columns: np.ndarray) -> np.ndarray:
    """The sum of each column, shape (k, n), rounded once: `math.fsum` of all columns together.

    Examples
    --------
    >>> exact_sums(np.array([[0.1] * 10])).tolist(), sum([0.1] * 10)
    ([1.0], 0.9999999999999999)
    """
    most = np.abs(columns).max(axis=1, initial=0.0) * columns.shape[1]
    # Whole numbers are summed exactly as they are.
    if (most < 2**53).all() and (columns == np.rint(columns)).all():
        return columns.sum(axis=1)
    sums = []
    # Each turn adds the upper bits of what is left; three have more bits than numbers of a size.
    for _ in range(3):
        most = np.abs(columns).max(axis=1, initial=0.0) * columns.shape[1]
        upper = rounded(columns, most)
        sums.append(upper.sum(axis=1))
        if not (left := columns - upper).any():
            break
        columns = left
    return np.array([math.fsum(column) for column in np.transpose(sums)])


def _blocks(count: int, resamples: int, seed: int) -> Iterator[tuple[int, int, np.ndarray]]:
    """Each block of documents with how many of them are in each draw, shape (resamples,)."""
    starts = range(0, count, DOCUMENTS)
    numbers = np.zeros((resamples, len(starts)), dtype=np.int64)
    if len(starts) == 1:
        numbers[:] = count
    else:
        fill_blocks(numbers, seed, 0, count, DOCUMENTS)
    for at, begin in enumerate(starts):
        yield begin, min(begin + DOCUMENTS, count), numbers[:, at]


def draws(count: int, *, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Blocks of shape (b, count): how often each document is in each of b draws."""
    blocks = list(_blocks(count, resamples, seed))
    step = max(1, min(resamples, BLOCK // count))
    for first in range(0, resamples, step):
        weights = np.empty((min(step, resamples - first), count))
        for at, (begin, end, numbers) in enumerate(blocks):
            own = np.empty((len(weights), end - begin))
            fill_draws(own, seed, first, at, numbers[first:])
            weights[:, begin:end] = own
        yield weights


def drawn_sums(parts: AnyParts, *, resamples: int, seed: int) -> np.ndarray:
    """The parts of shape (documents, k) summed over each draw: shape (resamples, k)."""
    return drawn_parts([parts], resamples=resamples, seed=seed)[0]


def drawn_parts(parts: Sequence[AnyParts], *, resamples: int, seed: int) -> list[np.ndarray]:
    """Each of the parts summed over the same draws, as by `drawn_sums`."""
    numbers = [number for *_, number in _blocks(parts[0].shape[0], resamples, seed)]

    def fill(weights: np.ndarray, first: int, block: int, _: int) -> None:
        fill_draws(weights, seed, first, block, numbers[block][first:])

    def most(block: int) -> float:
        return float(numbers[block].max(initial=0))

    return list(weighted_sums(parts, resamples, fill, most))


def percentiles(values: np.ndarray, level: float) -> tuple[float, float]:
    """The ends between which the share `level` of the values lies; NaN is no value.

    Examples
    --------
    >>> percentiles(np.array([0.0, 1.0, 2.0, np.nan]), 0.5)
    (0.5, 1.5)
    """
    known = values[~np.isnan(values)]
    if not known.size:
        return float("nan"), float("nan")
    low, high = np.quantile(known, ((1 - level) / 2, (1 + level) / 2))
    return float(low), float(high)


def share(
    rows: pl.DataFrame, part: pl.Expr, whole: pl.Expr | None = None,
    *, resamples: int, level: float = 0.95, seed: int = 0,
) -> tuple[float, float, float]:  # fmt: skip
    """The share that the sum of `part` has of that of `whole`, and its interval over documents.

    `whole` counts the rows if left out. Of fewer than two documents there is no interval (NaN).

    Examples
    --------
    >>> rows = pl.DataFrame({"doc_id": ["a", "a", "b"], "cost": [1.0, 0.0, 3.0]})
    >>> share(rows, pl.col("cost") > 2, resamples=0)[0]
    0.3333333333333333
    """
    over = pl.repeat(1.0, pl.len()) if whole is None else whole
    sums = rows.select(part.cast(float).alias("part"), over.alias("whole"))
    total = sums["whole"].sum()
    value = sums["part"].sum() / total if total else float("nan")
    names, number = np.unique(rows["doc_id"].to_numpy(), return_inverse=True)
    if len(names) < 2 or not resamples:
        return value, float("nan"), float("nan")
    parts = by_document(number, [each.to_numpy() for each in sums], len(names))
    drawn = drawn_sums(parts, resamples=resamples, seed=seed)
    drawn = drawn[drawn[:, 1] > 0]
    return value, *percentiles(drawn[:, 0] / drawn[:, 1], level)
