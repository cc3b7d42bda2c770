"""What Azure Document Intelligence, Amazon Textract and Google Document AI return, as JSON.

Of Azure the result or a part of it; of Textract forms, queries, expenses, identities and words, a
response or a list of a document's; of Document AI the document or the response around it.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from formlab.readers import Row, engine
from formlab.readers.door import Box, around, as_text, at, number
from formlab.readers.engine import Found, Reading, integer

_VALUE = re.compile(r"value(?!_?type)", re.IGNORECASE)
_TICKS = ("filled_checkbox", "unfilled_checkbox")


def _keyed(pairs: Iterable[tuple[str | None, Any]]) -> dict[str, Any]:
    """Values by their keys; those of a key that is there several times, and objects, are a list."""
    found = defaultdict[str, list[Any]](list)
    for key, value in pairs:
        found[(key or "").strip(" :*")].append(value)
    return {key: v if len(v) > 1 or isinstance(v[0], dict) else v[0] for key, v in found.items()}


def _lines(page: Any, words: str, part: Callable[[Any], Found]) -> list[tuple[Found, list[Found]]]:
    """Lines of a page with their words, in the order of its text: a line begins with its first."""
    # Azure 2.1 has the words of a line within it, and no places in a text.
    lines = [(part(e), [*map(part, at(e, "words") or ())]) for e in at(page, "lines") or ()]
    # Words of a page without lines are those of one.
    lines = sorted(lines, key=lambda line: line[0].start) or [(part({}), [])]
    starts = [line.start for line, _ in lines]
    for word in sorted(map(part, at(page, words) or ()), key=lambda word: word.start):
        _, its_words = lines[max(bisect(starts, word.start) - 1, 0)]
        its_words.append(word)
    return lines


def _outline(corners: Any) -> Box | None:
    """The box around corners, numbers in turn or objects in which a place of 0 is left out."""
    corners = corners or []
    if all(isinstance(corner, dict) for corner in corners):
        return around((corner.get("x") or 0, corner.get("y") or 0) for corner in corners)
    return around(zip(corners[::2], corners[1::2], strict=False))


def _azure(content: Any) -> Reading:
    result, reading = at(content, "analyzeResult") or content, Reading()
    # Version 2.1 has names of its own.
    for page in at(result, "pages") or at(result, "readResults") or ():
        count = integer(at(page, "pageNumber") or at(page, "page"))
        reading.sizes[count] = number(at(page, "width")), number(at(page, "height"))
        reading.lines += _lines(page, "words", partial(_azure_part, page=count))
    documents = at(result, "documents") or at(result, "documentResults") or ()
    fields = (at(document, "fields") or {} for document in documents)
    forms = [{name: _azure_field(value) for name, value in form.items()} for form in fields]
    parts = (result, *(at(result, "pageResults") or ()))
    pairs = [pair for part in parts for pair in at(part, "keyValuePairs") or ()]
    named = ((_azure_part(at(p, "key")).text, _azure_part(at(p, "value"), sure=p)) for p in pairs)
    reading.values = forms if any(forms) else _keyed(named)
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
    span = next(iter(at(part, "spans") or ()), at(part, "span"))
    text, start = at(part, "content") or at(part, "text") or "", integer(at(span, "offset"), 0)
    page = integer(at(region, "pageNumber") or at(region, "page"), page)
    box = _outline(at(region, "polygon") or at(region, "boundingBox"))
    return Found(" ".join(text.split()), box, number(at(sure or part, "confidence")), page, start)


def _textract(content: Any) -> Reading:
    responses = content if isinstance(content, list) else [content]
    if any("BlockType" in response for response in responses):
        responses = [{"Blocks": responses}]
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
            yield text(block), replace(found, text=" ".join(map(text, values)))

    reading = Reading([_keyed(pair for block in blocks for pair in pairs(block))])
    for identity in (i for response in responses for i in response.get("IdentityDocuments") or ()):
        reading.values.append(_keyed(_expense_fields(identity.get("IdentityDocumentFields"))))
    pages = [page for response in responses for page in response.get("Results") or ()]
    found = [extraction for page in pages for extraction in at(page, "Extractions") or ()]
    for fields in (at(extraction, "LendingDocument", "LendingFields") for extraction in found):
        values = ((f.get("Type"), v) for f in fields or () for v in f.get("ValueDetections") or ())
        reading.values.append(_keyed((kind, _block(value)) for kind, value in values))
    for expense in expenses:
        items = [i for g in expense.get("LineItemGroups") or () for i in g.get("LineItems") or ()]
        rows = [_keyed(_expense_fields(item.get("LineItemExpenseFields"))) for item in items]
        summary = _keyed(_expense_fields(expense.get("SummaryFields")))
        reading.values.append(summary | ({"line_items": rows} if rows else {}))
    # An expense is beside no form.
    reading.values = [values for values in reading.values if values]
    reading.sizes = {integer(block.get("Page")): (1, 1) for block in (*blocks, *expenses)}
    lines = (block for block in blocks if block.get("BlockType") == "LINE")
    reading.lines = [(_block(line), [*map(_block, related(line))]) for line in lines]
    return reading


def _expense_fields(entries: Any) -> Iterator[tuple[str, Found]]:
    """Values by type, or by label if that is OTHER; a row as a whole says its cells again."""
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

    def part(element: Any, page: int, name: str = "layout") -> Found:
        layout = at(element, name)
        anchor, corners = at(layout, "textAnchor"), at(layout, "boundingPoly", "normalizedVertices")
        segments = at(anchor, "textSegments") or ()
        # A place of 0 is left out.
        places = [[integer(at(s, f"{end}Index"), 0) for end in ("start", "end")] for s in segments]
        said = at(anchor, "content") or "".join(text[max(0, a) : max(0, b)] for a, b in places)
        sure, start = number(at(layout, "confidence")), places[0][0] if places else 0
        return Found(" ".join(said.split()), _outline(corners), sure, page, start)

    for count, page in enumerate(at(document, "pages") or (), start=1):
        reading.sizes[count] = (1, 1)
        reading.lines += _lines(page, "tokens", partial(part, page=count))
        for pair in at(page, "formFields") or ():
            name, value = (part(pair, count, f"field{end}") for end in ("Name", "Value"))
            tick = at(pair, "valueType")
            value.text = tick if tick in _TICKS else at(pair, "correctedValueText") or value.text
            fields.append((at(pair, "correctedKeyText") or name.text, value))
    reading.values = _entities(at(document, "entities")) or _keyed(fields)
    return reading


def _entities(entities: Any) -> dict[str, Any]:
    """Entities at their types; those of a type that comes again or has properties are a list."""
    found = []
    for entity in entities or ():
        kind = str(at(entity, "type") or at(entity, "type_")).rpartition("/")[2]
        place = next(iter(at(entity, "pageAnchor", "pageRefs") or ()), {})
        normal, said = at(entity, "normalizedValue"), (at(entity, "mentionText") or "").strip()
        said = said or as_text(at(normal, "text") or at(normal, "booleanValue"))
        box, page = at(place, "boundingPoly", "normalizedVertices"), integer(at(place, "page"), 0)
        value = Found(said, _outline(box), number(at(entity, "confidence")), page + 1)
        found.append((kind, _entities(at(entity, "properties")) or value))
    return _keyed(found)


_KEYS = {
    "azure": rb"(?i:analyze_?Result|(?:model|operation)_?Id|doc_?Type)",
    "textract": rb"BlockType|Blocks|(?:Expense|Identity)Documents|DocumentMetadata|JobStatus",
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
