"""Shares and means of what an evaluation scored, by a column."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from formlab import analysis, metrics, selection, tables
from formlab.analysis import Finding
from formlab.analysis.slices import COLUMNS
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.bands import BANDS, order, sliced
from formlab.stats.draws import intervals

RIGHT, ERRORS, SIMILARITY = "outcome", "errors", "similarity"
TITLES = {RIGHT: "share right", ERRORS: "errors per value", SIMILARITY: "mean similarity"}
# What a field turned out to be. A rate of errors counts those that fit, among all values.
FOLLOWING = ("outcome", "cause", "status", "finding")
# A column with more values than this has names and no groups; documents are welcome all the same.
_MOST_VALUES = 60
_WHOLE = pl.col("level").is_in(("document", "page"))
RATES = tables.schema(
    "benchmark split system metric slice_by slice_value value:number ci_low:number ci_high:number "
    "n_docs:int n_cases:int"
)


class Column(NamedTuple):
    """The values of a column in their order, as text, and of each unit the code of its value."""

    values: list[str]
    # From 1; 0 is no value.
    codes: np.ndarray


class Units:
    """What is counted of an evaluation: its fields, or without any its pages and documents."""

    def __init__(self, evaluation: Evaluation, findings: Sequence[Finding] = ()) -> None:
        self.evaluation, self.findings = evaluation, findings
        fields = evaluation.fields
        self.of_documents = not fields.height
        self.cases = self._documents() if self.of_documents else fields
        names = evaluation.document_names
        self.document = self.cases["doc_id"].cast(pl.Enum(names)).to_physical().to_numpy()
        self.n_documents = len(names)
        self.column = functools.cache(self._column)
        self.tally = functools.cache(self._tally)

    def _documents(self) -> pl.DataFrame:
        """The cases of pages and documents; a document without any has a row of its own."""
        evaluation = self.evaluation
        cases = evaluation.cases.filter(_WHOLE)
        absent = evaluation.documents.join(cases, on="doc_id", how="anti")
        task = evaluation.scores.filter(_WHOLE)["task"].min() or "text"
        head = {"system": evaluation.system, "level": "document", "outcome": "unscored"}
        keys = absent.select("benchmark", "split", "doc_id").iter_rows(named=True)
        rows = tables.table("cases", [head | {"task": task} | key for key in keys])
        return pl.concat([cases, rows], how="diagonal_relaxed")

    @functools.cached_property
    def scores(self) -> pl.DataFrame:
        """The scores of the units, one by one."""
        fields = pl.col("level").is_in(tables.FIELD_LEVELS)
        wanted = _WHOLE if self.of_documents else fields
        return self.evaluation.scores.filter(wanted, pl.col("slice_by").is_null())

    @functools.cached_property
    def measures(self) -> dict[str, str]:
        """The titles of its measures by name."""
        scored = set(self.scores["metric"].unique())
        names = [n for n in metrics.METRICS if n in scored and metrics.get(n).score is ratio]
        own = {name: title for name, title in TITLES.items() if self.tally(name)[1].any()}
        return own | {name: metrics.title(name) for name in names}

    @functools.cached_property
    def columns(self) -> list[str]:
        """The columns that have groups, and the document."""
        offered = ["doc_id", *FOLLOWING[:3], *COLUMNS, *BANDS, *self.evaluation.own]
        return [n for n in dict.fromkeys(offered) if n == "doc_id" or self._has_groups(n)]

    def _has_groups(self, name: str) -> bool:
        values = sliced(self.cases, self.evaluation.documents, name)
        nested = values.dtype.is_nested()
        return not nested and 1 < values.n_unique() <= _MOST_VALUES

    def _column(self, name: str) -> Column:
        values = sliced(self.cases, self.evaluation.documents, name)
        known = values.drop_nulls().unique()
        ranked = sorted(known, key=lambda value: order(known, value))
        names = pl.Series(ranked, dtype=known.dtype).cast(pl.String)
        names = names.unique(maintain_order=True).to_list()
        codes = values.cast(pl.String).cast(pl.Enum(names)).to_physical().cast(pl.Int64) + 1
        return Column(names, codes.fill_null(0).to_numpy())

    def _tally(self, measure: str) -> tuple[np.ndarray, np.ndarray]:
        """Hits and total of each unit, both 0 where it is not scored."""
        cases = self.cases
        asked = cases["gold"].is_not_null() & (cases["outcome"] != "unscored")
        similarity = cases["similarity"]
        made = {
            RIGHT: ((cases["outcome"] == "match") & asked, asked),
            ERRORS: (~cases["outcome"].is_in(["match", "unscored"]), asked),
            SIMILARITY: (similarity.fill_nan(None), similarity.is_finite()),
        }
        if measure not in made:
            if measure not in metrics.METRICS or metrics.get(measure).score is not ratio:
                raise UnknownName.of("measure of fields", measure, self.measures)
            # Scores of a page have no path, and its case may have none either.
            key = ["doc_id"] if self.of_documents else ["doc_id", "path"]
            scores = self.scores.filter(pl.col("metric") == measure)
            scores = scores.unique(key, keep="first", maintain_order=True)
            joined = cases.select(key).join(
                scores.select(*key, "hits", "total"), on=key, how="left", maintain_order="left"
            )
            made[measure] = joined["hits"], joined["total"]
        numbers = (column.cast(pl.Float64).fill_nan(None) for column in made[measure])
        hits, total = (column.fill_null(0.0).to_numpy() for column in numbers)
        return hits, total

    def fits(self, line: str) -> np.ndarray:
        """Which of the units a line selects."""
        fit = np.full(self.cases.height, fill_value=not selection.read(line))
        fit[self.selected(line)["_unit"].to_numpy()] = True
        return fit

    def selected(self, line: str) -> pl.DataFrame:
        """The cases that a line selects, with their number in a column ``_unit``."""
        names = {n: getattr(self.evaluation, n) for n in ("benchmark", "split", "system")}
        numbered = self.cases.with_row_index("_unit")
        of = Evaluation(self.evaluation.documents, numbered, tables.table("scores", []), **names)
        return analysis.select(of, line, findings=self.findings)

    def rates(self, by: str, measure: str, line: str, **draws: Any) -> list[dict[str, Any]]:
        """The rows of `rates`."""
        is_after, is_errors = by in FOLLOWING, measure == ERRORS
        fit, among = self.fits(line), self.fits(_before(line))
        hits, total = self.tally(measure)
        values, codes = self.column(by)
        names = {n: getattr(self.evaluation, n) for n in ("benchmark", "split", "system")}
        rows, parts = [], []
        for code, name in [*enumerate(values, start=1), (0, None)]:
            hit = (codes == code) & fit
            # Errors are counted among all values, whatever became of them.
            base = among & (is_after | (codes == code)) if is_errors else hit
            if not (hit & (hits > 0) if is_errors and is_after else base).any():
                continue
            sums = self._summed(hit, hits), self._summed(base, total)
            parts.append(np.stack(sums, axis=1))
            taken = base & (total > 0)
            row = names | {"metric": measure, "slice_by": by, "slice_value": name}
            row |= {"value": float(ratio(parts[-1].sum(axis=0))), "n_cases": int(taken.sum())}
            rows.append(row | {"n_docs": len(np.unique(self.document[taken]))})
        # Of a single document there is no interval.
        ends = intervals([(part, ratio) for part in parts], **draws)
        for row, (low, high) in zip(rows, ends, strict=True):
            alone = row["n_docs"] < 2
            row |= {"ci_low": np.nan if alone else low, "ci_high": np.nan if alone else high}
        return rows

    def _summed(self, units: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """The numbers of some units summed by document."""
        weights = numbers[units]
        return np.bincount(self.document[units], weights=weights, minlength=self.n_documents)


def _before(line: str) -> str:
    """What a line says of the forms and not of what became of them."""
    chosen = selection.read(line)
    return selection.text({n: values for n, values in chosen.items() if n not in FOLLOWING})


def cases(
    evaluation: Evaluation, line: str = "", *, findings: Sequence[Finding] = ()
) -> pl.DataFrame:
    """The cases that are counted, or those that a line selects: fields, right ones among them.

    Without any field those of whole pages and documents; a document that has no case then has a
    row of its own, without gold and prediction. `line` and `findings` are as for
    `analysis.select`; the result has the schema CASES.

    Examples
    --------
    >>> result = analysis.open_evaluation()
    >>> cases(result).height, cases(result, "slice=kind:header")["kind"].unique().to_list()
    (499, ['header'])
    """
    return Units(evaluation, findings).selected(line).drop("_unit")


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
    """A measure by the values of a column, with intervals.

    Parameters
    ----------
    evaluations
        One or several, each with rows of its own.
    by
        A column of *cases* or *documents*, a band or ``position``.
    measure
        ``outcome`` is the share of gold values that are right, ``errors`` the number of wrong
        values over that of gold values, ``similarity`` its mean; or a metric of single fields that
        are hits of a total.
    line
        Which cases: see `formlab.selection`. For ``errors`` what it says of outcome, cause and
        status chooses which errors are counted, and not among which values.
    findings
        Those that ``finding=2`` in a line is of.
    resamples, level, seed
        Of the percentile intervals over documents, with the draws of `summarise`.

    Returns
    -------
    polars.DataFrame
        The schema `RATES`. `n_cases` are the values that the measure is taken over, in `n_docs`
        documents. `value` is NaN without any; the interval for fewer than two documents.

    Raises
    ------
    UnknownName
        If the column or the measure is unknown.
    DataBroken
        If the line selects nothing.

    Examples
    --------
    >>> rates(analysis.open_evaluation(), by="kind", line="slice=length:1–4")["n_cases"].sum()
    125
    """
    several = [evaluations] if isinstance(evaluations, Evaluation) else list(evaluations)
    draws = {"resamples": resamples, "level": level, "seed": seed}
    units = (Units(evaluation, findings) for evaluation in several)
    rows = [row for one in units for row in one.rates(by, measure, line, **draws)]
    return pl.DataFrame(rows, schema=RATES)
