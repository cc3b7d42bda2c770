"""In JupyterLab: the frame of a gallery or an explorer, and what is chosen in it as Python."""

from __future__ import annotations

import functools
import html
import json
import secrets
from typing import Any

from formlab.charts import theme
from formlab.charts.html import MIME, Shown
from formlab.gallery import inline

# The frame is a sandbox and its cases are hostile: of its messages only numbers and texts count,
# and only those of the frame with this gallery's token.
_ESM = """
export default { render({ model, el }) {
  const frames = () => [...document.querySelectorAll("iframe[data-formlab]")]
    .filter((frame) => frame.dataset.formlab === model.get("token"));
  const hear = ({ data, source }) => {
    if (data?.formlab !== "selection" || !frames().some((f) => f.contentWindow === source)) return;
    const texts = (list) => list.slice(0, 100).map((text) => String(text).slice(0, 200));
    if (Array.isArray(data.rows)) model.set("rows", data.rows.filter(Number.isSafeInteger));
    if (Array.isArray(data.tags)) model.set("tags", data.tags
      .filter(([row, tags]) => Number.isSafeInteger(row) && Array.isArray(tags))
      .map(([row, tags]) => [row, texts(tags)]));
    model.set("line", String(data.line).slice(0, 4000));
    model.save_changes();
  };
  el.hidden = true;
  addEventListener("message", hear);
  return () => removeEventListener("message", hear);
} };
"""


@functools.cache
def _listener_class() -> Any:
    # Imported where it is shown: widgets take a second to import.
    import anywidget
    import traitlets

    class SelectionListener(anywidget.AnyWidget):
        """Hears from the frame with the `token` what is chosen and tagged in it.

        It shows nothing: where widgets do not run, the frame works without it.
        """

        _esm = _ESM
        token = traitlets.Unicode("").tag(sync=True)
        line = traitlets.Unicode("").tag(sync=True)
        rows = traitlets.List(traitlets.Int(), default_value=None, allow_none=True).tag(sync=True)
        tags = traitlets.List(default_value=[]).tag(sync=True)

        def bundle(self) -> dict[str, Any]:
            """Its mime bundle, with nothing to read in its place."""
            made = self._repr_mimebundle_() or {}
            data = made[0] if isinstance(made, tuple) else made
            return data | {"text/plain": ""}

    return SelectionListener


class Live(Shown):
    """What a script draws: in a report its data alone, in JupyterLab a frame with a listener."""

    @functools.cached_property
    def _listener(self) -> Any:
        return _listener_class()(token=secrets.token_hex(8))

    @property
    def _heard(self) -> Any:
        """The listener, once it was shown."""
        return self.__dict__.get("_listener")

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        if theme.in_report():
            # As a text: a notebook takes minutes to copy and to check millions of values.
            data = json.dumps(self.payload, separators=(",", ":"))
            return {MIME: {self.kind: data}, "text/plain": str(self)}
        # srcdoc in a sandbox without allow-same-origin: the frame cannot reach the notebook.
        page = html.escape(inline.document(self.payload, kind=self.kind))
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
            display(self._listener.bundle(), raw=True)
