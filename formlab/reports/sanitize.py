"""Sanitise what notebooks emit, all of it possibly hostile: HTML, Markdown, code, plain text."""

import re
import tomllib
from pathlib import Path

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers.python import PythonLexer

from formlab.charts import escaping
from formlab.charts.escaping import clean

TEXT_LIMIT = 200_000
HTML_LIMIT = 3_000_000

# CSI and OSC sequences, and the two-byte escapes.
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*\x1b\\|.)?", re.S
)
RASTER = re.compile(r"data:image/(?:png|jpeg|webp|avif|gif);base64,[A-Za-z0-9+/=\s]+\Z")
# Tokens of Pygments that have no colour.
_UNCOLOURED = re.compile(r'<span class="(?:n|nn|o|p|w)">([^<]*)</span>')
# The short class names that it gives; any other class could dress as the page's.
_TOKEN = re.compile(r"[a-z]{1,2}[0-9a-z]?\Z")

_MORE = tomllib.loads(Path(__file__).with_name("assets").joinpath("html.toml").read_text("utf-8"))
_ALLOWED = {
    "tags": nh3.ALLOWED_TAGS - {"map", "area"} | set(_MORE["tags"]),
    "attributes": {tag: set(names) for tag, names in _MORE["attributes"].items()},
    "url_schemes": set(_MORE["schemes"]),
}


def _attribute(tag: str, name: str, value: str) -> str | None:
    refused = (
        (tag == "img" and name == "src" and not RASTER.match(value))
        or (name == "href" and value.strip().lower().startswith("data:"))
        or (name == "class" and not _TOKEN.match(value))
    )
    return None if refused else value


def trusted(source: str) -> Markup:
    """Markup that formlab itself wrote or made inert: the one place that says so."""
    return Markup(source)  # noqa: S704


def safe_html(source: str) -> Markup:
    """HTML with nothing in it that runs, loads, styles or names an element.

    Examples
    --------
    >>> safe_html('<b onclick="x()">a</b><script>x()</script><img src="http://a/b.png">')
    Markup('<b>a</b><img>')
    """
    if len(source) > HTML_LIMIT:
        size = f"{len(source) / 1e6:.1f} MB of HTML are too much for a page and are not shown."
        return trusted("<p>{}</p>").format(size)
    text = escaping.visible(clean(source, limit=None))
    return trusted(nh3.clean(text, attribute_filter=_attribute, **_ALLOWED))


def markdown(source: str) -> Markup:
    """Markdown as sanitised HTML; the rest of a text past the limit is cut."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return safe_html(parser.render(clean(source, limit=TEXT_LIMIT)))


def python(source: str) -> Markup:
    """Highlighted Python."""
    page = highlight(clean(source, limit=50_000), PythonLexer(), HtmlFormatter())
    return safe_html(_UNCOLOURED.sub(r"\1", page))


def plain(text: str, *, limit: int = TEXT_LIMIT) -> str:
    """Terminal output as text: escapes gone, carriage returns applied, controls made visible.

    Examples
    --------
    >>> plain("\\x1b[31mred\\x1b[0m 10%\\r 20%\\x00")
    ' 20%␀'
    """
    text = _ANSI.sub("", text).replace("\r\n", "\n")
    # A terminal shows what was written after the last carriage return of a line.
    text = re.sub(r"[^\n]*\r(?=[^\n])", "", text).replace("\r", "")
    return clean(escaping.visible(text), limit=limit)
