"""The task for a benchmark that was made outside of formlab: its plain fields, as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from formlab.systems.chat._ask import TEXT, Ask, Place, Row, Schema, WrongShape, closed, or_null
from formlab.text.llm_json import as_text

# Tasks whose gold is a value at a path.
KINDS = ("text", "value", "entity")


def extraction(kind: str, schema: Schema | None, _document: Row, gold: list[Row]) -> Ask:
    """The values of a form: by the benchmark's schema, else one text for each path of the gold."""
    blank = [{"task": kind, "path": None, "kind": "page"}]
    if schema is not None:
        return Ask({}, schema, partial(rows, kind), blank)
    names = [row["path"].removeprefix("/") for row in gold if row["path"] and row["task"] == kind]
    names = list(dict.fromkeys(names))
    lacking = "" if names else "the gold of this document has no fields"
    members = closed(**{name: or_null(TEXT) for name in names})
    return Ask({"FIELDS": names}, members, partial(rows, kind), blank, lacking=lacking)


def rows(kind: str, value: Any, _locate: Place) -> list[Row]:
    """A row for each leaf of the answer, at its JSON pointer; `WrongShape` if it is no object."""
    if not isinstance(value, dict):
        raise WrongShape("no object of fields")
    # Names of fields may themselves be paths, as they were requested.
    return [
        {"task": kind, "path": path, "kind": path.rpartition("/")[2], "value": as_text(leaf)}
        for path, leaf in _leaves("", value)
    ]


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict | list):
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for name, member in members:
            yield from _leaves(f"{path}/{name}", member)
    elif value is not None:
        yield path, value
