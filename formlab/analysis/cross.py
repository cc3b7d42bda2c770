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
from formlab.analysis.intervals import draws, percentiles
from formlab.analysis.summarise import summarise
from formlab.folders import Evaluation
from formlab.stats.sums import document_sums
from formlab.tables import FIELD_LEVELS, SUMMARY

AGREEMENT: dict[str, Any] = {
    "benchmark": pl.String, "split": pl.String, "system": pl.String, "metric": pl.String,
    "other": pl.String, "unit": pl.String, "tau": pl.Float64, "ci_low": pl.Float64,
    "ci_high": pl.Float64, "p": pl.Float64, "n": pl.Int64,
}  # fmt: skip


def summaries(
    evaluations: Iterable[Evaluation], *, resamples: int = 1000, seed: int = 0
) -> pl.DataFrame:
    """The summary tables of several evaluations below each other.

    Examples
    --------
    >>> summaries([]).columns == list(SUMMARY)
    True
    """
    rows = [summarise(each, resamples=resamples, seed=seed) for each in evaluations]
    return pl.concat([pl.DataFrame(schema=SUMMARY), *rows])


def metric_rank_correlation(
    evaluation: Evaluation,
    names: Sequence[str] | None = None,
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Kendall's τ-b between metrics: do they rank the documents of an evaluation alike?

    A document has the score of its summed tallies. What is better at low values is turned round,
    so that a positive τ always means agreement.

    Parameters
    ----------
    names
        Registered metrics; all that differ between documents if left out.
    resamples, level, seed
        Of the percentile interval, which draws documents.

    Returns
    -------
    polars.DataFrame
        A row for each pair of metrics (`AGREEMENT`); `n` documents have both. `p` is that of
        `scipy.stats.kendalltau`. τ is NaN where a metric is the same on all of them.
    """
    table = _by_document(evaluation)
    chosen = table.columns if names is None else [name for name in names if name in table.columns]
    base = origin(evaluation) | {"unit": "document"}
    return _taus(table, chosen, base, resamples=resamples, level=level, seed=seed)


def system_rank_correlation(
    printed: pl.DataFrame,
    names: Sequence[str],
    *,
    benchmark: str,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Kendall's τ-b between published columns: do metrics rank the systems of a table alike?

    Parameters
    ----------
    printed
        A row for each system, a column for each of `names`; those that are registered metrics,
        better at low values, are turned round.

    Returns
    -------
    polars.DataFrame
        As from `metric_rank_correlation`, the unit `system`; the interval draws systems.

    Examples
    --------
    >>> table = pl.DataFrame({"cer": [0.1, 0.2, 0.4], "facts": [0.9, 0.8, 0.3]})
    >>> system_rank_correlation(table, list(table.columns), benchmark="b", resamples=0)["tau"][0]
    1.0
    """
    table = printed.select(pl.col(name).cast(pl.Float64) * _sign(name) for name in names)
    base = {"benchmark": benchmark, "unit": "system"}
    return _taus(table, names, base, resamples=resamples, level=level, seed=seed)


def _sign(name: str) -> int:
    entry = metrics.METRICS.get(name)
    return -1 if entry and entry.direction == "down" else 1


def _by_document(evaluation: Evaluation) -> pl.DataFrame:
    """A column for each metric, a row for each document: its own score, high for good."""
    columns: dict[str, np.ndarray] = {}
    for row in document_sums(evaluation, ()):
        name = row.labels["metric"]
        # A score of whole documents goes before that of their fields, which are in it.
        if name not in metrics.METRICS or row.labels["slice_by"] is not None:
            continue
        if name in columns and row.labels["level"] in FIELD_LEVELS:
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            values = row.score(row.parts) * _sign(name)
        if len(np.unique(values[~np.isnan(values)])) > 1:
            columns[name] = values
    return pl.DataFrame(columns)


def _taus(
    table: pl.DataFrame, names: Sequence[str], base: dict[str, str], **options: Any
) -> pl.DataFrame:
    rows = [
        base | {"metric": name, "other": other} | _tau(table.select(name, other), **options)
        for name, other in itertools.combinations(names, 2)
    ]
    return pl.DataFrame(rows, schema=AGREEMENT)


def _tau(table: pl.DataFrame, *, resamples: int, level: float, seed: int) -> dict[str, Any]:
    x, y = table.fill_nan(None).drop_nulls().to_numpy().T
    missing = {"tau": np.nan, "ci_low": np.nan, "ci_high": np.nan, "p": np.nan, "n": len(x)}
    if len(x) < 2 or len(np.unique(x)) < 2 or len(np.unique(y)) < 2:
        return missing
    tau, p = scipy.stats.kendalltau(x, y)
    low, high = percentiles(drawn_taus(x, y, resamples=resamples, seed=seed), level)
    return missing | {"tau": float(tau), "p": float(p), "ci_low": low, "ci_high": high}


def drawn_taus(x: np.ndarray, y: np.ndarray, *, resamples: int, seed: int) -> np.ndarray:
    """Kendall's τ-b of draws with replacement; draws in which it is undefined are left out.

    With weights w, how often each unit is drawn, concordances less discordances are the quadratic
    form w' S w, S the products of the signs of all differences; so no draw is ranked anew.
    """
    signs = [np.sign(values[:, None] - values[None, :]) for values in (x, y)]
    forms = [signs[0] * signs[1], np.abs(signs[0]), np.abs(signs[1])]
    taus = []
    for weights in draws(len(x), resamples=resamples, seed=seed):
        agree, untied_x, untied_y = (((weights @ form) * weights).sum(axis=1) for form in forms)
        defined = (untied_x > 0) & (untied_y > 0)
        taus.append(agree[defined] / np.sqrt(untied_x[defined] * untied_y[defined]))
    return np.concatenate([np.empty(0), *taus])
