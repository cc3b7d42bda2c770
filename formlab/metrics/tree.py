"""Tree edit distance between forms, the similarity that follows from it, and the edits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from formlab.errors import DataBroken, UnknownName
from formlab.metrics._spec import Metric, Tally
from formlab.trees import Flat, Node, flatten

Tree = Node | Flat | None


# What it costs to delete or insert a node, by its depth, and to rename one, by the mean of the
# two depths. A cost that is positive and convex keeps `tree_similarity` in its range.
# `depth` is FORMCRAFT's, the root being at depth 0; by `unit` every edit costs 1.
COSTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "depth": lambda depth: 1.0 / (1.0 + depth),
    "unit": lambda depth: np.ones_like(depth, dtype=float),
}

# Two tables of this many numbers are held: 512 MiB.
MAX_CELLS = 1 << 25
# About a minute of work, which only trees hundreds of levels deep on both sides come near.
MAX_STEPS = 20_000_000_000


def tree_edit_distance(
    gold: Tree, pred: Tree, *, costs: str = "depth", values: bool = False
) -> float:
    """The cost of the cheapest edit of the gold tree into the predicted one [1]_.

    An edit deletes nodes (their children move up), inserts nodes, and renames nodes; it keeps
    the order of siblings and who is whose ancestor. With ``costs="depth"``, the default, it is
    FORMCRAFT's [2]_: a node at depth d, 0 at the root, costs 1 / (1 + d) to delete or insert, and
    1 / (1 + (d1 + d2) / 2) to rename. With ``costs="unit"`` every edit costs 1.

    The distance is 0 exactly for equal trees, and symmetric. With unit costs it is a metric;
    with depth costs the triangle inequality does not hold, since a detour through a tree with
    the nodes further down makes their renaming cheaper.

    Parameters
    ----------
    gold, pred
        Trees; None is the tree without nodes.
    costs
        One of `COSTS`.
    values
        Whether nodes must also have the same value to count as the same.

    Returns
    -------
    float
        From 0 to the cost of all nodes of both trees.

    Raises
    ------
    DataBroken
        If an input is no tree, or the two are too large to compare (`MAX_CELLS`, `MAX_STEPS`).
    UnknownName
        If `costs` is not registered.

    References
    ----------
    .. [1] K. Zhang, D. Shasha. Simple fast algorithms for the editing distance between trees and
       related problems. SIAM J. Comput. 18(6), 1989.
    .. [2] FORMCRAFT: Beyond Documents. Benchmarking Form Intelligence, equations (1) and (2).

    Examples
    --------
    >>> gold = Node("form", children=[Node("Patient", children=[Node("Name"), Node("Age")])])
    >>> pred = Node("form", children=[Node("Name"), Node("Age")])
    >>> tree_edit_distance(gold, pred)
    0.5
    """
    return TreePair(gold, pred, costs, values).distance


def tree_edit_tallies(
    golds: Sequence[Tree], preds: Sequence[Tree], *, costs: str = "depth", values: bool = False
) -> np.ndarray:
    """Both metrics of n pairs, each pair compared once.

    Returns
    -------
    numpy.ndarray
        Shape (n, 3): `tree_edit_distance`, and `hits` and `total` of `tree_similarity`. The parts
        of a mean distance are (distance, 1).

    Examples
    --------
    >>> gold = Node("form", children=[Node("a"), Node("b")])
    >>> tree_edit_tallies([gold, gold], [Node("form"), gold]).tolist()
    [[1.0, 0.0, 1.0], [0.0, 2.0, 2.0]]
    """
    pairs = (TreePair(gold, pred, costs, values) for gold, pred in zip(golds, preds, strict=True))
    rows = [(pair.distance, *pair.similarity().parts) for pair in pairs]
    return np.array(rows, dtype=float).reshape(-1, 3)


def tree_similarity(gold: Tree, pred: Tree, *, costs: str = "depth", values: bool = False) -> Tally:
    """How much of two trees is the same, in [0, 1].

    With D the `tree_edit_distance` and W the cost of deleting and inserting all nodes, a pair
    earns W - D out of W. Two roots that are the same are certain to be kept and say nothing: they
    are left out of W, so that a form against an empty form has 0.

    The range. D is a cost, so D >= 0 and the value is at most 1. Deleting one tree and inserting
    the other is an edit, so D <= W if W counts all nodes. If the roots are the same, keeping them
    and deleting and inserting all else is an edit, which costs W without the roots; so D <= W
    again, and the value is at least 0. Only a positive cost is needed.

    Returns
    -------
    Tally
        `hits` W - D and `total` W. The value is 1 for equal trees, 0 if nothing is kept, and
        NaN where there is nothing to compare: both are empty, or both the same bare root.

    Examples
    --------
    >>> gold = Node("form", children=[Node("Name"), Node("Age")])
    >>> tree_similarity(gold, Node("form", children=[Node("Name")])).parts
    (1.0, 1.5)
    """
    return TreePair(gold, pred, costs, values).similarity()


class TreePair:
    """Two trees, what it costs to edit their nodes, and the cheapest edit between them."""

    def __init__(self, gold: Tree, pred: Tree, costs: str, values: bool) -> None:
        if costs not in COSTS:
            raise UnknownName.of("tree edit costs", costs, COSTS)
        self.gold, self.pred = flatten(gold), flatten(pred)
        cost = COSTS[costs]
        self.gold_cost, self.pred_cost = cost(self.gold.depth), cost(self.pred.depth)
        deepest = sum(int(flat.depth.max(initial=0)) for flat in (self.gold, self.pred))
        # What a renaming costs, by the sum of the two depths.
        self.swap = cost(np.arange(deepest + 1) / 2)
        numbers: dict[object, int] = {}
        self.gold_label = _numbered(self.gold, numbers, values)
        self.pred_label = _numbered(self.pred, numbers, values)

    @cached_property
    def distance(self) -> float:
        """The cost of the cheapest edit."""
        if not len(self.gold) or not len(self.pred):
            return float(self.gold_cost.sum() + self.pred_cost.sum())
        from formlab.metrics import _ted

        return float(_ted.distance(*self._arrays()[:4], self.swap))

    @cached_property
    def weight(self) -> float:
        """The cost of deleting and inserting all nodes but two roots that are the same."""
        both = len(self.gold) and len(self.pred)
        start = int(bool(both and self.gold_label[0] == self.pred_label[0]))
        return float(self.gold_cost[start:].sum() + self.pred_cost[start:].sum())

    def similarity(self) -> Tally:
        """What is not edited, out of all there is to edit."""
        left_alone = self.weight - self.distance
        # No node costs less than 1 / (1 + MAX_LEVELS): what is far below that is rounding.
        return Tally((left_alone if left_alone > 1e-6 else 0.0, self.weight))

    def partners(self) -> np.ndarray:
        """For each gold node, in document order, the place of the node it becomes, or -1."""
        partners = np.full(len(self.gold), -1, dtype=np.int32)
        if len(self.gold) and len(self.pred):
            from formlab.metrics import _ted

            *arrays, gold_order, pred_order = self._arrays()
            # Two siblings that changed places are one move rather than two renamings, which cost
            # as much. So little more for a renaming decides between equals and nothing else.
            mapping = _ted.mapping(*arrays, self.swap * (1 + 1e-11))
            kept = mapping >= 0
            partners[gold_order[kept]] = pred_order[mapping[kept]]
        return partners

    def _arrays(self) -> tuple[Any, ...]:
        # Numba takes a third of a second to import, and compiles on first use.
        from formlab.metrics import _ted

        self._check_size(len(self.gold) * len(self.pred), MAX_CELLS)
        *arrays, steps = _ted.sided(
            (self.gold.depth, self.gold.size, self.gold_label, self.gold_cost),
            (self.pred.depth, self.pred.size, self.pred_label, self.pred_cost),
        )
        self._check_size(steps, MAX_STEPS)
        return tuple(arrays)

    def _check_size(self, size: int, limit: int) -> None:
        if size > limit:
            counts = f"{len(self.gold):,} and {len(self.pred):,}"
            raise DataBroken(
                f"trees of {counts} nodes are too large to compare",
                remedy="leave the document unscored; a form has some hundred nodes",
            )


def _numbered(flat: Flat, numbers: dict[object, int], values: bool) -> np.ndarray:
    keys = ((node.label, node.value) if values else node.label for node in flat.nodes)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int32)


def _distances(golds: Sequence[Tree], preds: Sequence[Tree]) -> np.ndarray:
    tallies = tree_edit_tallies(golds, preds)
    return np.stack([tallies[:, 0], np.ones(len(tallies))], axis=1)


# Their tallies come from trees, not texts: both have the view of scores counted elsewhere.
TREE_METRICS = {
    "tree_edit_distance": Metric(
        name="tree_edit_distance", title="tree edit distance", direction="down", high=None,
        unit="depth-weighted edits per form", view="counts", tallies=_distances,
        average="mean over forms",
        source="FORMCRAFT, equations (1) and (2); Zhang and Shasha 1989", units=("document",),
    ),
    "tree_similarity": Metric(
        name="tree_similarity", title="tree similarity", view="counts",
        tallies=lambda golds, preds: tree_edit_tallies(golds, preds)[:, 1:],
        unit="depth-weighted nodes left alone per node of both trees",
        source="1 - tree edit distance / weight of both trees", units=("document",),
    ),
}  # fmt: skip
