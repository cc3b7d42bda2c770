"""A page in a sandboxed frame of JupyterLab, and what is chosen in it as a value of Python."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

_ESM = """
export default { render({ model, el }) {
  const frame = document.createElement("iframe");
  // Without allow-same-origin: the frame cannot reach the notebook.
  frame.setAttribute("sandbox", "allow-scripts");
  frame.title = model.get("title");
  frame.style.cssText = "width:100%;height:900px;border:1px solid #8884;border-radius:8px";
  frame.srcdoc = model.get("page");
  const heard = (event) => {
    if (event.source !== frame.contentWindow || event.data?.formlab !== "chosen") return;
    model.set("state", event.data.state);
    model.save_changes();
  };
  const choose = () => frame.contentWindow?.postMessage(
    { formlab: "choose", state: model.get("wanted") }, "*");
  addEventListener("message", heard);
  model.on("change:wanted", choose);
  el.append(frame);
  return () => { removeEventListener("message", heard); model.off("change:wanted", choose); };
} };
"""


class Host(anywidget.AnyWidget):
    """The frame: `state` is what the page says is chosen, as hostile as what it shows."""

    _esm = _ESM
    page = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    wanted = traitlets.Dict().tag(sync=True)

    def choose(self, state: dict[str, Any]) -> None:
        """Have the page choose."""
        self.state = self.wanted = state
