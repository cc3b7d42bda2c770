"""Outlines on a screenshot: boxes and lines to write on, and boxes, rings and switches to tick."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from formlab import resources

cv2 = resources.optional("cv2", extra="arena")

Box = tuple[float, float, float, float]
# Sizes in pixels of a window at its usual zoom: a box to write in, a line to write on and the
# space above it, a box or ring to tick.
_WIDE, _HIGH, _HIGHEST, _LOW = 36, 17, 420, 70
_LONG, _ABOVE_LINE = 91, 34
_TICK, _TICKS = 10, 26
_ROUND = 0.88
# Grays that cover this share of the page are its papers, at most so many of them; what differs from
# one by the first of these is drawn on it, by the second strongly.
_SHARE, _PAPERS, _INK, _STRONG = 0.02, 4, 6, 70
# The share of a box's inside that a tick takes at least.
_TICKED = 0.2


@dataclasses.dataclass(frozen=True)
class Outlines:
    """Boxes to write in, the space above lines to write on, and ``box``, ``ring``, ``switch``."""

    boxes: Sequence[Box]
    lines: Sequence[Box]
    marks: Mapping[Box, str]


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


def is_low(box: Box) -> bool:
    """Whether a box has room for one line only."""
    return box[3] - box[1] < _LOW


def outlines(gray: np.ndarray, texts: Sequence[Box] = ()) -> Outlines:
    """What is drawn on a page to write in, to write on, and to tick; frames are among the boxes.

    `gray` is the screenshot, shape (height, width), 0 black and 255 white; `texts` are the boxes
    of its lines of text. A border that a text interrupts, as that of an outlined field with its
    label in it, counts as closed.
    """
    wide: list[Box] = []
    tall: list[Box] = []
    small: dict[Box, str] = {}
    for mask, holes_only in _masks(gray, texts):
        contours, tree = cv2.findContours(mask, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
        for number, contour in enumerate(contours):
            x, y, width, height = cv2.boundingRect(contour)
            if height < _TICK or width < _TICK or (holes_only and tree[0, number, 3] < 0):
                continue
            # A contour runs through the middles of its pixels.
            full = cv2.contourArea(contour) / max(1, (width - 1) * (height - 1))
            box = (float(x), float(y), float(x + width), float(y + height))
            # What is open but for a text is found closed already where the text is inside.
            if holes_only and any(holds(b, box) and is_low(b) for b in wide):
                continue
            if height > _HIGHEST:
                tall.append(box)
            elif width >= _WIDE and height >= _HIGH and full > (0.88 if height < _LOW else 0.92):
                wide.append(box)
            # A ring fills 0.79 of its square; letters are less round and less full.
            elif height <= _TICKS and 0.8 <= width / height <= 1.25 and full > 0.7:
                small[box] = "ring" if full < _ROUND else "box"
            elif height <= _TICKS and 1.5 <= width / height <= 2.4 and full > 0.7:
                small[box] = "switch"
    marks = {box: small[box] for box in _without_twins(list(small))}
    wide = _without_twins(wide)
    return Outlines(
        wide, [line for line in _lines(gray) if not _meets(line, wide + tall, texts)], marks
    )


def _papers(gray: np.ndarray) -> list[int]:
    counts = np.bincount(gray.ravel(), minlength=256)
    papers = [int(g) for g in np.argsort(-counts)[:_PAPERS] if counts[g] >= _SHARE * gray.size]
    return papers or [255]


def _masks(gray: np.ndarray, texts: Sequence[Box]) -> Iterator[tuple[np.ndarray, bool]]:
    """What is drawn on each paper; with the texts as blots, in which only the holes count."""
    aways = [np.abs(gray.astype(np.int16) - paper) for paper in _papers(gray)]
    for away in aways:
        yield (away > _STRONG).astype(np.uint8), False
        yield (away > _INK).astype(np.uint8), False
    for away in aways:
        mask = (away > _INK).astype(np.uint8)
        for x0, y0, x1, y1 in texts:
            # A border leaves some room around the text that interrupts it.
            mask[int(y0) : int(y1), max(0, int(x0) - 8) : int(x1) + 8] = 1
        yield mask, True


def _lines(gray: np.ndarray) -> list[Box]:
    """The space above each thin level line from whose ends no other line goes up or down."""
    found: list[Box] = []
    kernel = np.ones((1, _LONG), np.uint8)
    for paper in _papers(gray):
        ink = (np.abs(gray.astype(np.int16) - paper) > _INK).astype(np.uint8)
        level = cv2.morphologyEx(ink, cv2.MORPH_OPEN, kernel)
        for x, y, width, height, _ in cv2.connectedComponentsWithStats(level)[2][1:].tolist():
            # The sides of a box with round corners begin a little beside and below its top.
            ends = [slice(max(0, x - 6), x + 3), slice(x + width - 3, x + width + 6)]
            rows = [slice(max(0, y - 11), y), slice(y + height, y + height + 11)]
            sides = [ink[row, end].sum(axis=0) for row in rows for end in ends]
            if height <= 3 and y > _ABOVE_LINE and not any((side >= 6).any() for side in sides):
                found.append((float(x), float(y - _ABOVE_LINE), float(x + width), float(y)))
    return _without_twins(found)


def _meets(line: Box, boxes: Sequence[Box], texts: Sequence[Box]) -> bool:
    """Whether a line is the side of a box, has one above it, or underlines a text."""
    x0, _, x1, y1 = line
    if any(max(abs(x0 - a), abs(x1 - c), abs(y1 - d)) <= 5 for a, _, c, d in texts):
        return True
    for box in boxes:
        beside = box[0] < x1 - 4 and box[2] > x0 + 4
        inside = holds(line, box) or (is_low(box) and holds(box, line))
        if beside and (inside or min(abs(y1 - box[1]), abs(y1 - box[3])) <= 4):
            return True
    return False


def _without_twins(boxes: Sequence[Box]) -> list[Box]:
    """A line has two edges, and both come as a box: the larger one stays."""
    kept: list[Box] = []
    for box in sorted(boxes, key=lambda box: (box[0] - box[2]) * (box[3] - box[1])):
        if not any(max(abs(a - b) for a, b in zip(box, other, strict=True)) <= 6 for other in kept):
            kept.append(box)
    return kept


def ticked(gray: np.ndarray, box: Box, kind: str = "box") -> bool | None:
    """Whether a mark is ticked; None if it is a letter, with another one close beside it."""
    x0, y0, x1, y1 = (int(side) for side in box)
    rows = gray[y0 + 2 : y1 - 2]
    near = max(4, round(0.35 * (y1 - y0)))
    after, before = rows[:, x1 + 1 : x1 + near], rows[:, max(0, x0 - near) : max(0, x0 - 1)]
    inside = gray[y0 + 4 : y1 - 4, x0 + 4 : x1 - 4].astype(float)
    if not after.size or not inside.size or (before.size and np.ptp(before) > 60):
        return None
    # The browser draws its marks lighter than the text that may follow at once.
    text, paper = gray[y0 + 2 : y1 - 2, x1 + 1 : x1 + y1 - y0], float(np.median(after[:, :2]))
    strong = np.abs(gray[y0:y1, x0:x1] - paper).max() + 50 > np.abs(text - paper).max()
    if np.ptp(after) > 60 and (strong or np.ptp(after[:, :1]) > 60):
        return None
    if kind == "switch":
        # The knob is what differs from the track.
        knob = np.abs(inside - np.median(inside)) > 20
        half = inside.shape[1] // 2
        return bool(knob[:, -half:].sum() > knob[:, :half].sum())
    return bool((np.abs(inside - paper) > 40).mean() > _TICKED)


def is_time(gray: np.ndarray, box: Box) -> bool:
    """Whether a box shows ``--:-- --``, which OCR leaves out, beside the icon of a clock."""
    x0, y0, x1, y1 = (int(side) for side in box)
    inside = gray[y0 + 3 : y1 - 3, x0 + 3 : x1 - 40].astype(float)
    if not inside.size or not is_low(box):
        return False
    ink = (np.abs(inside - np.median(inside)) > 50).astype(np.uint8)
    _, _, stats, middles = cv2.connectedComponentsWithStats(ink)
    dots, high = middles[1:], int(stats[1:, cv2.CC_STAT_HEIGHT].max(initial=0))
    # The dots of the colon stand above one another, and all dashes at one height.
    colon = [(a, b) for a in dots for b in dots if abs(a[0] - b[0]) < 1.5 and 3 < b[1] - a[1] < 12]
    return 4 <= len(dots) <= 8 and high <= 4 and len(colon) == 1


def has_arrow(gray: np.ndarray, box: Box) -> bool:
    """Whether a small arrow down stands by itself at the right end of a box, as in a list."""
    x0, y0, x1, y1 = (int(side) for side in box)
    strip = gray[y0 + 3 : y1 - 3, max(x0 + 3, x1 - 40) : x1 - 3].astype(float)
    if not strip.size:
        return False
    ink = np.abs(strip - np.median(strip)) > 50
    columns = np.flatnonzero(ink.any(axis=0))
    if not columns.size:
        return False
    # The last stretch of columns without a gap.
    gaps = np.flatnonzero(np.diff(columns) > 4)
    first = columns[gaps[-1] + 1] if gaps.size else columns[0]
    arrow = ink[:, first : columns[-1] + 1]
    rows = np.flatnonzero(arrow.any(axis=1))
    width, height = arrow.shape[1], rows[-1] - rows[0] + 1
    spans = [np.ptp(np.flatnonzero(row)) + 1 if row.any() else 0 for row in arrow]
    level = abs((rows[0] + rows[-1]) / 2 - (strip.shape[0] - 1) / 2)
    level = level <= max(5, 0.25 * strip.shape[0])
    small = 5 <= width <= 18 and 3 <= height <= 13 and not 0.85 * width < height < 1.15 * width
    mirrored = (arrow == arrow[:, ::-1]).mean() > 0.8
    return bool(small and level and mirrored and first > 2 and spans[rows[-1]] <= 0.5 * width)
