"""The parts a form is made of. Each draws itself on a sheet and says where it ends."""

from __future__ import annotations

from dataclasses import dataclass

from data.sample.generate import hand
from data.sample.generate.paper import Word, around
from data.sample.generate.sheet import Block, Sheet

GAP = 7.0


@dataclass(frozen=True)
class Heading:
    """A title; with `owns`, the header of every question up to the next heading."""

    text: str
    size: float = 1.6
    align: str = "centre"
    owns: bool = False
    pen: str = "head"
    bar: bool = False

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        pen = sheet.pen(self.pen, self.size)
        if self.bar:
            bottom = y + pen.size * 1.45
            sheet.paper.fill((x, y, x + width, bottom), shade=218)
            sheet.paper.frame((x, y, x + width, bottom))
            x, width = x + 5, width - 10
        printed = sheet.paper.text(self.text, x, y, pen, width=width, align=self.align)
        number = sheet.note("header", printed.words)
        sheet.owner = number if self.owns else None
        return printed.bottom + 4


@dataclass(frozen=True)
class Note:
    """Running text that is neither asked nor answered."""

    text: str
    size: float = 1.0
    align: str = "left"
    pen: str = "print"

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        pen = sheet.pen(self.pen, self.size)
        printed = sheet.paper.text(self.text, x, y, pen, width=width, align=self.align)
        sheet.note("other", printed.words)
        return printed.bottom + 3


@dataclass(frozen=True)
class Field:
    """A question and its answer.

    `place` puts the answer `right` of the question, `below` it, or below it in a ruled `cell`;
    `at` is where answers on the right start. A `blank` is the printed line to write on, `lines`
    of them at least. The answer None is no entity; the answer "" is an annotated one without
    text. `old` is a value that was written first and crossed out; `sign` asks for a signature.
    """

    question: str
    answer: str | None = None
    place: str = "right"
    at: float | None = None
    blank: bool = True
    lines: int = 1
    pen: str = "fill"
    old: str | None = None
    sign: bool = False

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper, ask = sheet.paper, sheet.pen("print", 0.8 if self.place == "cell" else 1)
        inset = 4 if self.place == "cell" else 0
        asked = paper.text(self.question, x + inset, y + inset / 2, ask, width=width - inset)
        question = sheet.ask(asked.words)
        left, top = x + inset, asked.bottom
        if self.place == "right":
            start = x + self.at if self.at else max(w.box[2] for w in asked.words) + GAP
            left, top = start, y
        room = x + width - left - inset
        bottom = max(self._answer(sheet, question, left, top, room), asked.bottom)
        if self.place == "cell":
            paper.frame((x, y, x + width, bottom + 3))
            return bottom + 3
        return bottom + 4

    def _answer(self, sheet: Sheet, question: int, x: float, y: float, width: float) -> float:
        paper, pen, ask = sheet.paper, sheet.pen(self.pen), sheet.pen("print")
        # Both stand on the same line, whatever their sizes.
        y += ask.size - pen.size if self.place == "right" else 0
        step = pen.size * pen.leading
        bottom = y + step * self.lines
        indent = 3.0
        if self.old is not None:
            wrong = paper.text(self.old, x + indent, y, pen)
            hand.strike(paper, around([word.box for word in wrong.words]))
            sheet.note("other", wrong.words)
            indent += paper.length(self.old, pen) + 2 * GAP
        if self.answer:
            printed = paper.text(self.answer, x + indent, y, pen, width=width - indent)
            sheet.note("answer", printed.words, of=question)
            bottom = max(bottom, printed.bottom)
        elif self.answer == "":
            box = (x, bottom - 1.3 * ask.size, x + width, bottom)
            sheet.note("answer", (Word("", box),), of=question)
        if self.sign:
            hand.signature(paper, x + 12, y + pen.size, min(width - 20, 150), pen.size * 1.6)
        if self.blank and self.place != "cell":
            for line in range(max(1, round((bottom - y) / step))):
                under = y + pen.size * 1.22 + line * step
                paper.rule(x, under, x + width, under, width=0.7)
        return bottom


@dataclass(frozen=True)
class Row:
    """Blocks side by side; `shares` of the width, equal if not given."""

    blocks: tuple[Block, ...]
    shares: tuple[float, ...] = ()
    gap: float = 14.0

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        shares = self.shares or (1 / len(self.blocks),) * len(self.blocks)
        bottom, room = y, width - self.gap * (len(self.blocks) - 1)
        for block, share in zip(self.blocks, shares, strict=True):
            bottom = max(bottom, block.draw(sheet, x, y, room * share))
            x += room * share + self.gap
        return bottom


@dataclass(frozen=True)
class Stack:
    """Blocks one below the other, `gap` apart, framed if asked."""

    blocks: tuple[Block, ...]
    gap: float = 3.0
    framed: bool = False

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        inset = 6 if self.framed else 0
        bottom = y + inset
        for block in self.blocks:
            bottom = block.draw(sheet, x + inset, bottom, width - 2 * inset) + self.gap
        if self.framed:
            sheet.paper.frame((x, y, x + width, bottom))
        return bottom


@dataclass(frozen=True)
class Space:
    """Nothing, or a rule across the page with nothing around it."""

    height: float = 10.0
    rule: float = 0.0

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        if self.rule:
            middle = y + self.height / 2
            sheet.paper.rule(x, middle, x + width, middle, width=self.rule)
        return y + self.height


@dataclass(frozen=True)
class At:
    """A block at its own place on the page, out of the flow."""

    x: float
    y: float
    block: Block
    width: float = 300.0

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:  # noqa: ARG002
        owner = sheet.owner
        self.block.draw(sheet, self.x, self.y, self.width)
        sheet.owner = owner
        return y


@dataclass(frozen=True)
class Stamp:
    """A rubber stamp over whatever stands there; its words are `other`."""

    text: str
    x: float
    y: float
    angle: float
    pen: str = "stamp"

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:  # noqa: ARG002
        pen = sheet.pen(self.pen)
        printed = sheet.paper.stamp(self.text, self.x, self.y, pen, angle=self.angle)
        sheet.note("other", printed.words)
        return y
