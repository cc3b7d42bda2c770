"""formlab: where and why models fail on forms."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formlab import analysis, charts, gallery, logs, own, reports
    from formlab.analysis import compare, evaluate, open_evaluation, summarise
    from formlab.benchmarks import load
    from formlab.formats import read_predictions
    from formlab.frames import options
    from formlab.logs import open_log
    from formlab.systems import run

__all__ = [
    "agent", "analysis", "benchmark", "chart", "charts", "command", "compare", "evaluate",
    "gallery", "load", "log", "logs", "metric", "notebook", "open_evaluation", "open_log",
    "options", "own", "plugin",
    "read_predictions", "reader", "reports", "run", "summarise", "system",
]  # fmt: skip

_HOME = {
    "compare": "analysis", "evaluate": "analysis", "load": "benchmarks",
    "open_evaluation": "analysis", "open_log": "logs", "options": "frames",
    "read_predictions": "formats",
    "run": "systems", "summarise": "analysis",
}  # fmt: skip
# Decorators that register what stands below them; see `formlab.registry.register`.
_DECORATORS = {
    "agent": "agents", "benchmark": "benchmarks", "chart": "charts", "command": "commands",
    "log": "logs", "metric": "metrics", "notebook": "notebooks", "reader": "formats",
    "system": "systems",
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
