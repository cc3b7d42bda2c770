"""The bench: cases of all targets, in children that are ended where they hang."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tests.fuzz.verdicts import CRASHED, HELD, HUNG

ROOT = Path(__file__).parents[2]
# The name of a target, and the number of a case or the path of a case file.
Case = tuple[str, int | str]
# Cases of one child: what one leaves in memory does not stay for long.
_AT_ONCE = 400


def run(
    cases: Iterable[Case],
    *,
    seed: str = "0",
    seconds: float = 30,
    minutes: float = 1e9,
    module: str = "tests.fuzz.targets",
) -> Iterator[dict[str, Any]]:
    """A row for each case: `target`, `number`, `verdict`, `what`, `changes`, `seconds`.

    A case that takes more than `seconds` is ended; after `minutes` no other case begins.
    """
    until = time.monotonic() + 60 * minutes
    order = {"seed": seed, "seconds": seconds, "module": module}
    left = iter(cases)
    some = list(islice(left, _AT_ONCE))
    # In memory: the package waits for the disk whenever it writes, longer than for all else.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory) as home:
        while some and time.monotonic() < until:
            done = 0
            for row in _child(order | {"cases": some}, home):
                done += 1
                yield row
                if time.monotonic() > until:
                    return
            some = some[done:] or list(islice(left, _AT_ONCE))


def _child(order: dict[str, Any], home: str) -> Iterator[dict[str, Any]]:
    # Its files, the user's caches and settings among them, are in a folder that goes with it.
    own = dict.fromkeys(("TMPDIR", "HOME", "FORMLAB_CACHE"), home) | {"COLUMNS": "100"}
    own |= {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.fuzz.child"]
    begun: dict[str, Any] | None = None
    with (
        tempfile.TemporaryFile("w+", dir=home) as errors,
        subprocess.Popen(
            command, cwd=home, env=os.environ | own, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=errors, text=True,
        ) as child,
    ):  # fmt: skip
        try:
            assert child.stdin
            assert child.stdout
            with child.stdin as given:
                json.dump(order, given)
            for line in child.stdout:
                read = json.loads(line)
                if "verdict" not in read:
                    begun = read
                else:
                    row, begun = {**(begun or {}), **read}, None
                    # Of thousands of cases only what failed is kept in memory.
                    yield row | ({"changes": []} if row["verdict"] == HELD else {})
        finally:
            # Whoever wants no more rows does not wait for the rest.
            if begun is not None or sys.exc_info()[0]:
                child.kill()
        child.wait()
        errors.seek(0)
        said = errors.read()
    if begun is not None:
        yield begun | _ended(said, order["seconds"])
    elif child.returncode:
        raise RuntimeError(f"the bench's child ended: {said[-3000:]}")


def _ended(said: str, seconds: float) -> dict[str, Any]:
    """What came of a case whose process ended, by what that left on its error stream."""
    if "Timeout (" not in said:
        return {"verdict": CRASHED, "what": said[-800:], "seconds": 0.0}
    stack = said.rpartition("most recent call first")[2].splitlines()
    places = [line.strip() for line in stack if "/formlab" in line][:5]
    what = "\n  ".join([f"over {seconds} s", *(line.replace(str(ROOT), "") for line in places)])
    return {"verdict": HUNG, "what": what, "seconds": seconds}


def failures(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first row of each failure that differs from the others in target and place, `times`."""
    first: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in rows:
        if row["verdict"] != HELD:
            # The text of an error holds what was in the input; where it was raised does not.
            where = tuple(row["what"].splitlines()[1:]) or (row["target"], row["what"][:40])
            first.setdefault((row["verdict"], *where), row | {"times": 0})["times"] += 1
    return list(first.values())
