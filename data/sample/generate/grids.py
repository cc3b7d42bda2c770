"""Blocks of many small answers: boxes to tick, scales to ring a figure on, tables."""

from __future__ import annotations

from dataclasses import dataclass

from data.sample.generate import hand
from data.sample.generate.sheet import Sheet


@dataclass(frozen=True)
class Checks:
    """Boxes to tick: the options are questions, and a cross in a box answers its option."""

    title: str
    options: tuple[str, ...]
    ticked: tuple[str, ...] = ()
    columns: int = 3
    at: float | None = None

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper, pen = sheet.paper, sheet.pen("print")
        title = paper.text(self.title, x, y, pen, width=self.at or width)
        group = sheet.note("header", title.words, of=None)
        left, top = (x + self.at, y) if self.at else (x + 14, title.bottom + 2)
        share, side = (x + width - left) / self.columns, pen.size * 0.95
        step, bottom = pen.size * 1.75, title.bottom
        for place, option in enumerate(self.options):
            ox, oy = left + place % self.columns * share, top + place // self.columns * step
            paper.frame((ox, oy + 1, ox + side, oy + 1 + side))
            printed = paper.text(option, ox + side + 5, oy, pen, width=share - side - 8)
            question = sheet.note("question", printed.words, of=group)
            if option in self.ticked:
                mark = hand.cross(paper, ox + side / 2, oy + 1 + side / 2, side * 0.95)
                sheet.note("answer", (mark,), of=question)
            bottom = max(bottom, printed.bottom + pen.size * 0.4)
        return bottom + 4


@dataclass(frozen=True)
class Ratings:
    """Statements with a scale beside each, one figure ringed."""

    statements: tuple[tuple[str, int], ...]
    top: int = 5

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper, pen = sheet.paper, sheet.pen("print")
        for statement, chosen in self.statements:
            scale = x + width - 34 * self.top
            printed = paper.text(statement, x, y, pen, width=scale - x - 12)
            question = sheet.ask(printed.words)
            for figure in range(1, self.top + 1):
                one = paper.text(str(figure), scale + 34 * (figure - 1) + 10, y, pen)
                if figure == chosen:
                    hand.ring(paper, one.words[0].box)
                    sheet.note("answer", one.words, of=question)
                else:
                    sheet.note("other", one.words)
            y = printed.bottom + 7
        return y


@dataclass(frozen=True)
class Table:
    """Columns are questions, cells their answers; an empty cell is no entity.

    `columns` are (title, share of the width, alignment).
    """

    columns: tuple[tuple[str, float, str], ...]
    rows: tuple[tuple[str, ...], ...]
    pen: str = "fill"
    blank_rows: int = 0
    ruled: bool = True

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper = sheet.paper
        edges = [x]
        for _, share, _ in self.columns:
            edges.append(edges[-1] + share * width)
        spans = list(zip(edges, edges[1:], self.columns, strict=False))
        head, top, bottom = sheet.pen("print", 0.92), y, y
        asked = []
        for left, right, (title, _, _) in spans:
            room = right - left - 6
            printed = paper.text(title, left + 3, y + 3, head, width=room, align="centre")
            asked.append(sheet.ask(printed.words))
            bottom = max(bottom, printed.bottom + 2)
        lines = [y, bottom]
        pen = sheet.pen(self.pen)
        for row in (*self.rows, *[()] * self.blank_rows):
            y, bottom = bottom, bottom + pen.size * pen.leading + 4
            for (left, right, column), question, text in zip(spans, asked, row, strict=False):
                if text:
                    room = right - left - 10
                    printed = paper.text(text, left + 5, y + 3, pen, width=room, align=column[2])
                    sheet.note("answer", printed.words, of=question)
                    bottom = max(bottom, printed.bottom + 2)
            lines.append(bottom)
        for line in lines if self.ruled else (lines[0], lines[1], lines[-1]):
            paper.rule(x, line, edges[-1], line)
        for edge in edges if self.ruled else ():
            paper.rule(edge, top, edge, bottom)
        return bottom + 6
