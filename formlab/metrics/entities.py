"""Precision, recall and F1 of extracted entities, over all (micro) and as means (macro).

The parts of a score are counts, added over documents: entities found, in the gold and predicted
(tp, gold, pred). By published rules undefined scores become what the released evaluator of VRDU
makes of them: 0, or a recall of 1 where there was nothing to find.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from formlab.metrics._entities import LEAVES, Matching, match_entities
from formlab.metrics._matches import DEFAULT, same_values
from formlab.metrics._spec import Metric

__all__ = [
    "LEAVES", "METRICS", "Matching", "f1", "macro_f1", "macro_precision", "macro_recall",
    "match_entities", "micro_f1", "micro_precision", "micro_recall", "precision", "recall",
    "same_values",
]  # fmt: skip

Score = Callable[..., np.ndarray]
SOURCE = "VRDU, Wang et al., KDD 2023, section 4.3"


def _over(hits: np.ndarray, total: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    return np.divide(hits, total, out=np.array(otherwise, dtype=float), where=total != 0)


def precision_of(parts: np.ndarray, *, published: bool = False) -> np.ndarray:
    """tp / pred.

    Parameters
    ----------
    parts
        Shape (…, 3): tp, gold and pred.
    published
        Whether undefined scores are those of the released evaluator.

    Returns
    -------
    numpy.ndarray
        Shape (…), in [0, 1]. Nothing predicted: NaN; 0 by published rules.

    Examples
    --------
    >>> precision_of(np.array([[3.0, 6, 4], [0, 2, 0]])).tolist()
    [0.75, nan]
    >>> float(precision_of(np.array([0.0, 2, 0]), published=True))
    0.0
    """
    found, _, pred = np.moveaxis(parts, -1, 0)
    return _over(found, pred, np.full(pred.shape, 0.0 if published else np.nan))


def recall_of(parts: np.ndarray, *, published: bool = False) -> np.ndarray:
    """tp / gold, as `precision_of`; nothing in the gold: by published rules 1 if any predicted.

    Examples
    --------
    >>> recall_of(np.array([[3.0, 6, 4], [0, 0, 2]])).tolist()
    [0.5, nan]
    >>> float(recall_of(np.array([0.0, 0, 2]), published=True))
    1.0
    """
    found, gold, pred = np.moveaxis(parts, -1, 0)
    nothing = (pred > 0).astype(float) if published else np.full(pred.shape, np.nan)
    return _over(found, gold, nothing)


def f1_of(parts: np.ndarray, *, published: bool = False) -> np.ndarray:
    """2 tp / (gold + pred), the harmonic mean of both; NaN (published: 0) where all are 0.

    Examples
    --------
    >>> f1_of(np.array([[3.0, 6, 4], [0, 0, 0]])).tolist()
    [0.6, nan]
    """
    found, gold, pred = np.moveaxis(parts, -1, 0)
    return _over(2 * found, gold + pred, np.full(pred.shape, 0.0 if published else np.nan))


def mean_of(score: Score, *, published: bool = False) -> Score:
    """The mean of `score` over entities, from parts of shape (…, 3 E).

    The parts are tp, gold and pred of each of E entities. By published rules every entity counts;
    else one that no gold has, and an undefined score, is left out of the mean.

    Examples
    --------
    >>> parts = np.array([1.0, 2, 2, 0, 0, 0])
    >>> [float(mean_of(f1_of, published=rules)(parts)) for rules in (False, True)]
    [0.5, 0.25]
    """

    def mean(parts: np.ndarray) -> np.ndarray:
        counts = parts.reshape(*parts.shape[:-1], -1, 3)
        values = score(counts, published=published)
        used = ~np.isnan(values) & ((counts[..., 1] > 0) | published)
        total = np.where(used, values, 0.0).sum(axis=-1)
        return _over(total, used.sum(axis=-1), np.full(total.shape, np.nan))

    return mean


def _pairs(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """Of single values: the parts for n pairs, the empty text being nothing."""
    given = [[bool(value.strip()) for value in side] for side in (golds, preds)]
    same = same_values(DEFAULT, golds, preds) & np.array(given[0], dtype=bool)
    columns = [np.asarray(column, dtype=float) for column in (same, *given)]
    return np.stack(columns, axis=1)


def _metric(name: str, title: str, score: Score, unit: str) -> Metric:
    mean = name.startswith("macro_")
    published = partial(score, published=True)
    return Metric(
        name=name, title=title, direction="up", low=0.0, high=1.0, unit=unit, source=SOURCE,
        view="counts", tallies=_pairs, score=mean_of(score) if mean else score,
        published_score=mean_of(score, published=True) if mean else published,
        units=("document",),
    )  # fmt: skip


_ENTITIES, _MEAN = "entities", "mean over entity names"
precision = _metric("precision", "precision", precision_of, _ENTITIES)
recall = _metric("recall", "recall", recall_of, _ENTITIES)
f1 = _metric("f1", "F1", f1_of, _ENTITIES)
micro_precision = _metric("micro_precision", "micro precision", precision_of, _ENTITIES)
micro_recall = _metric("micro_recall", "micro recall", recall_of, _ENTITIES)
micro_f1 = _metric("micro_f1", "micro F1", f1_of, _ENTITIES)
macro_precision = _metric("macro_precision", "macro precision", precision_of, _MEAN)
macro_recall = _metric("macro_recall", "macro recall", recall_of, _MEAN)
macro_f1 = _metric("macro_f1", "macro F1", f1_of, _MEAN)
METRICS = {
    metric.name: metric
    for metric in (
        precision, recall, f1, micro_precision, micro_recall, micro_f1,
        macro_precision, macro_recall, macro_f1,
    )
}  # fmt: skip
