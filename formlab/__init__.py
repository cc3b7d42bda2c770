"""formlab: where and why models fail on forms."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module, util
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formlab import analysis, charts, gallery, readers, reports, testing
    from formlab.analysis import compare, evaluate, open_evaluation, summarise
    from formlab.benchmarks import load
    from formlab.frames import options
    from formlab.readers import read_predictions
    from formlab.readers.logs import open_log
    from formlab.scorers import inspect_scorer
    from formlab.systems import run

__all__ = [
    "agent", "analysis", "benchmark", "chart", "charts", "command", "compare", "evaluate",
    "gallery", "inspect_scorer", "load", "metric", "notebook", "open_evaluation", "open_log",
    "options", "plugin", "read_predictions", "reader", "readers", "reports", "run",
    "summarise", "system", "testing",
]  # fmt: skip

_HOME = {
    "compare": "analysis", "evaluate": "analysis", "inspect_scorer": "scorers",
    "load": "benchmarks", "open_evaluation": "analysis", "open_log": "readers.logs",
    "options": "frames", "read_predictions": "readers", "run": "systems", "summarise": "analysis",
}  # fmt: skip
# Decorators that register what stands below them; see `formlab.registry.register`.
_DECORATORS = (
    "agent", "benchmark", "chart", "command", "metric", "notebook", "reader", "system",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    # Loaded when first used: charts and reports take seconds that a plain scoring need not pay.
    if name not in __all__:
        # With these, Python adds the nearest name.
        home = import_module(__name__)
        raise AttributeError(f"module 'formlab' has no attribute {name!r}", name=name, obj=home)
    if name == "plugin":
        return import_module("formlab.registry").load
    if name in _DECORATORS:
        return partial(import_module("formlab.registry").register, f"{name}s")
    if name in _HOME:
        return getattr(import_module(f"formlab.{_HOME[name]}"), name)
    return import_module(f"formlab.{name}")


def __dir__() -> list[str]:
    return __all__


class _Grammars(ModuleType):
    """Stands for a module whose import compiles 38 grammars, until one of them is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)

    def is_valid_syntax(self, *rule_and_text: str) -> bool:
        return self.__getattr__("is_valid_syntax")(*rule_and_text)


# jsonschema imports it with altair and nbformat: two seconds of every report and every kernel.
_IRIS = "rfc3987_syntax"
if _IRIS not in sys.modules and (_found := util.find_spec(_IRIS)):
    sys.modules[_IRIS] = _Grammars(_IRIS)
    sys.modules[_IRIS].__path__ = _found.submodule_search_locations or []
