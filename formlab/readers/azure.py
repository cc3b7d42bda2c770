"""Azure Document Intelligence: fields of prebuilt and own models, key-value pairs, words.

The whole response, its `analyzeResult`, or what either of the Python clients writes of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formlab.readers.door import as_text

from formlab.errors import DataBroken
from formlab.readers import engine
from formlab.readers.engine import Found, Page, Reading, member, number, whole
from formlab.trees import escape

_PARTS = ("pages", "documents", "keyValuePairs")
_MARK = re.compile(rb'"(?:analyze_?Result|(?:model|operation)_?Id|doc_?Type)"\s*:', re.IGNORECASE)


def _read(path: Path) -> Reading:
    content = engine.read_json(path)
    result = member(content, "analyzeResult", dict) or content
    failure = member(content, "error", dict)
    if failure or content.get("status") == "failed":
        return Reading(error=f"failed: {as_text(failure.get('message') or failure)}")
    if not any(member(result, part) is not None for part in _PARTS):
        raise DataBroken("no pages, documents or keyValuePairs", where=path)
    reading = Reading()
    for page in member(result, "pages", list):
        place = whole(member(page, "pageNumber"), 1)
        sides = number(member(page, "width")), number(member(page, "height"))
        marks = [_on(place, mark, "state") for mark in member(page, "selectionMarks", list)]
        is_picture = member(page, "unit") == "pixel"
        reading.pages[place] = Page(*sides, is_picture, _lines(page, place), marks)
    documents = member(result, "documents", list)
    for count, document in enumerate(documents):
        start = f"/{count}" if len(documents) > 1 else ""
        for name, value in member(document, "fields", dict).items():
            reading.values += _fields(f"{start}/{escape(name)}", value)
    if not reading.values:
        pairs = member(result, "keyValuePairs", list)
        sides = [[member(pair, side, dict) for side in ("key", "value")] for pair in pairs]
        values = [_found(value, pair) for pair, (_, value) in zip(pairs, sides, strict=True)]
        keys = [member(key, "content", str) for key, _ in sides]
        reading.add_keys(zip(keys, values, strict=True))
    return reading


def _fields(path: str, value: Any) -> Iterator[tuple[str, Found]]:
    """A field, or those in a list or an object, as the page shows them."""
    if not isinstance(value, dict):
        return
    names = (name for name in value if name.startswith("value") and "ype" not in name)
    typed = next((value[name] for name in names if value[name] is not None), None)
    kind = str(member(value, "type") or member(value, "valueType"))
    if isinstance(typed, list):
        for place, item in enumerate(typed):
            yield from _fields(f"{path}/{place}", item)
    elif isinstance(typed, dict) and kind in ("object", "dictionary"):
        for name, inner in typed.items():
            yield from _fields(f"{path}/{escape(name)}", inner)
    else:
        if isinstance(typed, dict) and "amount" in typed:
            currency = member(typed, "currencySymbol") or member(typed, "symbol")
            typed = f"{currency or ''}{as_text(typed['amount'])}"
        shown = None if kind.lower() == "selectionmark" else member(value, "content")
        yield path, _found(value, value)._replace(text=as_text(typed if shown is None else shown))


def _found(value: Any, sure: Any) -> Found:
    region = next(iter(member(value, "boundingRegions", list)), {})
    found = _on(whole(member(region, "pageNumber"), 1), region, "")
    text = member(value, "content", str).replace("\n", " ")
    return found._replace(text=text, confidence=number(member(sure, "confidence")))


def _lines(page: Any, place: int) -> list[Found]:
    words = [(_span(word)[0][0], _on(place, word)) for word in member(page, "words", list)]
    lines = [(_on(place, line), _span(line)) for line in member(page, "lines", list)]
    return engine.with_words(lines, words)


def _span(value: Any) -> list[tuple[int, int]]:
    """Where a word or the parts of a line begin and end in the text."""
    spans = member(value, "spans", list) or [member(value, "span", dict)]
    starts = [whole(member(span, "offset"), -1) for span in spans]
    lengths = [whole(member(span, "length"), 0) for span in spans]
    return [(start, start + length) for start, length in zip(starts, lengths, strict=True)]


def _on(page: int, value: Any, text: str = "content") -> Found:
    corners = member(value, "polygon", list)
    if not all(isinstance(corner, dict) for corner in corners):
        corners = [{"x": x, "y": y} for x, y in zip(corners[::2], corners[1::2], strict=False)]
    box = engine.around((corner.get("x"), corner.get("y")) for corner in corners)
    return Found(member(value, text, str), box, number(member(value, "confidence")), page)


AZURE = engine.reader(
    "azure",
    "Azure Document Intelligence",
    (".json",),
    lambda head: bool(_MARK.search(head)),
    _read,
)
