"""The text of a level page: the words of OCR, each with its line, how bold and how slanted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import ImageFont

from formlab import resources
from formlab.systems import ocr
from formlab.text.layout import page_text
from formlab_baselines.page_marks import Rect, around
from formlab_baselines.words import Run

cv2 = resources.optional("cv2", extra="ocr")

# What OCR makes of a box or circle at the start of an option.
_LEFTOVER = re.compile(r"^[^\w\s$€£¥#(\[+.,:;'\"&/%-]+\s*")
# A label and its value that were read as one word; a time of day is none.
_GLUED = re.compile(r"([^\W\d][^:]*:)(?!//)(\S.*)")
_GRAIN = 30
# Widths of letters are much alike in all fonts of text.
_FONT = ImageFont.load_default(100)


@dataclass(frozen=True, eq=False)
class TextLine:
    """A line of text; `stroke` is the width of its strokes, `size` that of its font, in pixels."""

    text: str
    box: Rect
    score: float
    stroke: float
    size: float
    slant: float
    shaded: bool


@dataclass(frozen=True, eq=False)
class Word:
    """A word, its box, and the line it was read in."""

    text: str
    box: Rect
    line: TextLine


def words(result: Any, gray: np.ndarray) -> list[Word]:
    """All words of RapidOCR's result over a level page."""
    paper = float(np.median(gray))
    page: list[Word] = []
    for text, score, corners, inner in ocr.lines(result):
        box = Rect(*ocr.box_of(corners))
        crop = gray[box.window].astype(np.float32)
        shaded = bool(crop.size) and float(np.median(crop)) < paper - 12
        (x0, y0), (x1, y1), *_ = np.asarray(corners, dtype=float).tolist()
        slant = float(np.degrees(np.arctan2(y1 - y0, x1 - x0)))
        line = TextLine(text, box, float(score), _stroke(crop), _size(crop, text), slant, shaded)
        spots = [(word, Rect(*ocr.box_of(spot))) for word, _, spot in inner]
        spots = spots or [(run.text, Rect(*run[2:])) for run in Run(text, 1, *box).words()]
        for word, spot in spots:
            page += _words(word, spot, line)
    return page


def _words(text: str, box: Rect, line: TextLine) -> Iterator[Word]:
    text = _LEFTOVER.sub("", text.strip())
    if glued := _GLUED.fullmatch(text):
        cut = box.x0 + box.width * len(glued[1]) / len(text)
        yield Word(glued[1], box._replace(x1=cut), line)
        yield Word(glued[2], box._replace(x0=cut), line)
    elif text:
        yield Word(text, box, line)


def joined(pieces: Iterable[Word | TextLine]) -> str:
    """The words, or lines, as one text."""
    return " ".join(piece.text for piece in pieces)


def text_of(page: list[Word]) -> str:
    """The words in reading order, a line break between rows."""
    return page_text(np.array([word.box for word in page]), [word.text for word in page])


def box_of(items: Iterable[Any]) -> Rect:
    """The box around words, lines, cells, whatever has a box."""
    return around([item.box for item in items])


def lines_of(page: list[Word]) -> list[TextLine]:
    """The lines that words were read in, each once, in their order."""
    return list({id(word.line): word.line for word in page}.values())


def _size(crop: np.ndarray, text: str) -> float:
    """What size of a common font would make the text as wide as it is."""
    dark = np.flatnonzero((np.median(crop) - crop > 2 * _GRAIN).any(axis=0)) if crop.size else []
    length = _FONT.getlength(text.strip()) / _FONT.size
    return float((dark[-1] - dark[0] + 1) / length) if len(dark) and length else 0.0


def _stroke(crop: np.ndarray) -> float:
    """Mean width of the strokes of a line of text, in pixels; 0 where there are none."""
    ink = np.clip(np.median(crop) - crop - _GRAIN, 0, None) if crop.size else crop
    if not ink.any():
        return 0.0
    # Strokes are one to three pixels wide: whole pixels would not tell bold from regular.
    fine = cv2.resize(ink, None, fx=4, fy=4, interpolation=cv2.INTER_LINEAR)
    dark = (fine > np.percentile(ink[ink > 0], 95) / 2).astype(np.uint8)
    depth = cv2.distanceTransform(dark, cv2.DIST_L2, 3)
    ridge = (depth > 0) & (depth == cv2.dilate(depth, np.ones((3, 3), np.uint8)))
    return float(depth[ridge].mean() / 2) if ridge.any() else 0.0
