"""How each family of tasks is scored: one file each, one registry line a task."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

# The module whose `score` scores the task.
TASKS = {
    "text": "text",
    "marking": "content",
    "visual": "content",
    "cross": "content",
    "layout": "documents",
    "vqa": "content",
    "consistency": "content",
    "click": "actions",
    "entity": "entities",
    "fact": "facts",
    "value": "documents",
}
# Tasks whose modules note something of all predictions: their function `marks`.
MARKS = ("layout", "consistency", "click")


def families(tasks: Iterable[str]) -> dict[str, Any]:
    """The modules of some tasks by name, each once and imported no sooner."""
    names = dict.fromkeys(TASKS[task] for task in tasks if task in TASKS)
    return {name: import_module(f"{__name__}.{name}") for name in names}
