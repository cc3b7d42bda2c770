"""The cases that a line selects: the address of a report's view as a frame."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from formlab import selection
from formlab.analysis.finding import KEYS, Finding
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.scoring.bands import sliced

# The names of bands of numbers, as `bands.band` writes them.
_NUMBER = r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
_BAND = re.compile(rf"under {_NUMBER}|{_NUMBER}–{_NUMBER}|{_NUMBER} and more")


def select(evaluation: Evaluation, line: str, *, findings: Sequence[Finding] = ()) -> pl.DataFrame:
    """The cases that a line selects, right ones among them, in the order of the evaluation.

    `line` is as in the address of a report that shows cases: ``slice=column:value``, or a column
    of its own such as ``cause=clipped``, joined by ``&``. Values of one column are alternatives,
    columns must all fit; ``slice=column`` is of cases without a value. Columns are those of *cases*
    and *documents*, the bands (``length`` …) and ``position``. ``finding=2`` is of the cases of the
    second of `findings`, those of the report.

    Raises `DataBroken` if the line cannot be read; `UnknownName` if it names a column or the number
    of a finding that there is not.

    Examples
    --------
    >>> from formlab import analysis
    >>> result = analysis.open_evaluation(benchmark="funsd", system="ocr")
    >>> cases = analysis.select(result, "report.html#slice=kind:answer&slice=length:1%E2%80%934")
    >>> cases["kind"].unique().to_list(), cases["gold"].str.len_chars().max()
    (['answer'], 4)
    """
    chosen = selection.read(line)
    keys = []
    for number in chosen.pop("finding", []):
        if number not in (known := [str(n + 1) for n in range(len(findings))]):
            raise UnknownName.of("number of a finding", number, known)
        keys.append(_keys(findings[int(number) - 1], evaluation))

    def selected(part: Evaluation) -> pl.DataFrame:
        columns = {column: sliced(part.cases, part.documents, column) for column in chosen}
        cases = part.cases.filter(
            *(_fits(values, chosen[name]) for name, values in columns.items())
        )
        if not keys:
            return cases
        behind = pl.concat(keys).unique()
        return cases.join(
            behind, on=list(KEYS), how="semi", nulls_equal=True, maintain_order="left"
        )

    return evaluation.gathered(selected)


def _keys(finding: Finding, evaluation: Evaluation) -> pl.DataFrame:
    """The keys of the cases behind a finding; none of one about another evaluation."""
    # Those of a comparison name both systems.
    names = {"benchmark", "split"} | ({"system"} if finding.about != "systems" else set())
    same = all(getattr(finding, name) in ("", getattr(evaluation, name)) for name in names)
    return finding.cases.select(KEYS).filter(same)


def _fits(values: pl.Series, chosen: Sequence[str | None]) -> pl.Series:
    """Whether each value is one of those chosen; a number may be in a band of them."""
    names = [name for name in chosen if name is not None]
    # Tables write whole numbers without a dot, whatever their type.
    whole = [f"{name}.0" for name in names] if values.dtype.is_float() else []
    fits = values.cast(pl.String).is_in([*names, *whole]).fill_null(False)
    if None in chosen:
        fits |= values.is_null()
    for band in map(_BAND.fullmatch, names) if values.dtype.is_numeric() else ():
        if band:
            under, low, high, more = band.groups()
            end = float(high or under or "inf")
            # A band of whole numbers ends with its last, another before the first of the next.
            below = values <= end if high and values.dtype.is_integer() else values < end
            fits |= (below & (values >= float(low or more or "-inf"))).fill_null(False)
    return fits
