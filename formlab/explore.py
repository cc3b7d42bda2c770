"""A front end for looking around: choose evaluation, slice and metric; see chart, table, gallery.

Whatever is shown comes with the Python that made it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import anywidget
import ipywidgets
import polars as pl
import traitlets
from IPython.display import display

from formlab import analysis, charts, gallery, metrics
from formlab.analysis.bands import BANDS
from formlab.analysis.slices import COLUMNS
from formlab.analysis.summarise import of_cases, sliced
from formlab.charts import theme
from formlab.charts._output import clean
from formlab.errors import DataMissing, UnknownName
from formlab.folders import Evaluation

ALL = "all"
# More values than this are no slices to choose from, but names.
_MOST_VALUES = 60
_COPY = """
export default { render({ model, el }) {
  const code = document.createElement("pre");
  const button = document.createElement("button");
  button.textContent = "Copy the Python of this view";
  const say = (text) => () => { button.textContent = text; };
  button.addEventListener("click", () => navigator.clipboard.writeText(model.get("code"))
    .then(say("Copied"), say("Select it below")));
  const show = () => {
    code.textContent = model.get("code");
    button.textContent = "Copy the Python of this view";
  };
  model.on("change:code", show);
  show();
  code.style.cssText = "overflow:auto;padding:8px;border:1px solid #8886;border-radius:6px";
  el.append(button, code);
} };
"""


class _Code(anywidget.AnyWidget):
    """Python as text with a button that copies it."""

    _esm = _COPY
    code = traitlets.Unicode("").tag(sync=True)


@dataclasses.dataclass(frozen=True)
class SliceView:
    """One view of an evaluation: a metric by a column, and the worst fields of one of its values.

    Parameters
    ----------
    evaluation
        What is looked at.
    source
        Python that opens it.
    metric, by, value
        A metric of fields, a column to slice by, and one of its values or ``all``.
    limit
        How many of the worst fields the gallery holds.
    """

    evaluation: Evaluation
    source: str
    metric: str
    by: str
    value: str = ALL
    limit: int = 20

    @property
    def level(self) -> str:
        """The level of the metric, such as ``field``."""
        scores = self.evaluation.scores.filter(of_cases(), pl.col("metric") == self.metric)
        return scores["level"].first() or "field"

    @property
    def code(self) -> str:
        """The Python that makes `summary`, `cases` and the three parts of this view."""
        chosen = f"analysis.slice_cases(result, {self._slice!r})"
        if self.value == ALL:
            chosen = "result.cases"
        return "\n".join([
            "from formlab import analysis, charts, gallery", "",
            f"result = {self.source}",
            f"summary = analysis.summarise(result, by=[{self.by!r}])",
            f"rows = summary.filter(metric={self.metric!r}, level={self.level!r})",
            f"cases = analysis.top_errors({chosen}, limit={self.limit})",
            f"slices = rows.filter(slice_by={self.by!r})",
            f"display(charts.dots(slices, 'slice_value', metric={self.metric!r}))",
            "display(charts.scores_table(rows, by='slice_value'))",
            "gallery.errors(cases, root=result.root, documents=result.documents)",
        ])  # fmt: skip

    @property
    def _slice(self) -> dict[str, list[str]]:
        return {"slice_by": [self.by], "slice_value": [self.value]}

    @property
    def summary(self) -> pl.DataFrame:
        """The summary table, sliced by the column."""
        return analysis.summarise(self.evaluation, by=[self.by])

    @property
    def cases(self) -> pl.DataFrame:
        """A sample of the wrong fields of the chosen value, as from `analysis.top_errors`."""
        result = self.evaluation
        chosen = result.cases if self.value == ALL else analysis.slice_cases(result, self._slice)
        return analysis.top_errors(chosen, limit=self.limit)

    def parts(self) -> list[Any]:
        """Caption, chart, table and gallery."""
        result = self.evaluation
        rows = self.summary.filter(metric=self.metric, level=self.level)
        title = metrics.title(self.metric)
        say = f"{title[:1].upper()}{title[1:]} by {self.by.replace('_', ' ')}."
        of = "all fields" if self.value == ALL else f"{self.by} {clean(self.value, limit=80)}"
        return [
            charts.caption(say, rows.filter(pl.col("slice_by").is_null())),
            charts.dots(rows.filter(slice_by=self.by), "slice_value", metric=self.metric),
            charts.caption("The same in figures.", label="Table"),
            charts.scores_table(rows, by="slice_value"),
            charts.caption(f"A sample of the wrong fields of {of}."),
            gallery.errors(self.cases, root=result.root, documents=result.documents),
        ]


def metrics_of(evaluation: Evaluation) -> list[str]:
    """The metrics that its fields were scored by, in the registry's order."""
    scored = set(evaluation.scores.filter(of_cases())["metric"])
    return [name for name in metrics.METRICS if name in scored]


def columns_of(evaluation: Evaluation) -> dict[str, list[str]]:
    """The columns that slice its fields, with their values: at least two, and not too many."""
    cases = evaluation.fields.filter(pl.col("gold").is_not_null())
    columns = {
        name: sliced(cases, evaluation.documents, name).cast(pl.String).drop_nulls()
        for name in dict.fromkeys([*COLUMNS, *BANDS])
    }
    names = {name: values.unique().sort().to_list() for name, values in columns.items()}
    return {name: values for name, values in names.items() if 2 <= len(values) <= _MOST_VALUES}


class Explorer:
    """Widgets that choose a `SliceView`, live in JupyterLab; a report shows the first view.

    Parameters
    ----------
    folders
        Of evaluations, as written by ``formlab score … --out``; none explores the samples.
    limit
        How many of the worst fields the gallery holds.

    Raises
    ------
    DataMissing
        If no evaluation has scored fields.
    """

    def __init__(self, folders: Sequence[str] = (), *, limit: int = 20) -> None:
        evaluations = analysis.open_all(folders)
        self._choices = {
            f"{number}. {result.system} on {result.benchmark}:{result.split}": (result, source)
            for number, (result, source) in enumerate(
                zip(evaluations, _sources(folders, evaluations), strict=True), start=1
            )
            if metrics_of(result) and columns_of(result)
        }
        if not self._choices:
            raise DataMissing("no evaluation with scored fields", remedy="formlab score … --out")
        self._limit = limit
        titles = {"evaluation": "evaluation", "metric": "metric", "by": "slice by", "value": "show"}
        self._controls = {
            name: ipywidgets.Dropdown(description=title) for name, title in titles.items()
        }
        self._offer("evaluation", list(self._choices))
        self._parts = [ipywidgets.Output() for _ in range(6)]
        self._code = _Code()
        self._busy = False
        self._fill()
        for control in self._controls.values():
            control.observe(self._changed, names="value")

    @property
    def view(self) -> SliceView:
        """What is chosen now."""
        name, *chosen = (control.value for control in self._controls.values())
        return SliceView(*self._choices[name], *chosen, self._limit)

    def choose(self, **chosen: str) -> Explorer:
        """Set `evaluation`, `metric`, `by` or `value`, as the widgets do.

        Raises
        ------
        UnknownName
            If there is no such choice, or it does not offer this value.
        """
        for name, value in chosen.items():
            if name not in self._controls:
                raise UnknownName.of("choice", name, self._controls)
            if value not in self._controls[name].options:
                raise UnknownName.of(name, value, self._controls[name].options)
            self._controls[name].value = value
        return self

    def _changed(self, change: dict[str, Any]) -> None:
        # One choice resets others, which must not be drawn one by one.
        if self._busy:
            return
        self._fill(other=change["owner"] is self._controls["evaluation"])
        self._draw()

    def _fill(self, *, other: bool = True) -> None:
        """Offer what the evaluation has, which may be another; keep choices that still fit."""
        self._busy = True
        try:
            if other:
                evaluation, _ = self._choices[self._controls["evaluation"].value]
                self._columns = columns_of(evaluation)
                self._offer("metric", metrics_of(evaluation))
                self._offer("by", list(self._columns))
            self._offer("value", [ALL, *self._columns[self._controls["by"].value]])
        finally:
            self._busy = False

    def _offer(self, name: str, options: list[str]) -> None:
        control = self._controls[name]
        before = control.value
        control.options = options
        control.value = before if before in options else options[0]

    def _draw(self) -> None:
        for output, part in zip(self._parts, self.view.parts(), strict=True):
            output.clear_output(wait=True)
            with output:
                display(part)
        self._code.code = self.view.code

    def _ipython_display_(self) -> None:
        if theme.in_report():
            display(*self.view.parts())
            return
        self._draw()
        controls = list(self._controls.values())
        row = ipywidgets.Box(controls, layout={"flex_flow": "row wrap"})
        display(ipywidgets.VBox([row, *self._parts, self._code]))


def _sources(folders: Sequence[str], evaluations: Sequence[Evaluation]) -> list[str]:
    if folders:
        return [f"analysis.open_evaluation({str(folder)!r})" for folder in folders]
    return [
        f"analysis.open_evaluation(benchmark={e.benchmark!r}, system={e.system!r})"
        for e in evaluations
    ]
