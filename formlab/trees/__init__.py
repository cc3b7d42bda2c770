"""Form trees: groups, nested groups and fields, from records; and paths as JSON Pointers.

Nothing that makes a tree recurses: the answer of a model may be nested as deeply as it likes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from formlab.errors import DataBroken

# Deeper than any form; a circle reaches it at once.
MAX_LEVELS = 2_000
# Of the paths down to one field: each repeats those above it, so one megabyte can make many.
_MAX_CHARACTERS = 50_000_000
# No more digits than fit a whole number of a table.
_LINKED = re.compile("/entities/(-?[0-9]{1,18})|/links/(-?[0-9]{1,18})/(-?[0-9]{1,18})")
_INDEX = re.compile("[0-9]+")
DEEPEST = 60  # How deep JSON values may be nested.
# `items[0].price`, `$.vendor.name`, `$['items'][0]['name']`, `items[0][name]`.
_NAME = r"[^\W\d][\w-]*"
_BRACKETS = rf"""\.?\[(?:\d+|\*)\](?:\[{_NAME}\])?|\[(?:'[^'\]]+'|"[^"\]]+")\]"""
DOTTED = re.compile(rf"(?:\$(?:\.?{_NAME})?|{_NAME})(?:\.[\w-]+|{_BRACKETS})+")
_STEP = re.compile(r"""'([^'\]]+)'|"([^"\]]+)"|([\w*-]+)""")
_Row = Mapping[str, Any]


@dataclass(slots=True, eq=False)
class Node:
    """A group or field of a form, or the form itself (the root)."""

    label: str
    value: str | None = None
    children: list[Node] = field(default_factory=list, repr=False)
    path: str = ""


class Flat:
    """A tree as arrays, one element per node in document order; None is the tree without nodes.

    The `parent` of the root is -1, and `size` counts a node and all below it. `DataBroken` if
    `MAX_LEVELS` are exceeded, as they are where a node is its own ancestor.

    >>> flat = Flat(Node("form", children=[Node("a", children=[Node("b")]), Node("c")]))
    >>> [node.label for node in flat.nodes], flat.depth.tolist(), flat.size.tolist()
    (['form', 'a', 'b', 'c'], [0, 1, 2, 1], [4, 2, 1, 1])
    """

    def __init__(self, tree: Node | None) -> None:
        rows = []
        waiting = [] if tree is None else [(tree, -1, 0)]
        while waiting:
            node, parent, depth = waiting.pop()
            _check_level(depth, node.path)
            waiting += [(child, len(rows), depth + 1) for child in reversed(node.children)]
            rows.append((node, depth, parent))
        self.nodes, depths, parents = zip(*rows, strict=True) if rows else ((), (), ())
        sizes = [1] * len(rows)
        for index in range(len(rows) - 1, 0, -1):
            sizes[parents[index]] += sizes[index]
        columns = (np.array(column, dtype=np.int32) for column in (depths, parents, sizes))
        self.depth, self.parent, self.size = columns

    def __len__(self) -> int:
        return len(self.nodes)


def _check_level(depth: int, path: str) -> None:
    if depth >= MAX_LEVELS or depth * len(path) > _MAX_CHARACTERS:
        problem = f"nested deeper than {MAX_LEVELS:,} levels, or in a circle"
        if depth < MAX_LEVELS:
            problem = f"the paths of this form have more than {_MAX_CHARACTERS:,} characters"
        remedy = "flatten the form, or shorten its labels; no real one is nested so deeply"
        raise DataBroken(problem, where=path if len(path) <= 80 else f"{path[:80]}…", remedy=remedy)


@lru_cache(maxsize=2**16)
def escape(label: str) -> str:
    """A label as one step of a JSON Pointer (RFC 6901)."""
    return label.replace("~", "~0").replace("/", "~1")


def unescape(step: str) -> str:
    """The label that `escape` made a step of."""
    return step.replace("~1", "/").replace("~0", "~")


@lru_cache(maxsize=2**16)
def pattern(path: str) -> str:
    """A path with ``*`` for each place in a list."""
    return "/".join("*" if step.isdecimal() else step for step in path.split("/"))


@lru_cache(maxsize=2**16)
def pointer(path: str | None) -> str | None:
    """A path as a JSON pointer; null where it names the whole document."""
    path = (path or "").strip()
    if DOTTED.fullmatch(path):
        return "/" + "/".join(escape("".join(step)) for step in _STEP.findall(path))
    return None if path in ("", "/") else path if path.startswith("/") else f"/{path}"


def leaves(
    value: Any, path: str = "", is_value: Callable[[dict[str, Any]], Any] = lambda _: False
) -> Iterator[tuple[str, Any]]:
    """What a JSON value holds that is no list or object but a value, each at its JSON pointer."""
    value = value.tolist() if hasattr(value, "tolist") else value  # An array in a frame's cell.
    if not isinstance(value, dict | list | tuple) or (isinstance(value, dict) and is_value(value)):
        yield path, value
        return
    if path.count("/") > DEEPEST:
        raise RecursionError(f"nested deeper than {DEEPEST} levels")
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        place = f"{path}/{escape(str(step))}"
        # Most members are texts: a walk for each would take most of the time.
        yield from ((place, inner),) if type(inner) is str else leaves(inner, place, is_value)


def is_flat(value: Any, levels: int = DEEPEST) -> bool:
    """Whether no object or list stands deeper than `levels`."""
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(type(part) is str or is_flat(part, levels - 1) for part in inner)


def from_records(rows: Collection[_Row], *, flaws: Counter[str] | None = None) -> Node:
    """The tree of one document's records, of one role and system.

    Rows have `path`, and `value` and `kind` where known. ``/Patient/Name`` is a field ``Name`` in a
    group ``Patient``, ``/Patient/Name#2`` another one; items of a list (``/lines/0``) all have the
    label ``[]``. A form of entities and links, as FUNSD's, is told by its paths: a linked entity
    stands below the one it is linked from. Headers become groups and questions fields, labelled by
    their text; the answers of a question become its value, joined by a space; an answer without a
    question is a field without label. Siblings keep their order, entities that of their ids.

    `flaws` counts what a tree cannot hold: links to nothing, second parents, circles, rows that are
    neither entity, word nor link. `DataBroken` if a path has more than `MAX_LEVELS` steps.

    >>> paths = ["/Name", "/Date/Day", "/Date/Month"]
    >>> from_records([{"path": path, "value": "1"} for path in paths]).children
    [Node(label='Name', value='1', path='/Name'), Node(label='Date', value=None, path='/Date')]
    """
    places = [(row, _LINKED.fullmatch(row["path"])) for row in rows]
    entities = {int(place[1]): row for row, place in places if place and place[1]}
    if not entities:
        return _nested(rows)
    flaws = Counter() if flaws is None else flaws
    others = [not place and row.get("kind") != "word" for row, place in places]
    flaws["records that are no entity"] += sum(others)
    links = sorted((int(place[2]), int(place[3])) for _, place in places if place and place[2])
    # The entity that each stands below: of several, the first by id.
    parents: dict[int, int] = {}
    for start, end in links:
        above, steps = start, 0
        while above in parents and above != end:
            above, steps = parents[above], steps + 1
            _check_level(steps + 1, f"/entities/{start}")
        if not entities.keys() >= {start, end}:
            flaws["links to nothing"] += 1
        elif end in parents:
            flaws["links to a second parent"] += 1
        elif above == end:
            flaws["links in a circle"] += 1
        else:
            parents[end] = start
    # The answers of a question are its value, unless others stand below them.
    root, nodes, answers, inner = Node("form"), {}, {}, {*parents.values()}
    for number, row in sorted(entities.items()):
        text, is_answer = (row.get("value") or "").strip(), row.get("kind") == "answer"
        of_question = entities.get(parents.get(number), {}).get("kind") == "question"
        if is_answer and of_question and number not in inner:
            answers.setdefault(parents[number], []).append(text)
        else:
            nodes[number] = Node(*(("", text) if is_answer else (text, None)), path=row["path"])
    for number, node in nodes.items():
        nodes.get(parents.get(number), root).children.append(node)
        node.value = " ".join(filter(None, answers[number])) if number in answers else node.value
    return root


def _nested(rows: Collection[_Row]) -> Node:
    """Groups and fields by their paths."""
    root = Node("form")
    nodes = {"": root}
    for row in rows:
        node, full = root, row["path"]
        steps = full.removeprefix("/").split("/")
        _check_level(len(steps), full)
        for step in steps:
            path = f"{node.path}/{step}"
            if path not in nodes:
                # "Name#2" is another field "Name", if there is one.
                first, _, number = step.rpartition("#")
                repeated = _INDEX.fullmatch(number) and f"{node.path}/{first}" in nodes
                nodes[path] = Node(unescape(first if repeated else step), path=path)
                node.children.append(nodes[path])
            node = nodes[path]
        if row.get("kind") == "group":
            # A path cannot show all of a label (white space, great length); its row can.
            node.label = row.get("value") or ""
        else:
            node.value = row.get("value")
    for node in nodes.values():
        steps = [child.path.rpartition("/")[2] for child in node.children]
        # A list starts at 0; the teeth of a dental chart are fields whose labels are numbers.
        if "0" in steps and all(map(_INDEX.fullmatch, steps)):
            for child in node.children:
                child.label = "[]"
    return root
