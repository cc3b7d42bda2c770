"""In JupyterLab: the cases chosen in a gallery's frame as a Python value."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

# The frame is a sandbox and its cases are hostile: of its messages only numbers and a text count,
# and only those of the frame with this gallery's token.
_ESM = """
export default { render({ model, el }) {
  const frames = () => [...document.querySelectorAll("iframe[data-formlab]")]
    .filter((frame) => frame.dataset.formlab === model.get("token"));
  const ours = (source) => frames().some((frame) => frame.contentWindow === source);
  const hear = ({ data, source }) => {
    if (data?.formlab !== "selection" || !Array.isArray(data.rows) || !ours(source)) return;
    model.set("rows", data.rows.filter(Number.isSafeInteger));
    model.set("line", String(data.line).slice(0, 4000));
    model.save_changes();
  };
  el.hidden = true;
  addEventListener("message", hear);
  return () => removeEventListener("message", hear);
} };
"""


class SelectionListener(anywidget.AnyWidget):
    """Hears from the frame with the `token` which rows of its gallery are chosen, and their line.

    It shows nothing: where widgets do not run, the frame works without it.
    """

    _esm = _ESM
    token = traitlets.Unicode("").tag(sync=True)
    line = traitlets.Unicode("").tag(sync=True)
    rows = traitlets.List(traitlets.Int(), default_value=None, allow_none=True).tag(sync=True)

    def bundle(self) -> dict[str, Any]:
        """Its mime bundle, with nothing to read in its place."""
        made = self._repr_mimebundle_() or {}
        data = made[0] if isinstance(made, tuple) else made
        return data | {"text/plain": ""}
