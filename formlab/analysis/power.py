"""What a corpus could show: the least difference it would find."""

from __future__ import annotations

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
