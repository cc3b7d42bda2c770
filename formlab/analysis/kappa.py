"""Agreement of raters beyond chance: Cohen's and Fleiss' kappa, with bootstrap intervals."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl


def rater_agreement(
    table: pl.DataFrame,
    raters: Sequence[str],
    *,
    unit: str = "doc_id",
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Cohen's kappa of each pair of raters and Fleiss' kappa of all, with bootstrap intervals.

    Parameters
    ----------
    table
        A row per item, a column per rater; null where a rater said nothing. A pair is compared
        on the items of both, all raters on the items of all.
    raters
        The columns.
    unit
        The column whose values are drawn with replacement: items of a page are not independent.
    resamples, level, seed
        Of the percentile interval.

    Returns
    -------
    polars.DataFrame
        `raters kappa ci_low ci_high n_items`; kappa is in [-1, 1], NaN where it is undefined:
        no items, or everyone always says the same one thing.

    Examples
    --------
    >>> table = pl.DataFrame({"doc_id": list("aabb"), "x": [1, 1, 0, 0], "y": [1, 0, 0, 0]})
    >>> rater_agreement(table, ["x", "y"], resamples=0)["kappa"].to_list()
    [0.5]
    """
    groups = list(itertools.combinations(raters, 2))
    groups += [tuple(raters)] if len(raters) > 2 else []
    rows = []
    for names in groups:
        both = table.select(unit, *names).drop_nulls()
        codes = {value: at for at, value in enumerate(_values(both, names))}
        said = np.array([[codes[value] for value in both[name]] for name in names], dtype=int).T
        said = said.reshape(-1, len(names))
        counts = _counts(said, len(codes), both[unit])
        kappa = _kappa(counts.sum(axis=0), len(names))
        low, high = _interval(counts, len(names), resamples=resamples, level=level, seed=seed)
        rows.append((" × ".join(names), kappa, low, high, both.height))
    schema = {"raters": pl.String, "kappa": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64}
    return pl.DataFrame(rows, schema=schema | {"n_items": pl.Int64}, orient="row")


def _values(table: pl.DataFrame, names: Sequence[str]) -> list[Any]:
    return sorted({value for name in names for value in table[name]}, key=str)


def _counts(said: np.ndarray, size: int, units: pl.Series) -> np.ndarray:
    """Per unit, what both kappas are made of, so that a resample is a weighted sum.

    For two raters the table of their answers; for more, items, agreeing pairs of raters and uses
    of each category.
    """
    place = units.rank("dense").to_numpy() - 1 if units.len() else np.empty(0, dtype=int)
    pages = int(place.max()) + 1 if len(place) else 0
    if said.shape[1] == 2:
        counts = np.zeros((pages, size * size))
        np.add.at(counts, (place, said[:, 0] * size + said[:, 1]), 1)
        return counts
    uses = (said[:, :, None] == np.arange(size)).sum(axis=1)
    counts = np.zeros((pages, size + 2))
    parts = np.concatenate(
        [np.ones((len(said), 1)), (uses * (uses - 1)).sum(axis=1)[:, None], uses], axis=1
    )
    np.add.at(counts, place, parts)
    return counts


def _kappa(total: np.ndarray, raters: int) -> float:
    if raters == 2:
        size = round(len(total) ** 0.5)
        square = total.reshape(size, size)
        count = square.sum()
        if not count:
            return float("nan")
        seen = np.trace(square) / count
        chance = float(square.sum(axis=0) @ square.sum(axis=1)) / count**2
    else:
        count, pairs, uses = total[0], total[1], total[2:]
        if not count:
            return float("nan")
        seen = pairs / (count * raters * (raters - 1))
        chance = float(((uses / (count * raters)) ** 2).sum())
    return float((seen - chance) / (1 - chance)) if chance < 1 else float("nan")


def _interval(
    counts: np.ndarray, raters: int, *, resamples: int, level: float, seed: int
) -> tuple[float, float]:
    if len(counts) < 2 or not resamples:
        return float("nan"), float("nan")
    draw = np.random.default_rng(seed)
    weights = draw.multinomial(len(counts), np.full(len(counts), 1 / len(counts)), size=resamples)
    values = np.array([_kappa(total, raters) for total in weights @ counts])
    values = values[~np.isnan(values)]
    if not len(values):
        return float("nan"), float("nan")
    low, high = np.quantile(values, ((1 - level) / 2, (1 + level) / 2))
    return float(low), float(high)
