"""Which fields of a page stand out of order in a text of it, whatever sensible order it follows."""

from __future__ import annotations

import numpy as np
import scipy

# What two boxes must share of the narrower one to stand in one column, and of the higher one to
# stand on one line.
_COLUMN, _LINE = 0.5, 0.5


def out_of_order(boxes: np.ndarray, gold_places: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The fewest fields without which the text keeps to the order of the page.

    A field precedes another that stands below it in its column or to its right on its line
    (Breuel 2003), and what these imply, if the gold text has them in that order too. A text that
    goes line by line keeps to that order, and so does one that goes column by column. The fields
    that remain are a largest antichain of the pairs in conflict (Dilworth 1950), found by a
    bipartite matching.

    `boxes` has the shape (n, 4): left, top, right, bottom; `gold_places` and `places` say where
    each field stands in the gold text and in the text judged. Shape (n,), boolean.

    Examples
    --------
    >>> boxes = np.array([[0, 0, 9, 9], [20, 0, 29, 9], [0, 10, 9, 19], [20, 10, 29, 19]])
    >>> rows, columns = np.array([0, 1, 2, 3]), np.array([0, 2, 1, 3])
    >>> bool(out_of_order(boxes, rows, columns).any())
    False
    >>> out_of_order(boxes, rows, np.array([9, 1, 2, 3])).tolist()
    [True, False, False, False]
    """
    before = _precedes(np.asarray(boxes, dtype=float))
    before &= gold_places[:, None] < gold_places[None, :]
    conflict = before & (places[:, None] > places[None, :])
    return _outside_antichain(conflict)


def _precedes(boxes: np.ndarray) -> np.ndarray:
    left, top, right, bottom = boxes.T
    width, height = right - left, bottom - top
    across = _shared(left, right) / np.maximum(np.minimum.outer(width, width), 1e-9)
    shared = _shared(top, bottom)
    line = shared / np.maximum(np.maximum.outer(height, height), 1e-9) >= _LINE
    apart = shared < _LINE * np.minimum.outer(height, height)
    lower = np.less.outer(top + bottom, top + bottom)
    reach = lower & (across >= _COLUMN) & apart
    reach |= line & np.less.outer(left + right, left + right) & (across < _COLUMN)
    for index in range(len(boxes)):
        reach |= reach[:, index, None] & reach[None, index, :]
    # Boxes that lie over each other can precede each other; they say nothing then.
    return reach & ~reach.T


def _shared(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.minimum.outer(high, high) - np.maximum.outer(low, low)


def _outside_antichain(conflict: np.ndarray) -> np.ndarray:
    """What a least vertex cover of the split graph takes, after Kőnig: the rest is no pair."""
    matched = scipy.sparse.csgraph.maximum_bipartite_matching(
        scipy.sparse.csr_array(conflict), perm_type="column"
    )
    partner = {int(column): row for row, column in enumerate(matched) if column >= 0}
    front = [row for row, column in enumerate(matched) if column < 0]
    rows, columns = set(front), set()
    while front:
        reached = set(np.flatnonzero(conflict[front.pop()]).tolist()) - columns
        columns |= reached
        further = {partner[column] for column in reached if column in partner} - rows
        rows |= further
        front += further
    cover = np.ones(len(conflict), dtype=bool)
    cover[list(rows)] = False
    cover[list(columns)] = True
    return cover
