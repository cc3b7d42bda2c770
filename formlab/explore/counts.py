"""Shares and means of what an evaluation scored, by a column."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import analysis, metrics, selection, tables
from formlab.analysis import Finding
from formlab.analysis.finding import origin
from formlab.analysis.slices import COLUMNS
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.bands import BANDS, order, sliced
from formlab.stats.draws import by_document, intervals

RIGHT, ERRORS, SIMILARITY = "outcome", "errors", "similarity"
# How a measure is called and drawn: its largest value, and whether the smaller is the better.
MEASURES = {
    RIGHT: {"title": "share right", "high": 1, "down": False, "percent": True},
    ERRORS: {"title": "errors per value", "high": None, "down": True, "percent": True},
    SIMILARITY: {"title": "mean similarity", "high": 1, "down": False, "percent": False},
}
# What a field turned out to be. A rate of errors counts those that fit, among all values.
FOLLOWING = ("outcome", "cause", "status", "finding")
# A column with more values than this has names and no groups; documents are welcome all the same.
_MOST_VALUES = 60
_NO_INTERVAL = {"ci_low": np.nan, "ci_high": np.nan}
RATES = tables.schema(
    "benchmark split system metric slice_by slice_value value:number ci_low:number ci_high:number "
    "n_docs:int n_cases:int"
)


class Units:
    """What is counted of an evaluation: its fields, or without any its pages and documents."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        fields, whole = evaluation.fields, pl.col("level").is_in(("document", "page"))
        self.of_documents = not fields.height
        self.scored = whole if self.of_documents else pl.col("level").is_in(tables.FIELD_LEVELS)
        self.cases = evaluation.cases.filter(whole) if self.of_documents else fields
        names = evaluation.document_names
        self.document = self.cases["doc_id"].cast(pl.Enum(names)).to_physical().to_numpy()
        self.n_documents = len(names)

    @functools.cached_property
    def scores(self) -> pl.DataFrame:
        """The scores of the units, one by one."""
        return self.evaluation.scores.filter(self.scored, pl.col("slice_by").is_null())

    @functools.cached_property
    def measures(self) -> dict[str, dict[str, Any]]:
        """Its measures by name, each as those of `MEASURES`."""
        scored = set(self.scores["metric"].unique())
        found = {name: how for name, how in MEASURES.items() if self.tally(name)[:, 1].any()}
        for name in metrics.METRICS:
            metric = metrics.get(name)
            if name in scored and metric.score is ratio:
                scale = {"high": metric.high, "down": metric.direction == "down", "percent": False}
                found[name] = {"title": metrics.title(name)} | scale
        return found

    @functools.cached_property
    def columns(self) -> pl.DataFrame:
        """The columns that have groups, and the document, as texts."""
        offered = dict.fromkeys(["doc_id", *FOLLOWING[:3], *COLUMNS, *BANDS, *self.evaluation.own])
        values = [sliced(self.cases, self.evaluation.documents, name) for name in offered]
        return pl.DataFrame(
            of.cast(pl.String)
            for of in values
            if of.name == "doc_id"
            or (not of.dtype.is_nested() and 1 < of.n_unique() <= _MOST_VALUES)
        )

    def tally(self, measure: str) -> np.ndarray:
        """Hits and total of each unit, shape (units, 2), both 0 where it is not scored."""
        asked = pl.col("gold").is_not_null() & (pl.col("outcome") != "unscored")
        similarity = pl.col("similarity").fill_nan(None)
        made = {
            RIGHT: ((pl.col("outcome") == "match") & asked, asked),
            ERRORS: (~pl.col("outcome").is_in(["match", "unscored"]), asked),
            SIMILARITY: (similarity, similarity.is_not_null()),
        }
        scored = self.cases
        if measure not in made:
            if measure not in metrics.METRICS or metrics.get(measure).score is not ratio:
                raise UnknownName.of("measure of fields", measure, self.measures)
            # Scores of a page have no path, and its case may have none either.
            key = ["doc_id"] if self.of_documents else ["doc_id", "path"]
            scores = self.scores.filter(metric=measure).select(*key, "hits", "total")
            scores = scores.unique(key, keep="first")
            scored = scored.select(key).join(scores, on=key, how="left", maintain_order="left")
        hits, total = made.get(measure, (pl.col("hits"), pl.col("total")))
        numbers = scored.select(hits=hits.cast(float), total=total.cast(float))
        return numbers.fill_nan(None).fill_null(0.0).to_numpy()

    def chosen(self, line: str, findings: Sequence[Finding] = ()) -> pl.DataFrame:
        """The cases that a line selects, with their number in a column ``_unit``."""
        numbered = dataclasses.replace(self.evaluation, cases=self.cases.with_row_index("_unit"))
        return analysis.select(numbered, line, findings=findings)

    def fits(self, line: str, findings: Sequence[Finding]) -> np.ndarray:
        """Which of the units a line selects."""
        return np.isin(np.arange(self.cases.height), self.chosen(line, findings)["_unit"])


def cases(
    evaluation: Evaluation, line: str = "", *, findings: Sequence[Finding] = ()
) -> pl.DataFrame:
    """The cases that are counted, or those that a line selects: fields, right ones among them.

    Without any field those of whole pages and documents. `line` and `findings` are as for
    `analysis.select`; the result has the schema CASES.

    >>> result = analysis.open_evaluation()
    >>> cases(result).height, cases(result, "slice=kind:header")["kind"].unique().to_list()
    (499, ['header'])
    """
    return Units(evaluation).chosen(line, findings).drop("_unit")


def rates(
    evaluations: Evaluation | Sequence[Evaluation],
    *,
    by: str,
    measure: str = RIGHT,
    line: str = "",
    findings: Sequence[Finding] = (),
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """A measure of one evaluation or several by the values of a column, with intervals.

    `by` is a column of *cases* or *documents*, a band or ``position``. Of the measures ``outcome``
    is the share of gold values that are right, ``errors`` the number of wrong values over that of
    gold values, ``similarity`` its mean; others are metrics of single fields that are hits of a
    total. `line` says which cases, see `formlab.selection`, of these `findings`; for ``errors``
    what it says of outcome, cause and status chooses which errors are counted, and not among which
    values. `resamples`, `level` and `seed` are those of the percentile intervals over documents,
    with the draws of `summarise`.

    The result has the schema `RATES`. `n_cases` are the values that the measure is taken over, in
    `n_docs` documents. `value` is NaN without any; the interval for fewer than two documents.
    `UnknownName` if the column or the measure is unknown; `DataBroken` if the line selects nothing.

    >>> rates(analysis.open_evaluation(), by="kind", line="slice=length:1–4")["n_cases"].sum()
    125
    """
    several = [evaluations] if isinstance(evaluations, Evaluation) else evaluations
    before = {n: values for n, values in selection.read(line).items() if n not in FOLLOWING}
    is_after, is_errors, rows = by in FOLLOWING, measure == ERRORS, []
    for units in map(Units, several):
        fit, among = (units.fits(text, findings) for text in (line, selection.text(before)))
        hits, total = units.tally(measure).T
        values = sliced(units.cases, units.evaluation.documents, by)
        ranked = sorted(values.unique(), key=lambda value: order(values, value))
        ranked = pl.Series(ranked, dtype=values.dtype).cast(pl.String).unique(maintain_order=True)
        values, found, parts = values.cast(pl.String), [], []
        for value in ranked:
            same = values.eq_missing(value).to_numpy()
            hit = same & fit
            # Errors are counted among all values, whatever became of them.
            base = among & (is_after | same) if is_errors else hit
            if not (hit & (hits > 0) if is_errors and is_after else base).any():
                continue
            part = by_document(units.document, [hits * hit, total * base], units.n_documents)
            taken = base & (total > 0)
            n_docs = len(np.unique(units.document[taken]))
            row = {"metric": measure, "slice_by": by, "slice_value": value, "n_docs": n_docs}
            row |= {"value": float(ratio(part.sum(axis=0))), "n_cases": int(taken.sum())}
            found.append(origin(units.evaluation) | row)
            parts.append((part, ratio))
        ends = intervals(parts, resamples=resamples, level=level, seed=seed)
        for row, (low, high) in zip(found, ends, strict=True):
            # Of a single document there is no interval.
            is_known = row["n_docs"] > 1
            rows.append(row | ({"ci_low": low, "ci_high": high} if is_known else _NO_INTERVAL))
    return pl.DataFrame(rows, schema=RATES)
