"""Google Document AI: entities with their properties, form fields, words.

The document or the response around it, in camelCase or snake_case.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formlab.readers.door import as_text

from formlab.errors import DataBroken
from formlab.readers import engine
from formlab.readers.engine import Found, Page, Reading, member, number, whole
from formlab.trees import escape

_NAMES = (
    rb"text_?Anchor|text_?Segments|mention_?Text|page_?Anchor|human_?Review_?Status|shard_?Info"
)
_MARK = re.compile(rb'"(?:%b)"\s*:' % _NAMES, re.IGNORECASE)
_TICKS = ("filled_checkbox", "unfilled_checkbox")


def _read(path: Path) -> Reading:
    content = engine.read_json(path)
    document = member(content, "document", dict) or content
    if failure := member(document, "error", dict):
        return Reading(error=f"failed: {as_text(failure.get('message'))}")
    if not {"text", "pages", "entities"} & document.keys():
        raise DataBroken("no text, pages or entities", where=path)
    text, reading = member(document, "text", str), Reading()
    pages = member(document, "pages", list)
    for place, page in enumerate(pages, start=1):
        reading.pages[place] = _page(page, place, text)
    entities = member(document, "entities", list)
    reading.values += _entities(entities, "", reading.pages)
    if not entities:
        for place, page in enumerate(pages, start=1):
            fields = member(page, "formFields", list)
            reading.add_keys(_field(field, reading.pages[place], place, text) for field in fields)
    return reading


def _page(page: Any, place: int, text: str) -> Page:
    dimension = member(page, "dimension", dict)
    sides = number(dimension.get("width")) or 0, number(dimension.get("height")) or 0
    bare = Page(*sides, True, []) if all(sides) else Page(1, 1, False, [])
    parts = {name: member(page, name, list) for name in ("lines", "tokens")}
    lines, words = (
        [(_layout(member(part, "layout", dict), bare, place, text), _spans(part)) for part in some]
        for some in parts.values()
    )
    read = engine.with_words(lines, ((spans[0][0] if spans else -1, w) for w, spans in words))
    return bare._replace(lines=read)


def _spans(part: Any) -> list[tuple[int, int]]:
    """Where the parts of a layout begin and end in the text; a start of 0 is left out."""
    anchor = member(part, "textAnchor", dict) or member(
        member(part, "layout", dict), "textAnchor", dict
    )
    segments = member(anchor, "textSegments", list)
    starts = [whole(member(segment, "startIndex"), 0) for segment in segments]
    ends = [whole(member(segment, "endIndex"), 0) for segment in segments]
    return list(zip(starts, ends, strict=True))


def _layout(layout: Any, page: Page, place: int, text: str) -> Found:
    stated = member(member(layout, "textAnchor", dict), "content", str)
    parts = stated or "".join(text[max(0, start) : end] for start, end in _spans(layout))
    box = _box(member(layout, "boundingPoly", dict), page)
    return Found(" ".join(parts.split()), box, number(member(layout, "confidence")), place)


def _box(outline: Any, page: Page) -> engine.Box | None:
    """The box of an outline in fractions of a page, or in its pixels."""
    shares = member(outline, "normalizedVertices", list)
    scale = (page.width, page.height) if shares else (1, 1)
    corners = shares or member(outline, "vertices", list)
    points = [[number(member(corner, side) or 0) for side in "xy"] for corner in corners]
    if any(None in point for point in points):
        return None
    return engine.around((x * scale[0], y * scale[1]) for x, y in points)


def _field(field: Any, page: Page, place: int, text: str) -> tuple[str, Found]:
    name, value = (
        _layout(member(field, side, dict), page, place, text)
        for side in ("fieldName", "fieldValue")
    )
    key = member(field, "correctedKeyText", str) or name.text
    tick = member(field, "valueType", str)
    stated = tick if tick in _TICKS else member(field, "correctedValueText", str) or value.text
    return key or "", value._replace(text=stated)


def _entities(
    entities: list[Any], start: str, pages: dict[int, Page], depth: int = 0
) -> Iterator[tuple[str, Found]]:
    """Entities at their types, those of a type that comes again or has properties as a list."""
    names = [str(member(e, "type") or member(e, "type_")).rpartition("/")[2] for e in entities]
    counts, numbers = Counter(names), Counter[str]()
    for name, entity in zip(names, entities, strict=True):
        properties = member(entity, "properties", list)
        path = f"{start}/{escape(name)}"
        if counts[name] > 1 or properties:
            path += f"/{numbers[name]}"
        numbers[name] += 1
        if properties:
            yield from _entities(properties, path, pages, depth + 1)
            continue
        references = member(member(entity, "pageAnchor", dict), "pageRefs", list)
        reference = references[0] if references else {}
        place = whole(member(reference, "page"), 0) + 1
        outline = member(reference, "boundingPoly", dict)
        box = _box(outline, pages.get(place, Page(1, 1, False, [])))
        normal = member(entity, "normalizedValue", dict)
        said = normal.get("text") or member(normal, "booleanValue")
        text = member(entity, "mentionText", str).strip() or as_text(said)
        yield path, Found(text, box, number(member(entity, "confidence")), place)


DOCUMENT_AI = engine.reader(
    "document_ai", "Google Document AI", (".json",), lambda head: bool(_MARK.search(head)), _read
)
