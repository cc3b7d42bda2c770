"""Pairs of kinds of field within one system, tested by the documents that hold both."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import polars as pl
from scipy import stats

from formlab import metrics
from formlab.analysis.finding import NAN, left_out
from formlab.analysis.intervals import by_document
from formlab.analysis.summarise import sliced, tallied
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.metrics.entities import f1_of, precision_of, recall_of

OUTCOME = "outcome"
# The numerator and denominator of scores whose parts are tp, gold and pred.
_AS_RATIO = {
    f1_of: ([2, 0, 0], [0, 1, 1]),
    precision_of: ([1, 0, 0], [0, 0, 1]),
    recall_of: ([1, 0, 0], [0, 1, 0]),
}
Kinds = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class KindPair:
    """Two kinds of field: their values over all documents, and their paired difference."""

    first: str
    second: str
    values: tuple[float, float]
    difference: float
    error: float
    n_docs: int
    p: float
    weights: tuple[float, float] = (NAN, NAN)

    def least(self, alpha: float, *, power: float = 0.8) -> float:
        """The least difference that the test at `alpha` finds with `power`; infinite if none."""
        free = self.n_docs - 1
        away = float(stats.t.ppf(1 - alpha / 2, free) + stats.t.ppf(power, free))
        total, squares = self.weights
        # The statistic's variance is that of no difference, so it grows with the difference.
        room = total**2 - away**2 * squares
        spread = self.error * total * np.sqrt(free / self.n_docs)
        return float(away * spread / np.sqrt(room)) if room > 0 else float("inf")


def within_test(
    first: np.ndarray, second: np.ndarray
) -> tuple[float, float, float, tuple[float, float]]:
    """The difference of two rates within documents, its standard error, two-sided p and weights.

    A document with h of t in the first part and g of s in the second adds u = (h s - g t)/(t + s),
    whose mean is 0 wherever both have one rate in each document, however hard it is and however
    many fields of each kind it holds [1]_. The difference is the sum of u over that of
    ts/(t + s); the test takes the sum of u over the root of the sum of squares as Student's t, so
    that a few documents that fail alike are no proof.

    Sides have the shape (documents, 2): hits and total. The difference is second less first, NaN
    for fewer than two documents with both; the weights are the sums of ts/(t + s) and its square.

    References
    ----------
    .. [1] The stratified difference of N. Mantel and W. Haenszel, J. Natl. Cancer Inst. 22, 1959;
       the variance by clusters as in D. D. Boos, Am. Stat. 46, 1992.

    Examples
    --------
    >>> first = np.array([[1.0, 2.0]] * 8)
    >>> [round(x, 3) for x in within_test(first, np.array([[2.0, 2.0]] * 8))[:3]]
    [0.5, 0.0, 0.025]
    """
    both = (first[:, 1] > 0) & (second[:, 1] > 0)
    (h, t), (g, s) = first[both].T, second[both].T
    count = int(both.sum())
    if count < 2:
        return NAN, NAN, NAN, (NAN, NAN)
    moved, weight = (g * t - h * s) / (t + s), t * s / (t + s)
    difference = float(moved.sum() / weight.sum())
    rest = moved - difference * weight
    error = float(np.sqrt((rest**2).sum() * count / (count - 1)) / weight.sum())
    spread = float(np.sqrt((moved**2).sum()))
    away = abs(float(moved.sum())) / spread if spread else 0.0
    weights = float(weight.sum()), float((weight**2).sum())
    return difference, error, float(2 * stats.t.sf(away, count - 1)), weights


def ratios() -> set[str]:
    """The metrics that are ratios of counts, which alone can be tested within documents."""
    return {n for n, e in metrics.METRICS.items() if e.score is ratio or e.score in _AS_RATIO}


def kind_tallies(evaluation: Evaluation, metric: str, by: str) -> Kinds:
    """Hits and total of each document, shape (documents, 2), for every value of `by`.

    `metric` is ``outcome``, the share of gold values right, or a ratio of counts; `by` a column
    that slices fields, or one that a scorer slices by (``entity``, ``scope``).
    """
    codes = {doc: place for place, doc in enumerate(evaluation.documents["doc_id"])}
    if metric == OUTCOME:
        return _of_outcomes(evaluation, by, codes)
    mine = evaluation.scores.filter(pl.col("metric") == metric)
    columns = () if (mine["slice_by"] == by).any() else (by,)
    entry = metrics.get(metric)
    weights = _AS_RATIO.get(entry.score)
    found = {}
    for row in tallied(dataclasses.replace(evaluation, scores=mine), columns, codes):
        if row.labels["slice_by"] != by or row.labels["metric"] != metric:
            continue
        name = row.labels["slice_value"]
        if weights is not None:
            found[name] = row.parts @ np.array(weights, dtype=float).T
        elif entry.score is ratio:
            found[name] = row.parts
    return found


def _of_outcomes(evaluation: Evaluation, by: str, codes: dict[str, int]) -> Kinds:
    cases = asked(evaluation)
    named = cases.with_columns(sliced(cases, evaluation.documents, by).alias("_kind"))
    named = named.with_columns(pl.col("_kind").cast(pl.String).fill_null("none"))
    found = {}
    for (name,), part in sorted(named.group_by("_kind")):
        place = part["doc_id"].replace_strict(codes, return_dtype=pl.Int64).to_numpy()
        right = part["outcome"] == "match"
        found[str(name)] = by_document(place, [right, np.ones(part.height)], len(codes))
    return found


def asked(evaluation: Evaluation) -> pl.DataFrame:
    """The cases of the gold's values and questions that could be scored."""
    cases = evaluation.fields
    return cases.filter(pl.col("gold").is_not_null(), pl.col("outcome") != "unscored")


def compare_kinds(
    evaluation: Evaluation, *, metric: str, by: str = "kind", min_docs: int = 5, unit: str = ""
) -> list[KindPair]:
    """Every pair of kinds that enough documents hold both of, tested within documents.

    Each is tested as well without fields whose verdict depends on the reading rule, and without
    those whose label may be wrong; p is the greatest of these, and 1 where their signs differ.
    `unit` is a column of *documents* whose values are independent, such as ``template``; each
    document is if left out.
    """
    versions = [
        _units(kind_tallies(_without(evaluation, odd), metric, by), evaluation, unit)
        for odd in left_out(evaluation)
    ]
    whole = versions[0]
    rates = {name: float(ratio(parts.sum(axis=0))) for name, parts in whole.items()}
    pairs = []
    for first, second in itertools.combinations(whole, 2):
        both = int(((whole[first][:, 1] > 0) & (whole[second][:, 1] > 0)).sum())
        if both < min_docs:
            continue
        tested = [
            within_test(one[first], one[second])
            for one in versions
            if first in one and second in one
        ]
        signs = {np.sign(each[0]) for each in tested}
        p = max(each[2] for each in tested) if len(signs) == 1 else 1.0
        values = rates[first], rates[second]
        pairs.append(KindPair(first, second, values, *tested[0][:2], both, p, tested[0][3]))
    return pairs


def _without(evaluation: Evaluation, odd: pl.DataFrame) -> Evaluation:
    if not odd.height:
        return evaluation
    on = ["doc_id", "path"]
    kept = {
        name: getattr(evaluation, name).join(odd, on=on, how="anti", maintain_order="left")
        for name in ("cases", "scores")
    }
    return dataclasses.replace(evaluation, **kept)


def _units(kinds: Kinds, evaluation: Evaluation, unit: str) -> Kinds:
    """Tallies of documents summed by what is independent."""
    if not unit:
        return kinds
    given = pl.coalesce(unit, "doc_id").cast(pl.String)
    names = evaluation.documents.select(given.alias("unit"))["unit"].to_numpy()
    codes = np.unique(names, return_inverse=True)[1]
    size = int(codes.max()) + 1 if len(codes) else 0
    return {name: by_document(codes, parts.T, size) for name, parts in kinds.items()}
