"""Rows of options: boxes to tick, circles to fill, words to ring."""

from __future__ import annotations

import numpy as np

from formlab_baselines.form_rows import Cell
from formlab_baselines.form_tree import FormField, confidence
from formlab_baselines.page_spec import Marks
from formlab_baselines.page_text import box_of, joined


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
        others = [
            FormField(cell.text, joined(cell.value), cell.box, confidence=confidence(cell.words))
            for cell in row[: max(first - 1, 0)] if not cell.is_plain
        ]  # fmt: skip
        if question is None:
            if self._goes_on(options):
                return []
            near = [
                name for name in names
                if -0.5 < (options[0].box.y0 - name.box.y1) / self.marks.unit < 1.8
                and name.box.x0 <= options[0].box.x0 + self.marks.unit
            ]  # fmt: skip
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
