"""The tasks whose documents are single pages: FUNSD's forms, SROIE's receipts, financial pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from formlab.systems.chat import _ask
from formlab.systems.chat._ask import Ask, Place, Row, WrongShape
from formlab.text.normalise import as_text

_LABELS = ("header", "question", "answer", "other")
FUNSD = _ask.closed(
    entities=_ask.listed(
        _ask.closed(text=_ask.TEXT, label={"type": "string", "enum": list(_LABELS)}, box=_ask.BOX)
    )
)
_PAGE = {"task": "text", "path": None, "kind": "page"}


def funsd(_document: Row, _gold: list[Row]) -> Ask:
    """The pieces of text of a form, with labels and boxes, in reading order."""
    return Ask({}, FUNSD, funsd_rows, [_PAGE])


def funsd_answer(_document: Row, gold: list[Row], place: Callable[[Row], Row]) -> Row:
    """The answer that `funsd_rows` reads as the gold."""
    pieces = [row for row in gold if row["kind"] in _LABELS and row["value"]]
    return {
        "entities": [
            {"text": row["value"], "label": row["kind"], "box": place(row)["box"]} for row in pieces
        ]
    }


def funsd_rows(value: Any, locate: Place) -> list[Row]:
    """The page's text, and each piece of it as a line at ``/chat/entities/<n>``.

    Pieces have no name that the gold could have: what is read is compared under the gold's boxes.
    """
    pieces = [(as_text(item.get("text")), item) for item in _ask.items_of(value, "entities")]
    pieces = [(text, item) for text, item in pieces if text.strip()]
    rows: list[Row] = [_PAGE | {"value": " ".join(text.strip() for text, _ in pieces)}]
    for number, (text, item) in enumerate(pieces):
        label = as_text(item.get("label")).strip().lower()
        row = {"task": "layout", "path": f"/chat/entities/{number}", "kind": "line", "value": text}
        row["subtype"] = label if label in _LABELS else None
        rows.append(row | locate(1, item.get("box")))
    return rows


def sroie(_document: Row, gold: list[Row]) -> Ask:
    """The keys of a receipt and its text."""
    paths = [r["path"] for r in gold if r["task"] == "text" and r["path"] and r["kind"] != "line"]
    keys = [path.removeprefix("/") for path in paths]
    schema = _ask.closed(
        **{key: _ask.or_null(_ask.TEXT) for key in keys}, lines=_ask.listed(_ask.TEXT)
    )
    return Ask({"KEYS": keys}, schema, partial(sroie_rows, keys), [_PAGE])


def sroie_rows(keys: list[str], value: Any, _locate: Place) -> list[Row]:
    """The page's text and the keys in the answer; `WrongShape` if neither is there."""
    if not isinstance(value, dict) or not {*keys, "lines"} & value.keys():
        raise WrongShape("none of the keys that were asked for")
    lines = value.get("lines")
    lines = [as_text(line).strip() for line in lines] if isinstance(lines, list) else []
    rows: list[Row] = [_PAGE | {"value": " ".join(filter(None, lines)) or None}]
    for key in keys:
        if value.get(key) is not None:
            row = {"task": "text", "path": f"/{key}", "kind": key, "value": as_text(value[key])}
            rows.append(row)
    return rows


def transcription(_document: Row, _gold: list[Row]) -> Ask:
    """The page as HTML."""
    return Ask({}, None, html_row, [_PAGE])


def html_row(value: Any, _locate: Place) -> list[Row]:
    """The one row of a page that was transcribed."""
    return [_PAGE | {"value": as_text(value)}]
