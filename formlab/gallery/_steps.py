"""The events of an episode as steps to look at: texts cut short, positions as fractions."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from formlab.charts._output import clean

TEXT_LIMIT, VALUE_LIMIT = 1_500, 300
POINTED = ("Click", "DoubleClick", "RightClick")
Row = dict[str, Any]


@dataclasses.dataclass
class Screenshot:
    """A screenshot, and whether the page still is as it shows it."""

    image: str | None
    why: str | None
    size: tuple[float, float]
    window: tuple[float, float]
    on: object
    moved: bool = False

    def step(self, number: object) -> Row:
        """The step of looking itself."""
        return {"do": "Look", "text": f"look {short(number) or ''}".strip()} | self._picture

    @property
    def _picture(self) -> Row:
        return {"image": self.image, "why": self.why, "moved": self.moved}

    def action(self, event: Row, values: dict[str, str]) -> Row:
        """The step of an action, with its marks as fractions of the screenshot."""
        action = event.get("asked")
        if not isinstance(action, dict):
            rest = {key: value for key, value in event.items() if key != "step"}
            text = clean(json.dumps(rest, ensure_ascii=False), limit=TEXT_LIMIT)
            return {"do": "Note", "text": text} | self._picture
        # A field that was shown or a turned page moves what stands below.
        self.moved |= event.get("on") != self.on
        step = {
            "do": short(action.get("do")) or "?", "text": _operand(action),
            "done": _operand(event["done"]) if isinstance(event.get("done"), dict) else None,
            "refused": short(event.get("refused")),
            "mark": _fractions([action.get("x"), action.get("y")], self.size),
        } | self._picture  # fmt: skip
        pointed = action.get("do") in POINTED
        target = event.get("target")
        hit = event["hit"] if pointed and "hit" in event else target
        if isinstance(hit, dict) and hit.get("field") not in ("body", "html"):
            box = hit.get("box")
            step |= {name: short(hit.get(name)) for name in ("field", "option")}
            step["box"] = _fractions(box, self.window) if isinstance(box, list) else None
        elif pointed and not step["refused"]:
            # Without a log of hits, an element that left no state has turned the page.
            step["field"] = None
            step["gone"] = "hit" not in event
        step |= _values(event, target if isinstance(target, dict) else {}, values)
        if self.moved:
            # The marks would lie on a picture of another place of the page.
            step |= {"mark": None, "box": None}
        gone = pointed and target is None and not step["refused"] and event.get("hit", 1)
        self.moved |= action.get("do") == "Scroll" or bool(gone)
        return step


def _values(event: Row, control: Row, values: dict[str, str]) -> Row:
    """The control's content after the action, and all that the action changed."""
    field, option = control.get("field"), control.get("option")
    content = _content(control.get("checked" if option is not None else "value"))
    key = f"{field}\n{option}"
    before = values.get(key)
    if content is not None:
        values[key] = content
    changed = event.get("changed")
    rows = []
    if isinstance(changed, list):
        whole = [row for row in changed if isinstance(row, list) and len(row) == 4][:50]
        rows = [(f, o, _content(b), _content(a)) for f, o, b, a in whole]
    elif content is not None and before is not None and content != before:
        rows = [(field, option, before, content)]
    changes = [
        {"field": short(f), "option": short(o), "before": b, "after": a} for f, o, b, a in rows
    ]
    return {"content": content, "changes": changes}


def _content(value: object) -> str | None:
    if isinstance(value, bool):
        return "ticked" if value else "not ticked"
    return clean(value, limit=VALUE_LIMIT) if isinstance(value, str) else None


def _operand(action: Row) -> str:
    """The point, the distance or the text of an action."""
    if "x" in action and "y" in action:
        x, y = (number(action[side]) for side in "xy")
        return "(no point)" if x is None or y is None else f"({x:.0f}, {y:.0f})"
    if "dy" in action:
        return f"{number(action['dy']) or 0:.0f} pixels"
    return clean(action.get("text", action.get("key", "")), limit=VALUE_LIMIT)


def _fractions(values: Sequence[object], size: tuple[float, float]) -> list[float] | None:
    """Pixels x, y (, x1, y1) as fractions of the image's size; None where one is no number."""
    numbers = [n for n in map(number, values) if n is not None]
    if len(numbers) != len(values) or len(numbers) not in (2, 4):
        return None
    return [round(value / size[k % 2], 5) for k, value in enumerate(numbers)]


def pair(values: object) -> tuple[float, float]:
    """A width and a height; 1 for what is none, so that nothing divides by zero."""
    numbers = [number(value) for value in values] if isinstance(values, list) else []
    width, height = (*numbers, None, None)[:2]
    return (width or 1.0, height or 1.0)


def number(value: object) -> float | None:
    """A number that a page can be drawn with, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # NaN and the infinities are not below it either.
    return value if abs(value) < 1e9 else None


def short(value: object) -> str | None:
    """Anything as a text of bounded length."""
    return None if value is None else clean(value, limit=VALUE_LIMIT)
