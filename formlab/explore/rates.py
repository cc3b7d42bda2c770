"""Shares and means of what an evaluation scored, by a column or for slices made by hand."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import analysis, frames, metrics, selection, tables
from formlab.analysis import Finding
from formlab.analysis.comparability import per_shard
from formlab.analysis.finding import cases_at, fields_of, in_fields
from formlab.analysis.intervals import by_document, drawn_parts, percentiles
from formlab.analysis.slices import COLUMNS
from formlab.analysis.tallied import numbered
from formlab.errors import UnknownName
from formlab.explore._units import (
    ERRORS,
    NEEDED,
    RIGHT,
    SIMILARITY,
    Tally,
    of_wholes,
    scores_of,
    tally_of,
    units,
)  # fmt: skip
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.bands import BANDS, order, sliced

__all__ = ["cases", "columns", "measures", "rates"]

TITLES = {RIGHT: "share right", ERRORS: "errors per value", SIMILARITY: "mean similarity"}
# What a field turned out to be. A rate of errors counts those that fit, among all values.
FOLLOWING = ("outcome", "cause", "status", "finding")
# A column with more values than this has names and no groups; documents are welcome all the same.
_MOST_VALUES = 60
RATES: dict[str, Any] = {
    "benchmark": pl.String, "split": pl.String, "system": pl.String, "metric": pl.String,
    "slice_by": pl.String, "slice_value": pl.String, "value": pl.Float64,
    "ci_low": pl.Float64, "ci_high": pl.Float64, "n_docs": pl.Int64, "n_cases": pl.Int64,
}  # fmt: skip


def cases(
    evaluation: Evaluation, line: str = "", *, findings: Sequence[Finding] = ()
) -> pl.DataFrame:
    """The cases that are counted, or those that a line selects: fields, right ones among them.

    Without any field those of whole pages and documents; a document that has no case then has a
    row of its own, without gold and prediction.

    Parameters
    ----------
    evaluation
        As from `analysis.evaluate`.
    line, findings
        As for `analysis.select`.

    Returns
    -------
    polars.DataFrame
        The schema CASES.

    Examples
    --------
    >>> from formlab import analysis
    >>> result = analysis.open_evaluation()
    >>> cases(result).height, cases(result, "slice=kind:header")["kind"].unique().to_list()
    (499, ['header'])
    """
    if of_wholes(evaluation):
        return _select(evaluation, units(evaluation), line, findings)
    return per_shard(evaluation, lambda each: _select(each, fields_of(each), line, findings))


def _select(
    evaluation: Evaluation, among: pl.DataFrame, line: str, findings: Sequence[Finding]
) -> pl.DataFrame:
    # A finding about another system chooses none of this one's cases.
    own = [
        each if all(getattr(each, n) in ("", getattr(evaluation, n)) for n in names)
        else dataclasses.replace(each, cases=each.cases.clear())
        for each in findings
        for names in [("benchmark", "split", *(["system"] if each.about != "systems" else []))]
    ]  # fmt: skip
    names = {name: getattr(evaluation, name) for name in ("benchmark", "split", "system")}
    chosen = Evaluation(evaluation.documents, among, tables.table("scores", []), **names)
    return analysis.select(chosen, line, findings=own)


def _offered(evaluation: Evaluation) -> list[str]:
    """The columns that may be looked by."""
    names = ("doc_id", *FOLLOWING[:3], *COLUMNS, *BANDS, *evaluation.own)
    return list(dict.fromkeys(names))


def columns(evaluation: Evaluation) -> dict[str, pl.Series]:
    """The columns to look by, each with its value for every one of the `cases`, as text.

    Those of `analysis.find_slices`, what a field turned out to be, the document, and a user's own;
    columns with a single value, or with more than 60, are left out, but for the document.
    """
    return _groups(evaluation, units(evaluation, _offered(evaluation)))


def _groups(evaluation: Evaluation, units: pl.DataFrame) -> dict[str, pl.Series]:
    known: dict[str, pl.Series] = {}
    for name in _offered(evaluation):
        values = sliced(units, evaluation.documents, name)
        if values.dtype.is_nested():
            continue
        count = values.n_unique()
        if name == "doc_id" or 1 < count <= _MOST_VALUES:
            known[name] = values
    return known


def measures(evaluation: Evaluation) -> dict[str, str]:
    """The measures of an evaluation by name, with their titles.

    ``outcome`` is the share of gold values that are right, ``errors`` the number of wrong values
    over that of gold values, ``similarity`` its mean; the others are metrics of single fields that
    are hits of a total.
    """
    return _measures(evaluation, units(evaluation, NEEDED))


def _measures(evaluation: Evaluation, units: pl.DataFrame) -> dict[str, str]:
    whole = of_wholes(evaluation)
    scored = set(per_shard(
        evaluation, lambda each: scores_of(each, whole).select("metric").unique().collect()
    )["metric"])  # fmt: skip
    names = [n for n in metrics.METRICS if n in scored and metrics.get(n).score is ratio]
    own = [name for name in TITLES if tally_of(evaluation, units, name).total.any()]
    return {name: TITLES[name] for name in own} | {name: metrics.title(name) for name in names}


def rates(
    evaluations: Evaluation | Sequence[Evaluation],
    *,
    by: str | Mapping[str, str],
    measure: str = RIGHT,
    line: str = "",
    findings: Sequence[Finding] = (),
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """A measure by the values of a column, or for slices made by hand, with intervals.

    Parameters
    ----------
    evaluations
        One or several, each with rows of its own.
    by
        A column of *cases* or *documents*, a band or ``position``; or slices: names and their
        lines.
    measure
        One of `measures`.
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
        If a line selects nothing.

    Examples
    --------
    >>> from formlab import analysis
    >>> rates(analysis.open_evaluation(), by="kind", line="slice=length:1–4")["n_cases"].sum()
    125
    """
    several = [evaluations] if isinstance(evaluations, Evaluation) else list(evaluations)
    draws = {"resamples": resamples, "level": level, "seed": seed}
    rows = [
        row
        for each in several
        for row in Counted(each, findings).rows([(by, measure)], line, **draws)
    ]
    return pl.DataFrame(rows, schema=RATES)


class Counted:
    """The cases of an evaluation with what is looked up again and again."""

    def __init__(self, evaluation: Evaluation, findings: Sequence[Finding] = ()) -> None:
        self.findings = findings
        self.evaluation = evaluation
        self.cases = units(evaluation, [*NEEDED, *_offered(evaluation)])
        codes = {doc: number for number, doc in enumerate(numbered(evaluation))}
        self.count = len(codes)
        number = self.cases["doc_id"].replace_strict(codes, return_dtype=pl.Int64)
        self.document = number.to_numpy()
        self._values: dict[str, pl.Series] = {}
        self._masks: dict[str, list[tuple[str | None, pl.Series]]] = {}
        self._tallies: dict[str, Tally] = {}

    @functools.cached_property
    def measures(self) -> dict[str, str]:
        """Its measures, as by `measures`."""
        return _measures(self.evaluation, self.cases)

    @functools.cached_property
    def columns(self) -> dict[str, pl.Series]:
        """Its columns, as by `columns`."""
        return _groups(self.evaluation, self.cases)

    def whole_cases(self, places: Sequence[int]) -> pl.DataFrame:
        """All columns of the cases at some places."""
        if of_wholes(self.evaluation):
            return self.cases[places]
        return cases_at(self.evaluation, places, in_fields())

    def _with(self, names: Iterable[str]) -> pl.DataFrame:
        """The cases, with further columns where `names` has some."""
        known = {*self.cases.columns, *BANDS, "position", *self.evaluation.documents.columns}
        if further := [name for name in names if name not in known]:
            return units(self.evaluation, [*self.cases.columns, *further])
        return self.cases

    def values(self, column: str) -> pl.Series:
        """The values of a column as text."""
        if column not in self._values:
            self._values[column] = self._sliced(column).cast(pl.String)
        return self._values[column]

    def _sliced(self, column: str) -> pl.Series:
        return sliced(self._with([column]), self.evaluation.documents, column)

    def tally(self, measure: str) -> Tally:
        """Hits and total of each unit."""
        counted = measure in metrics.METRICS and metrics.get(measure).score is ratio
        if not (counted or measure in TITLES):
            raise UnknownName.of("measure of fields", measure, self.measures)
        if measure not in self._tallies:
            self._tallies[measure] = tally_of(self.evaluation, self.cases, measure)
        return self._tallies[measure]

    def fits(self, line: str) -> np.ndarray:
        """Which of the cases a line selects."""
        names = [name for name in selection.read(line) if name != "finding"]
        rows = self._with(names).with_row_index("_row")
        fit = np.zeros(rows.height, dtype=bool)
        chosen = _select(self.evaluation, rows, line, self.findings)
        fit[chosen["_row"].to_numpy()] = True
        return fit

    def rows(
        self, jobs: Sequence[tuple[str | Mapping[str, str], str]], line: str = "",
        *, resamples: int = 1000, level: float = 0.95, seed: int = 0,
    ) -> Iterator[dict[str, Any]]:  # fmt: skip
        """The rows of `rates` for each pair of column or slices and measure."""
        fit, among = self.fits(line), self.fits(_before(line))
        labels, parts = [], []
        for by, measure in jobs:
            for name, inside, around in self._slices(by):
                hit, base = fit & inside, fit & inside
                if measure == ERRORS:
                    base = among & around
                hits, total = self.tally(measure)
                shown = base if measure == ERRORS else hit
                if measure == ERRORS and by in FOLLOWING:
                    shown = hit & (hits > 0)
                if not shown.any():
                    continue
                sums = [np.where(hit, hits, 0), np.where(base, total, 0)]
                parts.append(by_document(self.document, sums, self.count))
                taken = self.document[base & (total > 0)]
                labels.append({
                    **{n: getattr(self.evaluation, n) for n in ("benchmark", "split", "system")},
                    "metric": measure, "slice_by": by if isinstance(by, str) else "slice",
                    "slice_value": name, "value": float(ratio(parts[-1].sum(axis=0))),
                    "n_docs": len(np.unique(taken)), "n_cases": len(taken),
                })  # fmt: skip
        # Of a single document there is no interval.
        wide = [at for at, row in enumerate(labels) if row["n_docs"] > 1 and resamples]
        sums = (
            drawn_parts([parts[at] for at in wide], resamples=resamples, seed=seed) if wide else []
        )
        ends = {at: percentiles(ratio(s), level) for at, s in zip(wide, sums, strict=True)}
        for at, row in enumerate(labels):
            low, high = ends.get(at, (float("nan"), float("nan")))
            yield row | {"ci_low": low, "ci_high": high}

    def _slices(
        self, by: str | Mapping[str, str]
    ) -> Iterator[tuple[str | None, np.ndarray, np.ndarray]]:
        """Of each row its name, its cases, and those it is of whatever became of them."""
        if not isinstance(by, str):
            for name, line in by.items():
                yield name, self.fits(line), self.fits(_before(line))
            return
        if by not in self._masks:
            values = self.values(by)
            self._masks[by] = [
                (name, (values.is_null() if name is None else values == name).fill_null(False))
                for name in self.names(by)
            ]
        everything = np.ones(self.cases.height, dtype=bool)
        for name, mask in self._masks[by]:
            inside = mask.to_numpy()
            yield name, inside, everything if by in FOLLOWING else inside

    def names(self, column: str) -> list[str | None]:
        """The values of a column in their order, as text."""
        values = self._sliced(column).unique()
        ranked = sorted(range(len(values)), key=lambda at: order(values, values[at]))
        text = values.cast(pl.String)
        return [text[at] for at in ranked]


def _before(line: str) -> str:
    """What a line says of the forms and not of what became of them."""
    chosen = selection.read(line)
    return selection.text({n: values for n, values in chosen.items() if n not in FOLLOWING})


frames.door(globals(), __all__)
