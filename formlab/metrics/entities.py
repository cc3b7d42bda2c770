"""Precision, recall and F1 of extracted entities, over all (micro) and as means (macro).

The parts of a score are counts, added over documents: entities found, in the gold and predicted
(tp, gold, pred). By published rules undefined scores become what the released evaluator of VRDU
makes of them: 0, or a recall of 1 where there was nothing to find.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from formlab.metrics._comparators import same_values
from formlab.metrics._entities import LEAVES, Matching, match_entities
from formlab.metrics._spec import OVER_ENTITIES, Metric

__all__ = [
    "LEAVES", "METRICS", "Matching", "f1_of", "match_entities", "mean_of", "precision_of",
    "recall_of", "same_values",
]  # fmt: skip

Score = Callable[..., np.ndarray]
SOURCE = "VRDU, Wang et al., KDD 2023, section 4.3"


def _over(hits: np.ndarray, total: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    return np.divide(hits, total, out=np.array(otherwise, dtype=float), where=total != 0)


def precision_of(parts: np.ndarray, *, published: bool = False) -> np.ndarray:
    """tp / pred, from tp, gold and pred; nothing predicted: NaN, by published rules 0.

    Examples
    --------
    >>> precision_of(np.array([[3.0, 6, 4], [0, 2, 0]])).tolist()
    [0.75, nan]
    >>> float(precision_of(np.array([0.0, 2, 0]), published=True))
    0.0
    """
    right, _, pred = np.moveaxis(parts, -1, 0)
    return _over(right, pred, np.full(pred.shape, 0.0 if published else np.nan))


def recall_of(parts: np.ndarray, *, published: bool = False) -> np.ndarray:
    """tp / gold, as `precision_of`; nothing in the gold: by published rules 1 if any predicted.

    Examples
    --------
    >>> recall_of(np.array([[3.0, 6, 4], [0, 0, 2]])).tolist()
    [0.5, nan]
    >>> float(recall_of(np.array([0.0, 0, 2]), published=True))
    1.0
    """
    right, gold, pred = np.moveaxis(parts, -1, 0)
    nothing = (pred > 0).astype(float) if published else np.full(pred.shape, np.nan)
    return _over(right, gold, nothing)


def f1_of(parts: np.ndarray, *, published: bool = False) -> np.ndarray:
    """2 tp / (gold + pred), the harmonic mean of both; NaN (published: 0) where all are 0.

    Examples
    --------
    >>> f1_of(np.array([[3.0, 6, 4], [0, 0, 0]])).tolist()
    [0.6, nan]
    """
    right, gold, pred = np.moveaxis(parts, -1, 0)
    return _over(2 * right, gold + pred, np.full(pred.shape, 0.0 if published else np.nan))


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


_SCORES = {"precision": precision_of, "recall": recall_of, "f1": f1_of}
_TITLES = {"precision": "precision", "recall": "recall", "f1": "F1"}


def _metric(prefix: str, name: str) -> Metric:
    score, macro = _SCORES[name], prefix == "macro_"
    published = mean_of(score, published=True) if macro else partial(score, published=True)
    return Metric(
        name=prefix + name, title=prefix.replace("_", " ") + _TITLES[name], source=SOURCE,
        unit="mean over entity names" if macro else "entities", view="counts",
        score=mean_of(score) if macro else score, published_score=published,
        units=("document",), average=OVER_ENTITIES if macro else "pooled",
    )  # fmt: skip


METRICS = {
    prefix + name: _metric(prefix, name) for prefix in ("", "micro_", "macro_") for name in _SCORES
}
