"""A front end for looking around: rates by columns, filters, slices made by hand, and the cases.

The page works without a kernel, the same in a report and in JupyterLab; there what is chosen is a
value of Python too. Whatever is shown comes with the Python that makes it.
"""

from __future__ import annotations

import functools
import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from IPython.display import display

from formlab import analysis, selection
from formlab.analysis import Finding
from formlab.charts import theme
from formlab.errors import DataMissing, UnknownName
from formlab.explore._counted import Counted
from formlab.explore._payload import payload
from formlab.explore.rates import cases, columns, measures, rates
from formlab.folders import Evaluation
from formlab.gallery import inline

__all__ = ["Explorer", "cases", "columns", "measures", "rates"]

_FIRST = {"by": ("kind", "cause"), "measures": ("outcome", "errors")}


class Explorer:
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

    def __init__(
        self,
        evaluations: Sequence[str | Evaluation] = (),
        *,
        findings: Sequence[Finding] = (),
        most: int = 5_000,
    ) -> None:
        opened = [(Counted(each), source) for each, source in _opened(evaluations)]
        self._counted = {
            f"{number}. {e.system} on {e.benchmark}:{e.split}": counted
            for number, (counted, _) in enumerate(opened, start=1)
            if (e := counted.evaluation) and counted.measures
        }
        self.evaluations = {name: each.evaluation for name, each in self._counted.items()}
        if not self.evaluations:
            raise DataMissing("no evaluation with scored fields", remedy="formlab score … --out")
        self._sources = [source for counted, source in opened if counted.measures]
        self.findings, self.most = list(findings), most
        self._state: dict[str, Any] = {"of": [0], "line": "", "slices": {}}
        for name, wanted in _FIRST.items():
            known = list(self._known[name])
            self._state[name] = [each if each in known else known[0] for each in wanted]

    @functools.cached_property
    def _known(self) -> dict[str, dict[str, Any]]:
        every = self._counted.values()
        by = {name: None for each in every for name in each.columns}
        return {"by": by, "measures": {name: None for each in every for name in each.measures}}

    @property
    def state(self) -> dict[str, Any]:
        """What is chosen: numbers of evaluations, columns and measures, the line, the slices."""
        shown = self._listener.state if "_listener" in self.__dict__ else ""
        return self._state | (json.loads(shown) if shown else {})

    @functools.cached_property
    def _listener(self) -> Any:
        # Imported where it is shown: widgets take a second to import.
        from formlab.gallery._live import SelectionListener

        return SelectionListener(token=secrets.token_hex(8))

    @property
    def chosen(self) -> list[Evaluation]:
        """The one or two evaluations looked at."""
        every = list(self.evaluations.values())
        return [every[at] for at in self.state["of"]]

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
        chosen = [cases(each, self.line, findings=self.findings) for each in self.chosen]
        return pl.concat(chosen, how="diagonal_relaxed")

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
            for each in names:
                if each not in self._known[name]:
                    raise UnknownName.of(noun, each, self._known[name])
            state[name] = [*names, *state[name][len(names) :]][:2]
        if line is not None:
            state["line"] = selection.text(selection.read(line))
        if slices is not None:
            state["slices"] = {
                name: selection.text(selection.read(each)) for name, each in slices.items()
            }
        self._state = state
        if "_listener" in self.__dict__:
            # First nothing: the same wish as before would be no change.
            self._listener.wanted = ""
            self._listener.state = self._listener.wanted = json.dumps(state)
        return self

    def _number(self, name: str) -> int:
        for at, (known, each) in enumerate(self.evaluations.items()):
            if name in (known, each.system):
                return at
        raise UnknownName.of("evaluation", name, self.evaluations)

    @property
    def payload(self) -> dict[str, Any]:
        """What ``explorer.js`` draws."""
        return payload(
            self._counted, self._sources, findings=self.findings, most=self.most,
            first=self.state,
        )  # fmt: skip

    def __str__(self) -> str:
        return f"Explorer of {', '.join(self.evaluations)}"

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        token = "" if theme.in_report() else self._listener.token
        return inline.bundle("explorer", self.payload, str(self), token=token)

    def _ipython_display_(self) -> None:
        display(self._repr_mimebundle_(), raw=True)
        if not theme.in_report():
            display(self._listener.bundle(), raw=True)


def _several(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _opened(evaluations: Sequence[str | Evaluation]) -> list[tuple[Evaluation, str]]:
    """Evaluations, and the Python that opens each."""
    if not evaluations:
        return [
            (
                each,
                f"analysis.open_evaluation(benchmark={each.benchmark!r}, system={each.system!r})",
            )
            for each in analysis.open_all()
        ]
    opened = []
    for number, each in enumerate(evaluations):
        if isinstance(each, Evaluation):
            opened.append((each, f"evaluations[{number}]"))
        else:
            source = f"analysis.open_evaluation({str(each)!r})"
            opened.append((analysis.open_evaluation(each), source))
    return opened
