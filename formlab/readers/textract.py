"""Amazon Textract: forms, queries, expenses and words; a response, or a list of a document's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formlab.errors import DataBroken
from formlab.readers import engine
from formlab.readers.engine import Found, Page, Reading, keyed, member, number, whole

_PARTS = ("Blocks", "ExpenseDocuments")
_MARK = re.compile(rb'"(?:Blocks|ExpenseDocuments|DocumentMetadata|JobStatus)"\s*:')
_Blocks = dict[str, dict[str, Any]]


def _read(path: Path) -> Reading:
    content = engine.read_json(path)
    responses = content if isinstance(content, list) else [content]
    expenses = [e for response in responses for e in member(response, "ExpenseDocuments", list)]
    blocks = list(_blocks([*responses, *expenses]))
    if not blocks and not expenses:
        said = [member(response, "StatusMessage", str) for response in responses]
        raise DataBroken(" ".join(said) or "neither Blocks nor ExpenseDocuments", where=path)
    by_id = {str(member(block, "Id")): block for block in blocks}
    reading = Reading(keyed(pair for block in blocks for pair in _pairs(block, by_id)))
    for count, expense in enumerate(expenses):
        reading.values += _expense(expense, f"/{count}" if len(expenses) > 1 else "")
    for block in blocks:
        page = reading.pages.setdefault(block["Page"], Page((1, 1), False, [], []))
        if member(block, "BlockType") == "LINE":
            words = tuple(_found(word) for word in _related(block, "CHILD", by_id))
            page.lines.append(_found(block)._replace(words=words))
        elif member(block, "BlockType") == "SELECTION_ELEMENT":
            page.marks.append(_found(block))
    return reading


def _blocks(responses: list[Any]) -> Iterator[dict[str, Any]]:
    """All blocks with their `Page`: each of several calls for a page counts from 1."""
    last = shift = 0
    for response in responses:
        pages = [(whole(member(b, "Page")), b) for b in member(response, "Blocks", list)]
        starts = [page for page, block in pages if member(block, "BlockType") == "PAGE"]
        shift = last if starts and min(starts) + shift <= last else shift
        last = max([last, *(page + shift for page, _ in pages)])
        yield from (block | {"Page": page + shift} for page, block in pages)


def _expense(expense: Any, start: str) -> list[tuple[str, Found]]:
    """The fields of a receipt by their type, or their label if that is OTHER, and its items."""
    values = keyed(map(_typed, member(expense, "SummaryFields", list)), start)
    groups = member(expense, "LineItemGroups", list)
    for count, item in enumerate(i for g in groups for i in member(g, "LineItems", list)):
        cells = map(_typed, member(item, "LineItemExpenseFields", list))
        # The row as a whole says again what its cells say.
        cells = (cell for cell in cells if cell[0] != "EXPENSE_ROW")
        values += keyed(cells, f"{start}/line_items/{count}")
    return values


def _typed(entry: Any) -> tuple[str, Found]:
    kind, label = (member(member(entry, n, dict), "Text", str) for n in ("Type", "LabelDetection"))
    found = _found(member(entry, "ValueDetection", dict))
    found = found._replace(page=whole(member(entry, "PageNumber")))
    return label if kind == "OTHER" and label else kind, found


def _pairs(block: dict[str, Any], by_id: _Blocks) -> Iterator[tuple[str, Found]]:
    """The value of a key, or the answers to a query."""
    if member(block, "BlockType") == "QUERY":
        query = member(block, "Query", dict)
        for answer in _related(block, "ANSWER", by_id):
            yield member(query, "Alias", str) or member(query, "Text", str), _found(answer)
    if "KEY" in member(block, "EntityTypes", list):
        values = _related(block, "VALUE", by_id)
        text = " ".join(_text(value, by_id) for value in values)
        found = _found(values[0] if values else {"Page": block["Page"]})
        yield _text(block, by_id), found._replace(text=text)


def _text(block: dict[str, Any], by_id: _Blocks) -> str:
    return " ".join(_found(child).text or "" for child in _related(block, "CHILD", by_id))


def _related(block: dict[str, Any], kind: str, by_id: _Blocks) -> list[dict[str, Any]]:
    relations = [r for r in member(block, "Relationships", list) if member(r, "Type") == kind]
    names = [str(name) for relation in relations for name in member(relation, "Ids", list)]
    return [by_id[name] for name in names if name in by_id]


def _found(block: Any) -> Found:
    text = member(block, "SelectionStatus", str) or member(block, "Text", str)
    box = member(member(block, "Geometry", dict), "BoundingBox", dict)
    corners = engine.sized(*(box.get(side) for side in ("Left", "Top", "Width", "Height")))
    sure = number(member(block, "Confidence"), 100)
    return Found(text, corners, sure, whole(member(block, "Page")))


TEXTRACT = engine.reader("textract", "Amazon Textract", (".json",), _MARK.search, _read)
