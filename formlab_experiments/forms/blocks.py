"""The parts a form is made of. Each draws itself on a sheet and returns the y below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from formlab_experiments.forms import hand
from formlab_experiments.forms.content import Content
from formlab_experiments.forms.paper import Box, Printed, Word, around
from formlab_experiments.forms.sheet import Sheet

if TYPE_CHECKING:
    from formlab_experiments.forms.template import AnyBlock, Blocks

Align = Literal["left", "centre", "right"]


def _cells(value: Any) -> Any:
    return [cell.strip() for cell in value.split("|")] if isinstance(value, str) else value


def _lines(value: Any) -> Any:
    return value.splitlines() if isinstance(value, str) else value


# Written as a list, or as a text with bars between the cells: "Yes | No".
Cells = Annotated[tuple[str, ...], BeforeValidator(_cells)]
# Written as a list of cells, or as a text with a line for each row.
Rows = Annotated[tuple[Cells, ...], BeforeValidator(_lines)]


def boxes_of(printed: Printed) -> list[Box]:
    """The boxes of the words that were put on the paper."""
    return [word.box for word in printed.words]


class Block(Content):
    """A part of a form. In a template its first key names its kind, the others are its settings."""

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        """Draw at (x, y), `width` wide; the y below it."""
        raise NotImplementedError


class Heading(Block):
    """A title; with `owns`, the header of every question up to the next heading."""

    text: str = Field(alias="heading")
    size: float = 1.6
    align: Align = "centre"
    owns: bool = False
    bar: bool = False

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        pen = sheet.pen("head", self.size)
        if self.bar:
            bottom = y + pen.size * 1.45
            sheet.paper.fill((x, y, x + width, bottom), shade=218)
            sheet.paper.frame((x, y, x + width, bottom))
            x, width = x + 5, width - 10
        printed = sheet.paper.text(self.text, x, y, pen, width=width, align=self.align)
        number = sheet.note("header", printed.words)
        sheet.owner = number if self.owns else None
        return printed.bottom + 4


class Note(Block):
    """Running text that is neither asked nor answered."""

    text: str = Field(alias="note")
    size: float = 1.0
    align: Align = "left"
    pen: str = "print"

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        pen = sheet.pen(self.pen, self.size)
        printed = sheet.paper.text(self.text, x, y, pen, width=width, align=self.align)
        sheet.note("other", printed.words)
        return printed.bottom + 3


class Entry(Block):
    """A label and its value.

    `place` puts the value `right` of the label, `below` it, or below it in a ruled `cell`; `at`
    is where values on the right start. A `blank` is the printed line to write on, `lines` of them
    at least; a value in the pen `print` has none. Without a value the line stays empty; the value
    "" is an annotated one without text. `old` is a value that was written first and crossed out, in
    `old_pen` if that is another; `smudge` are words of the value that a smudge hides; `sign` asks
    for a signature.
    """

    label: str = Field(alias="field")
    value: str | None = None
    kind: str | None = None
    place: Literal["right", "below", "cell"] = "right"
    at: float | None = None
    blank: bool = True
    lines: int = 1
    pen: str = "fill"
    old: str | None = None
    old_pen: str | None = None
    smudge: str = ""
    sign: bool = False

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper, cell = sheet.paper, self.place == "cell"
        inset = 4 if cell else 0
        ask = sheet.pen("print", 0.8 if cell else 1)
        room = self.at or width - inset
        asked = paper.text(self.label, x + inset, y + inset / 2, ask, width=room)
        question = sheet.ask(asked.words)
        left, top = x + inset, asked.bottom
        if self.place == "right":
            left = x + self.at if self.at else max(b[2] for b in boxes_of(asked)) + sheet.style.gap
            top = y
        bottom = self._answer(sheet, question, left, top, x + width - left - inset)
        bottom = max(bottom, asked.bottom)
        if cell:
            paper.frame((x, y, x + width, bottom + 3))
            return bottom + 3
        return bottom + sheet.style.after

    def _answer(self, sheet: Sheet, question: int, x: float, y: float, width: float) -> float:
        """Write the value at (x, y) and note it; the y below its last line."""
        paper, pen, ask = sheet.paper, sheet.pen(self.pen), sheet.pen("print")
        line = (x, y - 2, x + width, y + ask.size * 1.2)
        # Both stand on the same line, whatever their sizes.
        y += ask.size - pen.size if self.place == "right" else 0
        step = pen.size * pen.leading
        at, bottom, boxes = x + 3, y + step * self.lines, []
        if self.old is not None:
            before = sheet.pen(self.old_pen or self.pen)
            wrong = paper.text(self.old, at, y + pen.size - before.size, before)
            boxes += boxes_of(wrong)
            hand.strike(paper, around(boxes))
            sheet.note("other", wrong.words)
            end = at + paper.length(self.old, before) if sheet.style.measured else around(boxes)[2]
            at = end + 2 * sheet.style.gap
        if self.value:
            printed = paper.text(self.value, at, y, pen, width=x + width - at)
            boxes += boxes_of(printed)
            sheet.note("answer", printed.words, of=question)
            bottom = max(bottom, printed.bottom)
            for word in printed.words:
                if word.text in self.smudge.split():
                    hand.smudge(paper, word.box)
        elif self.value == "":
            box = (x, bottom - 1.3 * ask.size, x + width, bottom)
            sheet.note("answer", (Word("", box),), of=question)
        if self.sign:
            wide = min(width - 20, 150)
            boxes.append(hand.signature(paper, x + 12, y + pen.size, wide, pen.size * 1.6))
        if self.blank and self.pen != "print" and self.place != "cell":
            for row in range(max(1, round((bottom - y) / step))):
                under = y + pen.size * 1.22 + row * step
                paper.rule(x, under, x + width, under, width=0.7)
        self._note(sheet, around(boxes) if boxes else line)
        return bottom

    def _note(self, sheet: Sheet, box: Box) -> None:
        """Note the value as a field of the form."""
        kind = ("Textual", "Machine-Printed" if self.pen == "print" else "Handwritten")
        if self.sign:
            kind = ("Visual", "Hand-Drawn")
        elif self.old is not None:
            kind = ("Marking", "Annotations")
        value = "signed" if self.sign else self.value or ""
        sheet.field(self.label.rstrip(":"), value, *kind, box, self.kind)


class Row(Block):
    """Blocks side by side; `shares` of the width, equal without them."""

    blocks: Blocks = Field(alias="row")
    shares: tuple[float, ...] = ()
    gap: float = 14.0

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        shares = self.shares or (1 / len(self.blocks),) * len(self.blocks)
        bottom, room = y, width - self.gap * (len(self.blocks) - 1)
        for block, share in zip(self.blocks, shares, strict=True):
            bottom = max(bottom, block.draw(sheet, x, y, room * share))
            x += room * share + self.gap
        return bottom


class Stack(Block):
    """Blocks one below the other, `gap` apart, framed if asked."""

    blocks: Blocks = Field(alias="stack")
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


class Section(Block):
    """A group of fields: its heading, and blocks one below the other; `bar` tints the heading."""

    label: str = Field(alias="section")
    blocks: Blocks
    bar: bool = False
    size: float = 1.1
    framed: bool = False

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper, pen = sheet.paper, sheet.pen("head", self.size)
        sheet.enter(self.label)
        top, owner, inset = y, sheet.owner, 8 if self.framed else 0
        if self.bar:
            paper.fill((x, y, x + width, y + pen.size * 1.5), shade=222)
        printed = paper.text(self.label, x + inset + 4 * self.bar, y + 2, pen, width=width)
        sheet.owner = sheet.note("header", printed.words)
        y = printed.bottom + 4
        for block in self.blocks:
            y = block.draw(sheet, x + inset, y, width - 2 * inset) + 5
        if self.framed:
            paper.frame((x, top, x + width, y))
            y += 6
        sheet.owner = owner
        sheet.leave()
        return y


class Space(Block):
    """Nothing, or a rule across the page with nothing around it."""

    height: float = Field(10.0, alias="space")
    rule: float = 0.0

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        if self.rule:
            middle = y + self.height / 2
            sheet.paper.rule(x, middle, x + width, middle, width=self.rule)
        return y + self.height


class Elsewhere(Block):
    """A block at its own place on the page, out of the flow."""

    block: AnyBlock = Field(alias="elsewhere")
    x: float
    y: float
    width: float = 300.0

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:  # noqa: ARG002
        owner = sheet.owner
        self.block.draw(sheet, self.x, self.y, self.width)
        sheet.owner = owner
        return y


class Stamp(Block):
    """A rubber stamp over whatever stands there; with a `label`, a field of the form."""

    text: str = Field(alias="stamp")
    x: float
    y: float
    angle: float
    pen: str = "stamp"
    label: str = ""

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:  # noqa: ARG002
        pen = sheet.pen(self.pen)
        printed = sheet.paper.stamp(self.text, self.x, self.y, pen, angle=self.angle)
        sheet.note("other", printed.words)
        if self.label:
            value, box = self.text.replace("\n", " "), around(boxes_of(printed))
            sheet.field(self.label, value, "Visual", "Printed Paint", box)
        return y
