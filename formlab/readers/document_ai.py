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
from formlab.readers.engine import Found, Page, Reading, Spans, keyed, member, number, whole
from formlab.trees import escape

_NAMES = rb"text_?Anchor|text_?Segments|mention_?Text|page_?Anchor|human_?Review_?Status"
_MARK = re.compile(rb'"(?:%b)"\s*:' % _NAMES, re.IGNORECASE)
_TICKS = ("filled_checkbox", "unfilled_checkbox")


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
        size = number(member(dimension, "width")), number(member(dimension, "height"))
        bare = Page(size if all(size) else (1, 1), all(size), [], [])
        lines, words = (
            [_layout(part, bare, place, text) for part in member(page, name, list)]
            for name in ("lines", "tokens")
        )
        reading.pages[place] = bare._replace(lines=engine.with_words(lines, words))
        fields += [_field(part, bare, place, text) for part in member(page, "formFields", list)]
    reading.values = list(_entities(entities, "", reading.pages)) or keyed(fields)
    return reading


def _layout(
    part: Any, page: Page, place: int, text: str, name: str = "layout"
) -> tuple[Found, Spans]:
    """A part of a page, and where it begins and ends in the text; a place of 0 is left out."""
    layout = member(part, name, dict)
    anchor = member(layout, "textAnchor", dict)
    segments = member(anchor, "textSegments", list)
    starts, ends = (
        [whole(member(s, f"{side}Index"), 0) for s in segments] for side in ("start", "end")
    )
    spans = [(max(0, start), end) for start, end in zip(starts, ends, strict=True)]
    said = member(anchor, "content", str) or "".join(text[slice(*span)] for span in spans)
    sure = number(member(layout, "confidence"))
    return Found(" ".join(said.split()), _box(layout, page), sure, place), spans


def _box(layout: Any, page: Page | None) -> engine.Box | None:
    """The box of an outline in fractions of a page, or in its pixels; a place of 0 is left out."""
    outline = member(layout, "boundingPoly", dict)
    shares = member(outline, "normalizedVertices", list)
    width, height = page.size if page and shares else (1, 1)
    corners = shares or member(outline, "vertices", list)
    box = engine.around((member(c, "x") or 0, member(c, "y") or 0) for c in corners)
    return box and (box[0] * width, box[1] * height, box[2] * width, box[3] * height)


def _field(field: Any, page: Page, place: int, text: str) -> tuple[str, Found]:
    name, value = (_layout(field, page, place, text, f"field{n}")[0] for n in ("Name", "Value"))
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
            place = next(iter(member(member(entity, "pageAnchor", dict), "pageRefs", list)), {})
            page, normal = (
                whole(member(place, "page"), 0) + 1,
                member(entity, "normalizedValue", dict),
            )
            said = member(normal, "text") or member(normal, "booleanValue")
            said = member(entity, "mentionText", str).strip() or as_text(said)
            sure, box = number(member(entity, "confidence")), _box(place, pages.get(page))
            yield path, Found(said, box, sure, page)


DOCUMENT_AI = engine.reader("document_ai", "Google Document AI", (".json",), _MARK.search, _read)
