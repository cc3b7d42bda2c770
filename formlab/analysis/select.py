"""The cases that a line selects: the address of a report's view as a frame."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import polars as pl

from formlab import selection
from formlab.analysis.finding import KEYS, Finding, origin
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.scoring.bands import sliced

# The names of bands of numbers, as `bands.band` writes them.
_NUMBER = r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
_BAND = re.compile(rf"under {_NUMBER}|{_NUMBER}–{_NUMBER}|{_NUMBER} and more")


def select(evaluation: Evaluation, line: str, *, findings: Sequence[Finding] = ()) -> pl.DataFrame:
    """The cases that a line selects, right ones among them.

    Parameters
    ----------
    evaluation
        As from `evaluate`.
    line
        As in the address of a report that shows cases: ``slice=column:value``, or a column of its
        own such as ``cause=clipped``, joined by ``&``. Values of one column are alternatives,
        columns must all fit; ``slice=column`` is of cases without a value. Columns are those of
        *cases* and *documents*, the bands (``length`` …) and ``position``.
    findings
        Those of the report, for ``finding=2``: the cases of the second.

    Returns
    -------
    polars.DataFrame
        The schema CASES, in the order of the evaluation.

    Raises
    ------
    DataBroken
        If the line cannot be read.
    UnknownName
        If it names a column or the number of a finding that there is not.

    Examples
    --------
    >>> from formlab import analysis
    >>> result = analysis.open_evaluation(benchmark="funsd", system="ocr")
    >>> cases = analysis.select(result, "report.html#slice=kind:answer&slice=length:1%E2%80%934")
    >>> cases["kind"].unique().to_list(), cases["gold"].str.len_chars().max()
    (['answer'], 4)
    """
    chosen = selection.read(line)
    numbers = chosen.pop("finding", [])
    known = {str(number): finding for number, finding in enumerate(findings, start=1)}
    for number in numbers:
        if number not in known:
            raise UnknownName.of("number of a finding", number, known)
    keys = [_keys(known[str(number)], evaluation) for number in numbers]
    behind = pl.concat(keys).unique() if keys else None
    return evaluation.gathered(lambda part: _selected(part, chosen, behind))


def _selected(
    part: Evaluation, chosen: Mapping[str, Sequence[str | None]], behind: pl.DataFrame | None
) -> pl.DataFrame:
    """The cases whose columns have the values chosen, and that are `behind` a finding."""
    cases = part.cases
    columns = {column: sliced(cases, part.documents, column) for column in chosen}
    fits = [_fits(values, chosen[column]) for column, values in columns.items()]
    chosen_cases = cases.filter(*fits)
    if behind is not None:
        on = {"on": list(KEYS), "how": "semi", "nulls_equal": True, "maintain_order": "left"}
        return chosen_cases.join(behind, **on)
    return chosen_cases


def _keys(finding: Finding, evaluation: Evaluation) -> pl.DataFrame:
    """The keys of the cases behind a finding; none of one about another evaluation."""
    # Those of a comparison name both systems.
    compared = {"system"} if finding.about == "systems" else set()
    strange = any(
        getattr(finding, name) not in ("", own)
        for name, own in origin(evaluation).items()
        if name not in compared
    )
    return finding.cases.select(KEYS).filter(not strange)


def _fits(values: pl.Series, chosen: Sequence[str | None]) -> pl.Series:
    """Whether each value is one of those chosen; a number may be in a band of them."""
    names = [name for name in chosen if name is not None]
    # Tables write whole numbers without a dot, whatever their type.
    whole = [f"{name}.0" for name in names] if values.dtype.is_float() else []
    fits = values.cast(pl.String).is_in([*names, *whole]).fill_null(False)
    if None in chosen:
        fits |= values.is_null()
    bands = map(_BAND.fullmatch, names) if values.dtype.is_numeric() else ()
    for under, low, high, more in (band.groups() for band in bands if band):
        end = float(high or under or "inf")
        # A band of whole numbers ends with its last, another before the first of the next.
        below = values <= end if high and values.dtype.is_integer() else values < end
        fits |= (below & (values >= float(low or more or "-inf"))).fill_null(False)
    return fits
