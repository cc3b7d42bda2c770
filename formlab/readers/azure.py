"""Azure Document Intelligence: fields of prebuilt and own models, key-value pairs, words.

The whole response, its `analyzeResult`, or what either of the Python clients writes of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formlab.errors import DataBroken
from formlab.readers import engine
from formlab.readers.door import as_text
from formlab.readers.engine import Found, Page, Reading, Spans, keyed, member, number, whole
from formlab.trees import escape

_MARK = re.compile(rb'"(?:analyze_?Result|(?:model|operation)_?Id|doc_?Type)"\s*:', re.IGNORECASE)


def _read(path: Path) -> Reading:
    content = engine.read_json(path)
    result = member(content, "analyzeResult", dict) or content
    names = ("pages", "documents", "keyValuePairs")
    pages, documents, pairs = (member(result, name, list) for name in names)
    if not (pages or documents or pairs):
        said = member(content, "error") or f"none of {', '.join(names)}"
        raise DataBroken(as_text(said), where=path)
    reading = Reading(pages={whole(member(page, "pageNumber")): _page(page) for page in pages})
    for count, document in enumerate(documents):
        start = f"/{count}" if len(documents) > 1 else ""
        for name, value in member(document, "fields", dict).items():
            reading.values += _fields(f"{start}/{escape(name)}", value)
    keys = [member(member(pair, "key", dict), "content", str) for pair in pairs]
    values = [_found(member(pair, "value", dict), pair) for pair in pairs]
    reading.values = reading.values or keyed(zip(keys, values, strict=True))
    return reading


def _page(page: Any) -> Page:
    place, size = whole(member(page, "pageNumber")), [member(page, s) for s in ("width", "height")]
    lines, words = (
        [(_on_page(part, place), _spans(part)) for part in member(page, name, list)]
        for name in ("lines", "words")
    )
    marks = [_on_page(mark, place, "state") for mark in member(page, "selectionMarks", list)]
    in_pixels, sides = member(page, "unit") == "pixel", (number(size[0]), number(size[1]))
    return Page(sides, in_pixels, engine.with_words(lines, words), marks)


def _fields(path: str, value: Any) -> Iterator[tuple[str, Found]]:
    """A field as its page shows it, or those in a list or an object."""
    kind = str(member(value, "type") or member(value, "valueType")).lower()
    names = [name for name in value if re.match(r"value(?!_?type)", name, re.IGNORECASE)]
    typed = next((value[name] for name in names if value[name] is not None), None)
    if isinstance(typed, list):
        for place, item in enumerate(typed):
            yield from _fields(f"{path}/{place}", item)
    elif isinstance(typed, dict) and kind in ("object", "dictionary"):
        for name, inner in typed.items():
            yield from _fields(f"{path}/{escape(name)}", inner)
    else:
        found = _found(value, value)
        is_shown = found.text and kind != "selectionmark"
        yield path, found if is_shown else found._replace(text=as_text(typed))


def _found(value: Any, sure: Any) -> Found:
    region = next(iter(member(value, "boundingRegions", list)), {})
    place, outline = whole(member(region, "pageNumber")), {"polygon": member(region, "polygon")}
    found = _on_page(value | outline, place)
    return found._replace(confidence=number(member(sure, "confidence")))


def _on_page(value: Any, page: int, name: str = "content") -> Found:
    corners = member(value, "polygon", list)
    if all(isinstance(corner, dict) for corner in corners):
        corners = [corner.get(side) for corner in corners for side in "xy"]
    box = engine.around(zip(corners[::2], corners[1::2], strict=False))
    text = " ".join(member(value, name, str).split())
    return Found(text, box, number(member(value, "confidence")), page)


def _spans(value: Any) -> Spans:
    """Where a word or the parts of a line begin and end in the text."""
    spans = member(value, "spans", list) or [member(value, "span", dict)]
    places = [(whole(member(s, "offset"), -1), whole(member(s, "length"), 0)) for s in spans]
    return [(start, start + length) for start, length in places]


AZURE = engine.reader("azure", "Azure Document Intelligence", (".json",), _MARK.search, _read)
