"""Tables: with a question for each column, or as one field of the form."""

from typing import NamedTuple

from pydantic import Field

from formlab_experiments.forms.blocks import Align, Block, Rows
from formlab_experiments.forms.paper import Pen
from formlab_experiments.forms.sheet import Sheet


class Column(NamedTuple):
    """A column of a table; `share` is of the table's width."""

    title: str
    share: float
    align: Align = "left"


class Table(Block):
    """Columns are questions, cells their answers; an empty cell is no entity.

    With a `label` the head is tinted and the table is a field as well: its value has a line a
    row, cells between bars, the head first.
    """

    columns: tuple[Column, ...] = Field(alias="table")
    rows: Rows
    label: str = ""
    pen: str = "fill"
    blank_rows: int = 0
    ruled: bool = True

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        edges = [x]
        for column in self.columns:
            edges.append(edges[-1] + column.share * width)
        head = sheet.pen("print", 0.95 if self.label else 0.92)
        asked, bottom = self._draw_head(sheet, edges, y, head)
        if self.label:
            sheet.paper.fill((x, y, edges[-1], bottom), shade=228)
        pen = head if self.label and self.pen == "print" else sheet.pen(self.pen)
        lines = [y, bottom]
        for row in (*self.rows, *[()] * self.blank_rows):
            lines.append(self._draw_row(sheet, edges, asked, row, lines[-1], pen))
        bottom = lines[-1]
        for line in lines if self.ruled else (*lines[:2], bottom):
            sheet.paper.rule(x, line, edges[-1], line)
        for edge in edges if self.ruled else ():
            sheet.paper.rule(edge, y, edge, bottom)
        if not self.label:
            return bottom + 6
        titles = tuple(column.title for column in self.columns)
        value = "\n".join(" | ".join(row) for row in (titles, *self.rows))
        sheet.field(self.label, value, "Marking", "Table/Grid", (x, y, edges[-1], bottom))
        return bottom + 7

    def _draw_head(
        self, sheet: Sheet, edges: list[float], y: float, pen: Pen
    ) -> tuple[list[int], float]:
        """The titles: their questions, and the y below them."""
        inset, align = (4, "left") if self.label else (3, "centre")
        asked, bottom = [], y
        for left, right, column in zip(edges, edges[1:], self.columns, strict=False):
            look = {"width": right - left - 6, "align": align}
            printed = sheet.paper.text(column.title, left + inset, y + 3, pen, **look)
            asked.append(sheet.ask(printed.words))
            bottom = max(bottom, printed.bottom + 2)
        return asked, bottom

    def _draw_row(
        self, sheet: Sheet, edges: list[float], asked: list[int], row: tuple[str, ...], y: float,
        pen: Pen,
    ) -> float:  # fmt: skip
        """The cells of a row, from y; the y below them."""
        bottom, slack = y + pen.size * pen.leading + 4, 8 if self.label else 10
        columns = zip(edges, edges[1:], self.columns, asked, row, strict=False)
        for left, right, column, question, cell in columns:
            if cell:
                look = {"width": right - left - slack, "align": column.align}
                printed = sheet.paper.text(cell, left + 5, y + 3, pen, **look)
                sheet.answer(question, printed.words)
                bottom = max(bottom, printed.bottom + 2)
        return bottom
