"""Over all benchmarks: their summaries, and whether metrics rank documents and systems alike."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
import scipy

from formlab import metrics
from formlab.analysis.finding import origin
from formlab.analysis.summarise import summarise
from formlab.folders import Evaluation
from formlab.stats.draws import draws, percentiles
from formlab.stats.sums import document_sums
from formlab.tables import FIELD_LEVELS, SUMMARY

AGREEMENT: dict[str, Any] = {
    **dict.fromkeys(("benchmark", "split", "system", "metric", "other", "unit"), pl.String),
    **dict.fromkeys(("tau", "ci_low", "ci_high", "p"), pl.Float64),
    "n": pl.Int64,
}


def summaries(
    evaluations: Iterable[Evaluation], *, resamples: int = 1000, seed: int = 0
) -> pl.DataFrame:
    """The summary tables of several evaluations below each other.

    Examples
    --------
    >>> summaries([]).columns == list(SUMMARY)
    True
    """
    rows = [summarise(evaluation, resamples=resamples, seed=seed) for evaluation in evaluations]
    return pl.concat([pl.DataFrame(schema=SUMMARY), *rows])


def metric_rank_correlation(
    evaluation: Evaluation, *, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> pl.DataFrame:
    """Kendall's τ-b between metrics: do they rank the documents of an evaluation alike?

    A document has the score of its summed tallies. Metrics that do not differ between documents
    are left out.

    Returns
    -------
    polars.DataFrame
        As from `system_rank_correlation`; the unit is ``document``, and documents are drawn.
    """
    columns: dict[str, np.ndarray] = {}
    for row in document_sums(evaluation, (), average="pooled"):
        name = row.labels["metric"]
        # A score of whole documents goes before that of their fields, which are in it.
        is_part = name in columns and row.labels["level"] in FIELD_LEVELS
        if row.labels["slice_by"] is None and not is_part:
            with np.errstate(invalid="ignore", divide="ignore"):
                columns[name] = row.score(row.parts)
    columns = {name: v for name, v in columns.items() if len(np.unique(v[~np.isnan(v)])) > 1}
    facts = origin(evaluation) | {"unit": "document"}
    return _taus(pl.DataFrame(columns), list(columns), facts, resamples, level, seed)


def system_rank_correlation(
    printed: pl.DataFrame,
    names: Sequence[str],
    *,
    benchmark: str,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Kendall's τ-b between columns: do metrics, or benchmarks, rank the systems of a table alike?

    Parameters
    ----------
    printed
        A row for each system, a column for each of `names`; registered metrics that are better at
        low values are turned round, so that a positive τ always means agreement.
    resamples, level, seed
        Of the percentile interval, which draws systems.

    Returns
    -------
    polars.DataFrame
        A row for each pair of columns (`AGREEMENT`), the unit ``system``; `n` systems have both.
        `p` is that of `scipy.stats.kendalltau`. τ is NaN where a column is the same everywhere.

    Examples
    --------
    >>> table = pl.DataFrame({"cer": [0.1, 0.2, 0.4], "facts": [0.9, 0.8, 0.3]})
    >>> system_rank_correlation(table, list(table.columns), benchmark="b", resamples=0)["tau"][0]
    1.0
    """
    table = printed.select(pl.col(names).cast(pl.Float64))
    facts = {"benchmark": benchmark, "unit": "system"}
    return _taus(table, names, facts, resamples, level, seed)


def _taus(
    table: pl.DataFrame,
    names: Sequence[str],
    facts: dict[str, str],
    resamples: int,
    level: float,
    seed: int,
) -> pl.DataFrame:
    down = [name for name, entry in metrics.METRICS.items() if entry.direction == "down"]
    rows = []
    for pair in itertools.combinations(names, 2):
        x, y = table.select(pair).fill_nan(None).drop_nulls().to_numpy().T
        tau = p = low = high = np.nan
        if len(np.unique(x)) > 1 and len(np.unique(y)) > 1:
            sign = -1 if (pair[0] in down) != (pair[1] in down) else 1
            tau, p = scipy.stats.kendalltau(x, sign * y)
            taus = drawn_taus(x, sign * y, resamples=resamples, seed=seed)
            low, high = percentiles(taus, level)
        row = {"metric": pair[0], "other": pair[1], "tau": tau, "p": p}
        rows.append(facts | row | {"ci_low": low, "ci_high": high, "n": len(x)})
    return pl.DataFrame(rows, schema=AGREEMENT)


def drawn_taus(x: np.ndarray, y: np.ndarray, *, resamples: int, seed: int) -> np.ndarray:
    """Kendall's τ-b of draws with replacement; draws in which it is undefined are left out.

    With weights w, how often each unit is drawn, concordances less discordances are the quadratic
    form w' S w, S the products of the signs of all differences; so no draw is ranked anew.
    """
    signs = [np.sign(values[:, None] - values[None, :]) for values in (x, y)]
    forms = [signs[0] * signs[1], np.abs(signs[0]), np.abs(signs[1])]
    taus = [np.empty(0)]
    for weights in draws(len(x), resamples=resamples, seed=seed):
        agree, untied_x, untied_y = (((weights @ form) * weights).sum(axis=1) for form in forms)
        defined = (untied_x > 0) & (untied_y > 0)
        taus.append(agree[defined] / np.sqrt(untied_x[defined] * untied_y[defined]))
    return np.concatenate(taus)
