"""Where a system is significantly worse than on the rest: slices of up to three columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis.finding import LABEL, READER
from formlab.analysis.intervals import draws, percentiles
from formlab.analysis.slice_search import (
    Scored,
    Slice,
    beats_parents,
    coded,
    passed,
    score_test,
    search,
)
from formlab.analysis.summarise import of_cases, sliced
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.tables import Settings

OUTCOME = "outcome"
# What is known of a field without looking at how it was read.
COLUMNS = (
    "task", "kind", "modality", "subtype", "scope", "reference", "complexity", "modal", "template",
    "domain", "page", "length", "nesting", "box_height", "box_width", "position", "certainty",
)  # fmt: skip
SLICES: dict[str, Any] = {
    "benchmark": pl.String, "split": pl.String, "system": pl.String, "metric": pl.String,
    "slice_by": pl.List(pl.String), "slice_value": pl.List(pl.String),
    "value": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "rest": pl.Float64,
    "difference": pl.Float64, "difference_low": pl.Float64, "difference_high": pl.Float64,
    "p": pl.Float64, "p_adjusted": pl.Float64, "excess": pl.Float64,
    "n_docs": pl.Int64, "n_cases": pl.Int64, "n_tested": pl.Int64,
    "mode": pl.String, "settings": tables.SETTINGS,
}  # fmt: skip
CORRECTIONS = ("by", "bh")
# Defined by the error: a slice of them is bad by its making.
_AFTERWARDS = ("outcome", "cause", "similarity", "status", "exact", "normalised", "typed", "fuzzy")


def find_slices(
    evaluations: Evaluation | Sequence[Evaluation],
    *,
    metric: str = OUTCOME,
    columns: Sequence[str] | None = None,
    max_columns: int = 3,
    min_docs: int = 5,
    min_cases: int = 20,
    alpha: float = 0.05,
    correction: str = "by",
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """The slices of fields on which a system is significantly worse than on all other fields.

    Every conjunction of at most `max_columns` values with enough fields in enough documents, inside
    and outside, is tested by documents (see Notes). Of those that pass, a conjunction stays only if
    it is also worse, at `alpha`, than what is left of each conjunction it refines. Of two that hold
    the same fields, the shorter one stays. Fields whose verdict depends on the reading rule are no
    fields here, and a slice must be worse as well without those whose label may be wrong.

    Parameters
    ----------
    evaluations
        One, or several that are searched one by one.
    metric
        ``outcome``, the share of fields right, or a metric of fields that is hits of a total.
    columns
        Of *cases* or *documents*, bands and ``position``; `COLUMNS` and those of a user's own if
        left out. A field without a value is in no slice.
        Columns that follow from the error, such as ``cause``, are refused.
    max_columns
        At most three.
    min_docs, min_cases
        The least support of a slice and of its rest.
    alpha
        Bound of the expected share of false finds.
    correction
        ``by`` (Benjamini-Yekutieli) holds however slices overlap; ``bh`` finds more.
    resamples, level, seed
        Of the percentile intervals, with the draws of `summarise`.

    Returns
    -------
    polars.DataFrame
        Ranked by `excess`, the difference times the fields: how many fields' worth of score would
        be won if the slice were as good as the rest. `n_tested` slices were tried. Values gold does
        not have (spurious) are not fields here. A found slice was picked for looking bad: expect
        its difference to be smaller on new documents.

    Raises
    ------
    UnknownName
        If a column, the metric or the correction is not known or not allowed.

    Notes
    -----
    With H of T in the whole, a document adds u = (h - H/T t) / T of its part inside the slice, less
    the same of its part outside; the sum of u is the difference. The one-sided score test takes
    the sum over the root of the sum of squares as Student's t, with one degree of freedom less
    than documents that hold the slice, or the rest, if those are fewer. The variance is that of no
    difference: few documents that fail alike are no proof.

    References
    ----------
    The test: D. D. Boos, Am. Stat. 46, 1992, on score tests with a sandwich variance. Benjamini,
    Yekutieli, Ann. Statist. 29, 2001.
    """
    if correction not in CORRECTIONS:
        raise UnknownName.of("correction", correction, CORRECTIONS)
    if refused := [name for name in columns or () if name in _AFTERWARDS]:
        allowed = [name for name in columns or () if name not in _AFTERWARDS]
        raise UnknownName.of("column to search slices in", refused[0], allowed or COLUMNS)
    found = [pl.DataFrame(schema=SLICES)]
    several = [evaluations] if isinstance(evaluations, Evaluation) else list(evaluations)
    for one in several:
        scored = _scored(one, metric)
        codes = coded(scored, one, [*COLUMNS, *one.own] if columns is None else columns)
        tested = list(search(scored, codes, min(max_columns, 3), min_docs, min_cases))
        kept = [
            each
            for each in passed(tested, alpha, correction)
            if beats_parents(each, scored, codes, alpha) and _but_for_labels(each, scored, alpha)
        ]
        rules = f"columns<={min(max_columns, 3)}|docs>={min_docs}|cases>={min_cases}"
        if odd := one.cases.filter(pl.col("cause") == READER).height:
            rules += f"|without={odd} that depend on the reading rule"
        settings = dataclasses.asdict(Settings(
            rules=rules, interval=f"bootstrap,documents,n={resamples},level={level:g},seed={seed}",
            test=f"score test,documents,t,fdr={correction}<={alpha:g}",
        ))  # fmt: skip
        base = {"benchmark": one.benchmark, "split": one.split, "system": one.system}
        base |= {"metric": metric, "n_tested": len(tested), "mode": one.mode, "settings": settings}
        rows = [base | row for row in _rows(kept, scored, resamples, level, seed)]
        found.append(pl.DataFrame(rows, schema=SLICES))
    return pl.concat(found).sort(
        pl.col("excess"), *(pl.col(name).list.join(" & ") for name in ("slice_by", "slice_value")),
        descending=[True, False, False],
    )  # fmt: skip


def slice_cases(
    evaluation: Evaluation, found: dict[str, Any], *, wrong: bool = True
) -> pl.DataFrame:
    """The cases of one slice, the wrong ones alone unless asked otherwise.

    Parameters
    ----------
    evaluation
        The one the slice was found in.
    found
        A row of `find_slices`.

    Returns
    -------
    polars.DataFrame
        The schema CASES, in the order of the evaluation.
    """
    cases = _of_gold(evaluation)
    for column, value in zip(found["slice_by"], found["slice_value"], strict=True):
        cases = cases.filter(sliced(cases, evaluation.documents, column).cast(pl.String) == value)
    return cases.filter(pl.col("outcome") != "match") if wrong else cases


def _of_gold(evaluation: Evaluation) -> pl.DataFrame:
    cases = evaluation.fields
    sound = pl.col("cause").ne_missing(READER)
    return cases.filter(pl.col("gold").is_not_null(), pl.col("outcome") != "unscored", sound)


def _scored(evaluation: Evaluation, metric: str) -> Scored:
    cases, worse = _of_gold(evaluation), -1
    if metric == OUTCOME:
        right = (cases["outcome"] == "match").cast(pl.Float64).to_numpy()
        parts = np.stack([right, np.ones(len(right))], axis=1)
    else:
        loose = evaluation.scores.filter(of_cases())
        scored = loose["metric"].unique().sort()
        known = [OUTCOME, *(name for name in scored if metrics.get(name).score is ratio)]
        if metric not in known:
            raise UnknownName.of("metric of fields that is hits of a total", metric, known)
        worse = -1 if metrics.get(metric).direction == "up" else 1
        key = ["doc_id", "path"]
        tallies = loose.filter(pl.col("metric") == metric).unique(key, keep="first")
        tallies = tallies.select(*key, "hits", "total")
        cases = cases.join(tallies, on=key, how="inner", maintain_order="left")
        parts = cases.select("hits", "total").to_numpy()
    # Documents without a field tell nothing of fields.
    used, place = np.unique(cases["doc_id"].to_numpy(), return_inverse=True)
    return Scored(cases, place, parts, len(used), worse)


def _but_for_labels(each: Slice, scored: Scored, alpha: float) -> bool:
    """Whether a slice is worse as well without the fields whose label may be wrong."""
    sure = (scored.cases["cause"].ne_missing(LABEL)).to_numpy()
    if sure.all():
        return True
    inside = scored.by_document(each.members[sure[each.members]])
    whole = scored.by_document(np.flatnonzero(sure))
    return bool(score_test(inside[None], (whole - inside)[None], scored.worse)[0] <= alpha)


def _rows(
    kept: Sequence[Slice], scored: Scored, resamples: int, level: float, seed: int
) -> Iterator[dict[str, Any]]:
    whole = scored.by_document(np.arange(len(scored.place)))
    drawn = np.concatenate(list(draws(scored.count, resamples=resamples, seed=seed))) if kept else 0
    for each in kept:
        inside = scored.by_document(each.members)
        value, rest = (float(ratio(side.sum(axis=0)[:2])) for side in (inside, whole - inside))
        values, others = (ratio((drawn @ side)[:, :2]) for side in (inside, whole - inside))
        low, high = percentiles(values, level)
        least, most = percentiles(values - others, level)
        yield {
            "slice_by": [name for name, _ in each.conditions],
            "slice_value": [word for _, word in each.conditions],
            "value": value, "ci_low": low, "ci_high": high, "rest": rest,
            "difference": value - rest, "difference_low": least,
            "difference_high": most, "p": each.p, "p_adjusted": each.adjusted,
            "excess": abs(value - rest) * len(each.members),
            "n_docs": int((inside[:, 2] > 0).sum()), "n_cases": len(each.members),
        }  # fmt: skip
