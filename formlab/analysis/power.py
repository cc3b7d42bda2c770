"""What a corpus could show: the least difference it would find, and how surely it finds one."""

from __future__ import annotations

import numpy as np
from scipy import stats


def least_difference(error: float, *, level: float = 0.95, power: float = 0.8) -> float:
    """The least true difference that a two-sided test at `level` finds with `power`.

    It is (z of level + z of power) times the standard error [1]_; with the defaults 2.80 of them.

    Parameters
    ----------
    error
        Standard error of the difference, here the spread of the paired bootstrap.
    level
        Confidence level of the test, in (0, 1).
    power
        The share of corpora of this size in which the difference would be found, in (0, 1).

    Returns
    -------
    float
        In the unit of `error`; NaN if that is NaN.

    References
    ----------
    .. [1] H. S. Bloom, Minimum detectable effects, Evaluation Review 19(5), 1995.

    Examples
    --------
    >>> round(least_difference(0.01), 4)
    0.028
    """
    return float((stats.norm.ppf((1 + level) / 2) + stats.norm.ppf(power)) * error)


def power_of(difference: float, error: float, *, level: float = 0.95) -> float:
    """How often a two-sided test at `level` finds a true `difference`, in [1 - level, 1].

    Examples
    --------
    >>> round(power_of(least_difference(0.01), 0.01), 3)
    0.8
    >>> round(power_of(0.0, 0.01), 3)
    0.05
    """
    edge = stats.norm.ppf((1 + level) / 2)
    away = np.divide(abs(difference), error)
    return float(stats.norm.sf(edge - away) + stats.norm.cdf(-edge - away))
