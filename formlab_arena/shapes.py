"""Outlines on a screenshot: boxes to write in, and boxes and rings to tick."""

from __future__ import annotations

import numpy as np

from formlab import resources

cv2 = resources.optional("cv2", extra="arena")

Box = tuple[float, float, float, float]
# Sizes in pixels of a window at its usual zoom: a box to write in, and a box or ring to tick.
_WIDE, _HIGH, _HIGHEST, _LOW = 60, 18, 420, 70
_TICK, _TICKS = 10, 26
_ROUND = 0.88
# What is darker than this is no paper: pale borders are found with the first, strong ones that
# touch pale things with the second.
_LIGHTS = (238, 170)
# The share of a box's inside that a tick takes at least.
_TICKED = 0.2


def middle(box: Box) -> tuple[float, float]:
    """The centre of a box.

    Examples
    --------
    >>> middle((0, 10, 40, 30))
    (20.0, 20.0)
    """
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def holds(box: Box, other: Box) -> bool:
    """Whether the centre of `other` is in a box.

    Examples
    --------
    >>> holds((0, 0, 10, 10), (8, 8, 11, 11)), holds((0, 0, 10, 10), (9, 0, 12, 2))
    (True, False)
    """
    x, y = middle(other)
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def outlines(gray: np.ndarray) -> tuple[list[Box], dict[Box, bool]]:
    """Upright rectangles to write in, and small squares and rings with whether each is a ring.

    `gray` is the screenshot, shape (height, width), 0 black and 255 white.
    """
    # On a dark page the paper is what is dark.
    paper = 255 - gray if np.median(gray) < 128 else gray
    contours = [
        contour
        for light in _LIGHTS
        for contour in cv2.findContours(
            (paper < light).astype(np.uint8), cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE
        )[0]
    ]
    wide: list[Box] = []
    small: dict[Box, bool] = {}
    for contour in contours:
        x, y, width, height = cv2.boundingRect(contour)
        # A contour runs through the middles of its pixels.
        full = cv2.contourArea(contour) / max(1, (width - 1) * (height - 1))
        box = (float(x), float(y), float(x + width), float(y + height))
        if width >= _WIDE and _HIGH <= height <= _HIGHEST and full > 0.92:
            wide.append(box)
        # A ring fills 0.79 of its square; letters are less round and less full.
        elif _TICK <= height <= _TICKS and 0.8 <= width / height <= 1.25 and full > 0.7:
            small[box] = full < _ROUND
    wide = _without_twins(wide)
    # A frame around a part of the page is no box to write in.
    inner = [a for a in wide if not any(a != b and holds(a, b) and _is_low(b) for b in wide)]
    file_fields = [a for a in wide if a not in inner and _is_low(a)]
    outer = [b for b in inner if not any(holds(a, b) for a in file_fields)]
    return outer + file_fields, {box: small[box] for box in _without_twins(list(small))}


def _is_low(box: Box) -> bool:
    return box[3] - box[1] < _LOW


def _without_twins(boxes: list[Box]) -> list[Box]:
    """A line has two edges, and both come as a box: the larger one stays."""
    kept: list[Box] = []
    for box in sorted(boxes, key=lambda box: (box[0] - box[2]) * (box[3] - box[1])):
        if not any(max(abs(a - b) for a, b in zip(box, other, strict=True)) <= 6 for other in kept):
            kept.append(box)
    return kept


def ticked(gray: np.ndarray, box: Box) -> bool | None:
    """Whether a box or ring is ticked; None if it is a letter, with another one close behind it."""
    x0, y0, x1, y1 = (int(side) for side in box)
    beside = gray[y0 + 2 : y1 - 2, x1 + 1 : x1 + 4]
    if not beside.size or np.ptp(beside) > 60:
        return None
    inside = gray[y0 + 4 : y1 - 4, x0 + 4 : x1 - 4].astype(float)
    return bool((np.abs(inside - float(np.median(beside))) > 40).mean() > _TICKED)
