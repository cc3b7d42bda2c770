"""Draws of documents with replacement, and intervals of what is summed over each draw."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab.metrics import ratio

# The most numbers in a block of weights, and in the columns that are summed at once.
WEIGHTS, NUMBERS, COLUMNS = 1_000_000, 8_000_000, 512
Score = Callable[[np.ndarray], np.ndarray]
# Of so many documents so many rows of weights: shape (rows, documents).
Weights = Callable[[np.random.Generator, int, int], np.ndarray]


def drawn(random: np.random.Generator, count: int, size: int) -> np.ndarray:
    """How often each of `count` documents is in each draw with replacement: shape (size, count)."""
    places = random.integers(0, count, (size, count), dtype=np.int32 if count else np.int64)
    places = places + np.arange(size)[:, None] * count
    return np.bincount(places.ravel(), minlength=size * count).reshape(size, count).astype(float)


def weighted_sums(
    tables: Sequence[np.ndarray], weights: Weights, *, times: int, seed: int | Sequence[int]
) -> Iterator[np.ndarray]:
    """Each table (documents, k) summed under the same random rows of weights: shape (times, k).

    Columns that do not fit into memory together are summed in turns.
    """
    count = len(tables[0]) if tables else 0
    step = max(1, WEIGHTS // max(count, 1))
    sizes = [min(step, times - begin) for begin in range(0, times, step)]
    widths = np.array([table.shape[1] for table in tables], dtype=int)
    turns = np.cumsum(widths) // max(1, min(COLUMNS, NUMBERS // max(count, 1)))
    for turn in np.unique(turns):
        members, random = np.flatnonzero(turns == turn), np.random.default_rng(seed)
        columns = np.concatenate([tables[at] for at in members], axis=1, dtype=float)
        blocks = (weights(random, count, size) @ columns for size in sizes)
        sums = np.concatenate([np.empty((0, columns.shape[1])), *blocks])
        yield from np.split(sums, np.cumsum(widths[members])[:-1], axis=1)


def drawn_parts(tables: Sequence[np.ndarray], *, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Each table (documents, k) summed over the same draws: shape (resamples, k)."""
    return weighted_sums(tables, drawn, times=resamples, seed=seed)


def percentiles(values: np.ndarray, level: float) -> tuple[float, float]:
    """The ends between which the share `level` of the values lies; NaN is no value."""
    values = values[~np.isnan(values)]
    ends = ((1 - level) / 2, (1 + level) / 2)
    low, high = np.quantile(values, ends) if values.size else (np.nan, np.nan)
    return float(low), float(high)


def intervals(
    scores: Sequence[tuple[np.ndarray, Score]],
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> list[tuple[float, float]]:
    """The percentile interval of each score of parts (documents, k); NaN below two documents."""
    if not scores or len(scores[0][0]) < 2 or not resamples:
        return [(float("nan"), float("nan"))] * len(scores)
    sums = drawn_parts([parts for parts, _ in scores], resamples=resamples, seed=seed)
    return [percentiles(score(of), level) for (_, score), of in zip(scores, sums, strict=True)]


def estimate(parts: np.ndarray, score: Score, **draws: Any) -> tuple[float, float, float]:
    """The score of all documents with its interval; `parts` (documents, k), draws as above."""
    (ends,) = intervals([(parts, score)], **draws)
    return float(score(parts.sum(axis=0, dtype=float))), *ends


def by_document(number: np.ndarray, columns: Sequence[np.ndarray], count: int) -> np.ndarray:
    """Columns of numbers summed by the `number` of their document: shape (count, columns)."""
    return np.stack([np.bincount(number, weights=c, minlength=count) for c in columns], axis=1)


def share(
    rows: pl.DataFrame, part: pl.Expr, whole: pl.Expr | None = None, **draws: Any
) -> tuple[float, float, float]:
    """The share that the sum of `part` has of that of `whole`, and its interval over documents.

    `whole` counts the rows if left out; `draws` are those of `intervals`.

    >>> rows = pl.DataFrame({"doc_id": ["a", "a", "b"], "cost": [1.0, 0.0, 3.0]})
    >>> share(rows, pl.col("cost") > 2, resamples=0)[0]
    0.3333333333333333
    """
    total = pl.len() if whole is None else whole.sum()
    sums = rows.group_by("doc_id").agg(part=part.cast(float).sum(), whole=total.cast(float))
    return estimate(sums.sort("doc_id").select("part", "whole").to_numpy(), ratio, **draws)
