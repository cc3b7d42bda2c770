"""Right values of one's own forms: precision, recall, F1 and accuracy, each by the value's rule.

What is right is decided before, by the comparator of the field (`formlab.scoring.rules`); extra
items of a list are spurious, absent ones missing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from formlab.metrics._spec import Metric, as_many, f1_tallies


def match_tallies(
    golds: Sequence[str | None],
    preds: Sequence[str | None],
    right: Sequence[bool],
    weights: Sequence[float] | None = None,
) -> dict[str, np.ndarray]:
    """Tallies of shape (n, 2) of the metrics of `METRICS` from n fields of both sides.

    Parameters
    ----------
    golds
        n gold values; None where the gold has no such field, blank where it is left empty.
    preds
        n predicted values; None or blank where there is none.
    right
        Whether each is right.
    weights
        How much each counts, above 0; without them there is no ``match_weighted``.

    Examples
    --------
    >>> sides = ["9.00", "Ada", "", None], ["9", "Eda", "", "x"]
    >>> parts = match_tallies(*sides, right=[1, 0, 1, 0], weights=[2, 1, 1, 1])
    >>> {name.removeprefix("match_"): rows.sum(axis=0).tolist() for name, rows in parts.items()}
    ... # doctest: +NORMALIZE_WHITESPACE
    {'precision': [1.0, 3.0], 'recall': [1.0, 2.0], 'f1': [2.0, 5.0], 'accuracy': [2.0, 3.0],
     'weighted': [4.0, 7.0]}
    """
    as_many(golds, preds)
    asked = np.array([value is not None for value in golds], dtype=float)
    in_gold, in_pred = (
        np.array([bool(value) and not value.isspace() for value in side], dtype=float)
        for side in (golds, preds)
    )
    hits = np.asarray(right, dtype=float)
    both = in_gold + in_pred
    parts = f1_tallies("match", hits * in_pred, in_pred, in_gold)
    parts["match_recall"] = np.stack([hits * in_gold, in_gold], axis=1)
    # A value that is blank on one side and right counts once on each side that has it.
    parts["match_f1"] = np.stack([hits * both, both], axis=1)
    parts["match_accuracy"] = np.stack([hits * asked, asked], axis=1)
    if weights is not None:
        parts["match_weighted"] = parts["match_f1"] * np.asarray(weights, dtype=float)[:, None]
    return parts


def _metric(name: str, title: str, unit: str) -> Metric:
    return Metric(
        name=f"match_{name}", title=title, unit=unit, source="formlab", view="counts",
        units=("field",),
    )  # fmt: skip


METRICS = {
    metric.name: metric
    for metric in (
        _metric("precision", "precision of values", "right values per value given"),
        _metric("recall", "recall of values", "right values per value of the gold"),
        _metric("f1", "F1 of values", "F1 over values"),
        _metric("accuracy", "accuracy of values", "right fields per field of the gold"),
        _metric("weighted", "F1 of values, weighted", "F1 over values, each by its weight"),
    )
}
