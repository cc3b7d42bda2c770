"""The registry of metrics.

A metric turns gold and prediction into tallies; summed tallies give the score of many units. What
each of them is stands in `metrics.toml`, its functions in the module of its family.

>>> METRICS["cer"]("abc", "abd").parts
(1.0, 3.0)
>>> METRICS["cer"].tallies(["abc", "x"], ["abd", ""]).tolist()
[[1.0, 3.0], [1.0, 1.0]]
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np

from formlab.metrics.metric import NEEDS, Metric, Tally, ratio
from formlab.registry import Registry

_TABLE = tomllib.loads(Path(__file__).with_name("metrics.toml").read_text("utf-8"))
# What `metrics.toml` says of each metric; one that is `like` another shares the rest with it.
DECLARED = {name: _TABLE.get(entry.get("like"), {}) | entry for name, entry in _TABLE.items()}


class _Builtin(dict[str, Metric]):
    """formlab's own metrics by name; its family is imported when a metric is asked for."""

    def __missing__(self, name: str) -> Metric:
        entry = {k: text for k, text in DECLARED[name].items() if k not in ("family", "like")}
        for key in entry.keys() & {"tallies", "counts", "score", "unit_score", "published_score"}:
            function = resolve_name(f"{__name__}.{entry[key]}")
            entry[key] = function[name] if isinstance(function, dict) else function
        if counts := entry.pop("counts", None):
            entry["tallies"] = lambda *columns: counts(*columns)[name]
        entry |= {key: tuple(entry[key]) for key in entry.keys() & {"units", "tasks"}}
        if "need" in entry:
            entry["need"] = NEEDS[entry["need"]]
        if entry.get("high") == np.inf:
            entry["high"] = None
        return self.setdefault(name, Metric(name=name, **entry))


BUILTIN = _Builtin()
METRICS = Registry("metrics", dict.fromkeys(DECLARED, "formlab.metrics:BUILTIN"))
# The column `average`: the score of the sums over all documents, or the mean of documents' scores.
POOLED, MACRO = "pooled", "macro"
__all__ = ["METRICS", "Metric", "Tally", "get", "ratio", "title"]


def __getattr__(name: str) -> Any:
    if name in METRICS.builtin:
        return METRICS[name]
    raise AttributeError(f"module 'formlab.metrics' has no attribute {name!r}")


def get(name: str) -> Metric:
    """The metric registered as `name`; else `UnknownName`.

    >>> get("cer").direction
    'down'
    """
    return METRICS.find(name)


def of(task: str, unit: str, *views: str) -> list[Metric]:
    """The metrics that declare a task, are taken of such units and read one of `views`."""
    return [
        metric
        for metric in METRICS.values()
        if task in metric.tasks and unit in metric.units and metric.view in views
    ]


def title(name: str, average: str = POOLED) -> str:
    """What to call a metric, or its mean over documents.

    >>> title("bleu", MACRO)
    'BLEU, mean over documents'
    """
    return get(name).title + (", mean over documents" if average == MACRO else "")
