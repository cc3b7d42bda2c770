"""Blocks of text and marks: written answers, boxes, rings, tables, corrections."""

from __future__ import annotations

from dataclasses import dataclass

from data.sample.generate import hand
from data.sample.generate.formcraft import marks
from data.sample.generate.formcraft.sheet import FormSheet
from data.sample.generate.paper import Box, Printed, around
from data.sample.generate.sheet import Block

GAP = 8.0


def _boxes(printed: Printed) -> list[Box]:
    return [word.box for word in printed.words]


@dataclass(frozen=True)
class Section:
    """A group: its heading, and blocks one below the other; `bar` for a tinted heading."""

    label: str
    blocks: tuple[Block, ...]
    bar: bool = False
    size: float = 1.1
    gap: float = 5.0
    framed: bool = False
    quiet: bool = False

    def draw(self, sheet: FormSheet, x: float, y: float, width: float) -> float:
        paper, pen = sheet.paper, sheet.pen("head", self.size)
        sheet.enter(self.label)
        top, inset = y, 8 if self.framed else 0
        if not self.quiet:
            if self.bar:
                paper.fill((x, y, x + width, y + pen.size * 1.5), shade=222)
            printed = paper.text(self.label, x + inset + 4 * self.bar, y + 2, pen, width=width)
            y = printed.bottom + 4
        for block in self.blocks:
            y = block.draw(sheet, x + inset, y, width - 2 * inset) + self.gap
        if self.framed:
            paper.frame((x, top, x + width, y))
            y += 6
        sheet.leave()
        return y


@dataclass(frozen=True)
class Text:
    """A printed label and what was written after it, by hand unless `pen` says `print`.

    `old` is a value crossed out before: the field is then an annotation, its value the new one.
    The value "" leaves the line empty.
    """

    label: str
    value: str = ""
    kind: str | None = None
    pen: str = "fill"
    at: float | None = None
    old: str | None = None
    lines: int = 1

    def draw(self, sheet: FormSheet, x: float, y: float, width: float) -> float:
        paper, ask = sheet.paper, sheet.pen("print")
        pen = ask if self.pen == "print" else sheet.pen(self.pen)
        asked = paper.text(self.label, x, y, ask, width=self.at or width)
        left = x + self.at if self.at else max(b[2] for b in _boxes(asked)) + GAP
        room, top = x + width - left, y + ask.size - pen.size
        step = pen.size * pen.leading
        at, boxes = left + 3, []
        if self.old is not None:
            wrong = paper.text(self.old, at, top, pen)
            hand.strike(paper, around(_boxes(wrong)))
            boxes += _boxes(wrong)
            at = max(box[2] for box in boxes) + 2 * GAP
        bottom = top + step * self.lines
        if self.value:
            printed = paper.text(self.value, at, top, pen, width=x + width - at)
            boxes += _boxes(printed)
            bottom = max(bottom, printed.bottom)
        lines = max(1, round((bottom - top) / step))
        for line in range(lines) if self.pen != "print" else ():
            under = top + pen.size * 1.22 + line * step
            paper.rule(left, under, left + room, under, width=0.7)
        box = around(boxes) if boxes else (left, y - 2, left + room, y + ask.size * 1.2)
        marked = self.old is not None
        subtype = "Machine-Printed" if self.pen == "print" else "Handwritten"
        sheet.field(
            self.label.rstrip(":"), self.value, "Marking" if marked else "Textual",
            "Annotations" if marked else subtype, box, self.kind,
        )  # fmt: skip
        return max(bottom, asked.bottom) + 2


@dataclass(frozen=True)
class Mixed:
    """A printed sentence with blanks filled in by hand; `parts` alternate, print first."""

    label: str
    parts: tuple[str, ...]

    def draw(self, sheet: FormSheet, x: float, y: float, width: float) -> float:
        paper, ask, pen = sheet.paper, sheet.pen("print"), sheet.pen("fill")
        at, boxes, bottom = x, [], y
        for place, part in enumerate(self.parts):
            mine = pen if place % 2 else ask
            if at + paper.length(part, mine) > x + width and at > x:
                at, y = x, y + max(ask.size, pen.size) * 1.7
            top = y + ask.size - mine.size
            printed = paper.text(part, at, top, mine)
            boxes += _boxes(printed)
            end = max(box[2] for box in _boxes(printed))
            if place % 2:
                paper.rule(at - 4, y + ask.size * 1.25, end + 6, y + ask.size * 1.25, width=0.7)
            at, bottom = end + GAP, max(bottom, printed.bottom)
        sheet.field(self.label, " ".join(self.parts), "Textual", "Mixed", around(boxes))
        return bottom + 3


@dataclass(frozen=True)
class Ticks:
    """One field of several boxes (or radio buttons); its value lists those marked."""

    label: str
    options: tuple[str, ...]
    ticked: tuple[str, ...] = ()
    radio: bool = False
    columns: int = 4
    at: float | None = None

    def draw(self, sheet: FormSheet, x: float, y: float, width: float) -> float:
        paper, pen = sheet.paper, sheet.pen("print")
        asked = paper.text(self.label, x, y, pen, width=self.at or width)
        left, top = (x + self.at, y) if self.at else (x + 12, asked.bottom + 1)
        share, side = (x + width - left) / self.columns, pen.size * 0.92
        boxes, bottom = [], asked.bottom
        for place, option in enumerate(self.options):
            ox = left + place % self.columns * share
            oy = top + place // self.columns * pen.size * 1.7
            _box_to_tick(sheet, ox, oy, side, on=option in self.ticked, radio=self.radio)
            printed = paper.text(option, ox + side + 5, oy, pen, width=share - side - 7)
            boxes += [(ox, oy, ox + side, oy + side), *_boxes(printed)]
            bottom = max(bottom, printed.bottom)
        subtype = "Radio Buttons" if self.radio else "Checkbox"
        sheet.field(
            self.label.rstrip(":?"), "; ".join(self.ticked), "Marking", subtype, around(boxes),
            "radio" if self.radio else "checkbox",
        )  # fmt: skip
        return bottom + 4


@dataclass(frozen=True)
class Tick:
    """A single box before its statement: checked or unchecked."""

    label: str
    on: bool

    def draw(self, sheet: FormSheet, x: float, y: float, width: float) -> float:
        paper, pen = sheet.paper, sheet.pen("print")
        side = pen.size * 0.92
        _box_to_tick(sheet, x, y, side, on=self.on)
        printed = paper.text(self.label, x + side + 6, y, pen, width=width - side - 6)
        box = around([(x, y, x + side, y + side), *_boxes(printed)])
        value = "checked" if self.on else "unchecked"
        sheet.field(self.label, value, "Marking", "Checkbox", box, "checkbox")
        return printed.bottom + 3


@dataclass(frozen=True)
class Cross:
    """A box with printed words and a handwritten addition: right only as a whole."""

    label: str
    printed: str
    written: str
    on: bool = True

    def draw(self, sheet: FormSheet, x: float, y: float, width: float) -> float:
        paper, ask, pen = sheet.paper, sheet.pen("print"), sheet.pen("fill")
        side = ask.size * 0.92
        _box_to_tick(sheet, x, y, side, on=self.on)
        printed = paper.text(self.printed, x + side + 6, y, ask)
        boxes = [(x, y, x + side, y + side), *_boxes(printed)]
        left = max(box[2] for box in boxes) + GAP
        bottom = printed.bottom
        if self.written:
            note = paper.text(self.written, left + 3, y + ask.size - pen.size, pen, width=width)
            boxes += _boxes(note)
            bottom = max(bottom, note.bottom)
        paper.rule(left, y + ask.size * 1.3, x + width, y + ask.size * 1.3, width=0.7)
        parts = [f"[{'x' if self.on else ' '}] {self.printed}", *filter(None, [self.written])]
        sheet.field(self.label, "; ".join(parts), "Cross", "Textual + Marking", around(boxes))
        return bottom + 3


def _box_to_tick(
    sheet: FormSheet, x: float, y: float, side: float, *, on: bool, radio: bool = False
) -> None:
    paper = sheet.paper
    if radio:
        marks.circle(paper, x + side / 2, y + 1 + side / 2, side / 2)
    else:
        paper.frame((x, y + 1, x + side, y + 1 + side))
    if not on:
        return
    if radio:
        marks.dot(paper, x + side / 2, y + 1 + side / 2, side * 0.26)
    elif paper.random.random() < 0.5:
        hand.cross(paper, x + side / 2, y + 1 + side / 2, side * 0.95)
    else:
        marks.tick(paper, x + side / 2, y + 1 + side / 2, side * 1.1)


@dataclass(frozen=True)
class Rings:
    """Printed options of which some are ringed by hand."""

    label: str
    options: tuple[str, ...]
    ringed: tuple[str, ...] = ()
    at: float = 190.0
    step: float | None = None

    def draw(self, sheet: FormSheet, x: float, y: float, width: float) -> float:
        paper, pen = sheet.paper, sheet.pen("print")
        asked = paper.text(self.label, x, y, pen, width=self.at - 8)
        step = self.step or (width - self.at) / len(self.options)
        boxes = []
        for place, option in enumerate(self.options):
            printed = paper.text(option, x + self.at + place * step + 6, y, pen)
            box = around(_boxes(printed))
            boxes.append(hand.ring(paper, box) if option in self.ringed else box)
        value = "; ".join(self.ringed)
        sheet.field(self.label.rstrip(":?"), value, "Marking", "Circle", around(boxes), "choice")
        return max(asked.bottom, max(box[3] for box in boxes)) + 5


@dataclass(frozen=True)
class Grid:
    """A table, one field; its value has a line a row, cells between bars, the head first."""

    label: str
    columns: tuple[tuple[str, float], ...]
    rows: tuple[tuple[str, ...], ...]
    pen: str = "fill"
    blank: int = 0

    def draw(self, sheet: FormSheet, x: float, y: float, width: float) -> float:
        paper, head = sheet.paper, sheet.pen("print", 0.95)
        pen = head if self.pen == "print" else sheet.pen(self.pen)
        edges = [x]
        for _, share in self.columns:
            edges.append(edges[-1] + share * width)
        top, bottom = y, y
        for left, right, (title, _) in zip(edges, edges[1:], self.columns, strict=False):
            printed = paper.text(title, left + 4, y + 3, head, width=right - left - 6)
            bottom = max(bottom, printed.bottom + 2)
        paper.fill((x, top, edges[-1], bottom), shade=228)
        lines = [y, bottom]
        for row in (*self.rows, *[()] * self.blank):
            y, bottom = bottom, bottom + pen.size * pen.leading + 4
            for left, right, cell in zip(edges, edges[1:], row, strict=False):
                if cell:
                    printed = paper.text(cell, left + 5, y + 3, pen, width=right - left - 8)
                    bottom = max(bottom, printed.bottom + 2)
            lines.append(bottom)
        for line in lines:
            paper.rule(x, line, edges[-1], line)
        for edge in edges:
            paper.rule(edge, top, edge, bottom)
        titles = tuple(title for title, _ in self.columns)
        value = "\n".join(" | ".join(row) for row in (titles, *self.rows))
        box = (x, top, edges[-1], bottom)
        sheet.field(self.label, value, "Marking", "Table/Grid", box)
        return bottom + 7
