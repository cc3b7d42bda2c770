"""Shares: of fields found and right, of answers usable, of the leaves of a JSON value unchanged.

What is right was decided before: accuracies read the boolean columns of *cases*, `match_*` what is
right by the comparator of a field (`formlab.scoring.rules`), `field_*` only whether a field has a
value, the shares of answers the status of each.

JSON accuracy is that of the OmniAI benchmark: 1 - changed leaves / leaves of the truth, at least 0.
A leaf is a string, number, boolean or null. A leaf of one side alone and one with another value
each count as one change; under a member that is missing, extra or of another type all leaves count.
Lists are compared without regard to order: equal items go together first, the rest so that the
changes are fewest. The published tool pairs the rest greedily, so it can count more changes.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import polars as pl

from formlab import tables
from formlab.metrics import assign, f1_tallies, shares

# The statuses that each share of answers counts; `valid_answers` needed no repair.
SHARES = {
    "usable_answers": tables.USABLE,
    "valid_answers": ("ok",),
    "repaired_answers": ("repaired",),
    "bad_json_answers": ("bad_json",),
    "refused_answers": ("refused",),
    "truncated_answers": ("truncated",),
    "failed_calls": ("api_error",),
}
# Lists longer than any form's count as all changed, as does JSON deeper than Python's stack.
_MOST_ITEMS = 300


def right_tallies(passed: Sequence[bool | None]) -> np.ndarray:
    """1 of 1 where a rung holds, 0 of 1 where not, 0 of 0 (undefined) for None; shape (n, 2)."""
    # Null is NaN as a number.
    return shares(pl.Series(passed, dtype=pl.Boolean).cast(pl.Float64).to_numpy())


def _filled(values: Sequence[str | None]) -> np.ndarray:
    return np.array([bool(value) and not value.isspace() for value in values], dtype=float)


def field_tallies(golds: Sequence[str], preds: Sequence[str]) -> dict[str, np.ndarray]:
    """Tallies of shape (n, 2) of the metrics ``field_*``, by whether a side has a value."""
    in_gold, in_pred = _filled(golds), _filled(preds)
    return f1_tallies("field", in_gold * in_pred, in_pred, in_gold)


def spurious(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """Whether a value is given where the gold has none, of values given, shape (n, 2)."""
    in_gold, in_pred = _filled(golds), _filled(preds)
    return np.stack([in_pred * (1 - in_gold), in_pred], axis=1)


def match_tallies(
    cases: pl.DataFrame, weights: Sequence[float] | None = None
) -> dict[str, np.ndarray]:
    """Tallies of shape (n, 2) of the metrics ``match_*``, weighted only with `weights` above 0.

    `cases` have the columns ``gold``, ``pred``, ``status`` and ``outcome``.
    """
    used = pl.when(pl.col("status").is_in(tables.USABLE)).then("pred").alias("pred")
    filled = (pl.col("gold", "pred").str.strip_chars() != "").fill_null(value=False)
    in_gold, in_pred = cases.with_columns(used).select(filled.cast(pl.Float64)).to_numpy().T
    # A value is null where a side has no such field, and blank where it is left empty.
    is_right, is_asked = pl.col("outcome") == "match", pl.col("gold").is_not_null()
    hits, required = cases.select(is_right, is_asked).to_numpy().T.astype(float)
    # A value that is blank on one side and right counts once on each side that has it.
    totals = {"precision": in_pred, "recall": in_gold, "f1": in_gold + in_pred}
    parts = {
        f"match_{name}": np.stack([hits * total, total], axis=1)
        for name, total in (totals | {"accuracy": required}).items()
    }
    if weights is not None:
        parts["match_weighted"] = parts["match_f1"] * np.asarray(weights, dtype=float)[:, None]
    return parts


def answer_tallies(statuses: Sequence[str]) -> dict[str, np.ndarray]:
    """Whether each answer counts for a share, of one answer; 0 of 0 where nothing was asked."""
    answered = [status not in ("missing", "unscored") for status in statuses]
    hits = {name: [status in counted for status in statuses] for name, counted in SHARES.items()}
    return {name: np.array([hits[name], answered], dtype=float).T for name in SHARES}


def _leaves(value: Any) -> int:
    """How many leaves a JSON value has; an empty object or list has none."""
    items = [value]
    # The list grows while it is gone through.
    for item in items:
        if isinstance(item, dict | list):
            items += item.values() if isinstance(item, dict) else item
    return sum(not isinstance(item, dict | list) for item in items)


def changes(gold: Any, pred: Any, *, official: bool = False) -> int:
    """How many leaves have to be added, deleted or changed to get from `pred` to `gold`."""
    if isinstance(gold, dict) and isinstance(pred, dict):
        return sum(
            changes(gold[key], pred[key], official=official)
            if key in gold and key in pred
            else _leaves(gold[key] if key in gold else pred[key])
            for key in gold.keys() | pred.keys()
        )
    if isinstance(gold, list) and isinstance(pred, list):
        return _list_changes(gold, pred, official=official)
    # In JSON true is not 1, though in Python it is.
    is_same = gold == pred and isinstance(gold, bool) == isinstance(pred, bool)
    # The published tool counts no leaf of null, and so no change where it was filled in.
    if is_same or (official and gold is None):
        return 0
    # Another type counts as one change per leaf of the truth, an empty one as one.
    return max(_leaves(gold), 1)


def _list_changes(gold: list[Any], pred: list[Any], *, official: bool) -> int:
    keys = [[json.dumps(item, sort_keys=True) for item in side] for side in (gold, pred)]
    ours, theirs = map(Counter, keys)
    # What has no equal in the other list.
    rest = [[json.loads(key) for key in left.elements()] for left in (ours - theirs, theirs - ours)]
    # A changed plain item is one taken out and one put in: nothing tells which was which.
    total = sum(_leaves(item) for side in rest for item in side)
    ours, theirs = ([item for item in side if isinstance(item, dict | list)] for side in rest)
    if not ours or not theirs or max(len(ours), len(theirs)) > _MOST_ITEMS:
        return total
    cost = [[changes(item, other, official=official) for other in theirs] for item in ours]
    # What is saved by changing an item into another instead of taking it out.
    alone = np.add.outer([_leaves(item) for item in ours], [_leaves(item) for item in theirs])
    saved = np.maximum(alone - np.array(cost), 0)
    return total - sum(int(saved[pair]) for pair in assign(saved))


def json_tallies(
    golds: Iterable[str], preds: Iterable[str], *, official: bool = False
) -> np.ndarray:
    """Leaves of the truth that survive (never below 0) of all; what is no JSON changes all."""
    rows = []
    for gold, pred in zip(map(loaded, golds), map(loaded, preds), strict=True):
        total = lost = _leaves(gold)
        with suppress(RecursionError):
            lost = changes(gold, pred, official=official)
        rows.append((max(total - lost, 0), total))
    return np.array(rows, dtype=float).reshape(-1, 2)


def loaded(text: str) -> Any:
    """The value of a JSON text; None where it is none."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    return None
