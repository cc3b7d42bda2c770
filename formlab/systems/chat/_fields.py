"""The task of fields by name: a user's own forms, and benchmarks made outside of formlab."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from formlab import benchmarks
from formlab.benchmarks import Benchmark
from formlab.systems.chat._ask import TEXT, Ask, Place, Row, Schema, WrongShape, closed, or_null
from formlab.text.normalise import as_text
from formlab.trees import escape

# Tasks whose gold is a value at a path.
KINDS = ("text", "value", "entity")


def extraction(benchmark: Benchmark, kind: str, document: Row, gold: list[Row]) -> Ask:
    """The values of a document: by the benchmark's schema, else a text for each path of gold."""
    blank = [{"task": kind, "path": None, "kind": "page"}]
    schema = benchmark.schema_of(document)
    if schema is not None:
        lacking = "" if schema.get("properties", True) else "no field is known: declare its type"
        read, text = partial(rows, kind, schema), document.get("context")
        return Ask({}, schema, read, blank, lacking=lacking, text=text)
    names = _names(kind, gold)
    lacking = "" if names else "the gold of this document has no fields"
    members = closed(**{name: or_null(TEXT) for name in names})
    return Ask({"FIELDS": names}, members, partial(rows, kind, None), blank, lacking=lacking)


def keys(document: Row, gold: list[Row]) -> Ask | None:
    """The texts of a document at the paths of its gold; None if it has none."""
    benchmark = benchmarks.get(document["benchmark"])
    return extraction(benchmark, "text", document, gold) if _names("text", gold) else None


def _names(kind: str, gold: list[Row]) -> list[str]:
    paths = (row["path"] for row in gold if row["path"] and row["task"] == kind)
    return list(dict.fromkeys(path.removeprefix("/") for path in paths))


def rows(kind: str, schema: Schema | None, value: Any, _locate: Place) -> list[Row]:
    """A row for each leaf of the answer, at its JSON pointer; `WrongShape` if it is no object.

    Without a schema the names are the paths that were requested, and no pointers.
    """
    if not isinstance(value, dict):
        raise WrongShape("no object of fields")
    try:
        leaves = list(_leaves("", value, schema))
    except RecursionError as error:
        raise WrongShape("an answer nested too deeply") from error
    return [
        {"task": kind, "path": path, "kind": _name(path), "value": as_text(leaf)}
        for path, leaf in leaves
    ]


def _name(path: str) -> str:
    steps = path.split("/")
    return next((step for step in reversed(steps) if not step.isdecimal()), "")


def _leaves(path: str, value: Any, schema: Schema | None) -> Iterator[tuple[str, Any]]:
    known = schema if isinstance(schema, dict) else {}
    unknown: Schema | None = None if schema is None else {}
    if known.get("type") == "array" and not isinstance(value, list | None):
        # A list of one item, as many models write it.
        value = [value]
    if isinstance(value, dict):
        inner = known.get("properties") or {}
        for name, member in value.items():
            step = name if schema is None else escape(name)
            yield from _leaves(f"{path}/{step}", member, inner.get(name, unknown))
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from _leaves(f"{path}/{number}", member, known.get("items", unknown))
    elif value is not None:
        yield path, value
