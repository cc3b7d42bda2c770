"""JSON accuracy, as the OmniAI benchmark defines it: 1 - changed leaves / leaves of the truth.

A leaf is a string, number, boolean or null. A leaf that is only in the truth, one that is only in
the prediction and one with another value each count as one change; under a member that is missing,
extra or of another type all leaves count. Lists are compared without regard to order: equal items
go together first, the rest so that the changes are fewest. The published tool pairs the rest of a
list greedily, so it can count more changes on lists of several changed objects. The score stops at
0, where a prediction changes more than the truth has.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from formlab.metrics.metric import assign

# Deeper or longer than any form, shallower than Python's stack; more counts as all changed.
_DEEPEST, _MOST_ITEMS = 200, 300


def _leaves(value: Any) -> int:
    """How many leaves a JSON value has; an empty object or list has none."""
    count, stack = 0, [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict | list):
            stack += item.values() if isinstance(item, dict) else item
        else:
            count += 1
    return count


def changes(gold: Any, pred: Any, *, official: bool = False, depth: int = 0) -> int:
    """How many leaves have to be added, deleted or changed to get from `pred` to `gold`.

    Where `official`, a null that the prediction filled in is no change, as in the published tool,
    whose count of the leaves of null is 0; else it is one. `depth` is how deep both stand.

    >>> changes({"a": 1, "b": [1, 2]}, {"a": 2, "b": [2, 3], "c": 0})
    4
    >>> changes({"a": None}, {"a": 1}, official=True), changes({"a": None}, {"a": 1})
    (0, 1)
    """
    if depth > _DEEPEST:
        return _leaves(gold) + _leaves(pred)
    if isinstance(gold, dict) and isinstance(pred, dict):
        return sum(
            changes(gold[key], pred[key], official=official, depth=depth + 1)
            if key in gold and key in pred
            else _leaves(gold.get(key) if key in gold else pred.get(key))
            for key in gold.keys() | pred.keys()
        )
    if isinstance(gold, list) and isinstance(pred, list):
        return _list_changes(gold, pred, official, depth)
    # In JSON true is not 1, though in Python it is.
    if gold == pred and isinstance(gold, bool) == isinstance(pred, bool):
        return 0
    if official and gold is None:
        return 0
    # Another type counts as one change per leaf of the truth, an empty one as one.
    return max(_leaves(gold), 1)


def _list_changes(gold: list[Any], pred: list[Any], official: bool, depth: int) -> int:
    keys = [[_key(item) for item in items] for items in (gold, pred)]
    common = Counter(keys[0]) & Counter(keys[1])
    (ours, plain), (theirs, more) = (
        _unequal(items, names, Counter(common))
        for items, names in zip((gold, pred), keys, strict=True)
    )
    every = [_leaves(item) for item in ours], [_leaves(item) for item in theirs]
    # A changed plain item is one taken out and one put in: nothing tells which was which.
    total = plain + more + sum(every[0]) + sum(every[1])
    if not ours or not theirs or max(len(ours), len(theirs)) > _MOST_ITEMS:
        return total
    how = {"official": official, "depth": depth + 1}
    cost = [[changes(first, second, **how) for second in theirs] for first in ours]
    # What is saved by changing an item into another instead of taking it out.
    saved = np.maximum(np.add.outer(*every) - np.array(cost), 0)
    return total - sum(int(saved[pair]) for pair in assign(saved))


def _unequal(items: list[Any], keys: list[str], common: Counter[str]) -> tuple[list[Any], int]:
    """The objects and lists that have no equal in the other list, and how many plain items."""
    left = []
    for item, key in zip(items, keys, strict=True):
        if common[key]:
            common[key] -= 1
        else:
            left.append(item)
    objects = [item for item in left if isinstance(item, dict | list)]
    return objects, len(left) - len(objects)


def _key(item: Any) -> str:
    try:
        return json.dumps(item, sort_keys=True, default=str)
    except RecursionError:
        return f"too deep {id(item)}"


def accuracy_parts(gold: Any, pred: Any, *, official: bool = False) -> tuple[float, float]:
    """Leaves of the truth that survive (never below 0), and leaves of the truth.

    >>> accuracy_parts({"a": 1, "b": 2, "c": 3, "d": 4}, {"a": 1, "b": 2, "c": 0})
    (2.0, 4.0)
    """
    total = _leaves(gold)
    return float(max(0, total - changes(gold, pred, official=official))), float(total)


def json_tallies(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """Tallies of pairs of JSON texts; a prediction that is none changes all."""
    pairs = zip(map(loaded, golds), map(loaded, preds), strict=True)
    return np.array([accuracy_parts(*pair) for pair in pairs]).reshape(-1, 2)


def loaded(text: str) -> Any:
    """The value of a JSON text; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
