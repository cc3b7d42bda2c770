"""What stands on a page besides text: rules, grids, boxes to tick, rings, bars.

All sizes go by the height of the page's letters.
"""

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
_MOST = 2_000


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
    angle = _skew(_dark(gray))
    if not _LEAST_SKEW <= abs(angle) <= _MOST_SKEW:
        return gray, np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), angle, 1.0)
    border = {"borderMode": cv2.BORDER_CONSTANT, "borderValue": float(np.median(gray))}
    size = (width, height)
    return cv2.warpAffine(gray, matrix, size, flags=cv2.INTER_CUBIC, **border), matrix


def find(gray: np.ndarray) -> tuple[Marks, np.ndarray]:
    """The marks of a level grey page, and the page with ticks, rings and rules painted over.

    The second is for the OCR, which would take boxes and rings for letters.
    """
    ink = _dark(gray)
    unit = _letter_height(ink)
    if unit is None:
        return Marks(1.0, ink, has_letters=False), gray
    across, down = _strokes(ink, 2 * unit)
    rules = _find_rules(ink, across, unit)
    grids = _find_grids(across, down, unit)
    ticks = _squares(ink, unit)
    free = _without(ink, [tick.box for tick in ticks])
    ticks += _circles(free, unit)
    outlines = _rings(_without(free, [tick.box for tick in ticks]), unit)
    rings = [_rect(outline) for outline in outlines]
    # The flat stretches of a ring are not lines to write on.
    rules = [rule for rule in rules if not any(ring.grown(4).holds(rule) for ring in rings)]
    struck, bars = _struck(ink, across, unit), _bars(gray, unit)
    marks = Marks(unit, ink, ticks, rings, rules, grids, struck, bars)
    # Only what is too long to be a part of letters that touch.
    long = cv2.bitwise_or(*_strokes(ink, 5 * unit))
    return marks, _painted_over(gray, marks, outlines, long)


def _squares(ink: np.ndarray, unit: float) -> list[Tick]:
    across, down = _strokes(ink, 0.9 * unit)
    squares = []
    # A tick may reach as far out of its box as the box is large.
    for own, window in _pieces(ink, (unit, 6 * unit), (unit, 6 * unit)):
        columns = window[1].start + np.flatnonzero((own & (down[window] > 0)).any(axis=0))
        rows = window[0].start + np.flatnonzero((own & (across[window] > 0)).any(axis=1))
        if not columns.size or not rows.size:
            continue
        box = Rect(columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
        fits = unit <= box.height <= 3.2 * unit and 0.75 <= box.width / box.height <= 1.33
        if fits and _is_box(ink, box) and _is_apart(ink, box):
            inside = box.grown(-max(2.0, 0.25 * box.height))
            squares.append(Tick(box, False, share(ink, inside)))
    return squares


def _is_box(ink: np.ndarray, box: Rect) -> bool:
    """Whether all four sides are drawn, straight to the corners: bold letters have round ones."""
    x0, y0, x1, y1 = (round(side) for side in box)
    crop = ink[y0:y1, x0:x1] > 0
    sides = (crop[0], crop[-1], crop[:, 0], crop[:, -1])
    corners = (crop[:3, :3], crop[:3, -3:], crop[-3:, :3], crop[-3:, -3:])
    wider = Rect(x0 - 2, y0 - 2, x1 + 2, y1 + 2)
    outside = share(ink, wider) * wider.width * wider.height - crop.sum()
    return (
        all(side.mean() > 0.7 for side in sides)
        and all(corner.sum() > 4 for corner in corners)
        # A circle or a large letter goes on where its straight parts end.
        and outside < 0.25 * (wider.width * wider.height - crop.size)
    )


def _is_apart(ink: np.ndarray, box: Rect) -> bool:
    """Whether there is a gap before the text on either side, as no letter of a word has."""
    gap = 0.25 * box.height
    # Only the lower half: a tick may reach out of the upper one.
    right = Rect(box.x1 + 1, box.middle, box.x1 + gap, box.y1)
    left = Rect(box.x0 - 2 * gap, box.middle, box.x0 - 1, box.y1)
    return share(ink, right) < 0.28 and share(ink, left) < 0.28


def _circles(ink: np.ndarray, unit: float) -> list[Tick]:
    contours, tree = _outlines_of(ink, cv2.RETR_CCOMP)
    circles = []
    for contour, (_, _, child, parent) in zip(contours, tree, strict=True):
        box = _rect(contour)
        if parent >= 0 or child < 0 or not 0.9 * unit <= box.height <= 1.8 * unit:
            continue
        _, radius = cv2.minEnclosingCircle(contour)
        even = 0.8 <= box.width / box.height <= 1.25
        is_disc = even and cv2.contourArea(contour) > 0.75 * np.pi * radius**2
        if is_disc and _stands_alone(ink, box, unit):
            circles.append(Tick(box, True, share(ink, box.grown(-0.3 * box.width))))
    return circles


def _stands_alone(ink: np.ndarray, box: Rect, unit: float) -> bool:
    """Whether a circle is no letter: free on both sides, but with something to its right."""
    right = Rect(box.x1 + 1, box.y0, box.x1 + 0.35 * unit, box.y1)
    left = Rect(box.x0 - 0.7 * unit, box.y0, box.x0 - 1, box.y1)
    label = Rect(box.x1 + 0.35 * unit, box.y0, box.x1 + 2.5 * unit, box.y1)
    return share(ink, left) < 0.05 and share(ink, right) < 0.05 and share(ink, label) > 0.05


def _rings(ink: np.ndarray, unit: float) -> list[np.ndarray]:
    """The outlines of closed curves with something written in them."""
    contours, tree = _outlines_of(ink, cv2.RETR_CCOMP)
    outlines = []
    for contour, (_, _, _, parent) in zip(contours, tree, strict=True):
        box = _rect(contour)
        fits = 1.3 * unit <= box.height <= 5 * unit and 1.3 * unit <= box.width <= 18 * unit
        if parent < 0 or not fits:
            continue
        (_, sides, _), area = cv2.minAreaRect(contour), cv2.contourArea(contour)
        hull = cv2.contourArea(cv2.convexHull(contour))
        # An ellipse takes pi / 4 of the box around it.
        is_oval = 0.66 <= area / max(sides[0] * sides[1], 1) <= 0.9 and area > 0.85 * hull
        if is_oval and share(ink, box.grown(-0.2 * box.height)) > 0.03:
            outlines.append(contour)
    return outlines


def _struck(ink: np.ndarray, across: np.ndarray, unit: float) -> list[Rect]:
    """Words with a stroke through them: one piece of ink with a rule at half its height."""
    struck = []
    for own, window in _pieces(ink, (3 * unit, 30 * unit), (0.8 * unit, 2 * unit)):
        rule, (rows, columns) = own & (across[window] > 0), window
        if rule.any(axis=0).mean() > 0.85 and 0.25 < np.nonzero(rule)[0].mean() / len(own) < 0.65:
            struck.append(Rect(columns.start, rows.start, columns.stop, rows.stop))
    return struck


def _bars(gray: np.ndarray, unit: float) -> list[Rect]:
    """Filled rectangles, as of a bar chart."""
    solid = (cv2.medianBlur(gray, 5) < np.median(gray) - 60).astype(np.uint8)
    solid = cv2.morphologyEx(solid, cv2.MORPH_OPEN, np.ones((round(1.2 * unit),) * 2, np.uint8))
    bars = [(_rect(c), cv2.contourArea(c)) for c in _outlines_of(solid, cv2.RETR_EXTERNAL)[0]]
    filled = [box for box, area in bars if area > 0.7 * box.width * box.height]
    return [box for box in filled if box.width > 2 * unit]


def _painted_over(
    gray: np.ndarray, marks: Marks, rings: list[np.ndarray], lines: np.ndarray
) -> np.ndarray:
    clean = gray.copy()
    paper = int(np.median(gray))
    # What is as wide as a letter is a bar of a chart or the dark edge of a scan.
    wide = np.ones((max(3, round(0.6 * marks.unit)),) * 2)
    thin = cv2.subtract(lines, cv2.morphologyEx(lines, cv2.MORPH_OPEN, wide))
    clean[cv2.dilate(thin, np.ones((3, 3), np.uint8)) > 0] = paper
    for box in (*(tick.box for tick in marks.ticks), *marks.struck):
        clean[box.grown(2).window] = paper
    inside = cv2.drawContours(np.zeros_like(gray), rings, -1, 255, cv2.FILLED)
    wide = cv2.dilate(inside, np.ones((7, 7), np.uint8))
    clean[(wide > 0) & (cv2.erode(inside, np.ones((3, 3), np.uint8)) == 0)] = paper
    return clean


def _without(ink: np.ndarray, boxes: list[Rect]) -> np.ndarray:
    left = ink.copy()
    for box in boxes:
        left[box.grown(1).window] = 0
    return left


def _dark(gray: np.ndarray) -> np.ndarray:
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


def _letter_height(ink: np.ndarray) -> float | None:
    """Median height of what may be letters, each counting by its area."""
    _, _, stats, _ = cv2.connectedComponentsWithStats(ink)
    width, height, area = stats[1:, 2], stats[1:, 3], stats[1:, 4]
    likely = (height >= _LOWEST) & (height <= _HIGHEST) & (width < 4 * height) & (width > 1)
    return _weighted_median(height[likely], area[likely]) if likely.any() else None


def _strokes(ink: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Dark runs of at least `length` pixels, across and down."""
    size = max(3, round(length))
    return (
        cv2.morphologyEx(ink, cv2.MORPH_OPEN, np.ones((1, size), np.uint8)),
        cv2.morphologyEx(ink, cv2.MORPH_OPEN, np.ones((size, 1), np.uint8)),
    )


def _find_rules(ink: np.ndarray, across: np.ndarray, unit: float) -> list[Rect]:
    """The level rules, each whole, from dark runs `across` the page."""
    # A rule that is not quite level falls into steps.
    joined = cv2.dilate(across, np.ones((3, 5), np.uint8))
    boxes = [_rect(c).grown(-1) for c in _outlines_of(joined, cv2.RETR_EXTERNAL)[0]]
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


def _find_grids(across: np.ndarray, down: np.ndarray, unit: float) -> list[Grid]:
    """What long rules enclose: the cells that share walls are one grid."""
    lines = cv2.dilate(cv2.bitwise_or(across, down), np.ones((3, 3), np.uint8))
    contours, tree = _outlines_of(lines, cv2.RETR_CCOMP)
    cells: dict[int, list[Rect]] = {}
    for contour, (_, _, _, parent) in zip(contours, tree, strict=True):
        box = _rect(contour)
        if parent < 0 or box.width < 2 * unit or box.height < 1.5 * unit:
            continue
        if cv2.contourArea(contour) > 0.8 * box.width * box.height:
            cells.setdefault(parent, []).append(box)
    grids = [
        Grid(_rect(contours[outer]), tuple(sorted(inner, key=lambda cell: (cell.y0, cell.x0))))
        for outer, inner in cells.items()
    ]
    return sorted(grids, key=lambda grid: (grid.box.y0, grid.box.x0))


def _pieces(
    ink: np.ndarray, widths: tuple[float, float], heights: tuple[float, float]
) -> Iterator[tuple[np.ndarray, tuple[slice, slice]]]:
    """Connected pieces of ink of such a size: which pixels of a window are theirs."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(ink)
    fits = (stats[:, 2] >= widths[0]) & (stats[:, 2] <= widths[1])
    fits &= (stats[:, 3] >= heights[0]) & (stats[:, 3] <= heights[1])
    fits[0] = False
    for label in np.flatnonzero(fits)[:_MOST].tolist():
        x, y, width, height, _ = stats[label].tolist()
        window = np.s_[y : y + height, x : x + width]
        yield labels[window] == label, window


def share(ink: np.ndarray, box: Rect) -> float:
    """The share of a box that is dark; 0 for a box outside the page."""
    rows, columns = box.window
    rows, columns = (slice(s.start, max(s.stop, s.start + 1)) for s in (rows, columns))
    crop = ink[rows, columns]
    return float((crop > 0).mean()) if crop.size else 0.0


def _outlines_of(mask: np.ndarray, mode: int) -> tuple[list[np.ndarray], np.ndarray]:
    """OpenCV's contours and their hierarchy, shape (n, 4); none of a page of noise."""
    contours, tree = cv2.findContours(mask, mode, cv2.CHAIN_APPROX_SIMPLE)
    if len(contours) > _MOST * 10:
        # Noise, not a form.
        return [], np.zeros((0, 4), np.int32)
    return list(contours), np.zeros((0, 4), np.int32) if tree is None else tree[0]


def _rect(contour: np.ndarray) -> Rect:
    """The box around a contour."""
    x, y, width, height = cv2.boundingRect(contour)
    return Rect(float(x), float(y), float(x + width), float(y + height))
