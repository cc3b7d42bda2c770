"""What Azure Document Intelligence, Amazon Textract and Google Document AI return, as JSON.

Of Azure the result or a part of it; of Textract forms, queries, expenses and words, a response or a
list of a document's; of Document AI the document or the response around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from formlab.readers import door, engine
from formlab.readers.door import as_text
from formlab.readers.engine import Found, Page, Reading, at, keyed, number, whole
from formlab.readers.rows import Row
from formlab.trees import escape

_VALUE = re.compile(r"value(?!_?type)", re.IGNORECASE)
_TICKS = ("filled_checkbox", "unfilled_checkbox")


def _azure(content: Any) -> Reading:
    result = at(content, "analyzeResult") or content
    parts = ("pages", "documents", "keyValuePairs")
    pages, documents, pairs = (at(result, name) or [] for name in parts)
    reading = Reading()
    for page in pages:
        place, size = whole(at(page, "pageNumber")), (at(page, "width"), at(page, "height"))
        lines = engine.lines_of(page, "words", lambda part, n=place: _azure_part(part, n))
        is_pixel = at(page, "unit") == "pixel"
        reading.pages[place] = Page((number(size[0]), number(size[1])), is_pixel, lines)
    for count, document in enumerate(documents):
        fields = {"type": "object", "value": at(document, "fields") or {}}
        reading.values += _azure_fields(f"/{count}" if len(documents) > 1 else "", fields)
    named = ((at(p, "key", "content"), _azure_value(at(p, "value") or {}, sure=p)) for p in pairs)
    reading.values = reading.values or keyed(named)
    return reading


def _azure_fields(path: str, value: Any) -> Iterator[tuple[str, Found]]:
    """A field as its page shows it, or those in a list or an object; null where it is absent."""
    kind = str(at(value, "type") or at(value, "valueType")).lower()
    stated = (inner for name, inner in value.items() if _VALUE.match(name) and inner is not None)
    typed = next(stated, None)
    if isinstance(typed, list) or (isinstance(typed, dict) and kind in ("object", "dictionary")):
        for name, inner in enumerate(typed) if isinstance(typed, list) else typed.items():
            yield from _azure_fields(f"{path}/{escape(str(name))}", inner or {})
    else:
        found = _azure_value(value)
        is_shown = found.text and kind != "selectionmark"
        yield path, found if is_shown else found._replace(text=as_text(typed))


def _azure_value(value: Any, page: int = 1, sure: Any = None) -> Found:
    region = next(iter(at(value, "boundingRegions") or ()), value)
    corners = at(region, "polygon") or []
    if all(isinstance(corner, dict) for corner in corners):
        corners = [corner.get(side) for corner in corners for side in "xy"]
    box = door.around(zip(corners[::2], corners[1::2], strict=False))
    text, sure = " ".join((at(value, "content") or "").split()), at(sure or value, "confidence")
    return Found(text, box, number(sure), whole(at(region, "pageNumber"), page))


def _azure_part(part: Any, page: int) -> tuple[Found, engine.Spans]:
    """A word or a line, and where its parts begin and end in the text."""
    spans = at(part, "spans") or [at(part, "span") or {}]
    places = [(whole(at(s, "offset"), -1), whole(at(s, "length"), 0)) for s in spans]
    return _azure_value(part, page), [(start, start + length) for start, length in places]


def _textract(content: Any) -> Reading:
    responses = content if isinstance(content, list) else [content]
    expenses = [e for response in responses for e in response.get("ExpenseDocuments") or ()]
    blocks = list(_blocks([*responses, *expenses]))
    by_id = {block.get("Id"): block for block in blocks}

    def related(block: Row, kind: str = "CHILD") -> list[Row]:
        relations = [r for r in block.get("Relationships") or () if r.get("Type") == kind]
        return [by_id[name] for r in relations for name in r.get("Ids") or () if name in by_id]

    def text(block: Row) -> str:
        return " ".join(_block(child).text or "" for child in related(block))

    def pairs(block: Row) -> Iterator[tuple[str, Found]]:
        for answer in related(block, "ANSWER"):
            yield at(block, "Query", "Alias") or at(block, "Query", "Text"), _block(answer)
        if "KEY" in (block.get("EntityTypes") or ()):
            values = related(block, "VALUE")
            found = _block(next(iter(values), {"Page": block["Page"]}))
            yield text(block), found._replace(text=" ".join(map(text, values)))

    reading = Reading(keyed(pair for block in blocks for pair in pairs(block)))
    for count, expense in enumerate(expenses):
        start = f"/{count}" if len(expenses) > 1 else ""
        reading.values += keyed(_typed(expense, "Summary"), start)
        groups = expense.get("LineItemGroups") or ()
        for place, item in enumerate(i for group in groups for i in group.get("LineItems") or ()):
            reading.values += keyed(_typed(item, "LineItem"), f"{start}/line_items/{place}")
    for block in blocks:
        page = reading.pages.setdefault(block["Page"], Page())
        if block.get("BlockType") == "LINE":
            page.lines.append(_block(block)._replace(words=tuple(map(_block, related(block)))))
    return reading


def _blocks(responses: list[Any]) -> Iterator[Row]:
    """All blocks with their `Page`: each of several calls for a page counts from 1."""
    last = shift = 0
    for response in responses:
        pages = [(whole(block.get("Page")), block) for block in at(response, "Blocks") or ()]
        starts = [page for page, block in pages if block.get("BlockType") == "PAGE"]
        shift = last if starts and min(starts) + shift <= last else shift
        last = max([last, *(page + shift for page, _ in pages)])
        yield from (block | {"Page": page + shift} for page, block in pages)


def _typed(part: Row, name: str) -> Iterator[tuple[str, Found]]:
    """Values by type, or by label if that is OTHER; a row as a whole says its cells again."""
    for entry in part.get(f"{name}Fields") or part.get(f"{name}ExpenseFields") or ():
        kind, label = at(entry, "Type", "Text"), at(entry, "LabelDetection", "Text")
        if kind != "EXPENSE_ROW":
            value = (at(entry, "ValueDetection") or {}) | {"Page": at(entry, "PageNumber")}
            yield label if kind == "OTHER" and label else kind, _block(value)


def _block(block: Row) -> Found:
    box = at(block, "Geometry", "BoundingBox") or {}
    corners = engine.sized(*map(box.get, ("Left", "Top", "Width", "Height")))
    text, sure = block.get("SelectionStatus") or block.get("Text"), block.get("Confidence")
    return Found(text or "", corners, number(sure, 100), whole(block.get("Page")))


def _document_ai(content: Any) -> Reading:
    document = at(content, "document") or content
    fields, reading, text = [], Reading(), at(document, "text") or ""
    for place, page in enumerate(at(document, "pages") or (), start=1):
        size = number(at(page, "dimension", "width")), number(at(page, "dimension", "height"))
        drawn = reading.pages[place] = Page(size, in_pixels=True) if all(size) else Page()

        def part(value: Any, name: str = "layout", page: Page = drawn, place: int = place) -> Any:
            """A part of a page, and where it begins and ends in the text; 0 is left out."""
            layout = at(value, name)
            segments = at(layout, "textAnchor", "textSegments") or ()
            ends = [[whole(at(s, f"{end}Index"), 0) for end in ("start", "end")] for s in segments]
            spans = [(max(0, start), end) for start, end in ends]
            said = at(layout, "textAnchor", "content") or "".join(text[slice(*s)] for s in spans)
            sure = number(at(layout, "confidence"))
            return Found(" ".join(said.split()), _outline(layout, page), sure, place), spans

        drawn.lines = engine.lines_of(page, "tokens", part)
        for field in at(page, "formFields") or ():
            (name, _), (value, _) = part(field, "fieldName"), part(field, "fieldValue")
            tick = at(field, "valueType")
            stated = tick if tick in _TICKS else at(field, "correctedValueText") or value.text
            fields.append((at(field, "correctedKeyText") or name.text, value._replace(text=stated)))
    entities = _entities(at(document, "entities") or [], "", reading.pages)
    reading.values = list(entities) or keyed(fields)
    return reading


def _outline(layout: Any, page: Page | None) -> door.Box | None:
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
        sure, box = number(at(entity, "confidence")), _outline(place, pages.get(page))
        yield path, Found(said, box, sure, page)


_KEYS = {
    "azure": rb"(?i:analyze_?Result|(?:model|operation)_?Id|doc_?Type)",
    "textract": b"Blocks|ExpenseDocuments|DocumentMetadata|JobStatus",
    "document_ai": rb"(?i:(text|page)_?Anchor|text_?Segments|mention_?Text|human_?Review_?Status)",
}
READERS = {
    name: engine.reader(name, title, (".json",), rb'"(?:%b)"\s*:' % _KEYS[name], read)
    for name, title, read in (
        ("azure", "Azure Document Intelligence", _azure),
        ("textract", "Amazon Textract", _textract),
        ("document_ai", "Google Document AI", _document_ai),
    )
}
