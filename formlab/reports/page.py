"""An executed notebook as one HTML file that opens with no network and runs nothing it holds."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import nbformat
from markupsafe import Markup

from formlab import files
from formlab.charts import escaping
from formlab.charts.escaping import clean
from formlab.charts.html import KINDS, MIME, TEMPLATES, render
from formlab.gallery import inline
from formlab.reports import figures, sanitize
from formlab.reports.record import Summary

Facts = Sequence[tuple[str, Sequence[tuple[str, str]]]]
Node = nbformat.NotebookNode
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
    kind: str = ""


@dataclasses.dataclass
class Output:
    """What a cell shows: an object's kind, its data, and a text for who cannot see it.

    Data of a chart runs, loads and reaches nothing; a page escapes that of the other kinds. Of
    what shows no object, `data` is the kernel's output and `kind` its type. `figure` has what can
    be saved of it.
    """

    kind: str
    data: Mapping[str, Any]
    alt: str = ""
    figure: figures.Figure | None = None

    @property
    def note(self) -> str | None:
        """The text of a note; None of an output that has something to show."""
        is_note = self.kind == "caption" and self.data.get("label") == "Note"
        return clean(self.data.get("text", ""), limit=2_000) if is_note else None


@dataclasses.dataclass
class Cell:
    """A cell as the page shows it: `prose`, or code; `hidden` where it has nothing to report."""

    source: str
    prose: bool = False
    summary: bool = False
    outputs: list[Output] = dataclasses.field(default_factory=list)
    hidden: bool = False


def read(notebook: Node) -> list[Cell]:
    """The cells of an executed notebook, their figures drawn, without papermill's banners.

    What a summary shows comes after the first cell; its code stays where it runs.
    """
    cells, above = [], []
    for node in notebook.cells:
        tags = node.metadata.get("tags", [])
        if node.cell_type == "raw" or _BANNER in tags:
            continue
        cells.append(Cell(node.source, node.cell_type == "markdown", SUMMARY_TAG in tags))
        found = list(map(_read, node.get("outputs", [])))
        if cells[-1].summary and cells[1:]:
            above.append(Cell("", summary=True, outputs=found))
        else:
            cells[-1].outputs = found
    cells[1:1] = above
    figures.draw(outputs(cells))
    return cells


def outputs(cells: Iterable[Cell]) -> list[Output]:
    """What all cells show, in the page's order."""
    return [output for cell in cells for output in cell.outputs]


def _read(raw: Node) -> Output:
    """What an output of a kernel shows."""
    bundle = raw.get("data", {})
    for mime, value in bundle.items():
        if not isinstance(value, dict):
            continue
        if _VEGA.fullmatch(mime):
            alt = _words(value.get("description")) or _words(value.get("title")) or "chart"
            return Output("vega", escaping.specification(value), clean(alt, limit=2_000))
        if mime == _PLOTLY:
            return _plotly(value)
        for kind, data in value.items() if mime == MIME else ():
            if isinstance(data, str) and kind in DRAWN:
                with contextlib.suppress(ValueError, RecursionError):
                    data = json.loads(data)
            if kind in (*KINDS, *DRAWN) and isinstance(data, dict):
                text = clean(_words(bundle.get("text/plain"), ""), limit=5_000)
                return Output(kind, data, text or kind)
    return Output(raw.output_type, raw)


def _plotly(figure: dict[str, Any]) -> Output:
    """A figure of plotly; ``layout.meta`` may hold its text and a flat figure in its place."""
    layout = figure["layout"] if isinstance(figure.get("layout"), dict) else {}
    meta = dict(layout["meta"]) if isinstance(layout.get("meta"), dict) else {}
    fallback = meta.pop("fallback", None)
    alt = clean(_words(meta.get("alt")) or _words(layout.get("title")) or "figure", limit=2_000)
    data = {"figure": escaping.figure(figure | {"layout": layout | {"meta": meta}}), "alt": alt}
    if isinstance(fallback, dict):
        data["fallback"] = escaping.figure(fallback)
    return Output("plotly", data, alt)


def _words(value: object, between: str = " ") -> str:
    """A text or title of an output, which may be a string, a list of lines or an object."""
    if isinstance(value, list):
        return between.join(_words(line, between) for line in value)
    if isinstance(value, Mapping):
        return _words(value.get("text"))
    return value if isinstance(value, str) else ""


def markup(output: Output, counts: Counter[str] | None = None) -> Markup:
    """An output on a page: a data block for the page's scripts, a drawing, words, or a picture.

    `counts` numbers captions by their label; the table behind a figure can be saved.
    """
    kind, data, figure = output.kind, output.data, output.figure or figures.Figure("")
    if kind in figures.RAW:
        return _raw(kind, data)
    if kind in DRAWN:
        part = _part("data", kind, sanitize.trusted(inline.data_block(data)), output.alt)
    elif kind == "vega":
        drawings = list(map(sanitize.trusted, figure.drawings))
        part = _part("object", kind, _part("chart", output.alt, drawings, figure.problem))
    else:
        if kind == "caption" and counts is not None:
            counts[label := str(data.get("label"))] += 1
            data = {**data, "number": counts[label]}
        # Other code may emit objects in other shapes.
        part = _part("object", kind, None)
        with contextlib.suppress(jinja2.TemplateError, *figures.ODD_SHAPES):
            part = _part("object", kind, render(kind, data, in_report=True))
    table = base64.b64encode(figure.csv.encode("utf-8", "backslashreplace")).decode()
    return part + (_part("csv", figure.stem, table) if table else "")


def _raw(kind: str, data: Node) -> Markup:
    """What others display: a traceback, text, HTML without scripts, a picture."""
    if kind == "error":
        return _part("text", "traceback", traceback_of(data))
    if kind == "stream":
        text = sanitize.plain(data.text)
        return _part("messages", text) if data.name == "stderr" else _part("text", "stdout", text)
    bundle = {mime: _words(value, "") for mime, value in data.data.items()}
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


def traceback_of(output: Mapping[str, Any]) -> str:
    """The traceback of an error output, as plain text."""
    lines = output.get("traceback") or [f"{output.get('ename')}: {output.get('evalue')}"]
    return sanitize.plain("\n".join(map(str, lines)))


def _part(name: str, *values: Any) -> Markup:
    """A piece of a page, from the macro of that name."""
    return getattr(TEMPLATES.get_template("outputs.html.j2").module, name)(*values)


def write(
    cells: Sequence[Cell],
    *,
    out: str | Path,
    name: str,
    facts: Facts = (),
    failure: Failure | None = None,
    index: str | None = None,
    parts: Sequence[str] = (),
) -> Summary:
    """Write what `read` gives as one HTML page, whole or not at all; its title and findings.

    `facts` go into the block "How this was made"; `failure` and `parts` (which evaluations are of
    a part of their corpus) stand on top; `index` is the address of the page that lists all
    reports.
    """
    summary = _summary(cells, name)
    # What a notebook did not finish is not "nothing to report".
    nothing = [] if failure else list(_empty_sections(cells))
    contents: list[tuple[int, str, str]] = []
    shown, counts = [], Counter[str]()
    for cell in cells:
        if cell.prose and not cell.hidden:
            shown.append({"prose": _anchored(cell.source, contents)})
        elif not cell.prose and (cell.source or cell.outputs):
            # Messages and errors of a section without content are shown.
            visible = [o for o in cell.outputs if not cell.hidden or o.kind in ("stream", "error")]
            failed = any(output.kind == "error" for output in visible)
            code = sanitize.python(cell.source) if cell.source else ""
            drawn = [markup(output, counts) for output in visible]
            shown.append({"source": code, "outputs": drawn, "failed": failed})
    page = _render(
        "report.html.j2",
        plotly=any(output.kind == "plotly" for output in outputs(cells)),
        title=summary.title,
        index=index,
        contents=contents,
        error=failure,
        cells=shown,
        has_code=any(cell.get("source") for cell in shown),
        parts=[sanitize.markdown(clean(sentence, limit=600)) for sentence in parts],
        nothing=nothing,
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
    more = {"version": files.version(), "policy": policy, "style": style, "scripts": scripts}
    return TEMPLATES.get_template(template).render(**more, **values)


@cache
def _plotly_script() -> str:
    """plotly.js, as the installed plotly ships it."""
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


def _anchored(source: str, contents: list[tuple[int, str, str]]) -> Markup:
    """A Markdown cell; its headings of level 2 and 3 get anchors and join `contents`."""

    def anchored(match: re.Match[str]) -> str:
        text = html.unescape(re.sub(r"<[^>]*>", "", match[2])).strip()
        contents.append((int(match[1]), f"part-{len(contents) + 1}", text))
        return f'<h{match[1]} id="{contents[-1][1]}">{match[2]}</h{match[1]}>'

    # nh3 has normalised the markup: its tags balance, and headings carry no attributes.
    marked = _HEADING.sub(anchored, str(sanitize.markdown(source)))
    return sanitize.trusted(_IN_OUT.sub(_FOLDED, marked))


def _empty_sections(cells: Sequence[Cell]) -> Iterator[tuple[str, str]]:
    """Heading and note of each section in which code shows notes alone, or nothing; hides them.

    A section goes from one heading of level 2 to the next; one of text is not empty.
    """
    sections: list[list[Cell]] = [[]]
    for cell in cells:
        sections += [[]] * bool(cell.prose and _SECTION.search(cell.source))
        sections[-1].append(cell)
    for section in sections[1:]:
        code = [cell for cell in section if not (cell.prose or cell.summary)]
        text = "\n".join(cell.source for cell in section if cell.prose)
        headings, notes = _SECTION.findall(text), [output.note for output in outputs(code)]
        is_text = not code and _SECTION.sub("", text).strip()
        if len(headings) == 1 and None not in notes and not is_text:
            for cell in section:
                cell.hidden = True
            note = " ".join(dict.fromkeys(filter(None, notes))) or "Nothing to show."
            yield clean(sanitize.plain(headings[0]), limit=200), note


def _summary(cells: Sequence[Cell], name: str) -> Summary:
    heading = next(filter(None, (_TITLE.search(cell.source) for cell in cells if cell.prose)), None)
    title = clean(sanitize.plain(heading[1]) if heading else name, limit=200)
    first = next((found.data for found in outputs(cells) if found.kind == "cards"), {})
    # Other code may emit cards in other shapes.
    cards = first.get("cards") if isinstance(first.get("cards"), list) else []
    texts = [{clean(k): clean(v) for k, v in c.items()} for c in cards if isinstance(c, dict)]
    finding = first.get("finding")
    return Summary(title, clean(finding) if isinstance(finding, str) else None, texts)
