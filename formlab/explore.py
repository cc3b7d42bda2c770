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
class View:
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
        """What the metric is taken of, such as ``field``."""
        scores = self.evaluation.scores.filter(of_cases(), pl.col("metric") == self.metric)
        return scores["level"].first() or "field"

    @property
    def code(self) -> str:
        """The Python that makes `summary`, `cases` and the three parts of this view."""
        chosen = "result.cases"
        if self.value != ALL:
            wanted = {"slice_by": [self.by], "slice_value": [self.value]}
            chosen = f"analysis.slice_cases(result, {wanted!r})"
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
    def summary(self) -> pl.DataFrame:
        """The summary table, sliced by the column."""
        return analysis.summarise(self.evaluation, by=[self.by])

    @property
    def cases(self) -> pl.DataFrame:
        """A sample of the wrong fields of the chosen value, as from `analysis.top_errors`."""
        chosen = self.evaluation.cases
        if self.value != ALL:
            wanted = {"slice_by": [self.by], "slice_value": [self.value]}
            chosen = analysis.slice_cases(self.evaluation, wanted)
        return analysis.top_errors(chosen, limit=self.limit)

    def parts(self) -> list[Any]:
        """Caption, chart, table and gallery."""
        rows = self.summary.filter(metric=self.metric, level=self.level)
        slices = rows.filter(slice_by=self.by)
        title = metrics.title(self.metric)
        say = f"{title[:1].upper()}{title[1:]} by {self.by.replace('_', ' ')}."
        of = "all fields" if self.value == ALL else f"{self.by} {clean(self.value, limit=80)}"
        wrong = gallery.errors(
            self.cases, root=self.evaluation.root, documents=self.evaluation.documents
        )
        return [
            charts.caption(say, rows.filter(pl.col("slice_by").is_null())),
            charts.dots(slices, "slice_value", metric=self.metric),
            charts.caption("The same in figures.", label="Table"),
            charts.scores_table(rows, by="slice_value"),
            charts.caption(f"A sample of the wrong fields of {of}."),
            wrong,
        ]


def metrics_of(evaluation: Evaluation) -> list[str]:
    """The metrics that its fields were scored by, in the registry's order."""
    found = set(evaluation.scores.filter(of_cases())["metric"].unique())
    return [name for name in metrics.METRICS if name in found]


def columns_of(evaluation: Evaluation) -> dict[str, list[str]]:
    """The columns that slice its fields, with their values: at least two, and not too many."""
    cases = evaluation.fields.filter(pl.col("gold").is_not_null())
    found = {}
    for name in dict.fromkeys([*COLUMNS, *BANDS]):
        values = sliced(cases, evaluation.documents, name).cast(pl.String).drop_nulls()
        names = values.unique(maintain_order=True).sort().to_list()
        if 2 <= len(names) <= _MOST_VALUES:
            found[name] = names
    return found


class Explorer:
    """Widgets that choose a `View`, live in JupyterLab; in a report its first view stands still.

    Parameters
    ----------
    folders
        Of evaluations, as written by ``formlab score … --out``; none explores the samples.
    limit
        How many of the worst fields the gallery holds.
    """

    def __init__(self, folders: Sequence[str] = (), *, limit: int = 20) -> None:
        opened = analysis.open_all(folders)
        sources = _sources(folders, opened)
        self._choices = {
            f"{place}. {one.system} on {one.benchmark}:{one.split}": (one, source)
            for place, (one, source) in enumerate(zip(opened, sources, strict=True), start=1)
            if metrics_of(one) and columns_of(one)
        }
        if not self._choices:
            raise DataMissing("no evaluation with scored fields", remedy="formlab score … --out")
        self._limit = limit
        self._evaluation = _dropdown("evaluation", list(self._choices))
        self._metric, self._by = _dropdown("metric", []), _dropdown("slice by", [])
        self._value = _dropdown("show", [])
        self._parts = [ipywidgets.Output() for _ in range(6)]
        self._code = _Code()
        self._busy = False
        self._fill()
        for one in self._controls:
            one.observe(self._changed, names="value")

    @property
    def _controls(self) -> list[ipywidgets.Dropdown]:
        return [self._evaluation, self._metric, self._by, self._value]

    @property
    def view(self) -> View:
        """What is chosen now."""
        evaluation, source = self._choices[self._evaluation.value]
        return View(
            evaluation, source, self._metric.value, self._by.value, self._value.value, self._limit
        )

    def choose(self, **chosen: str) -> Explorer:
        """Set `evaluation`, `metric`, `by` or `value`, as the widgets do."""
        named = dict(zip(("evaluation", "metric", "by", "value"), self._controls, strict=True))
        for name, value in chosen.items():
            if name not in named:
                raise UnknownName.of("choice", name, named)
            if value not in named[name].options:
                raise UnknownName.of(name, value, named[name].options)
            named[name].value = value
        return self

    def _changed(self, change: dict[str, Any]) -> None:
        # One choice resets others, which must not be drawn one by one.
        if self._busy:
            return
        self._fill(keep=change["owner"] is not self._evaluation)
        self._draw()

    def _fill(self, *, keep: bool = False) -> None:
        """Offer what the chosen evaluation has, and keep what was chosen where it still fits."""
        self._busy = True
        try:
            evaluation, _ = self._choices[self._evaluation.value]
            if not keep or not self._metric.options:
                columns = columns_of(evaluation)
                _offer(self._metric, metrics_of(evaluation))
                _offer(self._by, list(columns))
                self._columns = columns
            _offer(self._value, [ALL, *self._columns[self._by.value]])
        finally:
            self._busy = False

    def _draw(self) -> None:
        view = self.view
        for output, part in zip(self._parts, view.parts(), strict=True):
            output.clear_output(wait=True)
            with output:
                display(part)
        self._code.code = view.code

    def _ipython_display_(self) -> None:
        if theme.in_report():
            display(*self.view.parts())
            return
        self._draw()
        row = ipywidgets.Box(self._controls, layout={"flex_flow": "row wrap"})
        display(ipywidgets.VBox([row, *self._parts, self._code]))


def _sources(folders: Sequence[str], evaluations: Sequence[Evaluation]) -> list[str]:
    if folders:
        return [f"analysis.open_evaluation({str(folder)!r})" for folder in folders]
    systems = dict(analysis.BASELINES)
    # Some samples may be left out on this machine.
    return [
        f"analysis.open_evaluation(benchmark={e.benchmark!r}, system={systems[e.benchmark]!r})"
        for e in evaluations
    ]


def _dropdown(title: str, options: list[str]) -> ipywidgets.Dropdown:
    return ipywidgets.Dropdown(options=options, description=title)


def _offer(control: ipywidgets.Dropdown, options: list[str]) -> None:
    before = control.value
    control.options = options
    control.value = before if before in options else options[0]
