"""Whether a system does better on one kind of field than on another, by documents with both."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl
from scipy import stats

from formlab import metrics
from formlab.analysis.finding import (
    ALPHA,
    NAN,
    Finding,
    adjust,
    keys,
    left_out,
    origin,
    p_text,
)
from formlab.analysis.pairing import fields
from formlab.analysis.summarise import sliced, tallied
from formlab.metrics import ratio
from formlab.metrics.entities import f1_of, precision_of, recall_of
from formlab.tables import Evaluation

OUTCOME = "outcome"
# The numerator and denominator of scores whose parts are tp, gold, pred and a mark.
_AS_RATIO = {
    f1_of: ([2, 0, 0, 0], [0, 1, 1, 0]),
    precision_of: ([1, 0, 0, 0], [0, 0, 1, 0]),
    recall_of: ([1, 0, 0, 0], [0, 1, 0, 0]),
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

    Parameters
    ----------
    first, second
        Shape (documents, 2): hits and total; documents without one of both add nothing.

    Returns
    -------
    tuple
        Second less first, in the metric's unit; NaN for fewer than two documents with both. Last
        the sum of ts/(t + s) and that of its squares.

    References
    ----------
    .. [1] The stratified difference of N. Mantel and W. Haenszel, J. Natl. Cancer Inst. 22, 1959;
       the variance by clusters as in D. D. Boos, Am. Stat. 46, 1992.

    Examples
    --------
    >>> first = np.array([[1.0, 2.0]] * 8)
    >>> [round(x, 3) for x in within_test(first, np.array([[2.0, 2.0]] * 8))[:3]]
    [0.5, 0.0, 0.026]
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


def kind_tallies(evaluation: Evaluation, metric: str, by: str) -> Kinds:
    """Hits and total of each document, shape (documents, 2), for every value of `by`.

    Parameters
    ----------
    metric
        ``outcome``, the share of gold values right, or a metric that is a ratio of counts.
    by
        A column that slices fields, or one that a scorer slices by (``entity``, ``scope``).
    """
    codes = {doc: place for place, doc in enumerate(evaluation.documents["doc_id"])}
    if metric == OUTCOME:
        return _of_outcomes(evaluation, by, codes)
    mine = evaluation.scores.filter(pl.col("metric") == metric)
    ready = pl.col("slice").str.starts_with(f"{by}=").any()
    columns = () if mine.select(ready).item() else (by,)
    weights = _AS_RATIO.get(metrics.get(metric).score)
    found = {}
    for row in tallied(dataclasses.replace(evaluation, scores=mine), columns, codes):
        head, _, name = row.labels["slice"].partition("=")
        if head != by or "&" in name or row.labels["metric"] != metric:
            continue
        if weights is not None:
            found[name] = row.parts @ np.array(weights, dtype=float).T
        elif row.score is ratio:
            found[name] = row.parts
    return found


def _of_outcomes(evaluation: Evaluation, by: str, codes: dict[str, int]) -> Kinds:
    cases = asked(evaluation)
    named = cases.with_columns(sliced(cases, evaluation.documents, by).alias("_kind"))
    named = named.with_columns(pl.col("_kind").cast(pl.String).fill_null("none"))
    found = {}
    for (name,), part in sorted(named.group_by("_kind")):
        place = part["doc_id"].replace_strict(codes, return_dtype=pl.Int64).to_numpy()
        right = (part["outcome"] == "match").to_numpy().astype(float)
        total = np.bincount(place, minlength=len(codes)).astype(float)
        hits = np.bincount(place, weights=right, minlength=len(codes))
        found[str(name)] = np.stack([hits, total], axis=1)
    return found


def asked(evaluation: Evaluation) -> pl.DataFrame:
    """The cases of the gold's values and questions that could be scored."""
    cases = fields(evaluation).drop("turn")
    return cases.filter(pl.col("gold").is_not_null(), pl.col("outcome") != "unscored")


def compare_kinds(
    evaluation: Evaluation, *, metric: str, by: str = "kind", min_docs: int = 5, unit: str = ""
) -> list[KindPair]:
    """Every pair of kinds that enough documents hold both of, tested within documents.

    Each is tested as well without fields whose verdict depends on the reading rule, and without
    those whose label may be wrong; p is the greatest of these, and 1 where their signs differ.

    Parameters
    ----------
    metric, by
        As for `kind_tallies`.
    min_docs
        How many documents must hold both.
    unit
        A column of *documents* whose values are independent, such as ``template``; each document
        is if left out.
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
    return {
        name: np.stack([np.bincount(codes, weights=part, minlength=size) for part in parts.T], 1)
        for name, parts in kinds.items()
    }


def kinds(
    evaluation: Evaluation | Sequence[Evaluation],
    *,
    metric: str,
    by: str = "kind",
    min_docs: int = 5,
    unit: str = "",
    alpha: float = ALPHA,
) -> Finding:
    """Whether the system does better on one value of `by` than on another: one finding.

    Of the pairs that hold after Holm's adjustment over all pairs looked at, the one with the
    largest difference speaks. If none holds, the finding says so, and what would have been seen.

    Parameters
    ----------
    evaluation
        One; of several those that have the metric are looked at one by one, and the surest speaks.
    metric, by, min_docs, unit
        As for `compare_kinds`; the first metric of several that was scored, joined by spaces.

    Examples
    --------
    >>> from formlab import tables
    >>> empty = Evaluation(*(tables.table(n, []) for n in ("documents", "cases", "scores")),
    ...     "b", "s", "m")
    >>> kinds(empty, metric="outcome").claim
    'Nothing was scored by kind, so nothing can be told apart'
    """
    several = [evaluation] if isinstance(evaluation, Evaluation) else list(evaluation)
    looked = [(one, _scored(one, metric)) for one in several]
    tested = [
        (one, name, compare_kinds(one, metric=name, by=by, min_docs=min_docs, unit=unit))
        for one, name in looked
    ]
    p = adjust([pair.p for *_, pairs in tested for pair in pairs])
    count = int((~np.isnan(p)).sum())
    rows, start = [], 0
    for one, name, pairs in tested:
        adjusted = p[start : start + len(pairs)]
        start += len(pairs)
        rows += [(one, name, pair, float(q)) for pair, q in zip(pairs, adjusted, strict=True)]
    settings = (
        f"{metric}|by={by}|score test within documents,t|holm,n={count}|documents>={min_docs}"
        + (f"|unit={unit}" if unit else "")
    )
    if not rows:
        return _nothing(several, looked, by, settings, min_docs)
    if len({value for *_, pair, _ in rows for value in pair.values}) == 1:
        return _all_equal(rows, by, count, settings)
    one, name, pair, adjusted = _speaker(rows, alpha)
    return _finding(one, name, by, pair, adjusted, count, alpha, settings)


def _all_equal(
    rows: Sequence[tuple[Evaluation, str, KindPair, float]], by: str, count: int, settings: str
) -> Finding:
    one, metric, pair, _ = rows[0]
    claim = (
        f"{_title(metric)} is {pair.values[0]:.3f} for all {plural(by)} compared, so nothing can "
        "be told apart"
    )
    return Finding(
        claim, "kinds", holds=False, effect=0.0, n_docs=pair.n_docs, n_tested=count,
        metric=metric, settings=settings, **origin(one),
    )  # fmt: skip


def _scored(evaluation: Evaluation, metric: str) -> str:
    """The first of the metrics named that this evaluation has."""
    names = metric.split()
    have = set(evaluation.scores["metric"])
    return next((name for name in names if name == OUTCOME or name in have), names[0])


def _speaker(
    rows: Iterable[tuple[Evaluation, str, KindPair, float]], alpha: float
) -> tuple[Evaluation, str, KindPair, float]:
    """The pair with the largest difference of those that hold, else of all."""
    rows = list(rows)
    sure = [row for row in rows if _holds(row[2], row[3], alpha)]
    return max(sure or rows, key=lambda row: (abs(row[2].difference), row[2].first))


def _holds(pair: KindPair, adjusted: float, alpha: float) -> bool:
    # What the documents that hold both say must be what the table over all of them shows.
    gap = pair.values[1] - pair.values[0]
    return bool(adjusted <= alpha and gap * pair.difference > 0)


def _nothing(
    several: Sequence[Evaluation],
    looked: Sequence[tuple[Evaluation, str]],
    by: str,
    settings: str,
    min_docs: int,
) -> Finding:
    named = several[0] if several else None
    base = origin(named) if named else {}
    sizes = [len(kind_tallies(one, name, by)) for one, name in looked]
    said = plural(by)
    if not any(sizes):
        claim = f"Nothing was scored by {_plain(by)}, so nothing can be told apart"
    elif max(sizes) == 1:
        claim = f"There is one {_plain(by)} only, so nothing can be told apart"
    else:
        claim = (
            f"Too few documents hold two {said} to tell them apart: fewer than {min_docs} for "
            "every pair"
        )
    return Finding(claim, "kinds", holds=False, settings=settings, **base)


def _finding(
    one: Evaluation, metric: str, by: str, pair: KindPair, adjusted: float, count: int,
    alpha: float, settings: str,
) -> Finding:  # fmt: skip
    up = metric == OUTCOME or metrics.get(metric).direction == "up"
    title = _title(metric)
    (good, high), (bad, low) = sorted(
        zip((pair.first, pair.second), pair.values, strict=True),
        key=lambda row: (row[1] != row[1], -row[1] if up else row[1]),
    )
    holds = _holds(pair, adjusted, alpha)
    edge = float(stats.t.ppf(0.975, pair.n_docs - 1)) * pair.error
    size, low_end = abs(pair.difference), abs(pair.difference) - edge
    span = f"{low_end:.3f} to {size + edge:.3f}".replace("-", "−")
    over = f"{pair.n_docs:,} documents that hold both"
    tested = f"{p_text(adjusted)}{_of(count)}"
    if holds:
        claim = (
            f"{one.system} does better on {_plain(good)} than on {_plain(bad)}: {title} {high:.3f} "
            f"against {low:.3f} (difference within documents {size:.3f}, 95 % interval {span}, in "
            f"{over}; {tested})"
        )
    else:
        seen = _would_be_seen(pair, metric, alpha, count)
        claim = (
            f"No difference between {plural(by)} was shown for {one.system}: the largest, "
            f"{title} {pair.values[0]:.3f} for {_plain(pair.first)} and {pair.values[1]:.3f} for "
            f"{_plain(pair.second)}, may be chance ({tested}; {size:.2f} within the {over}{seen})"
        )
    behind = _behind(one, by, bad) if holds else None
    n_cases = behind.height if behind is not None else 0
    more = {"cases": keys(behind)} if behind is not None else {}
    # Rates over counts other than fields cannot be turned into a number of fields lost.
    at_least = max(low_end, 0.0) * n_cases if metric == OUTCOME else 0.0
    return Finding(
        claim, "kinds", holds=holds, effect=size, ci_low=low_end, ci_high=size + edge,
        at_least=at_least, n_docs=pair.n_docs, n_cases=n_cases, p=pair.p, p_adjusted=adjusted,
        n_tested=count, metric=metric, settings=settings, **origin(one), **more,
        what_to_try=f"Look at the fields of {_plain(by)} {_plain(bad)} beside their pages.",
    )  # fmt: skip


def _title(metric: str) -> str:
    return "share right" if metric == OUTCOME else metrics.title(metric)


def _would_be_seen(pair: KindPair, metric: str, alpha: float, count: int) -> str:
    """The difference that four in five such samples would show, at what Holm leaves to a pair."""
    least = pair.least(alpha / max(count, 1))
    top = 1.0 if metric == OUTCOME else metrics.get(metric).high
    if least >= (np.inf if top is None else top):
        return "; these documents are too few to show one"
    if not abs(pair.difference) < least < np.inf or least < 0.005:
        return ""
    return f"; about {least:.2f} would have been seen"


def _behind(evaluation: Evaluation, by: str, name: str) -> pl.DataFrame | None:
    cases = asked(evaluation)
    if by not in (*cases.columns, *evaluation.documents.columns, "position"):
        return cases.clear()
    values = sliced(cases, evaluation.documents, by).cast(pl.String).fill_null("none")
    return cases.filter(values == name)


def _of(count: int) -> str:
    return f" after Holm over {count:,} pairs" if count > 1 else ""


def _plain(name: str) -> str:
    return name.replace("_", " ")


def plural(by: str) -> str:
    """What a sentence calls several values of a column.

    Examples
    --------
    >>> plural("kind"), plural("entity"), plural("task")
    ('kinds of field', 'entities', 'tasks')
    """
    names = {"kind": "kinds of field", "entity": "entities", "complexity": "complexities"}
    return names.get(by, f"{_plain(by)}s")
