"""Google Document AI's document or the response around it: entities, form fields, words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from formlab.readers import door, engine
from formlab.readers.door import as_text
from formlab.readers.engine import Found, Page, Reading, at, keyed, number, whole
from formlab.trees import escape

_MARK = rb"(?i:text_?Anchor|text_?Segments|mention_?Text|page_?Anchor|human_?Review_?Status)"
_TICKS = ("filled_checkbox", "unfilled_checkbox")


def _read(content: Any) -> Reading:
    document = at(content, "document") or content
    fields, reading = [], Reading()
    for place, page in enumerate(at(document, "pages") or (), start=1):
        size = number(at(page, "dimension", "width")), number(at(page, "dimension", "height"))
        shown = reading.pages[place] = Page(size, in_pixels=True) if all(size) else Page()
        layout = partial(_layout, shown, place, at(document, "text") or "")
        shown.lines = engine.lines_of(page, "tokens", partial(layout, "layout"))
        for field in at(page, "formFields") or ():
            (name, _), (value, _) = layout("fieldName", field), layout("fieldValue", field)
            tick = at(field, "valueType")
            stated = tick if tick in _TICKS else at(field, "correctedValueText") or value.text
            fields.append((at(field, "correctedKeyText") or name.text, value._replace(text=stated)))
    entities = _entities(at(document, "entities") or [], "", reading.pages)
    reading.values = list(entities) or keyed(fields)
    return reading


def _layout(page: Page, place: int, text: str, name: str, part: Any) -> tuple[Found, engine.Spans]:
    """A part of a page, and where it begins and ends in the text; a place of 0 is left out."""
    layout = at(part, name)
    segments = at(layout, "textAnchor", "textSegments") or ()
    spans = [(whole(at(s, "startIndex"), 0), whole(at(s, "endIndex"), 0)) for s in segments]
    spans = [(max(0, start), end) for start, end in spans]
    said = at(layout, "textAnchor", "content") or "".join(text[slice(*span)] for span in spans)
    sure = number(at(layout, "confidence"))
    return Found(" ".join(said.split()), _box(layout, page), sure, place), spans


def _box(layout: Any, page: Page | None) -> door.Box | None:
    """The box of an outline in fractions of a page, or in its pixels; a place of 0 is left out."""
    shares = at(layout, "boundingPoly", "normalizedVertices")
    width, height = page.size if page and shares else (1, 1)
    corners = shares or at(layout, "boundingPoly", "vertices") or ()
    return door.around(((c.get("x") or 0) * width, (c.get("y") or 0) * height) for c in corners)


def _entities(entities: list[Any], start: str, pages: dict[int, Page]) -> Iterator[Any]:
    """Entities at their types; those of a type that comes again or has properties are a list."""
    names = [str(at(e, "type") or at(e, "type_")).rpartition("/")[2] for e in entities]
    paths = [f"{start}/{escape(name)}" for name in names]
    lists = {path for path, e in zip(paths, entities, strict=True) if at(e, "properties")}
    for path, entity in zip(engine.numbered(paths, lists), entities, strict=True):
        if properties := at(entity, "properties"):
            yield from _entities(properties, path, pages)
            continue
        place = next(iter(at(entity, "pageAnchor", "pageRefs") or ()), {})
        page, normal = whole(at(place, "page"), 0) + 1, at(entity, "normalizedValue")
        said = (at(entity, "mentionText") or "").strip()
        said = said or as_text(at(normal, "text") or at(normal, "booleanValue"))
        sure, box = number(at(entity, "confidence")), _box(place, pages.get(page))
        yield path, Found(said, box, sure, page)


DOCUMENT_AI = engine.json_reader("document_ai", "Google Document AI", _MARK, _read)
