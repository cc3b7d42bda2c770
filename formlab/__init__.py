"""formlab: where and why models fail on forms."""

import os
import sys
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

# Public names by module, and decorators that register what stands below them: see `registry`.
_HOMES = {
    "analysis": "compare evaluate open_evaluation summarise",
    "benchmarks": "load",
    "tables": "options",
    "readers": "read_predictions",
    "readers.logs": "open_log",
    "systems": "run",
}
_ROOMS = "analysis charts gallery readers reports testing"
_DECORATORS = "agent benchmark chart command metric notebook reader system"
__all__ = sorted(" ".join([*_HOMES.values(), _ROOMS, _DECORATORS, "plugin"]).split())
# Polars gives memory back at once and takes it again: a twentieth of the time of scoring.
os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:5000,muzzy_decay_ms:5000")
# With it jsonschema, which altair and nbformat import, parses a grammar of addresses for 1.3 s.
sys.modules.setdefault("rfc3987_syntax", None)


def __getattr__(name: str) -> Any:
    # Loaded when first used: charts and reports take seconds that a plain scoring need not pay.
    for home, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"formlab.{home}"), name)
    if name == "plugin":
        return import_module("formlab.registry").load
    if name in _DECORATORS.split():
        return partial(import_module("formlab.registry").register, f"{name}s")
    if find_spec(f"formlab.{name}"):
        return import_module(f"formlab.{name}")
    # With these, Python adds the nearest name.
    room = sys.modules[__name__]
    raise AttributeError(f"module 'formlab' has no attribute {name!r}", name=name, obj=room)


def __dir__() -> list[str]:
    return __all__
