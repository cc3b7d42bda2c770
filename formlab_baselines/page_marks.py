"""What stands on a page besides text; all sizes go by the height of its letters."""

from __future__ import annotations

import numpy as np

from formlab import resources
from formlab_baselines import page_lines
from formlab_baselines.page_lines import (
    Marks,
    Rect,
    Tick,
    outlines_of,
    pieces,
    rect,
    share,
    strokes,
)

cv2 = resources.optional("cv2", extra="ocr")


def find(gray: np.ndarray) -> tuple[Marks, np.ndarray]:
    """The marks of a level grey page, and the page with ticks, rings and rules painted over.

    The second is for the OCR, which would take boxes and rings for letters.
    """
    ink = page_lines.dark(gray)
    unit = page_lines.letter_height(ink)
    if unit is None:
        return Marks(1.0, ink, has_letters=False), gray
    across, down = strokes(ink, 2 * unit)
    rules = page_lines.find_rules(ink, across, unit)
    grids = page_lines.find_grids(across, down, unit)
    ticks = _squares(ink, unit)
    free = _without(ink, [tick.box for tick in ticks])
    ticks += _circles(free, unit)
    outlines = _rings(_without(free, [tick.box for tick in ticks]), unit)
    rings = [rect(outline) for outline in outlines]
    # The flat stretches of a ring are not lines to write on.
    rules = [rule for rule in rules if not any(ring.grown(4).holds(rule) for ring in rings)]
    struck, bars = _struck(ink, across, unit), _bars(gray, unit)
    marks = Marks(unit, ink, ticks, rings, rules, grids, struck, bars)
    # Only what is too long to be a part of letters that touch.
    long = cv2.bitwise_or(*strokes(ink, 5 * unit))
    return marks, _painted_over(gray, marks, outlines, long)


def _squares(ink: np.ndarray, unit: float) -> list[Tick]:
    across, down = strokes(ink, 0.9 * unit)
    squares = []
    # A tick may reach as far out of its box as the box is large.
    for own, window in pieces(ink, (unit, 6 * unit), (unit, 6 * unit)):
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
    contours, tree = outlines_of(ink, cv2.RETR_CCOMP)
    circles = []
    for contour, (_, _, child, parent) in zip(contours, tree, strict=True):
        box = rect(contour)
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
    contours, tree = outlines_of(ink, cv2.RETR_CCOMP)
    outlines = []
    for contour, (_, _, _, parent) in zip(contours, tree, strict=True):
        box = rect(contour)
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
    for own, window in pieces(ink, (3 * unit, 30 * unit), (0.8 * unit, 2 * unit)):
        rule, (rows, columns) = own & (across[window] > 0), window
        if rule.any(axis=0).mean() > 0.85 and 0.25 < np.nonzero(rule)[0].mean() / len(own) < 0.65:
            struck.append(Rect(columns.start, rows.start, columns.stop, rows.stop))
    return struck


def _bars(gray: np.ndarray, unit: float) -> list[Rect]:
    """Filled rectangles, as of a bar chart."""
    solid = (cv2.medianBlur(gray, 5) < np.median(gray) - 60).astype(np.uint8)
    solid = cv2.morphologyEx(solid, cv2.MORPH_OPEN, np.ones((round(1.2 * unit),) * 2, np.uint8))
    bars = [(rect(c), cv2.contourArea(c)) for c in outlines_of(solid, cv2.RETR_EXTERNAL)[0]]
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
