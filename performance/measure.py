"""What the measurements share: one core, the best of some rounds, the result and its exit code.

Imported before numpy and polars, which read the number of threads once.
"""

from __future__ import annotations

import os

for _name in ("OMP", "OPENBLAS", "NUMBA", "RAYON"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"
os.environ["POLARS_MAX_THREADS"] = "1"

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

Row = dict[str, Any]
_LEAST = 0.0 if "--tiny" in sys.argv else 1.0


def fastest(work: Callable[[], object], rounds: int = 9) -> float:
    """The least CPU seconds that `work` took, in so many rounds and at least a second of them."""
    seconds = list[float]()
    # Of a few milliseconds one busy moment of the machine would be all that is measured.
    while len(seconds) < rounds or sum(seconds) < _LEAST:
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def command(*words: str) -> tuple[float, float, float]:
    """Of a command of formlab: seconds on the clock, of processors, and its peak in bytes.

    The peak is that of the largest of its processes.
    """
    begin = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "formlab", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(output.decode(errors="replace"))
    seconds = time.perf_counter() - begin
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024.0


def speed(what: str, count: int, seconds: float, floor: float) -> Row:
    """How many a second, which is to be at least `floor`."""
    rate = count / max(seconds, 1e-9)
    return {"what": what, "count": count, "a_second": rate, "floor": floor, "holds": rate >= floor}


def beside(what: str, ours: float, other: str, theirs: float, floor: float) -> Row:
    """formlab's seconds and those of another way, which has to take `floor` times as long."""
    ratio = theirs / max(ours, 1e-9)
    seconds = {"formlab_seconds": ours, "beside": other, "beside_seconds": theirs}
    return {"what": what, **seconds, "ratio": ratio, "floor": floor, "holds": ratio >= floor}


def report(rows: list[Row], *, as_json: bool = False) -> int:
    """Print the rows; 1 if a floor is missed, else 0."""
    if as_json:
        print(json.dumps(rows, indent=1))
    for row in () if as_json else rows:
        cells = (f"{name} {_written(value)}" for name, value in row.items() if name != "what")
        print(f"{row['what']}: {', '.join(cells)}")
    return int(not all(row.get("holds", True) for row in rows))


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
