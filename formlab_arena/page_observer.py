"""Observes a page between actions: its controls, its screens, and what an action changed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

# A page that never stands still must not fill the disk with pictures.
MOST_SCREENS = 40
_OWNER = """const owner = (e) => e.dataset.field || e.closest('[data-for]')?.dataset.for
  || e.name || e.id || (kindOf(e) === 'button' || e.type === 'submit' ? ''
  : e.ariaLabel || e.labels?.[0]?.innerText.trim() || e.placeholder || '');
const edges = (e) => { const b = e.getBoundingClientRect();
  return [b.left, b.top, b.right, b.bottom]; };
const content = (e) => e.type === 'file' ? (e.files[0]?.name ?? '') : (e.value ?? '');
const optionOf = (e) => e.dataset.option ?? (e.type === 'radio' ||
  (e.type === 'checkbox' && e.name && document.getElementsByName(e.name).length > 1)
  ? e.value : null);
const kindOf = (e) => e.tagName === 'INPUT' ? e.type : e.tagName.toLowerCase();
"""
_ALL = "[data-field], input, select, textarea, button"
LISTED = (
    "() => {"
    + _OWNER
    # A page that has just begun to load has nothing yet, not even its root.
    + f"""return document.body && {{ url: location.href.split('#')[0], scroll: [scrollX, scrollY],
  size: [document.documentElement.scrollWidth, document.documentElement.scrollHeight],
  controls: [...document.querySelectorAll('{_ALL}')]
  .filter(e => e.type !== 'hidden' && !e.disabled && e.checkVisibility())
  .map(e => ({{ field: owner(e), option: optionOf(e), kind: kindOf(e),
    value: content(e), checked: e.checked ?? null,
    options: e.tagName === 'SELECT' ? [...e.options].map(o => o.text) : null,
    box: edges(e), labels: [...(e.labels ?? [])].map(edges) }})) }}; }}"""
)
AT = (
    "([x, y]) => { const e = document.elementFromPoint(x, y);"
    f" return (e && (e.closest('{_ALL}') || e.closest('label')?.control)) || null; }}"
)
SHOWN = (
    "(e) => {"
    + _OWNER
    + """return e && { field: owner(e) || e.tagName.toLowerCase(), option: optionOf(e),
  kind: kindOf(e), checked: e.checked ?? null, value: content(e), box: edges(e) }; }"""
)
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


class PageObserver:
    """Looks at an open page between actions, whatever the agent itself may know.

    Pictures of whole pages go to `folder`, as ``screen-<n>.png``.
    """

    def __init__(self, page: Page, folder: Path) -> None:
        self.page, self.folder = page, folder
        self._screens: dict[tuple[Any, ...], int] = {}
        self._contents: dict[tuple[Any, ...], Any] = {}

    def listed(self) -> dict[str, Any]:
        """The controls in pixels of the window, the scroll offset and the page's size."""
        try:
            if listed := self.page.evaluate(LISTED):
                return listed
        except Exception as error:
            if "context was destroyed" not in str(error):
                raise
        # The page was on its way to another one.
        self.page.wait_for_load_state()
        return self.page.evaluate(LISTED)

    def look(self) -> tuple[PageState, list[list[Any]], dict[str, Any] | None]:
        """The page now, what changed since the last time, and a screen met for the first time.

        A change is ``[field, option, before, after]``; what appears or goes is none. A screen is
        an event for the log, its picture taken.
        """
        listed = self.listed()
        left, top = listed["scroll"]
        controls = [_moved(control, left, top) for control in listed["controls"]]
        number, event = self._screen(listed, controls)
        contents = {
            (control["field"], control["option"]): control["checked" if is_tick else "value"]
            for control in controls
            if control["field"] and control["kind"] not in ("button", "submit")
            for is_tick in [control["kind"] in ("radio", "checkbox")]
        }
        changed = [
            [*key, self._contents[key], after]
            for key, after in contents.items()
            if key in self._contents and self._contents[key] != after
        ]
        # What is hidden for a while keeps its content.
        self._contents |= contents
        return PageState((left, top), number, controls), changed, event

    def contents(self) -> dict[str, Any]:
        """Each field's content when it was last seen: text, yes or no, or the chosen options."""
        last: dict[str, Any] = {}
        for (field, option), content in self._contents.items():
            if option is None:
                last[field] = content
            else:
                last.setdefault(field, []).extend([option] if content else [])
        return last

    def _screen(
        self, listed: dict[str, Any], controls: list[Control]
    ) -> tuple[int | None, dict[str, Any] | None]:
        # Buttons without a name, as in a calendar, come and go without changing the form.
        named = [control for control in controls if control["field"]]
        if all(control["kind"] in ("button", "submit") for control in named):
            return None, None
        layout = tuple(
            (control["field"], control["option"], *map(round, control["box"]))
            for control in named
            if control["kind"] != "button"
        )
        key = (listed["url"], layout)
        if key in self._screens:
            return self._screens[key], None
        number = self._screens[key] = len(self._screens) + 1
        image = f"screen-{number}.png" if number <= MOST_SCREENS else None
        if image:
            self.page.screenshot(path=self.folder / image, full_page=True, animations="disabled")
        event = {"screen": number, "image": image, "size": listed["size"], "controls": controls}
        return number, event


def _moved(control: Control, left: float, top: float) -> Control:
    """The control with its boxes in pixels of the whole page."""

    def placed(box: list[float]) -> list[float]:
        x0, y0, x1, y1 = box
        return [round(side, 1) for side in (x0 + left, y0 + top, x1 + left, y1 + top)]

    labels = [placed(box) for box in control["labels"]]
    return control | {"box": placed(control["box"]), "labels": labels}
