"""L3 of FORMCRAFT: accuracy of answers to cross-reference questions, and of consistency checks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from formlab import text
from formlab.metrics._spec import Metric


def answer_tallies(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """Tallies of shape (n, 2): 1 where the answer holds on the rung `typed`, of 1.

    Numbers, amounts and dates may be written otherwise; options of a set may come in any order.

    Examples
    --------
    >>> answer_tallies(["$105,452", "Tooth 24"], ["105452.00", "Tooth 29"]).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    hits = [text.ladder(gold, pred).typed for gold, pred in zip(golds, preds, strict=True)]
    return held(hits)


def held(hits: Sequence[bool | None]) -> np.ndarray:
    """Tallies of shape (n, 2) of items that were right or not."""
    return np.array([[float(bool(hit)), 1.0] for hit in hits]).reshape(-1, 2)


def _accuracy(name: str, title: str) -> Metric:
    return Metric(
        name=name, title=title, unit="right answers per item", view="counts",
        source="FORMCRAFT, section 4.4 and Table 4b", units=("question", "check"),
        tallies=answer_tallies,
    )  # fmt: skip


vqa_accuracy = _accuracy("vqa_accuracy", "accuracy of cross-reference answers")
consistency_accuracy = _accuracy("consistency_accuracy", "accuracy of consistency checks")
RELATION_METRICS = {m.name: m for m in (vqa_accuracy, consistency_accuracy)}
