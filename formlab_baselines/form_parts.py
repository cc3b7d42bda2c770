"""The parts of a form: groups and fields, rows of labels, values and options, and whole blocks.

Blocks are tables, charts, plans, chains of boxes, drawings and stamps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from formlab.text.layout import rows as in_rows
from formlab_baselines.page_marks import Grid, Marks, Rect, Tick, around
from formlab_baselines.page_text import TextLine, Word, box_of, joined, lines_of, text_of

_NUMBER = re.compile(r"([A-Z]?[0-9]+[0-9a-z.]*|[A-Z]) ")
# How much larger the letters of a heading are than those of one below it.
_LARGER = 1.1
# Degrees that a stamp is slanted at least; the level of a short word is not known better.
_SLANTED = 6.0


@dataclass
class FormField:
    """A field of the form; of a table that is one field `cells` are the texts, row by row."""

    label: str
    value: str
    box: Rect
    modality: str = "textual"
    subtype: str = "machine-printed"
    kind: str = "string"
    confidence: float | None = None
    cells: tuple[tuple[str, ...], ...] = ()


@dataclass
class FormGroup:
    """A group of fields.

    `size` is that of its heading's letters, `frame` what it is in; it `follows` where nothing
    stands between its heading and that of the group it is in.
    """

    label: str = ""
    box: Rect | None = None
    size: float = np.inf
    shaded: bool = False
    frame: Rect | None = None
    follows: bool = False
    fields: list[FormField] = field(default_factory=list)
    groups: list[FormGroup] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether it has neither fields nor groups yet."""
        return not (self.fields or self.groups)

    def holds(self, other: FormGroup) -> bool:
        """Whether a group whose heading comes later belongs into this one."""
        number, longer = _NUMBER.match(self.label), _NUMBER.match(other.label)
        if number and longer:
            return longer[1] != number[1] and longer[1].startswith(number[1])
        if self.shaded != other.shaded:
            return self.shaded
        if max(self.size, other.size) > _LARGER * min(self.size, other.size):
            return self.size > other.size
        # Of two consecutive headings the first contains the second, unless it is itself a second.
        return self.is_empty and not self.follows


@dataclass
class Typography:
    """Widths of strokes, sizes and heights that are common among the text of a page."""

    stroke: float
    size: float
    height: float
    in_capitals: bool = False

    @classmethod
    def of(cls, words: list[Word]) -> Typography:
        """The medians over all lines of letters."""
        lines = [line for line in lines_of(words) if sum(map(str.isalpha, line.text)) > 2]
        values = [(line.stroke, line.size, line.box.height) for line in lines] or [(1, 1, 1)]
        capitals = sum(line.text == line.text.upper() for line in lines) > 0.4 * len(lines)
        return cls(*np.median(np.array(values, dtype=float), axis=0).tolist(), capitals)

    def is_heading(self, cell: Cell, bold: float) -> bool:
        """Whether text that stands alone looks like a heading."""
        lines = lines_of(cell.words)
        letters = [letter for letter in cell.text if letter.isalpha()]
        if not cell.is_plain or len(letters) < 2 or len(cell.label) > 10 or len(lines) != 1:
            return False
        line = lines[0]
        capitals = len(letters) > 5 and all(map(str.isupper, letters)) and not self.in_capitals
        strong = line.stroke > bold * self.stroke or line.size > 1.4 * self.size
        return (strong and line.score > 0.8) or line.shaded or capitals

    def is_scribble(self, words: list[Word]) -> bool:
        """Whether the words are a scribble: higher than a line, and of low confidence."""
        lines = lines_of(words)
        return any(line.box.height > 1.35 * self.height and line.score < 0.87 for line in lines)


def confidence(words: list[Word]) -> float | None:
    """The lowest confidence among the lines of the words."""
    return min((line.score for line in lines_of(words)), default=None)


@dataclass
class Cell:
    """One element of a row: a label and its value, an option, or plain text.

    `rule` is the line to write on; `tail` is printed text that goes on behind what is written.
    """

    label: list[Word] = field(default_factory=list)
    value: list[Word] = field(default_factory=list)
    tick: Tick | None = None
    rule: Rect | None = None
    tail: list[Word] = field(default_factory=list)

    @property
    def has_colon(self) -> bool:
        """Whether the label says that a value follows."""
        return bool(self.label) and self.label[-1].text.endswith((":", "："))

    @property
    def is_plain(self) -> bool:
        """Whether it is text alone."""
        return not (self.value or self.tick or self.rule or self.has_colon)

    @property
    def words(self) -> list[Word]:
        """All words, in the order they are read."""
        return [*self.label, *self.value, *self.tail]

    @property
    def text(self) -> str:
        """The label without its colon."""
        return joined(self.label).rstrip(": ：")

    @property
    def box(self) -> Rect:
        """The box around all of it."""
        return box_of([*self.words, self.tick] if self.tick else self.words)


def rows(words: list[Word], ticks: list[Tick], marks: Marks) -> list[list[Cell]]:
    """The rows of one part of a page, top to bottom; the cells of each from left to right."""
    lines = lines_of(words)
    # Of its words: a scribble is higher than the text beside it, and its middle decides its row.
    boxes = [box_of([word for word in words if word.line is line]) for line in lines]
    result = []
    for group in in_rows(np.array(boxes)):
        members = {id(lines[index]) for index in group}
        extent = around([boxes[index] for index in group])
        own = [word for word in words if id(word.line) in members]
        marked = [tick for tick in ticks if extent.y0 <= tick.box.middle <= extent.y1]
        ticks = [tick for tick in ticks if tick not in marked]
        cells = _cells([*own, *marked], marks)
        cells = [piece for cell in cells for piece in _parted(cell, marks.unit)]
        for cell in cells:
            cell.rule = cell.rule or _rule_after(cell, cells, marks)
        if cells := [cell for cell in cells if cell.words]:
            result.append(cells)
    return result


def _cells(elements: list[Word | Tick], marks: Marks) -> list[Cell]:
    cells: list[Cell] = []
    end = -np.inf
    last: TextLine | None = None
    for element in sorted(elements, key=lambda element: element.box.x0):
        if isinstance(element, Tick):
            cells.append(Cell(tick=element))
            end, last = element.box.x1, None
            continue
        gap = (element.box.x0 - end) / marks.unit
        gap = 0.0 if last is element.line and gap < 2 else gap
        if not cells or not _goes_on(cells[-1], element, gap, marks):
            cells.append(Cell(label=[element]))
        end, last = max(end, element.box.x1), element.line
    return cells


def _goes_on(cell: Cell, word: Word, gap: float, marks: Marks) -> bool:
    """Add the word to the cell, if it belongs there."""
    rule = _rule_under(word, marks)
    if rule is not None and cell.label and rule.x0 < cell.label[-1].box.centre:
        # A rule under the label, too, stresses the words or ends the row.
        rule = None
    is_near = gap < 1.8
    if not cell.label:
        cell.label.append(word)
    elif rule is not None and gap < 30 and (is_near or not cell.value or rule is cell.rule):
        cell.value += [*cell.tail, word]
        cell.tail, cell.rule = [], rule
    elif cell.rule is not None and cell.value and is_near:
        cell.tail.append(word)
    elif (is_near and cell.value) or (cell.has_colon and not cell.value):
        cell.value.append(word)
    elif is_near or (cell.tick and len(cell.label) == 1 and gap < 2.5):
        cell.label.append(word)
    else:
        return False
    return True


def _rule_under(word: Word, marks: Marks) -> Rect | None:
    """The line that the word is written on."""
    unit, box = marks.unit, word.box
    for rule in marks.rules:
        near = box.middle < rule.middle <= box.y1 + 0.6 * unit
        if near and rule.x0 - unit <= box.centre <= rule.x1 + 0.5 * unit:
            return None if _is_border(rule, marks) else rule
    return None


def _is_border(rule: Rect, marks: Marks) -> bool:
    return any(
        min(abs(rule.middle - cell.y0), abs(rule.middle - cell.y1)) < 0.6 * marks.unit
        and rule.x0 < cell.centre < rule.x1
        for grid in marks.grids
        for cell in grid.cells
    )


def _rule_after(cell: Cell, cells: list[Cell], marks: Marks) -> Rect | None:
    """The empty line, or the line under a scribble, right of a label."""
    if not cell.label or cell.value:
        return None
    box, unit = box_of(cell.label), marks.unit
    end = min((other.box.x0 for other in cells if other.box.x0 > box.x1), default=np.inf)
    for rule in marks.rules:
        near = box.middle < rule.middle < box.y1 + unit and -unit < rule.x0 - box.x1 < 12 * unit
        if near and rule.width > 3 * unit and rule.x0 < end and not _is_border(rule, marks):
            return rule
    return None


def _parted(cell: Cell, unit: float) -> Iterator[Cell]:
    """The cell, cut where a further label with a colon begins within its value."""
    for index, word in enumerate(cell.value):
        if index and word.text.endswith(":") and word.text[:1].isalpha():
            # The label begins behind the widest gap; where all are alike it is one word.
            gaps = [cell.value[n].box.x0 - cell.value[n - 1].box.x1 for n in range(1, index + 1)]
            start = int(np.argmax(gaps)) + 1 if max(gaps) > 1.2 * unit else index
            rest = cell.value[index + 1 :]
            yield Cell(cell.label, cell.value[:start], cell.tick, cell.rule)
            follower = Cell(cell.value[start : index + 1], rest, None, None, cell.tail)
            yield from _parted(follower, unit)
            return
    yield cell


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
    for group in in_rows(np.array(single), overlap=0.8):
        if len(group) > 1:
            boxes = [single[index] for index in group]
            value = " -> ".join(filter(None, _read(boxes, words)))
            drawings.append(FormField("Drawing", value, around(boxes), "visual", "diagram"))
    return drawings
