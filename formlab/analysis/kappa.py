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
        drawn = _drawn(ratings, units, len(codes), resamples=resamples, seed=seed)
        same = int((ratings == ratings[:, :1]).all(axis=1).sum())
        kappa, ends = _kappa(ratings, len(codes)), percentiles(drawn, level)
        rows.append((" × ".join(names), kappa, *ends, both.height, same))
    schema = {"raters": pl.String} | dict.fromkeys(("kappa", "ci_low", "ci_high"), pl.Float64)
    schema |= dict.fromkeys(("n_items", "n_same"), pl.Int64)
    return pl.DataFrame(rows, schema=schema, orient="row")


def _kappa(ratings: np.ndarray, size: int) -> float:
    """Kappa of answers by their codes, shape (items, raters)."""
    from statsmodels.stats import inter_rater

    uses = (ratings[:, :, None] == np.arange(size)).sum(axis=1)
    # Undefined without items, or where there is one answer only.
    if (uses.sum(axis=0) > 0).sum() < 2:
        return float("nan")
    if ratings.shape[1] > 2:
        return float(inter_rater.fleiss_kappa(uses))
    table = np.bincount(ratings[:, 0] * size + ratings[:, 1], minlength=size * size)
    return float(inter_rater.cohens_kappa(table.reshape(size, size), return_results=False))


def _drawn(
    ratings: np.ndarray, units: np.ndarray, size: int, *, resamples: int, seed: int
) -> np.ndarray:
    """Kappa of each draw of units with replacement."""
    count = int(units.max()) + 1 if len(units) else 0
    if count < 2 or not resamples:
        return np.empty(0)
    draw = np.random.default_rng(seed)
    weights = draw.multinomial(count, np.full(count, 1 / count), size=resamples)
    return np.array([_kappa(np.repeat(ratings, times[units], axis=0), size) for times in weights])
