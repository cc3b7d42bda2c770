"""A question to a model, and the parts to write the JSON schema of its answer with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
Schema = dict[str, Any]
# A page number and a box as the model gave them in, the columns page, x0, y0, x1, y1 out.
Place = Callable[[Any, Any], Row]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
PAGE: Schema = {"type": ["integer", "null"]}
# Neither `prefixItems` nor counts of items: servers support little of JSON schema.
BOX: Schema = {"type": ["array", "null"], "items": NUMBER}


class WrongShape(ValueError):
    """JSON of another shape than requested; the message says why."""


@dataclass(frozen=True)
class Ask:
    """What is asked of one document.

    `asked` goes into the user message beside the pages, as JSON; `schema` is that of the answer,
    None for plain text; `read` makes rows of *records* of the answer's value, with a `Place` for
    its boxes; `blank` are the rows for an answer that is not usable; `lacking` is the reason if
    the document cannot be asked about; `text` is the document's own, for one without an image.
    """

    asked: Row
    schema: Schema | None
    read: Callable[[Any, Place], list[Row]]
    blank: list[Row] = field(default_factory=list)
    lacking: str = ""
    text: str | None = None


def listed(item: Schema) -> Schema:
    """The schema of a list."""
    return {"type": "array", "items": item}


def closed(**members: Schema) -> Schema:
    """The schema of an object with these members and no others."""
    return {
        "type": "object", "properties": members, "required": list(members),
        "additionalProperties": False,
    }  # fmt: skip


def or_null(schema: Schema) -> Schema:
    """The schema of what may be null."""
    return {"anyOf": [schema, {"type": "null"}]}


def items_of(value: Any, name: str) -> list[Row]:
    """The objects listed under `name`; `WrongShape` if there is no such list.

    Examples
    --------
    >>> items_of({"answers": [{"id": "1"}, "odd"]}, "answers")
    [{'id': '1'}]
    """
    items = value.get(name) if isinstance(value, dict) else None
    if isinstance(items, dict):
        items = [items]
    if not isinstance(items, list):
        raise WrongShape(f"no list {name!r} in the answer")
    return [item for item in items if isinstance(item, dict)]
