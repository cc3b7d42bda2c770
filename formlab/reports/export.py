"""An executed notebook as one HTML file that opens with no network and runs nothing it holds."""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import nbformat
from markupsafe import Markup
from nbconvert.exporters import TemplateExporter

from formlab import files
from formlab.charts import harmless
from formlab.charts._output import clean
from formlab.gallery import inline
from formlab.reports import _draw, page_assets, sanitize, sections
from formlab.reports.build_record import Summary
from formlab.reports.figures import Figure

Facts = Sequence[tuple[str, Sequence[tuple[str, str]]]]
FAILED_ANCHOR = "failed-cell"
_TITLE = re.compile(r"^#[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Failure:
    """Why a report is not complete: one line, a traceback in plain text, the error's class."""

    what: str
    traceback: str = ""
    anchor: str | None = None
    kind: str = ""


class _Exporter(TemplateExporter):
    """nbconvert with formlab's template, where everything is escaped that was not made markup."""

    file_extension = ".html"
    output_mimetype = "text/html"
    template_name = "report"

    def __init__(self, prose: list[Markup], drawn: list[Markup]) -> None:
        self._prose, self._drawn = prose, drawn
        folder = str(resources.files("formlab").joinpath("reports/assets"))
        super().__init__(extra_template_basedirs=[folder])

    def _create_environment(self) -> Any:
        environment = super()._create_environment()
        environment.autoescape = True
        return environment

    def default_filters(self) -> Iterator[tuple[str, Any]]:
        yield from super().default_filters()
        yield "prose", lambda cell: self._prose[cell["metadata"]["formlab"]["at"]]
        yield "draw", lambda output: self._drawn[output["metadata"]["formlab"]]
        yield "code", _draw.code
        yield "plain", sanitize.plain
        yield "failure", _draw.failure


def export(
    notebook: nbformat.NotebookNode,
    *,
    out: str | Path,
    name: str,
    facts: Facts = (),
    failure: Failure | None = None,
    index: str | None = None,
    assets: page_assets.PageAssets | None = None,
    figures: Sequence[Figure | None] = (),
    beside: str | None = None,
    parts: Sequence[str] = (),
    late: Callable[[dict[str, str]], dict[str, str]] = dict,
) -> Summary:
    """Write an executed notebook as one HTML page, whole or not at all; its title and findings.

    `facts` go into the block "How this was made"; `failure` and `parts` (which evaluations are of
    a part of their corpus) stand on top; `index` is the address of the page that lists all
    reports. For each output of `bundles`, `figures` has the figure whose table is offered as CSV:
    inside the page, or as a link into the folder `beside`, as seen from `out`. `late` may move
    what `inline.split` took out of the data, as `page_assets.pictures` does.
    """
    notebook = _arranged(notebook)
    outputs = [output.data for _, output in _displays(notebook)]
    summary = _summary(notebook, outputs, name)
    # What a notebook did not finish is not "nothing to report".
    nothing = [] if failure else list(sections.empty(notebook))
    hidden = {id(cell) for section in nothing for cell in section.cells}
    contents: _draw.Contents = []
    prose = [
        _draw.prose(cell.source, contents)
        if cell.cell_type == "markdown" and id(cell) not in hidden
        else Markup("")
        for cell in notebook.cells
    ]
    sources = [
        b[sections.SOURCES]["entries"] for b in outputs if isinstance(b.get(sections.SOURCES), dict)
    ]
    page = {
        "title": summary.title,
        "version": files.version(),
        "assets": assets or page_assets.of(kinds_of(outputs)),
        "contents": contents,
        "index": index,
        "error": failure,
        "parts": [_draw.markdown(clean(sentence, limit=600)) for sentence in parts],
        "nothing": [(each.heading, each.note) for each in nothing if each.listed],
        "made": [
            (heading, [(sanitize.plain(key), sanitize.plain(value)) for key, value in entries])
            for heading, entries in [*facts, *(("Data", entries) for entries in sources if entries)]
        ],
        "has_code": any(cell.cell_type == "code" and cell.source for cell in notebook.cells),
    }
    texts: dict[str, str] = {}
    drawn = [
        Markup("") if id(cell) in hidden else _draw.output(output.data, texts)
        for cell, output in _displays(notebook)
    ]
    for at, figure in enumerate(figures):
        drawn[at] += _draw.data_link(figure, beside)
    page["late"] = sanitize.trusted(inline.blocks(late(texts)))
    body, _ = _Exporter(prose, drawn).from_notebook_node(notebook, resources={"formlab": page})
    files.write_text(out, body)
    return summary


def bundles(notebook: nbformat.NotebookNode) -> list[Any]:
    """The mime bundle of each output, in the order the page shows them."""
    return [output.data for _, output in _displays(_arranged(notebook))]


def kinds_of(bundles: Sequence[Any]) -> set[str]:
    """The kinds of objects that a script draws."""
    return {kind for bundle in bundles for kind, _ in _draw.payloads(bundle)}


def _arranged(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A copy in reading order, without papermill's banners; cells and outputs are numbered."""
    notebook = copy.deepcopy(notebook)
    # The widget state can be megabytes, and no widget lives without a kernel.
    notebook.metadata.pop("widgets", None)
    first, *rest = [c for c in notebook.cells if _BANNER not in _tags(c)] or [None]
    shown = []
    for cell in rest:
        if sections.SUMMARY_TAG in _tags(cell) and cell.cell_type == "code":
            # Its code stays where it runs.
            shown.append(nbformat.v4.new_code_cell(outputs=cell.outputs))
            cell.outputs = []
    notebook.cells = [first, *shown, *rest] if first else []
    for at, cell in enumerate(notebook.cells):
        failed = any(output.output_type == "error" for output in cell.get("outputs", []))
        cell.metadata["formlab"] = {"at": at, "anchor": FAILED_ANCHOR if failed else None}
    for at, (_, output) in enumerate(_displays(notebook)):
        output.metadata["formlab"] = at
        if sections.SOURCES in output.data:
            # It is shown once, at the end.
            output.data = nbformat.NotebookNode({sections.SOURCES: output.data[sections.SOURCES]})
    return notebook


_BANNER = "papermill-error-cell-tag"


def _tags(cell: nbformat.NotebookNode) -> set[str]:
    return set(cell.metadata.get("tags", []))


def _displays(
    notebook: nbformat.NotebookNode,
) -> list[tuple[nbformat.NotebookNode, nbformat.NotebookNode]]:
    """Each output that shows something, with its cell."""
    return [
        (cell, output)
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type in {"display_data", "execute_result"}
    ]


def _summary(notebook: nbformat.NotebookNode, bundles: list[Any], name: str) -> Summary:
    prose = (cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    heading = next(filter(None, map(_TITLE.search, prose)), None)
    title = clean(sanitize.plain(heading[1]) if heading else name, limit=200)
    for kind, payload in (drawn for bundle in bundles for drawn in _draw.payloads(bundle)):
        if kind in ("first", "cards"):
            # Other code may emit cards in other shapes.
            value = payload.get("cards")
            cards = harmless.data(value) if isinstance(value, list) else []
            texts = [{k: str(v) for k, v in c.items()} for c in cards if isinstance(c, dict)]
            finding = payload.get("finding" if kind == "cards" else "sentence")
            return Summary(title, finding if isinstance(finding, str) else None, texts)
    return Summary(title)
