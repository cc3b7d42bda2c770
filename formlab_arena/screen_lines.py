"""Lines of text on a screenshot: split at boxes, beside marks, and as paragraphs."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from formlab_arena.shapes import Box, holds, middle

# A mark to tick is narrower than this.
_MARK = 60
# What OCR makes of a ring or box before a text.
_RING = re.compile(r"^[O0Q○□口☐◯▢]\s*(?=[A-Z\d])|^[O0○□口☐◯▢] ")


@dataclasses.dataclass(frozen=True)
class TextLine:
    """A line of text, its box, and its words where they are known."""

    text: str
    box: Box
    words: tuple[TextLine, ...] = ()


def lines_of(rows: Sequence[dict[str, Any]]) -> list[TextLine]:
    """The lines of the records of OCR, each with its words."""
    words: dict[str, list[TextLine]] = {}
    for row in rows:
        if row["kind"] == "word":
            words.setdefault(row["path"].partition("/words/")[0], []).append(_line(row))
    return [
        _line(row, words.get(row["path"], ()))
        for row in rows
        if row["kind"] == "line" and row["value"].strip()
    ]


def _line(row: dict[str, Any], words: Sequence[TextLine] = ()) -> TextLine:
    box = (row["x0"], row["y0"], row["x1"], row["y1"])
    return TextLine(row["value"].strip(), box, tuple(words))


def pieces(line: TextLine, boxes: Sequence[Box], marks: Iterable[Box]) -> list[TextLine]:
    """A line that OCR read across sides of boxes or across marks, split there."""
    x0, y0, x1, y1 = line.box
    level = [
        box
        for box in (*boxes, *marks)
        if box[1] <= (y0 + y1) / 2 <= box[3] and x0 < box[2] and box[0] < x1
    ]
    across = [box for box in level if x0 < box[0] - 8 or x1 > box[2] + 8]
    if not line.words or not across:
        return [line]

    def place(word: TextLine) -> tuple[bool, ...]:
        x, _ = middle(word.box)
        return tuple(side < x for box in across for side in (box[0], box[2]))

    parts = [joined(list(words)) for _, words in itertools.groupby(line.words, place)]
    small = [box for box in across if box[2] - box[0] < _MARK]
    return [part for part in parts if not any(holds(box, part.box) for box in small)] or [line]


def joined(words: Sequence[TextLine]) -> TextLine:
    """Several texts as one, with the box around them."""
    sides = np.array([word.box for word in words])
    box = (*sides[:, :2].min(axis=0).tolist(), *sides[:, 2:].max(axis=0).tolist())
    return TextLine(" ".join(word.text for word in words), box, tuple(words))


def texts_beside(marks: Iterable[Box], lines: Sequence[TextLine]) -> dict[Box, str]:
    """The text that starts at the right of each mark, or around it as OCR often has it."""
    own: dict[Box, TextLine] = {}
    for box in marks:
        _, at = middle(box)
        for line in lines:
            starts = -18 <= line.box[0] - box[0] <= 14 + 1.6 * (box[2] - box[0])
            if starts and line.box[2] > box[2] + 8 and line.box[1] <= at <= line.box[3]:
                own[box] = line
                break
    rest = [line for line in lines if line not in own.values()]
    texts = {}
    for box, line in own.items():
        text = _RING.sub("", line.text) if line.box[0] < box[2] - 4 else line.text
        off = middle(box)[1] - middle(line.box)[1]
        # A long text goes on in the next line; a mark in the middle of two stands by the second.
        more = next((other for other in rest if _follows(line, other)), None)
        before = next((other for other in rest if off < -4 and _follows(other, line)), None)
        parts = [before and before.text, text, more and more.text]
        texts[box] = " ".join(part for part in parts if part)
    return texts


def _follows(first: TextLine, second: TextLine) -> bool:
    """Whether a line is the next of a paragraph."""
    high = first.box[3] - first.box[1]
    gap = second.box[1] - first.box[3]
    alike = abs(first.box[0] - second.box[0]) <= 4 and -0.4 * high <= gap <= 0.4 * high
    return alike and abs(second.box[3] - second.box[1] - high) <= 0.4 * high


def with_paragraphs(lines: Sequence[TextLine]) -> list[TextLine]:
    """The lines, and before each two that follow one another at one indent both as one."""
    pairs = itertools.permutations(lines, 2)
    blocks = [joined(p) for p in pairs if _follows(*p) and not p[0].text.endswith((":", "*"))]
    return [*blocks, *lines]
