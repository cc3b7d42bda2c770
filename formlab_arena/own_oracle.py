"""What the oracle does on formlab's own forms: with the mouse and the keyboard, as people do."""

from collections.abc import Mapping
from typing import Any

from formlab_arena.actions import Action, Click, Press, Scroll, Type
from formlab_arena.observation import Element, Observation

# The browser's list and that of a script; what is no field, or a part of an open list.
_LISTS, _NONE = ("select", "combobox"), ("button", "listbox", "option")


def own_actions(values: Mapping[str, Any], observation: Observation) -> list[Action]:
    """On formlab's own forms: all that is still to do in view; else scroll; else turn the page.

    It looks again after a field that may show or hide others.
    """
    # The targets' boxes are of the window; the agent answers in pixels of the image.
    scale = observation.scale
    width, height = (side / scale for side in observation.size)
    below = above = False
    actions: list[Action] = []
    for target in observation.elements:
        todo = _todo(target, values.get(target.field), scale)
        if not todo:
            continue
        if _is_in_view(target, width, height):
            actions += todo
            if target.kind in (*_LISTS, "radio", "checkbox"):
                return actions
        elif not actions:
            below |= target.middle[1] > height / 2
            above |= target.middle[1] <= height / 2
    if actions:
        return actions
    if above or below:
        return [Scroll((0.6 if below else -0.6) * observation.size[1])]
    return _turn(observation, width, height)


def _todo(target: Element, value: Any, scale: float) -> list[Action]:
    click = Click(*(side * scale for side in target.middle))
    if target.kind in ("radio", "checkbox"):
        if value is None:
            return []
        if not isinstance(value, bool):
            value = target.option in (value if isinstance(value, list) else [value])
        return [click] if value != target.checked else []
    text = "" if value is None or isinstance(value, bool) else str(value)
    if target.field.startswith("_") or target.value == text or target.kind in _NONE:
        return []
    if target.kind in _LISTS:
        if not text:
            return []
        at = target.options.index(text) if text in target.options else 0
        return [click, Press("Home"), *[Press("ArrowDown")] * at, Press("Enter")]
    if target.kind == "file":
        return [click, Type(text)]
    return [click, Press("Control+A"), Type(text)]


def _turn(observation: Observation, width: float, height: float) -> list[Action]:
    for target in observation.elements:
        if target.field in ("_next", "_submit"):
            if _is_in_view(target, width, height):
                return [Click(*(side * observation.scale for side in target.middle))]
            return [Scroll(0.6 * observation.size[1])]
    return []


def _is_in_view(target: Element, width: float, height: float) -> bool:
    inside = 0 <= target.middle[0] < width
    return inside and target.box[1] >= 0 and target.box[3] < height
