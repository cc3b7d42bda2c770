"""Galleries, episodes and explorers in a page: data, scripts, styles, the policy.

In JupyterLab the page is a frame, and what is chosen in it is heard in Python.
"""

import base64
import hashlib
import html
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib import resources
from typing import Any

from jinja2.utils import htmlsafe_json_dumps

from formlab.charts import escaping, theme
from formlab.charts.html import MIME, TEMPLATES, Shown

_GALLERY = [f"gallery/assets/{name}.js" for name in ("parts", "selection", "gallery", "episodes")]
_SCRIPTS = {"frame": [*_GALLERY, "explore/assets/explorer.js"]}
_SCRIPTS["report"] = _SCRIPTS["frame"] + [f"reports/assets/{n}.js" for n in ("plotly", "report")]
_STYLES = [f"charts/assets/{name}.css" for name in ("tokens", "parts")]
_STYLES += ["gallery/assets/gallery.css", "reports/assets/report.css"]


def data_block(value: Any) -> str:
    """JSON that is safe between script tags.

    >>> data_block({"a": "</script>"})
    '{"a":"\\\\u003c/script\\\\u003e"}'
    """
    look = {"separators": (",", ":"), "allow_nan": False}
    return str(htmlsafe_json_dumps(escaping.data(value), **look))


def policy(scripts: Sequence[str], style: str | None) -> str:
    """The Content-Security-Policy of a page that runs these scripts and reaches nothing.

    It admits one style sheet; None admits styles that a script writes.
    """
    # A source is admitted by its hash alone.
    digests = (hashlib.sha256(source.encode()).digest() for source in (*scripts, style or ""))
    *admitted, of_style = (f"'sha256-{base64.b64encode(d).decode()}'" for d in digests)
    styles = "'unsafe-inline'" if style is None else of_style
    return (
        f"default-src 'none'; img-src data:; style-src {styles}; font-src data:; "
        f"base-uri 'none'; form-action 'none'; script-src {' '.join(admitted)}"
    )


@cache
def script(of: str) -> str:
    """The script that draws galleries, episodes and explorers in a frame; or a whole report."""
    return "\n".join(map(_asset, _SCRIPTS[of]))


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
    parts = {"data": data_block(payload), "style": style(), "script": script("frame")}
    parts["policy"] = policy([parts["script"]], parts["style"])
    return TEMPLATES.get_template("frame.html.j2").render(kind=kind, **parts)


@cache
def _listener_class() -> Any:
    # Imported where it is shown: widgets take a second to import.
    import anywidget
    from traitlets import Int, List, Tuple, Unicode

    class SelectionListener(anywidget.AnyWidget):
        """Hears from the frame with the `token` which rows are shown and tagged in it.

        It shows nothing: where widgets do not run, the frame works without it. The frame is a
        sandbox and its cases are hostile: of its messages count what the types admit.
        """

        _esm = _asset("gallery/assets/listener.js")
        token = Unicode("").tag(sync=True)
        rows = List(Int(), default_value=None, allow_none=True).tag(sync=True)
        tags = List(Tuple(Int(), List(Unicode()))).tag(sync=True)

    return SelectionListener


class Live(Shown):
    """What a script draws: in a report its data alone, in JupyterLab a frame with a listener."""

    @property
    def payload(self) -> dict[str, Any]:
        """What its script draws."""
        return {n: value for n, value in vars(self).items() if n not in ("frame", "_listener")}

    @cached_property
    def _listener(self) -> Any:
        return _listener_class()(token=secrets.token_hex(8))

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        if theme.in_report():
            # As a text: a notebook takes minutes to copy and to check millions of values.
            data = json.dumps(self.payload, separators=(",", ":"))
            return {MIME: {self.kind: data}, "text/plain": str(self)}
        # srcdoc in a sandbox without allow-same-origin: the frame cannot reach the notebook.
        page = html.escape(document(self.payload, kind=self.kind))
        frame = (
            f'<iframe sandbox="allow-scripts allow-downloads" title="{html.escape(str(self))}" '
            f'data-formlab="{self._listener.token}" '
            'style="width:100%;height:780px;border:1px solid #8884;border-radius:8px" '
            f'srcdoc="{page}"></iframe>'
        )
        return {"text/html": frame, "text/plain": str(self)}

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self._repr_mimebundle_(), raw=True)
        if not theme.in_report():
            display(self._listener)
