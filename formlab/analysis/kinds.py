"""Whether a system is worse on one kind of field than on the rest: one sentence, as a finding."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import scipy

from formlab import metrics
from formlab.analysis.finding import (
    KEYS,
    LABEL,
    OUTCOME,
    READER,
    Finding,
    asked,
    has_pages,
    in_fields,
    keys,
    origin,
    p_text,
    word,
)  # fmt: skip
from formlab.analysis.slices import opened_values
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.metrics.entities import f1_of, precision_of, recall_of
from formlab.scoring.bands import sliced
from formlab.stats.draws import drawn_parts, percentiles
from formlab.stats.exchange import Exchanged
from formlab.stats.sums import document_sums
from formlab.stats.tests import ALPHA, adjusted_p, holds

# The numerator and denominator of scores whose parts are tp, gold and pred.
_AS_RATIO = {
    f1_of: ([2, 0, 0], [0, 1, 1]),
    precision_of: ([1, 0, 0], [0, 0, 1]),
    recall_of: ([1, 0, 0], [0, 1, 0]),
}
# So many hits are to be expected of a kind before anything is said of it.
_ENOUGH = 5


@dataclasses.dataclass(frozen=True)
class _Tested:
    """A kind with its share, that of the rest, their difference, its interval and its p."""

    evaluation: Evaluation
    metric: str
    kind: str
    value: float
    rest: float
    interval: tuple[float, float]
    n_docs: int
    p: float

    @property
    def difference(self) -> float:
        return self.value - self.rest


def kinds(
    evaluation: Evaluation | Sequence[Evaluation],
    *,
    metric: str,
    by: str = "kind",
    min_docs: int = 3,
    unit: str = "",
    alpha: float = ALPHA,
    resamples: int = 1000,
    seed: int = 0,
) -> Finding:
    """Whether the system does worse on one value of `by` than on all others: one finding.

    Each value is tested against the rest; of those that hold after Holm's adjustment the one with
    the largest difference speaks. If none holds, the finding says so.

    Parameters
    ----------
    evaluation
        One; of several those that have the metric are looked at one by one, and the surest speaks.
    metric
        ``outcome``, the share of gold values right, or a ratio of counts; the first of several that
        was scored, joined by spaces.
    by
        A column that slices fields, or one that a scorer slices by (``entity``, ``scope``).
    min_docs
        Of so many documents a value must be.
    unit
        A column of *documents* whose values are independent, such as ``template``; each document
        is if left out.

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
    sums = [kind_sums(each, name, by, unit) for each, name in scored]
    surely = [kind_sums(each, name, by, unit, sure=True) for each, name in scored]
    draws = {"resamples": resamples, "seed": seed}
    tested = [
        row
        for (each, name), *of in zip(scored, sums, surely, strict=True)
        for row in _tested(each, name, of, by, unit, min_docs, draws)
    ]
    adjusted = adjusted_p([row.p for row in tested])
    count = int((~np.isnan(adjusted)).sum())
    settings = f"{metric}|by={by}|exchanged within documents|holm,n={count}|documents>={min_docs}"
    settings += f"|unit={unit}" if unit else ""
    if not tested:
        base = origin(several[0]) if several else {}
        claim = _untested(scored, sums, by, min_docs)
        return Finding(claim, "kinds", holds=False, settings=settings, **base)
    pairs = list(zip(tested, map(float, adjusted), strict=True))
    sure = [pair for pair in pairs if holds(pair[1], *pair[0].interval, alpha=alpha)]
    row, p = max(sure or pairs, key=lambda pair: (abs(pair[0].difference), pair[0].kind))
    return _finding(row, p, by, count, settings, shown=bool(sure))


def kind_sums(
    evaluation: Evaluation, metric: str, by: str, unit: str = "", *, sure: bool = False
) -> dict[str, np.ndarray]:
    """Hits and total of each document (or unit), shape (documents, 2), for every value of `by`.

    With `sure` without the fields that no claim may rest on: those whose verdict depends on the
    reading rule or whose label may be wrong.
    """
    if metric == OUTCOME:
        pieces = evaluation.gathered(partial(_outcomes, by=by, sure=sure))
    else:
        pieces = _of_metric(evaluation, metric, by, sure=sure)
    names = _units(evaluation, unit)
    pieces = pieces.join(names, on="doc_id").with_columns(
        number=pl.col("unit").rank("dense").cast(pl.Int64) - 1
    )
    count = pieces["unit"].n_unique()
    found = {}
    for (name,), rows in sorted(pieces.group_by("kind")):
        number = rows["number"].to_numpy()
        found[str(name)] = np.stack(
            [np.bincount(number, rows[side], minlength=count) for side in ("hits", "total")], axis=1
        )
    return found


def _units(evaluation: Evaluation, unit: str) -> pl.DataFrame:
    name = pl.coalesce(unit, "doc_id") if unit else pl.col("doc_id")
    return evaluation.gathered(
        lambda part: part.documents.select("doc_id", unit=name.cast(pl.String))
    )


def _outcomes(part: Evaluation, by: str, *, sure: bool) -> pl.DataFrame:
    cases = asked(part)
    if sure:
        cases = cases.filter(~pl.col("cause").is_in([READER, LABEL]).fill_null(False))
    kind = sliced(cases, part.documents, by).cast(pl.String).fill_null("none").alias("kind")
    right = (pl.col("outcome") == "match").sum().cast(pl.Float64)
    return cases.group_by(kind, "doc_id").agg(hits=right, total=pl.len().cast(pl.Float64))


def _of_metric(evaluation: Evaluation, metric: str, by: str, *, sure: bool) -> pl.DataFrame:
    """The tallies of a ratio of counts by kind and document; none of another metric."""
    none = pl.DataFrame(
        schema={"kind": pl.String, "doc_id": pl.String, "hits": pl.Float64, "total": pl.Float64}
    )
    score = metrics.get(metric).score
    if score is not ratio and score not in _AS_RATIO:
        return none

    def narrowed_to(part: Evaluation) -> pl.DataFrame:
        rows = part.scan("scores").filter(pl.col("metric") == metric)
        if sure:
            odd = part.scan("cases").filter(in_fields(), pl.col("cause").is_in([READER, LABEL]))
            rows = rows.join(odd, on=["doc_id", "path"], how="anti", maintain_order="left")
        return rows.collect()

    narrowed = evaluation.changed({"scores": narrowed_to})
    ready = any((part.scores["slice_by"] == by).any() for part in narrowed.parts())
    weights = np.array(_AS_RATIO.get(score, np.eye(2)), dtype=float).T
    names, rows = evaluation.document_names, [none]
    for row in document_sums(narrowed, () if ready else (by,), average="pooled"):
        if (row.labels["slice_by"], row.labels["metric"]) == (by, metric):
            hits, total = (row.parts @ weights).T
            each = pl.DataFrame({"doc_id": names, "hits": hits, "total": total})
            rows.append(each.select(pl.lit(row.labels["slice_value"]).alias("kind"), pl.all()))
    return pl.concat(rows)


def _scored(evaluation: Evaluation, metric: str) -> str:
    """The first of the metrics named that this evaluation has."""
    have = {OUTCOME, *_metrics(evaluation)}
    return next((name for name in metric.split() if name in have), metric.split()[0])


def _metrics(evaluation: Evaluation) -> set[str]:
    names = (part.scan("scores").select("metric").unique() for part in evaluation.parts())
    return {name for each in names for name in each.collect()["metric"]}


def _tested(
    evaluation: Evaluation, metric: str, sums: Sequence[dict[str, np.ndarray]], by: str, unit: str,
    min_docs: int, draws: dict[str, Any],
) -> list[_Tested]:  # fmt: skip
    if len(sums[0]) < 2:
        return []
    whole, up = sum(sums[0].values()), _is_up(metric)
    rows = []
    for kind, parts in sums[0].items():
        n_docs, rest = int((parts[:, 1] > 0).sum()), whole - parts
        if n_docs < min_docs or (rest[:, 1] > 0).sum() < min_docs:
            continue
        drawn, others = map(ratio, drawn_parts([parts, rest], **draws))
        if metric == OUTCOME and by == "kind" and not unit:
            p = _exchanged(evaluation, by, kind)
        else:
            p = max(
                _by_documents(of[kind], sum(of.values()) - of[kind], up=up) if kind in of else 1.0
                for of in sums
            )
        rows.append(_Tested(
            evaluation, metric, kind, float(ratio(parts.sum(axis=0))),
            float(ratio(rest.sum(axis=0))), percentiles(drawn - others, 0.95), n_docs, p,
        ))  # fmt: skip
    return rows


def _exchanged(evaluation: Evaluation, by: str, kind: str) -> float:
    """p of the values right, exchanged within documents; as well without doubtful labels."""
    values, _ = opened_values(evaluation, columns=[by])
    p = 0.0
    for known in (np.ones(len(values.loss), dtype=bool), values.sure):
        inside = known
        if by in values.codes:
            has_kind = (by, kind) in values.ranks
            inside = known & (values.mask(by, kind) if has_kind else values.codes[by] < 0)
        test = Exchanged(values.document[known], values.loss[known], values.count, is_count=True)
        p = max(p, float(test.p([(values.document[inside], values.loss[inside])])[0]))
    return p


def _by_documents(parts: np.ndarray, rest: np.ndarray, *, up: bool) -> float:
    """One-sided p that a part is worse than the rest, by what each document adds to it."""
    # With h of t in the part and g of s in the rest it adds (h s - g t) / (t + s), of mean 0 if
    # both have one rate (N. Mantel, W. Haenszel, J. Natl. Cancer Inst. 22, 1959). The sum over the
    # root of the sum of squares is Student's t (D. D. Boos, Am. Stat. 46, 1992). With few expected
    # hits or misses on a side nothing is claimed.
    both = (parts[:, 1] > 0) & (rest[:, 1] > 0)
    (h, t), (g, s) = parts[both].T, rest[both].T
    rate = (h + g) / (t + s)
    for hits in (rate, 1 - rate):
        if min((np.maximum(hits, 0) * t).sum(), (np.maximum(hits, 0) * s).sum()) < _ENOUGH:
            return 1.0
    moved = (h * s - g * t) / (t + s)
    spread = float(np.sqrt((moved**2).sum()))
    away = float(moved.sum()) / spread if spread else 0.0
    return float(scipy.stats.t.sf(-away if up else away, max(int(both.sum()) - 1, 1)))


def _is_up(metric: str) -> bool:
    return metric == OUTCOME or metrics.get(metric).direction == "up"


def _untested(
    scored: Sequence[tuple[Evaluation, str]], sums: Sequence[dict[str, np.ndarray]], by: str,
    min_docs: int,
) -> str:  # fmt: skip
    """Why no kind could be tested."""
    for each, name in scored:
        score = metrics.get(name).score if name != OUTCOME else ratio
        if name in _metrics(each) and score is not ratio and score not in _AS_RATIO:
            title = _title(name)
            return (
                f"{title[:1].upper()}{title[1:]} is not a ratio of counts, so no {word(by)} was "
                "tested against the rest"
            )
    if not any(sums):
        return f"Nothing was scored by {word(by)}, so there is nothing to compare"
    if max(map(len, sums)) == 1:
        return f"There is only one {word(by)}, so there is nothing to compare"
    return f"Too few documents to compare {plural(by)}: {min_docs} are needed"


def _finding(
    row: _Tested, adjusted: float, by: str, count: int, settings: str, *, shown: bool
) -> Finding:
    title, system, name = _title(row.metric), row.evaluation.system, word(row.kind)
    values = f"{title} {row.value:.3f} against {row.rest:.3f}"
    tested = p_text(adjusted) + (f", adjusted for {count:,} tests" if count > 1 else "")
    size = abs(row.difference)
    low, high = sorted(np.sign(row.difference) * np.array(row.interval))
    span = f"{size:.3f}, 95 % interval {low:.3f} to {high:.3f}".replace("-", "−")
    claim = (
        f"{system} does worse on {name} than on other {plural(by)}: {values} (difference {span}; "
        f"{row.n_docs:,} documents; {tested})"
    )
    if not shown:
        claim = (
            f"No difference between {plural(by)} was shown for {system}; the largest is that of "
            f"{name}: {values} elsewhere ({tested})"
        )
    cases = pl.DataFrame(schema=dict.fromkeys(KEYS, pl.String))
    if shown:
        cases = keys(row.evaluation.gathered(partial(_in_kind, by=by, name=row.kind)))
    beside = "pages" if has_pages(row.evaluation) else "gold"
    return Finding(
        claim, "kinds", holds=shown, effect=size, ci_low=float(low), ci_high=float(high),
        # Rates over counts other than fields cannot be turned into a number of fields lost.
        at_least=max(float(low), 0.0) * cases.height if row.metric == OUTCOME else 0.0,
        n_docs=row.n_docs, n_cases=cases.height, p=row.p, p_adjusted=adjusted, n_tested=count,
        metric=row.metric, settings=settings, cases=cases, **origin(row.evaluation),
        what_to_try=f"Look at the fields of {word(by)} {name} beside their {beside}.",
    )  # fmt: skip


def _title(metric: str) -> str:
    return "share right" if metric == OUTCOME else metrics.title(metric)


def _in_kind(part: Evaluation, by: str, name: str) -> pl.DataFrame:
    """The cases of a kind; none of one that only a scorer knows."""
    cases = asked(part)
    if by not in (*cases.columns, *part.documents.columns, "position"):
        return cases.clear()
    return cases.filter(sliced(cases, part.documents, by).cast(pl.String).fill_null("none") == name)


def plural(by: str) -> str:
    """What a sentence calls several values of a column.

    Examples
    --------
    >>> plural("kind"), plural("entity"), plural("task")
    ('kinds of field', 'entities', 'tasks')
    """
    names = {"kind": "kinds of field", "entity": "entities", "complexity": "complexities"}
    return names.get(by, f"{word(by)}s")
