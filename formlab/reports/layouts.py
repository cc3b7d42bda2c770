"""Where a page's scripts and styles stand: inside it, or once for a folder of pages."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

from markupsafe import Markup

from formlab import files
from formlab.gallery import inline
from formlab.reports import _inert, _scripts
from formlab.reports.plan import Layout

FOLDER = "assets"


@dataclasses.dataclass(frozen=True)
class Frame:
    """What a page is dressed in: its policy, its styles, its scripts, the files it needs."""

    policy: Markup
    styles: Markup
    scripts: Markup
    beside: tuple[str, ...] = ()


def frame(kinds: set[str], *, layout: Layout = "single", out: Path | None = None) -> Frame:
    """The frame of a page that shows these kinds of objects.

    In the layout ``site`` scripts and styles are files under ``assets/`` of `out`, named by their
    contents: a page that is built anew never changes what an older page loads.

    Examples
    --------
    >>> frame(set()).beside
    ()
    """
    scripts = _scripts.needed(kinds)
    if layout == "single" or out is None:
        return Frame(
            policy=_inert.trusted(inline.policy(list(scripts.values()))),
            styles=Markup("<style>{}</style>").format(_inert.trusted(_scripts.styles())),
            scripts=Markup("\n").join(_script(source) for source in scripts.values()),
        )
    style = _asset(out, "page", "css", _scripts.styles())
    sources = [_asset(out, name, "js", source) for name, source in scripts.items()]
    loader = _LOADER.format(sources=json.dumps(sources))
    # 'strict-dynamic': the loader is the only way in, so that no script that found its way into
    # a page can load another. Pages of file: addresses have no origin for 'self' to mean.
    policy = inline.policy([loader]).replace("script-src ", "script-src 'strict-dynamic' ")
    policy = policy.replace("style-src ", "style-src 'self' file: ")
    policy = policy.replace("img-src ", "img-src 'self' file: ")
    return Frame(
        policy=_inert.trusted(policy),
        styles=Markup('<link rel="stylesheet" href="{}">').format(style),
        scripts=_script(loader),
        beside=(style, *sources),
    )


def _script(source: str) -> Markup:
    return Markup("<script>{}</script>").format(_inert.trusted(source))


_LOADER = """"use strict";
for (const source of {sources}) {{
  const script = document.createElement("script");
  script.src = source;
  script.async = false;
  document.head.append(script);
}}"""


def _asset(out: Path, name: str, ending: str, source: str) -> str:
    """Write a shared file once; its address as seen from a page."""
    digest = hashlib.sha256(source.encode()).hexdigest()
    address = f"{FOLDER}/{name}-{digest[:16]}.{ending}"
    if not (out / address).is_file() or files.sha256(out / address) != digest:
        files.write_text(out / address, source)
    return address
