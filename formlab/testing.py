"""Tests for a user's own continuous integration: is a system still as good as it was?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from formlab import metrics
from formlab.analysis.comparability import common
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Evaluation
from formlab.stats.sums import Row, document_sums
from formlab.stats.tests import Pair, contributions, loss_test, paired_differences

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
    level: str | None = None,
    resamples: int = 1000,
    permutations: int = 9999,
    seed: int = 0,
) -> dict[str, Any]:
    """Fail unless a loss of `margin` or more against the baseline can be excluded.

    A paired test of non-inferiority by documents (`stats.tests.loss_test`): a system
    that truly loses the margin passes in about `alpha` of corpora, whatever their size. Too few
    documents therefore fail, also where the systems are equal; the message says which margin they
    could show. Where the tallies of
    every document are the same, any margin passes.

    Parameters
    ----------
    evaluation, baseline
        Of the same documents, or the folders that they are saved in.
    metric
        One that both were scored by, ``macro_`` means included.
    margin
        The loss from which on the system is worse, in the unit of the metric, 0 and more. With 0
        it must be shown to be better.
    alpha
        The level of the one-sided test, in (0, 1).
    level
        What the scores are of (``field``, ``page`` …), for a metric that is taken of several.
    resamples, permutations, seed
        Of the interval, of the test and of both.

    Returns
    -------
    dict
        `value baseline difference ci_low ci_high p least_margin margin n_docs n_worse n_better`.
        The interval is that of `compare` at 1 - 2 `alpha`; `least_margin` the loss that these
        documents can exclude.

    Raises
    ------
    AssertionError
        With both values, the difference, its interval, p, n and the documents that lost the most.
    DataBroken, UnknownName
        If the evaluations cannot be compared, or the metric was not scored.
    ValueError
        If margin or alpha are out of range.

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
    sides = [
        each if isinstance(each, Evaluation) else Evaluation.load(each)
        for each in (baseline, evaluation)
    ]
    pair, documents = _pair(common(sides).evaluations, metric, level)
    up = metrics.get(metrics.plain(metric)).direction == "up"
    row = paired_differences(
        [pair], resamples=resamples, permutations=0, level=1 - 2 * alpha, seed=seed
    )[0]  # fmt: skip
    gains = contributions(pair) if up else -contributions(pair)
    changed = (pair.first != pair.second).any(axis=1)
    own = pair.score(pair.second) - pair.score(pair.first)
    own = np.nan_to_num(own if up else -own)
    p, most = loss_test(
        pair, margin, alpha=alpha, up=up, permutations=permutations, seed=seed
    )  # fmt: skip
    numbers = {
        "value": row["value_b"], "baseline": row["value_a"], "difference": row["difference"],
        "ci_low": row["ci_low"], "ci_high": row["ci_high"],
        "p": p, "least_margin": most, "margin": margin, "n_docs": pair.labels["n_docs"],
        "n_worse": int((own < 0).sum()), "n_better": int((own > 0).sum()),
    }  # fmt: skip
    shown = numbers["p"] <= alpha or not changed.any()
    if not shown or np.isnan(numbers["difference"]):
        most = [index for index in np.argsort(gains)[:NAMED] if own[index] < 0]
        values = pair.score(np.stack([pair.first[most], pair.second[most]]))
        lost = [
            f"  {documents[index]}: {before:.3g} to {after:.3g}"
            for index, before, after in zip(most, *values, strict=True)
        ]
        raise AssertionError(_message(pair.labels | numbers, alpha, up, lost))
    return numbers


def _pair(
    evaluations: tuple[Evaluation, ...], metric: str, level: str | None
) -> tuple[Pair, list[str]]:
    """The tallies of both systems by document, and the documents."""
    documents = evaluations[0].document_names.to_list()
    sides = [
        {row.labels["level"]: row for row in document_sums(each, ()) if _is(row, metric)}
        for each in evaluations
    ]
    levels = list(dict.fromkeys([*sides[0], *sides[1]]))
    if not levels:
        known = dict.fromkeys(row.labels["metric"] for row in document_sums(evaluations[0], ()))
        raise UnknownName.of("metric scored for both systems", metric, known)
    if level is None and len(levels) > 1:
        raise DataBroken(f"{metric} is of {' and of '.join(levels)}", remedy=f"level='{levels[0]}'")
    if level not in (None, *levels):
        raise UnknownName.of(f"level of {metric}", level, levels)
    rows = [side.get(level or levels[0]) for side in sides]
    known = [row for row in rows if row]
    parts = [row.parts if row else np.zeros_like(known[0].parts) for row in rows]
    labels = known[-1].labels | {"n_docs": max(row.labels["n_docs"] for row in known)}
    return Pair(*parts, known[0].score, labels), documents


def _is(row: Row, metric: str) -> bool:
    return row.labels["metric"] == metric and row.labels["slice_by"] is None


def _message(row: dict[str, Any], alpha: float, up: bool, lost: list[str]) -> str:
    low, high = row["ci_low"], row["ci_high"]
    if (-high if up else low) >= row["margin"]:
        verdict = "The loss is shown: all of the interval is beyond the margin"
    elif np.isnan(row["p"]):
        verdict = "The score is undefined, or of too few documents to show anything"
    else:
        verdict = "Neither a loss of the margin nor its absence is shown"
    if np.isfinite(row["least_margin"]):
        verdict += f"; a loss beyond {max(row['least_margin'], 0):.3g} can be excluded"
    lines = [
        f"{row['metric']} ({row['level']}) of {row['system']} on {row['benchmark']}:{row['split']} "
        f"is not shown to lose less than {row['margin']:g}",
        f"{row['value']:.4g} against {row['baseline']:.4g} of the baseline: difference "
        f"{row['difference']:+.4g}, {1 - 2 * alpha:.0%} interval {low:+.4g} to {high:+.4g}, "
        f"p = {row['p']:.3g} against alpha = {alpha:g}",
        f"n = {row['n_docs']} documents, {row['n_worse']} worse and {row['n_better']} better. "
        f"{verdict}.",
    ]
    return "\n".join([*lines, *(["Most lost:", *lost] if lost else [])])
