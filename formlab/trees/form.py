"""Trees from JSON in the schema of FORMCRAFT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from formlab.errors import DataBroken
from formlab.trees.node import Node, check_level, check_paths

# A model may take the text of a whole page for a label.
LONGEST_STEP = 120


def from_form(form: Mapping[str, Any], *, label: str = "form") -> Node:
    """The tree of a form in FORMCRAFT's schema [1]_.

    A form has ``fields`` (each with ``label`` and ``value``) and ``groups`` (each with ``label``,
    ``fields`` and, again, ``groups``); either may be absent or null. Fields stand before groups,
    as in the schema. A path joins the labels from the root (at most `LONGEST_STEP` characters of
    each, white space as one space), escaped as in a JSON Pointer; where siblings share a label,
    the second one's path ends in ``#2``, and so on.

    Raises
    ------
    DataBroken
        If something is not of the schema's type, or is nested too deeply or in a circle.

    References
    ----------
    .. [1] FORMCRAFT: Beyond Documents. Benchmarking Form Intelligence, appendix F.

    Examples
    --------
    >>> tree = from_form({
    ...     "fields": [{"label": "Date", "value": "1 May"}],
    ...     "groups": [{"label": "Patient", "fields": [{"label": "Name", "value": "Ann"}]}],
    ... })
    >>> tree.children
    [Node('Date', value='1 May'), Node('Patient', 1 child)]
    >>> tree.children[1].children[0].path
    '/Patient/Name'
    """
    root, characters = Node(label), 0
    waiting: list[tuple[Any, Node, int]] = [(form, root, 0)]
    while waiting:
        group, node, depth = waiting.pop()
        check_level(depth, node.path)
        used: Counter[str] = Counter()
        for item in _listed(group, "fields", node.path):
            child = _child(node, item, used)
            child.value = _scalar(item.get("value"), child.path)
        groups = _listed(group, "groups", node.path)
        waiting += [(item, _child(node, item, used), depth + 1) for item in groups]
        characters += sum(len(child.path) for child in node.children)
        check_paths(characters)
    return root


def _child(node: Node, item: Mapping[str, Any], used: Counter[str]) -> Node:
    label = _scalar(item.get("label"), node.path) or ""
    step = escape(" ".join(label[:LONGEST_STEP].split()) or "#")
    used[step] += 1
    suffix = f"#{used[step]}" if used[step] > 1 else ""
    child = Node(label, path=f"{node.path}/{step}{suffix}")
    node.children.append(child)
    return child


def _listed(group: Any, key: str, path: str) -> list[Mapping[str, Any]]:
    if not isinstance(group, Mapping):
        raise DataBroken(f"a form should be an object, this is a {type(group).__name__}")
    found = group.get(key)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        raise DataBroken(
            f"'{key}' should be a list of objects",
            where=path or "the form",
            remedy="FORMCRAFT's schema: fields and groups, each with a label",
        )
    return found


def _scalar(value: Any, path: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return str(value)
    raise DataBroken(
        f"a label or value should be text, this is a {type(value).__name__}",
        where=path or "the form",
    )


def escape(label: str) -> str:
    """One step of a JSON Pointer (RFC 6901).

    Examples
    --------
    >>> escape("and/or ~")
    'and~1or ~0'
    """
    return label.replace("~", "~0").replace("/", "~1")
