"""FormFactory's task for a model: where to click on the screenshots, and what to type there."""

from __future__ import annotations

import math
from typing import Any

from formlab.metrics.actions import parse_lines
from formlab.systems.chat import _ask
from formlab.systems.chat._ask import Ask, Place, Row, WrongShape
from formlab.text.normalise import as_text

ACTIONS = _ask.closed(
    actions=_ask.listed(_ask.closed(page=_ask.PAGE, x=_ask.NUMBER, y=_ask.NUMBER, value=_ask.TEXT))
)
_BLANK = {"task": "click", "path": None, "kind": "page"}


def lines(document: Row, _gold: list[Row]) -> Ask:
    """The actions as FormFactory has them, a line each: ``[x, y] value``."""
    return Ask(_asked(document), None, line_rows, [_BLANK], lacking=_lacking(document))


def actions(document: Row, _gold: list[Row]) -> Ask:
    """The actions as JSON."""
    return Ask(_asked(document), ACTIONS, action_rows, [_BLANK], lacking=_lacking(document))


def _asked(document: Row) -> Row:
    return {"FORM": document["template"], "TEXT": document["context"]}


def _lacking(document: Row) -> str:
    return "" if document["context"] else "this instance has no text to fill the form in from"


def line_rows(value: Any, locate: Place) -> list[Row]:
    """The output as it stands, and its actions; `WrongShape` if no line starts with a point."""
    text = as_text(value)
    parsed = parse_lines(text)
    if not parsed:
        raise WrongShape("no line '[x, y] value'")
    rows = [(line.x, line.y, line.value, line.page) for line in parsed]
    return _rows(text, rows, locate)


def action_rows(value: Any, locate: Place) -> list[Row]:
    """The actions of a JSON answer, and the same as lines for whoever reads the output as text."""
    points = []
    for item in _ask.items_of(value, "actions"):
        x, y, page = (_number(item.get(name)) for name in ("x", "y", "page"))
        points.append((x, y, as_text(item.get("value")), page))
    text = "\n".join(f"[{x:g}, {y:g}] {value}" for x, y, value, _ in points)
    return _rows(text, points, locate)


def _rows(text: str, points: list[tuple[float, float, str, float]], locate: Place) -> list[Row]:
    rows: list[Row] = [_BLANK | {"value": text}]
    for number, (x, y, value, page) in enumerate(points):
        known = math.isfinite(page)
        row = {"task": "click", "path": f"/lines/{number}", "kind": "line", "value": value}
        row |= locate(page if known else 1, [x, y, x, y])
        # Without its page a click is on whichever screenshot it suits.
        rows.append(row if known else row | {"page": None})
    return rows


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
