"""The statistics and the score of BLEU, as sacrebleu defines them by default.

sacrebleu's own counting gives the same numbers and takes three times as long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from formlab.metrics._spec import Need
from formlab.metrics._words import alike_or_not, chunks, lengths, mteval, ngrams_in_common

_ORDERS = 4
# A shorter field has no 4-gram: read perfectly, its BLEU of a corpus would be 0.
FOUR_WORDS = Need(f"gold>={_ORDERS} words", ("field",), lambda parts: parts[:, -1] >= _ORDERS)


def statistics(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """N-gram statistics of each pair, shape (n, 10).

    Per row the n-grams right of order 1 to 4, the n-grams predicted of order 1 to 4, the words
    predicted, and the words of the gold text, in words of mteval-v13a.
    """
    parts = np.zeros((len(golds), 2 * _ORDERS + 2))
    alike, unlike = alike_or_not(golds, preds)
    parts[alike, -2:] = lengths([golds[row] for row in alike], mteval)[:, None]
    for rows, ours, theirs in chunks(golds, preds, mteval, unlike):
        parts[rows, :_ORDERS] = ngrams_in_common(ours, theirs, _ORDERS)
        parts[rows, -2], parts[rows, -1] = (list(map(len, side)) for side in (theirs, ours))
    parts[:, _ORDERS:-2] = np.maximum(parts[:, -2:-1] - np.arange(_ORDERS), 0)
    # Of equal texts, all n-grams are right.
    parts[alike, :_ORDERS] = parts[alike, _ORDERS:-2]
    return parts


def corpus_score(parts: np.ndarray) -> np.ndarray:
    """BLEU of summed statistics, in [0, 1]: sacrebleu's `corpus_bleu` over 100."""
    return _score(parts, effective=False)


def sentence_score(parts: np.ndarray) -> np.ndarray:
    """BLEU of one pair, in [0, 1]: orders longer than the prediction do not count."""
    return _score(parts, effective=True)


def of_fields(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """BLEU-4 of each field without smoothing and 1, shape (n, 2); 0 and 0 where the gold is empty.

    Without a 4-gram in common it is 0, so a field of fewer than four words has no other.
    """
    parts = statistics(golds, preds)
    whole = parts[:, :_ORDERS].all(axis=1)
    scores = np.where(whole, np.nan_to_num(corpus_score(parts)), 0.0)
    return np.stack([scores, parts[:, -1] > 0], axis=1)


def _score(parts: np.ndarray, *, effective: bool) -> np.ndarray:
    parts = np.asarray(parts, dtype=float)
    right, predicted = parts[..., :_ORDERS], parts[..., _ORDERS : 2 * _ORDERS]
    pred_words, gold_words = parts[..., -2], parts[..., -1]
    counted = np.logical_and.accumulate(predicted > 0, axis=-1)
    none = counted & (right == 0)
    # Smoothing "exp": the k-th order without a hit counts as 1 / 2^k of one.
    hits = np.where(none, np.ldexp(1.0, -np.cumsum(none, axis=-1)), right)
    shares = np.where(counted, np.nan, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        np.divide(hits, predicted, out=shares, where=counted & (hits > 0))
        logs = _each(math.log, shares, 1.0).sum(axis=-1)
        mean = logs / (counted.sum(axis=-1) if effective else _ORDERS)
        shorter = np.minimum(0.0, 1.0 - gold_words / pred_words)
    value = np.where(
        right.any(axis=-1), _each(math.exp, shorter, 0.0) * _each(math.exp, mean, 0.0), 0.0
    )
    if not effective:
        value = np.where(counted.all(axis=-1), value, 0.0)
    return np.where((pred_words == 0) & (gold_words == 0), np.nan, value)


def _each(function: Callable[[float], float], values: np.ndarray, usual: float) -> np.ndarray:
    """The function of each value; most are `usual`, and so it is called only once for these."""
    # NumPy's own logarithm differs in the last digit from one kind of processor to another.
    found = np.full(np.shape(values), function(usual))
    others = np.asarray(values != usual)
    found[others] = list(map(function, np.asarray(values)[others].tolist()))
    return found
