"""formlab: where and why models fail on forms."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formlab import analysis, charts, gallery, readers, reports, testing
    from formlab.analysis import compare, evaluate, open_evaluation, summarise
    from formlab.benchmarks import load
    from formlab.frames import options
    from formlab.readers import read_predictions
    from formlab.readers.logs import open_log
    from formlab.systems import run

__all__ = [
    "agent", "analysis", "benchmark", "chart", "charts", "command", "compare", "evaluate",
    "gallery", "load", "metric", "notebook", "open_evaluation", "open_log",
    "options", "plugin", "read_predictions", "reader", "readers", "reports", "run",
    "summarise", "system", "testing",
]  # fmt: skip

_HOME = {
    "compare": "analysis", "evaluate": "analysis",
    "load": "benchmarks", "open_evaluation": "analysis", "open_log": "readers.logs",
    "options": "frames", "read_predictions": "readers", "run": "systems", "summarise": "analysis",
}  # fmt: skip
# Decorators that register what stands below them; see `formlab.registry.register`.
_DECORATORS = {
    "agent": "agents", "benchmark": "benchmarks", "chart": "charts", "command": "commands",
    "metric": "metrics", "notebook": "notebooks", "reader": "readers", "system": "systems",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    # Loaded when first used: charts and reports take seconds that a plain scoring need not pay.
    if name not in __all__:
        # With these, Python adds the nearest name.
        home = import_module(__name__)
        raise AttributeError(f"module 'formlab' has no attribute {name!r}", name=name, obj=home)
    if name == "plugin":
        return import_module("formlab.registry").load
    if name in _DECORATORS:
        return partial(import_module("formlab.registry").register, _DECORATORS[name])
    if name in _HOME:
        return getattr(import_module(f"formlab.{_HOME[name]}"), name)
    return import_module(f"formlab.{name}")


def __dir__() -> list[str]:
    return __all__
