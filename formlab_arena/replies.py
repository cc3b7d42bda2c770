"""Reads the actions in a model's answer, whatever its form."""

import dataclasses
import re
from typing import Any

from formlab.systems import chat
from formlab.systems.chat.answers import content
from formlab.tables import USABLE
from formlab.text.normalise import as_text
from formlab_arena.actions import Action
from formlab_arena.notation import made, parse, schema

# What an agent may do that sees pixels alone. Stored answers are found by it: it stays as it is.
PIXELS = schema(
    ("Click", "DoubleClick", "RightClick", "Type", "Press", "Scroll"),
    only=("x", "y", "text", "key", "dy"),
)
ELEMENTS = schema()
_LIST = re.compile(r"(?:\s*```[ \t]*\w*[ \t]*\n)?\s*(\[.*\])\s*(?:```\s*)?", re.DOTALL)
# More than any page asks for: longer answers repeat themselves.
_MOST, _SHOWN = 300, 120


@dataclasses.dataclass(frozen=True)
class Replied:
    """What an answer holds: actions as the model gave them, its status, and what was wrong.

    With a usable `status`, no actions mean that nothing is left to do.
    """

    actions: tuple[Action, ...]
    status: str
    changes: tuple[str, ...] = ()


def read(answer: chat.Answer) -> Replied:
    """The actions of an answer: as JSON, in a list or alone, or as lines, see `notation`.

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
    parsed = content(answer, json=True, calls=False)
    if parsed.status not in (*USABLE, "bad_json"):
        return Replied((), parsed.status, parsed.changes)
    lines, other = parse(text)
    # A text that is typed may hold braces.
    if isinstance(parsed.value, dict) and (other or not lines):
        return _of_json(parsed.value, "repaired" if bare else parsed.status, parsed.changes)
    if not lines:
        return Replied((), "bad_json", parsed.changes)
    unread = (f"lines left out: {len(other)}",) if other else ()
    return Replied(tuple(lines[:_MOST]), "repaired", ("actions as lines", *unread))


def _of_json(value: dict[str, Any], status: str, changes: tuple[str, ...]) -> Replied:
    items = value.get("actions", value.get("action", [value]))
    if isinstance(items, str) and not parse(items)[0]:
        # The name of the action of an object that is one action.
        items = value
    items = items if isinstance(items, list) else [items]
    made, odd = [], []
    for item in items[:_MOST]:
        parsed = parse(item)[0] if isinstance(item, str) else [_action(item)]
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
    name = next((item[key] for key in ("do", "action", "type", "name") if item.get(key)), "")
    arguments = item.get("arguments")
    named = item | arguments if isinstance(arguments, dict) else item
    return made(name, named=named) if isinstance(name, str) else None
