"""The actions of agents, and their coordinates; `notation` has how models write them."""

from __future__ import annotations

import dataclasses
from typing import Any


class _Asked:
    """What all actions share: only what was asked for is shown and logged."""

    @property
    def settings(self) -> dict[str, Any]:
        """The members that are not at their default."""
        usual = {field.name: field.default for field in dataclasses.fields(self)}
        return {name: value for name, value in vars(self).items() if value != usual[name]}

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in self.settings.items())
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclasses.dataclass(frozen=True, repr=False)
class Click(_Asked):
    """Press the mouse at a pixel of the screenshot, origin top left, or on an element by its id."""

    x: float | None = None
    y: float | None = None
    element: str = ""


class DoubleClick(Click):
    """Press the mouse twice."""


class RightClick(Click):
    """Press the mouse's second button."""


class Hover(Click):
    """Move the mouse there and press nothing."""


@dataclasses.dataclass(frozen=True, repr=False)
class Drag(_Asked):
    """Press the mouse at one place, move it, release it at another: points or elements."""

    x: float | None = None
    y: float | None = None
    to_x: float | None = None
    to_y: float | None = None
    element: str = ""
    to: str = ""


@dataclasses.dataclass(frozen=True, repr=False)
class Type(_Asked):
    """Press the keys of a text in what has the focus; into an open file dialog, a file's name.

    A new line is the key Enter: a new line in a text area, and often "send" in a single line.
    """

    text: str


@dataclasses.dataclass(frozen=True, repr=False)
class Fill(_Asked):
    """Replace the content of an element; a date as ``2027-03-05`` whatever the page shows.

    It never presses Enter in a single line: a new line is a space there.
    """

    element: str
    text: str


@dataclasses.dataclass(frozen=True, repr=False)
class Select(_Asked):
    """Choose options of a list, each by its text or its value."""

    element: str
    options: tuple[str, ...]


@dataclasses.dataclass(frozen=True, repr=False)
class Check(_Asked):
    """Tick an element, or remove its tick; nothing is done where it is so already."""

    element: str
    ticked: bool = True


@dataclasses.dataclass(frozen=True, repr=False)
class Focus(_Asked):
    """Move the focus of the keyboard to an element."""

    element: str


@dataclasses.dataclass(frozen=True, repr=False)
class Upload(_Asked):
    """Choose files of the task, by their names, in an element or what opens at a point."""

    element: str = ""
    names: tuple[str, ...] = ()
    x: float | None = None
    y: float | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Press(_Asked):
    """Press a key or chord, as Playwright names it, ``Enter`` or ``Control+A``; in an element."""

    key: str
    element: str = ""


@dataclasses.dataclass(frozen=True, repr=False)
class Scroll(_Asked):
    """Turn the wheel: pixels down (negative: up) and right, at a point or an element.

    Without either the wheel turns in the middle of the window.
    """

    dy: float
    dx: float = 0.0
    x: float | None = None
    y: float | None = None
    element: str = ""


@dataclasses.dataclass(frozen=True, repr=False)
class Wait(_Asked):
    """Do nothing for so many seconds, at most 30."""

    seconds: float = 1.0


@dataclasses.dataclass(frozen=True, repr=False)
class Back(_Asked):
    """Go back to the page before."""


@dataclasses.dataclass(frozen=True, repr=False)
class Tab(_Asked):
    """Go to a tab by its number."""

    number: int


@dataclasses.dataclass(frozen=True, repr=False)
class Answer(_Asked):
    """Answer the open dialog: accept it, with a text where it asks for one, or dismiss it."""

    accept: bool = True
    text: str = ""


@dataclasses.dataclass(frozen=True, repr=False)
class Done(_Asked):
    """Nothing is left to do, or nothing can be done; with a message to the user."""

    text: str = ""


Action = (
    Click | Drag | Type | Fill | Select | Check | Focus | Upload | Press | Scroll | Wait | Back
    | Tab | Answer | Done
)  # fmt: skip
ACTIONS: dict[str, type[Action]] = {
    kind.__name__: kind
    for kind in (
        Click, DoubleClick, RightClick, Hover, Drag, Type, Fill, Select, Check, Focus, Upload,
        Press, Scroll, Wait, Back, Tab, Answer, Done,
    )
}  # fmt: skip


def mapped(action: Action, factor: float) -> Action:
    """The action in pixels of the window, from one in pixels of a resized screenshot.

    `factor` is the width of the window over that of the image the agent saw.

    Examples
    --------
    >>> mapped(Click(100, 50), 2.0), mapped(Type("x"), 2.0)
    (Click(x=200.0, y=100.0), Type(text='x'))
    """
    pixels = {
        name: getattr(action, name) * factor
        for name in ("x", "y", "to_x", "to_y", "dx", "dy")
        if getattr(action, name, None) is not None
    }
    return dataclasses.replace(action, **pixels) if pixels else action


def as_json(action: Action) -> dict[str, Any]:
    """The action for a log.

    Examples
    --------
    >>> as_json(Press("Enter"))
    {'do': 'Press', 'key': 'Enter'}
    """
    return {"do": type(action).__name__, **action.settings}
