"""Data and scripts inside one HTML page: JSON blocks, hashes, the policy, an object's frame."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from formlab.charts import theme

# Escapes that JSON allows and that keep a value from ending its <script> or a line of JavaScript.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def data_block(value: Any) -> str:
    """JSON that is safe between script tags.

    Examples
    --------
    >>> data_block({"a": "</script>"})
    '{"a":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.translate(_ESCAPES)


def script_hash(source: str) -> str:
    """The CSP source expression that admits exactly this inline script."""
    digest = hashlib.sha256(source.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def policy(scripts: list[str]) -> str:
    """The Content-Security-Policy of a page that runs these scripts and reaches nothing."""
    admitted = " ".join(script_hash(source) for source in scripts) or "'none'"
    return (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; "
        f"base-uri 'none'; form-action 'none'; script-src {admitted}"
    )


@cache
def assets() -> dict[str, str]:
    """The files of the gallery and of the viewer of episodes by name, and ``tokens.css``."""
    names = ("parts", "selection", "filters", "export", "viewer", "dialog", "gallery")
    scripts = [f"gallery/assets/{name}.js" for name in names]
    sources = {
        "gallery.css": ["gallery/assets/gallery.css"], "gallery.js": scripts,
        "episodes.css": ["gallery/assets/episodes.css"],
        "episodes.js": ["gallery/assets/episodes.js"],
        "explorer.css": ["explore/assets/explorer.css"],
        "explorer.js": ["explore/assets/counts.js", "explore/assets/explorer.js"],
        "tokens.css": ["charts/assets/tokens.css"],
    }  # fmt: skip
    here = resources.files("formlab")
    return {
        name: "".join(here.joinpath(path).read_text("utf-8") for path in paths)
        for name, paths in sources.items()
    }


def document(payload: Mapping[str, Any], *, kind: str = "gallery") -> str:
    """A whole page that shows one object: a gallery, or another kind that builds on its script."""
    names = ("gallery",) if kind == "gallery" else ("gallery", kind)
    scripts = [assets()[f"{name}.js"] for name in names]
    styles = "".join(assets()[f"{name}.css"] for name in ("tokens", *names))
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(scripts)}">'
        f"<style>{styles}</style></head>"
        f'<body class="fl-frame"><div id="fl-{kind}"></div>'
        f'<script type="application/json" id="fl-{kind}-data">{data_block(payload)}</script>'
        f"{''.join(f'<script>{script}</script>' for script in scripts)}</body></html>"
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
