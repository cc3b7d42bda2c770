"""Names of before, until the last of their callers take those of `formlab.stats`."""

import math

import numpy as np

from formlab.stats.draws import by_document, drawn_parts, drawn_sums, draws, percentiles, share

__all__ = ["BLOCK", "by_document", "drawn_parts", "drawn_sums", "draws", "exact_sums"]
__all__ += ["percentiles", "share"]
BLOCK = 5_000_000


def exact_sums(columns):
    """The sum of each column, shape (k, n)."""
    return np.array([math.fsum(column) for column in columns])
