"""Gold of one field: its value as a text, the values to enter one by one, where each goes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from formlab import tables, text
from formlab.benchmarks.formfactory.boxes import Box, FormField, targets
from formlab.benchmarks.meta import Row, meta_of
from formlab.trees import escape


def pointer(label: str) -> str:
    """The path of a field.

    >>> pointer("Title/Position")
    '/Title~1Position'
    """
    return f"/{escape(label)}"


def gold_items(field: FormField, value: Any, boxes: Sequence[Box]) -> list[Row]:
    """The values to enter one by one, each with its `targets`; none for a field to leave empty.

    >>> gold_items(FormField("Age", "number", ("Age",)), 40, [Box("Age", 1, (10, 10, 90, 30))])
    [{'value': '40', 'targets': [[1, 10, 10, 90, 30]]}]
    """
    if _left_empty(field.kind, value):
        return []
    chosen = value if field.kind == "choice" and isinstance(value, list) else [value]
    return [
        {"value": entry, "targets": [box.row for box in targets(field, list(boxes), entry)]}
        for entry in map(_typed, chosen)
    ]


def gold_row(field: FormField, value: Any, entries: list[Row]) -> Row:
    """What *records* has of a field: page and box are those of the first place that is right."""
    places = [target for entry in entries for target in entry["targets"]]
    page, *box = places[0] if places else [None] * 5
    row = {"task": "click", "path": pointer(field.label), "kind": field.kind, "page": page}
    row |= {"value": text.as_text(value), "accepted": _accepted(field, value)}
    row |= {"meta": json.dumps({"items": entries}, ensure_ascii=False)}
    edges = zip(tables.BOX, box, strict=True)
    return row | {name: None if edge is None else float(edge) for name, edge in edges}


def items_of(metas: Iterable[str | None]) -> list[list[Row]]:
    """The `items` of records, as `gold_items` makes them, from the `meta` of each.

    >>> items_of(['{"items": [{"value": "40", "targets": []}]}', None])
    [[{'value': '40', 'targets': []}], []]
    """
    # One JSON of all of them is read faster than each by itself.
    metas_read = json.loads(f"[{','.join(meta or '{}' for meta in metas)}]")
    return [meta.get("items", []) for meta in metas_read]


def elements_of(document: Row | str | None) -> list[list[Any]]:
    """A form's elements, ``[page, x0, y0, x1, y1, path]`` each, from a document's `meta`."""
    return meta_of(document).get("elements", [])


def _typed(value: Any) -> str:
    """A list in one field is typed with commas."""
    return ", ".join(map(text.as_text, value)) if isinstance(value, list) else text.as_text(value)


def _accepted(field: FormField, value: Any) -> list[str] | None:
    """How else a value that is no text may be typed or said."""
    if field.kind == "checkbox":
        ticked = text.checked(text.as_text(value))
        return ["Yes", "true", "checked", field.label] if ticked else ["No", "false", "unchecked"]
    if isinstance(value, float) and value.is_integer():
        return [str(int(value))]
    if isinstance(value, list):
        return [_typed(value)]
    return None


def _left_empty(kind: str, value: Any) -> bool:
    """Whether the right thing to do is nothing: a box not to tick, a file not to upload."""
    if kind == "file":
        return value in (None, "", "None")
    return value is None or (kind == "checkbox" and text.checked(text.as_text(value)) is False)
