"""Data, scripts and styles inside one HTML page: JSON blocks, hashes, the policy, Lab's frame."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from formlab.charts import theme

# Escapes that JSON allows and that keep a value from ending its <script> or a line of JavaScript.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_GALLERY = [f"gallery/assets/{name}.js" for name in ("parts", "selection", "gallery")]
_SCRIPTS = {
    "gallery": _GALLERY,
    "episodes": [*_GALLERY, "gallery/assets/episodes.js"],
    "explorer": [*_GALLERY, "explore/assets/explorer.js"],
}
_SCRIPTS["report"] = list(dict.fromkeys(path for paths in _SCRIPTS.values() for path in paths))
_SCRIPTS["report"] += [f"reports/assets/{name}.js" for name in ("plotly", "report")]
_STYLES = ("charts/assets/tokens.css", "gallery/assets/gallery.css", "reports/assets/report.css")


def data_block(value: Any) -> str:
    """JSON that is safe between script tags.

    Examples
    --------
    >>> data_block({"a": "</script>"})
    '{"a":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.translate(_ESCAPES)


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
    return "\n".join(_asset(path) for path in _SCRIPTS[kind])


@cache
def style() -> str:
    """The style sheet of every page."""
    return "".join(map(_asset, _STYLES))


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


def bundle(kind: str, payload: Mapping[str, Any], title: str, *, token: str = "") -> dict[str, Any]:
    """The mime bundle of an object: its data in a report, a frame around its page in JupyterLab.

    By the `token` a widget beside the frame knows whose messages it hears.
    """
    if theme.in_report():
        return {theme.MIME.format(kind): payload, "text/plain": title}
    # srcdoc in a sandbox without allow-same-origin: the frame cannot reach the notebook.
    page = (
        f'<iframe sandbox="allow-scripts allow-downloads" title="{html.escape(title)}" '
        f'data-formlab="{html.escape(token)}" '
        'style="width:100%;height:780px;border:1px solid #8884;border-radius:8px" '
        f'srcdoc="{html.escape(document(payload, kind=kind))}"></iframe>'
    )
    return {"text/html": page, "text/plain": title}
