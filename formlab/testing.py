"""Tests for a user's own continuous integration: is a system still as good as it was?"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics
from formlab.analysis.comparability import common
from formlab.analysis.compare import compare, score_pairs, score_rows
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Evaluation
from formlab.stats.tests import (
    Pair,
    contributions,
    documents_needed,
    loss_p,
    paired_differences,
)

__all__ = ["assert_not_worse"]

# How many documents a failure names.
NAMED = 5


def assert_not_worse(
    evaluation: Evaluation | str | Path,
    baseline: Evaluation | str | Path,
    metric: str,
    margin: float,
    alpha: float = 0.05,
    *,
    average: str = "pooled",
    level: str | None = None,
    resamples: int = 1000,
    permutations: int = 9999,
    seed: int = 0,
) -> dict[str, Any]:
    """Fail unless a loss of `margin` or more against the baseline can be excluded.

    A paired test of non-inferiority by documents (`stats.tests.loss_p`): a system that truly
    loses the margin passes in about `alpha` of corpora, whatever their size. Too few documents
    therefore fail, also where the systems are equal.
    Where the tallies of every document are the same, any margin passes. A kind of fields that is
    shown by `compare` to lose more than the margin fails as well, whatever the others gain.

    Returns `value baseline difference ci_low ci_high p margin n_docs n_worse n_better`.
    `difference` is by how much the system is better. Its interval is that of `compare` at
    1 - 2 `alpha`.

    Raises `AssertionError` with both values, the difference, its interval, p, n, the kinds that are
    worse and the documents that lost the most; `DataBroken` or `UnknownName` if the evaluations
    cannot be compared, or the metric was not scored; `ValueError` if margin or alpha are out of
    range.

    Parameters
    ----------
    evaluation, baseline
        Of the same documents, or the folders that they are saved in.
    metric
        One that both were scored by.
    margin
        The loss from which on the system is worse, in the unit of the metric, 0 and more. With 0
        it must be shown to be better.
    alpha
        The level of the one-sided test, in (0, 1).
    average
        ``pooled`` or ``macro``, the mean over documents.
    level
        What the scores are of (``field``, ``page`` …), for a metric that is taken of several.
    resamples, permutations, seed
        Of the interval, of the test and of both.

    Examples
    --------
    >>> import formlab
    >>> ocr = formlab.open_evaluation()
    >>> numbers = assert_not_worse(ocr, ocr, "normalised_accuracy", margin=0.02)
    >>> numbers["difference"], numbers["n_docs"] == ocr.documents.height
    (0.0, True)
    """
    __tracebackhide__ = True
    if not (margin >= 0 and 0 < alpha < 1):
        raise ValueError(f"margin {margin} must be 0 or more, alpha {alpha} in (0, 1)")
    given = (evaluation, baseline)
    loaded = [each if isinstance(each, Evaluation) else Evaluation.load(each) for each in given]
    systems = common(loaded).evaluations
    whole = _pair(systems, metric, average, level)
    draws = {"resamples": resamples, "seed": seed}
    (row,) = paired_differences([whole], permutations=0, level=1 - 2 * alpha, **draws)
    p = loss_p(whole, margin, permutations=permutations, seed=seed)
    leads = np.nan_to_num(whole.lead(whole.first, whole.second))
    numbers = {
        "value": row["value_a"],
        "baseline": row["value_b"],
        **{name: row[name] for name in ("difference", "ci_low", "ci_high")},
        "p": p,
        "margin": margin,
        "n_docs": whole.labels["n_docs"],
        "n_worse": int((leads < 0).sum()),
        "n_better": int((leads > 0).sum()),
    }
    alike = np.array_equal(whole.first, whole.second)
    kinds = {"metric": metric, "average": average, "by": ["kind"], "level": 1 - alpha}
    table = compare(systems, **kinds, permutations=permutations, **draws).sort("difference")
    of_kinds = pl.col("slice_by") == "kind", pl.col("level") == whole.labels["level"]
    worse = pl.col("better") == systems[1].system, -pl.col("difference") > margin
    lost = [] if alike else table.filter(*of_kinds, *worse).to_dicts()
    shown = (p <= alpha or alike) and not np.isnan(numbers["difference"])
    if not shown or lost:
        documents = systems[0].document_names.to_list()
        places = [at for at in np.argsort(contributions(whole))[:NAMED] if leads[at] < 0]
        values = [whole.score(parts[places]) for parts in (whole.second, whole.first)]
        lines = [
            f"  {documents[at]}: {before:.3g} to {after:.3g}"
            for at, before, after in zip(places, *values, strict=True)
        ]
        raise AssertionError(_message(whole.labels | numbers, alpha, shown, lost, lines))
    return numbers


def _pair(
    evaluations: tuple[Evaluation, ...], metric: str, average: str, level: str | None
) -> Pair:
    """The parts of both systems by document."""
    rows = score_rows(evaluations, (), average)
    first, second = (each.system for each in evaluations)
    pairs = [
        pair
        for pair in score_pairs(rows, (first, second), [metric])
        if pair.labels["slice_by"] is None
    ]
    levels = [pair.labels["level"] for pair in pairs]
    if not levels:
        metrics.refuse_mean(metric)
        known = dict.fromkeys(key[0] for key in rows[first])
        raise UnknownName.of("metric scored for both systems", metric, known)
    if level is None and len(levels) > 1:
        raise DataBroken(f"{metric} is of {' and of '.join(levels)}", remedy=f"level='{levels[0]}'")
    if level not in (None, *levels):
        raise UnknownName.of(f"level of {metric}", level, levels)
    pair = pairs[levels.index(level or levels[0])]
    # Tallies are in small types, whose differences wrap around.
    parts = {"first": pair.first.astype(float), "second": pair.second.astype(float)}
    return dataclasses.replace(pair, **parts)


def _message(
    row: dict[str, Any], alpha: float, shown: bool, kinds: list[dict[str, Any]], lost: list[str]
) -> str:
    low, high, n_docs = row["ci_low"], row["ci_high"], row["n_docs"]
    # Of the 2^n flips of n documents one is as good as the best.
    needed = documents_needed(2 * alpha)
    if -high >= row["margin"]:
        verdict = "The loss is shown: all of the interval is beyond the margin"
    elif shown:
        verdict = "A loss of the margin is excluded overall"
    elif n_docs < needed:
        verdict = f"With {n_docs} documents nothing can be shown, {needed} are needed"
    elif np.isnan(row["p"]):
        verdict = "The score is undefined, or is so without one of the documents"
    else:
        verdict = "Neither a loss of the margin nor its absence is shown"
    mean = ", mean over documents" if row["average"] == metrics.MACRO else ""
    score = f"{row['metric']} ({row['level']}{mean}) of {row['system_a']}"
    score += f" on {row['benchmark']}:{row['split']}"
    says = "loses on some kinds more than" if shown else "is not shown to lose less than"
    lines = [
        f"{score} {says} {row['margin']:g}",
        f"{row['value']:.4g} against {row['baseline']:.4g} of the baseline: difference "
        f"{row['difference']:+.4g}, {1 - 2 * alpha:.0%} interval {low:+.4g} to {high:+.4g}, "
        f"p = {row['p']:.3g} against alpha = {alpha:g}",
        f"n = {n_docs} documents, {row['n_worse']} worse and {row['n_better']} better. {verdict}.",
    ]
    lines += ["Shown on kinds:"] * bool(kinds)
    lines += [
        f"  {kind['slice_value']}: difference {kind['difference']:+.4g}, {1 - alpha:.0%} interval "
        f"{kind['ci_low']:+.4g} to {kind['ci_high']:+.4g}, p = {kind['p_holm']:.3g} after Holm, "
        f"{kind['n_docs']} documents"
        for kind in kinds
    ]
    return "\n".join([*lines, *["Most lost:"] * bool(lost), *lost])
