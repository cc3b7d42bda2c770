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
        answers = np.array([[codes[value] for value in both[name]] for name in names], dtype=int).T
        pages = both[unit].rank("dense").to_numpy() - 1 if both.height else np.empty(0, dtype=int)
        answers = answers.reshape(-1, len(names))
        kappa = _kappa(answers, len(codes))
        low, high = _interval(answers, len(codes), pages, resamples, level, seed)
        rows.append((" × ".join(names), kappa, low, high, both.height))
    schema = {"raters": pl.String, "kappa": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64}
    return pl.DataFrame(rows, schema=schema | {"n_items": pl.Int64}, orient="row")


def _values(table: pl.DataFrame, names: Sequence[str]) -> list[Any]:
    return sorted({value for name in names for value in table[name]}, key=str)


def _kappa(answers: np.ndarray, size: int) -> float:
    """Cohen's kappa of two columns of answers, Fleiss' of more; NaN where it is undefined."""
    # It takes a second to import, and few commands need it.
    from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa

    if not len(answers):
        return float("nan")
    with np.errstate(invalid="ignore", divide="ignore"):
        if answers.shape[1] == 2:
            counts = np.bincount(answers @ [size, 1], minlength=size * size)
            return float(cohens_kappa(counts.reshape(size, size), return_results=False))
        return float(fleiss_kappa((answers[:, :, None] == np.arange(size)).sum(axis=1)))


def _interval(
    answers: np.ndarray, size: int, pages: np.ndarray, resamples: int, level: float, seed: int
) -> tuple[float, float]:
    """The percentile interval over pages drawn with replacement."""
    count = int(pages.max()) + 1 if len(pages) else 0
    if count < 2 or not resamples:
        return float("nan"), float("nan")
    draw = np.random.default_rng(seed)
    weights = draw.multinomial(count, np.full(count, 1 / count), size=resamples)
    values = np.array([_kappa(np.repeat(answers, row[pages], axis=0), size) for row in weights])
    values = values[~np.isnan(values)]
    if not len(values):
        return float("nan"), float("nan")
    low, high = np.quantile(values, ((1 - level) / 2, (1 + level) / 2))
    return float(low), float(high)
