"""Data and scripts inside one HTML page: JSON blocks, hashes, the policy, an object's frame."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
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


# What may leave the data of an object for a block, or a file, of its own.
PICTURE = re.compile(r"data:image/(webp|png|jpeg);base64,([A-Za-z0-9+/]*={0,2})")
_KEY = re.compile(r"[0-9a-f]{8,64}")
_USED = re.compile(r'"image":"([0-9a-f]{8,64})"')


def split(kind: str, payload: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """A payload without its pictures and, of a gallery, all but its first cases; those by key.

    They come in blocks behind the scripts, the pictures of the first cards first: a page draws
    these before the browser has read tens of megabytes.
    """
    data = dict(payload)
    if kind == "explorer" and isinstance(data.get("gallery"), dict):
        data["gallery"], texts = _without_pictures(data["gallery"])
        return data, texts
    if kind != "gallery":
        return data, {}
    data, texts = _without_pictures(data)
    cases = data.get("cases")
    if isinstance(cases, list) and "count" in data and all(isinstance(t, str) for t in cases):
        later = {hashlib.sha256(text.encode()).hexdigest()[:16]: text for text in cases[1:]}
        if len(later) == len(cases) - 1:
            data |= {"cases": cases[:1], "later": list(later)}
            texts |= later
    return data, texts


def _without_pictures(data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    images, cases = data.get("images"), data.get("cases")
    if not isinstance(images, dict) or not all(isinstance(i, dict) for i in images.values()):
        return data, {}
    first = _USED.findall(str(cases[0])) if isinstance(cases, list) and cases else []
    texts = {
        key: images[key]["src"]
        for key in dict.fromkeys([*first, *images])
        if key in images and _KEY.fullmatch(key) and PICTURE.fullmatch(str(images[key].get("src")))
    }
    kept = {
        key: {name: value for name, value in image.items() if name != "src" or key not in texts}
        for key, image in images.items()
    }
    return data | {"images": kept}, texts


def blocks(texts: Mapping[str, str]) -> str:
    """The blocks of `split`, to stand behind a page's scripts."""
    return "".join(
        f'<script type="text/plain" id="fl-late-{key}">{text.translate(_ESCAPES)}</script>'
        for key, text in texts.items()
    )


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
    data, texts = split(kind, payload)
    names = ("gallery",) if kind == "gallery" else ("gallery", kind)
    scripts = [assets()[f"{name}.js"] for name in names]
    styles = "".join(assets()[f"{name}.css"] for name in ("tokens", *names))
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(scripts)}">'
        f"<style>{styles}</style></head>"
        f'<body class="fl-frame"><div id="fl-{kind}"></div>'
        f'<script type="application/json" id="fl-{kind}-data">{data_block(data)}</script>'
        f"{''.join(f'<script>{script}</script>' for script in scripts)}{blocks(texts)}"
        "</body></html>"
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
