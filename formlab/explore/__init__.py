"""A front end for looking around: rates by columns, filters, slices made by hand, and the cases.

The page works without a kernel, the same in a report and in JupyterLab; there what is chosen is a
value of Python too. Whatever is shown comes with the Python that makes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import analysis, frames, gallery, metrics, selection
from formlab.analysis import Finding
from formlab.analysis.overview import top_errors
from formlab.charts import theme
from formlab.charts._output import clean
from formlab.charts._parts import words
from formlab.errors import DataMissing, UnknownName
from formlab.explore.counts import ERRORS, FOLLOWING, SIMILARITY, Units, cases, rates
from formlab.folders import Evaluation
from formlab.gallery.lab import Live
from formlab.scoring.bands import BANDS

__all__ = ["Explorer", "cases", "rates"]

_FIRST = {"by": ("kind", "cause"), "measures": ("outcome", "errors")}
_TITLES = {"doc_id": "document", "certainty": "confidence"}


class Explorer(Live):
    """Evaluations to look around in; shows itself in JupyterLab and in reports.

    Parameters
    ----------
    evaluations
        Folders, as written by ``formlab score … --out``, or evaluations; none explores the samples.
    findings
        Those that the report shows, in its order, for ``finding=2`` in a line.
    most
        How many wrong cases the gallery holds; of more, a sample of each evaluation by cause.

    Attributes
    ----------
    evaluations
        Those with scores of fields or documents, by name.
    findings
        As given; may be set later.

    Raises
    ------
    DataMissing
        If no evaluation has a score of fields or documents.

    Examples
    --------
    >>> explorer = Explorer([analysis.open_evaluation()])
    >>> explorer.choose(by="length", line="slice=kind:header").selected["kind"].unique().to_list()
    ['header']
    """

    kind = "explorer"

    def __init__(
        self,
        evaluations: Sequence[str | Evaluation] = (),
        *,
        findings: Sequence[Finding] = (),
        most: int = 1_000,
    ) -> None:
        opened = [(Units(evaluation), source) for evaluation, source in _opened(evaluations)]
        scored = [(units, source) for units, source in opened if units.measures]
        if not scored:
            raise DataMissing("no evaluation with scored fields", remedy="formlab score … --out")
        named = [units.evaluation for units, _ in scored]
        self.evaluations = {
            f"{number}. {e.system} on {e.benchmark}:{e.split}": e
            for number, e in enumerate(named, start=1)
        }
        self._units, self._sources = (list(side) for side in zip(*scored, strict=True))
        self.findings, self.most = list(findings), most
        self._known = {
            "by": list(dict.fromkeys(name for units in self._units for name in units.columns)),
            "measures": list(dict.fromkeys(n for units in self._units for n in units.measures)),
        }
        self._state: dict[str, Any] = {"of": [0], "line": "", "slices": {}}
        for name, wanted in _FIRST.items():
            known = self._known[name]
            self._state[name] = [one if one in known else known[0] for one in wanted]

    @property
    def state(self) -> dict[str, Any]:
        """What is chosen: numbers of evaluations, columns and measures, the line, the slices."""
        heard = self._heard.state if self._heard else ""
        return self._state | (json.loads(heard) if heard else {})

    @property
    def line(self) -> str:
        """The filters chosen, as one line."""
        return str(self.state["line"])

    @property
    def slices(self) -> dict[str, str]:
        """The slices saved by hand: names and lines."""
        return dict(self.state["slices"])

    @property
    def selected(self) -> pl.DataFrame:
        """The cases chosen, right ones among them: the schema CASES."""
        chosen = [self._units[at].evaluation for at in self.state["of"]]
        parts = [cases(evaluation, self.line, findings=self.findings) for evaluation in chosen]
        return pl.concat(parts, how="diagonal_relaxed")

    def choose(
        self,
        *,
        evaluation: str | Sequence[str] | None = None,
        by: str | Sequence[str] | None = None,
        measure: str | Sequence[str] | None = None,
        line: str | None = None,
        slices: Mapping[str, str] | None = None,
    ) -> Explorer:
        """Choose as on the page; what is left out stays.

        Parameters
        ----------
        evaluation
            A name of `evaluations`, or a system; or two of them, to compare.
        by, measure
            Of the first chart, or of both.
        line
            The filters, as one line.
        slices
            Names and lines, in place of those saved before.

        Raises
        ------
        UnknownName
            If there is no such evaluation, column or measure.
        DataBroken
            If a line cannot be read.
        """
        state = dict(self.state)
        if evaluation is not None:
            state["of"] = [self._number(name) for name in _several(evaluation)][:2]
        for name, noun, wanted in (("by", "column", by), ("measures", "measure", measure)):
            names = _several(wanted) if wanted is not None else []
            for one in names:
                if one not in self._known[name]:
                    raise UnknownName.of(noun, one, self._known[name])
            state[name] = [*names, *state[name][len(names) :]][:2]
        if line is not None:
            state["line"] = selection.text(selection.read(line))
        if slices is not None:
            read = {name: selection.read(text) for name, text in slices.items()}
            state["slices"] = {name: selection.text(chosen) for name, chosen in read.items()}
        self._state = state
        if self._heard:
            # First nothing: the same wish as before would be no change.
            self._heard.wanted = ""
            self._heard.state = self._heard.wanted = json.dumps(state)
        return self

    def _number(self, name: str) -> int:
        for at, (known, evaluation) in enumerate(self.evaluations.items()):
            if name in (known, evaluation.system):
                return at
        raise UnknownName.of("evaluation", name, self.evaluations)

    @property
    def payload(self) -> dict[str, Any]:
        """What ``explorer.js`` draws: columns and measures as codes of units, and a gallery."""
        shown, cards = self._gallery()
        columns = [_column(name, self._units) for name in self._known["by"]]
        if self.findings:
            columns.append(self._membership())
        colours = theme.system_colours(sorted({u.evaluation.system for u in self._units}))
        return {
            "evaluations": [
                {
                    "name": name,
                    "system": units.evaluation.system,
                    "source": source,
                    "units": units.cases.height,
                    "documents": units.n_documents,
                    "document": units.document.tolist(),
                    "colour": colours[units.evaluation.system],
                    "whole": units.of_documents,
                }
                for name, source, units in zip(
                    self.evaluations, self._sources, self._units, strict=True
                )
            ],
            "columns": columns,
            "measures": [_measure(name, self._units) for name in self._known["measures"]],
            "first": self.state,
            "cards": cards,
            "gallery": shown.payload,
        }

    def _membership(self) -> dict[str, Any]:
        """The findings behind which each case is, as a column: its values are sets of numbers."""
        sets: dict[tuple[str, ...], int] = {(): 0}
        codes, owners = [], [[] for _ in self.findings]
        for number, units in enumerate(self._units):
            units.findings = self.findings
            fits = [units.fits(f"finding={at + 1}") for at in range(len(self.findings))]
            for at, fit in enumerate(fits):
                owners[at] += [number] * bool(fit.any())
            rows = (tuple(str(at + 1) for at in np.flatnonzero(row)) for row in np.stack(fits, 1))
            codes.append([sets.setdefault(row, len(sets)) for row in rows])
        claims = [clean(finding, limit=300) for finding in self.findings]
        values = [list(names) for names in sets][1:]
        named = {"name": "finding", "title": "finding", "values": values, "codes": codes}
        return named | {"after": True, "claims": claims, "owners": owners}

    def _gallery(self) -> tuple[gallery.Gallery, list[list[int]]]:
        """The errors of all, of many a sample by cause; of each card its evaluation and unit."""
        parts, share = [], self.most // len(self._units)
        for number, units in enumerate(self._units):
            numbered = units.cases.with_row_index("_unit").with_columns(_evaluation=number)
            wrong = numbered.filter(~pl.col("outcome").is_in(["match", "unscored"]))
            parts.append(top_errors(wrong, limit=share) if wrong.height > share else wrong)
        shown = gallery.errors(
            pl.concat(parts, how="diagonal_relaxed"),
            of=list(self.evaluations.values()),
            findings=self.findings,
            most=None,
        )
        return shown, shown.frame.select("_evaluation", "_unit").to_numpy().tolist()

    def __str__(self) -> str:
        return f"Explorer of {', '.join(self.evaluations)}"


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
        codes.append(known[column.codes].tolist() if column else [0] * units.cases.height)
    title = _TITLES.get(name) or words(name)
    if name in BANDS:
        title = f"{words(name)} ({BANDS[name].title})" if name == "length" else BANDS[name].title
    values = [clean(value, limit=None) for value in values]
    named = {"name": name, "title": title, "values": values, "codes": codes}
    return named | {"after": name in FOLLOWING}


def _measure(name: str, several: Sequence[Units]) -> dict[str, Any]:
    """A measure as distinct pairs of hits and total, of each unit which; and how it is drawn."""
    pairs: dict[tuple[float, float], int] = {(0.0, 0.0): 0}
    codes = []
    for units in several:
        tally = units.tally(name) if name in units.measures else np.zeros((2, units.cases.height))
        codes.append([pairs.setdefault(pair, len(pairs)) for pair in zip(*tally, strict=True)])
    titles = next(units.measures for units in several if name in units.measures)
    scale = {"high": None if name == ERRORS else 1, "down": name == ERRORS}
    scale["percent"] = name != SIMILARITY
    if name in metrics.METRICS:
        metric = metrics.get(name)
        scale = {"high": metric.high, "down": metric.direction == "down", "percent": False}
    return {"name": name, "title": titles[name], **scale, "pairs": list(pairs), "codes": codes}


def _several(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


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


frames.door(globals(), __all__)
