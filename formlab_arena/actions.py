"""The actions of agents: classes, their notation in a model's answer, and their coordinates."""

from __future__ import annotations

import dataclasses
import re
from typing import Any


@dataclasses.dataclass(frozen=True)
class Click:
    """Press the mouse at a pixel of the screenshot; origin top left."""

    x: float
    y: float


class DoubleClick(Click):
    """Press the mouse twice."""


class RightClick(Click):
    """Press the mouse's second button."""


@dataclasses.dataclass(frozen=True)
class Type:
    """Type into what has the focus; into an open file dialog, the name of a file."""

    text: str


@dataclasses.dataclass(frozen=True)
class Press:
    """Press a key or chord, as Playwright names it: ``Enter``, ``Control+A``."""

    key: str


@dataclasses.dataclass(frozen=True)
class Scroll:
    """Turn the wheel: pixels down (negative: up)."""

    dy: float


Action = Click | DoubleClick | RightClick | Type | Press | Scroll
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
    if isinstance(action, Click):
        return dataclasses.replace(action, x=action.x * factor, y=action.y * factor)
    return Scroll(action.dy * factor) if isinstance(action, Scroll) else action


def as_json(action: Action) -> dict[str, Any]:
    """The action for a log.

    Examples
    --------
    >>> as_json(Press("Enter"))
    {'do': 'Press', 'key': 'Enter'}
    """
    return {"do": type(action).__name__, **dataclasses.asdict(action)}
