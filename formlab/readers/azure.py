"""Azure Document Intelligence's result, whole or in part: fields, key-value pairs, words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from formlab.readers import door, engine
from formlab.readers.door import as_text
from formlab.readers.engine import Found, Page, Reading, at, number, whole
from formlab.trees import escape

_MARK = rb"(?i:analyze_?Result|(?:model|operation)_?Id|doc_?Type)"
_VALUE = re.compile(r"value(?!_?type)", re.IGNORECASE)
_PARTS = ("pages", "documents", "keyValuePairs")


def _read(content: Any) -> Reading:
    result = at(content, "analyzeResult") or content
    pages, documents, pairs = (at(result, name) or [] for name in _PARTS)
    reading = Reading(pages={whole(at(page, "pageNumber")): _page(page) for page in pages})
    for count, document in enumerate(documents):
        fields = {"type": "object", "value": at(document, "fields") or {}}
        reading.values += _fields(f"/{count}" if len(documents) > 1 else "", fields)
    named = ((at(p, "key", "content"), _found(at(p, "value") or {}, sure=p)) for p in pairs)
    reading.values = reading.values or engine.keyed(named)
    return reading


def _page(page: Any) -> Page:
    place = whole(at(page, "pageNumber"))
    lines = engine.lines_of(page, "words", lambda part: (_found(part, place), _spans(part)))
    size = number(at(page, "width")), number(at(page, "height"))
    return Page(size, at(page, "unit") == "pixel", lines)


def _fields(path: str, value: Any) -> Iterator[tuple[str, Found]]:
    """A field as its page shows it, or those in a list or an object; null where it is absent."""
    kind = str(at(value, "type") or at(value, "valueType")).lower()
    stated = (inner for name, inner in value.items() if _VALUE.match(name) and inner is not None)
    typed = next(stated, None)
    if isinstance(typed, list) or (isinstance(typed, dict) and kind in ("object", "dictionary")):
        for name, inner in enumerate(typed) if isinstance(typed, list) else typed.items():
            yield from _fields(f"{path}/{escape(str(name))}", inner or {})
    else:
        found = _found(value)
        is_shown = found.text and kind != "selectionmark"
        yield path, found if is_shown else found._replace(text=as_text(typed))


def _found(value: Any, page: int = 1, sure: Any = None) -> Found:
    region = next(iter(at(value, "boundingRegions") or ()), value)
    corners = at(region, "polygon") or []
    if all(isinstance(corner, dict) for corner in corners):
        corners = [corner.get(side) for corner in corners for side in "xy"]
    box = door.around(zip(corners[::2], corners[1::2], strict=False))
    text, sure = " ".join((at(value, "content") or "").split()), at(sure or value, "confidence")
    return Found(text, box, number(sure), whole(at(region, "pageNumber"), page))


def _spans(value: Any) -> engine.Spans:
    """Where a word or the parts of a line begin and end in the text."""
    spans = at(value, "spans") or [at(value, "span") or {}]
    places = [(whole(at(s, "offset"), -1), whole(at(s, "length"), 0)) for s in spans]
    return [(start, start + length) for start, length in places]


AZURE = engine.json_reader("azure", "Azure Document Intelligence", _MARK, _read)
