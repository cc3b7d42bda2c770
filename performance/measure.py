"""What the measurements share: one core, the best of some rounds, the result and its exit code.

Imported before numpy and polars, which read the number of threads once.
"""

from __future__ import annotations

import os

for _name in ("OMP", "OPENBLAS", "NUMBA", "RAYON"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"
os.environ["POLARS_MAX_THREADS"] = "1"

import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

Row = dict[str, Any]


def fastest(work: Callable[[], object], rounds: int = 3) -> float:
    """The least CPU seconds that `work` took."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def peak() -> float:
    """The most memory that this process has used, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function in a process of its own, for a peak of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def beside(what: str, ours: float, other: str, theirs: float, target: float, **more: Any) -> Row:
    """formlab's seconds and those of another way, which has to take `target` times as long."""
    return {
        "what": what, "formlab_seconds": ours, "beside": other, "beside_seconds": theirs,
        "ratio": theirs / ours, "target": target, "holds": theirs / ours >= target,
    } | more  # fmt: skip


def report(rows: list[Row]) -> int:
    """Print the rows, as JSON with ``--json``; 1 if a target is missed, else 0."""
    if "--json" in sys.argv:
        print(json.dumps(rows, indent=1))
    else:
        for row in rows:
            cells = (f"{name} {_written(value)}" for name, value in row.items() if name != "what")
            print(f"{row['what']}: {', '.join(cells)}")
    return int(not all(row.get("holds", True) for row in rows))


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
