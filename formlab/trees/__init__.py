"""Form trees: groups, nested groups and fields."""

from formlab.trees.node import MAX_LEVELS, Flat, Node, escape, flatten
from formlab.trees.records import from_records

__all__ = ["MAX_LEVELS", "Flat", "Node", "escape", "flatten", "from_records"]
