"""FormFactory's task for a model: where to click on the screenshots, and what to type there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from formlab.metrics.actions import ActionLine, line_rows, parse_lines
from formlab.systems.chat import _ask
from formlab.systems.chat._ask import Ask, Place, Row, WrongShape
from formlab.tables import BOX
from formlab.text.normalise import as_text

ACTIONS = _ask.closed(
    actions=_ask.listed(_ask.closed(page=_ask.PAGE, x=_ask.NUMBER, y=_ask.NUMBER, value=_ask.TEXT))
)
_BLANK = {"task": "click", "path": None, "kind": "page"}


def lines(document: Row, _gold: list[Row]) -> Ask:
    """The actions as FormFactory has them, a line each: ``[x, y] value``."""
    return Ask(_asked(document), None, output_rows, [_BLANK], lacking=_lacking(document))


def actions(document: Row, _gold: list[Row]) -> Ask:
    """The actions as JSON."""
    return Ask(_asked(document), ACTIONS, action_rows, [_BLANK], lacking=_lacking(document))


def _asked(document: Row) -> Row:
    return {"FORM": document["template"], "TEXT": document["context"]}


def _lacking(document: Row) -> str:
    return "" if document["context"] else "this instance has no text to fill the form in from"


def output_rows(value: Any, locate: Place) -> list[Row]:
    """The output as it stands, and its actions; `WrongShape` if no line starts with a point."""
    text = as_text(value)
    if not (lines := parse_lines(text)):
        raise WrongShape("no line '[x, y] value'")
    return _rows(text, lines, locate)


def action_rows(value: Any, locate: Place) -> list[Row]:
    """The actions of a JSON answer, and the same as lines for whoever reads the output as text."""
    lines = []
    for item in _ask.items_of(value, "actions"):
        x, y, page = (_number(item.get(name)) for name in ("x", "y", "page"))
        lines.append(ActionLine(x, y, as_text(item.get("value")), page))
    return _rows("\n".join(f"[{x:g}, {y:g}] {value}" for x, y, value, *_ in lines), lines, locate)


def _rows(text: str, lines: Sequence[ActionLine], locate: Place) -> list[Row]:
    rows = list(line_rows(lines))
    for row in rows:
        # Without its page a click is on whichever screenshot it suits.
        page, box = row["page"], [row.pop(side) for side in BOX]
        row |= locate(1 if page is None else page, box) | ({"page": None} if page is None else {})
    return [_BLANK | {"value": text}, *rows]


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
