"""Shares of fields and answers: right on a rung of the ladder, found, right by rule, usable.

What is counted was decided before: accuracies read the boolean columns of *cases*, `match_*` what
is right by the comparator of a field (`formlab.scoring.rules`), `field_*` only whether a field has
a value, the shares of answers the status of each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from formlab import tables
from formlab.metrics.metric import as_many, f1_tallies

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


def right_tallies(passed: Sequence[bool | None]) -> np.ndarray:
    """1 of 1 where a rung holds, 0 of 1 where not, 0 of 0 (undefined) for None; shape (n, 2)."""
    # Null is NaN as a number.
    hits = pl.Series(passed, dtype=pl.Boolean).cast(pl.Float64).to_numpy()
    return np.stack([np.nan_to_num(hits), ~np.isnan(hits)], axis=1).reshape(-1, 2)


def _filled(values: Sequence[str | None]) -> np.ndarray:
    return np.array([bool(value) and not value.isspace() for value in values], dtype=float)


def field_tallies(golds: Sequence[str], preds: Sequence[str]) -> dict[str, np.ndarray]:
    """Tallies of shape (n, 2) of `field_precision`, `field_recall` and `field_f1`.

    A value is blank where that side has no such field or leaves it empty; only that counts.

    >>> parts = field_tallies(["Ada", "9.00", ""], ["Eda", "", "yes"])
    >>> {name: rows.sum(axis=0).tolist() for name, rows in parts.items()}
    {'field_precision': [1.0, 2.0], 'field_recall': [1.0, 2.0], 'field_f1': [2.0, 4.0]}
    """
    in_gold, in_pred = _filled(golds), _filled(preds)
    return f1_tallies("field", in_gold * in_pred, in_pred, in_gold)


def match_tallies(
    golds: Sequence[str | None],
    preds: Sequence[str | None],
    right: Sequence[bool],
    weights: Sequence[float] | None = None,
) -> dict[str, np.ndarray]:
    """Tallies of shape (n, 2) of the metrics `match_*` from n fields of both sides.

    Values are None where a side has no such field, blank where it is left empty; `right` says
    whether each is right, `weights`, above 0, how much each counts: without them there is no
    ``match_weighted``. Extra items of a list are spurious, absent ones missing.

    >>> sides = ["9.00", "Ada", "", None], ["9", "Eda", "", "x"]
    >>> parts = match_tallies(*sides, right=[1, 0, 1, 0], weights=[2, 1, 1, 1])
    >>> {name.removeprefix("match_"): rows.sum(axis=0).tolist() for name, rows in parts.items()}
    ... # doctest: +NORMALIZE_WHITESPACE
    {'precision': [1.0, 3.0], 'recall': [1.0, 2.0], 'f1': [2.0, 5.0], 'accuracy': [2.0, 3.0],
     'weighted': [4.0, 7.0]}
    """
    as_many(golds, preds)
    in_gold, in_pred, hits = _filled(golds), _filled(preds), np.asarray(right, dtype=float)
    required = np.array([value is not None for value in golds], dtype=float)
    # A value that is blank on one side and right counts once on each side that has it.
    totals = {"precision": in_pred, "recall": in_gold, "f1": in_gold + in_pred}
    parts = {
        f"match_{name}": np.stack([hits * total, total], axis=1)
        for name, total in (totals | {"accuracy": required}).items()
    }
    if weights is not None:
        parts["match_weighted"] = parts["match_f1"] * np.asarray(weights, dtype=float)[:, None]
    return parts


def answer_tallies(statuses: Sequence[str], name: str) -> np.ndarray:
    """Whether each answer counts for the share `name`, out of one answer; shape (n, 2).

    A question that was never put (status `missing`) says nothing of the system: 0 of 0.

    >>> answer_tallies(["ok", "repaired", "missing"], "valid_answers").tolist()
    [[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    """
    hits = [status in SHARES[name] for status in statuses]
    answered = [status not in ("missing", "unscored") for status in statuses]
    return np.array([hits, answered], dtype=float).T
