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
from formlab.readers.engine import Found, Reading, at, integer, keyed, lines_of, number
from formlab.readers.rows import Row

_VALUE = re.compile(r"value(?!_?type)", re.IGNORECASE)
_TICKS = ("filled_checkbox", "unfilled_checkbox")


def _azure(content: Any) -> Reading:
    result, reading = at(content, "analyzeResult") or content, Reading()
    for page in at(result, "pages") or ():
        place = integer(at(page, "pageNumber"))
        reading.sizes[place] = number(at(page, "width")), number(at(page, "height"))
        parts = (at(page, name) or () for name in ("lines", "words"))
        reading.lines += lines_of(*([_azure_part(p, place) for p in part] for part in parts))
    forms = (at(document, "fields") or {} for document in at(result, "documents") or ())
    forms = [{name: _azure_field(value) for name, value in form.items()} for form in forms]
    pairs = at(result, "keyValuePairs") or ()
    named = ((at(p, "key", "content"), _azure_part(at(p, "value"), sure=p)) for p in pairs)
    reading.values = (forms if len(forms) > 1 else forms and forms[0]) or keyed(named)
    return reading


def _azure_field(value: Any) -> Any:
    """A field as its page shows it, or those in a list or an object; without text if absent."""
    kind = str(at(value, "type") or at(value, "valueType")).lower()
    stated = (v for name, v in (value or {}).items() if _VALUE.match(name) and v is not None)
    typed = next(stated, None)
    if isinstance(typed, list):
        return [*map(_azure_field, typed)]
    if isinstance(typed, dict) and kind in ("object", "dictionary"):
        return {name: _azure_field(inner) for name, inner in typed.items()}
    found = _azure_part(value)
    if not found.text or kind == "selectionmark":
        found.text = as_text(typed)
    return found


def _azure_part(part: Any, page: int = 1, sure: Any = None) -> Found:
    """A word, a line or a value."""
    region = next(iter(at(part, "boundingRegions") or ()), part)
    corners = at(region, "polygon") or []
    if all(isinstance(corner, dict) for corner in corners):
        corners = [corner.get(side) for corner in corners for side in "xy"]
    found = Found(" ".join((at(part, "content") or "").split()))
    found.box = door.around(zip(corners[::2], corners[1::2], strict=False))
    found.confidence = number(at(sure or part, "confidence"))
    found.page = integer(at(region, "pageNumber"), page)
    for span in at(part, "spans") or [at(part, "span")]:
        start = integer(at(span, "offset"), -1)
        found.spans.append((start, start + integer(at(span, "length"), 0)))
    return found


def _textract(content: Any) -> Reading:
    responses = content if isinstance(content, list) else [content]
    expenses = [e for response in responses for e in response.get("ExpenseDocuments") or ()]
    blocks = [b for response in (*responses, *expenses) for b in response.get("Blocks") or ()]
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
            found = _block(values[0] if values else {"Page": block.get("Page")})
            found.text = " ".join(map(text, values))
            yield text(block), found

    reading = Reading([keyed(pair for block in blocks for pair in pairs(block))])
    for expense in expenses:
        items = [i for g in expense.get("LineItemGroups") or () for i in g.get("LineItems") or ()]
        rows = [keyed(_typed(item.get("LineItemExpenseFields"))) for item in items]
        summary = keyed(_typed(expense.get("SummaryFields")))
        reading.values.append(summary | ({"line_items": rows} if rows else {}))
    # An expense is beside no form.
    filled = [values for values in reading.values if values]
    reading.values = filled if len(filled) > 1 else filled and filled[0]
    reading.sizes = {integer(block.get("Page")): (1, 1) for block in (*blocks, *expenses)}
    for block in blocks:
        if block.get("BlockType") == "LINE":
            reading.lines.append(line := _block(block))
            line.words = [*map(_block, related(block))]
    return reading


def _typed(entries: Any) -> Iterator[tuple[str, Found]]:
    """Values by type, or by label if that is OTHER; a row as a integer says its cells again."""
    for entry in entries or ():
        kind, label = at(entry, "Type", "Text"), at(entry, "LabelDetection", "Text")
        if kind != "EXPENSE_ROW":
            value = (at(entry, "ValueDetection") or {}) | {"Page": at(entry, "PageNumber")}
            yield label if kind == "OTHER" and label else kind, _block(value)


def _block(block: Row) -> Found:
    box = at(block, "Geometry", "BoundingBox") or {}
    corners = engine.sized(*map(box.get, ("Left", "Top", "Width", "Height")))
    text, sure = block.get("SelectionStatus") or block.get("Text"), block.get("Confidence")
    return Found(text or "", corners, number(sure, 100), integer(block.get("Page")))


def _document_ai(content: Any) -> Reading:
    document = at(content, "document") or content
    fields, reading, text = [], Reading(), at(document, "text") or ""

    def part(layout: Any, page: int) -> Found:
        """A part of a page; a place of 0 is left out."""
        found = Found(at(layout, "textAnchor", "content"), _outline(layout), page=page)
        found.confidence = number(at(layout, "confidence"))
        for segment in at(layout, "textAnchor", "textSegments") or ():
            start, end = (max(0, integer(at(segment, f"{n}Index"), 0)) for n in ("start", "end"))
            found.spans.append((start, end))
        said = found.text or "".join(text[slice(*span)] for span in found.spans)
        found.text = " ".join(said.split())
        return found

    for place, page in enumerate(at(document, "pages") or (), start=1):
        reading.sizes[place] = (1, 1)
        parts = (at(page, name) or () for name in ("lines", "tokens"))
        parts = ([part(at(p, "layout"), place) for p in listed] for listed in parts)
        reading.lines += lines_of(*parts)
        for field in at(page, "formFields") or ():
            name, value = (part(at(field, n), place) for n in ("fieldName", "fieldValue"))
            tick = at(field, "valueType")
            value.text = tick if tick in _TICKS else at(field, "correctedValueText") or value.text
            fields.append((at(field, "correctedKeyText") or name.text, value))
    reading.values = _entities(at(document, "entities")) or keyed(fields)
    return reading


def _outline(layout: Any) -> door.Box | None:
    """The box of an outline in shares of a page; a place of 0 is left out."""
    corners = at(layout, "boundingPoly", "normalizedVertices") or ()
    return door.around((corner.get("x") or 0, corner.get("y") or 0) for corner in corners)


def _entities(entities: Any) -> dict[str, Any]:
    """Entities at their types; those of a type that comes again or has properties are a list."""

    def entity_value(entity: Any) -> Any:
        if properties := at(entity, "properties"):
            return _entities(properties)
        place = next(iter(at(entity, "pageAnchor", "pageRefs") or ()), {})
        normal, said = at(entity, "normalizedValue"), (at(entity, "mentionText") or "").strip()
        said = said or as_text(at(normal, "text") or at(normal, "booleanValue"))
        sure = number(at(entity, "confidence"))
        return Found(said, _outline(place), sure, integer(at(place, "page"), 0) + 1)

    kinds = (str(at(e, "type") or at(e, "type_")).rpartition("/")[2] for e in entities or ())
    return keyed(zip(kinds, map(entity_value, entities or ()), strict=True))


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
