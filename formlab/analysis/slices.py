"""Where a system is worse than elsewhere: one row a weakness, each the slice that explains it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis.comparability import scored_metrics
from formlab.analysis.finding import (
    KEYS,
    LABEL,
    OUTCOME,
    READER,
    Finding,
    asked,
    has_pages,
    keys,
    origin,
    p_text,
    word,
)
from formlab.analysis.weaknesses import AT_LEAST, UNDER, Search, Values, Weakness
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.bands import of_values, sliced
from formlab.stats.draws import by_document, drawn_parts, percentiles
from formlab.stats.sums import of_cases
from formlab.tables import USABLE, Settings

# Columns that say which field a value is of; others are looked at within each of their values too.
HEADS = ("field", "subtype", "kind")
# What is known of a value without looking at how it was read.
COLUMNS = (*HEADS, "task", "modality", "scope", "reference", "complexity", "modal")
COLUMNS += ("template", "domain", "page", "position")
# What follows from its gold and its box.
_OF_GOLD = ("nesting", "vertical", "horizontal", "length", "box_height", "box_width")
_OF_GOLD += ("year", "magnitude", "case", "index")
_VALUES = ("value", "ci_low", "ci_high", "rest", "difference", "difference_low")
_VALUES += ("difference_high", "p", "p_adjusted", "excess")
SLICES: dict[str, Any] = {
    **dict.fromkeys(("benchmark", "split", "system", "metric"), pl.String),
    **dict.fromkeys(("slice_by", "slice_value"), pl.List(pl.String)),
    **dict.fromkeys(_VALUES, pl.Float64),
    **dict.fromkeys(("n_docs", "n_cases", "n_tested"), pl.Int64),
    "mode": pl.String,
    "settings": tables.SETTINGS,
}
# Columns that follow from the error: searching them would be circular.
_AFTERWARDS = ("outcome", "cause", "similarity", "status", "exact", "normalised", "typed", "fuzzy")


def find_slices(
    evaluations: Evaluation | Sequence[Evaluation],
    *,
    metric: str = OUTCOME,
    columns: Sequence[str] | None = None,
    max_columns: int = 2,
    min_docs: int = 3,
    min_cases: int = 5,
    alpha: float = 0.05,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """The slices of values on which a system is worse than elsewhere, one for each weakness.

    Every conjunction of at most `max_columns` values with enough support is tested against the
    rest by `stats.exchange`. Of those that hold the one that explains most is taken, its values
    are taken away, and the rest is tested again. Values
    whose verdict depends on the reading rule are left out, and a slice must hold as well without
    those whose label may be wrong. So are documents that are mostly wrong, once they are told.

    Parameters
    ----------
    evaluations
        One, or several that are searched one by one.
    metric
        ``outcome``, the share of values right, or a metric of fields that is hits of a total.
    columns
        Of *cases* or *documents*, bands, or what follows from the gold (``year``, ``index`` …).
        If left out all of these and a user's own, each within every kind and field as well.
        Columns that follow from the error, such as ``cause``, are refused.
    min_docs, min_cases
        The least support of a slice.
    alpha
        The chance that any slice is named where all values are alike, after Holm.
    resamples, level, seed
        Of the percentile intervals.

    Returns
    -------
    polars.DataFrame
        Ranked by `excess`, how many values are lost by not being as good as the rest; `rest` is the
        share of the values that are in no weakness. A number is cut at its own values: ``at least
        26``. A slice was picked for looking bad: expect its difference to be smaller on new
        documents.

    Raises
    ------
    UnknownName
        If a column or the metric is not known or not allowed.
    """
    if refused := [name for name in columns or () if name in _AFTERWARDS]:
        allowed = [name for name in columns or () if name not in _AFTERWARDS]
        raise UnknownName.of("column to search slices in", refused[0], allowed or COLUMNS)
    several = [evaluations] if isinstance(evaluations, Evaluation) else list(evaluations)
    rows = []
    for evaluation in several:
        values, heads = opened_values(evaluation, metric, columns)
        search = Search(values, heads, max_columns, min_docs, min_cases)
        settings = Settings(
            rules=f"columns<={max_columns}|docs>={min_docs}|cases>={min_cases}",
            interval=f"bootstrap,documents,n={resamples},level={level:g},seed={seed}",
            test=f"exchanged within documents,holm<={alpha:g}",
        )
        base = {"metric": metric, "mode": evaluation.mode}
        base["settings"] = dataclasses.asdict(settings)
        base |= origin(evaluation)
        draws = {"resamples": resamples, "level": level, "seed": seed}
        found = slice_rows(values, search.weaknesses(alpha), **draws)
        rows += [base | row for row in found if row["slice_by"]]
    names = (pl.col(name).list.join(" & ") for name in ("slice_by", "slice_value"))
    return pl.DataFrame(rows, schema=SLICES).sort(-pl.col("excess"), *names)


def opened_values(
    evaluation: Evaluation,
    metric: str = OUTCOME,
    columns: Sequence[str] | None = None,
    *,
    answered: bool = False,
    unit: str = "",
) -> tuple[Values, Sequence[str]]:
    """The gold's values with the columns to look at, and within which of these to look deeper.

    With `answered` only those of documents that have a usable answer; with `unit` documents that
    have one value of this column count as one.
    """
    up = metric == OUTCOME or metrics.get(metric).direction == "up"
    if metric != OUTCOME:
        known = {OUTCOME} | {
            name
            for part in evaluation.parts()
            for name in part.scan("scores").filter(of_cases()).collect()["metric"].unique()
            if metrics.get(name).score is ratio
        }
        if metric not in known:
            raise UnknownName.of("metric of fields that is hits of a total", metric, sorted(known))
    names = [*COLUMNS, *_OF_GOLD, *evaluation.own] if columns is None else list(columns)
    pieces = [_piece(part, metric, names, answered=answered) for part in evaluation.parts()]
    table = pl.concat([table for table, _ in pieces])
    if unit:
        units = sliced(table, evaluation.documents, unit).cast(pl.String)
        table = table.with_columns(doc_id=pl.coalesce(units, "doc_id"))
    values = {name: pl.concat([of[name] for _, of in pieces]) for name in names}
    return Values(table, values, up=up), HEADS if columns is None else ()


def _piece(
    part: Evaluation, metric: str, names: Sequence[str], *, answered: bool
) -> tuple[pl.DataFrame, dict[str, pl.Series]]:
    cases = _of_gold(part)
    if answered:
        usable = pl.col("status").is_in(USABLE)
        documents = part.scan("cases").filter(usable).select("doc_id").collect()["doc_id"]
        known = pl.col("status").is_in([*USABLE, "missing"])
        cases = cases.filter(known, pl.col("doc_id").is_in(documents.implode()))
    if metric == OUTCOME:
        cases = cases.with_columns(hits=pl.col("outcome") == "match", total=1.0)
    else:
        key = ["doc_id", "path"]
        tallies = part.scan("scores").filter(of_cases(), pl.col("metric") == metric)
        tallies = tallies.select(*key, "hits", "total").collect().unique(key, keep="first")
        cases = cases.join(tallies, on=key, how="inner", maintain_order="left")
    table = cases.select(
        *KEYS, "cause", "outcome", "hits", "total", sure=pl.col("cause").ne_missing(LABEL)
    )
    return table, {name: _column(cases, part, name) for name in names}


def _column(cases: pl.DataFrame, part: Evaluation, name: str) -> pl.Series:
    values = of_values(cases, part.documents, name)
    return values if values.dtype.is_numeric() else values.cast(pl.String)


def _of_gold(part: Evaluation) -> pl.DataFrame:
    return asked(part).filter(pl.col("cause").ne_missing(READER))


def slice_rows(
    values: Values, found: Sequence[Weakness], *, resamples: int, level: float, seed: int
) -> Iterator[dict[str, Any]]:
    """Weaknesses with their shares, that of the values in none of them, and the difference."""
    elsewhere = ~np.logical_or.reduce([weakness.inside for weakness in found] or [[False]])
    for weakness in found:
        inside, nan = weakness.inside, (float("nan"),) * 2
        sides = [
            by_document(values.document[at], [values.hits[at], values.total[at]], values.count)
            for at in (inside, elsewhere)
        ]
        value, rest = (float(ratio(side.sum(axis=0))) for side in sides)
        span, apart = nan, nan
        if resamples:
            drawn, others = map(ratio, drawn_parts(sides, resamples=resamples, seed=seed))
            span, apart = percentiles(drawn, level), percentiles(drawn - others, level)
        row = {"slice_by": weakness.columns, "slice_value": weakness.values}
        numbers = (value, *span, rest, value - rest, *apart, weakness.p, weakness.p_adjusted)
        row |= dict(zip(_VALUES, numbers, strict=False))
        row |= {"excess": abs(value - rest) * inside.sum(), "n_cases": int(inside.sum())}
        row |= {"n_docs": len(np.unique(values.document[inside])), "n_tested": weakness.n_tested}
        yield row


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

    def chosen(part: Evaluation) -> pl.DataFrame:
        cases = _of_gold(part)
        for name, value in zip(found["slice_by"], found["slice_value"], strict=True):
            column = _column(cases, part, name)
            if column.dtype.is_numeric() and value.startswith((AT_LEAST, UNDER)):
                edge = float(value.rpartition(" ")[2].replace(",", ""))
                cases = cases.filter(
                    column >= edge if value.startswith(AT_LEAST) else column < edge
                )
            else:
                cases = cases.filter(column.cast(pl.String) == value)
        return cases.filter(pl.col("outcome") != "match") if wrong else cases

    return evaluation.gathered(chosen)


def kinds(
    evaluation: Evaluation | Sequence[Evaluation],
    *,
    metric: str,
    by: str = "kind",
    unit: str = "",
    alpha: float = 0.05,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Finding:
    """Whether a system does worse on one value of `by` than on the others: one finding.

    It is on the strongest slice of one column, as in `find_slices`; if none holds, it says so.

    Parameters
    ----------
    evaluation
        One; of several those that have the metric are looked at one by one, and the one that loses
        the most values speaks.
    metric
        As for `find_slices`; of several, joined by spaces, the first such one that was scored.
    by
        A column that slices fields.
    unit
        A column of *documents* whose values are independent, such as ``template``; each document
        is if left out.
    alpha, resamples, level, seed
        As for `find_slices`.

    Examples
    --------
    >>> import formlab
    >>> one = formlab.evaluate({"a": {"x": "1"}}, {"a": {"x": "2"}})
    >>> kinds(one, metric="outcome").claim
    'No difference between kinds of field was shown for prediction'
    """
    several = [evaluation] if isinstance(evaluation, Evaluation) else list(evaluation)
    draws = {"resamples": resamples, "level": level, "seed": seed}
    found = []
    for one in several:
        scored = [name for name in scored_metrics(one) if metrics.get(name).score is ratio]
        names = [name for name in metric.split() if name in {OUTCOME, *scored}]
        for name in names[:1]:
            values, _ = opened_values(one, name, [by], unit=unit)
            weak = Search(values, (), 1).weaknesses(alpha / len(several))
            rows = slice_rows(values, weak, **draws)
            found += [(row["excess"], one, name, row) for row in rows if row["slice_by"]]
    base = {"settings": f"{metric}|by={by}|exchanged within documents,holm<={alpha:g}"}
    base["settings"] += f"|unit={unit}" if unit else ""
    named = {"kind": "kinds of field", "entity": "entities", "complexity": "complexities"}
    plural = named.get(by, f"{word(by)}s")
    if not found:
        systems = " and ".join(dict.fromkeys(one.system for one in several))
        claim = f"No difference between {plural} was shown for {systems}"
        return Finding(claim, "kinds", holds=False, **base, **origin(several[0]))
    _, one, name, row = max(found, key=lambda each: each[0])
    title = "share right" if name == OUTCOME else metrics.title(name)
    sign, value = np.sign(row["difference"]), word(row["slice_value"][0])
    low, high = sorted((sign * row["difference_low"], sign * row["difference_high"]))
    span = f"{abs(row['difference']):.3f}, 95 % interval {low:.3f} to {high:.3f}".replace("-", "−")
    claim = (
        f"{one.system} does worse on {value} than on other {plural}: {title} {row['value']:.3f} "
        f"against {row['rest']:.3f} (difference {span}; {row['n_docs']:,} documents; "
        f"{p_text(row['p_adjusted'])}, adjusted for {row['n_tested']:,} tests)"
    )
    base |= {n: row[n] for n in ("n_docs", "n_cases", "n_tested", "p", "p_adjusted")}
    base |= {"effect": abs(row["difference"]), "ci_low": low, "ci_high": high, "metric": name}
    base["at_least"] = max(low, 0.0) * row["n_cases"] if name == OUTCOME else 0.0
    beside = "pages" if has_pages(one) else "gold"
    tip = f"Look at the fields of {word(by)} {value} beside their {beside}."
    cases = keys(slice_cases(one, row, wrong=False))
    return Finding(claim, "kinds", cases=cases, what_to_try=tip, **base, **origin(one))
