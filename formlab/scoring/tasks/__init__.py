"""How each family of tasks is scored: one file each, one registry line a task."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

# The tasks that each module's `score` scores.
FAMILIES = {
    "text": {"text"},
    "content": {"marking", "visual", "cross", "vqa", "consistency"},
    "documents": {"layout", "value"},
    "actions": {"click"},
    "entities": {"entity"},
    "facts": {"fact"},
}
# Tasks whose modules note something of all predictions: their function `marks`.
MARKS = ("layout", "consistency", "click")


def families(tasks: Iterable[str]) -> dict[str, Any]:
    """The modules of some tasks by name, each once and imported no sooner."""
    asked = {*tasks}
    names = [name for name, own in FAMILIES.items() if own & asked]
    return {name: import_module(f"{__name__}.{name}") for name in names}
