"""The node of a form tree, and a tree as arrays.

Nothing here recurses: what a model wrote may be nested as deeply as it likes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import repeat

import numpy as np

from formlab.errors import DataBroken

# Deeper than any form; a circle reaches it at once.
MAX_LEVELS = 2_000
# Of all paths of a tree: a path repeats those above it, so a few megabytes can make many.
MAX_CHARACTERS = 50_000_000


@dataclass(slots=True, eq=False, repr=False)
class Node:
    """A group or field of a form, or the form itself (the root).

    Examples
    --------
    >>> Node("Patient", children=[Node("Name", "Ann")])
    Node('Patient', 1 child)
    """

    label: str
    value: str | None = None
    children: list[Node] = field(default_factory=list)
    path: str = ""

    def __repr__(self) -> str:
        shown = "" if self.value is None else f", value={self.value!r}"
        count = len(self.children)
        if count:
            shown += f", {count} {'child' if count == 1 else 'children'}"
        return f"Node({self.label!r}{shown})"


@dataclass(frozen=True, eq=False)
class Flat:
    """A tree as arrays, one element per node in document order (parents before children).

    `depth` is 0 at the root; `parent` is the place of the parent, -1 at the root; `size` counts
    a node and all below it.
    """

    nodes: tuple[Node, ...]
    depth: np.ndarray
    parent: np.ndarray
    size: np.ndarray

    def __len__(self) -> int:
        return len(self.nodes)


def flatten(tree: Node | Flat | None) -> Flat:
    """The tree as arrays; None is the tree without nodes.

    Raises
    ------
    DataBroken
        If a node is reached twice (a circle, or a node with two parents), or the tree has more
        than `MAX_LEVELS` levels.

    Examples
    --------
    >>> flat = flatten(Node("form", children=[Node("a", children=[Node("b")]), Node("c")]))
    >>> [node.label for node in flat.nodes], flat.depth.tolist(), flat.size.tolist()
    (['form', 'a', 'b', 'c'], [0, 1, 2, 1], [4, 2, 1, 1])
    """
    if isinstance(tree, Flat):
        return tree
    nodes: list[Node] = []
    depths: list[int] = []
    parents: list[int] = []
    seen: set[int] = set()
    waiting = [] if tree is None else [(tree, -1)]
    while waiting:
        node, parent = waiting.pop()
        depth = depths[parent] + 1 if parent >= 0 else 0
        if id(node) in seen:
            what = "this is no tree: a node is its own ancestor or has two parents"
            remedy = "give every place in the form its own Node"
            raise DataBroken(what, where=node.path or repr(node.label[:80]), remedy=remedy)
        if depth >= MAX_LEVELS:
            check_level(depth, node.path)
        seen.add(id(node))
        index = len(nodes)
        nodes.append(node)
        depths.append(depth)
        parents.append(parent)
        if node.children:
            waiting.extend(zip(reversed(node.children), repeat(index)))
    sizes = [1] * len(nodes)
    for index in range(len(nodes) - 1, 0, -1):
        sizes[parents[index]] += sizes[index]
    arrays = (np.array(column, dtype=np.int32) for column in (depths, parents, sizes))
    return Flat(tuple(nodes), *arrays)


def check_level(depth: int, path: str) -> None:
    """Raise `DataBroken` if `depth`, from 0 at the root, is beyond `MAX_LEVELS` levels."""
    if depth >= MAX_LEVELS:
        what = f"nested deeper than {MAX_LEVELS:,} levels, or in a circle"
        remedy = "flatten the form; no real one is nested so deeply"
        raise DataBroken(what, where=path if len(path) <= 80 else f"{path[:80]}…", remedy=remedy)


def check_paths(characters: int) -> None:
    """Raise `DataBroken` if the paths of a tree have more than `MAX_CHARACTERS` in all."""
    if characters > MAX_CHARACTERS:
        what = f"the paths of this form have more than {MAX_CHARACTERS:,} characters"
        raise DataBroken(what, remedy="flatten the form, or shorten its labels")


def escape(label: str) -> str:
    """One step of a JSON Pointer (RFC 6901).

    Examples
    --------
    >>> escape("and/or ~")
    'and~1or ~0'
    """
    return label.replace("~", "~0").replace("/", "~1")
