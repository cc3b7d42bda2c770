"""Amazon Textract: forms, queries, expenses and words; a response, or a list of a document's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formlab.errors import DataBroken
from formlab.readers import engine
from formlab.readers.engine import Found, Page, Reading, at, keyed, number, whole
from formlab.readers.rows import Row

_MARK = re.compile(rb'"(?:Blocks|ExpenseDocuments|DocumentMetadata|JobStatus)"\s*:')


def _read(path: Path) -> Reading:
    content = engine.read_json(path)
    responses = content if isinstance(content, list) else [content]
    expenses = [e for response in responses for e in at(response, "ExpenseDocuments") or ()]
    blocks = list(_blocks([*responses, *expenses]))
    if not blocks and not expenses:
        said = " ".join(at(response, "StatusMessage") or "" for response in responses)
        raise DataBroken(said or "neither Blocks nor ExpenseDocuments", where=path)
    by_id = {block.get("Id"): block for block in blocks}
    reading = Reading(keyed(pair for block in blocks for pair in _pairs(block, by_id)))
    for count, expense in enumerate(expenses):
        reading.values += _expense(expense, f"/{count}" if len(expenses) > 1 else "")
    for block in blocks:
        page = reading.pages.setdefault(block["Page"], Page())
        if block.get("BlockType") == "LINE":
            words = tuple(_found(word) for word in _related(block, "CHILD", by_id))
            page.lines.append(_found(block)._replace(words=words))
        elif block.get("BlockType") == "SELECTION_ELEMENT":
            page.marks.append(_found(block))
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


def _expense(expense: Any, start: str) -> list[tuple[str, Found]]:
    """The fields of a receipt by their type, or their label if that is OTHER, and its items."""
    values = keyed(map(_typed, at(expense, "SummaryFields") or ()), start)
    groups = at(expense, "LineItemGroups") or ()
    for count, item in enumerate(i for group in groups for i in at(group, "LineItems") or ()):
        cells = map(_typed, at(item, "LineItemExpenseFields") or ())
        # The row as a whole says again what its cells say.
        cells = (cell for cell in cells if cell[0] != "EXPENSE_ROW")
        values += keyed(cells, f"{start}/line_items/{count}")
    return values


def _typed(entry: Any) -> tuple[str, Found]:
    kind, label = at(entry, "Type", "Text"), at(entry, "LabelDetection", "Text")
    found = _found((at(entry, "ValueDetection") or {}) | {"Page": at(entry, "PageNumber")})
    return label if kind == "OTHER" and label else kind, found


def _pairs(block: Row, by_id: dict[Any, Row]) -> Iterator[tuple[str, Found]]:
    """The value of a key, or the answers to a query."""
    for answer in _related(block, "ANSWER", by_id):
        yield at(block, "Query", "Alias") or at(block, "Query", "Text"), _found(answer)
    if "KEY" in (block.get("EntityTypes") or ()):
        values = _related(block, "VALUE", by_id)
        text = " ".join(_text(value, by_id) for value in values)
        found = _found(values[0] if values else {"Page": block["Page"]})
        yield _text(block, by_id), found._replace(text=text)


def _text(block: Row, by_id: dict[Any, Row]) -> str:
    return " ".join(_found(child).text or "" for child in _related(block, "CHILD", by_id))


def _related(block: Row, kind: str, by_id: dict[Any, Row]) -> list[Row]:
    related = [r for r in block.get("Relationships") or () if r.get("Type") == kind]
    return [by_id[name] for r in related for name in r.get("Ids") or () if name in by_id]


def _found(block: Row) -> Found:
    box = at(block, "Geometry", "BoundingBox") or {}
    corners = engine.sized(*(box.get(side) for side in ("Left", "Top", "Width", "Height")))
    text = block.get("SelectionStatus") or block.get("Text") or ""
    return Found(text, corners, number(block.get("Confidence"), 100), whole(block.get("Page")))


TEXTRACT = engine.reader("textract", "Amazon Textract", (".json",), _MARK.search, _read)
