"""Tests for a user's own continuous integration: is a system still as good as it was?"""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from formlab.analysis.comparability import common
from formlab.analysis.compare import compare, score_pairs
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Evaluation
from formlab.stats.tests import contributions, documents_needed, loss_p, paired_differences

__all__ = ["assert_not_worse"]

# How many documents a failure names.
NAMED = 5
_INTERVAL = "difference {difference:+.4g}, {} interval {ci_low:+.4g} to {ci_high:+.4g}, p = {p:.3g}"
_MESSAGE = """\
{metric} ({average}{level}) of {system_a} on {benchmark}:{split} {says} {margin:g}
{value:.4g} against {baseline:.4g} of the baseline: {tested} against alpha = {alpha:g}
n = {n_docs} documents, {n_worse} worse and {n_better} better. {verdict}."""


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

    A paired test of non-inferiority by documents (`stats.tests.loss_p`): a system that truly loses
    the margin passes in about `alpha` of corpora. Too few documents therefore fail, but where the
    tallies of every document are the same, any margin passes. A kind of fields that is shown by
    `compare` to lose more than the margin fails as well, whatever the others gain.

    Returns `value baseline difference ci_low ci_high p margin n_docs n_worse n_better`. The
    difference is by how much the system is better, its interval that of `compare` at 1 - 2 `alpha`.

    Raises `AssertionError` with these numbers, the kinds that are worse and the documents that lost
    the most; `DataBroken` or `UnknownName` if the evaluations cannot be compared, or the metric was
    not scored; `ValueError` if margin or alpha are out of range.

    `evaluation`, `baseline`: of the same documents, or the folders that they are saved in;
    `margin`: the loss from which on the system is worse, in the unit of the metric (with 0 it must
    be shown to be better); `alpha`: the level of the one-sided test, in (0, 1); `average`:
    ``pooled`` or ``macro``; `level`: what the scores are of (``field``, ``page`` …), for a metric
    that is taken of several; `resamples`, `permutations`, `seed`: of the interval and the test.

    >>> import formlab
    >>> ocr = formlab.open_evaluation()
    >>> numbers = assert_not_worse(ocr, ocr, "normalised_accuracy", margin=0.02)
    >>> numbers["difference"], numbers["n_docs"] == ocr.documents.height
    (0.0, True)
    """
    __tracebackhide__ = True
    if not (margin >= 0 and 0 < alpha < 1):
        raise ValueError(f"margin {margin} must be 0 or more, alpha {alpha} in (0, 1)")
    given = evaluation, baseline
    opened = [e if isinstance(e, Evaluation) else Evaluation.load(e) for e in given]
    systems = common(opened).evaluations
    pairs = [p for p in score_pairs(systems, [metric], average=average) if not p.labels["slice_by"]]
    levels = {pair.labels["level"]: pair for pair in pairs}
    if level is None and len(levels) > 1:
        what = f"{metric} is of {' and of '.join(levels)}"
        raise DataBroken(what, remedy=f"level={next(iter(levels))!r}")
    if level not in (None, *levels):
        raise UnknownName.of(f"level of {metric}", level, levels)
    pair = levels[level or next(iter(levels))]
    # Tallies are in small types, whose differences wrap around.
    wide = {"first": pair.first.astype(float), "second": pair.second.astype(float)}
    pair, draws = dataclasses.replace(pair, **wide), {"resamples": resamples, "seed": seed}
    (row,) = paired_differences([pair], permutations=0, level=1 - 2 * alpha, **draws)
    leads = np.nan_to_num(pair.lead(pair.first, pair.second))
    numbers = {"value": row["value_a"], "baseline": row["value_b"]}
    numbers |= {name: row[name] for name in ("difference", "ci_low", "ci_high")}
    numbers["p"] = loss_p(pair, margin, permutations=permutations, seed=seed)
    numbers |= {"margin": margin, "n_docs": row["n_docs"]}
    numbers |= {"n_worse": int((leads < 0).sum()), "n_better": int((leads > 0).sum())}
    if np.array_equal(pair.first, pair.second) and not np.isnan(row["difference"]):
        return numbers
    draws |= {"permutations": permutations, "average": average, "level": 1 - alpha}
    kinds = compare(systems, metric=metric, by=["kind"], **draws).sort("difference")
    of_kind = {"slice_by": "kind", "level": row["level"], "better": systems[1].system}
    kinds = kinds.filter(pl.col("difference") < -margin, **of_kind).to_dicts()
    if numbers["p"] <= alpha and not kinds:
        return numbers
    needed, says = documents_needed(2 * alpha), "is not shown to lose less than"
    verdict = "Neither a loss of the margin nor its absence is shown"
    if -row["ci_high"] >= margin:
        verdict = "The loss is shown: all of the interval is beyond the margin"
    elif numbers["p"] <= alpha:
        verdict = "A loss of the margin is excluded overall"
        says = "loses on some kinds more than"
    elif row["n_docs"] < needed:
        verdict = f"With {row['n_docs']} documents nothing can be shown, {needed} are needed"
    row |= numbers | {"says": says, "alpha": alpha, "verdict": verdict}
    row["average"] = f"{average} " * (average != "pooled")
    row["tested"] = _INTERVAL.format(f"{1 - 2 * alpha:.0%}", **row)
    lines = [_MESSAGE.format(**row), *["Shown on kinds:"] * bool(kinds)]
    for kind in kinds:
        tested = _INTERVAL.format(f"{1 - alpha:.0%}", **kind | {"p": kind["p_holm"]})
        lines.append(f"  {kind['slice_value']}: {tested} after Holm, {kind['n_docs']} documents")
    worst = [at for at in np.argsort(contributions(pair))[:NAMED] if leads[at] < 0]
    lines += ["Most lost:"] * bool(worst)
    for at in worst:
        old, new = (pair.score(parts[at]) for parts in (pair.second, pair.first))
        lines.append(f"  {systems[0].document_names[int(at)]}: {old:.3g} to {new:.3g}")
    raise AssertionError("\n".join(lines))
