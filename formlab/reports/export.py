"""An executed notebook as one HTML file that opens with no network and runs nothing it holds."""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import nbformat
from markupsafe import Markup
from nbconvert.exporters import TemplateExporter

from formlab import files
from formlab.charts._output import clean
from formlab.charts.theme import MIME
from formlab.reports import _draw, page_assets, sanitize
from formlab.reports.build_record import Summary
from formlab.reports.figures import Figure

Facts = Sequence[tuple[str, Sequence[tuple[str, str]]]]
# A cell with this tag is shown right under the title, wherever it stands in the notebook.
SUMMARY_TAG = "summary"
FAILED_ANCHOR = "failed-cell"
_TITLE = re.compile(r"^#[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
_SOURCES = MIME.format("sources")


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
) -> Summary:
    """Write an executed notebook as one HTML page, whole or not at all; its title and findings.

    `facts` go into the block "How this was made"; `failure` and `parts` (which evaluations are of
    a part of their corpus) stand on top; `index` is the address of the page that lists all
    reports. For each output of `bundles`, `figures` has the figure whose table is offered as CSV:
    inside the page, or as a link into the folder `beside`, as seen from `out`.
    """
    notebook = _arranged(notebook)
    outputs = [output.data for output in _displays(notebook)]
    summary = _summary(notebook, outputs, name)
    contents: _draw.Contents = []
    prose = [
        _draw.prose(cell.source, contents) if cell.cell_type == "markdown" else Markup("")
        for cell in notebook.cells
    ]
    sources = [("Data", entries) for bundle in outputs if (entries := _entries(bundle))]
    page = {
        "title": summary.title,
        "version": files.version(),
        "assets": assets or page_assets.of(kinds_of(outputs)),
        "contents": contents,
        "index": index,
        "error": failure,
        "parts": [_draw.markdown(clean(sentence, limit=600)) for sentence in parts],
        "made": _readable([*facts, *sources]),
        "has_code": any(cell.cell_type == "code" and cell.source for cell in notebook.cells),
    }
    drawn = [_draw.output(bundle) for bundle in outputs]
    for at, figure in enumerate(figures):
        drawn[at] += _draw.data_link(figure, beside)
    body, _ = _Exporter(prose, drawn).from_notebook_node(notebook, resources={"formlab": page})
    files.write_text(out, body)
    return summary


def bundles(notebook: nbformat.NotebookNode) -> list[Any]:
    """The mime bundle of each output, in the order the page shows them."""
    return [output.data for output in _displays(_arranged(notebook))]


def kinds_of(bundles: Sequence[Any]) -> set[str]:
    """The kinds of objects that a script draws."""
    return {kind for bundle in bundles for kind, _ in _draw.payloads(bundle)}


def _arranged(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A copy in reading order, without papermill's banners; cells and outputs are numbered."""
    notebook = copy.deepcopy(notebook)
    # The widget state can be megabytes, and no widget lives without a kernel.
    notebook.metadata.pop("widgets", None)
    cells = [cell for cell in notebook.cells if not _tags(cell) & _BANNERS]
    first = cells[:1]
    summaries = [cell for cell in cells[1:] if SUMMARY_TAG in _tags(cell)]
    others = [cell for cell in cells[1:] if SUMMARY_TAG not in _tags(cell)]
    notebook.cells = [*first, *summaries, *others]
    for at, cell in enumerate(notebook.cells):
        failed = any(output.output_type == "error" for output in cell.get("outputs", []))
        cell.metadata["formlab"] = {"at": at, "anchor": FAILED_ANCHOR if failed else None}
    for at, output in enumerate(_displays(notebook)):
        output.metadata["formlab"] = at
        if _SOURCES in output.data:
            # It is shown once, at the end.
            output.data = nbformat.NotebookNode({_SOURCES: output.data[_SOURCES]})
    return notebook


_BANNERS = {"papermill-error-cell-tag"}


def _tags(cell: nbformat.NotebookNode) -> set[str]:
    return set(cell.metadata.get("tags", []))


def _displays(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [
        output
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type in {"display_data", "execute_result"}
    ]


def _summary(notebook: nbformat.NotebookNode, bundles: list[Any], name: str) -> Summary:
    title = clean(name, limit=200)
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (match := _TITLE.search(cell.source)):
            title = clean(sanitize.plain(match[1]), limit=200)
            break
    for bundle in bundles:
        for kind, payload in _draw.payloads(bundle):
            if kind == "cards":
                return Summary(title, payload.get("finding"), _cards(payload.get("cards")))
    return Summary(title)


def _cards(value: Any) -> list[dict[str, str]]:
    """The number cards of a payload; other code may emit them in other shapes."""
    cards = sanitize.data(value) if isinstance(value, list) else []
    return [
        {name: str(value) for name, value in card.items()}
        for card in cards
        if isinstance(card, dict)
    ]


def _entries(bundle: Any) -> list[tuple[str, str]]:
    sources = bundle.get(_SOURCES)
    return [tuple(entry) for entry in sources["entries"]] if isinstance(sources, dict) else []


def _readable(facts: Facts) -> Facts:
    return [
        (heading, [(sanitize.plain(name), sanitize.plain(value)) for name, value in entries])
        for heading, entries in facts
    ]
