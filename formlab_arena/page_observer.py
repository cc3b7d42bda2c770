"""Observes a page between actions: its elements, its screens, and what an action changed."""

import dataclasses
from pathlib import Path
from typing import Any

from formlab_arena.page_documents import Control, PageDocuments, moved

# A page that never stands still must not fill the disk: pictures, arrangements of the same fields,
# and arrangements in all.
MOST_SCREENS, MOST_ALIKE, MOST_ARRANGED = 40, 8, 200
_BUTTONS = ("button", "submit", "reset", "image")
# What the log keeps of a control.
_LOGGED = (
    "field", "option", "kind", "checked", "options", "values", "many", "name", "label", "group",
)  # fmt: skip


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
        keys = ("field", "option", "kind", "value", "shown", "checked", "box")
        short = [{k: control[k] for k in keys if k in control} for control in self.controls]
        return {"on": self.screen, "scroll": self.scroll, "controls": short}


class PageObserver(PageDocuments):
    """Looks at an open page between actions, whatever the agent itself may know.

    Pictures of whole pages go to `folder`, as ``screen-<n>.png``.
    """

    def __init__(self, page: Any, folder: Path) -> None:
        super().__init__(page)
        self.folder = folder
        self._screens: dict[tuple[Any, ...], int] = {}
        self._alike: dict[tuple[Any, ...], list[int]] = {}
        self._contents: dict[tuple[Any, ...], Any] = {}
        self.messages: list[tuple[str, str]] = []

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
            | _shown(control)
            | {"value": _as_text(control["sent"]), "box": moved(control["box"], left, top)}
            | {"labels": [moved(box, left, top) for box in control["labels"]]}
            for control in usable
            if control["answers"] or control["field"] or control["kind"] in _BUTTONS
            if control["kind"] != "option"
        ]
        number, event = self._screen(listed, controls)
        self.messages = [(c["field"], c["message"]) for c in usable if c["message"]]
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


def _as_text(content: Any) -> Any:
    return ", ".join(content) if isinstance(content, list) else content


def _shown(control: Control) -> dict[str, Any]:
    """What a control shows, where that is not what it sends."""
    is_other = control["value"] and control["value"] != _as_text(control["sent"])
    return {"shown": control["value"]} if is_other else {}
