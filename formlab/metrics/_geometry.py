"""Distances between clicks and boxes, and the assignment of actions to values."""

from __future__ import annotations

import numpy as np

from formlab.metrics.assignment import assign


def separation(points: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """How far points are from boxes, in pixels; 0 inside and on the edge; shapes broadcast.

    Points are page, x and y along the last axis, boxes page, x0, y0, x1 and y1. A page of NaN may
    be any page; for another page, and for an x or y of NaN, which is no point, the distance is
    infinite.

    Examples
    --------
    >>> boxes = np.array([[1, 0, 0, 10, 10], [2, 0, 0, 99, 99]])
    >>> separation(np.array([1, 13, 14]), boxes).tolist()
    [5.0, inf]
    """
    page, x, y = (points[..., column] for column in range(3))
    other, x0, y0, x1, y1 = (boxes[..., column] for column in range(5))
    across = np.maximum(np.maximum(x0 - x, x - x1), 0.0)
    down = np.maximum(np.maximum(y0 - y, y - y1), 0.0)
    gap = np.hypot(across, down)
    elsewhere = ~np.isnan(page) & (page != other)
    return np.where(elsewhere | np.isnan(gap), np.inf, gap)


def nearest(points: np.ndarray, boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The box that each of n points hits, the smallest of several; else the nearest; -1 for none.

    Points and boxes are rows as in `separation`. Both results, the box and its distance, have the
    shape (n,).

    Examples
    --------
    >>> boxes = np.array([[1, 0, 0, 100, 100], [1, 10, 10, 20, 20]])
    >>> near, gaps = nearest(np.array([[1, 15, 15], [1, 120, 50], [2, 0, 0]]), boxes)
    >>> near.tolist(), gaps.tolist()
    ([1, 0, -1], [0.0, 20.0, inf])
    """
    points = np.asarray(points, dtype=float).reshape(-1, 3)
    boxes = np.asarray(boxes, dtype=float).reshape(-1, 5)
    each = np.arange(len(points) * len(boxes))
    return closest(points, boxes, each // max(len(boxes), 1), each % max(len(boxes), 1))


def closest(
    points: np.ndarray, boxes: np.ndarray, first: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """`nearest` of each point among the boxes it is paired with, and the distance; shapes (n,).

    `first` and `second` are the point and the box of each pair, the points in rising order.
    """
    gaps = separation(points[first], boxes[second])
    least = np.full(len(points), np.inf)
    np.minimum.at(least, first, gaps)
    sizes = ((boxes[:, 3] - boxes[:, 1]) * (boxes[:, 4] - boxes[:, 2]))[second]
    tied = np.flatnonzero((gaps == least[first]) & np.isfinite(gaps))
    smallest = np.full(len(points), np.inf)
    np.minimum.at(smallest, first[tied], sizes[tied])
    # Of boxes of the same size the first stays, so it is written last.
    tied = tied[sizes[tied] == smallest[first[tied]]][::-1]
    near = np.full(len(points), -1)
    near[first[tied]] = second[tied]
    return near, least


def pair(hits: np.ndarray, same: np.ndarray, similarity: np.ndarray) -> np.ndarray:
    """The line that is meant for each value, one to one; -1 for none.

    Of each line and value: whether its point is right, whether it types the value, and how alike
    they are, 0 where too little to mean anything. What a line types tells more than where.

    Examples
    --------
    >>> pair(np.array([[1, 0], [0, 1]]), np.array([[0, 1], [1, 0]]), np.zeros((2, 2))).tolist()
    [1, 0]
    """
    # A right value outweighs a right place and any likeness together.
    weights = 4.0 * same + 2.0 * hits + similarity
    chosen = np.full(weights.shape[1], -1)
    for line, value in assign(weights):
        chosen[value] = line
    return chosen
