"""Reads the actions in a model's answer, whatever its form."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

from formlab.systems import chat
from formlab.systems.chat.answers import content
from formlab.tables import USABLE
from formlab.text.llm_json import as_text
from formlab_arena import actions
from formlab_arena.actions import Action, Click, DoubleClick, Press, RightClick, Scroll, Type

_TEXT, _SIDE = {"type": ["string", "null"]}, {"type": ["number", "null"]}
_MEMBERS = {
    "do": {
        "type": "string",
        "enum": ["Click", "DoubleClick", "RightClick", "Type", "Press", "Scroll"],
    },
    "x": _SIDE, "y": _SIDE, "text": _TEXT, "key": _TEXT, "dy": _SIDE,
}  # fmt: skip
SCHEMA: dict[str, Any] = {
    "type": "object", "required": ["actions"], "additionalProperties": False,
    "properties": {"actions": {"type": "array", "items": {
        "type": "object", "properties": _MEMBERS, "required": list(_MEMBERS),
        "additionalProperties": False,
    }}},
}  # fmt: skip
_POINTED = {
    "click": Click, "leftclick": Click, "tap": Click, "doubleclick": DoubleClick,
    "rightclick": RightClick,
}  # fmt: skip
_LIST = re.compile(r"(?:\s*```[ \t]*\w*[ \t]*\n)?\s*(\[.*\])\s*(?:```\s*)?", re.DOTALL)
# More than any page asks for: longer answers repeat themselves.
_MOST, _FARTHEST, _SHOWN = 300, 100_000.0, 120


@dataclasses.dataclass(frozen=True)
class Replied:
    """What an answer holds: actions as the model gave them, its status, and what was wrong.

    With a usable `status`, no actions mean that nothing is left to do.
    """

    actions: tuple[Action, ...]
    status: str
    changes: tuple[str, ...] = ()


def read(answer: chat.Answer) -> Replied:
    """The actions of an answer: as JSON, in a list or alone, or as lines ``Click(x, y)``.

    Examples
    --------
    >>> read(chat.Answer("k", text='{"actions": [{"do": "Click", "x": 5, "y": "7"}]}')).actions
    (Click(x=5.0, y=7.0),)
    >>> read(chat.Answer("k", text='Sure:\\nClick(5, 7)\\nType("Ada")')).status
    'repaired'
    >>> read(chat.Answer("k", text="<html>Hello</html>")).status
    'bad_json'
    """
    text = answer.text or ""
    if bare := _LIST.fullmatch(text) if len(text) < 1_000_000 else None:
        answer = dataclasses.replace(answer, text=f'{{"actions": {bare[1]}}}')
    parsed = content(answer, json=True)
    if parsed.status in USABLE and isinstance(parsed.value, dict):
        return _of_json(parsed.value, "repaired" if bare else parsed.status, parsed.changes)
    if parsed.status != "bad_json":
        return Replied((), parsed.status, parsed.changes)
    lines, other = actions.parse(text)
    if not lines:
        return Replied((), "bad_json", parsed.changes)
    unread = (f"lines left out: {len(other)}",) if other else ()
    return Replied(tuple(lines[:_MOST]), "repaired", ("actions as lines", *unread))


def _of_json(value: dict[str, Any], status: str, changes: tuple[str, ...]) -> Replied:
    items = value.get("actions", value.get("action", [value]))
    items = items if isinstance(items, list) else [items]
    made, odd = [], []
    for item in items[:_MOST]:
        parsed = actions.parse(item)[0] if isinstance(item, str) else [_action(item)]
        made += [action for action in parsed if action is not None]
        odd += [] if parsed and None not in parsed else [as_text(item)[:_SHOWN]]
    lines = sum(isinstance(item, str) for item in items[:_MOST])
    notes = (f"actions as lines: {lines}",) if lines else ()
    notes += (f"no action: {odd[0]} ({len(odd)} in all)",) if odd else ()
    notes += (f"actions beyond the first {_MOST} left out",) if len(items) > _MOST else ()
    if items and not made:
        return Replied((), "bad_json", (*changes, *notes))
    return Replied(tuple(made), "repaired" if notes else status, (*changes, *notes))


def _action(item: Any) -> Action | None:
    """The action of one object; None if it is not all there."""
    if not isinstance(item, dict):
        return None
    named = next((item[key] for key in ("do", "action", "type", "name") if item.get(key)), "")
    name = re.sub(r"[^a-z]", "", named.lower()) if isinstance(named, str) else ""
    if name in _POINTED:
        x, y = _point(item)
        return _POINTED[name](x, y) if x is not None and y is not None else None
    if name in ("type", "typetext", "write", "input"):
        return Type(as_text(item["text"])) if item.get("text") is not None else None
    if name in ("press", "key", "hotkey", "presskey"):
        key = item.get("key") or item.get("text")
        return Press(key.strip()) if isinstance(key, str) and key.strip() else None
    if name == "scroll":
        down = _number(item.get("dy") if item.get("dy") is not None else item.get("y"))
        return Scroll(down) if down is not None else None
    return None


def _point(item: dict[str, Any]) -> tuple[float | None, float | None]:
    pair = next((item[key] for key in ("point", "coordinate", "position") if item.get(key)), None)
    if isinstance(pair, list) and len(pair) == 2:
        return _number(pair[0]), _number(pair[1])
    return _number(item.get("x")), _number(item.get("y"))


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and abs(number) <= _FARTHEST else None
