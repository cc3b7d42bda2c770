"""VRDU's task for a model: the entities that the data set's schema names, with boxes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from formlab.benchmarks.vrdu import REPEATED, UNREPEATED, Schema
from formlab.errors import DataMissing
from formlab.systems.chat import _ask
from formlab.systems.chat._ask import Ask, Place, Row, WrongShape
from formlab.text.normalise import as_text
from formlab.trees import escape

_VALUE = _ask.closed(text=_ask.TEXT, page=_ask.PAGE, box=_ask.BOX)


def extraction(document: Row, _gold: list[Row]) -> Ask:
    """The entities of the document's schema: once, many times, or as parts of line items."""
    schema = Schema.of_document(document)
    if schema is None:
        raise DataMissing("no schema of entities", where=document["doc_id"], remedy="load it anew")
    once, many = schema.names(UNREPEATED), schema.names(REPEATED)
    items = {group: schema.names(group) for group in schema.groups}
    asked: Row = {name: f"{schema.type_of(name)}, once" for name in once}
    asked |= {name: f"{schema.type_of(name)}, a list of all there are" for name in many}
    asked |= {
        group: {name: f"{schema.type_of(name)}, in each line item" for name in names}
        for group, names in items.items()
    }
    members = {name: _ask.or_null(_VALUE) for name in once} | {
        name: _ask.listed(_VALUE) for name in many
    }
    for group, names in items.items():
        members[group] = _ask.listed(_ask.closed(**{name: _ask.or_null(_VALUE) for name in names}))
    read = partial(rows, once, many, items)
    return Ask(
        {"ENTITIES": asked}, _ask.closed(**members), read, [{"task": "entity", "path": None}]
    )


def answer(document: Row, gold: list[Row], place: Callable[[Row], Row]) -> Row:
    """The answer that `rows` reads as the gold; of a value with several texts the first."""
    schema = Schema.of_document(document)
    if schema is None:
        raise DataMissing("no schema of entities", where=document["doc_id"], remedy="load it anew")
    once, groups = schema.names(UNREPEATED), schema.groups
    whole: Row = dict.fromkeys(once) | {name: [] for name in schema.names(REPEATED)}
    items: dict[str, dict[str, Row]] = {group: {} for group in groups}
    for row in gold:
        if row["task"] != "entity" or row["path"] is None or row["value"] is None:
            continue
        name, value = row["kind"], {"text": row["value"]} | place(row)
        pattern = schema.patterns.get(name)
        if pattern in items:
            parts = dict.fromkeys(schema.names(pattern))
            items[pattern].setdefault(row["path"].split("/")[2], parts)[name] = value
        elif pattern == REPEATED:
            whole[name].append(value)
        elif name in once and whole[name] is None:
            whole[name] = value
    return whole | {group: list(numbered.values()) for group, numbered in items.items()}


def rows(
    once: list[str], many: list[str], items: dict[str, list[str]], value: Any, locate: Place
) -> list[Row]:
    """Rows of the entities in an answer, at the paths of the gold, after one for the document.

    `WrongShape` if none of the names that were asked for is there.
    """
    if not isinstance(value, dict) or not {*once, *many, *items} & value.keys():
        raise WrongShape("none of the entities that were asked for")
    entities: list[Row] = []
    for name in once:
        entities += _entity(f"/{escape(name)}", name, value.get(name), locate)
    for name in many:
        for number, entity in enumerate(_list(value.get(name))):
            entities += _entity(f"/{escape(name)}/{number}", name, entity, locate)
    for group, names in items.items():
        rows_of_it = [item for item in _list(value.get(group)) if isinstance(item, dict)]
        for number, item in enumerate(rows_of_it):
            base = f"/{escape(group)}/{number}"
            for name in names:
                entities += _entity(f"{base}/{escape(name)}", name, item.get(name), locate)
    return [{"task": "entity", "path": None}, *entities]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _entity(path: str, name: str, answer: Any, locate: Place) -> list[Row]:
    # A model may give the text alone, or a list of one.
    answer = answer[0] if isinstance(answer, list) and answer else answer
    parts = answer if isinstance(answer, dict) else {"text": answer}
    text = as_text(parts.get("text", parts.get("value")))
    if not text.strip():
        return []
    row: Row = {"task": "entity", "path": path, "kind": name, "value": text}
    return [row | locate(parts.get("page"), parts.get("box"))]
