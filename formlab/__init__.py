"""formlab: where and why models fail on forms."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formlab import charts, gallery, reports
    from formlab.analysis import compare, evaluate, open_evaluation, summarise
    from formlab.benchmarks import load
    from formlab.formats import read_predictions
    from formlab.systems import run

__all__ = [
    "charts", "compare", "evaluate", "gallery", "load", "open_evaluation", "read_predictions",
    "reports", "run", "summarise",
]  # fmt: skip

_HOME = {
    "compare": "analysis", "evaluate": "analysis", "load": "benchmarks",
    "open_evaluation": "analysis", "read_predictions": "formats", "run": "systems",
    "summarise": "analysis",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    # Loaded when first used: charts and reports take seconds that a plain scoring need not pay.
    if name not in __all__:
        raise AttributeError(f"module 'formlab' has no attribute {name!r}")
    if name in _HOME:
        return getattr(import_module(f"formlab.{_HOME[name]}"), name)
    return import_module(f"formlab.{name}")
