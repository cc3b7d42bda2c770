"""Rows of options: boxes to tick, circles to fill, words to ring."""

from __future__ import annotations

from formlab_baselines.form_rows import Cell, CellRow
from formlab_baselines.form_tree import FormField, confidence
from formlab_baselines.page_spec import Marks, around
from formlab_baselines.page_text import joined


class Choices:
    """Makes fields of rows with options; remembers the last, which further rows may continue."""

    def __init__(self, marks: Marks, least_ink: float) -> None:
        self.marks, self.least_ink = marks, least_ink
        # The field, its options' left edges, and how far down it goes.
        self.last: tuple[FormField, list[float], float] | None = None
        self.columns: list[list[float]] = []

    def learn(self, rows: list[CellRow]) -> None:
        """Note where the options of ringed rows stand: a row below without a ring is one, too."""
        self.columns += [
            [cell.box.centre for cell in row.cells[1:]]
            for row in rows
            if len(row.cells) > 2 and any(map(self.is_ringed, row.cells))
        ]

    def is_ringed(self, cell: Cell) -> bool:
        """Whether a ring is drawn around the cell's text."""
        return bool(cell.label) and any(ring.holds(cell.box) for ring in self.marks.rings)

    def read(self, row: CellRow, names: list[Cell]) -> list[FormField] | None:
        """The fields of the row, without any if it goes on with the last; None without options."""
        if row.options:
            return self._ticked(row, names)
        self.last = None
        if len(row.cells) > 2 and self._is_choice(row):
            name, *options = row.cells
            chosen = [joined(cell.words) for cell in options if self.is_ringed(cell)]
            box = around([cell.box for cell in options])
            return [FormField(name.text, "; ".join(chosen), box, "marking", "circle", "choice")]
        return None

    def _is_choice(self, row: CellRow) -> bool:
        if any(map(self.is_ringed, row.cells)):
            return True
        if not all(cell.is_plain for cell in row.cells):
            return False
        centres = [cell.box.centre for cell in row.cells[1:]]
        reach = 2 * self.marks.unit
        return any(
            len(known) == len(centres)
            and all(abs(a - b) < reach for a, b in zip(known, centres, strict=True))
            for known in self.columns
        )

    def _ticked(self, row: CellRow, names: list[Cell]) -> list[FormField] | None:
        options = [cell for cell in row.options if cell.label]
        if not options:
            return None
        first = row.cells.index(row.options[0])
        question = row.cells[first - 1] if first else None
        others = [self._other(cell) for cell in row.cells[: max(first - 1, 0)] if not cell.is_plain]
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
            self.last = None if len(options) < 2 else self.last
            return [*others, *map(self._single, options)]
        is_round = any(cell.tick.is_round for cell in options)
        made = FormField(
            question.text, "", options[0].box, "marking", "checkbox",
            "radio" if is_round else "checkbox", confidence(question.words),
        )  # fmt: skip
        self.last = (made, [], row.box.y1)
        self._extend(options)
        return [*others, made]

    def _other(self, cell: Cell) -> FormField:
        return FormField(cell.text, joined(cell.value), cell.box, confidence=confidence(cell.words))

    def _goes_on(self, options: list[Cell]) -> bool:
        """Whether the options stand below those of the last field; then they are added to it."""
        if self.last is None:
            return False
        _, lefts, end = self.last
        near = options[0].box.y0 - end < 1.5 * self.marks.unit
        reach = self.marks.unit
        if not near or not all(
            any(abs(cell.tick.box.x0 - left) < reach for left in lefts) for cell in options
        ):
            self.last = None
            return False
        self._extend(options)
        return True

    def _extend(self, options: list[Cell]) -> None:
        made, lefts, _ = self.last
        chosen = [joined(cell.words) for cell in options if self._is_ticked(cell)]
        made.value = "; ".join(filter(None, [made.value, *chosen]))
        made.box = around([made.box, *(cell.box for cell in options)])
        lefts += [cell.tick.box.x0 for cell in options]
        self.last = (made, lefts, max(cell.box.y1 for cell in options))

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
        return cell.tick is not None and cell.tick.ink >= self.least_ink
