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

from formlab import analysis, gallery, selection, tables
from formlab.analysis import Finding
from formlab.charts import theme
from formlab.charts.escaping import clean
from formlab.charts.words import slice_title
from formlab.errors import DataMissing, UnknownName
from formlab.explore.counts import FOLLOWING, Units, cases, rates
from formlab.folders import Evaluation
from formlab.gallery.cases import findings_of
from formlab.gallery.inline import Live
from formlab.scoring.bands import BANDS

__all__ = ["Explorer", "cases", "rates"]


class Explorer(Live):
    """Evaluations to look around in; shows itself in JupyterLab and in reports.

    Without `evaluations` they are those of the samples; the attribute of this name has those with
    scores of fields or documents, by name. `by`, `measure` and `line` are what is shown first: the
    column that the rows are of, what is shown of each, the filters. `findings` are those that the
    report shows, in its order, for ``finding=2`` in a line, and may be set later. At most `most`
    wrong cases are in the gallery; of more, a sample by cause.

    `DataMissing` if no evaluation has any; `UnknownName` if there is no such column or measure;
    `DataBroken` if the line cannot be read.

    >>> str(Explorer([analysis.open_evaluation()], by="length", line="slice=kind:header"))
    'Explorer of 1. ocr on funsd:test'
    """

    kind = "explorer"

    def __init__(
        self,
        evaluations: Evaluation | Sequence[Evaluation] = (),
        *,
        by: str = "",
        measure: str = "",
        line: str = "",
        findings: Sequence[Finding] = (),
        most: int = 1_000,
    ) -> None:
        whose = "evaluations" if evaluations else "analysis.open_all()"
        several = [evaluations] if isinstance(evaluations, Evaluation) else evaluations
        units = map(Units, several or analysis.open_all())
        # By the Python that opens each evaluation.
        self._units = {f"{whose}[{n}]": of for n, of in enumerate(units) if of.measures}
        if not self._units:
            raise DataMissing("no evaluation with scored fields", remedy="formlab score … --out")
        opened = (of.evaluation for of in self._units.values())
        self.evaluations = {
            f"{number}. {one.system} on {one.benchmark}:{one.split}": one
            for number, one in enumerate(opened, start=1)
        }
        self.findings, self.most = list(findings), most
        every = self._units.values()
        self._columns = pl.concat([of.columns for of in every], how="diagonal")
        self._measures = {name: how for of in every for name, how in of.measures.items()}
        names = self._columns.columns
        for noun, name, known in (("column", by, names), ("measure", measure, self._measures)):
            if name and name not in known:
                raise UnknownName.of(noun, name, known)
        by = by or ("kind" if "kind" in names else "doc_id")
        line = selection.text(selection.read(line))
        self._first = {"by": by, "measure": measure or next(iter(self._measures)), "line": line}

    def __str__(self) -> str:
        return f"Explorer of {', '.join(self.evaluations)}"

    @property
    def payload(self) -> dict[str, Any]:
        """What ``explorer.js`` draws: columns and measures as codes of units, and a gallery."""
        of, findings, every = list(self.evaluations.values()), self.findings, self._units.values()
        cases = pl.concat([units.cases for units in every], how="diagonal_relaxed")
        cases = cases.with_row_index("_unit")
        shown = gallery.errors(cases, of=of, findings=findings, most=self.most)
        columns = [_coded(values.name, values) for values in self._columns]
        if findings:
            numbers = (",".join(map(str, row)) or None for row in findings_of([cases], findings))
            column = _coded("finding", pl.Series(numbers, dtype=pl.String))
            # The values of findings are sets of numbers.
            column["values"] = [value.split(",") for value in column["values"]]
            columns.append(column)
        measures = []
        for name, how in self._measures.items():
            tallies = np.concatenate([units.tally(name) for units in every])
            pairs, codes = np.unique(tallies, axis=0, return_inverse=True)
            counted = {"pairs": pairs.tolist(), "codes": _packed(codes.ravel())}
            measures.append({"name": name} | how | counted)
        return {
            "evaluations": [
                {
                    "name": name,
                    "source": source,
                    "system": units.evaluation.system,
                    "units": units.cases.height,
                    "documents": units.n_documents,
                    "whole": units.of_documents,
                }
                for name, (source, units) in zip(self.evaluations, self._units.items(), strict=True)
            ],
            "document": _packed(np.concatenate([units.document for units in every])),
            "colours": theme.system_colours(sorted({one.system for one in of})),
            "columns": columns,
            "measures": measures,
            "first": self._first,
            "cards": shown.frame["_unit"].to_list(),
            "gallery": shown.payload,
        }


def _coded(name: str, values: pl.Series) -> dict[str, Any]:
    """A column as its values in order, and the codes of all units; 0 is no value."""
    known = values.drop_nulls().unique().sort().to_list()
    if name in BANDS:
        known.sort(key=BANDS[name].labels.index)
    codes = values.cast(pl.Enum(known)).to_physical().cast(pl.Int64) + 1
    return {
        "name": name,
        "title": slice_title(name),
        "values": [clean(value, limit=None) for value in known],
        "codes": _packed(codes.fill_null(0)),
        "after": name in FOLLOWING,
    }


def _packed(numbers: Any) -> str:
    """Whole numbers as base64 of one, two or four bytes each, for which a list has a node each."""
    numbers = np.asarray(numbers)
    width = next(w for w in (1, 2, 4) if numbers.max(initial=0) < 1 << 8 * w)
    return base64.b64encode(numbers.astype(f"<u{width}").tobytes()).decode("ascii")


tables.door(globals(), __all__)
