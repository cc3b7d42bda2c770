"""A user's own forms as a benchmark: read in the room of readers, which comes later."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

from formlab.benchmarks.spec import Benchmark


def _gold(name: str) -> Callable[..., Any]:
    return lambda *values: resolve_name(f"formlab.readers.gold:{name}")(*values)


BENCHMARK = Benchmark(
    "own",
    _gold("read"),
    title="forms of one's own, with gold in a table or in JSON files",
    licence="the user's own",
    source="formlab score GOLD",
    find_splits=_gold("splits"),
    schema=_gold("schema_of"),
)
