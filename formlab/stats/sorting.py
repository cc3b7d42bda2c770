"""Whether a number such as a confidence sorts right answers from wrong ones at all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy


class Sorting(NamedTuple):
    """The chance that a right answer has a higher number than a wrong one, and one-sided p.

    Ties count half, so that 0.5 is no better than chance; NaN where all are right or all wrong.
    """

    auc: float
    p: float


def sorting(document: np.ndarray, number: np.ndarray, right: np.ndarray) -> Sorting:
    """How well a number sorts right from wrong, tested by documents.

    Parameters
    ----------
    document, number, right
        Of each answer: its document, its number and whether it is right; of one length.

    References
    ----------
    The variance for clusters: N. A. Obuchowski, Biometrics 53, 1997.

    Examples
    --------
    >>> right = np.array([True, True, True, False, False, False])
    >>> sorting(np.arange(6), np.array([0.9, 0.8, 0.7, 0.3, 0.2, 0.1]), right).auc
    1.0
    """
    right = np.asarray(right, dtype=bool)
    n_right, n_wrong = int(right.sum()), int((~right).sum())
    _, codes = np.unique(document, return_inverse=True)
    count = int(codes.max(initial=-1)) + 1
    if not n_right or not n_wrong or count < 2:
        return Sorting(float("nan"), float("nan"))
    ranks = scipy.stats.rankdata(number)
    # Of each answer the share of the other kind that it is rightly above or below.
    above = np.zeros(len(ranks))
    above[right] = (ranks[right] - scipy.stats.rankdata(number[right])) / n_wrong
    above[~right] = 1 - (ranks[~right] - scipy.stats.rankdata(number[~right])) / n_right
    auc = float(above[right].mean())
    share = (above - auc) / np.where(right, n_right, n_wrong)
    moved = np.bincount(codes, weights=share, minlength=count)
    error = float(np.sqrt((moved**2).sum() * count / (count - 1)))
    # A perfect order has no spread: then each of its answers is a document's worth of proof.
    if error == 0:
        return Sorting(auc, 0.5 ** min(n_right, n_wrong) if auc > 0.5 else 1.0)
    return Sorting(auc, float(scipy.stats.t.sf((auc - 0.5) / error, count - 1)))
