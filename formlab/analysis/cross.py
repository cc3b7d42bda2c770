"""Over all benchmarks: their summaries, and whether metrics rank documents alike."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

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

_WORDS = ("benchmark", "split", "system", "metric", "other")
_NUMBERS = ("tau", "ci_low", "ci_high", "p")


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
        A row for each pair of metrics: `benchmark split system metric other tau ci_low ci_high p
        n`. Better counts as higher for every metric, so that a positive τ means agreement; `n`
        documents have both scores. The interval draws documents, `p` is that of
        `scipy.stats.kendalltau`.
    """
    scores: dict[str, np.ndarray] = {}
    for row in document_sums(evaluation, (), average="pooled"):
        name = row.labels["metric"]
        # A score of whole documents goes before that of their fields, which are in it.
        is_part = name in scores and row.labels["level"] in FIELD_LEVELS
        if row.labels["slice_by"] is None and not is_part:
            with np.errstate(invalid="ignore", divide="ignore"):
                sign = -1 if metrics.get(name).direction == "down" else 1
                scores[name] = sign * row.score(row.parts)
    varied = {name: v for name, v in scores.items() if len(np.unique(v[~np.isnan(v)])) > 1}
    rows = []
    for (metric, first), (other, second) in itertools.combinations(varied.items(), 2):
        both = ~np.isnan(first) & ~np.isnan(second)
        x, y = first[both], second[both]
        tau, p = scipy.stats.kendalltau(x, y) if both.sum() > 1 else (np.nan, np.nan)
        low, high = percentiles(drawn_taus(x, y, resamples=resamples, seed=seed), level)
        pair = {"metric": metric, "other": other, "tau": tau, "p": p, "n": len(x)}
        rows.append(origin(evaluation) | pair | {"ci_low": low, "ci_high": high})
    schema = dict.fromkeys(_WORDS, pl.String) | dict.fromkeys(_NUMBERS, pl.Float64)
    return pl.DataFrame(rows, schema=schema | {"n": pl.Int64})


def drawn_taus(x: np.ndarray, y: np.ndarray, *, resamples: int, seed: int) -> np.ndarray:
    """Kendall's τ-b of draws with replacement, those left out in which it is undefined."""
    # With weights w, how often each unit is drawn, concordances less discordances are the quadratic
    # form w' S w, S the products of the signs of all differences; so no draw is ranked anew.
    signs = [np.sign(values[:, None] - values[None, :]) for values in (x, y)]
    forms = [signs[0] * signs[1], np.abs(signs[0]), np.abs(signs[1])]
    taus = [np.empty(0)]
    for weights in draws(len(x), resamples=resamples, seed=seed):
        agree, untied_x, untied_y = (((weights @ form) * weights).sum(axis=1) for form in forms)
        defined = (untied_x > 0) & (untied_y > 0)
        taus.append(agree[defined] / np.sqrt(untied_x[defined] * untied_y[defined]))
    return np.concatenate(taus)
