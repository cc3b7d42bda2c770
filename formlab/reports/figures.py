"""The figures of a report as files of their own: PNG and SVG to print, CSV to compute with."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from PIL import Image

from formlab import browser, files
from formlab.charts.theme import CAMERA, FONT
from formlab.errors import FormlabError
from formlab.reports import csv_export, page_assets, page_objects, sanitize
from formlab.reports.plan import slug

FOLDER = "figures"
# Twice the pixels of a screen, for print.
SCALE = 2
PLOTLY_SIZE = (760, 520)
# A window as wide as a phone: what is drawn for it can be read in a small picture.
THUMBNAIL = (440, 275)
_VIEW = (1120, 700)


@dataclasses.dataclass(frozen=True)
class Figure:
    """One object with a table behind it: its number and title as a file name, its data, CSV."""

    stem: str
    kind: str
    payload: Mapping[str, Any]
    csv: str
    # Endings of the files that were written of it.
    files: tuple[str, ...] = ()


def of(bundles: Sequence[Mapping[str, Any]]) -> list[Figure | None]:
    """The figure of each output of a notebook, None for one that shows no table."""
    figures: list[Figure | None] = []
    caption = ""
    for bundle in bundles:
        figure = None
        for kind, payload in page_objects.payloads(bundle):
            if kind == "caption":
                caption = str(payload.get("text") or "")
                continue
            rows = csv_export.rows(kind, payload)
            if rows or kind in {"vega", "plotly"}:
                number = 1 + sum(earlier is not None for earlier in figures)
                csv = csv_export.text(rows) if rows else ""
                stem = f"{number:02d}-{_title(caption or str(payload.get('alt') or kind))}"
                figure = Figure(stem, kind, page_objects.inert(kind, payload), csv)
            caption = ""
        figures.append(figure)
    return figures


def _title(text: str) -> str:
    first = re.split(r"[.;:]\s", text, maxsplit=1)[0]
    return slug(first.lower())[:48].strip("-_")


def save(
    figures: Sequence[Figure | None], folder: Path, visit: browser.Visit | None
) -> tuple[list[Figure | None], list[str]]:
    """Write each figure into `folder` as CSV, SVG and PNG; a table or gallery as CSV alone.

    Without a browser a plotly figure is CSV alone too. Returns the figures, now with the endings
    of their files, and notes of what could not be drawn.
    """
    notes = []
    saved: list[Figure | None] = []
    plotly = _Plotly(visit)
    for figure in figures:
        if figure is None:
            saved.append(None)
            continue
        contents = {"csv": figure.csv.encode("utf-8", "backslashreplace")} if figure.csv else {}
        try:
            contents |= _vega(figure) if figure.kind == "vega" else plotly.draw(figure)
        except Exception as error:  # a chart of anyone's code: the report does not fail with it
            why = sanitize.plain((str(error).splitlines() or [type(error).__name__])[0])
            notes.append(f"figure {figure.stem} was not drawn to a file: {why[:300]}")
        for ending, content in contents.items():
            with files.atomic(folder / f"{figure.stem}.{ending}") as part:
                part.write_bytes(content)
        saved.append(dataclasses.replace(figure, files=tuple(contents)))
    current = {f"{figure.stem}.{ending}" for figure in saved if figure for ending in figure.files}
    for file in folder.glob("*"):
        if file.name not in current:
            file.unlink()
    if plotly.left and visit is None:
        notes.append(f"{plotly.left} figures have no PNG and SVG: no Chromium was found")
    return saved, notes


def _vega(figure: Figure) -> dict[str, bytes]:
    import vl_convert

    spec = {**_unlinked(figure.payload["spec"]), "background": "white"}
    # No address is fetched, whatever a specification asks for.
    svg = sanitize.svg(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]))
    return {"svg": svg.encode(), "png": vl_convert.svg_to_png(svg, scale=SCALE)}


def _unlinked(spec: Any) -> Any:
    """A specification without links, which print does not follow and vl-convert stumbles over."""
    if isinstance(spec, list):
        return [_unlinked(item) for item in spec]
    if not isinstance(spec, dict):
        return spec
    mark = spec.get("mark")
    if (mark.get("type") if isinstance(mark, dict) else mark) == "image":
        # An address that vl-convert may not load ends the whole process.
        raise ValueError("a chart of images is drawn in the page alone")
    dropped = {"encoding": {"href", "url"}, "mark": {"href"}}
    plain = {k: v if k in ("datasets", "data") else _unlinked(v) for k, v in spec.items()}
    for name in dropped.keys() & plain.keys():
        if isinstance(plain[name], dict):
            plain[name] = {k: v for k, v in plain[name].items() if k not in dropped[name]}
    return plain


class _Plotly:
    """Draws plotly figures in a page of the browser, which loads plotly.js once."""

    def __init__(self, visit: browser.Visit | None) -> None:
        self.visit, self.ready, self.left = visit, False, 0

    def draw(self, figure: Figure) -> dict[str, bytes]:
        """SVG and PNG of a plotly figure; nothing for another kind, or without a browser."""
        if figure.kind != "plotly":
            return {}
        if self.visit is None:
            self.left += 1
            return {}
        if not self.ready:
            self.visit.page.goto("about:blank")
            self.visit.page.add_script_tag(content=page_assets.plotly())
            self.ready = True
        width, height = PLOTLY_SIZE
        options = {
            "figure": figure.payload.get("figure"), "fallback": figure.payload.get("fallback"),
            "font": FONT, "camera": CAMERA, "width": width, "height": height, "scale": SCALE,
            "patience": browser.PATIENCE,
        }  # fmt: skip
        drawn = self.visit.page.evaluate(_TO_IMAGES, options)
        svg = sanitize.svg(unquote(drawn["svg"].partition(",")[2]))
        return {"svg": svg.encode(), "png": base64.b64decode(drawn["png"].partition(",")[2])}


# A solid figure needs WebGL; where there is none its flat twin is drawn. It is seen from where
# the page sees it. A browser may stop to draw for good, which Playwright would wait out.
_TO_IMAGES = """async ({figure, fallback, font, camera, width, height, scale, patience}) => {
    const solid = (figure.data || []).some((trace) =>
        /surface|3d|cone|streamtube|volume/.test(trace.type));
    const canvas = document.createElement("canvas");
    const lost = solid && !canvas.getContext("webgl2") && !canvas.getContext("webgl");
    const { data, layout: given = {} } = lost && fallback ? fallback : figure;
    const layout = {
        margin: { l: 60, r: 20, t: given.title ? 48 : 16, b: 48 }, ...given,
        paper_bgcolor: "white", font: { family: font, ...given.font },
    };
    if (solid && !(lost && fallback)) layout.scene = { camera, ...given.scene };
    const draw = (format, more) =>
        Plotly.toImage({ data, layout }, { format, width, height, ...more });
    const both = async () => ({ svg: await draw("svg", {}), png: await draw("png", { scale }) });
    const late = new Promise((_, refuse) => setTimeout(refuse, patience, new Error(
        `the browser did not draw it in ${patience / 1000} s`)));
    return Promise.race([both(), late]);
}"""


def thumbnail(html: Path, file: Path, visit: browser.Visit) -> list[str]:
    """Write a small picture of a page's first chart, or of how it begins, as WebP.

    Returns a note that says why not, if it could not.
    """
    page, (width, height) = visit.page, THUMBNAIL
    try:
        page.set_viewport_size({"width": width, "height": 4 * height})
        page.goto(html.resolve().as_uri(), wait_until="load")
        # Not wait_for_function: it polls with eval, which the page's policy refuses.
        page.wait_for_selector("html[data-ready=yes]", state="attached")
        # What lies above the page and beside it would be in the picture.
        page.evaluate("document.querySelectorAll('.fl-top, .fl-toc').forEach((x) => x.remove())")
        shown = page.locator("main")
        if (charts := page.locator(_CHART)).count():
            charts.first.scroll_into_view_if_needed()
            shown = page.locator(f"{_CHART}[data-state]").first
            shown.wait_for()
        page.wait_for_timeout(300)
        shot = Image.open(io.BytesIO(shown.screenshot())).convert("RGB")
    except Exception as error:  # Playwright's errors need Playwright to be named
        file.unlink(missing_ok=True)
        return [f"no thumbnail: {(str(error).splitlines() or [''])[0][:200]}"]
    small = Image.new("RGB", THUMBNAIL, "white")
    small.paste(shot, ((width - min(shot.width, width)) // 2, max(0, height - shot.height) // 2))
    with files.atomic(file) as part:
        small.save(part, "WEBP", quality=80)
    return []


_CHART = '.fl-object:is([data-kind="vega"], [data-kind="plotly"]):visible'


@contextlib.contextmanager
def opened(needed: bool) -> Iterator[tuple[browser.Visit | None, list[str]]]:
    """A browser to draw with; None if it is not `needed`, or with a note why there is none."""
    with contextlib.ExitStack() as stack:
        visit, notes = None, []
        try:
            visit = stack.enter_context(browser.page(size=_VIEW)) if needed else None
        except FormlabError as error:
            notes = [f"no thumbnail: {error}"]
        yield visit, notes
