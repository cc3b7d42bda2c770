"""An executed notebook as one HTML file that opens with no network and runs nothing it holds."""

import base64
import contextlib
import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from markupsafe import Markup

from formlab import files
from formlab.charts import escaping
from formlab.charts.escaping import clean
from formlab.charts.html import KINDS, MIME, TEMPLATES, render
from formlab.gallery import inline
from formlab.reports import figures, sanitize

# What scripts draw; all else is markup from the start.
DRAWN = ("plotly", "gallery", "episodes", "explorer")
_VEGA = re.compile(r"application/vnd\.vegalite\.v\d+\+json")
_PLOTLY = "application/vnd.plotly.v1+json"
# nh3 has normalised the markup: its tags balance, and headings carry no attributes.
_HEADING = re.compile(r"<h([1-3])>(.*?)</h\1>", re.DOTALL)
# The paragraph of a notebook that says what it takes and makes folds away.
_IN_OUT = re.compile(r"<p><strong>In:</strong>.*?</p>", re.DOTALL)
_FOLDED = r'<details class="fl-fold"><summary>What goes in and comes out</summary>\g<0></details>'


@dataclass
class Output:
    """What a cell shows: its kind, its data, and a text for who cannot see it.

    Data of a chart runs, loads and reaches nothing; a page escapes that of other objects. Of what
    is no object of formlab, altair or plotly `data` is a text, or markup without scripts. A chart
    or table has its number and title as a file name in `stem` and its table in `csv`; of a chart,
    `drawings` are SVG, the wide one first, or `problem` says why there are none.
    """

    kind: str
    data: Any
    alt: str = ""
    stem: str = ""
    csv: str = ""
    drawings: list[Markup] = field(default_factory=list)
    problem: str = ""

    @property
    def is_object(self) -> bool:
        """Whether it is an object of formlab, altair or plotly."""
        return self.kind in ("vega", *KINDS, *DRAWN)


@dataclass
class Cell:
    """A cell as the page shows it: its prose, or its code and what that shows."""

    prose: Markup | str = ""
    code: Markup | str = ""
    outputs: list[Output] = field(default_factory=list)

    def headings(self, level: str) -> list[str]:
        """The texts of its headings of a level."""
        return [_text(inner) for found, inner in _HEADING.findall(self.prose) if found == level]


def read(notebook: nbformat.NotebookNode) -> list[Cell]:
    """The cells of an executed notebook, their figures drawn."""
    cells = []
    for node in notebook.cells:
        if node.cell_type == "markdown":
            cells.append(Cell(sanitize.markdown(node.source)))
        elif node.cell_type == "code":
            code = sanitize.python(node.source) if node.source else ""
            cells.append(Cell(code=code, outputs=list(map(_read, node.outputs))))
    figures.draw(outputs(cells))
    return cells


def outputs(cells: Iterable[Cell]) -> list[Output]:
    """What all cells show, in the page's order."""
    return [output for cell in cells for output in cell.outputs]


def _read(raw: Mapping[str, Any]) -> Output:
    """What an output of a kernel shows."""
    bundle = raw.get("data", {})
    for mime, value in bundle.items():
        if not isinstance(value, dict):
            continue
        if _VEGA.fullmatch(mime):
            alt = _words(value.get("description"), value.get("title"), "chart")
            return Output("vega", escaping.specification(value), alt)
        if mime == _PLOTLY:
            # `layout.meta` may hold its text.
            layout = _mapping(value.get("layout"))
            alt = _words(_mapping(layout.get("meta")).get("alt"), layout.get("title"), "figure")
            return Output("plotly", {"figure": escaping.figure(value), "alt": alt}, alt)
        for kind, data in value.items() if mime == MIME else ():
            if isinstance(data, str) and kind in DRAWN:
                with contextlib.suppress(ValueError, RecursionError):
                    data = json.loads(data)
            if kind in (*KINDS, *DRAWN) and isinstance(data, dict):
                return Output(kind, data, _words(bundle.get("text/plain"), kind))
    return _foreign(raw)


def _mapping(value: Any) -> dict[str, Any]:
    """What other code emits where a mapping stands."""
    return value if isinstance(value, dict) else {}


def _words(*values: object) -> str:
    """The first that is a text, or a title with one."""
    texts = (value.get("text") if isinstance(value, dict) else value for value in values)
    return next(clean(text, limit=2_000) for text in texts if text and isinstance(text, str))


def _foreign(raw: Mapping[str, Any]) -> Output:
    """What others display: a traceback, text, HTML without scripts, a picture."""
    if raw["output_type"] == "error":
        lines = raw.get("traceback") or [f"{raw.get('ename')}: {raw.get('evalue')}"]
        return Output("traceback", sanitize.plain("\n".join(map(str, lines))))
    if raw["output_type"] == "stream":
        kind = "messages" if raw["name"] == "stderr" else "stdout"
        return Output(kind, sanitize.plain(raw["text"]))
    bundle = {mime: value for mime, value in raw["data"].items() if isinstance(value, str)}
    text = sanitize.plain(bundle.get("text/plain", ""))
    if page := bundle.get("text/html"):
        return Output("html", sanitize.safe_html(page))
    if source := bundle.get("text/markdown"):
        return Output("text", sanitize.markdown(source))
    for mime, image in bundle.items():
        if sanitize.RASTER.match(address := f"data:{mime};base64,{image.strip()}"):
            return Output("image", address, text or "image")
    return Output("plain", text)


def markup(output: Output) -> Markup:
    """An output on a page: a data block for its scripts, a drawing, words, or a picture."""
    content = None if output.kind in KINDS else output.data
    if output.kind in DRAWN:
        content = sanitize.trusted(inline.data_block(output.data))
    elif output.kind in KINDS:
        # Other code may emit objects in other shapes.
        with contextlib.suppress(Exception):
            content = render(output.kind, output.data, in_report=True)
    table = base64.b64encode(output.csv.encode("utf-8", "backslashreplace")).decode()
    return TEMPLATES.get_template("outputs.html.j2").module.shown(output, content, table)


def write(
    cells: Sequence[Cell],
    *,
    out: Path,
    name: str,
    facts: Mapping[str, Mapping[str, str]],
    error: str = "",
    parts: Sequence[str] = (),
) -> dict[str, Any]:
    """Write what `read` gives as one HTML page; its title, first finding and first number cards.

    `facts` go into the block "How this was made". `error`, why it is not complete, and `parts`,
    which evaluations are of a part of their corpus, stand on top. `name` is the title of a
    notebook without one.
    """
    summary = _summary(cells, name)
    # What a notebook did not finish is not "nothing to report".
    nothing = [] if error else list(_empty_sections(cells))
    contents: list[tuple[int, str, str]] = []
    counts = Counter[str]()
    for cell in cells:
        cell.prose = _anchored(cell.prose, contents)
        for output in (output for output in cell.outputs if output.kind == "caption"):
            counts[label := str(output.data.get("label"))] += 1
            output.data = {**output.data, "number": counts[label]}
    page = rendered(
        "report.html.j2",
        plotly=any(output.kind == "plotly" for output in outputs(cells)),
        title=summary["title"],
        contents=contents,
        error=error,
        cells=cells,
        markup=markup,
        parts=[sanitize.markdown(clean(sentence, limit=600)) for sentence in parts],
        nothing=nothing,
        facts=facts,
    )
    files.write_text(out, page)
    return summary


def rendered(template: str, *, plotly: bool = False, **values: Any) -> str:
    """A page of that name: what is not `Markup` is shown as plain text."""
    scripts = [inline.script("report")]
    if plotly:
        from plotly.offline import get_plotlyjs

        scripts.insert(0, get_plotlyjs())
    style = inline.style()
    # plotly writes styles of its own into the page.
    policy = inline.policy(scripts, None if plotly else style)
    policy, style, *scripts = map(sanitize.trusted, (policy, style, *scripts))
    more = {"version": files.version(), "policy": policy, "style": style, "scripts": scripts}
    return TEMPLATES.get_template(template).render(**more, **values)


def _text(markup: str) -> str:
    return clean(html.unescape(re.sub(r"<[^>]*>", "", markup)).strip(), limit=200)


def _anchored(prose: Markup, contents: list[tuple[int, str, str]]) -> Markup:
    """Prose whose headings of level 2 and 3 have anchors and join `contents`."""

    def anchored(match: re.Match[str]) -> str:
        if match[1] == "1":
            return match[0]
        contents.append((int(match[1]), f"part-{len(contents) + 1}", _text(match[2])))
        return f'<h{match[1]} id="{contents[-1][1]}">{match[2]}</h{match[1]}>'

    return sanitize.trusted(_IN_OUT.sub(_FOLDED, _HEADING.sub(anchored, str(prose))))


def _empty_sections(cells: Sequence[Cell]) -> Iterator[tuple[str, str]]:
    """Heading and note of each section whose code shows notes alone, or nothing; empties them."""
    sections: list[list[Cell]] = [[]]  # From one heading of level 2 to the next.
    for cell in cells:
        sections += [[]] * bool(cell.headings("2"))
        sections[-1].append(cell)
    for section in sections[1:]:
        shown = outputs(section)
        headings = [heading for cell in section for heading in cell.headings("2")]
        notes = [o.data for o in shown if o.kind == "caption" and o.data.get("label") == "Note"]
        has_code = any(not cell.prose for cell in section)
        if has_code and len(headings) == 1 and len(notes) == len(shown):
            for cell in section:
                cell.prose, cell.outputs = "", []
            texts = dict.fromkeys(clean(note.get("text"), limit=2_000) for note in notes)
            yield headings[0], " ".join(texts) or "Nothing to show."


def _summary(cells: Sequence[Cell], name: str) -> dict[str, Any]:
    title = next((heading for cell in cells for heading in cell.headings("1")), _text(name))
    first = next((found.data for found in outputs(cells) if found.kind == "cards"), {})
    finding = first.get("finding")
    # Other code may emit cards in other shapes.
    listed = first["cards"] if isinstance(first.get("cards"), list) else []
    cards = [{clean(n): clean(text) for n, text in card.items()} for card in map(_mapping, listed)]
    return {"title": title, "finding": clean(finding) if finding else None, "cards": cards}
