"""Data, scripts and styles inside one HTML page: JSON blocks, hashes, the policy."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from formlab.charts import harmless

# What keeps a value from ending its <script>, as escapes that JSON allows.
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
# As a key; quotes within a text are escaped, so that none can look like one.
_UNSAFE_KEYS = ('"__proto__":', '"constructor":', '"prototype":')
_GALLERY = [f"gallery/assets/{name}.js" for name in ("parts", "selection", "gallery")]
_SCRIPTS = {
    "gallery": _GALLERY,
    "episodes": [*_GALLERY, "gallery/assets/episodes.js"],
    "explorer": [*_GALLERY, "explore/assets/explorer.js"],
}
_SCRIPTS["report"] = list(dict.fromkeys(path for paths in _SCRIPTS.values() for path in paths))
_SCRIPTS["report"] += [f"reports/assets/{name}.js" for name in ("plotly", "report")]
_STYLES = [f"charts/assets/{name}.css" for name in ("tokens", "parts")]
_STYLES += ["gallery/assets/gallery.css", "reports/assets/report.css"]


def data_block(value: Any) -> str:
    """JSON that is safe between script tags.

    Examples
    --------
    >>> data_block({"a": "</script>"})
    '{"a":"\\\\u003c/script\\\\u003e"}'
    """
    # Written first and searched then: a walk of the millions of values of an explorer takes long.
    try:
        text = _json(value)
    except ValueError:  # not finite
        text = ""
    if not text or any(key in text for key in _UNSAFE_KEYS):
        text = _json(harmless.data(value))
    for sign, escape in _ESCAPES.items():
        text = text.replace(sign, escape)
    return text


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _hash(source: str) -> str:
    """The CSP source expression that admits exactly this inline script or style."""
    digest = hashlib.sha256(source.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def policy(scripts: Sequence[str], style: str | None) -> str:
    """The Content-Security-Policy of a page that runs these scripts and reaches nothing.

    It admits one style sheet; None admits styles that a script writes.
    """
    admitted = " ".join(map(_hash, scripts)) or "'none'"
    styles = "'unsafe-inline'" if style is None else _hash(style)
    return (
        f"default-src 'none'; img-src data:; style-src {styles}; font-src data:; "
        f"base-uri 'none'; form-action 'none'; script-src {admitted}"
    )


@cache
def script(kind: str) -> str:
    """The script that draws a gallery, episodes or an explorer; or a whole report."""
    return "\n".join(map(_asset, _SCRIPTS[kind]))


@cache
def style() -> str:
    """The style sheet of every page; what drawings state has the page's colours, light or dark."""
    sheet = "".join(map(_asset, _STYLES))
    return sheet + "".join(
        f'.fl-vega [{part}="#{colour}" i] {{ {part}: var(--c-{colour}); }}\n'
        for colour in re.findall(r"--c-(\w{6}):", sheet)
        for part in ("fill", "stroke")
    )


def _asset(path: str) -> str:
    return resources.files("formlab").joinpath(path).read_text("utf-8")


def document(payload: Mapping[str, Any], *, kind: str = "gallery") -> str:
    """A whole page that shows one object: a gallery, episodes or an explorer."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy([script(kind)], style())}">'
        f"<style>{style()}</style></head>"
        f'<body class="fl-frame"><div id="fl-{kind}"></div>'
        f'<script type="application/json" id="fl-{kind}-data">{data_block(payload)}</script>'
        f"<script>{script(kind)}</script></body></html>"
    )
