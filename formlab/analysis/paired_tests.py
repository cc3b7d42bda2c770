"""Names of before, until the last of their callers take those of `formlab.stats`."""

from formlab.stats.tests import Pair, adjusted_p, documents_needed
from formlab.stats.tests import paired_differences as differences

__all__ = ["Pair", "adjusted_p", "differences", "documents_needed"]
