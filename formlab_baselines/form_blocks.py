"""Blocks that are read as a whole: tables, charts, plans, chains of boxes, drawings and stamps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from formlab.text.layout import rows
from formlab_baselines.form_rows import FormField
from formlab_baselines.page_marks import Grid, Marks, Rect, around
from formlab_baselines.page_text import TextLine, Word, box_of, joined, lines_of, text_of

# Degrees that a stamp is slanted at least; the level of a short word is not known better.
_SLANTED = 6.0


def blocks(words: list[Word], marks: Marks) -> tuple[list[FormField], list[Rect], list[Word]]:
    """The blocks of a page as fields, the frames around parts of it, and the words in no block."""
    result, words = _stamps(words, marks.unit)
    charts, words = _charts(words, marks)
    result += charts
    frames: list[Rect] = []
    single: list[Grid] = []
    for grid in marks.grids:
        if any(block.box.grown(marks.unit).holds(grid.box) for block in charts):
            continue
        texts = [_inside(cell, words) for cell in grid.cells]
        if table := _as_table(grid, words, marks.unit):
            result.append(table)
        elif not any(map(_is_read, texts)):
            result.append(FormField("Drawing", "", grid.box, "visual", "hand-drawn"))
        elif all(len(lines_of(text)) <= 1 for text in texts):
            single.append(grid)
        else:
            frames += [cell for cell, text in zip(grid.cells, texts, strict=True) if text]
    result += _chains_and_plans(single, words, marks.unit)
    return result, frames, outside(result, words)


def _inside(box: Rect, words: list[Word]) -> list[Word]:
    return [word for word in words if box.holds(word.box)]


def outside(blocks: list[FormField], items: list[Any]) -> list[Any]:
    """The words, or boxes to tick, that are in none of the blocks."""
    return [item for item in items if not any(block.box.holds(item.box) for block in blocks)]


def _is_read(text: list[Word]) -> bool:
    # OCR reads a letter or two in a drawing, with low confidence.
    return any(len(line.text) > 3 or line.score > 0.95 for line in lines_of(text))


def _read(boxes: Iterable[Rect], words: list[Word]) -> list[str]:
    return [text_of(_inside(box, words)).replace("\n", " ") for box in boxes]


def _stamps(words: list[Word], unit: float) -> tuple[list[FormField], list[Word]]:
    slanted = [line for line in lines_of(words) if abs(line.slant) > _SLANTED]
    slanted = [line for line in slanted if len(line.text) > 3 and line.box.height > unit]
    groups: list[list[TextLine]] = []
    for line in sorted(slanted, key=lambda line: line.box.y0):
        near = (g for g in groups if box_of(g).grown(2 * unit).holds(line.box))
        if (group := next(near, None)) is None:
            groups.append(group := [])
        group.append(line)
    stamps = [FormField("Stamp", joined(g), box_of(g), "visual", "printed-paint") for g in groups]
    # What else was read within a stamp is part of it, and no value of a field.
    return stamps, outside(stamps, words)


def _charts(words: list[Word], marks: Marks) -> tuple[list[FormField], list[Word]]:
    """Bars that stand on one line, each with what is written below and above it."""
    unit, charts = marks.unit, []
    # A shaded cell has its text inside.
    left = sorted(bar for bar in marks.bars if not _inside(bar, words))
    while left:
        row = [bar for bar in left if abs(bar.y1 - left[0].y1) < unit]
        left = [bar for bar in left if bar not in row]
        if len(row) < 3:
            continue
        named, used = [], []
        for bar in row:
            column = [w for w in words if bar.x0 - unit <= w.box.centre <= bar.x1 + unit]
            below = [w for w in column if 0 <= w.box.middle - bar.y1 < 2.5 * unit]
            above = [w for w in column if 0 <= bar.y0 - w.box.middle < 2.5 * unit]
            named.append(f"{joined(below)} {joined(above)}".strip())
            used += [*below, *above]
        box = around([*row, *(word.box for word in used)])
        value = "; ".join(filter(None, named))
        charts.append(FormField("Chart", value, box, "visual", "chart"))
        words = [word for word in words if word not in used]
    return charts, words


def _as_table(grid: Grid, words: list[Word], unit: float) -> FormField | None:
    """The grid as a table, if its cells stand in two or more rows and columns."""
    lefts = _steps([cell.x0 for cell in grid.cells], unit)
    tops = _steps([cell.y0 for cell in grid.cells], unit)
    texts = {}
    for cell, text in zip(grid.cells, _read(grid.cells, words), strict=True):
        top = min(tops, key=lambda top: abs(top - cell.y0))
        texts[top, min(lefts, key=lambda left: abs(left - cell.x0))] = text
    size = len(lefts) * len(tops)
    # Noise may eat some walls of a large table; a few cells that do not line up are a plan.
    if min(len(lefts), len(tops)) < 2 or len(texts) < (0.65 if size > 8 else 1) * size:
        return None
    table = [tuple(texts.get((top, left), "") for left in lefts) for top in tops]
    filled = tuple(row for row in table if any(row))
    value = "\n".join(" | ".join(row) for row in filled)
    return FormField("Table", value, grid.box, "marking", "table-grid", cells=filled)


def _steps(values: list[float], unit: float) -> list[float]:
    steps: list[float] = []
    for value in sorted(values):
        if not steps or value - steps[-1] > unit:
            steps.append(value)
    return steps


def _chains_and_plans(grids: list[Grid], words: list[Word], unit: float) -> list[FormField]:
    """Boxes in a row with a line of text each are a chain; cells that share walls are a plan."""
    drawings = []
    single = [grid.box for grid in grids if len(grid.cells) == 1]
    for grid in grids:
        if np.ptp([cell.y0 for cell in grid.cells]) >= unit:
            value = "; ".join(filter(None, _read(grid.cells, words)))
            drawings.append(FormField("Drawing", value, grid.box, "textual", "text-in-drawing"))
        elif len(grid.cells) > 1:
            single += grid.cells
    for group in rows(np.array(single), overlap=0.8):
        if len(group) > 1:
            boxes = [single[index] for index in group]
            value = " -> ".join(filter(None, _read(boxes, words)))
            drawings.append(FormField("Drawing", value, around(boxes), "visual", "diagram"))
    return drawings
