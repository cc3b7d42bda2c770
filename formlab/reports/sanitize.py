"""Sanitise what notebooks emit, all of it possibly hostile: HTML, plain text, chart data."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable
from typing import Any

import nh3
from lxml import etree
from markupsafe import Markup

from formlab.charts._output import clean

TEXT_LIMIT = 200_000
HTML_LIMIT = 3_000_000

# CSI and OSC sequences, and the two-byte escapes; nbconvert's own pattern knows only the first.
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*\x1b\\|.)?", re.S
)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_RASTER = re.compile(r"data:image/(?:png|jpeg|webp|avif|gif);base64,[A-Za-z0-9+/=\s]*\Z")
_FOREIGN_URL = re.compile(r"url\(\s*['\"]?\s*(?!#)(?!&quot;#)", re.I)
# The short class names that Pygments gives to tokens; any other class could dress as the page's.
_TOKEN = re.compile(r"[a-z]{1,2}[0-9a-z]?\Z")

_TAGS = nh3.ALLOWED_TAGS - {"map", "area"} | {
    "figure", "figcaption", "section", "details", "summary",
}  # fmt: skip
_ATTRIBUTES = {
    "*": {"title", "lang", "dir"},
    "a": {"href"},
    "img": {"src", "alt", "width", "height"},
    "td": {"colspan", "rowspan", "align"},
    "th": {"colspan", "rowspan", "align", "scope"},
    "ol": {"start"},
    "details": {"open"},
    "span": {"class"},
    "time": {"datetime"},
}
_SCHEMES = {"http", "https", "mailto", "data"}


def _attribute(tag: str, name: str, value: str) -> str | None:
    refused = (
        (tag == "img" and name == "src" and not _RASTER.match(value))
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
    text = _CONTROL.sub(_picture, clean(source, limit=None))
    return trusted(nh3.clean(
        text, tags=_TAGS, attributes=_ATTRIBUTES, attribute_filter=_attribute, url_schemes=_SCHEMES
    ))  # fmt: skip


def svg(source: str) -> str:
    """A drawing without scripts, handlers, links or addresses to load.

    Examples
    --------
    >>> svg('<svg xmlns="http://www.w3.org/2000/svg"><a href="http://a"><text>x</text></a></svg>')
    '<svg xmlns="http://www.w3.org/2000/svg"><a><text>x</text></a></svg>'
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    root = etree.fromstring(source.encode("utf-8", "backslashreplace"), parser)
    for node in list(root.iter()):
        name = etree.QName(node).localname if isinstance(node.tag, str) else ""
        if name in {"", "script", "foreignObject", "iframe"} and node.getparent() is not None:
            node.getparent().remove(node)
            continue
        for label, value in node.attrib.items():
            own = etree.QName(label).localname
            loads = own == "href" and not value.startswith("#") and not _RASTER.match(value)
            if own.startswith("on") or loads or _FOREIGN_URL.search(value):
                del node.attrib[label]
    return etree.tostring(root, encoding="unicode")


def plain(text: object) -> str:
    """Terminal output as text: escapes gone, carriage returns applied, controls made visible.

    Examples
    --------
    >>> plain("\\x1b[31mred\\x1b[0m 10%\\r 20%\\x00")
    ' 20%␀'
    """
    text = _ANSI.sub("", "".join(text) if isinstance(text, list) else str(text))
    text = text.replace("\r\n", "\n")
    # A terminal shows what was written after the last carriage return of a line.
    text = re.sub(r"[^\n]*\r(?=[^\n])", "", text).replace("\r", "")
    return clean(_CONTROL.sub(_picture, text), limit=TEXT_LIMIT)


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    return chr(0x2400 + code) if code < 32 else "\u2421" if code == 127 else "\ufffd"


def _sound(text: str) -> str:
    return clean(text, limit=None)


def _literal(text: str) -> str:
    shown = html.escape(_sound(text), quote=False).replace("&lt;br&gt;", "<br>")
    return shown.replace("&lt;extra&gt;&lt;/extra&gt;", "<extra></extra>")


def _one_line(text: str) -> str:
    return _sound(text).replace("\u2028", " ").replace("\u2029", " ")


def data(value: Any, *, text: Callable[[str], str] = _sound) -> Any:
    """A JSON value that a chart library may have: finite, without keys that reach prototypes.

    `text` is applied to every string, names included.

    Examples
    --------
    >>> data({"__proto__": 1, "x": [float("nan"), "a"]})
    {'x': [None, 'a']}
    """
    if isinstance(value, dict):
        return {
            text(str(key)): data(item, text=text)
            for key, item in value.items()
            if key not in {"__proto__", "constructor", "prototype"}
        }
    if isinstance(value, list | tuple):
        return [data(item, text=text) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return text(value) if isinstance(value, str) else value


def figure(value: dict[str, Any]) -> dict[str, Any]:
    """A plotly figure with its text shown literally and no address to fetch.

    Plotly renders ``<b> <i> <a> <span style>`` in any text; only line breaks and its own
    ``<extra></extra>`` stay what they are.

    Examples
    --------
    >>> figure({"data": [{"name": "<b>&"}], "layout": {"images": [{"source": "http://a/b.png"}]}})
    {'data': [{'name': '&lt;b&gt;&amp;'}], 'layout': {}}
    """
    value = data(value, text=_literal)
    layout = value.get("layout")
    if isinstance(layout, dict):
        for name in list(layout):
            if name in {"images", "template"} or name.startswith("map"):
                del layout[name]
    return value


def specification(value: dict[str, Any]) -> dict[str, Any]:
    """A Vega-Lite specification without `usermeta`, which could change how it is embedded.

    Vega writes titles into expressions, and its parser ends a string at a line separator.
    """
    return {key: item for key, item in data(value, text=_one_line).items() if key != "usermeta"}
