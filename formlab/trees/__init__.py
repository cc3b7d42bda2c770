"""Form trees: groups, nested groups and fields."""

from formlab import frames
from formlab.trees.node import MAX_LEVELS, Flat, Node, escape, flatten
from formlab.trees.records import from_records

__all__ = ["MAX_LEVELS", "Flat", "Node", "escape", "flatten", "from_records"]

frames.door(globals(), __all__)
