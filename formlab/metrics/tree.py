"""Tree edit distance between forms, the similarity that follows from it, and the edits.

Trees come from `formlab.trees.from_records`; `formlab.metrics._ted` has the loops. Summed are the
distance of each form out of 1, and the cost of the nodes left alone out of that of all nodes.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from formlab.errors import DataBroken
from formlab.trees import Flat, Node

Tree = Node | None
# Two tables of this many numbers are held: 512 MiB.
MAX_CELLS = 1 << 25
# About a minute of work, which only trees hundreds of levels deep on both sides come near.
MAX_STEPS = 20_000_000_000


def _cost(depth: Any) -> Any:
    """The cost of an edit by depth; it must be positive and convex, for the range of similarity."""
    return 1.0 / (1.0 + depth)


def tree_tallies(golds: Sequence[Tree], preds: Sequence[Tree]) -> dict[str, np.ndarray]:
    """`tallies` of n gold trees and n predicted ones."""
    return tallies([TreePair(gold, pred) for gold, pred in zip(golds, preds, strict=True)])


def tallies(pairs: Sequence[TreePair]) -> dict[str, np.ndarray]:
    """Tallies of shape (n, 2) of `tree_edit_distance`, out of 1 each, and of `tree_similarity`."""
    parts = np.array([((pair.distance, 1), pair.similarity) for pair in pairs], dtype=float)
    both = parts.reshape(-1, 2, 2)
    return {"tree_edit_distance": both[:, 0], "tree_similarity": both[:, 1]}


class Edit(NamedTuple):
    """The fate of a node, whose path is null on the side it is not on.

    `depth` is that of the gold node, or else of the predicted one.
    """

    op: str  # Kept, renamed, deleted, inserted, moved or reordered.
    gold_path: str | None
    pred_path: str | None
    label: str
    pred_label: str | None
    depth: int
    cost: float


class TreePair:
    """Two trees, the costs of editing their nodes, and the cheapest edit between them [1]_.

    An edit deletes nodes (their children move up), inserts nodes, and renames nodes; it keeps
    the order of siblings and the ancestors of each node. It costs what FORMCRAFT's [2]_ does: a
    node at depth d, 0 at the root, 1 / (1 + d) to delete or insert, and 1 / (1 + (d1 + d2) / 2) to
    rename. Nodes are the same if their labels are; None is the tree without nodes.

    References
    ----------
    .. [1] K. Zhang, D. Shasha. Simple fast algorithms for the editing distance between trees and
       related problems. SIAM J. Comput. 18(6), 1989.
    .. [2] FORMCRAFT: Beyond Documents. Benchmarking Form Intelligence, equations (1) and (2).

    >>> gold = Node("form", children=[Node("A", children=[Node("Name", "Ann")]), Node("B")])
    >>> pred = Node("form", children=[Node("A"), Node("B", children=[Node("Name", "Ann")])])
    >>> pair = TreePair(gold, pred)
    >>> round(pair.distance, 3), [(edit.op, edit.label) for edit in pair.edits]
    (0.667, [('kept', 'form'), ('kept', 'A'), ('moved', 'Name'), ('kept', 'B')])
    """

    def __init__(self, gold: Tree, pred: Tree) -> None:
        self.gold, self.pred = Flat(gold), Flat(pred)

    @cached_property
    def distance(self) -> float:
        """The cost of the cheapest edit: from 0, for equal trees alone, to that of all nodes.

        It is symmetric, but no metric. `DataBroken` if a tree is too deep, or the two too large.
        """
        return math.fsum(edit.cost for edit in self.edits)

    @cached_property
    def similarity(self) -> tuple[float, float]:
        """How much of two trees is the same: the cost of the nodes left alone, and of all nodes.

        Two roots that are the same are certain to be kept and say nothing: they are left out, so
        that a form against an empty form has 0. The share is in [0, 1], and undefined where there
        is nothing to compare: both are empty, or both the same bare root.
        """
        roots = [[root.label for root in flat.nodes[:1]] for flat in (self.gold, self.pred)]
        start = int(roots[0] == roots[1])
        weight = sum(float(_cost(flat.depth[start:]).sum()) for flat in (self.gold, self.pred))
        left_alone = weight - self.distance
        # No node costs less than 1 / (1 + MAX_LEVELS): a cost far below that is rounding.
        return (left_alone if left_alone > 1e-6 else 0.0, weight)

    @cached_property
    def edits(self) -> list[Edit]:
        """A cheapest edit of the gold tree into the predicted one, in reading order.

        The costs add up to the distance. Of several cheapest edits one that renames least is
        given, the same one every time. A deleted and an inserted node of the same label and value
        are then one edit: ``moved`` to another parent, or ``reordered`` below the same one (its
        parents are kept or renamed into each other); it costs as much as the two did. Where several
        could be paired, the first deleted one goes with the first inserted one.
        """
        partners = self._partners() if self.gold and self.pred else [-1] * len(self.gold)
        # Deleted nodes with the inserted ones they turn up as, by place.
        inserted = sorted(set(range(len(self.pred))) - {*partners})
        free, moves = defaultdict[tuple, deque[int]](deque), {}
        for index in inserted:
            free[self.pred.nodes[index].label, self.pred.nodes[index].value].append(index)
        for index, node in enumerate(self.gold.nodes):
            if partners[index] < 0 and (places := free.get((node.label, node.value))):
                moves[index] = places.popleft()
        added = deque(sorted(set(inserted) - {*moves.values()}))
        edits = []
        for index, partner in enumerate(partners):
            # Partners keep the order of documents, so a node before one is inserted before it.
            while added and added[0] < partner:
                edits.append(self._edit("inserted", None, added.popleft()))
            other, op = partner if partner >= 0 else moves.get(index), "deleted"
            if partner >= 0:
                same = self.gold.nodes[index].label == self.pred.nodes[partner].label
                op = "kept" if same else "renamed"
            elif other is not None:
                above, below = self.gold.parent[index], self.pred.parent[other]
                op = "reordered" if above >= 0 and partners[above] == below >= 0 else "moved"
            edits.append(self._edit(op, index, other))
        return edits + [self._edit("inserted", None, index) for index in added]

    def _edit(self, op: str, index: int | None, other: int | None) -> Edit:
        places = (self.gold, index), (self.pred, other)
        gold, pred = (None if n is None else flat.nodes[n] for flat, n in places)
        depths = [int(flat.depth[n]) for flat, n in places if n is not None]
        # A renaming costs by both depths; what is moved is deleted and inserted.
        cost = _cost(sum(depths) / 2) if op == "renamed" else sum(map(_cost, depths))
        paths = gold.path if gold else None, pred.path if pred else None
        labels = (gold or pred).label, pred.label if pred else None
        return Edit(op, *paths, *labels, depths[0], 0.0 if op == "kept" else cost)

    def _partners(self) -> list[int]:
        """For each gold node, in document order, the place of the node it becomes, or -1."""
        from formlab.metrics import _ted  # With it comes numba.

        flats = self.gold, self.pred
        # Read from the right, children mirrored, the distance is the same and the work is not.
        views = [[_postorder(flat, mirrored) for flat in flats] for mirrored in (False, True)]
        view = min(views, key=lambda view: view[0][3] * view[1][3])
        sizes = len(self.gold), len(self.pred)
        if sizes[0] * sizes[1] > MAX_CELLS or view[0][3] * view[1][3] > MAX_STEPS:
            problem = f"trees of {sizes[0]:,} and {sizes[1]:,} nodes are too large to compare"
            remedy = "leave the document unscored; a form has some hundred nodes"
            raise DataBroken(problem, remedy=remedy)
        # Both trees in postorder, labels as numbers, then the keyroots of each.
        arrays, numbers = [], dict[str, int]()
        for flat, (order, left, *_) in zip(flats, view, strict=True):
            label = [numbers.setdefault(flat.nodes[n].label, len(numbers)) for n in order.tolist()]
            depth = flat.depth[order]
            arrays.append((left, np.array(label, dtype=np.int32), depth, _cost(depth)))
        arrays += [roots for _, _, roots, _ in view]
        # The cost of a renaming, by the sum of the two depths. Two siblings that changed places are
        # one move and not two renamings, which would cost as much: a renaming costs little more.
        deepest = sum(int(flat.depth.max()) for flat in flats)
        mapping = _ted.mapping(*arrays, _cost(np.arange(deepest + 1) / 2) * (1 + 1e-11))
        partners, kept = np.full(len(self.gold), -1, dtype=np.int32), mapping >= 0
        partners[view[0][0][kept]] = view[1][0][mapping[kept]]
        return partners.tolist()


def _postorder(flat: Flat, mirrored: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Of the postorder: document places of nodes, `left`, keyroots, and the sum of their sizes."""
    places = np.arange(len(flat), dtype=np.int32)
    # A node follows its subtree, and all that stands before it except its ancestors.
    order = places[::-1] if mirrored else np.argsort(places - flat.depth + flat.size)
    left = places - flat.size[order] + 1
    roots = np.sort(len(flat) - 1 - np.unique(left[::-1], return_index=True)[1])
    return order, left, roots, int(flat.size[order][roots].sum())
