"""In JupyterLab: what is chosen in the frame of a gallery or an explorer as a Python value."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Mapping
from typing import Any

from formlab.charts import theme
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
    if (typeof data.state === "string") model.set("state", data.state.slice(0, 1e6));
    model.set("line", String(data.line).slice(0, 4000));
    model.save_changes();
  };
  const choose = () => frames().forEach((frame) => frame.contentWindow.postMessage(
    { formlab: "choose", state: model.get("wanted") }, "*"));
  el.hidden = true;
  addEventListener("message", hear);
  model.on("change:wanted", choose);
  return () => { removeEventListener("message", hear); model.off("change:wanted", choose); };
} };
"""


@functools.cache
def _listener_class() -> Any:
    # Imported where it is shown: widgets take a second to import.
    import anywidget
    import traitlets

    class SelectionListener(anywidget.AnyWidget):
        """Hears from the frame with the `token` what is chosen and tagged in it.

        Of an explorer it hears the whole `state`, as JSON, and tells the frame which one is
        `wanted`. It shows nothing: where widgets do not run, the frame works without it.
        """

        _esm = _ESM
        token = traitlets.Unicode("").tag(sync=True)
        line = traitlets.Unicode("").tag(sync=True)
        state = traitlets.Unicode("").tag(sync=True)
        wanted = traitlets.Unicode("").tag(sync=True)
        rows = traitlets.List(traitlets.Int(), default_value=None, allow_none=True).tag(sync=True)
        tags = traitlets.List(default_value=[]).tag(sync=True)

        def bundle(self) -> dict[str, Any]:
            """Its mime bundle, with nothing to read in its place."""
            made = self._repr_mimebundle_() or {}
            data = made[0] if isinstance(made, tuple) else made
            return data | {"text/plain": ""}

    return SelectionListener


class Live:
    """What shows itself by a script: data in a report, a frame with a listener in JupyterLab."""

    kind = ""

    @property
    def payload(self) -> Mapping[str, Any]:
        """What its script draws."""
        raise NotImplementedError

    @functools.cached_property
    def _listener(self) -> Any:
        return _listener_class()(token=secrets.token_hex(8))

    @property
    def _heard(self) -> Any:
        """The listener, once it was shown."""
        return self.__dict__.get("_listener")

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        token = "" if theme.in_report() else self._listener.token
        return inline.bundle(self.kind, self.payload, str(self), token=token)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self._repr_mimebundle_(), raw=True)
        if not theme.in_report():
            display(self._listener.bundle(), raw=True)
