"""What stands on a page: the words that OCR reads, and the boxes and circles to tick."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from formlab import resources
from formlab.tables import BOX
from formlab_baselines.words import Run

cv2 = resources.optional("cv2", extra="ocr")

# A box to tick, ticked or not, and a circle: a page has them as words of one sign.
TICKS = {"☐": "checkbox", "☑": "checkbox", "○": "radio", "◉": "radio"}
TICKED = ("☑", "◉")
# What OCR makes of a box or circle at the start of an option.
_LEFTOVER = re.compile(r"^[^\w\s$€£¥#(\[+.,:;'\"&/%-]+\s*")
# A label and its value that were read as one word; a time of day is none.
_GLUED = re.compile(r"([^\W\d][^:]*:)(?!//)(\S.*)")
# Pieces of ink on one page; noise must not cost more than a real form does.
_MOST = 20_000


def page_words(
    rows: Iterable[dict[str, Any]], gray: np.ndarray, zoom: float, least_ink: float
) -> list[Run]:
    """The words among rows of the system `ocr` and the ticks of their grey page, in its pixels."""
    words = []
    for row in rows:
        if row["kind"] == "word":
            corners = (row[side] * zoom for side in BOX)
            words += _parts(Run(row["value"], row["page"], *corners, row["confidence"]))
    ticks = [tick._replace(page=words[0].page) for tick in _ticks(gray, words, least_ink)]
    return [word for word in words if not any(tick.holds(word) for tick in ticks)] + ticks


def _parts(word: Run) -> Iterator[Run]:
    """A word without what a box was taken for, and a label and its value apart."""
    step = (word.x1 - word.x0) / max(len(word.text), 1)
    text = _LEFTOVER.sub("", word.text)
    word = word._replace(text=text.strip(), x0=word.x1 - step * len(text))
    if glued := _GLUED.fullmatch(word.text):
        cut = word.x0 + step * len(glued[1])
        yield word._replace(text=glued[1], x1=cut)
        yield word._replace(text=glued[2], x0=cut)
    elif word.text:
        yield word


def _ticks(gray: np.ndarray, words: list[Run], least_ink: float) -> Iterator[Run]:
    """The boxes and circles that have a word to their right and are in no word."""
    if not words:
        return
    # Of the boxes around lines about half is letters, the rest is what reaches up and down.
    letter = float(np.median([word.y1 - word.y0 for word in words])) / 2
    # Darker than its surroundings: a grey band behind a heading is paper, not ink.
    how = (255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, 41, 25)
    ink = (cv2.adaptiveThreshold(gray, *how) > 0).astype(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(ink)
    for label, (x, y, width, height, _) in enumerate(stats[:_MOST].tolist()):
        # A tick may reach as far out of its box as the box is large.
        if not 0.9 * letter <= min(width, height) <= max(width, height) <= 6 * letter:
            continue
        own = (labels[y : y + height, x : x + width] == label).astype(np.uint8)
        square = _square(own, letter)
        if not (frame := square or _circle(own, letter)):
            continue
        x0, y0, x1, y1 = frame[0] + x, frame[1] + y, frame[2] + x, frame[3] + y
        rim = max(2, round(0.27 * (y1 - y0)))
        is_ticked = bool(ink[y0 + rim : y1 - rim, x0 + rim : x1 - rim].mean() >= least_ink)
        tick = Run(("☐☑" if square else "○◉")[is_ticked], 0, *map(float, (x0, y0, x1, y1)))
        level = [word for word in words if word.y0 <= (y0 + y1) / 2 <= word.y1]
        inside = any(len(word.text) > 1 and word.holds(tick) for word in level)
        if not inside and any(-0.3 <= (word.x0 - x1) / letter <= 2.5 for word in level):
            yield tick


def _square(own: np.ndarray, letter: float) -> tuple[int, int, int, int] | None:
    """The frame of four straight sides in a piece of ink, whatever is drawn in it and out of it."""
    # An odd length, so that what is opened stays where it is.
    length = max(3, round(0.9 * letter) | 1)
    across = cv2.morphologyEx(own, cv2.MORPH_OPEN, np.ones((1, length), np.uint8))
    down = cv2.morphologyEx(own, cv2.MORPH_OPEN, np.ones((length, 1), np.uint8))
    columns, rows = np.flatnonzero(down.any(axis=0)), np.flatnonzero(across.any(axis=1))
    if not columns.size or not rows.size:
        return None
    x0, x1, y0, y1 = (int(end) for ends in (columns, rows) for end in (ends[0], ends[-1] + 1))
    inside = own[y0:y1, x0:x1]
    # A side that is not quite level is a step; the corners of letters are round.
    sides = (inside[:2], inside[-2:], inside[:, :2].T, inside[:, -2:].T)
    corners = (inside[:3, :3], inside[:3, -3:], inside[-3:, :3], inside[-3:, -3:])
    is_drawn = all(s.any(axis=0).mean() > 0.8 for s in sides) and all(c.sum() > 4 for c in corners)
    return (x0, y0, x1, y1) if is_drawn and _is_even(inside, letter, 3.2) else None


def _circle(own: np.ndarray, letter: float) -> tuple[int, int, int, int] | None:
    """The box around a piece of ink that is a ring of about the height of letters."""
    contours, _ = cv2.findContours(own, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    outline = max(contours, key=cv2.contourArea)
    _, radius = cv2.minEnclosingCircle(outline)
    is_ring = len(contours) > 1 and cv2.contourArea(outline) > 0.75 * np.pi * radius**2
    return (0, 0, *own.shape[::-1]) if is_ring and _is_even(own, letter, 1.8) else None


def _is_even(piece: np.ndarray, letter: float, most: float) -> bool:
    """Whether a piece is about as wide as high, and at most so many letters high."""
    height, width = piece.shape
    return 0.75 <= width / height <= 1.33 and 0.9 * letter <= height <= most * letter
