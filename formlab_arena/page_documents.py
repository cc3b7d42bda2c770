"""The documents of a page as one: its elements, in all frames and open shadow roots, by ids.

``static/observe.js`` reads one document; here those of all frames become one page. What closed
shadow roots and canvases show cannot be read.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

from formlab import files
from formlab_arena.driver import PageLeft
from formlab_arena.observation import Element, Observe

MOST_ELEMENTS, MOST_FRAMES = 3000, 30
_SCRIPT = files.read_text(Path(__file__).parent / "static" / "observe.js")
# The observer of a document is made at the first look and kept under a symbol of its own.
_MADE = "globalThis[Symbol.for('formlab.observer')]"
OBSERVER = f"({_MADE} ??= ({_SCRIPT.strip()})())"
_AT, _ACTIVE = f"(point) => {OBSERVER}.at(point)", f"() => {OBSERVER}.active()"
_SHOWN = f"(e) => ({{ key: {OBSERVER}.key, control: {OBSERVER}.shown(e) }})"
_SEEN = ("kind", "checked", "role", "required", "disabled", "covered", "many")
_READ = ("field", "option", "value", "name", "label", "hint", "message")
Control = dict[str, Any]


@dataclasses.dataclass
class _Document:
    """One document in a frame, by the key of its observer: what ids and boxes are reckoned from."""

    number: int
    frame: Any
    # The document around it and the number of its frame there; None for the page itself.
    host: tuple[str, int] | None
    renamed: dict[str, str] = dataclasses.field(default_factory=dict)


class PageDocuments:
    """The documents of an open page, read anew at each call."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self._documents: dict[str, _Document] = {}

    def listed(self) -> dict[str, Any]:
        """All elements in pixels of the window, the scroll offset and the page's size."""
        listed = self._main()
        controls, names, frames = [], set[str](), {}
        self._add(listed, self.page.main_frame, None, controls, names, frames)
        for frame in self.page.frames[1 : MOST_FRAMES + 1]:
            # A frame that just goes, or comes, has nothing to fill in.
            try:
                inner = self._listed(frame)
                host = inner and self._host(inner["key"], frame)
            except PageLeft:
                continue
            if host in frames:
                self._add(inner, frame, host, controls, names, frames)
        return listed | {"controls": controls[:MOST_ELEMENTS]}

    def _listed(self, frame: Any) -> dict[str, Any] | None:
        text = frame.evaluate(f"() => {_MADE}?.listed()")
        return json.loads(text or frame.evaluate(f"() => {OBSERVER}.listed()"))

    def _main(self) -> dict[str, Any]:
        try:
            # A page that has just begun to load has nothing yet, not even its root.
            if listed := self._listed(self.page.main_frame):
                return listed
        except PageLeft:
            pass
        # The page was on its way to another one; what is no HTML has no controls.
        self.page.wait_for_load_state("domcontentloaded")
        empty = {"key": "", "url": self.page.url, "scroll": [0, 0], "size": [0, 0]}
        return self._listed(self.page.main_frame) or empty | {"controls": [], "frames": []}

    def _host(self, key: str, frame: Any) -> tuple[str, int] | None:
        if key in self._documents:
            return self._documents[key].host
        code = f"(e) => [{OBSERVER}.key, {OBSERVER}.number(e)]"
        return tuple(frame.frame_element().evaluate(code))

    def _add(
        self, listed: dict[str, Any], frame: Any, host: tuple[str, int] | None,
        controls: list[Control], names: set[str], frames: dict[tuple[str, int], dict[str, Any]],
    ) -> None:  # fmt: skip
        """Add a document's controls: placed in the window, with names unique on the page."""
        key, around = listed["key"], frames.get(host)
        known = _Document(len(self._documents) + 1, frame, host)
        document = self._documents.setdefault(key, known)
        left, top = around["at"] if around else (0.0, 0.0)
        for inner in listed["frames"]:
            at = [inner["at"][0] + left, inner["at"][1] + top]
            group = [*(around["group"] if around else ()), f"frame {inner['name']}".strip()]
            covered = inner["covered"] or bool(around and around["covered"])
            frames[key, inner["n"]] = {"at": at, "group": group, "covered": covered}
        own = dict.fromkeys(c["field"] for c in listed["controls"] if c["field"])
        document.renamed = {name: _unused(name, names) for name in own}
        names.update(document.renamed.values())
        for control in listed["controls"]:
            control["id"] = f"f{document.number}e{control['n']}"
            control["field"] = document.renamed.get(control["field"], "")
            control["box"] = moved(control["box"], left, top)
            control["labels"] = [moved(box, left, top) for box in control["labels"]]
            control["covered"] |= bool(around and around["covered"])
            control["group"] = [*(around["group"] if around else ()), *control["group"]]
            controls.append(control)

    def elements(self, observes: Observe = "tree") -> tuple[Element, ...]:
        """What can be used on the page now, as much of it as an agent may know."""
        if observes == "pixels":
            return ()
        elements = []
        for control in self.listed()["controls"]:
            known = {key: control[key] for key in _SEEN}
            texts = {"field": "", "option": None, "value": "", "options": ()}
            if observes == "tree":
                texts = {key: control[key] for key in _READ}
                texts["group"] = tuple(control["group"])
                texts["options"] = tuple(control["options"] or ())
            box = tuple(control["box"])
            elements.append(Element(id=control["id"], box=box, **known, **texts))
        return tuple(elements)

    def handle(self, element: str) -> Any:
        """The live element of an id, across frames and shadow roots; None if it is gone."""
        document, number = self._document(element)
        if document is None:
            return None
        try:
            found = document.frame.evaluate_handle(f"(n) => {OBSERVER}.get(n)", number)
            return found.as_element()
        except PageLeft:
            return None

    def reach(self, element: str) -> tuple[float, float, float, float] | None:
        """Scroll an element into view; the box in the window that takes its clicks.

        None if it is gone or cannot be seen. Of a hidden tick it is its label's box.
        """
        document, number = self._document(element)
        # From the page inwards, as a person scrolls.
        path: list[tuple[_Document, int]] = []
        while document:
            path.insert(0, (document, number))
            outer, number = document.host or ("", 0)
            document = self._documents.get(outer)
        try:
            for inner, count in path:
                box = inner.frame.evaluate(f"(n) => {OBSERVER}.reach(n)", count)
                if box is None:
                    return None
            return tuple(moved(box, *self._corner(path[-1][0]))) if path else None
        except PageLeft:
            return None

    def _document(self, element: str) -> tuple[_Document | None, int]:
        frame, _, number = element.removeprefix("f").partition("e")
        if not (frame.isdecimal() and number.isdecimal()):
            return None, 0
        documents = {str(document.number): document for document in self._documents.values()}
        return documents.get(frame), int(number)

    def at(self, x: float, y: float) -> Any:
        """A handle to the control at a point of the window, also in frames; of null for none."""
        frame, left, top = self.page.main_frame, 0.0, 0.0
        while True:
            handle = frame.evaluate_handle(_AT, [x - left, y - top])
            element = handle.as_element()
            inner = element and element.content_frame()
            if not inner:
                return handle
            x0, y0 = element.evaluate(f"(e) => {OBSERVER}.origin(e)")
            frame, left, top = inner, left + x0, top + y0

    def active(self) -> Any:
        """A handle to what has the focus, also in frames."""
        frame = self.page.main_frame
        while True:
            handle = frame.evaluate_handle(_ACTIVE)
            element = handle.as_element()
            frame = element and element.content_frame()
            if not frame:
                return handle

    def shown(self, handle: Any) -> Control | None:
        """What a handle's element is to the log: its field, option, kind, state and box."""
        seen = handle.evaluate(_SHOWN)
        document, control = self._documents.get(seen["key"]), seen["control"]
        if control and document:
            control["field"] = document.renamed.get(control["field"], control["field"])
            control["box"] = moved(control["box"], *self._corner(document))
        return control

    def _corner(self, document: _Document) -> tuple[float, float]:
        """Where a document now begins in the window."""
        if document.host is None:
            return 0.0, 0.0
        key, number = document.host
        outer = self._documents[key]
        left, top = outer.frame.evaluate(f"(n) => {OBSERVER}.origin({OBSERVER}.get(n))", number)
        x0, y0 = self._corner(outer)
        return left + x0, top + y0


def moved(box: list[float], left: float, top: float) -> list[float]:
    """A box moved right and down, to a tenth of a pixel."""
    x0, y0, x1, y1 = box
    return [round(side, 1) for side in (x0 + left, y0 + top, x1 + left, y1 + top)]


def _unused(name: str, names: set[str]) -> str:
    """The name, with a number where another document of the page has it already."""
    number, base = 1, name
    while name in names:
        number += 1
        name = f"{base}#{number}"
    return name
