"""Boxes on a page, its dark pixels, the height of its letters, its rules and grids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from formlab import resources

cv2 = resources.optional("cv2", extra="ocr")

# Degrees: no sheet in a scanner is skewed more, and less is not worth the blur of turning.
_MOST_SKEW, _LEAST_SKEW = 5.0, 0.15
# Letters of a page of text are rarely lower or higher than this, in pixels.
_LOWEST, _HIGHEST = 4, 80
# Pieces of ink on one page; noise must not cost more than a real form does.
MOST = 2_000


class Rect(NamedTuple):
    """A box in pixels, origin top left."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        """In pixels."""
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        """In pixels."""
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

    @property
    def window(self) -> tuple[slice, slice]:
        """The rows and columns of the page's pixels that are inside."""
        x0, y0, x1, y1 = (max(0, round(side)) for side in self)
        return np.s_[y0:y1, x0:x1]

    def grown(self, by: float) -> Rect:
        """The box with `by` pixels more on each side."""
        return Rect(self.x0 - by, self.y0 - by, self.x1 + by, self.y1 + by)


def around(boxes: list[Rect]) -> Rect:
    """The smallest box around all."""
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
    struck: list[Rect] = field(default_factory=list)
    bars: list[Rect] = field(default_factory=list)
    has_letters: bool = True


def upright(gray: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The page turned so that its rules are level, and the matrix (2, 3) that turned it."""
    height, width = gray.shape
    angle = _skew(dark(gray))
    if not _LEAST_SKEW <= abs(angle) <= _MOST_SKEW:
        return gray, np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), angle, 1.0)
    border = {"borderMode": cv2.BORDER_CONSTANT, "borderValue": float(np.median(gray))}
    size = (width, height)
    return cv2.warpAffine(gray, matrix, size, flags=cv2.INTER_CUBIC, **border), matrix


def dark(gray: np.ndarray) -> np.ndarray:
    """255 where the page is darker than what is around, else 0."""
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
    angles, weights = [], []
    for contour in cv2.findContours(joined, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0]:
        _, _, long, high = cv2.boundingRect(contour)
        if long > width / 6 and high < long / 8:
            dx, dy, *_ = cv2.fitLine(contour, cv2.DIST_L2, 0, 0.01, 0.01).ravel()
            angles.append(float(np.degrees(np.arctan2(dy, dx))))
            weights.append(long)
    angle = _weighted_median(np.array(angles), np.array(weights)) if angles else 0.0
    return angle - 180 if angle > 90 else angle


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values, kind="stable")
    sums = weights[order].cumsum()
    return float(values[order][np.searchsorted(sums, sums[-1] / 2)])


def letter_height(ink: np.ndarray) -> float | None:
    """Median height of what may be letters, each counting by its area."""
    _, _, stats, _ = cv2.connectedComponentsWithStats(ink)
    width, height, area = stats[1:, 2], stats[1:, 3], stats[1:, 4]
    likely = (height >= _LOWEST) & (height <= _HIGHEST) & (width < 4 * height) & (width > 1)
    return _weighted_median(height[likely], area[likely]) if likely.any() else None


def strokes(ink: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Dark runs of at least `length` pixels, across and down."""
    size = max(3, round(length))
    return (
        cv2.morphologyEx(ink, cv2.MORPH_OPEN, np.ones((1, size), np.uint8)),
        cv2.morphologyEx(ink, cv2.MORPH_OPEN, np.ones((size, 1), np.uint8)),
    )


def find_rules(ink: np.ndarray, across: np.ndarray, unit: float) -> list[Rect]:
    """The level rules, each whole, from dark runs `across` the page."""
    # A rule that is not quite level falls into steps.
    joined = cv2.dilate(across, np.ones((3, 5), np.uint8))
    boxes = [rect(c).grown(-1) for c in outlines_of(joined, cv2.RETR_EXTERNAL)[0]]
    thin = [box for box in boxes if box.width >= 2 * unit and box.height <= 0.8 * unit]
    bare = [box for box in thin if box.width >= 6 * unit or _is_bare(ink, box)]
    rules: list[Rect] = []
    for box in sorted(bare):
        # Letters that reach below the rule cut it.
        level = [other for other in rules if abs(other.middle - box.middle) < 0.5 * unit]
        near = [other for other in level if box.x0 - other.x1 < 1.5 * unit]
        if near:
            rules.remove(near[0])
            box = around([near[0], box])
        rules.append(box)
    return rules


def _is_bare(ink: np.ndarray, box: Rect) -> bool:
    # Letters that touch have dark runs too, but other strokes right above or below them.
    above = Rect(box.x0, box.y0 - 3, box.x1, box.y0 - 1)
    below = Rect(box.x0, box.y1 + 1, box.x1, box.y1 + 3)
    return share(ink, above) < 0.3 and share(ink, below) < 0.3


def find_grids(across: np.ndarray, down: np.ndarray, unit: float) -> list[Grid]:
    """What long rules enclose: the cells that share walls are one grid."""
    lines = cv2.dilate(cv2.bitwise_or(across, down), np.ones((3, 3), np.uint8))
    contours, tree = outlines_of(lines, cv2.RETR_CCOMP)
    cells: dict[int, list[Rect]] = {}
    for contour, (_, _, _, parent) in zip(contours, tree, strict=True):
        box = rect(contour)
        if parent < 0 or box.width < 2 * unit or box.height < 1.5 * unit:
            continue
        if cv2.contourArea(contour) > 0.8 * box.width * box.height:
            cells.setdefault(parent, []).append(box)
    grids = [
        Grid(rect(contours[outer]), tuple(sorted(inner, key=lambda cell: (cell.y0, cell.x0))))
        for outer, inner in cells.items()
    ]
    return sorted(grids, key=lambda grid: (grid.box.y0, grid.box.x0))


def pieces(
    ink: np.ndarray, widths: tuple[float, float], heights: tuple[float, float]
) -> Iterator[tuple[np.ndarray, tuple[slice, slice]]]:
    """Connected pieces of ink of such a size: which pixels of a window are theirs."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(ink)
    fits = (stats[:, 2] >= widths[0]) & (stats[:, 2] <= widths[1])
    fits &= (stats[:, 3] >= heights[0]) & (stats[:, 3] <= heights[1])
    fits[0] = False
    for label in np.flatnonzero(fits)[:MOST].tolist():
        x, y, width, height, _ = stats[label].tolist()
        window = np.s_[y : y + height, x : x + width]
        yield labels[window] == label, window


def share(ink: np.ndarray, box: Rect) -> float:
    """The share of a box that is dark; 0 for a box outside the page."""
    rows, columns = box.window
    rows, columns = (slice(s.start, max(s.stop, s.start + 1)) for s in (rows, columns))
    crop = ink[rows, columns]
    return float((crop > 0).mean()) if crop.size else 0.0


def outlines_of(mask: np.ndarray, mode: int) -> tuple[list[np.ndarray], np.ndarray]:
    """OpenCV's contours and their hierarchy, shape (n, 4); none of a page of noise."""
    contours, tree = cv2.findContours(mask, mode, cv2.CHAIN_APPROX_SIMPLE)
    if len(contours) > MOST * 10:
        # Noise, not a form.
        return [], np.zeros((0, 4), np.int32)
    return list(contours), np.zeros((0, 4), np.int32) if tree is None else tree[0]


def rect(contour: np.ndarray) -> Rect:
    """The box around a contour."""
    x, y, width, height = cv2.boundingRect(contour)
    return Rect(float(x), float(y), float(x + width), float(y + height))
