"""Names of before, until the last of their callers take those of `formlab.stats`."""

import numpy as np

from formlab.stats.draws import by_document, draws, percentiles, share
from formlab.stats.draws import drawn_sums as _drawn_sums
from formlab.stats.sums import small

__all__ = ["BLOCK", "by_document", "drawn_parts", "drawn_sums", "draws", "exact_sums"]
__all__ += ["percentiles", "share", "small"]
BLOCK = 5_000_000


def drawn_parts(parts, *, resamples, seed):
    """Each of the parts (documents, k) summed over the same draws."""
    return list(_drawn_sums(parts, resamples=resamples, seed=seed))


def drawn_sums(parts, *, resamples, seed):
    """The parts (documents, k) summed over each draw: shape (resamples, k)."""
    return next(_drawn_sums([parts], resamples=resamples, seed=seed))


def exact_sums(columns):
    """The sum of each column, shape (k, n)."""
    return np.asarray(columns).sum(axis=1)
