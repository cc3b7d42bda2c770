"""What stands on a page besides text: boxes to tick, rings, rules, grids. Sizes go by the letters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import cv2
import numpy as np

# Degrees: more is no skew of a sheet in a scanner, less is not worth the blur of turning it.
_MOST_SKEW, _LEAST_SKEW = 5.0, 0.15
# Letters of a page of text are rarely lower or higher than this, in pixels.
_LOWEST, _HIGHEST = 4, 80
# Marks on one page; noise must not cost more than a real form does.
_MOST = 2_000


class Rect(NamedTuple):
    """A box in pixels, origin top left."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        """Pixels across."""
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        """Pixels down."""
        return self.y1 - self.y0

    @property
    def middle(self) -> float:
        """Half way down."""
        return (self.y0 + self.y1) / 2

    @property
    def centre(self) -> float:
        """Half way across."""
        return (self.x0 + self.x1) / 2

    def holds(self, other: Rect) -> bool:
        """Whether the centre of `other` is inside."""
        return self.x0 <= other.centre <= self.x1 and self.y0 <= other.middle <= self.y1

    def grown(self, by: float) -> Rect:
        """The box with `by` pixels more on each side."""
        return Rect(self.x0 - by, self.y0 - by, self.x1 + by, self.y1 + by)


def around(boxes: list[Rect]) -> Rect:
    """The smallest box around all.

    Examples
    --------
    >>> around([Rect(0, 5, 2, 6), Rect(1, 1, 9, 2)])
    Rect(x0=0, y0=1, x1=9, y1=6)
    """
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return Rect(min(x0), min(y0), max(x1), max(y1))


class Tick(NamedTuple):
    """A box or circle to tick; `ink` is the share of its inside that is dark, in [0, 1]."""

    box: Rect
    is_round: bool
    ink: float


class Grid(NamedTuple):
    """Cells between long rules: a table, a frame (one cell) or a plan."""

    box: Rect
    cells: tuple[Rect, ...]


@dataclass(frozen=True)
class Marks:
    """The marks of one page; `unit` is the height of its letters, `ink` its dark pixels."""

    unit: float
    ink: np.ndarray
    ticks: list[Tick] = field(default_factory=list)
    rings: list[Rect] = field(default_factory=list)
    rules: list[Rect] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)


def upright(gray: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The page turned so that its rules are level, and the matrix (2, 3) that turned it."""
    height, width = gray.shape
    angle = _skew(_dark(gray))
    if not _LEAST_SKEW <= abs(angle) <= _MOST_SKEW:
        return gray, np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), angle, 1.0)
    paper = float(np.median(gray))
    turned = cv2.warpAffine(
        gray, matrix, (width, height), flags=cv2.INTER_CUBIC,
        borderMode=cv2.BORDER_CONSTANT, borderValue=paper,
    )  # fmt: skip
    return turned, matrix


def find(gray: np.ndarray) -> tuple[Marks, np.ndarray]:
    """The marks of a level page, and the page with ticks, rings and rules painted over."""
    ink = _dark(gray)
    unit = _letter_height(ink)
    if unit is None:
        return Marks(1.0, ink), gray
    across, down = _strokes(ink, 2 * unit)
    rules = _rules(across, unit)
    grids = _grids(across, down, unit)
    ticks = _squares(ink, unit)
    free = _without(ink, [tick.box for tick in ticks])
    ticks += _circles(free, unit)
    rings, ringed = _rings(_without(free, [tick.box for tick in ticks]), unit)
    marks = Marks(unit, ink, ticks, rings, rules, grids)
    return marks, _painted_over(gray, marks, ringed, cv2.bitwise_or(across, down))


def _dark(gray: np.ndarray) -> np.ndarray:
    # Darker than its surroundings: a grey band behind a heading is paper, not ink.
    return cv2.adaptiveThreshold(
        gray, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, 41, 25
    )


def _skew(ink: np.ndarray) -> float:
    """Degrees that the long rules of the page rise to the left of level; 0 if there are none."""
    width = ink.shape[1]
    # Short pieces, so that those of a tilted rule still count, joined into the whole rule.
    pieces = cv2.morphologyEx(ink, cv2.MORPH_OPEN, np.ones((1, 15), np.uint8))
    joined = cv2.dilate(pieces, np.ones((3, 7), np.uint8))
    found = []
    for contour in cv2.findContours(joined, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0]:
        _, _, long, high = cv2.boundingRect(contour)
        if long > width / 6 and high < long / 8:
            dx, dy, *_ = cv2.fitLine(contour, cv2.DIST_L2, 0, 0.01, 0.01).ravel()
            found.append((float(np.degrees(np.arctan2(dy, dx))), long))
    if not found:
        return 0.0
    angles, weights = np.array(sorted(found)).T
    angles = np.where(angles > 90, angles - 180, angles)
    return float(angles[np.searchsorted(weights.cumsum(), weights.sum() / 2)])


def _letter_height(ink: np.ndarray) -> float | None:
    """Median height of what may be letters, each counting by its area."""
    _, _, stats, _ = cv2.connectedComponentsWithStats(ink)
    width, height, area = stats[1:, 2], stats[1:, 3], stats[1:, 4]
    likely = (height >= _LOWEST) & (height <= _HIGHEST) & (width < 4 * height) & (width > 1)
    if not likely.any():
        return None
    order = np.argsort(height[likely], kind="stable")
    weights = area[likely][order].cumsum()
    return float(height[likely][order][np.searchsorted(weights, weights[-1] / 2)])


def _strokes(ink: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Dark runs of at least `length` pixels, across and down."""
    size = max(3, round(length))
    across = cv2.morphologyEx(ink, cv2.MORPH_CLOSE, np.ones((1, 3), np.uint8))
    down = cv2.morphologyEx(ink, cv2.MORPH_CLOSE, np.ones((3, 1), np.uint8))
    return (
        cv2.morphologyEx(across, cv2.MORPH_OPEN, np.ones((1, size), np.uint8)),
        cv2.morphologyEx(down, cv2.MORPH_OPEN, np.ones((size, 1), np.uint8)),
    )


def _rules(across: np.ndarray, unit: float) -> list[Rect]:
    # A rule that is not quite level falls into steps.
    joined = cv2.dilate(across, np.ones((3, 5), np.uint8))
    boxes = [_rect(c).grown(-1) for c in _contours(joined, cv2.RETR_EXTERNAL)[0]]
    return [box for box in boxes if box.width >= 2 * unit and box.height <= 0.8 * unit]


def _grids(across: np.ndarray, down: np.ndarray, unit: float) -> list[Grid]:
    lines = cv2.dilate(cv2.bitwise_or(across, down), np.ones((3, 3), np.uint8))
    contours, tree = _contours(lines, cv2.RETR_CCOMP)
    cells: dict[int, list[Rect]] = {}
    for contour, (_, _, _, parent) in zip(contours, tree, strict=True):
        box = _rect(contour)
        if parent < 0 or box.width < 2 * unit or box.height < 1.5 * unit:
            continue
        if cv2.contourArea(contour) > 0.8 * box.width * box.height:
            cells.setdefault(parent, []).append(box)
    found = [Grid(_rect(contours[place]), tuple(sorted(c, key=lambda b: (b.y0, b.x0))))
             for place, c in cells.items()]  # fmt: skip
    return sorted(found, key=lambda grid: (grid.box.y0, grid.box.x0))


def _squares(ink: np.ndarray, unit: float) -> list[Tick]:
    across, down = _strokes(ink, 0.8 * unit)
    lines = cv2.bitwise_or(across, down)
    contours, tree = _contours(lines, cv2.RETR_CCOMP)
    # A square that shares its sides with others is a cell.
    holes = np.bincount([node[3] for node in tree if node[3] >= 0], minlength=len(contours))
    found = []
    for contour, (_, _, _, parent) in zip(contours, tree, strict=True):
        if parent < 0 or holes[parent] != 1:
            continue
        box = _rect(contour)
        outer = _rect(contours[parent])
        even = 0.75 <= outer.width / outer.height <= 1.33
        if not even or not 0.9 * unit <= outer.height <= 3.2 * unit:
            continue
        if cv2.contourArea(contour) > 0.55 * outer.width * outer.height:
            found.append(Tick(outer, False, _share(ink, box.grown(-1))))
    return found


def _circles(ink: np.ndarray, unit: float) -> list[Tick]:
    contours, tree = _contours(ink, cv2.RETR_CCOMP)
    found = []
    for contour, (_, _, child, parent) in zip(contours, tree, strict=True):
        box = _rect(contour)
        if parent >= 0 or child < 0 or not 0.9 * unit <= box.height <= 3.2 * unit:
            continue
        area, girth = cv2.contourArea(contour), cv2.arcLength(contour, True)
        even = 0.8 <= box.width / box.height <= 1.25
        fullness = area / (np.pi / 4 * box.width * box.height)
        is_disc = even and 0.8 <= fullness <= 1.1 and 4 * np.pi * area > 0.78 * girth**2
        if is_disc and _stands_alone(ink, box, unit):
            found.append(Tick(box, True, _share(ink, box.grown(-0.3 * box.width))))
    return found


def _stands_alone(ink: np.ndarray, box: Rect, unit: float) -> bool:
    """Whether a circle is no letter: free on both sides, but with something to its right."""
    right = Rect(box.x1 + 1, box.y0, box.x1 + 0.35 * unit, box.y1)
    left = Rect(box.x0 - 0.7 * unit, box.y0, box.x0 - 1, box.y1)
    label = Rect(box.x1 + 0.35 * unit, box.y0, box.x1 + 2.5 * unit, box.y1)
    return _share(ink, left) < 0.05 and _share(ink, right) < 0.05 and _share(ink, label) > 0.05


def _rings(ink: np.ndarray, unit: float) -> tuple[list[Rect], list[np.ndarray]]:
    """Boxes and outlines of closed curves with something written in them."""
    closed = cv2.morphologyEx(ink, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    contours, tree = _contours(closed, cv2.RETR_CCOMP)
    boxes, outlines = [], []
    for contour, (_, _, _, parent) in zip(contours, tree, strict=True):
        box = _rect(contour)
        fits = 1.3 * unit <= box.height <= 5 * unit and 1.3 * unit <= box.width <= 18 * unit
        if parent < 0 or not fits:
            continue
        (_, sides, _), area = cv2.minAreaRect(contour), cv2.contourArea(contour)
        hull = cv2.contourArea(cv2.convexHull(contour))
        # An ellipse takes pi / 4 of the box around it.
        is_oval = 0.66 <= area / max(sides[0] * sides[1], 1) <= 0.9 and area > 0.85 * hull
        if is_oval and _share(ink, box.grown(-0.2 * box.height)) > 0.03:
            boxes.append(box)
            outlines.append(contour)
    return boxes, outlines


def _painted_over(
    gray: np.ndarray, marks: Marks, rings: list[np.ndarray], lines: np.ndarray
) -> np.ndarray:
    clean = gray.copy()
    paper = int(np.median(gray))
    clean[cv2.dilate(lines, np.ones((3, 3), np.uint8)) > 0] = paper
    for tick in marks.ticks:
        x0, y0, x1, y1 = (round(side) for side in tick.box.grown(2))
        clean[max(y0, 0) : y1, max(x0, 0) : x1] = paper
    inside = cv2.drawContours(np.zeros_like(gray), rings, -1, 255, cv2.FILLED)
    wide = cv2.dilate(inside, np.ones((7, 7), np.uint8))
    clean[(wide > 0) & (cv2.erode(inside, np.ones((3, 3), np.uint8)) == 0)] = paper
    return clean


def _without(ink: np.ndarray, boxes: list[Rect]) -> np.ndarray:
    left = ink.copy()
    for box in boxes:
        x0, y0, x1, y1 = (round(side) for side in box.grown(1))
        left[max(y0, 0) : y1, max(x0, 0) : x1] = 0
    return left


def _share(ink: np.ndarray, box: Rect) -> float:
    """The share of a box that is dark; 0 for a box outside the page."""
    x0, y0, x1, y1 = (max(0, round(side)) for side in box)
    part = ink[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)]
    return float((part > 0).mean()) if part.size else 0.0


def _contours(mask: np.ndarray, mode: int) -> tuple[list[np.ndarray], np.ndarray]:
    contours, tree = cv2.findContours(mask, mode, cv2.CHAIN_APPROX_SIMPLE)
    if len(contours) > _MOST * 10:
        # Noise, not a form: nothing is to be made of it.
        return [], np.zeros((0, 4), np.int32)
    return list(contours), np.zeros((0, 4), np.int32) if tree is None else tree[0]


def _rect(contour: np.ndarray) -> Rect:
    x, y, width, height = cv2.boundingRect(contour)
    return Rect(float(x), float(y), float(x + width), float(y + height))
