"""VRDU's task for a model: the entities that the data set's schema names, with boxes."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from formlab.benchmarks.vrdu import UNREPEATED, Schema
from formlab.benchmarks.vrdu._dataset import escape
from formlab.benchmarks.vrdu._schema import REPEATED
from formlab.systems.chat._ask import (
    BOX,
    PAGE,
    TEXT,
    Ask,
    Place,
    Row,
    WrongShape,
    closed,
    listed,
    or_null,
)
from formlab.text.llm_json import as_text

_VALUE = closed(text=TEXT, page=PAGE, box=BOX)


def extraction(document: Row, gold: list[Row]) -> Ask:
    """The entities of the document's schema: once, many times, or as parts of line items."""
    del gold
    parts = json.loads(document["meta"])["schema"]
    schema = Schema(parts["matches"], parts["patterns"], tuple(parts["unlabelled"]))
    once, many = schema.names(UNREPEATED), schema.names(REPEATED)
    items = {group: schema.names(group) for group in schema.groups}
    asked: Row = {name: f"{schema.type_of(name)}, once" for name in once}
    asked |= {name: f"{schema.type_of(name)}, a list of all there are" for name in many}
    asked |= {
        group: {name: f"{schema.type_of(name)}, in each line item" for name in names}
        for group, names in items.items()
    }
    members = {name: or_null(_VALUE) for name in once} | {name: listed(_VALUE) for name in many}
    for group, names in items.items():
        members[group] = listed(closed(**{name: or_null(_VALUE) for name in names}))
    read = partial(rows, once, many, items)
    return Ask({"ENTITIES": asked}, closed(**members), read, [{"task": "entity", "path": None}])


def rows(
    once: list[str], many: list[str], items: dict[str, list[str]], value: Any, place: Place
) -> list[Row]:
    """Rows of the entities found, at the paths of the gold, after one for the document.

    Raises
    ------
    WrongShape
        If none of the names that were asked for is there.
    """
    if not isinstance(value, dict) or not {*once, *many, *items} & value.keys():
        raise WrongShape("none of the entities that were asked for")
    found: list[Row] = []
    for name in once:
        found += _entity(f"/{escape(name)}", name, value.get(name), place)
    for name in many:
        for number, given in enumerate(_list(value.get(name))):
            found += _entity(f"/{escape(name)}/{number}", name, given, place)
    for group, names in items.items():
        rows_of_it = [item for item in _list(value.get(group)) if isinstance(item, dict)]
        for number, item in enumerate(rows_of_it):
            base = f"/{escape(group)}/{number}"
            for name in names:
                found += _entity(f"{base}/{escape(name)}", name, item.get(name), place)
    return [{"task": "entity", "path": None}, *found]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _entity(path: str, name: str, given: Any, place: Place) -> list[Row]:
    # A model may give the text alone, or a list of one.
    given = given[0] if isinstance(given, list) and given else given
    part = given if isinstance(given, dict) else {"text": given}
    text = as_text(part.get("text", part.get("value")))
    if not text.strip():
        return []
    row: Row = {"task": "entity", "path": path, "kind": name, "value": text}
    return [row | place(part.get("page"), part.get("box"))]
