"""Texts that strangers wrote, escaped for a chart: they break no drawing and are no expression."""

import html
import math
import re
from collections.abc import Callable
from typing import Any

# What is made of a string and the name it stands under.
Text = Callable[[str, str | None], str]
_CUT = 20_000
# plotly lays a text out sign by sign: one of 40,000 takes a reader's browser half a minute.
_LABEL = 1_000
# What is invisible, or not in XML, or turns what stands beside it around, has a sign to be seen.
_HIDDEN = [*range(0x80, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F)]
_HIDDEN += [*range(0x2066, 0x206A), 0xFFFE, 0xFFFF]
_SIGNS = dict.fromkeys(_HIDDEN, 0xFFFD) | {0x7F: 0x2421}
_SIGNS |= {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"}
# Vega and plotly look values up in plain objects, where these names find JavaScript's own.
_INHERITED = re.compile(
    "constructor|toString|valueOf|toLocaleString|hasOwnProperty|isPrototypeOf|propertyIsEnumerable"
    "|__proto__|__(?:define|lookup)(?:Getter|Setter)__|prototype"
)
_JOINER = "\u2060"
_LOOKALIKES = str.maketrans({"\\": "\u29f5", '"': "\u2033", "'": "\u2032", "\n": " ", "\r": " "})


def clean(text: object, *, limit: int | None = _CUT) -> str:
    r"""Text fit for JSON and UTF-8: lone surrogates spelt out, the rest past `limit` cut.

    >>> clean("a" + chr(0xD800)), clean("abcdef", limit=4)
    ('a\\ud800', 'abcd… (2 more characters)')
    """
    text = str(text)
    if limit is not None and len(text) > limit:
        text = f"{text[:limit]}… ({len(text) - limit} more characters)"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def visible(text: str) -> str:
    r"""`text` with its control characters as signs that can be seen.

    >>> visible("a\x00" + chr(0x202E))
    'a␀\ufffd'
    """
    return text.translate(_SIGNS)


def _drawn(text: str) -> str:
    """Text of a chart: an invisible sign keeps a name of JavaScript's own from being one."""
    text = visible(clean(text, limit=None)).replace("\u2028", " ").replace("\u2029", " ")
    return text + _JOINER if _INHERITED.fullmatch(text) else text


def name(text: str) -> str:
    r"""A column's name that no expression of Vega ends at: quotes and backslashes look alike.

    >>> name('size (in)'), name('size "\n')
    ('size (in)', 'size ″ ')
    """
    return _drawn(text).translate(_LOOKALIKES)


def data(value: Any, *, text: Text | None = None, key: str | None = None) -> Any:
    """A JSON value for a page: finite, without keys that reach prototypes.

    `text` is applied to every string and the name it stands under, and to names.

    >>> data({"__proto__": 1, "x": [float("nan"), "a"]})
    {'x': [None, 'a']}
    """
    text = text or (lambda text, _: clean(text, limit=None))
    if isinstance(value, dict):
        named = ((str(name), text(str(name), None), item) for name, item in value.items())
        return {
            shown: data(item, text=text, key=name)
            for name, shown, item in named
            if shown not in {"__proto__", "constructor", "prototype"}
        }
    if isinstance(value, list | tuple):
        return [data(item, text=text, key=key) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return text(value, key) if isinstance(value, str) else value


def figure(value: dict[str, Any]) -> dict[str, Any]:
    """A plotly figure with its text shown literally, cut where it is long; it fetches nothing.

    Plotly renders ``<b> <i> <a> <span style>`` in any text; only line breaks and its own
    ``<extra></extra>`` stay what they are.

    >>> figure({"data": [{"name": "<b>&"}], "layout": {"images": [{"source": "http://a/b.png"}]}})
    {'data': [{'name': '&lt;b&gt;&amp;'}], 'layout': {}}
    """
    value = data(value, text=_literal)
    if isinstance(layout := value.get("layout"), dict):
        for name in filter(re.compile("(images|template)$|map").match, [*layout]):
            del layout[name]
    return value


def _literal(text: str, key: str | None) -> str:
    # The packed numbers of an array are no text.
    text = text if key == "bdata" else clean(text, limit=_LABEL)
    shown = html.escape(_drawn(text), quote=False).replace("&lt;br&gt;", "<br>")
    return shown.replace("&lt;extra&gt;&lt;/extra&gt;", "<extra></extra>")


def specification(value: Any) -> Any:
    r"""A Vega-Lite specification that is drawn whatever its texts are.

    Vega-Lite writes titles into expressions of Vega and leaves a backslash in them as it is: a
    title could end its string and go on as an expression. Signs that look alike stand there.

    >>> specification({"title": 'a\\" + 1', "data": {"values": [{"kind": "constructor"}]}})
    {'title': 'a⧵″ + 1', 'data': {'values': [{'kind': 'constructor\u2060'}]}}
    """
    return data(value, text=lambda text, key: name(text) if key == "title" else _drawn(text))
