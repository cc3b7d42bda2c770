"""The scripts a report may hold: formlab's own, plotly.js, and the Vega bundle, built once."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib import metadata, resources
from pathlib import Path

from formlab import files
from formlab.gallery import assets
from formlab.gallery.episodes import assets as viewer

# Vega first: report.js draws as soon as it runs, so it comes last.
LIBRARIES = ("vega", "plotly")


def cache_folder() -> Path:
    """Where bundles are kept between runs: XDG_CACHE_HOME or ``~/.cache``, then ``formlab``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "formlab"


@cache
def vega() -> str:
    """Vega, Vega-Lite and vega-embed as one script, from vl-convert.

    Building takes seconds, so the result is cached on disk beside its SHA-256; a copy that does
    not match is built anew.
    """
    file = cache_folder() / f"vega-{metadata.version('vl-convert-python')}.js"
    known = file.with_suffix(".sha256")
    if file.is_file() and known.is_file():
        source = file.read_text("utf-8")
        if _digest(source) == known.read_text("ascii").strip():
            return source
    import vl_convert

    # In a function of its own: the bundle declares globals of one letter.
    source = f"(()=>{{{vl_convert.javascript_bundle()}\n}})();"
    try:
        files.write_text(file, source)
        files.write_text(known, _digest(source))
    except OSError:
        # A home that cannot be written costs time, not the report.
        return source
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
    report = resources.files("formlab").joinpath("reports/assets/report.js").read_text("utf-8")
    return f"{assets()['gallery.js']}\n{viewer()['episodes.js']}\n{report}"


@cache
def styles() -> str:
    """The style sheet of a page: colours, gallery, report."""
    report = resources.files("formlab").joinpath("reports/assets/report.css").read_text("utf-8")
    own = assets() | viewer()
    return "".join(own[name] for name in ("tokens.css", "gallery.css", "episodes.css")) + report


def needed(kinds: set[str]) -> dict[str, str]:
    """The scripts of a page that shows these kinds of objects, by name, in the order they run.

    Examples
    --------
    >>> list(needed({"table"})), list(needed({"table", "plotly"}))
    (['page'], ['plotly', 'page'])
    """
    makers = {"vega": vega, "plotly": plotly}
    scripts = {name: makers[name]() for name in LIBRARIES if name in kinds} | {"page": own()}
    for script in scripts.values():
        # Inside <script> these end or nest the element, whatever the language says.
        if "</script" in script.lower() or "<!--" in script:
            raise AssertionError("a bundled script cannot stand inside a page")
    return scripts
