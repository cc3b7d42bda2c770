"""Agreement of raters beyond chance: Cohen's and Fleiss' kappa, with bootstrap intervals."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import polars as pl

from formlab.analysis.intervals import percentiles


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
        A row per item, a column per rater; null where a rater gave no answer. A pair is compared
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
        `raters kappa ci_low ci_high n_items n_same`; kappa is in [-1, 1], NaN where it is
        undefined: no items, or all answers are the same. `n_same` items have one
        answer only.

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
        values = sorted({value for name in names for value in both[name]}, key=str)
        codes = {value: at for at, value in enumerate(values)}
        ratings = np.array([[codes[value] for value in both[name]] for name in names], dtype=int).T
        ratings = ratings.reshape(-1, len(names))
        units = both[unit].rank("dense").to_numpy() - 1 if both.height else np.empty(0, dtype=int)
        sums = _sums(ratings, units.astype(int), len(codes))
        drawn = np.empty(0)
        if len(sums) > 1 and resamples:
            draw = np.random.default_rng(seed)
            weights = draw.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=resamples)
            drawn = _kappa(weights @ sums, len(names))
        same = int((ratings == ratings[:, :1]).all(axis=1).sum())
        kappa = float(_kappa(sums.sum(axis=0, keepdims=True), len(names))[0])
        rows.append((" × ".join(names), kappa, *percentiles(drawn, level), both.height, same))
    schema = {"raters": pl.String} | dict.fromkeys(("kappa", "ci_low", "ci_high"), pl.Float64)
    schema |= dict.fromkeys(("n_items", "n_same"), pl.Int64)
    return pl.DataFrame(rows, schema=schema, orient="row")


def _sums(ratings: np.ndarray, units: np.ndarray, size: int) -> np.ndarray:
    """Items, agreement and uses of each answer by unit, from codes of shape (items, raters).

    Sums of units give the kappa of all their items. Of two raters each has uses of its own.
    """
    raters = ratings.shape[1]
    answers = ratings[:, :, None] == np.arange(size)
    uses = answers.sum(axis=1)
    agreement = (uses * (uses - 1)).sum(axis=1) / (raters * (raters - 1))
    each = answers.reshape(len(ratings), raters * size) if raters == 2 else uses
    sums = np.zeros((int(units.max(initial=-1)) + 1, 2 + each.shape[1]))
    np.add.at(sums, units, np.column_stack((np.ones(len(ratings)), agreement, each)))
    return sums


def _kappa(sums: np.ndarray, raters: int) -> np.ndarray:
    """Kappa of each row of sums; undefined without items, or where there is one answer only."""
    items, same, uses = sums[:, 0], sums[:, 1], sums[:, 2:]
    if raters == 2:
        first, second = np.split(uses, 2, axis=1)
        chance, uses = (first * second).sum(axis=1), first + second
    else:
        chance = ((uses / raters) ** 2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = chance / items**2
        kappa = (same / items - chance) / (1 - chance)
    return np.where((uses > 0).sum(axis=1) < 2, np.nan, kappa)
