"""Whether a system does better on one kind of field than on another: one sentence, as a finding.

Pairs of kinds are tested by the documents that have both.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from functools import cache, partial

import numpy as np
import polars as pl
from scipy import special

from formlab import metrics
from formlab.analysis.finding import (
    ALPHA,
    KEYS,
    NAN,
    OUTCOME,
    Finding,
    asked,
    has_pages,
    holds,
    keys,
    left_out,
    odd,
    origin,
    p_text,
    seen_text,
    word,
)  # fmt: skip
from formlab.analysis.intervals import by_document
from formlab.analysis.paired_tests import adjusted_p
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.metrics.entities import f1_of, precision_of, recall_of
from formlab.scoring.bands import sliced
from formlab.stats.sums import document_sums

# The numerator and denominator of scores whose parts are tp, gold and pred.
_AS_RATIO = {
    f1_of: ([2, 0, 0], [0, 1, 1]),
    precision_of: ([1, 0, 0], [0, 0, 1]),
    recall_of: ([1, 0, 0], [0, 1, 0]),
}
# From so many hits on their exact distribution is near enough to a normal one.
_COUNTED = 2000
# So many hits are to be expected of a kind before anything is said of tallies that are no counts.
_ENOUGH = 5
Kinds = dict[str, np.ndarray]


@cache
def _places(size: int, of: int, part: int) -> np.ndarray:
    """The chances that 0, 1, 2 … of so many hits among `size` fields are in a part of them."""
    here, log = np.arange(min(of, part) + 1), special.gammaln  # of the factorial of n - 1
    picked = ((part, here), (size - part, of - here), (size, of))
    ways = [log(n + 1) - log(k + 1) - log(n - k + 1) for n, k in picked]
    return np.exp(ways[0] + ways[1] - ways[2])


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

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the difference."""
        edge = float(special.stdtrit(self.n_docs - 1, 0.975)) * self.error
        return self.difference - edge, self.difference + edge

    def least(self, alpha: float, *, power: float = 0.8) -> float:
        """The least difference that the test at `alpha` finds with `power`; infinite if none."""
        free = self.n_docs - 1
        away = float(special.stdtrit(free, 1 - alpha / 2) + special.stdtrit(free, power))
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
    ts/(t + s). Two tests must agree, so p is the greater of theirs: Student's t, the sum of u over
    the root of its sum of squares, for which a few documents that fail alike are no proof; and
    `exchanged_p`, which holds its level where there are few errors.

    Sides have the shape (documents, 2): hits and total. The difference is second less first, NaN
    for fewer than two documents with both; the weights are the sums of ts/(t + s) and its square.

    References
    ----------
    .. [1] The stratified difference of N. Mantel and W. Haenszel, J. Natl. Cancer Inst. 22, 1959;
       the variance by clusters as in D. D. Boos, Am. Stat. 46, 1992.
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
    p = max(float(2 * special.stdtr(count - 1, -away)), exchanged_p(h, t, g, s))
    return difference, error, p, weights


def exchanged_p(h: np.ndarray, t: np.ndarray, g: np.ndarray, s: np.ndarray) -> float:
    """Two-sided p that the first part has so many of the hits, exchanged within each document.

    Of h + g hits in a document any of its t + s fields may hold each: exact for up to `_COUNTED`
    hits or misses, the rarer ones, else by the normal distribution. Tallies that are no counts of
    fields (edits by characters, or halves) are not exchanged one by one; with fewer than `_ENOUGH`
    expected on either side nothing is claimed.
    """
    total, hits = t + s, h + g
    if any((each % 1).any() for each in (h, g, t, s)) or (h > t).any() or (g > s).any():
        least = min((hits * t / total).sum(), (hits * s / total).sum())
        return 1.0 if least < _ENOUGH else 0.0
    if hits.sum() > (total - hits).sum():
        h, hits = t - h, total - hits
    seen, expected = float(h.sum()), float((hits * t / total).sum())
    if hits.sum() > _COUNTED:
        spread = hits * t * s * (total - hits) / (total**2 * np.maximum(total - 1, 1))
        away = max(abs(seen - expected) - 0.5, 0.0) / np.sqrt(max(float(spread.sum()), 1e-12))
        return float(2 * special.ndtr(-away))
    chances = np.ones(1)
    for size, of, part in zip(*(each.astype(int) for each in (total, hits, t)), strict=True):
        if of:
            chances = np.convolve(chances, _places(size, of, part))
    below, above = chances[: int(seen) + 1].sum(), chances[int(seen) :].sum()
    return float(min(1.0, 2 * min(below, above)))


def ratios() -> set[str]:
    """The metrics that are ratios of counts, which alone can be tested within documents."""
    return {n for n, e in metrics.METRICS.items() if e.score is ratio or e.score in _AS_RATIO}


def kind_tallies(
    evaluation: Evaluation, metric: str, by: str, without: Sequence[str] = ()
) -> Kinds:
    """Hits and total of each document, shape (documents, 2), for every value of `by`.

    `metric` is ``outcome``, the share of gold values right, or a ratio of counts; `by` a column
    that slices fields, or one that a scorer slices by (``entity``, ``scope``). Fields with a cause
    of `without` are left out. Documents are in the order of their `doc_id`.
    """
    if metric == OUTCOME:
        return _of_outcomes(evaluation, by, without)
    score = metrics.get(metric).score
    if score is not ratio and score not in _AS_RATIO:
        return {}
    narrowed = evaluation.changed({
        table: partial(_narrowed, table=table, metric=metric, without=without)
        for table in ("cases", "scores")
    })  # fmt: skip
    ready = any((part.scores["slice_by"] == by).any() for part in narrowed.parts())
    weights = np.array(_AS_RATIO.get(score, np.eye(2)), dtype=float).T
    return {
        row.labels["slice_value"]: row.parts @ weights
        for row in document_sums(narrowed, () if ready else (by,))
        if (row.labels["slice_by"], row.labels["metric"]) == (by, metric)
    }


def _narrowed(part: Evaluation, table: str, metric: str, without: Sequence[str]) -> pl.DataFrame:
    """Cases, or the scores of one metric, without the fields that have some causes."""
    rows = part.scan(table)
    rows = (rows.filter(pl.col("metric") == metric) if table == "scores" else rows).collect()
    on = ["doc_id", "path"]
    return rows.join(odd(part, without), on=on, how="anti", maintain_order="left")


def _of_outcomes(evaluation: Evaluation, by: str, without: Sequence[str]) -> Kinds:
    codes = {doc: number for number, doc in enumerate(evaluation.document_names)}
    counts = evaluation.gathered(partial(_outcomes, by=by, without=without))
    tallies = {}
    for (name,), rows in sorted(counts.group_by("kind")):
        number = rows["doc_id"].replace_strict(codes, return_dtype=pl.Int64).to_numpy()
        tallies[str(name)] = by_document(number, [rows["right"], rows["total"]], len(codes))
    return tallies


def _outcomes(part: Evaluation, by: str, without: Sequence[str]) -> pl.DataFrame:
    """The fields right and all fields of a part, by kind and document."""
    cases = asked(part, ["doc_id", "path", "outcome", by])
    if without:
        cases = cases.join(odd(part, without), on=["doc_id", "path"], how="anti")
    right = (pl.col("outcome") == "match").sum()
    kind = _kinds_of(cases, part, by).alias("kind")
    return cases.group_by(kind, "doc_id").agg(right=right, total=pl.len())


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
        _units(kind_tallies(evaluation, metric, by, without), evaluation, unit)
        for without in left_out(evaluation)
    ]
    whole = versions[0]
    rates = {name: float(ratio(parts.sum(axis=0))) for name, parts in whole.items()}
    pairs = []
    for first, second in itertools.combinations(whole, 2):
        both = int(((whole[first][:, 1] > 0) & (whole[second][:, 1] > 0)).sum())
        if both < min_docs:
            continue
        tested = [
            within_test(tallies[first], tallies[second])
            for tallies in versions
            if first in tallies and second in tallies
        ]
        signs = {np.sign(each[0]) for each in tested}
        p = max(each[2] for each in tested) if len(signs) == 1 else 1.0
        (difference, error, _, weights), values = tested[0], (rates[first], rates[second])
        pairs.append(KindPair(first, second, values, difference, error, both, p, weights))
    return pairs


def _units(kinds: Kinds, evaluation: Evaluation, unit: str) -> Kinds:
    """Tallies of documents summed by what is independent."""
    if not unit:
        return kinds
    unit_of = pl.coalesce(unit, "doc_id").cast(pl.String)
    units = evaluation.gathered(lambda part: part.documents.select("doc_id", unit=unit_of))
    known, codes = np.unique(units.sort("doc_id")["unit"].to_numpy(), return_inverse=True)
    return {name: by_document(codes, parts.T, len(known)) for name, parts in kinds.items()}


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
    'Nothing was scored by kind, so there is nothing to compare'
    """
    several = [evaluation] if isinstance(evaluation, Evaluation) else list(evaluation)
    scored = [(each, _scored(each, metric)) for each in several]
    tested = [
        (each, name, pair)
        for each, name in scored
        for pair in compare_kinds(each, metric=name, by=by, min_docs=min_docs, unit=unit)
    ]
    p = adjusted_p([pair.p for *_, pair in tested])
    count = int((~np.isnan(p)).sum())
    settings = (
        f"{metric}|by={by}|score test within documents,t,exact|holm,n={count}|documents>={min_docs}"
        + (f"|unit={unit}" if unit else "")
    )
    if not tested:
        base = origin(several[0]) if several else {}
        claim = _untested(scored, by, min_docs)
        return Finding(claim, "kinds", holds=False, settings=settings, **base)
    rows = [(*row, float(q)) for row, q in zip(tested, p, strict=True)]
    if len({value for *_, pair, _ in rows for value in pair.values}) == 1:
        first, name, pair, _ = rows[0]
        claim = (
            f"{_title(name)} is {pair.values[0]:.3f} for all {plural(by)} compared: there is no "
            "difference"
        )
        return Finding(
            claim, "kinds", holds=False, effect=0.0, n_docs=pair.n_docs, n_tested=count,
            metric=name, settings=settings, **origin(first),
        )  # fmt: skip
    # Of the pairs that hold, else of all, the one with the largest difference speaks.
    sure = [row for row in rows if _holds(row[2], row[3], alpha)]
    row = max(sure or rows, key=lambda row: (abs(row[2].difference), row[2].first))
    return _finding(*row, by, count, alpha, settings)


def _scored(evaluation: Evaluation, metric: str) -> str:
    """The first of the metrics named that this evaluation has."""
    names = metric.split()
    have = {OUTCOME, *_metrics(evaluation)}
    return next((name for name in names if name in have), names[0])


def _metrics(evaluation: Evaluation) -> set[str]:
    names = (part.scan("scores").select("metric").unique() for part in evaluation.parts())
    return {name for each in names for name in each.collect()["metric"]}


def _holds(pair: KindPair, adjusted: float, alpha: float) -> bool:
    # What the documents with both say must be what the table over all of them shows.
    gap = pair.values[1] - pair.values[0]
    return holds(adjusted, *pair.interval, alpha=alpha) and gap * pair.difference > 0


def _untested(scored: Sequence[tuple[Evaluation, str]], by: str, min_docs: int) -> str:
    """Why no pair of kinds could be tested."""
    sizes = [len(kind_tallies(each, name, by)) for each, name in scored]
    other = [name for each, name in scored if name in _metrics(each) - ratios()]
    if other:
        title = _title(other[0])
        claim = f"{title[:1].upper()}{title[1:]} is not a ratio of counts, so no {word(by)} "
        return claim + "was tested against another"
    if not any(sizes):
        return f"Nothing was scored by {word(by)}, so there is nothing to compare"
    if max(sizes) == 1:
        return f"There is only one {word(by)}, so there is nothing to compare"
    return f"Too few documents have two {plural(by)} to compare them; {min_docs} are needed"


def _finding(
    evaluation: Evaluation, metric: str, pair: KindPair, adjusted: float, by: str, count: int,
    alpha: float, settings: str,
) -> Finding:  # fmt: skip
    up = metric == OUTCOME or metrics.get(metric).direction == "up"
    title, system = _title(metric), evaluation.system
    (good, high), (bad, low) = sorted(
        zip((pair.first, pair.second), pair.values, strict=True),
        key=lambda row: (row[1] != row[1], -row[1] if up else row[1]),
    )
    shown = _holds(pair, adjusted, alpha)
    size, edge = abs(pair.difference), pair.interval[1] - pair.difference
    low_end = size - edge
    over = f"{pair.n_docs:,} documents that have both"
    tested = p_text(adjusted) + (f", adjusted for {count:,} pairs" if count > 1 else "")
    cases = pl.DataFrame(schema=dict.fromkeys(KEYS, pl.String))
    if shown:
        span = f"{low_end:.3f} to {size + edge:.3f}".replace("-", "−")
        claim = (
            f"{system} does better on {word(good)} than on {word(bad)}: {title} {high:.3f} "
            f"against {low:.3f} (difference within documents {size:.3f}, 95 % interval {span}, in "
            f"{over}; {tested})"
        )
        cases = _of_kind(evaluation, by, bad)
    else:
        seen = _would_be_seen(pair, metric, alpha, count)
        claim = (
            f"No difference between {plural(by)} was shown for {system}. The largest, {title} "
            f"{pair.values[0]:.3f} for {word(pair.first)} and {pair.values[1]:.3f} for "
            f"{word(pair.second)}, may be chance ({tested}; {size:.2f} within the {over}{seen})"
        )
    beside = "pages" if has_pages(evaluation) else "gold"
    # Rates over counts other than fields cannot be turned into a number of fields lost.
    at_least = max(low_end, 0.0) * cases.height if metric == OUTCOME else 0.0
    return Finding(
        claim, "kinds", holds=shown, effect=size, ci_low=low_end, ci_high=size + edge,
        at_least=at_least, n_docs=pair.n_docs, n_cases=cases.height, p=pair.p,
        p_adjusted=adjusted, n_tested=count, metric=metric, settings=settings,
        cases=cases, **origin(evaluation),
        what_to_try=f"Look at the fields of {word(by)} {word(bad)} beside their {beside}.",
    )  # fmt: skip


def _title(metric: str) -> str:
    return "share right" if metric == OUTCOME else metrics.title(metric)


def _would_be_seen(pair: KindPair, metric: str, alpha: float, count: int) -> str:
    """The difference that four in five such samples would show, at what Holm leaves to a pair."""
    least = pair.least(alpha / max(count, 1))
    top = 1.0 if metric == OUTCOME else metrics.get(metric).high
    if least >= (np.inf if top is None else top):
        return "; with so few documents none could have been shown"
    return seen_text(pair.difference, least, np.inf)


def _of_kind(evaluation: Evaluation, by: str, name: str) -> pl.DataFrame:
    """The keys of the fields of a kind."""
    return keys(evaluation.gathered(partial(_in_kind, by=by, name=name)))


def _in_kind(part: Evaluation, by: str, name: str) -> pl.DataFrame:
    known = part.scan("cases").collect_schema().names()
    if by not in (*known, *part.documents.columns, "position"):
        return asked(part, KEYS).clear()
    cases = asked(part, [*KEYS, by])
    return cases.filter(_kinds_of(cases, part, by) == name)


def _kinds_of(cases: pl.DataFrame, evaluation: Evaluation, by: str) -> pl.Series:
    return sliced(cases, evaluation.documents, by).cast(pl.String).fill_null("none")


def plural(by: str) -> str:
    """What a sentence calls several values of a column.

    Examples
    --------
    >>> plural("kind"), plural("entity"), plural("task")
    ('kinds of field', 'entities', 'tasks')
    """
    names = {"kind": "kinds of field", "entity": "entities", "complexity": "complexities"}
    return names.get(by, f"{word(by)}s")
