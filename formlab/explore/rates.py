"""Shares and means of what an evaluation scored, by a column or for slices made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from formlab import frames
from formlab.analysis import Finding
from formlab.explore._counted import Counted, select
from formlab.explore._units import RIGHT, pieces
from formlab.folders import Evaluation

__all__ = ["cases", "columns", "measures", "rates"]

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
    chosen = [select(part, rows, line, findings) for part, rows in pieces(evaluation)]
    return pl.concat(chosen, how="diagonal_relaxed")


def columns(evaluation: Evaluation) -> dict[str, pl.Series]:
    """The columns to look by, each with its value for every one of the `cases`, as text.

    Those of `analysis.find_slices`, what a field turned out to be, the document, and a user's own;
    columns with a single value, or with more than 60, are left out, but for the document.
    """
    counted = Counted(evaluation)
    return {name: counted.column(name).text for name in counted.columns}


def measures(evaluation: Evaluation) -> dict[str, str]:
    """The measures of an evaluation by name, with their titles.

    ``outcome`` is the share of gold values that are right, ``errors`` the number of wrong values
    over that of gold values, ``similarity`` its mean; the others are metrics of single fields that
    are hits of a total.
    """
    return Counted(evaluation).measures


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


frames.door(globals(), __all__)
