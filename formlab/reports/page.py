"""An executed notebook as one HTML file that opens with no network and runs nothing it holds."""

from __future__ import annotations

import base64
import dataclasses
import html
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import nbformat
from markupsafe import Markup

from formlab import files
from formlab.charts import harmless
from formlab.charts._output import clean, number
from formlab.charts.theme import MIME
from formlab.gallery import inline
from formlab.reports import sanitize
from formlab.reports.figures import Figure, inert
from formlab.reports.record import Summary

Facts = Sequence[tuple[str, Sequence[tuple[str, str]]]]
Cell = nbformat.NotebookNode
Objects = dict[int, list[tuple[str, dict[str, Any]]]]
FAILED_ANCHOR = "failed-cell"
# What a cell with this tag shows stands right under the title, wherever the cell is.
SUMMARY_TAG = "summary"
SOURCES = MIME.format("sources")
# What scripts draw; all else is markup from the start.
DRAWN = ("plotly", "gallery", "episodes", "explorer")
KINDS = ("vega", *DRAWN, "table", "first", "cards", "caption")
# What other code may emit instead of formlab's own data: mime type, kind, name in the payload.
_FOREIGN = (
    ("application/vnd.plotly.v1+json", "plotly", "figure"),
    ("application/vnd.vegalite.v6+json", "vega", "spec"),
)
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


def write(
    notebook: nbformat.NotebookNode,
    *,
    out: str | Path,
    name: str,
    facts: Facts = (),
    failure: Failure | None = None,
    index: str | None = None,
    figures: Sequence[Figure | None] = (),
    parts: Sequence[str] = (),
    shown: Objects | None = None,
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
    sources, cells, counts = [], [], Counter[str]()
    numbered = iter([*figures, *[None] * 10_000])
    for cell, outputs in _in_order(notebook):
        is_shown = id(cell) not in hidden
        if cell.cell_type == "markdown" and is_shown:
            cells.append({"prose": _anchored(cell.source, contents)})
        if cell.cell_type != "code" or not (cell.source or outputs):
            continue
        drawn = []
        for output in outputs:
            data = output.get("data", {})
            figure = next(numbered) if _is_display(output) else None
            if isinstance(data.get(SOURCES), dict):
                # Sources are shown once, at the end.
                sources.append(("Data", data[SOURCES]["entries"]))
            elif is_shown or not _is_display(output):
                drawn += [_output(output, shown, figure, counts), _csv_link(figure)]
        failed = any(output.output_type == "error" for output in outputs)
        source = sanitize.python(cell.source) if cell.source else ""
        cells.append({"source": source, "outputs": drawn, "anchor": FAILED_ANCHOR * failed})
    kinds = {kind for pairs in shown.values() for kind, _ in pairs}
    page = _render(
        "report.html.j2",
        kinds,
        title=summary.title,
        index=index,
        contents=contents,
        error=failure,
        cells=cells,
        has_code=any(cell.get("source") for cell in cells),
        parts=[sanitize.markdown(clean(sentence, limit=600)) for sentence in parts],
        nothing=[(heading, note) for heading, note, _ in nothing if note],
        made=[*facts, *(source for source in sources if source[1])],
    )
    files.write_text(out, page)
    return summary


def write_index(out: Path, **values: Any) -> None:
    """Write the page that lists reports."""
    files.write_text(out, _render("reports.html.j2", set(), **values))


def _render(template: str, kinds: set[str], **values: Any) -> str:
    """A page of that name: what is not `Markup` is shown as plain text."""
    scripts = ([_plotly()] if "plotly" in kinds else []) + [inline.script("report")]
    for source in scripts:
        # Inside <script> these end or nest the element, whatever the language says.
        if "</script" in source.lower() or "<!--" in source:
            raise AssertionError("a bundled script cannot stand inside a page")
    style = inline.style()
    # plotly writes styles of its own into the page.
    policy = inline.policy(scripts, None if "plotly" in kinds else style)
    own = {"policy": policy, "style": style, "scripts": scripts}
    own = {name: _trusted(value) for name, value in own.items()}
    page = _environment().get_template(template)
    return page.render(version=files.version(), **own, **values)


def _trusted(value: Any) -> Any:
    return list(map(sanitize.trusted, value)) if type(value) is list else sanitize.trusted(value)


@cache
def _environment() -> jinja2.Environment:
    def plain(value: Any) -> Any:
        """What a reader may see of a text that anybody wrote, signs for what has none."""
        if type(value) is not str:
            return value
        return harmless.visible(clean(value, limit=None)).replace("\r", "␍")

    folder = str(resources.files("formlab").joinpath("reports/assets"))
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=plain,
    )
    made.filters |= {"cell": _cell, "picture": _picture, "share": _share}
    return made


@cache
def _plotly() -> str:
    """plotly.js, as the installed plotly ships it."""
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


def objects(notebook: nbformat.NotebookNode) -> Objects:
    """Kind and data, inert, of what each display output shows, by its `id`, in the page's order."""
    outputs = (output for _, outputs in _in_order(notebook) for output in outputs)
    return {id(output): _payloads(output.data) for output in outputs if _is_display(output)}


def _payloads(bundle: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The kind and data of the object in a mime bundle, if it is one that a page draws."""
    for kind in KINDS:
        if isinstance(value := bundle.get(MIME.format(kind)), dict):
            return [(kind, inert(kind, value))]
    for mime, kind, name in _FOREIGN:
        if isinstance(value := bundle.get(mime), dict):
            return [(kind, inert(kind, {name: value, "alt": kind}))]
    return []


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


def _output(output: Cell, shown: Objects, figure: Figure | None, counts: Counter[str]) -> str:
    if output.output_type == "error":
        return Markup('<pre class="fl-traceback">{}</pre>').format(traceback_of(output))
    if output.output_type == "stream" and output.name != "stderr":
        return Markup('<pre class="fl-stdout">{}</pre>').format(sanitize.plain(output.text))
    if output.output_type == "stream":
        frame = '<details class="fl-stderr"><summary>Messages</summary><pre>{}</pre></details>'
        return sanitize.trusted(frame).format(sanitize.plain(output.text))
    for kind, payload in shown[id(output)]:
        alt = payload.get("alt") or _joined(output.data.get("text/plain")) or kind
        return shown_object(kind, payload, clean(alt, limit=5_000), figure, counts)
    return _static({mime: _joined(value) for mime, value in output.data.items()})


def shown_object(
    kind: str,
    payload: Mapping[str, Any],
    alt: str,
    figure: Figure | None = None,
    counts: Counter[str] | None = None,
) -> Markup:
    """The markup of one object: a data block for the page's scripts, a drawing, or words."""
    frame = Markup('<div class="fl-object" data-kind="{}"{}>{}</div>')
    if kind in DRAWN:
        block = sanitize.trusted(inline.data_block(payload))
        data = Markup('<script type="application/json">{}</script><noscript><pre>{}</pre>')
        return frame.format(kind, "", data.format(block, alt) + Markup("</noscript>"))
    try:
        parts = _environment().get_template("objects.html.j2").make_module()
        if kind == "vega":
            drawn = figure or Figure("", problem="there is no drawing of it")
            svgs = [sanitize.trusted(svg) for svg in drawn.drawings]
            content = parts.chart(alt, svgs, drawn.problem)
        else:
            if kind == "caption" and counts is not None:
                counts[str(payload["label"])] += 1
                payload = {**payload, "number": counts[str(payload["label"])]}
            content = getattr(parts, kind)(payload)
    except (jinja2.TemplateError, KeyError, TypeError, ValueError, AttributeError, IndexError):
        # Other code may emit objects in other shapes.
        text = Markup('<p class="fl-noimage">This {} could not be drawn.</p>').format(kind)
        return frame.format(kind, Markup(' data-state="failed"'), text)
    return frame.format(kind, Markup(' data-state="drawn"'), content)


def _csv_link(figure: Figure | None) -> Markup:
    """A link that saves the table behind a figure, which the page carries; it opens nothing."""
    if figure is None or not figure.csv:
        return Markup("")
    table = base64.b64encode(figure.csv.encode("utf-8", "backslashreplace")).decode()
    link = '<p class="fl-data"><a download="{}.csv" href="data:text/csv;charset=utf-8;base64,{}" '
    link += 'title="The table behind this">CSV</a></p>'
    return sanitize.trusted(link).format(figure.stem, table)


def _cell(value: Any, digits: Any = None) -> str:
    """A value of a table as it is shown."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or not isinstance(value, int | float):
        return number(None) if value is None else str(value)
    return number(value, min(max(digits if isinstance(digits, int) else 0, 0), 12))


def _share(value: Any) -> float:
    """A number between 0 and 1 as a percentage."""
    return round(100 * min(max(value if isinstance(value, int | float) else 0, 0), 1), 3)


def _picture(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Places on an axis of 164 pixels: its ends and zero with their texts, value and interval."""
    low, high = map(float, row["ends"])
    if not isinstance(row["value"], int | float) or not high > low:
        return None

    def place(value: float) -> float:
        return round(18 + 164 * (min(max(value, low), high) - low) / (high - low), 2)

    def text(value: float) -> str:
        if row["share"]:
            return f"{100 * value:.0f} %"
        return f"{value:{'+' * (value > 0)}.2g}".replace("-", "−")

    ticks = sorted({low, min(max(0.0, low), high), high})
    ends = [row["low"], row["high"]]
    known = all(isinstance(end, int | float) and math.isfinite(end) for end in ends)
    return {
        "ticks": [(place(value), text(value), value == 0) for value in ticks],
        "ends": [place(end) for end in ends] if known else [],
        "at": place(row["value"]),
    }


def _joined(value: object) -> str:
    if isinstance(value, list):
        return "".join(str(line) for line in value)
    return value if isinstance(value, str) else ""


def _static(bundle: Mapping[str, str]) -> Markup:
    text = sanitize.plain(bundle.get("text/plain", ""))
    if page := bundle.get("text/html"):
        return Markup('<div class="fl-html">{}</div>').format(sanitize.safe_html(page))
    if source := bundle.get("text/markdown"):
        return Markup('<div class="fl-text">{}</div>').format(sanitize.markdown(source))
    for mime in _RASTERS:
        image = bundle.get(mime, "").strip()
        if image and _BASE64.match(image):
            return Markup('<img class="fl-image" loading="lazy" alt="{}" src="{}">').format(
                text or "image", f"data:{mime};base64,{image}"
            )
    return Markup('<pre class="fl-plain">{}</pre>').format(text) if text else Markup("")


def traceback_of(output: Mapping[str, Any]) -> str:
    """The traceback of an error output, as plain text."""
    lines = output.get("traceback") or [f"{output.get('ename')}: {output.get('evalue')}"]
    return sanitize.plain("\n".join(str(line) for line in lines))


def _empty_sections(book: Cell, shown: Objects) -> Iterator[tuple[str, str, list[Cell]]]:
    """Heading, note and cells of each section in which code shows notes alone, or nothing.

    A section goes from one heading of level 2 to the next; one of text is not empty. The note is
    "" if all it has are sources, which stand in a block of their own.
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
        notes = [_note(output, shown) for cell in code for output in cell.outputs]
        if None not in notes:
            note = " ".join(dict.fromkeys(filter(None, notes)))
            note = note or ("" if notes else "Nothing to show.")
            yield clean(sanitize.plain(heading), limit=200), note, cells


def _note(output: nbformat.NotebookNode, shown: Objects) -> str | None:
    """The text of a note, "" for sources; None for an output that has something to show."""
    if SOURCES in output.get("data", {}):
        return ""
    for kind, payload in shown.get(id(output), ()):
        if kind == "caption" and payload.get("label") == "Note":
            return clean(payload.get("text", ""), limit=2_000)
    return None


def _summary(notebook: nbformat.NotebookNode, name: str, shown: Objects) -> Summary:
    prose = (cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    heading = next(filter(None, map(_TITLE.search, prose)), None)
    summary = partial(Summary, clean(sanitize.plain(heading[1]) if heading else name, limit=200))
    for kind, payload in (pair for pairs in shown.values() for pair in pairs):
        if kind in ("first", "cards"):
            # Other code may emit cards in other shapes.
            value = payload.get("cards")
            cards = harmless.data(value) if isinstance(value, list) else []
            texts = [{k: str(v) for k, v in c.items()} for c in cards if isinstance(c, dict)]
            finding = payload.get("finding" if kind == "cards" else "sentence")
            return summary(finding if isinstance(finding, str) else None, texts)
    return summary()
