"""Speed of the tree edit distance beside zss, and its time and memory on large trees.

Run: python performance/tree_edit.py [--json]

One run, one core, CPU time, best of three rounds for both sides. Exit code 1 when a target is
missed.
"""

from __future__ import annotations

from measure import Row, apart, beside, fastest, peak, report  # isort: skip

import random
import sys
import time
from collections.abc import Callable

import zss

from formlab.metrics.tree import edit_script, tree_edit_distance
from formlab.trees import Node, flatten

NODES, PAIRS, RATIO = 100, 4, 500
LARGE, SECONDS, MEBIBYTES = 2_000, 3.0, 256.0
LABELS = "abcdefgh"


# The parent of the next node of a tree, by the tree's shape.
PARENTS: dict[str, Callable[[int, list[Node], random.Random], Node]] = {
    "bushy": lambda _, nodes, generator: generator.choice(nodes),
    # Some two hundred levels.
    "deep": lambda _, nodes, generator: generator.choice(nodes[-20:]),
    "chain": lambda _, nodes, __: nodes[-1],
    "star": lambda _, nodes, __: nodes[0],
    "balanced": lambda number, nodes, _: nodes[(number - 1) // 2],
    # A spine, every node of it with a leaf before the rest of the spine, or after it.
    "comb_right": lambda number, nodes, _: nodes[(number - 1) // 2 * 2],
    "comb_left": lambda number, nodes, _: nodes[(number - 1) // 2 * 2],
}


def grown(shape: str, count: int, generator: random.Random) -> Node:
    """A tree of `count` nodes."""
    nodes = [Node("form")]
    for number in range(1, count):
        node = Node(generator.choice(LABELS))
        PARENTS[shape](number, nodes, generator).children.append(node)
        nodes.append(node)
    for node in nodes if shape == "comb_left" else ():
        node.children.reverse()
    return nodes[0]


def by_zss(gold: Node, pred: Node) -> float:
    """The same distance with zss."""
    depths = {
        id(node): int(depth)
        for flat in (flatten(gold), flatten(pred))
        for node, depth in zip(flat.nodes, flat.depth, strict=True)
    }

    def renamed(ours: Node, theirs: Node) -> float:
        mean = (depths[id(ours)] + depths[id(theirs)]) / 2
        return 0.0 if ours.label == theirs.label else 1 / (1 + mean)

    def removed(node: Node) -> float:
        return 1 / (1 + depths[id(node)])

    return float(zss.distance(gold, pred, lambda node: node.children, removed, removed, renamed))


def speed() -> Row:
    """Pairs of random trees, beside zss."""
    generator = random.Random(0)
    pairs = [[grown("bushy", NODES, generator) for _ in "ab"] for _ in range(PAIRS)]
    # The first call compiles or loads what numba cached; that is not counted.
    error = max(abs(tree_edit_distance(*pair) - by_zss(*pair)) for pair in pairs)
    times = 50
    ours = fastest(lambda: [tree_edit_distance(*pair) for pair in pairs * times]) / times
    theirs = fastest(lambda: [by_zss(*pair) for pair in pairs])
    row = beside(f"{PAIRS} pairs of {NODES}-node trees", ours, "zss", theirs, RATIO)
    return row | {"largest_difference": error, "holds": row["holds"] and error < 1e-9}


def large(what: str, gold_shape: str, pred_shape: str) -> tuple[float, float]:
    """CPU seconds for one pair of large trees, and by how many MiB it raised the peak."""
    work = {"distance": tree_edit_distance, "script": edit_script}[what]
    generator = random.Random(1)
    gold, pred = (grown(shape, LARGE, generator) for shape in (gold_shape, pred_shape))
    work(Node("a"), Node("b"))
    before, start = peak(), time.process_time()
    work(gold, pred)
    return time.process_time() - start, peak() - before


def sizes() -> list[Row]:
    """One row per pair of large trees, each in a process of its own."""
    shapes = ("bushy", "chain", "star", "comb_left", "comb_right", "balanced")
    cases = [(what, shape, shape, True) for what in ("distance", "script") for shape in shapes]
    # Combs that lean apart, and deep trees, are the dear ones; no form has two such sides.
    cases += [("distance", "comb_left", "comb_right", False), ("distance", "deep", "deep", False)]
    rows = []
    for what, ours, theirs, aimed in cases:
        seconds, growth = apart(large, what, ours, theirs)
        row: Row = {"what": f"{what}, {LARGE:,} nodes a side: {ours} and {theirs}"}
        row |= {"formlab_seconds": seconds, "peak_growth_mib": growth}
        if aimed:
            holds = seconds < SECONDS and growth <= MEBIBYTES
            row |= {"target": SECONDS, "target_mib": MEBIBYTES, "holds": holds}
        rows.append(row)
    return rows


if __name__ == "__main__":
    sys.exit(report([speed(), *sizes()]))
