"""An executed notebook as one HTML file that opens with no network and runs nothing it holds."""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import nbformat
from markupsafe import Markup

from formlab import files
from formlab.charts import harmless
from formlab.charts._output import clean
from formlab.charts.theme import MIME
from formlab.gallery import inline
from formlab.reports import page_assets, page_objects, sanitize
from formlab.reports.build_record import Summary
from formlab.reports.figures import Figure

Facts = Sequence[tuple[str, Sequence[tuple[str, str]]]]
Cell = nbformat.NotebookNode
FAILED_ANCHOR = "failed-cell"
# What a cell with this tag shows stands right under the title, wherever the cell is.
SUMMARY_TAG = "summary"
SOURCES = MIME.format("sources")
_BANNER = "papermill-error-cell-tag"
_TITLE = re.compile(r"^#[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
_SECTION = re.compile(r"^##[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
_HEADING = re.compile(r"<h([23])>(.*?)</h\1>", re.DOTALL)
# The paragraph of a notebook that says what it takes and makes folds away.
_IN_OUT = re.compile(r"<p><strong>In:</strong>.*?</p>", re.DOTALL)
_FOLDED = r'<details class="fl-fold"><summary>What goes in and comes out</summary>\g<0></details>'


@dataclasses.dataclass(frozen=True)
class Failure:
    """Why a report is not complete: one line, a traceback in plain text, the error's class."""

    what: str
    traceback: str = ""
    anchor: str | None = None
    kind: str = ""


def write(
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
    outputs = bundles(notebook)
    summary = _summary(notebook, outputs, name)
    # What a notebook did not finish is not "nothing to report".
    nothing = [] if failure else list(_empty_sections(notebook))
    hidden = {id(cell) for section in nothing for cell in section.cells}
    sources = [b[SOURCES]["entries"] for b in outputs if isinstance(b.get(SOURCES), dict)]
    contents: list[tuple[int, str, str]] = []
    texts: dict[str, str] = {}
    links = [page_objects.data_link(figure, beside) for figure in figures]
    numbered = iter(range(len(outputs)))
    cells = []
    for cell, results in _in_order(notebook):
        if cell.cell_type == "markdown":
            prose = "" if id(cell) in hidden else _anchored(cell.source, contents)
            cells += [{"prose": prose}] if prose else []
        elif cell.cell_type == "code" and (cell.source or results):
            drawn = []
            for output in results:
                number = next(numbered) if _is_display(output) else None
                if id(cell) not in hidden or number is None:
                    drawn.append(_output(output, texts))
                if number is not None and number < len(links):
                    drawn.append(links[number])
            is_failed = any(output.output_type == "error" for output in results)
            source = page_objects.code(cell.source) if cell.source else ""
            anchor = FAILED_ANCHOR if is_failed else ""
            cells.append({"source": source, "outputs": drawn, "anchor": anchor})
    page = {
        "title": summary.title, "index": index, "contents": contents, "error": failure,
        "cells": cells, "has_code": any(cell.get("source") for cell in cells),
        "assets": assets or page_assets.of(kinds_of(outputs)),
        "parts": [page_objects.markdown(clean(sentence, limit=600)) for sentence in parts],
        "nothing": [section for section in nothing if section.is_listed],
        "made": [*facts, *(("Data", entries) for entries in sources if entries)],
        "late": sanitize.trusted(inline.blocks(late(texts))),
    }  # fmt: skip
    files.write_text(out, render("report.html.j2", **page))
    return summary


def render(template: str, **values: Any) -> str:
    """A page of that name with values: what is not `Markup` is shown as plain text."""
    return _environment().get_template(template).render(version=files.version(), **values)


@cache
def _environment() -> jinja2.Environment:
    def plain(value: Any) -> Any:
        """What a reader may see of a text that anybody wrote."""
        return sanitize.plain(value) if type(value) is str else value

    folder = str(resources.files("formlab").joinpath("reports/assets"))
    loader = jinja2.FileSystemLoader(folder)
    undefined = jinja2.StrictUndefined
    return jinja2.Environment(loader=loader, autoescape=True, undefined=undefined, finalize=plain)


def bundles(notebook: nbformat.NotebookNode) -> list[Any]:
    """The mime bundle of each output that shows something, in the order of the page."""
    results = (output for _, outputs in _in_order(notebook) for output in outputs)
    return [output.data for output in results if _is_display(output)]


def kinds_of(bundles: Sequence[Any]) -> set[str]:
    """The kinds of objects that a script draws."""
    return {kind for bundle in bundles for kind, _ in page_objects.payloads(bundle)}


def _is_display(output: nbformat.NotebookNode) -> bool:
    return output.output_type in ("display_data", "execute_result")


def _tags(cell: Cell) -> set[str]:
    return set(cell.metadata.get("tags", []))


def _in_order(notebook: nbformat.NotebookNode) -> Iterator[tuple[Cell, list[Any]]]:
    """Each cell with its outputs as the page shows them, without papermill's banners.

    What a summary shows comes after the first cell; its code stays where it runs.
    """
    cells = [cell for cell in notebook.cells if _BANNER not in _tags(cell)]
    above = [c for c in cells[1:] if SUMMARY_TAG in _tags(c) and c.cell_type == "code"]
    for number, cell in enumerate(cells):
        yield cell, [] if any(cell is c for c in above) else cell.get("outputs", [])
        if number == 0:
            for summary in above:
                yield nbformat.v4.new_code_cell(), summary.outputs


def _anchored(source: str, contents: list[tuple[int, str, str]]) -> Markup:
    """A Markdown cell; its headings of level 2 and 3 get anchors and join `contents`."""

    def anchored(match: re.Match[str]) -> str:
        text = html.unescape(re.sub(r"<[^>]*>", "", match[2])).strip()
        anchor = f"part-{len(contents) + 1}"
        contents.append((int(match[1]), anchor, text))
        return f'<h{match[1]} id="{anchor}">{match[2]}</h{match[1]}>'

    # nh3 has normalised the markup: its tags balance, and headings carry no attributes.
    marked = _HEADING.sub(anchored, str(page_objects.markdown(source)))
    return sanitize.trusted(_IN_OUT.sub(_FOLDED, marked))


def _output(output: nbformat.NotebookNode, texts: dict[str, str]) -> Markup:
    if output.output_type == "error":
        return Markup('<pre class="fl-traceback">{}</pre>').format(page_objects.failure(output))
    if output.output_type == "stream":
        text = sanitize.plain(output.text)
        if output.name != "stderr":
            return Markup('<pre class="fl-stdout">{}</pre>').format(text)
        return Markup(
            '<details class="fl-stderr"><summary>Messages</summary><pre>{}</pre></details>'
        ).format(text)
    # Sources are shown once, at the end.
    return Markup("") if SOURCES in output.data else page_objects.output(output.data, texts)


class _Empty(NamedTuple):
    """A section, from one heading of level 2 to the next, in which nothing is shown but notes.

    It is not listed if all it has are sources, which stand in a block of their own.
    """

    heading: str
    note: str
    cells: Sequence[Cell]
    is_listed: bool


def _empty_sections(notebook: nbformat.NotebookNode) -> Iterator[_Empty]:
    """The sections in which code shows notes alone, or nothing; a section of text is none."""
    sections: list[tuple[str, list[Cell]]] = []
    for cell in notebook.cells:
        found = _SECTION.search(cell.source) if cell.cell_type == "markdown" else None
        if found:
            sections.append((found[1], []))
        if sections:
            sections[-1][1].append(cell)
    for heading, cells in sections:
        code = [c for c in cells if c.cell_type == "code" and SUMMARY_TAG not in _tags(c)]
        text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        if len(_SECTION.findall(text)) > 1 or (not code and _SECTION.sub("", text).strip()):
            continue
        notes = [_note(output) for cell in code for output in cell.outputs]
        if None not in notes:
            note = " ".join(dict.fromkeys(filter(None, notes)))
            heading = clean(sanitize.plain(heading), limit=200)
            yield _Empty(heading, note or "Nothing to show.", cells, bool(note or not notes))


def _note(output: nbformat.NotebookNode) -> str | None:
    """The text of a note, "" for sources; None for an output that has something to show."""
    if SOURCES in output.get("data", {}):
        return ""
    for kind, payload in page_objects.payloads(output.get("data", {})):
        if kind == "caption" and payload.get("label") == "Note":
            return clean(payload.get("text", ""), limit=2_000)
    return None


def _summary(
    notebook: nbformat.NotebookNode, bundles: Sequence[Mapping[str, Any]], name: str
) -> Summary:
    prose = (cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    heading = next(filter(None, map(_TITLE.search, prose)), None)
    title = clean(sanitize.plain(heading[1]) if heading else name, limit=200)
    for kind, payload in (drawn for b in bundles for drawn in page_objects.payloads(b)):
        if kind in ("first", "cards"):
            # Other code may emit cards in other shapes.
            value = payload.get("cards")
            cards = harmless.data(value) if isinstance(value, list) else []
            texts = [{k: str(v) for k, v in c.items()} for c in cards if isinstance(c, dict)]
            finding = payload.get("finding" if kind == "cards" else "sentence")
            return Summary(title, finding if isinstance(finding, str) else None, texts)
    return Summary(title)
