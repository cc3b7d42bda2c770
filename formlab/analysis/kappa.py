"""Agreement of raters beyond chance: Cohen's and Fleiss' kappa, with bootstrap intervals."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import polars as pl

from formlab.stats.draws import by_document, drawn_sums, percentiles

_NUMBERS = ("kappa", "ci_low", "ci_high")


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

    `table` has a row per item and a column per rater, null where it gave no answer. Values of
    `unit` are drawn with replacement: items of a page are not independent.

    Returns
    -------
    polars.DataFrame
        `raters kappa ci_low ci_high n_items n_same`, over the items that all of these raters
        answered; kappa is in [-1, 1], NaN where there are no items or all answers are the same.
        `n_same` items have one answer only.

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
        rated = table.select(unit, *names).drop_nulls()
        answers = rated.select(names).to_numpy()
        known = sorted({value for row in answers.tolist() for value in row}, key=str)
        # Items, raters and answers: who uses which.
        used = (answers[:, :, None] == np.array(known, dtype=answers.dtype)).astype(float)
        totals = used.sum(axis=1)
        same = (totals * (totals - 1)).sum(axis=1) / (len(names) * (len(names) - 1))
        # Of two raters each has uses of its own (Cohen), of several all together (Fleiss).
        uses = used.reshape(len(used), 2 * len(known)) if len(names) == 2 else totals
        documents, number = np.unique(rated[unit].to_numpy(), return_inverse=True)
        columns = [np.ones(len(used)), same, *uses.T]
        sums = by_document(number.reshape(-1), columns, len(documents))
        draws = resamples if len(sums) > 1 else 0
        drawn = _kappa(drawn_sums(sums, resamples=draws, seed=seed), len(names))
        kappa = _kappa(sums.sum(axis=0, keepdims=True), len(names))[0]
        n_same = int((totals.max(axis=1, initial=0) == len(names)).sum())
        ends = percentiles(drawn, level)
        rows.append((" × ".join(names), kappa, *ends, rated.height, n_same))
    schema = {"raters": pl.String} | dict.fromkeys(_NUMBERS, pl.Float64)
    schema |= dict.fromkeys(("n_items", "n_same"), pl.Int64)
    return pl.DataFrame(rows, schema=schema, orient="row")


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
