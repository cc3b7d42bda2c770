"""Field detection: precision, recall and F1 of the fields found, whatever value was read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from formlab.metrics._spec import Metric, f1_tallies


def field_tallies(golds: Sequence[str], preds: Sequence[str]) -> dict[str, np.ndarray]:
    """Tallies of shape (n, 2) of `field_precision`, `field_recall` and `field_f1`.

    A value is blank where that side has no such field or leaves it empty; only that counts.

    Examples
    --------
    >>> parts = field_tallies(["Ada", "9.00", ""], ["Eda", "", "yes"])
    >>> {name: rows.sum(axis=0).tolist() for name, rows in parts.items()}
    {'field_precision': [1.0, 2.0], 'field_recall': [1.0, 2.0], 'field_f1': [2.0, 4.0]}
    """
    in_gold, in_pred = (
        np.array([bool(value.strip()) for value in side], dtype=float) for side in (golds, preds)
    )
    return f1_tallies("field", in_gold * in_pred, in_pred, in_gold)


def _metric(name: str, title: str, unit: str) -> Metric:
    return Metric(
        name=name, title=title, unit=unit, source="formlab", view="counts", units=("field",),
        tallies=lambda golds, preds: field_tallies(golds, preds)[name],
    )  # fmt: skip


FIELD_METRICS = {
    metric.name: metric
    for metric in (
        _metric("field_precision", "precision of fields", "paired per predicted field"),
        _metric("field_recall", "recall of fields", "paired per field with a value"),
        _metric("field_f1", "F1 of fields", "F1 over fields"),
    )
}
