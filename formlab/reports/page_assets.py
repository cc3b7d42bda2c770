"""Content security policy, style sheets and scripts of a page: formlab's own and libraries'."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from functools import cache
from importlib import metadata, resources
from pathlib import Path

from markupsafe import Markup

from formlab import files
from formlab.gallery import assets, inline
from formlab.reports import sanitize
from formlab.reports.plan import Layout

FOLDER = "assets"
# Vega first: report.js draws as soon as it runs, so it comes last.
LIBRARIES = ("vega", "plotly")
# So many pictures of galleries stand inside a page of a site; more become files beside it.
PICTURES_INSIDE = 2_000
PAGE_SCRIPTS = ("base", "tables", "words", "fit", "vega", "plotly", "links", "report")


@dataclasses.dataclass(frozen=True)
class PageAssets:
    """The policy, styles and scripts of a page, and the files beside it that it needs."""

    policy: Markup
    styles: Markup
    scripts: Markup
    beside: tuple[str, ...] = ()


def of(kinds: set[str], *, layout: Layout = "single", out: Path | None = None) -> PageAssets:
    """What a page needs that shows these kinds of objects.

    In the layout ``site`` scripts and styles are files under ``assets/`` of `out`, named by their
    contents: a page that is built anew never changes what an older page loads.
    """
    sources = scripts(kinds)
    if layout == "single" or out is None:
        return PageAssets(
            policy=sanitize.trusted(inline.policy(list(sources.values()))),
            styles=Markup("<style>{}</style>").format(sanitize.trusted(styles())),
            scripts=Markup("\n").join(_script(source) for source in sources.values()),
        )
    style = _shared(out, "page", "css", styles())
    addresses = [_shared(out, name, "js", source) for name, source in sources.items()]
    loader = _LOADER.format(sources=json.dumps(addresses))
    # 'strict-dynamic': the loader is the only way in, so that no script that found its way into
    # a page can load another. Pages of file: addresses have no origin for 'self' to mean.
    policy = inline.policy([loader]).replace("script-src ", "script-src 'strict-dynamic' ")
    for directive in ("style-src", "img-src"):
        policy = policy.replace(f"{directive} ", f"{directive} 'self' file: ")
    return PageAssets(
        policy=sanitize.trusted(policy),
        styles=Markup('<link rel="stylesheet" href="{}">').format(style),
        scripts=_script(loader),
        beside=(style, *addresses),
    )


_LOADER = """"use strict";
for (const source of {sources}) {{
  const script = document.createElement("script");
  script.src = source;
  script.async = false;
  document.head.append(script);
}}"""


def _script(source: str) -> Markup:
    return Markup("<script>{}</script>").format(sanitize.trusted(source))


def _shared(out: Path, name: str, ending: str, source: str) -> str:
    """Write a shared file once; its address as seen from a page."""
    digest = _digest(source)
    address = f"{FOLDER}/{name}-{digest[:16]}.{ending}"
    if not (out / address).is_file() or files.sha256(out / address) != digest:
        files.write_text(out / address, source)
    return address


def pictures(texts: Mapping[str, str], *, out: Path, beside: list[str]) -> dict[str, str]:
    """The late texts of a page of a site, see `inline.split`, with its pictures as files.

    Only where they are many. Each text becomes the file's address, which joins `beside`. Names
    come from contents alone: a notebook names no file.
    """
    matches = {key: inline.PICTURE.fullmatch(text) for key, text in texts.items()}
    found = {key: match for key, match in matches.items() if match and len(match[2]) % 4 == 0}
    if len(found) <= PICTURES_INSIDE:
        return dict(texts)
    addresses = {}
    for key, match in found.items():
        data = base64.b64decode(match[2])
        name = f"picture-{hashlib.sha256(data).hexdigest()[:32]}.{match[1]}"
        addresses[key] = f"{FOLDER}/{name}"
        with files.atomic(out / addresses[key]) as temporary:
            temporary.write_bytes(data)
    beside += dict.fromkeys(addresses.values())
    return texts | addresses


def scripts(kinds: set[str]) -> dict[str, str]:
    """The scripts of a page that shows these kinds of objects, by name, in the order they run."""
    makers = {"vega": vega, "plotly": plotly}
    sources = {name: makers[name]() for name in LIBRARIES if name in kinds} | {"page": own()}
    for source in sources.values():
        # Inside <script> these end or nest the element, whatever the language says.
        if "</script" in source.lower() or "<!--" in source:
            raise AssertionError("a bundled script cannot stand inside a page")
    return sources


@cache
def vega() -> str:
    """Vega, Vega-Lite and vega-embed as one script, from vl-convert.

    Building takes seconds, so the result is cached on disk beside its SHA-256; a copy that does
    not match is built anew.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "formlab"
    file = folder / f"vega-{metadata.version('vl-convert-python')}.js"
    known = file.with_suffix(".sha256")
    with contextlib.suppress(OSError):
        source = file.read_text("utf-8")
        if _digest(source) == known.read_text("ascii").strip():
            return source
    import vl_convert

    # In a function of its own: the bundle declares globals of one letter.
    source = f"(()=>{{{vl_convert.javascript_bundle()}\n}})();"
    # A home that cannot be written costs time, not the report.
    with contextlib.suppress(OSError):
        files.write_text(file, source)
        files.write_text(known, _digest(source))
    return source


def _digest(source: str) -> str:
    return hashlib.sha256(source.encode("utf-8")).hexdigest()


@cache
def plotly() -> str:
    """plotly.js, as the installed plotly ships it."""
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


@cache
def own() -> str:
    """formlab's own script: the gallery, the viewer of episodes, then the rest of the page."""
    rest = (_asset(f"{name}.js") for name in PAGE_SCRIPTS)
    kinds = (assets()[f"{name}.js"] for name in ("gallery", "episodes", "explorer"))
    return "\n".join([*kinds, *rest])


@cache
def styles() -> str:
    """The style sheet of a page: colours, gallery, report."""
    names = ("tokens.css", "gallery.css", "episodes.css", "explorer.css")
    return "".join(assets()[name] for name in names) + _asset("report.css")


def _asset(name: str) -> str:
    return resources.files("formlab").joinpath(f"reports/assets/{name}").read_text("utf-8")
