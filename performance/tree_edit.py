"""Speed of the tree edit distance beside zss, and its time and memory on large trees.

Run: python performance/tree_edit.py [--json]

One run, one core, CPU time, best of `ROUNDS` for both sides. Exit code 1 when a target is missed.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["NUMBA_NUM_THREADS"] = "1"
os.environ["POLARS_MAX_THREADS"] = "1"

import json
import multiprocessing
import random
import resource
import sys
import time
from collections.abc import Callable

import zss
from rich.console import Console
from rich.table import Table

from formlab.metrics.tree import tree_edit_distance
from formlab.metrics.tree_edits import edit_script
from formlab.trees import Node, flatten

NODES, PAIRS, ROUNDS, RATIO = 100, 4, 3, 500
LARGE, SECONDS, MEBIBYTES = 2_000, 3.0, 256.0
LABELS = "abcdefgh"


def grown(count: int, generator: random.Random, place: Callable[[int, list[Node]], Node]) -> Node:
    """A tree of `count` nodes; `place` gives the parent of the next one."""
    nodes = [Node("form")]
    for number in range(1, count):
        node = Node(generator.choice(LABELS))
        place(number, nodes).children.append(node)
        nodes.append(node)
    return nodes[0]


def bushy(count: int, generator: random.Random) -> Node:
    """Every node below any earlier one, each equally likely."""
    return grown(count, generator, lambda _, nodes: generator.choice(nodes))


def deep(count: int, generator: random.Random) -> Node:
    """Every node below one of the last twenty: some two hundred levels."""
    return grown(count, generator, lambda _, nodes: generator.choice(nodes[-20:]))


def chain(count: int, generator: random.Random) -> Node:
    """One node a level."""
    return grown(count, generator, lambda _, nodes: nodes[-1])


def star(count: int, generator: random.Random) -> Node:
    """All below the root."""
    return grown(count, generator, lambda _, nodes: nodes[0])


def balanced(count: int, generator: random.Random) -> Node:
    """Two children each."""
    return grown(count, generator, lambda number, nodes: nodes[(number - 1) // 2])


def comb_right(count: int, generator: random.Random) -> Node:
    """A spine, every node of it with a leaf before the rest of the spine."""
    return grown(count, generator, lambda number, nodes: nodes[(number - 1) // 2 * 2])


def comb_left(count: int, generator: random.Random) -> Node:
    """The same with the leaf after the rest of the spine."""
    tree = comb_right(count, generator)
    for node in flatten(tree).nodes:
        node.children.reverse()
    return tree


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

    def alone(node: Node) -> float:
        return 1 / (1 + depths[id(node)])

    return float(zss.distance(gold, pred, lambda node: node.children, alone, alone, renamed))


def fastest(work: Callable[[], object]) -> float:
    """The least CPU seconds that `work` took in `ROUNDS` rounds."""
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def speed() -> list[dict[str, object]]:
    """One row: pairs of random trees, beside zss."""
    generator = random.Random(0)
    pairs = [(bushy(NODES, generator), bushy(NODES, generator)) for _ in range(PAIRS)]
    # The first call compiles or loads what numba cached; that is not counted.
    apart = max(abs(tree_edit_distance(*pair) - by_zss(*pair)) for pair in pairs)
    times = 50
    ours = fastest(lambda: [tree_edit_distance(*pair) for pair in pairs * times]) / times
    theirs = fastest(lambda: [by_zss(*pair) for pair in pairs])
    return [
        {
            "what": f"{PAIRS} pairs of {NODES}-node trees", "formlab_seconds": ours,
            "beside": "zss", "beside_seconds": theirs, "ratio": theirs / ours, "target": RATIO,
            "largest_difference": apart, "holds": theirs / ours >= RATIO and apart < 1e-9,
        }
    ]  # fmt: skip


def large(what: str, gold_shape: str, pred_shape: str) -> tuple[float, float]:
    """CPU seconds for one pair of large trees, and by how many MiB it raised the peak."""
    work = {"distance": tree_edit_distance, "script": edit_script}[what]
    generator = random.Random(1)
    gold, pred = (globals()[shape](LARGE, generator) for shape in (gold_shape, pred_shape))
    work(Node("a"), Node("b"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    work(gold, pred)
    seconds = time.process_time() - start
    return seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def sizes() -> list[dict[str, object]]:
    """One row per pair of large trees, each in a process of its own."""
    shapes = ("bushy", "chain", "star", "comb_left", "comb_right", "balanced")
    cases = [(what, shape, shape, True) for what in ("distance", "script") for shape in shapes]
    # Combs that lean apart, and deep trees, are the dear ones; no form has two such sides.
    cases += [("distance", "comb_left", "comb_right", False), ("distance", "deep", "deep", False)]
    rows = []
    for what, ours, theirs, aimed in cases:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, growth = pool.apply(large, (what, ours, theirs))
        row = {
            "what": f"{what}, {LARGE:,} nodes a side: {ours} and {theirs}",
            "formlab_seconds": seconds, "peak_growth_mebibytes": growth,
        }  # fmt: skip
        if aimed:
            row |= {
                "target": SECONDS, "target_mebibytes": MEBIBYTES,
                "holds": seconds < SECONDS and growth <= MEBIBYTES,
            }  # fmt: skip
        rows.append(row)
    return rows


def show(speeds: list[dict[str, object]], larges: list[dict[str, object]]) -> None:
    """Print both tables."""
    words = {True: "yes", False: "NO", None: "–"}
    first = Table("what", "formlab s", "zss s", "ratio", "target", "holds", title="Speed")
    for row in speeds:
        numbers = [f"{row[key]:.3g}" for key in ("formlab_seconds", "beside_seconds", "ratio")]
        first.add_row(row["what"], *numbers, f">= {row['target']}", words[row["holds"]])
    second = Table("what", "s", "peak grew by MiB", "target", "holds", title="Large trees")
    for row in larges:
        aim = f"< {SECONDS:g} s, <= {MEBIBYTES:g} MiB" if "target" in row else "–"
        second.add_row(
            row["what"], f"{row['formlab_seconds']:.2f}", f"{row['peak_growth_mebibytes']:.0f}",
            aim, words[row.get("holds")],
        )  # fmt: skip
    Console(width=120).print(first, second)


def main() -> int:
    """Measure, print, and say by the exit code whether every target holds."""
    speeds, larges = speed(), sizes()
    if "--json" in sys.argv:
        print(json.dumps([*speeds, *larges], indent=1))
    else:
        show(speeds, larges)
    return 0 if all(row.get("holds", True) for row in [*speeds, *larges]) else 1


if __name__ == "__main__":
    sys.exit(main())
