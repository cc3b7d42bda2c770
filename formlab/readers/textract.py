"""Amazon Textract: forms, queries, expenses, identity documents and words.

A response, or a list of those that are of one document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formlab.errors import DataBroken
from formlab.readers import engine
from formlab.readers.engine import Found, Page, Reading, member, number, whole

_PARTS = ("Blocks", "ExpenseDocuments", "IdentityDocuments")
_MARK = re.compile(rb'"(?:Blocks|ExpenseDocuments|IdentityDocuments|DocumentMetadata|JobStatus)"')
_Blocks = dict[str, dict[str, Any]]


def _read(path: Path) -> Reading:
    content = engine.read_json(path)
    responses = content if isinstance(content, list) else [content]
    parts = {part: [i for r in responses for i in member(r, part, list)] for part in _PARTS}
    if not any(parts.values()):
        failed = [r for r in responses if member(r, "JobStatus") == "FAILED"]
        if not failed:
            raise DataBroken(f"none of {', '.join(_PARTS)}", where=path)
        return Reading(error=f"failed: {member(failed[0], 'StatusMessage', str)}")
    reading = Reading()
    _, expenses, identities = parts.values()
    for count, expense in enumerate(expenses):
        _add_expense(reading, expense, f"/{count}" if len(expenses) > 1 else "")
    for identity in identities:
        reading.add_keys(map(_typed, member(identity, "IdentityDocumentFields", list)))
    blocks = _blocks([*responses, *expenses, *identities])
    by_id = {str(block.get("Id")): block for block in blocks}
    reading.add_keys(pair for block in blocks for pair in _pairs(block, by_id))
    for block in blocks:
        page = reading.pages.setdefault(block["Page"], Page(1, 1, False, [], []))
        if block.get("BlockType") == "LINE":
            words = tuple(_found(word) for word in _related(block, "CHILD", by_id))
            page.lines.append(_found(block)._replace(words=words))
        elif block.get("BlockType") == "SELECTION_ELEMENT":
            page.marks.append(_found(block))
    return reading


def _blocks(holders: list[Any]) -> list[dict[str, Any]]:
    """All blocks with their `Page`: each of several calls for a page counts from 1."""
    blocks: list[dict[str, Any]] = []
    last = 0
    for holder in holders:
        found = member(holder, "Blocks", list)
        pages = [whole(member(block, "Page"), 1) for block in found]
        starts = [
            page
            for block, page in zip(found, pages, strict=True)
            if block.get("BlockType") == "PAGE"
        ]
        shift = last if starts and min(starts) <= last else 0
        blocks += [block | {"Page": page + shift} for block, page in zip(found, pages, strict=True)]
        last = max([last, *(page + shift for page in pages)])
    return blocks


def _add_expense(reading: Reading, expense: Any, start: str) -> None:
    """The fields of a receipt by their type, or their label if that is OTHER, and its items."""
    summary = Reading()
    summary.add_keys(map(_typed, member(expense, "SummaryFields", list)))
    groups = member(expense, "LineItemGroups", list)
    items = [item for group in groups for item in member(group, "LineItems", list)]
    for count, item in enumerate(items):
        cells = Reading()
        fields = map(_typed, member(item, "LineItemExpenseFields", list))
        # The row as a whole says again what its cells say.
        cells.add_keys(cell for cell in fields if cell[0] != "EXPENSE_ROW")
        summary.values += [(f"/line_items/{count}{path}", value) for path, value in cells.values]
    reading.values += [(start + path, value) for path, value in summary.values]


def _typed(entry: Any) -> tuple[str, Found]:
    kind = member(member(entry, "Type", dict), "Text", str)
    label = member(member(entry, "LabelDetection", dict), "Text", str)
    found = _found(member(entry, "ValueDetection", dict))
    page = whole(member(entry, "PageNumber"), 1)
    return label if kind == "OTHER" and label else kind, found._replace(page=page)


def _pairs(block: dict[str, Any], by_id: _Blocks) -> Iterator[tuple[str, Found]]:
    """The value of a key, or the answer to a query."""
    if block.get("BlockType") == "QUERY":
        query = member(block, "Query", dict)
        for answer in _related(block, "ANSWER", by_id):
            yield member(query, "Alias", str) or member(query, "Text", str), _found(answer)
    if "KEY" in member(block, "EntityTypes", list):
        values = _related(block, "VALUE", by_id) or [{}]
        text = " ".join(filter(None, (_text(value, by_id) for value in values)))
        value = _found(values[0])._replace(text=text, confidence=_found(block).confidence)
        yield _text(block, by_id), value._replace(page=block["Page"])


def _text(block: dict[str, Any], by_id: _Blocks) -> str:
    return " ".join(filter(None, (_found(c).text for c in _related(block, "CHILD", by_id))))


def _related(block: dict[str, Any], kind: str, by_id: _Blocks) -> list[dict[str, Any]]:
    relations = [r for r in member(block, "Relationships", list) if member(r, "Type") == kind]
    names = [str(name) for relation in relations for name in member(relation, "Ids", list)]
    return [by_id[name] for name in names if name in by_id]


def _found(block: Any) -> Found:
    text = member(block, "SelectionStatus", str) or member(block, "Text", str)
    box = member(member(block, "Geometry", dict), "BoundingBox", dict)
    left, top, width, height = (number(box.get(n)) for n in ("Left", "Top", "Width", "Height"))
    corners = None
    if None not in (left, top, width, height):
        corners = engine.around([(left, top), (left + width, top + height)])
    sure = number(member(block, "Confidence"))
    return Found(text, corners, None if sure is None else sure / 100, whole(block.get("Page"), 1))


TEXTRACT = engine.reader(
    "textract", "Amazon Textract", (".json",), lambda head: bool(_MARK.search(head)), _read
)
