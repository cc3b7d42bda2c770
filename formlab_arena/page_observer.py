"""Observes a page between actions: its elements, its screens, and what an action changed.

``static/observe.js`` reads one document with its open shadow roots; here the documents of all
frames become one page. What closed shadow roots and canvases show cannot be read.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formlab import files
from formlab_arena.observation import Element, Observe

if TYPE_CHECKING:
    from playwright.sync_api import ElementHandle, Frame, Page

# A page that never stands still must not fill the disk: pictures, arrangements of the same fields,
# and arrangements in all.
MOST_SCREENS, MOST_ALIKE, MOST_ARRANGED = 40, 8, 200
MOST_ELEMENTS, MOST_FRAMES = 3000, 30
_SCRIPT = files.read_text(Path(__file__).parent / "static" / "observe.js")
# The observer of a document is made at the first look and kept under a symbol of its own.
_MADE = "globalThis[Symbol.for('formlab.observer')]"
OBSERVER = f"({_MADE} ??= ({_SCRIPT.strip()})())"
_AT, _ACTIVE = f"(point) => {OBSERVER}.at(point)", f"() => {OBSERVER}.active()"
_SHOWN = f"(e) => ({{ key: {OBSERVER}.key, control: {OBSERVER}.shown(e) }})"
_BUTTONS = ("button", "submit", "reset", "image")
# What the log keeps of a control.
_LOGGED = ("field", "option", "kind", "checked", "options")
_SEEN = ("kind", "checked", "role", "required", "disabled", "covered", "many")
_READ = ("field", "option", "value", "name", "label", "hint", "message")
Control = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class PageState:
    """The page at one moment: boxes of `controls` are in pixels of the whole page.

    `screen` counts from 1 the arrangements of controls met so far (a page turned, a field
    shown); None where there is nothing to fill in. `scroll` is how far the window has moved.
    """

    scroll: tuple[float, float]
    screen: int | None
    controls: list[Control]

    def as_seen(self) -> dict[str, Any]:
        """The state for the log of a look; what never changes is in the log of its screen."""
        keys = ("field", "option", "kind", "value", "checked", "box")
        short = [{key: control[key] for key in keys} for control in self.controls]
        return {"on": self.screen, "scroll": self.scroll, "controls": short}


@dataclasses.dataclass
class _Document:
    """One document in a frame, by the key of its observer: what ids and boxes are reckoned from."""

    number: int
    frame: Frame
    # The document around it and the number of its frame there; None for the page itself.
    host: tuple[str, int] | None
    renamed: dict[str, str] = dataclasses.field(default_factory=dict)


class PageObserver:
    """Looks at an open page between actions, whatever the agent itself may know.

    Pictures of whole pages go to `folder`, as ``screen-<n>.png``.
    """

    def __init__(self, page: Page, folder: Path) -> None:
        self.page, self.folder = page, folder
        self._documents: dict[str, _Document] = {}
        self._screens: dict[tuple[Any, ...], int] = {}
        self._alike: dict[tuple[Any, ...], list[int]] = {}
        self._contents: dict[tuple[Any, ...], Any] = {}

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
            except Exception:  # noqa: S112 - its reason is the page's own business
                continue
            if host in frames:
                self._add(inner, frame, host, controls, names, frames)
        return listed | {"controls": controls[:MOST_ELEMENTS]}

    def _listed(self, frame: Frame) -> dict[str, Any] | None:
        text = frame.evaluate(f"() => {_MADE}?.listed()")
        return json.loads(text or frame.evaluate(f"() => {OBSERVER}.listed()"))

    def _main(self) -> dict[str, Any]:
        try:
            # A page that has just begun to load has nothing yet, not even its root.
            if listed := self._listed(self.page.main_frame):
                return listed
        except Exception as error:
            if "context was destroyed" not in str(error):
                raise
        # The page was on its way to another one.
        self.page.wait_for_load_state()
        return self._listed(self.page.main_frame)

    def _host(self, key: str, frame: Frame) -> tuple[str, int] | None:
        if key in self._documents:
            return self._documents[key].host
        code = f"(e) => [{OBSERVER}.key, {OBSERVER}.number(e)]"
        return tuple(frame.frame_element().evaluate(code))

    def _add(
        self, listed: dict[str, Any], frame: Frame, host: tuple[str, int] | None,
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
            control["box"] = _moved(control["box"], left, top)
            control["labels"] = [_moved(box, left, top) for box in control["labels"]]
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

    def handle(self, element: str) -> ElementHandle | None:
        """The live element of an id, across frames and shadow roots; None if it is gone."""
        document, number = self._document(element)
        if document is None:
            return None
        try:
            found = document.frame.evaluate_handle(f"(n) => {OBSERVER}.get(n)", number)
            return found.as_element()
        except Exception as error:
            return _none_if_gone(error)

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
        left = top = 0.0
        box = None
        for document, number in path:
            try:
                box = document.frame.evaluate(f"(n) => {OBSERVER}.reach(n)", number)
            except Exception as error:
                box = _none_if_gone(error)
            if box is None:
                return None
            box = _moved(box, left, top)
            left, top = box[:2]
        return box and tuple(box)

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
            control["box"] = _moved(control["box"], *self._corner(document))
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

    def look(self) -> tuple[PageState, list[list[Any]], dict[str, Any] | None]:
        """The page now, what changed since the last time, and a screen met for the first time.

        A change is ``[field, option, before, after]``; what appears or goes is none. A screen is
        an event for the log, its picture taken.
        """
        listed = self.listed()
        left, top = listed["scroll"]
        # What cannot be used is not sent either.
        usable = [control for control in listed["controls"] if not control["disabled"]]
        controls = [
            {key: control[key] for key in _LOGGED}
            | {"value": _as_text(control["sent"]), "box": _moved(control["box"], left, top)}
            | {"labels": [_moved(box, left, top) for box in control["labels"]]}
            for control in usable
            if control["answers"] or control["field"] or control["kind"] in _BUTTONS
            if control["kind"] != "option"
        ]
        number, event = self._screen(listed, controls)
        contents: dict[tuple[Any, ...], Any] = {}
        for control in usable:
            if control["answers"]:
                is_tick = control["kind"] in ("radio", "checkbox") and not control["paired"]
                option = None if control["paired"] else control["option"]
                content = bool(control["checked"]) if is_tick else control["sent"]
                contents[control["field"], option] = content
        changed = [
            [*key, _as_text(self._contents[key]), _as_text(after)]
            for key, after in contents.items()
            if key in self._contents and self._contents[key] != after
        ]
        # What is hidden for a while keeps its content.
        self._contents |= contents
        return PageState((left, top), number, controls), changed, event

    def contents(self) -> dict[str, Any]:
        """Each field's content when it was last seen, as it would be sent.

        Text, yes or no, or the list of what is chosen.
        """
        last: dict[str, Any] = {}
        for (field, option), content in self._contents.items():
            if option is None:
                last[field] = content
            elif isinstance(last.setdefault(field, []), list):
                last[field] += [option] if content else []
        return last

    def _screen(
        self, listed: dict[str, Any], controls: list[Control]
    ) -> tuple[int | None, dict[str, Any] | None]:
        # Buttons without a name, as in a calendar, come and go without changing the form.
        named = [control for control in controls if control["field"]]
        if all(control["kind"] in _BUTTONS for control in named):
            return None, None
        parts = [control for control in named if control["kind"] != "button"]
        fields = (listed["url"], *((part["field"], part["option"]) for part in parts))
        key = (fields, *(tuple(map(round, part["box"])) for part in parts))
        alike = self._alike.setdefault(fields, [])
        if key in self._screens:
            return self._screens[key], None
        if len(alike) == MOST_ALIKE or (alike and len(self._screens) >= MOST_ARRANGED):
            return alike[-1], None
        number = self._screens[key] = len(self._screens) + 1
        alike.append(number)
        image = f"screen-{number}.png" if number <= MOST_SCREENS else None
        if image:
            self.page.screenshot(path=self.folder / image, full_page=True, animations="disabled")
        event = {"screen": number, "image": image, "size": listed["size"], "controls": controls}
        return number, event


def _moved(box: list[float], left: float, top: float) -> list[float]:
    x0, y0, x1, y1 = box
    return [round(side, 1) for side in (x0 + left, y0 + top, x1 + left, y1 + top)]


def _unused(name: str, names: set[str]) -> str:
    """The name, with a number where another document of the page has it already."""
    number, base = 1, name
    while name in names:
        number += 1
        name = f"{base}#{number}"
    return name


def _as_text(content: Any) -> Any:
    return ", ".join(content) if isinstance(content, list) else content


def _none_if_gone(error: Exception) -> None:
    if not any(word in str(error) for word in ("destroyed", "disposed", "detached", "closed")):
        raise error
