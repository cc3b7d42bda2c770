"""Notebook outputs and Markdown as inert markup."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markupsafe import Markup
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers.python import PythonLexer

from formlab.charts import harmless
from formlab.charts._output import clean
from formlab.charts.theme import MIME
from formlab.gallery import inline
from formlab.reports import sanitize

if TYPE_CHECKING:
    from formlab.reports.figures import Figure

KINDS = (
    "vega", "plotly", "table", "first", "cards", "caption", "gallery", "episodes", "explorer",
)  # fmt: skip
# What other code may emit instead of formlab's own data: mime type, kind, name in the payload.
_FOREIGN = (
    ("application/vnd.plotly.v1+json", "plotly", "figure"),
    ("application/vnd.vegalite.v6+json", "vega", "spec"),
)
_RASTERS = ("image/png", "image/jpeg", "image/webp", "image/gif")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*\Z")


def payloads(bundle: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The kind and data of each object in a mime bundle that ``report.js`` can draw."""
    for kind in KINDS:
        if isinstance(value := bundle.get(MIME.format(kind)), dict):
            return [(kind, value)]
    for mime, kind, name in _FOREIGN:
        if isinstance(value := bundle.get(mime), dict):
            return [(kind, {name: value, "alt": kind})]
    return []


def output(bundle: Mapping[str, Any], late: dict[str, str] | None = None) -> Markup:
    """The markup of one display output: a data block for ``report.js``, else static.

    What can come behind the scripts, see `inline.split`, is added to `late` if given.
    """
    for kind, payload in payloads(bundle):
        alt = clean(payload.get("alt") or _joined(bundle.get("text/plain")) or kind, limit=5_000)
        data = inert(kind, payload)
        if late is not None:
            data, texts = inline.split(kind, data)
            late |= texts
        block = sanitize.trusted(inline.data_block(data))
        return Markup(
            '<div class="fl-object" data-kind="{}"><script type="application/json">{}</script>'
            "<noscript><pre>{}</pre></noscript></div>"
        ).format(kind, block, alt)
    return _static({mime: _joined(value) for mime, value in bundle.items()})


def data_link(figure: Figure | None, beside: str | None) -> Markup:
    """Links to the table behind a figure, and to its pictures where they stand in `beside`."""
    if figure is None or (beside is None and not figure.csv):
        return Markup("")
    if beside is None:
        # A page of one file carries its tables; a link with `download` opens nothing.
        table = base64.b64encode(figure.csv.encode("utf-8", "backslashreplace")).decode()
        links = [("csv", f"data:text/csv;charset=utf-8;base64,{table}")]
    else:
        links = [(ending, f"{beside}/{figure.stem}.{ending}") for ending in figure.files]
    return Markup('<p class="fl-data">{}</p>').format(
        Markup(" ").join(
            Markup('<a download="{}.{}" href="{}" title="{}">{}</a>').format(
                figure.stem, ending, address, _TITLES[ending], ending.upper()
            )
            for ending, address in links
        )
    )


_TITLES = {
    "csv": "The table behind this; a text that a spreadsheet would run has an apostrophe before it",
    "svg": "This figure to print, as drawing",
    "png": "This figure to print, as picture",
}


def _joined(value: object) -> str:
    if isinstance(value, list):
        return "".join(str(line) for line in value)
    return value if isinstance(value, str) else ""


def inert(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    """The data of an object without anything in it that runs, loads or reaches out."""
    if kind not in ("plotly", "vega"):
        return harmless.data(payload)
    cleaners = {"figure": harmless.figure, "fallback": harmless.figure}
    if kind == "vega":
        cleaners = {"spec": harmless.specification}
        spec = payload.get("spec")
        # `usermeta` could change how the chart is embedded.
        kept = {k: v for k, v in spec.items() if k != "usermeta"} if isinstance(spec, dict) else {}
        payload = payload | {"spec": kept}
    present = [name for name in cleaners if isinstance(payload.get(name), dict)]
    values = {name: cleaners[name](payload[name]) for name in present}
    return values | {"alt": clean(payload.get("alt", "figure"), limit=2_000)}


def _static(bundle: Mapping[str, str]) -> Markup:
    text = sanitize.plain(bundle.get("text/plain", ""))
    if page := bundle.get("text/html"):
        return Markup('<div class="fl-html">{}</div>').format(sanitize.safe_html(page))
    if source := bundle.get("text/markdown"):
        return Markup('<div class="fl-text">{}</div>').format(markdown(source))
    for mime in _RASTERS:
        image = bundle.get(mime, "").strip()
        if image and _BASE64.match(image):
            return Markup('<img class="fl-image" loading="lazy" alt="{}" src="{}">').format(
                text or "image", f"data:{mime};base64,{image}"
            )
    return Markup('<pre class="fl-plain">{}</pre>').format(text) if text else Markup("")


def markdown(source: str) -> Markup:
    """Markdown as sanitised HTML; the rest of a text past the limit is cut."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return sanitize.safe_html(parser.render(clean(source, limit=sanitize.TEXT_LIMIT)))


def code(source: str) -> Markup:
    """Highlighted Python."""
    text = clean(source, limit=50_000)
    return sanitize.safe_html(highlight(text, PythonLexer(), HtmlFormatter()))


def failure(output: Mapping[str, Any]) -> str:
    """The traceback of an error output, as plain text."""
    lines = output.get("traceback") or [f"{output.get('ename')}: {output.get('evalue')}"]
    return sanitize.plain("\n".join(str(line) for line in lines))
