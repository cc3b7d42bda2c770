"""The actions of agents: classes, their notation in a model's answer, and their coordinates."""

from __future__ import annotations

import dataclasses
import re
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
    """Type into what has the focus; into an open file dialog, the name of a file."""

    text: str


@dataclasses.dataclass(frozen=True, repr=False)
class Fill(_Asked):
    """Replace the content of an element; a date as ``2027-03-05`` whatever the page shows."""

    element: str
    text: str


@dataclasses.dataclass(frozen=True, repr=False)
class Select(_Asked):
    """Choose options of a list, each by its text or its value."""

    element: str
    options: tuple[str, ...]


@dataclasses.dataclass(frozen=True, repr=False)
class Upload(_Asked):
    """Choose files of the task in an element that takes files, by their names."""

    element: str
    names: tuple[str, ...]


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
    """Do nothing for so many seconds."""

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


Action = (
    Click | Drag | Type | Fill | Select | Upload | Press | Scroll | Wait | Back | Tab | Answer
)  # fmt: skip
_POINTED = {"Click": Click, "DoubleClick": DoubleClick, "RightClick": RightClick}
_NUMBER = r"\s*(-?\d{1,6}(?:\.\d{1,6})?)\s*"
_LINE = re.compile(
    rf"\s*(?:(?P<point>Click|DoubleClick|RightClick)\({_NUMBER},{_NUMBER}\)"
    rf"|Scroll\({_NUMBER}\)|Press\(\s*['\"]?(?P<key>[A-Za-z0-9+]{{1,40}})['\"]?\s*\)"
    r"|Type\((?P<text>.*)\))\s*",
    re.DOTALL,
)


def parse(text: str) -> tuple[list[Action], list[str]]:
    """The actions in a model's answer, one a line, and the lines that are none.

    Examples
    --------
    >>> parse('Click(120, 80)\\nType("Ada (Berg)")\\nI am done.')
    ([Click(x=120.0, y=80.0), Type(text='Ada (Berg)')], ['I am done.'])
    """
    actions: list[Action] = []
    other = []
    for line in text.split("\n"):
        match = _LINE.fullmatch(line)
        if match is None:
            other += [line] if line.strip() else []
        elif name := match["point"]:
            actions.append(_POINTED[name](float(match[2]), float(match[3])))
        elif match[4] is not None:
            actions.append(Scroll(float(match[4])))
        elif match["key"] is not None:
            actions.append(Press(match["key"]))
        else:
            actions.append(Type(_unquoted(match["text"])))
    return actions, other


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].replace("\\n", "\n")
    return text


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
