"""An executed notebook as one HTML file that opens with no network and runs nothing it holds."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import html
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import nbformat
from markupsafe import Markup

from formlab import files
from formlab.charts import escaping
from formlab.charts.escaping import clean
from formlab.charts.html import KINDS, MIME, TEMPLATES, render
from formlab.gallery import inline
from formlab.reports import sanitize
from formlab.reports.figures import Figure
from formlab.reports.record import Summary

Facts = Sequence[tuple[str, Sequence[tuple[str, str]]]]
Cell = nbformat.NotebookNode
FAILED_ANCHOR = "failed-cell"
# What a cell with this tag shows stands right under the title, wherever the cell is.
SUMMARY_TAG = "summary"
# What scripts draw; all else is markup from the start.
DRAWN = ("plotly", "gallery", "episodes", "explorer")
_VEGA = re.compile(r"application/vnd\.vegalite\.v\d+\+json")
_PLOTLY = "application/vnd.plotly.v1+json"
_RASTERS = ("image/png", "image/jpeg", "image/webp", "image/gif")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*\Z")
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


class Object(NamedTuple):
    """What an output shows: its kind, its data, and a text for who cannot see it.

    Data of a chart runs, loads and reaches nothing; a page escapes that of the other kinds.
    """

    kind: str
    data: dict[str, Any]
    alt: str


Objects = dict[int, Object]


def objects(notebook: nbformat.NotebookNode) -> Objects:
    """The object of each display output that has one, by the output's `id`, in the page's order."""
    outputs = (output for _, outputs in _in_order(notebook) for output in outputs)
    found = {id(output): _object(output.data) for output in outputs if _is_display(output)}
    return {place: shown for place, shown in found.items() if shown}


def _object(bundle: Mapping[str, Any]) -> Object | None:
    text = clean(_joined(bundle.get("text/plain")), limit=5_000)
    for mime, value in bundle.items():
        if not isinstance(value, dict):
            continue
        if mime == MIME:
            for kind, data in value.items():
                if isinstance(data, str) and kind in DRAWN:
                    with contextlib.suppress(ValueError, RecursionError):
                        data = json.loads(data)
                if kind in (*KINDS, *DRAWN) and isinstance(data, dict):
                    return Object(kind, data, text or kind)
        if _VEGA.fullmatch(mime):
            alt = _words(value.get("description")) or _words(value.get("title")) or "chart"
            return Object("vega", escaping.specification(value), clean(alt, limit=2_000))
        if mime == _PLOTLY:
            return _plotly_object(value)
    return None


def _plotly_object(figure: dict[str, Any]) -> Object:
    """A figure of plotly; ``layout.meta`` may hold its text and a flat figure in its place."""
    layout = figure.get("layout")
    layout = dict(layout) if isinstance(layout, dict) else {}
    meta = layout.get("meta")
    meta = dict(meta) if isinstance(meta, dict) else {}
    fallback = meta.pop("fallback", None)
    alt = clean(_words(meta.get("alt")) or _words(layout.get("title")) or "figure", limit=2_000)
    data = {"figure": escaping.figure(figure | {"layout": layout | {"meta": meta}}), "alt": alt}
    if isinstance(fallback, dict):
        data["fallback"] = escaping.figure(fallback)
    return Object("plotly", data, alt)


def _words(value: object) -> str:
    """The text of a Vega or plotly title, which may be a string, a list of lines or an object."""
    if isinstance(value, list):
        return " ".join(map(_words, value))
    if isinstance(value, Mapping):
        return _words(value.get("text"))
    return value if isinstance(value, str) else ""


def write(
    notebook: nbformat.NotebookNode,
    *,
    out: str | Path,
    name: str,
    facts: Facts = (),
    failure: Failure | None = None,
    index: str | None = None,
    shown: Objects | None = None,
    figures: Mapping[int, Figure] | None = None,
    parts: Sequence[str] = (),
) -> Summary:
    """Write an executed notebook as one HTML page, whole or not at all; its title and findings.

    `facts` go into the block "How this was made"; `failure` and `parts` (which evaluations are of
    a part of their corpus) stand on top; `index` is the address of the page that lists all
    reports. Charts are drawings of `figures`, those of `shown`, its `objects`; tables can be saved.
    """
    shown = objects(notebook) if shown is None else shown
    summary = _summary(notebook, name, shown)
    # What a notebook did not finish is not "nothing to report".
    nothing = [] if failure else list(_empty_sections(notebook, shown))
    hidden = {id(cell) for _, _, cells in nothing for cell in cells}
    contents: list[tuple[int, str, str]] = []
    cells, counts = [], Counter[str]()
    for cell, outputs in _in_order(notebook):
        is_hidden = id(cell) in hidden
        if cell.cell_type == "markdown" and not is_hidden:
            cells.append({"prose": _anchored(cell.source, contents)})
        if cell.cell_type != "code" or not (cell.source or outputs):
            continue
        drawn = []
        for output in outputs:
            found, figure = shown.get(id(output)), (figures or {}).get(id(output))
            if found and not is_hidden:
                drawn += [shown_object(found, figure, counts), _csv_link(figure)]
            elif not found and not (is_hidden and _is_display(output)):
                drawn.append(_output(output))
        failed = any(output.output_type == "error" for output in outputs)
        source = sanitize.python(cell.source) if cell.source else ""
        cells.append({"source": source, "outputs": drawn, "anchor": FAILED_ANCHOR * failed})
    page = _render(
        "report.html.j2",
        plotly=any(found.kind == "plotly" for found in shown.values()),
        title=summary.title,
        index=index,
        contents=contents,
        error=failure,
        cells=cells,
        has_code=any(cell.get("source") for cell in cells),
        parts=[sanitize.markdown(clean(sentence, limit=600)) for sentence in parts],
        nothing=[(heading, note) for heading, note, _ in nothing],
        made=facts,
    )
    files.write_text(out, page)
    return summary


def write_index(out: Path, **values: Any) -> None:
    """Write the page that lists reports."""
    files.write_text(out, _render("reports.html.j2", plotly=False, **values))


def _render(template: str, *, plotly: bool, **values: Any) -> str:
    """A page of that name: what is not `Markup` is shown as plain text."""
    scripts = [_plotly_script()] * plotly + [inline.script("report")]
    for source in scripts:
        # Inside <script> these end or nest the element, whatever the language says.
        if "</script" in source.lower() or "<!--" in source:
            raise AssertionError("a bundled script cannot stand inside a page")
    style = inline.style()
    # plotly writes styles of its own into the page.
    policy = inline.policy(scripts, None if plotly else style)
    policy, style, *scripts = map(sanitize.trusted, (policy, style, *scripts))
    page = TEMPLATES.get_template(template)
    more = {"version": files.version(), "policy": policy, "style": style, "scripts": scripts}
    return page.render(**more, **values)


@cache
def _plotly_script() -> str:
    """plotly.js, as the installed plotly ships it."""
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


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
    for place, cell in enumerate(cells):
        yield cell, [] if any(cell is c for c in above) else cell.get("outputs", [])
        if place == 0:
            yield from ((nbformat.v4.new_code_cell(), summary.outputs) for summary in above)


def _anchored(source: str, contents: list[tuple[int, str, str]]) -> Markup:
    """A Markdown cell; its headings of level 2 and 3 get anchors and join `contents`."""

    def anchored(match: re.Match[str]) -> str:
        text = html.unescape(re.sub(r"<[^>]*>", "", match[2])).strip()
        contents.append((int(match[1]), f"part-{len(contents) + 1}", text))
        return f'<h{match[1]} id="{contents[-1][1]}">{match[2]}</h{match[1]}>'

    # nh3 has normalised the markup: its tags balance, and headings carry no attributes.
    marked = _HEADING.sub(anchored, str(sanitize.markdown(source)))
    return sanitize.trusted(_IN_OUT.sub(_FOLDED, marked))


def shown_object(
    shown: Object, figure: Figure | None = None, counts: Counter[str] | None = None
) -> Markup:
    """The markup of one object: a data block for the page's scripts, a drawing, or words."""
    kind, data, alt = shown
    if kind in DRAWN:
        return _part("data", kind, sanitize.trusted(inline.data_block(data)), alt)
    if kind == "vega":
        figure = figure or Figure("", problem="it is none")
        drawings = list(map(sanitize.trusted, figure.drawings))
        return _part("object", kind, _part("chart", alt, drawings, figure.problem))
    if kind == "caption" and counts is not None:
        label = str(data.get("label"))
        counts[label] += 1
        data = data | {"number": counts[label]}
    try:
        markup = render(kind, data, in_report=True)
    except (jinja2.TemplateError, KeyError, TypeError, ValueError, AttributeError, IndexError):
        # Other code may emit objects in other shapes.
        markup = None
    return _part("object", kind, markup)


def _part(name: str, *values: Any) -> Markup:
    """A piece of a page, from the macro of that name."""
    return getattr(TEMPLATES.get_template("outputs.html.j2").module, name)(*values)


def _csv_link(figure: Figure | None) -> Markup:
    """A link that saves the table behind a figure, which the page carries; it opens nothing."""
    if figure is None or not figure.csv:
        return Markup("")
    table = base64.b64encode(figure.csv.encode("utf-8", "backslashreplace")).decode()
    return _part("csv", figure.stem, table)


def _output(output: Cell) -> Markup:
    """The markup of an output that shows no object: a traceback, text, or what others display."""
    if output.output_type == "error":
        return _part("text", "traceback", traceback_of(output))
    if output.output_type == "stream":
        text = sanitize.plain(output.text)
        return _part("messages", text) if output.name == "stderr" else _part("text", "stdout", text)
    bundle = {mime: _joined(value) for mime, value in output.data.items()}
    text = sanitize.plain(bundle.get("text/plain", ""))
    if page := bundle.get("text/html"):
        return _part("markup", "html", sanitize.safe_html(page))
    if source := bundle.get("text/markdown"):
        return _part("markup", "text", sanitize.markdown(source))
    for mime in _RASTERS:
        image = bundle.get(mime, "").strip()
        if image and _BASE64.match(image):
            return _part("image", f"data:{mime};base64,{image}", text or "image")
    return _part("text", "plain", text) if text else Markup("")


def _joined(value: object) -> str:
    if isinstance(value, list):
        return "".join(str(line) for line in value)
    return value if isinstance(value, str) else ""


def traceback_of(output: Mapping[str, Any]) -> str:
    """The traceback of an error output, as plain text."""
    lines = output.get("traceback") or [f"{output.get('ename')}: {output.get('evalue')}"]
    return sanitize.plain("\n".join(str(line) for line in lines))


def _empty_sections(book: Cell, shown: Objects) -> Iterator[tuple[str, str, list[Cell]]]:
    """Heading, note and cells of each section in which code shows notes alone, or nothing.

    A section goes from one heading of level 2 to the next; one of text is not empty.
    """
    sections: list[tuple[str, list[Cell]]] = []
    for cell in book.cells:
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
        notes = [_note(shown.get(id(output))) for cell in code for output in cell.outputs]
        if None not in notes:
            note = " ".join(dict.fromkeys(filter(None, notes))) or "Nothing to show."
            yield clean(sanitize.plain(heading), limit=200), note, cells


def _note(shown: Object | None) -> str | None:
    """The text of a note; None for an output that has something to show."""
    if shown and shown.kind == "caption" and shown.data.get("label") == "Note":
        return clean(shown.data.get("text", ""), limit=2_000)
    return None


def _summary(notebook: nbformat.NotebookNode, name: str, shown: Objects) -> Summary:
    prose = (cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    heading = next(filter(None, map(_TITLE.search, prose)), None)
    title = clean(sanitize.plain(heading[1]) if heading else name, limit=200)
    first = next((found for found in shown.values() if found.kind in ("first", "cards")), None)
    if first is None:
        return Summary(title)
    # Other code may emit cards in other shapes.
    cards = first.data.get("cards")
    cards = [card for card in cards if isinstance(card, dict)] if isinstance(cards, list) else []
    texts = [{clean(k): clean(v) for k, v in card.items()} for card in cards]
    finding = first.data.get("finding" if first.kind == "cards" else "sentence")
    return Summary(title, clean(finding) if isinstance(finding, str) else None, texts)
