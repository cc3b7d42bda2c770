"""Whether a system is worse on one kind of field than on the rest: one sentence, as a finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from scipy import special

from formlab import metrics
from formlab.analysis.comparability import scored_metrics
from formlab.analysis.finding import (
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
)
from formlab.analysis.slices import opened_values
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.metrics.entities import f1_of, precision_of, recall_of
from formlab.scoring.bands import sliced
from formlab.stats.draws import drawn_parts, percentiles
from formlab.stats.exchange import Exchanged
from formlab.stats.sums import document_sums
from formlab.stats.tests import ALPHA, adjusted_p, holds

# The numerator and denominator of scores whose parts are hits and total, or tp, gold and pred.
_AS_RATIO = {
    ratio: ([1, 0], [0, 1]),
    f1_of: ([2, 0, 0], [0, 1, 1]),
    precision_of: ([1, 0, 0], [0, 0, 1]),
    recall_of: ([1, 0, 0], [0, 1, 0]),
}
# So many hits are to be expected of a kind before anything is said of it.
_ENOUGH = 5
_SUMS = {"kind": pl.String, "doc_id": pl.String, "hits": pl.Float64, "total": pl.Float64}
_ODD = pl.col("cause").is_in([READER, LABEL]).fill_null(False)
Sums = Mapping[str, np.ndarray]


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
    draws = {"resamples": resamples, "seed": seed}
    tested: list[dict[str, Any]] = []
    untested = f"Nothing was scored by {word(by)}, so there is nothing to compare"
    for one in several:
        known = {OUTCOME, *scored_metrics(one)}
        name = next((name for name in metric.split() if name in known), metric.split()[0])
        sums, sure = (kind_sums(one, name, by, unit, sure=only_sure) for only_sure in (False, True))
        base = {"evaluation": one, "metric": name}
        tested += [base | row for row in _tested(one, name, sums, sure, by, unit, min_docs, draws)]
        if name != OUTCOME and name in known and metrics.get(name).score not in _AS_RATIO:
            title = _title(name)
            untested = f"{title[:1].upper()}{title[1:]} is not a ratio of counts, so no {word(by)} "
            untested += "was tested against the rest"
        elif len(sums) == 1:
            untested = f"There is only one {word(by)}, so there is nothing to compare"
        elif sums:
            untested = f"Too few documents to compare {plural(by)}: {min_docs} are needed"
    adjusted = adjusted_p([row["p"] for row in tested])
    count = int((~np.isnan(adjusted)).sum())
    settings = f"{metric}|by={by}|exchanged within documents|holm,n={count}|documents>={min_docs}"
    settings += f"|unit={unit}" if unit else ""
    if not tested:
        base = origin(several[0]) if several else {}
        return Finding(untested, "kinds", holds=False, settings=settings, **base)
    for row, p in zip(tested, adjusted, strict=True):
        row |= {"p_adjusted": float(p), "holds": holds(p, *row["interval"], alpha=alpha)}
    shown = [row for row in tested if row["holds"]]
    largest = max(shown or tested, key=lambda row: (abs(row["value"] - row["rest"]), row["kind"]))
    return _finding(largest, by, count, settings)


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
    name = pl.coalesce(unit, "doc_id") if unit else pl.col("doc_id")
    units = evaluation.gathered(
        lambda part: part.documents.select("doc_id", unit=name.cast(pl.String))
    )
    pieces = pieces.join(units, on="doc_id").with_columns(number=pl.col("unit").rank("dense") - 1)
    count = pieces["unit"].n_unique()
    return {
        str(kind): np.stack(
            [np.bincount(rows["number"], rows[side], count) for side in ("hits", "total")], axis=1
        )
        for (kind,), rows in sorted(pieces.group_by("kind"))
    }


def _kind_of(cases: pl.DataFrame, part: Evaluation, by: str) -> pl.Series:
    return sliced(cases, part.documents, by).cast(pl.String).fill_null("none").alias("kind")


def _outcomes(part: Evaluation, by: str, *, sure: bool) -> pl.DataFrame:
    cases = asked(part).filter(~_ODD) if sure else asked(part)
    right = (pl.col("outcome") == "match").sum().cast(pl.Float64)
    groups = cases.group_by(_kind_of(cases, part, by), "doc_id")
    return groups.agg(hits=right, total=pl.len().cast(pl.Float64))


def _of_metric(evaluation: Evaluation, metric: str, by: str, *, sure: bool) -> pl.DataFrame:
    """The tallies of a ratio of counts by kind and document; none of another metric."""
    rows, score = [pl.DataFrame(schema=_SUMS)], metrics.get(metric).score
    if score not in _AS_RATIO:
        return rows[0]

    def narrowed_to(part: Evaluation) -> pl.DataFrame:
        scores = part.scan("scores").filter(pl.col("metric") == metric)
        if sure:
            odd = part.scan("cases").filter(in_fields(), _ODD)
            scores = scores.join(odd, on=["doc_id", "path"], how="anti", maintain_order="left")
        return scores.collect()

    narrowed = evaluation.changed({"scores": narrowed_to})
    ready = any((part.scores["slice_by"] == by).any() for part in narrowed.parts())
    weights = np.array(_AS_RATIO[score], dtype=float).T
    for row in document_sums(narrowed, () if ready else (by,), average="pooled"):
        if (row.labels["slice_by"], row.labels["metric"]) == (by, metric):
            hits, total = (row.parts @ weights).T
            columns = {"doc_id": evaluation.document_names, "hits": hits, "total": total}
            named = pl.DataFrame(columns).with_columns(kind=pl.lit(row.labels["slice_value"]))
            rows.append(named.select(*_SUMS))
    return pl.concat(rows)


def _tested(
    evaluation: Evaluation,
    metric: str,
    sums: Sums,
    sure: Sums,
    by: str,
    unit: str,
    min_docs: int,
    draws: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Each kind with its share, that of the rest, the interval of their difference and p."""
    rows = []
    for kind, parts in sums.items() if len(sums) > 1 else ():
        rest, n_docs = sum(sums.values()) - parts, int((parts[:, 1] > 0).sum())
        if n_docs < min_docs or (rest[:, 1] > 0).sum() < min_docs:
            continue
        drawn, others = map(ratio, drawn_parts([parts, rest], **draws))
        if metric == OUTCOME and by == "kind" and not unit:
            p = _exchanged(evaluation, by, kind)
        else:
            up = metric == OUTCOME or metrics.get(metric).direction == "up"
            p = max(
                _by_documents(of[kind], sum(of.values()) - of[kind], up=up) if kind in of else 1.0
                for of in (sums, sure)
            )
        value, other = (float(ratio(side.sum(axis=0))) for side in (parts, rest))
        interval = percentiles(drawn - others, 0.95)
        rows.append(
            {"kind": kind, "value": value, "rest": other, "interval": interval}
            | {"n_docs": n_docs, "p": p}
        )
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
    return float(special.stdtr(max(int(both.sum()) - 1, 1), away if up else -away))


def _finding(row: Mapping[str, Any], by: str, count: int, settings: str) -> Finding:
    evaluation, metric, shown = row["evaluation"], row["metric"], row["holds"]
    name, difference = word(row["kind"]), row["value"] - row["rest"]
    values = f"{_title(metric)} {row['value']:.3f} against {row['rest']:.3f}"
    tested = p_text(row["p_adjusted"]) + (f", adjusted for {count:,} tests" if count > 1 else "")
    low, high = sorted(np.sign(difference) * np.array(row["interval"]))
    span = f"{abs(difference):.3f}, 95 % interval {low:.3f} to {high:.3f}".replace("-", "−")
    claim = (
        f"No difference between {plural(by)} was shown for {evaluation.system}; the largest is "
        f"that of {name}: {values} elsewhere ({tested})"
    )
    cases = keys(asked(evaluation).clear())
    if shown:
        claim = (
            f"{evaluation.system} does worse on {name} than on other {plural(by)}: {values} "
            f"(difference {span}; {row['n_docs']:,} documents; {tested})"
        )
        cases = keys(evaluation.gathered(partial(_in_kind, by=by, name=row["kind"])))
    beside = "pages" if has_pages(evaluation) else "gold"
    return Finding(
        claim,
        "kinds",
        effect=abs(difference),
        ci_low=float(low),
        ci_high=float(high),
        # Rates over counts other than fields cannot be turned into a number of fields lost.
        at_least=max(float(low), 0.0) * cases.height if metric == OUTCOME else 0.0,
        n_cases=cases.height,
        n_tested=count,
        settings=settings,
        cases=cases,
        what_to_try=f"Look at the fields of {word(by)} {name} beside their {beside}.",
        **{n: row[n] for n in ("holds", "n_docs", "p", "p_adjusted", "metric")},
        **origin(evaluation),
    )


def _title(metric: str) -> str:
    return "share right" if metric == OUTCOME else metrics.title(metric)


def _in_kind(part: Evaluation, by: str, name: str) -> pl.DataFrame:
    """The cases of a kind; none of one that only a scorer knows."""
    cases = asked(part)
    if by not in (*cases.columns, *part.documents.columns, "position"):
        return cases.clear()
    return cases.filter(_kind_of(cases, part, by) == name)


def plural(by: str) -> str:
    """What a sentence calls several values of a column.

    Examples
    --------
    >>> plural("kind"), plural("entity"), plural("task")
    ('kinds of field', 'entities', 'tasks')
    """
    names = {"kind": "kinds of field", "entity": "entities", "complexity": "complexities"}
    return names.get(by, f"{word(by)}s")
