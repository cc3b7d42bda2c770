"""Reads a screenshot: lines of text, boxes to fill in, marks to tick."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from formlab import files
from formlab_arena.shapes import Box, holds, middle, outlines, ticked

# How far above a box, or to its left, its label may be; and how many screens are kept.
_ABOVE, _LEFT = 48, 330
_KEPT = 64


@dataclasses.dataclass(frozen=True)
class TextLine:
    """A line of text, its box, and its words where they are known."""

    text: str
    box: Box
    words: tuple[TextLine, ...] = ()


@dataclasses.dataclass(frozen=True)
class ScreenField:
    """A box to write in, the text in it, and the lines that may be its label, likeliest first."""

    box: Box
    text: str
    labels: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class TickMark:
    """A box or ring to tick, the text at its right, whether it is ticked, whether it is a ring."""

    box: Box
    text: str
    ticked: bool
    is_ring: bool = False


@dataclasses.dataclass(frozen=True)
class MarkGroup:
    """Marks that stand together, and the lines that may say what is asked."""

    marks: tuple[TickMark, ...]
    labels: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Screen:
    """The content of one screenshot; boxes in its pixels."""

    lines: tuple[TextLine, ...]
    fields: tuple[ScreenField, ...]
    groups: tuple[MarkGroup, ...]


def reader(threads: int = 1) -> Callable[[Path], Screen]:
    """A reader of screenshots by OCR, in so many threads; it reads the same picture only once."""
    from formlab.systems import ocr

    read = ocr.start(dict(ocr.SYSTEM.defaults), threads)
    kept: dict[str, Screen] = {}

    def once(path: Path) -> Screen:
        digest = files.sha256(path)
        if digest not in kept:
            rows = read({"doc_id": path.name, "image": path.name}, path.parent)
            gray = np.asarray(files.read_image(path).convert("L"))
            kept[digest] = arrange(gray, _lines(rows))
            if len(kept) > _KEPT:
                del kept[next(iter(kept))]
        return kept[digest]

    return once


def _lines(rows: Sequence[dict[str, Any]]) -> list[TextLine]:
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


def arrange(gray: np.ndarray, lines: Sequence[TextLine]) -> Screen:
    """Boxes and marks of a page with the lines that belong to them.

    `gray` is the screenshot, shape (height, width), 0 black and 255 white; `lines` its text.
    """
    boxes, squares = outlines(gray)
    lines = [piece for line in lines for piece in _split(line, boxes)]
    marks = [mark for box, is_ring in squares.items() if (mark := _mark(gray, box, is_ring, lines))]
    taken = {id(line) for box in boxes for line in lines if holds(box, line.box)}
    taken |= {id(line) for line in lines if any(line.text == m.text for m in marks)}
    free = [line for line in lines if id(line) not in taken]
    fields = []
    for box in sorted(boxes, key=lambda box: (box[1], box[0])):
        text = " ".join(line.text for line in lines if holds(box, line.box))
        fields.append(ScreenField(box, text, _labels(box, free)))
    groups = tuple(
        MarkGroup(tuple(some), _labels(some[0].box, free, indent=60)) for some in _grouped(marks)
    )
    return Screen(tuple(lines), tuple(fields), groups)


def _split(line: TextLine, boxes: Sequence[Box]) -> list[TextLine]:
    """A line that OCR read across the side of a box, split into the words outside and inside."""
    _, at = middle(line.box)
    for box in boxes:
        across = line.box[0] < box[0] - 8 and line.box[2] > box[0] + 8
        if line.words and across and box[1] <= at <= box[3]:
            inside = [word for word in line.words if holds(box, word.box)]
            outside = [word for word in line.words if not holds(box, word.box)]
            return [_joined(words) for words in (outside, inside) if words]
    return [line]


def _joined(words: Sequence[TextLine]) -> TextLine:
    sides = np.array([word.box for word in words])
    box = (*sides[:, :2].min(axis=0).tolist(), *sides[:, 2:].max(axis=0).tolist())
    return TextLine(" ".join(word.text for word in words), box, tuple(words))


def _mark(gray: np.ndarray, box: Box, is_ring: bool, lines: Sequence[TextLine]) -> TickMark | None:
    """The mark, if a line of text starts at its right, or around it as OCR often has it."""
    _, at = middle(box)
    for line in lines:
        starts = -18 <= line.box[0] - box[0] <= 40 and line.box[2] > box[2] + 8
        if starts and line.box[1] <= at <= line.box[3]:
            is_ticked = ticked(gray, box)
            return None if is_ticked is None else TickMark(box, line.text, is_ticked, is_ring)
    return None


def _labels(box: Box, lines: Sequence[TextLine], indent: float = 24) -> tuple[str, ...]:
    """Lines at the left of a box or above it, nearest first."""
    ranked = []
    for line in lines:
        x0, _, x1, y1 = line.box
        _, at = middle(line.box)
        gap = box[0] - x1
        beside = -14 <= gap <= _LEFT and box[1] - 4 <= at <= min(box[3], box[1] + 44) + 2
        above = box[1] - y1
        over = -10 <= above <= _ABOVE and x0 < box[2] and -indent - 10 <= x0 - box[0]
        over = over and x0 - box[0] <= max(60.0, 0.3 * (box[2] - box[0]))
        if beside:
            ranked.append((0.3 * max(0.0, gap), line.text))
        elif over:
            ranked.append((max(0.0, above) + 0.1 * abs(x0 - box[0]), line.text))
    return tuple(text for _, text in sorted(ranked)[:3])


def _grouped(marks: list[TickMark]) -> list[list[TickMark]]:
    """Marks below one another at one indent, or side by side in one row, near enough."""
    groups: list[list[TickMark]] = []
    for mark in sorted(marks, key=lambda mark: (mark.box[1], mark.box[0])):
        for group in groups:
            last = group[-1].box
            if mark.is_ring != group[-1].is_ring:
                continue
            under = abs(mark.box[0] - last[0]) <= 5 and 0 < mark.box[1] - last[3] <= 26
            beside = abs(mark.box[1] - last[1]) <= 5 and 0 < mark.box[0] - last[2] <= 260
            if under or beside:
                group.append(mark)
                break
        else:
            groups.append([mark])
    return groups


def differs(before: Screen | None, after: Screen | None) -> bool:
    """Whether two screens show different text, apart from small differences of OCR.

    Examples
    --------
    >>> a = Screen((TextLine("Name", (0, 0, 40, 20)),), (), ())
    >>> differs(a, a), differs(a, Screen((TextLine("Name", (0, 90, 40, 110)),), (), ()))
    (False, True)
    """
    if before is None or after is None:
        return True
    old, new = (
        {(line.text, round(line.box[1] / 12)) for line in page.lines} for page in (before, after)
    )
    return len(old & new) < 0.8 * max(len(old), len(new), 1)


def shares(before: Screen, after: Screen) -> float:
    """The share of the lines of the shorter screen that the other one has too, wherever.

    Examples
    --------
    >>> a, b = (Screen((TextLine(text, (0, 0, 9, 9)),), (), ()) for text in ("Name", "Thank you"))
    >>> shares(a, a), shares(a, b)
    (1.0, 0.0)
    """
    old, new = ({line.text for line in page.lines} for page in (before, after))
    return len(old & new) / max(1, min(len(old), len(new)))
