"""Sums by document, draws of documents with replacement, and their percentile intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import polars as pl

# The most numbers that one block of resampling weights may hold (float32).
BLOCK = 5_000_000


def by_document(number: np.ndarray, columns: Iterable[np.ndarray], count: int) -> np.ndarray:
    """Columns of numbers summed by the `number` of their document: shape (count, columns)."""
    return np.stack([np.bincount(number, weights=c, minlength=count) for c in columns], axis=1)


def draws(count: int, *, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Blocks of shape (b, count): how often each document is in each of b draws."""
    generator = np.random.default_rng(seed)
    step = max(1, min(resamples, BLOCK // count))
    for begin in range(0, resamples, step):
        block = min(step, resamples - begin)
        chosen = generator.integers(0, count, size=(block, count))
        # One count over all draws of the block: draw r uses the numbers from r * count on.
        chosen += np.arange(block)[:, None] * count
        flat = np.bincount(chosen.ravel(), minlength=block * count)
        yield flat.reshape(block, count).astype(float)


def drawn_sums(parts: np.ndarray, *, resamples: int, seed: int) -> np.ndarray:
    """The parts of shape (documents, k) summed over each draw: shape (resamples, k)."""
    return np.concatenate([w @ parts for w in draws(len(parts), resamples=resamples, seed=seed)])


def drawn_parts(parts: Sequence[np.ndarray], *, resamples: int, seed: int) -> list[np.ndarray]:
    """Each of the parts summed over the same draws, as by `drawn_sums`."""
    ends = np.cumsum([each.shape[1] for each in parts])[:-1]
    stacked = np.concatenate(parts, axis=1).astype(float, copy=False)
    return np.split(drawn_sums(stacked, resamples=resamples, seed=seed), ends, axis=1)


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
