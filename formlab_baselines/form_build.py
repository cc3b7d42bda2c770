"""Builds the groups and fields of a page from its rows and blocks, in the order of the page."""

from __future__ import annotations

from typing import Any

import numpy as np

from formlab_baselines.form_parts import (
    Cell,
    FormField,
    FormGroup,
    Typography,
    blocks,
    confidence,
    outside,
    rows,
)
from formlab_baselines.page_marks import Marks, Rect, share
from formlab_baselines.page_text import Word, box_of, joined


class Choices:
    """Makes fields of rows with options; remembers the last, which further rows may continue."""

    def __init__(self, marks: Marks, least_ink: float) -> None:
        self.marks, self.least_ink = marks, least_ink
        # The field, its options' left edges, and how far down it goes.
        self.last: tuple[FormField, list[float], float] | None = None
        self.columns: list[list[float]] = []

    def learn(self, rows: list[list[Cell]]) -> None:
        """Note where the options of ringed rows stand: a row below without a ring is one, too."""
        self.columns += [
            [cell.box.centre for cell in row[1:]]
            for row in rows
            if len(row) > 2 and any(map(self.is_ringed, row))
        ]

    def is_ringed(self, cell: Cell) -> bool:
        """Whether a ring is drawn around the cell's text."""
        return bool(cell.label) and any(ring.holds(cell.box) for ring in self.marks.rings)

    def read(self, row: list[Cell], names: list[Cell]) -> list[FormField] | None:
        """The fields of the row, without any if it goes on with the last; None without options."""
        first = next((place for place, cell in enumerate(row) if cell.tick), None)
        if first is not None:
            return self._ticked(row, first, names)
        self.last = None
        if len(row) > 2 and self._is_choice(row):
            name, *options = row
            chosen = [joined(cell.words) for cell in options if self.is_ringed(cell)]
            value = "; ".join(chosen)
            return [FormField(name.text, value, box_of(options), "marking", "circle", "choice")]
        return None

    def _is_choice(self, row: list[Cell]) -> bool:
        centres, reach = [cell.box.centre for cell in row[1:]], 2 * self.marks.unit
        is_column = any(
            len(column) == len(centres) and np.allclose(column, centres, rtol=0, atol=reach)
            for column in self.columns
        )
        return any(map(self.is_ringed, row)) or (is_column and all(c.is_plain for c in row))

    def _ticked(self, row: list[Cell], first: int, names: list[Cell]) -> list[FormField] | None:
        options = [cell for cell in row if cell.tick and cell.label]
        if not options:
            return None
        question = row[first - 1] if first else None
        before = [cell for cell in row[: max(first - 1, 0)] if not cell.is_plain]
        others = [
            FormField(cell.text, joined(cell.value), cell.box, confidence=confidence(cell.words))
            for cell in before
        ]
        if question is None:
            if self._goes_on(options):
                return []
            box, unit = options[0].box, self.marks.unit
            above = [name for name in names if -0.5 < (box.y0 - name.box.y1) / unit < 1.8]
            near = [name for name in above if name.box.x0 <= box.x0 + unit]
            question = near[-1] if near else None
        if question is None:
            return [self._single(cell) for cell in options]
        kind = "radio" if any(cell.tick.is_round for cell in options) else "checkbox"
        score = confidence(question.words)
        field = FormField(question.text, "", options[0].box, "marking", "checkbox", kind, score)
        self.last = (field, [], -np.inf)
        self._extend(options)
        return [*others, field]

    def _goes_on(self, options: list[Cell]) -> bool:
        """Whether the options stand below those of the last field; then they are added to it."""
        if self.last is None:
            return False
        (_, lefts, end), unit = self.last, self.marks.unit
        off = [min(abs(cell.tick.box.x0 - left) for left in lefts) for cell in options]
        if options[0].box.y0 - end < 1.5 * unit and max(off) < unit:
            self._extend(options)
            return True
        self.last = None
        return False

    def _extend(self, options: list[Cell]) -> None:
        field, lefts, _ = self.last
        chosen = [joined(cell.words) for cell in options if self._is_ticked(cell)]
        field.value = "; ".join(filter(None, [field.value, *chosen]))
        field.box = box_of([field, *options])
        lefts += [cell.tick.box.x0 for cell in options]
        self.last = (field, lefts, max(cell.box.y1 for cell in options))

    def _single(self, cell: Cell) -> FormField:
        """A box of its own; with something written behind it, box and text are one field."""
        ticked, score = self._is_ticked(cell), confidence(cell.words)
        if cell.value or cell.rule:
            parts = [f"[{'x' if ticked else ' '}] {joined(cell.label)}", joined(cell.value)]
            value = "; ".join(filter(None, parts))
            return FormField(cell.text, value, cell.box, "cross", "cross", confidence=score)
        state = "checked" if ticked else "unchecked"
        return FormField(cell.text, state, cell.box, "marking", "checkbox", "checkbox", score)

    def _is_ticked(self, cell: Cell) -> bool:
        return cell.tick.ink >= self.least_ink


# Rows whose gap is larger, in heights of letters, do not belong to the group above.
_GAP = 2.2


def build(words: list[Word], marks: Marks, settings: dict[str, Any]) -> FormGroup:
    """The form on one page, as the group that holds all others."""
    page_blocks, frames, rest = blocks(words, marks)
    builder = _Builder(marks, Typography.of(words), settings)
    elements: list[tuple[tuple[float, ...], list[Cell] | FormField, Rect | None]] = []
    ticks = outside(page_blocks, marks.ticks)
    for frame in [*sorted(frames, key=lambda box: box.width * box.height), None]:
        inner = [word for word in rest if frame is None or frame.holds(word.box)]
        rest = [word for word in rest if word not in inner]
        boxes = [tick for tick in ticks if frame is None or frame.holds(tick.box)]
        ticks = [tick for tick in ticks if tick not in boxes]
        inside = rows(inner, boxes, marks)
        builder.choices.learn(inside)
        elements += [(_order(box_of(row), frame, marks.unit), row, frame) for row in inside]
    for block in page_blocks:
        around_it = [frame for frame in frames if frame.holds(block.box)]
        frame = min(around_it, key=lambda frame: frame.height, default=None)
        elements.append((_order(block.box, frame, marks.unit), block, frame))
    for _, element, frame in sorted(elements, key=lambda element: element[0]):
        builder.add(element, frame)
    return builder.root


def _order(box: Rect, frame: Rect | None, unit: float) -> tuple[float, ...]:
    if frame is None:
        return (box.y0,)
    # Frames side by side are read one after the other.
    return (round(frame.y0 / (2 * unit)) * 2 * unit, frame.x0, box.y0)


class _Builder:
    """Puts rows and blocks into groups."""

    def __init__(self, marks: Marks, typography: Typography, settings: dict[str, Any]) -> None:
        self.marks, self.typography, self.settings = marks, typography, settings
        self.root = FormGroup()
        self.open = [self.root]
        self.choices = Choices(marks, settings["tick_ink"])
        self.titled = False
        # Text that may name what stands right below it, and a field whose value may follow.
        self.names: list[Cell] = []
        self.waiting: FormField | None = None
        self.end = -np.inf

    def add(self, element: list[Cell] | FormField, frame: Rect | None) -> None:
        """Add what comes next on the page."""
        box = element.box if isinstance(element, FormField) else box_of(element)
        while self.open[-1].frame is not None and self.open[-1].frame != frame:
            self.open.pop()
        is_far = frame is None and box.y0 - self.end > _GAP * self.marks.unit
        self.end = max(self.end, (frame or box).y1)
        is_block = isinstance(element, FormField)
        if not is_block and self._add_heading(element, frame):
            return
        # A heading may stand far from what it is about: only a group with fields ends.
        if is_far and not self.open[-1].is_empty:
            self.open = [self.root]
        if is_block:
            self._add_block(element)
        else:
            self._add_row(element)

    def _name(self, box: Rect) -> Cell | None:
        """The text right above that names what is in the box; it names nothing else."""
        reach = 3 * self.marks.unit
        above = [name for name in self.names if -reach / 2 < box.y0 - name.box.y1 < reach]
        near = [name for name in above if box.x0 - reach < name.box.x1 and name.box.x0 < box.x1]
        best = min(near, key=lambda name: abs(name.box.x0 - box.x0), default=None)
        if best:
            self.names.remove(best)
        return best

    def _add_heading(self, row: list[Cell], frame: Rect | None) -> bool:
        cell = row[0]
        if len(row) > 1 or self.choices.is_ringed(cell):
            return False
        if not self.typography.is_heading(cell, self.settings["bold"]):
            return False
        line = cell.label[0].line
        self.waiting, self.names, self.choices.last = None, [], None
        if not self.titled and len(self.open) == 1 and not self.root.groups:
            self.titled = True
            if line.size > 1.15 * self.typography.size and not self.root.fields:
                # The title is the form itself.
                return True
        group = FormGroup(cell.text, cell.box, line.size, line.shaded, frame)
        if self._goes_on(group):
            return True
        while len(self.open) > 1 and not self.open[-1].holds(group):
            self.open.pop()
        group.follows = len(self.open) > 1 and self.open[-1].is_empty
        self.open[-1].groups.append(group)
        self.open.append(group)
        return True

    def _goes_on(self, more: FormGroup) -> bool:
        """Whether the heading is the next line of the last one, centred below it."""
        last, unit = self.open[-1], self.marks.unit
        if last.box is None or not last.is_empty:
            return False
        near = more.box.y0 - last.box.y1 < 0.8 * unit
        centred = abs(more.box.centre - last.box.centre) < unit < abs(more.box.x0 - last.box.x0)
        if near and centred:
            last.label, last.box = f"{last.label} {more.label}", box_of([last, more])
        return near and centred

    def _add_block(self, block: FormField) -> None:
        self.waiting, self.choices.last = None, None
        name = self._name(block.box)
        block.label = name.text if name else block.label
        if block.cells and self.settings["tables"] == "rows":
            self.open[-1].groups.append(_as_group(block))
        else:
            self.open[-1].fields.append(block)

    def _add_row(self, row: list[Cell]) -> None:
        top = box_of(row).y0
        self.names = [name for name in self.names if top - name.box.y1 < self.marks.unit]
        fields = self.choices.read(row, self.names)
        if fields is not None:
            self.waiting, self.names = None, []
            self.open[-1].fields += fields
            return
        if self._follows(row):
            return
        self.waiting = None
        if len(row) == 2 and all(cell.is_plain for cell in row):
            name, value = row
            if any(map(str.isalpha, name.text)) and any(map(str.isdecimal, value.text)):
                row = [Cell(name.label, value.label)]
        self.names = [cell for cell in row if cell.is_plain]
        for cell in row:
            if not cell.is_plain and cell.text:
                field = self._field(cell)
                self.open[-1].fields.append(field)
                if len(row) == 1 and not field.value and cell.rule is None:
                    self.waiting = field

    def _follows(self, row: list[Cell]) -> bool:
        """Whether the row is the value, or more of it, of a field or label above it."""
        cell, field = row[0], self.waiting
        if field is None or len(row) > 1 or not cell.is_plain:
            return False
        near = cell.box.y0 - field.box.y1 < 2 * self.marks.unit and cell.box.x1 > field.box.x0
        if near:
            field.value = f"{field.value} {joined(cell.label)}".strip()
            field.box, field.confidence = box_of([field, cell]), confidence(cell.words)
        return near

    def _field(self, cell: Cell) -> FormField:
        """The field of a label with its value, its empty line, or what was scribbled on it."""
        box = box_of(cell.value) if cell.value else cell.rule or cell.box
        label = box_of(cell.label)
        score = confidence(cell.words)
        if cell.tail:
            text = joined(cell.words)
            return FormField(cell.text, text, cell.box, subtype="mixed", confidence=score)
        unread = not cell.value and cell.rule is not None and self._is_written_on(cell.rule)
        if unread or self.typography.is_scribble(cell.value):
            drawn = cell.rule._replace(y0=label.y0 - self.marks.unit) if cell.rule else box
            return FormField(cell.text, self.settings["signature"], drawn, "visual", "hand-drawn")
        value = joined(cell.value)
        if any(label.y0 < s.middle < label.y1 and s.x0 >= label.x1 for s in self.marks.struck):
            return FormField(cell.text, value, box, "marking", "annotation", confidence=score)
        subtype = "handwritten" if cell.rule else "machine-printed"
        return FormField(cell.text, value, box, subtype=subtype, confidence=score)

    def _is_written_on(self, rule: Rect) -> bool:
        above = Rect(rule.x0, rule.y0 - 2 * self.marks.unit, rule.x1, rule.y0 - 2)
        return share(self.marks.ink, above) > 0.05


def _as_group(block: FormField) -> FormGroup:
    """A table as a group of its rows, each with a field per column that has a head."""
    head, *body = block.cells
    table = FormGroup(block.label, block.box)
    for first, *others in body:
        cells = zip(head[1:], others, strict=True)
        fields = [FormField(*cell, block.box, "marking", "table-grid") for cell in cells]
        table.groups.append(FormGroup(first, block.box, fields=fields))
    return table
