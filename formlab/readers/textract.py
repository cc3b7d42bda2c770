"""Amazon Textract: forms, queries, expenses and words; a response, or a list of a document's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from formlab.readers import engine
from formlab.readers.engine import Found, Page, Reading, at, keyed, number, whole
from formlab.readers.rows import Row

_MARK = b"Blocks|ExpenseDocuments|DocumentMetadata|JobStatus"


def _read(content: Any) -> Reading:
    responses = content if isinstance(content, list) else [content]
    expenses = [e for response in responses for e in response.get("ExpenseDocuments") or ()]
    blocks = list(_blocks([*responses, *expenses]))
    by_id = {block.get("Id"): block for block in blocks}

    def related(block: Row, kind: str = "CHILD") -> list[Row]:
        relations = [r for r in block.get("Relationships") or () if r.get("Type") == kind]
        return [by_id[name] for r in relations for name in r.get("Ids") or () if name in by_id]

    def text(block: Row) -> str:
        return " ".join(_found(child).text or "" for child in related(block))

    def pairs(block: Row) -> Iterator[tuple[str, Found]]:
        for answer in related(block, "ANSWER"):
            yield at(block, "Query", "Alias") or at(block, "Query", "Text"), _found(answer)
        if "KEY" in (block.get("EntityTypes") or ()):
            values = related(block, "VALUE")
            found = _found(next(iter(values), {"Page": block["Page"]}))
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
            page.lines.append(_found(block)._replace(words=tuple(map(_found, related(block)))))
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
            yield label if kind == "OTHER" and label else kind, _found(value)


def _found(block: Row) -> Found:
    box = at(block, "Geometry", "BoundingBox") or {}
    corners = engine.sized(*map(box.get, ("Left", "Top", "Width", "Height")))
    text, sure = block.get("SelectionStatus") or block.get("Text"), block.get("Confidence")
    return Found(text or "", corners, number(sure, 100), whole(block.get("Page")))


TEXTRACT = engine.json_reader("textract", "Amazon Textract", _MARK, _read)
