"""A front end for looking around: rates by a column, filters, and the cases behind them.

The page works without a kernel, the same in a report and in JupyterLab, and whatever it shows comes
with the Python that makes it.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import analysis, gallery, metrics, selection, tables
from formlab.analysis import Finding
from formlab.charts import theme
from formlab.charts.escaping import clean
from formlab.charts.words import slice_title
from formlab.errors import DataMissing, UnknownName
from formlab.explore.counts import ERRORS, FOLLOWING, SIMILARITY, Units, cases, rates
from formlab.folders import Evaluation
from formlab.gallery.inline import Live
from formlab.scoring.bands import BANDS

__all__ = ["Explorer", "cases", "rates"]


class Explorer(Live):
    """Evaluations to look around in; shows itself in JupyterLab and in reports.

    Parameters
    ----------
    evaluations
        Folders, as written by ``formlab score … --out``, or evaluations; none explores the samples.
    by, measure, line
        What is shown first: the column that the rows are of, what is shown of each, the filters.
    findings
        Those that the report shows, in its order, for ``finding=2`` in a line; may be set later.
    most
        How many wrong cases the gallery holds; of more, a sample by cause.

    Attributes
    ----------
    evaluations
        Those with scores of fields or documents, by name.

    Raises
    ------
    DataMissing
        If no evaluation has a score of fields or documents.
    UnknownName
        If there is no such column or measure.
    DataBroken
        If the line cannot be read.

    Examples
    --------
    >>> str(Explorer([analysis.open_evaluation()], by="length", line="slice=kind:header"))
    'Explorer of 1. ocr on funsd:test'
    """

    kind = "explorer"

    def __init__(
        self,
        evaluations: Sequence[str | Evaluation] = (),
        *,
        by: str = "",
        measure: str = "",
        line: str = "",
        findings: Sequence[Finding] = (),
        most: int = 1_000,
    ) -> None:
        opened = [(Units(evaluation), source) for evaluation, source in _opened(evaluations)]
        scored = [(units, source) for units, source in opened if units.measures]
        if not scored:
            raise DataMissing("no evaluation with scored fields", remedy="formlab score … --out")
        self._units, self._sources = (list(part) for part in zip(*scored, strict=True))
        self.evaluations = {
            f"{number}. {e.system} on {e.benchmark}:{e.split}": e
            for number, e in enumerate((units.evaluation for units in self._units), start=1)
        }
        self.findings, self.most = list(findings), most
        names = (name for units in self._units for name in units.columns)
        self._columns = list(dict.fromkeys(names))
        names = (name for units in self._units for name in units.measures)
        self._measures = list(dict.fromkeys(names))
        for noun, name, known in (
            ("column", by, self._columns),
            ("measure", measure, self._measures),
        ):
            if name and name not in known:
                raise UnknownName.of(noun, name, known)
        by = by or ("kind" if "kind" in self._columns else self._columns[0])
        line = selection.text(selection.read(line))
        self._first = {"of": [0], "by": by, "measure": measure or self._measures[0], "line": line}

    @property
    def payload(self) -> dict[str, Any]:
        """What ``explorer.js`` draws: columns and measures as codes of units, and a gallery."""
        shown, cards = self._gallery()
        columns = [_column(name, self._units) for name in self._columns]
        if self.findings:
            columns.append(self._membership())
        colours = theme.system_colours(sorted({u.evaluation.system for u in self._units}))
        named = zip(self.evaluations, self._sources, self._units, strict=True)
        return {
            "evaluations": [
                {
                    "name": name,
                    "system": units.evaluation.system,
                    "source": source,
                    "units": units.cases.height,
                    "documents": units.n_documents,
                    "document": _packed(units.document),
                    "colour": colours[units.evaluation.system],
                    "whole": units.of_documents,
                }
                for name, source, units in named
            ],
            "columns": columns,
            "measures": [_measure(name, self._units) for name in self._measures],
            "first": self._first,
            "cards": cards,
            "gallery": shown.payload,
        }

    def _membership(self) -> dict[str, Any]:
        """The findings behind which each case is, as a column: its values are sets of numbers."""
        several, owners = [], [[] for _ in self.findings]
        for number, units in enumerate(self._units):
            units.findings = self.findings
            fits = [units.fits(f"finding={at + 1}") for at in range(len(self.findings))]
            for at, fit in enumerate(fits):
                owners[at] += [number] * bool(fit.any())
            several.append(np.stack(fits, axis=1))
        sets, codes = _coded(several)
        claims = [clean(finding, limit=300) for finding in self.findings]
        values = [[str(at + 1) for at in np.flatnonzero(row)] for row in sets][1:]
        named = {"name": "finding", "title": "finding", "values": values, "codes": codes}
        return named | {"after": True, "claims": claims, "owners": owners}

    def _gallery(self) -> tuple[gallery.Gallery, list[list[int]]]:
        """The errors of all, of many a sample by cause; of each card its evaluation and unit."""
        parts = [
            units.cases.with_row_index("_unit").with_columns(_evaluation=number)
            for number, units in enumerate(self._units)
        ]
        cases, of = pl.concat(parts, how="diagonal_relaxed"), list(self.evaluations.values())
        shown = gallery.errors(cases, of=of, findings=self.findings, most=self.most)
        return shown, shown.frame.select("_evaluation", "_unit").to_numpy().tolist()

    def __str__(self) -> str:
        return f"Explorer of {', '.join(self.evaluations)}"


def _packed(numbers: Any) -> str:
    """Whole numbers as base64 of one, two or four bytes each, for which a list has a node each."""
    numbers = np.asarray(numbers)
    width = next(w for w in (1, 2, 4) if numbers.max(initial=0) < 1 << 8 * w)
    return base64.b64encode(numbers.astype(f"<u{width}").tobytes()).decode("ascii")


def _coded(several: Sequence[np.ndarray]) -> tuple[np.ndarray, list[str]]:
    """The distinct rows of tables, one of zeros first, and of each table which its rows are."""
    table = np.concatenate([np.zeros((1, several[0].shape[1])), *several])
    rows, codes = np.unique(table, axis=0, return_inverse=True)
    ends = np.cumsum([1, *map(len, several)])
    return rows, list(map(_packed, np.split(codes.ravel(), ends)[1:-1]))


def _column(name: str, several: Sequence[Units]) -> dict[str, Any]:
    """A column as values in order, and of each evaluation the codes of its units; 0 is no value."""
    columns = [units.column(name) if name in units.columns else None for units in several]
    values = list(dict.fromkeys(value for column in columns if column for value in column.values))
    if name not in BANDS:
        # Values of several evaluations are in one order.
        values.sort()
    number = {value: at for at, value in enumerate(values, start=1)}
    codes = []
    for units, column in zip(several, columns, strict=True):
        known = np.array([0, *(number[value] for value in column.values)]) if column else None
        codes.append(_packed(known[column.codes] if column else np.zeros(units.cases.height)))
    values = [clean(value, limit=None) for value in values]
    named = {"name": name, "title": slice_title(name), "values": values, "codes": codes}
    return named | {"after": name in FOLLOWING}


def _measure(name: str, several: Sequence[Units]) -> dict[str, Any]:
    """A measure as distinct pairs of hits and total, of each unit which; and how it is drawn."""
    tallies = [
        units.tally(name) if name in units.measures else np.zeros((2, units.cases.height))
        for units in several
    ]
    pairs, codes = _coded([np.stack(tally, axis=1) for tally in tallies])
    titles = next(units.measures for units in several if name in units.measures)
    scale = {"high": None if name == ERRORS else 1, "down": name == ERRORS}
    scale["percent"] = name != SIMILARITY
    if name in metrics.METRICS:
        metric = metrics.get(name)
        scale = {"high": metric.high, "down": metric.direction == "down", "percent": False}
    return {"name": name, "title": titles[name], **scale, "pairs": pairs.tolist(), "codes": codes}


def _opened(evaluations: Sequence[str | Evaluation]) -> list[tuple[Evaluation, str]]:
    """Evaluations, and the Python that opens each."""
    if not evaluations:
        call = "analysis.open_evaluation(benchmark={0.benchmark!r}, system={0.system!r})"
        return [(evaluation, call.format(evaluation)) for evaluation in analysis.open_all()]
    opened = []
    for number, evaluation in enumerate(evaluations):
        if isinstance(evaluation, Evaluation):
            opened.append((evaluation, f"evaluations[{number}]"))
        else:
            source = f"analysis.open_evaluation({str(evaluation)!r})"
            opened.append((analysis.open_evaluation(evaluation), source))
    return opened


tables.door(globals(), __all__)
