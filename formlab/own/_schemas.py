"""The fields of a JSON Schema: the leaves of its objects and lists, with what it says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from formlab.errors import DataBroken
from formlab.files import convert
from formlab.trees import escape

# Names of types, and the kind that the fields of each get.
TYPES = {name: name for name in ("string", "number", "money", "date", "choice", "address")}
_WORDS = ("comparator", "tolerance", "relative", "weight", "question", "label")
TYPES |= {"text": "string", "integer": "number", "boolean": "checkbox", "checkbox": "checkbox"}


class _Node(msgspec.Struct):
    """A JSON Schema, as far as it is read."""

    ref: str | None = msgspec.field(default=None, name="$ref")
    type: str | list[str] | None = None
    properties: dict[str, Any] | None = None
    required: list[str] | bool | None = None
    enum: list[Any] | None = None
    anyOf: list[Any] | None = None  # noqa: N815
    oneOf: list[Any] | None = None  # noqa: N815
    allOf: list[Any] | None = None  # noqa: N815
    format: str | None = None
    title: str | None = None
    description: str | None = None


def at(where: str | None, path: str | None) -> str | None:
    """A field in a file of types, for errors."""
    return f"{where or ''}#{path}" if path else where


def leaves(
    node: Any, path: str, root: Any, where: str | None, *, required: bool, depth: int,
    ordered: bool = False,
) -> Iterator[tuple[str, dict[str, Any]]]:  # fmt: skip
    """The leaves of a JSON Schema with what it says of them."""
    if depth > 40:
        raise DataBroken("a JSON Schema that refers to itself", where=at(where, path[:80]))
    node = _resolved(node, root, at(where, path))
    inner, items = node.get("properties"), node.get("items")
    ordered = ordered or bool(node.get("ordered"))
    below = {"root": root, "where": where, "depth": depth + 1, "ordered": ordered}
    if isinstance(inner, Mapping):
        # In a field, an old schema says by it that this field is required.
        must = node["required"] if isinstance(node.get("required"), list) else ()
        for name, member in inner.items():
            member_path = f"{path}/{escape(str(name))}"
            yield from leaves(member, member_path, required=name in must, **below)
    elif isinstance(items, Mapping):
        yield from leaves(items, f"{path}/*", required=False, **below)
    elif path:
        stated = {name: node[name] for name in _WORDS if name in node}
        stated["type"] = _type_of(node)
        choices = [c for c in node.get("enum") or () if c is not None]
        stated |= {"choices": choices} if choices else {}
        flags = {"required": required, "ordered": ordered}
        stated |= {name: True for name, holds in flags.items() if holds}
        words = {"question": node.get("description"), "label": node.get("title")}
        yield path, {name: value for name, value in words.items() if value} | stated


def _resolved(node: Any, root: Any, where: str | None) -> dict[str, Any]:
    """A schema with its reference followed, and the first of its choices that is not null."""
    node = dict(node) if isinstance(node, Mapping) else {}
    for _ in range(20):
        convert(node, _Node, where=where)
        if reference := node.pop("$ref", None):
            target = root
            for step in reference.removeprefix("#").split("/")[1:]:
                target = target.get(unescaped(step)) if isinstance(target, Mapping) else None
            if not isinstance(target, Mapping):
                raise DataBroken(f"{reference!r:.80} leads to no schema", where=where)
            node = dict(target) | node
            continue
        several = node.pop("anyOf", None) or node.pop("oneOf", None) or node.pop("allOf", None)
        real = [schema for schema in several or () if isinstance(schema, Mapping)]
        real = [schema for schema in real if schema.get("type") != "null"]
        if not real:
            break
        node = dict(real[0]) | node
    return node


def unescaped(step: str) -> str:
    """A step of a JSON Pointer as the name that it stands for."""
    return step.replace("~1", "/").replace("~0", "~")


def _type_of(node: Mapping[str, Any]) -> str:
    stated = node.get("type")
    names = [stated] if isinstance(stated, str) else list(stated or ())
    if node.get("enum") or "const" in node:
        return "choice"
    if node.get("format") in ("date", "date-time"):
        return "date"
    if node.get("format") in ("money", "currency"):
        return "money"
    return next((name for name in names if name in TYPES), "string")
