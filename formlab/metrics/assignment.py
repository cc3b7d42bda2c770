"""One to one assignments of the greatest gain."""

from __future__ import annotations

import numpy as np
import scipy


def assign(gain: np.ndarray, *, least: float | None = 0.0) -> list[tuple[int, int]]:
    """Rows and columns paired one to one such that the pairs gain most in all, by row.

    `gain` is what each pair gains, shape (rows, columns), of finite numbers; either may be 0. A
    pair that gains less than `least`, or nothing, is left out, and pulls no other pair apart. With
    None as many pairs are made as there are rows or columns.

    >>> assign(np.array([[0.9, 0.8], [0.8, 0.1]])), assign(np.array([[0.9, 0.2]]), least=0.95)
    ([(0, 1), (1, 0)], [])
    """
    if not gain.size:
        return []
    if least is not None:
        gain = np.where(gain >= least, gain, 0.0)
    rows, columns = scipy.optimize.linear_sum_assignment(gain, maximize=True)
    if least is not None:
        is_pair = gain[rows, columns] > 0
        rows, columns = rows[is_pair], columns[is_pair]
    return list(zip(rows.tolist(), columns.tolist(), strict=True))
