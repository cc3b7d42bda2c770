"""Google Document AI: entities with their properties, form fields, words.

The document or the response around it, in camelCase or snake_case.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formlab.errors import DataBroken
from formlab.readers import engine
from formlab.readers.door import as_text
from formlab.readers.engine import Found, Page, Reading, keyed, member, number, whole
from formlab.trees import escape

_NAMES = rb"text_?Anchor|text_?Segments|mention_?Text|page_?Anchor|human_?Review_?Status"
_MARK = re.compile(rb'"(?:%b)"\s*:' % _NAMES, re.IGNORECASE)
_TICKS = ("filled_checkbox", "unfilled_checkbox")
_NO_PAGE = Page(1, 1, False, [], [])


def _read(path: Path) -> Reading:
    content = engine.read_json(path)
    document = member(content, "document", dict) or content
    pages, entities = (member(document, name, list) for name in ("pages", "entities"))
    if not pages and not entities:
        said = member(document, "error") or member(content, "error") or "no pages or entities"
        raise DataBroken(as_text(said), where=path)
    text, fields, reading = member(document, "text", str), [], Reading()
    for place, page in enumerate(pages, start=1):
        dimension = member(page, "dimension", dict)
        sides = number(member(dimension, "width")), number(member(dimension, "height"))
        bare = _NO_PAGE._replace(width=sides[0], height=sides[1], in_pixels=True)
        bare = bare if all(sides) else _NO_PAGE
        lines, words = (
            [
                _layout(member(part, "layout", dict), bare, place, text)
                for part in member(page, name, list)
            ]
            for name in ("lines", "tokens")
        )
        reading.pages[place] = bare._replace(lines=engine.with_words(lines, words), marks=[])
        fields += [_field(f, bare, place, text) for f in member(page, "formFields", list)]
    reading.values = list(_entities(entities, "", reading.pages)) or keyed(fields)
    return reading


def _layout(layout: Any, page: Page, place: int, text: str) -> tuple[Found, list[tuple[int, int]]]:
    """A part of a page, and where it begins and ends in the text; a place of 0 is left out."""
    anchor = member(layout, "textAnchor", dict)
    places = [[whole(member(segment, side), 0) for side in ("startIndex", "endIndex")]
              for segment in member(anchor, "textSegments", list)]  # fmt: skip
    spans = [(max(0, start), end) for start, end in places]
    said = member(anchor, "content", str) or "".join(text[slice(*span)] for span in spans)
    box = _box(member(layout, "boundingPoly", dict), page)
    sure = number(member(layout, "confidence"))
    return Found(" ".join(said.split()), box, sure, place), spans


def _box(outline: Any, page: Page) -> engine.Box | None:
    """The box of an outline in fractions of a page, or in its pixels; a place of 0 is left out."""
    shares = member(outline, "normalizedVertices", list)
    corners = shares or member(outline, "vertices", list)
    box = engine.around((member(c, "x") or 0, member(c, "y") or 0) for c in corners)
    width, height = (page.width, page.height) if shares else (1, 1)
    return box and (box[0] * width, box[1] * height, box[2] * width, box[3] * height)


def _field(field: Any, page: Page, place: int, text: str) -> tuple[str, Found]:
    sides = (member(field, side, dict) for side in ("fieldName", "fieldValue"))
    (name, _), (value, _) = (_layout(side, page, place, text) for side in sides)
    tick = member(field, "valueType")
    stated = tick if tick in _TICKS else member(field, "correctedValueText", str) or value.text
    return member(field, "correctedKeyText", str) or name.text, value._replace(text=stated)


def _entities(entities: list[Any], start: str, pages: dict[int, Page]) -> Iterator[Any]:
    """Entities at their types; those of a type that comes again or has properties are a list."""
    names = [str(member(e, "type") or member(e, "type_")).rpartition("/")[2] for e in entities]
    counts, numbers = Counter(names), Counter[str]()
    for name, entity in zip(names, entities, strict=True):
        properties = member(entity, "properties", list)
        is_listed = counts[name] > 1 or properties
        path = f"{start}/{escape(name)}" + (f"/{numbers[name]}" if is_listed else "")
        numbers[name] += 1
        yield from _entities(properties, path, pages)
        if not properties:
            anchor = next(iter(member(member(entity, "pageAnchor", dict), "pageRefs", list)), {})
            place = whole(member(anchor, "page"), 0) + 1
            box = _box(member(anchor, "boundingPoly", dict), pages.get(place, _NO_PAGE))
            normal = member(entity, "normalizedValue", dict)
            said = member(normal, "text") or member(normal, "booleanValue")
            said = member(entity, "mentionText", str).strip() or as_text(said)
            yield path, Found(said, box, number(member(entity, "confidence")), place)


DOCUMENT_AI = engine.reader("document_ai", "Google Document AI", (".json",), _MARK.search, _read)
