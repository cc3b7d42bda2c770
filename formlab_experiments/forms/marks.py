"""Blocks of small answers: boxes to tick, words and figures to ring, sentences to fill in."""

from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo

from formlab_experiments.forms import hand
from formlab_experiments.forms.blocks import Block, Cells, boxes_of
from formlab_experiments.forms.paper import Word, around
from formlab_experiments.forms.sheet import Sheet


def _among_options(value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    options = info.data.get("options", value)
    if unknown := [option for option in value if option not in options]:
        raise ValueError(f"{unknown[0]!r} is none of the options {', '.join(options)}")
    return value


# Those of a block's options that are marked.
Chosen = Annotated[Cells, AfterValidator(_among_options)]


class Ratings(Block):
    """Statements, each with a scale beside it of which one figure is ringed."""

    statements: tuple[tuple[str, int], ...] = Field(alias="ratings")
    top: int = 5

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper, pen = sheet.paper, sheet.pen("print")
        for statement, chosen in self.statements:
            scale, boxes = x + width - 34 * self.top, []
            printed = paper.text(statement, x, y, pen, width=scale - x - 12)
            question = sheet.ask(printed.words)
            for number in range(1, self.top + 1):
                figure = paper.text(str(number), scale + 34 * (number - 1) + 10, y, pen)
                boxes += boxes_of(figure)
                if number == chosen:
                    boxes.append(hand.ring(paper, figure.words[0].box))
                    sheet.note("answer", figure.words, of=question)
                else:
                    sheet.note("other", figure.words)
            sheet.field(statement, str(chosen), "Marking", "Circle", around(boxes), "choice")
            y = printed.bottom + 7
        return y


class Ticks(Block):
    """Boxes to tick, or radio buttons: each option is a question, and a mark its answer.

    As a field of the form they are one, whose value lists the options that are marked.
    """

    label: str = Field(alias="ticks")
    options: Cells
    ticked: Chosen = ()
    radio: bool = False
    columns: int = 3
    at: float | None = None

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper, pen, boxes = sheet.paper, sheet.pen("print"), sheet.style.boxes
        asked = paper.text(self.label, x, y, pen, width=self.at or width)
        group = sheet.note("header", asked.words)
        left, top = x + boxes.inset, asked.bottom + boxes.below
        if self.at:
            left, top = x + self.at, y
        share, side = (x + width - left) / self.columns, pen.size * boxes.size
        ink, bottom = [], asked.bottom
        for place, option in enumerate(self.options):
            ox = left + place % self.columns * share
            oy = top + place // self.columns * pen.size * boxes.step
            marked = option in self.ticked
            _draw_box(sheet, ox, oy, side, radio=self.radio)
            mark = _mark(sheet, ox, oy, side, on=marked and not boxes.crosses, radio=self.radio)
            room = share - side - boxes.slack
            printed = paper.text(option, ox + side + 5, oy, pen, width=room)
            if marked and boxes.crosses:
                mark = _mark(sheet, ox, oy, side, on=True, radio=self.radio)
            sheet.answer(sheet.note("question", printed.words, of=group), mark)
            ink += [(ox, oy, ox + side, oy + side), *boxes_of(printed)]
            bottom = max(bottom, printed.bottom + pen.size * boxes.pad)
        sheet.field(
            self.label.rstrip(":?"), "; ".join(self.ticked), "Marking",
            "Radio Buttons" if self.radio else "Checkbox", around(ink),
            "radio" if self.radio else "checkbox",
        )  # fmt: skip
        return bottom + 4


class Tick(Block):
    """A single box before its statement: checked or unchecked."""

    label: str = Field(alias="tick")
    ticked: bool

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper, pen = sheet.paper, sheet.pen("print")
        side = pen.size * sheet.style.boxes.size
        _draw_box(sheet, x, y, side)
        mark = _mark(sheet, x, y, side, on=self.ticked)
        printed = paper.text(self.label, x + side + 6, y, pen, width=width - side - 6)
        sheet.answer(sheet.ask(printed.words), mark)
        box = around([(x, y, x + side, y + side), *boxes_of(printed)])
        value = "checked" if self.ticked else "unchecked"
        sheet.field(self.label, value, "Marking", "Checkbox", box, "checkbox")
        return printed.bottom + 3


class Cross(Block):
    """A box with printed words and a handwritten addition: right only as a whole."""

    label: str = Field(alias="cross")
    printed: str
    written: str = ""
    ticked: bool = True

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper, ask, pen = sheet.paper, sheet.pen("print"), sheet.pen("fill")
        side = ask.size * sheet.style.boxes.size
        _draw_box(sheet, x, y, side)
        mark = _mark(sheet, x, y, side, on=self.ticked)
        printed = paper.text(self.printed, x + side + 6, y, ask)
        question = sheet.ask(printed.words)
        sheet.answer(question, mark)
        boxes = [(x, y, x + side, y + side), *boxes_of(printed)]
        left, bottom = around(boxes)[2] + sheet.style.gap, printed.bottom
        if self.written:
            added = paper.text(self.written, left + 3, y + ask.size - pen.size, pen, width=width)
            sheet.answer(question, added.words)
            boxes += boxes_of(added)
            bottom = max(bottom, added.bottom)
        paper.rule(left, y + ask.size * 1.3, x + width, y + ask.size * 1.3, width=0.7)
        parts = [f"[{'x' if self.ticked else ' '}] {self.printed}", *filter(None, [self.written])]
        sheet.field(self.label, "; ".join(parts), "Cross", "Textual + Marking", around(boxes))
        return bottom + 3


def _draw_box(sheet: Sheet, x: float, y: float, side: float, *, radio: bool = False) -> None:
    """Print a box to tick, or a radio button."""
    if radio:
        hand.button(sheet.paper, x + side / 2, y + 1 + side / 2, side / 2)
    else:
        sheet.paper.frame((x, y + 1, x + side, y + 1 + side))


def _mark(
    sheet: Sheet, x: float, y: float, side: float, *, on: bool, radio: bool = False
) -> tuple[Word, ...]:
    """Mark a box by hand if it is `on`: the mark as a word."""
    paper, cx, cy = sheet.paper, x + side / 2, y + 1 + side / 2
    if not on:
        return ()
    if radio:
        return (Word("x", hand.dot(paper, cx, cy, side * 0.26)),)
    if sheet.style.boxes.crosses or paper.random.random() < 0.5:
        return (hand.cross(paper, cx, cy, side * 0.95),)
    return (Word("x", hand.tick(paper, cx, cy, side * 1.1)),)


class Rings(Block):
    """Printed options of which some are ringed by hand."""

    label: str = Field(alias="rings")
    options: Cells
    ringed: Chosen = ()
    at: float = 190.0
    step: float | None = None

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper, pen = sheet.paper, sheet.pen("print")
        asked = paper.text(self.label, x, y, pen, width=self.at - 8)
        question = sheet.ask(asked.words)
        step, boxes = self.step or (width - self.at) / len(self.options), []
        for place, option in enumerate(self.options):
            printed = paper.text(option, x + self.at + place * step + 6, y, pen)
            box = around(boxes_of(printed))
            if option in self.ringed:
                boxes.append(hand.ring(paper, box))
                sheet.note("answer", printed.words, of=question)
            else:
                boxes.append(box)
                sheet.note("other", printed.words)
        value = "; ".join(self.ringed)
        sheet.field(self.label.rstrip(":?"), value, "Marking", "Circle", around(boxes), "choice")
        return max(asked.bottom, max(box[3] for box in boxes)) + 5


class Mixed(Block):
    """A printed sentence with blanks filled in by hand; `parts` alternate, print first."""

    label: str = Field(alias="mixed")
    parts: Cells

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper, ask, fill = sheet.paper, sheet.pen("print"), sheet.pen("fill")
        at, boxes, bottom, question = x, [], y, None
        for place, part in enumerate(self.parts):
            pen = fill if place % 2 else ask
            if at + paper.length(part, pen) > x + width and at > x:
                at, y = x, y + max(ask.size, fill.size) * 1.7
            printed = paper.text(part, at, y + ask.size - pen.size, pen)
            boxes += boxes_of(printed)
            end = around(boxes_of(printed))[2]
            if place % 2:
                paper.rule(at - 4, y + ask.size * 1.25, end + 6, y + ask.size * 1.25, width=0.7)
                sheet.note("answer", printed.words, of=question)
            else:
                question = sheet.ask(printed.words)
            at, bottom = end + sheet.style.gap, max(bottom, printed.bottom)
        sheet.field(self.label, " ".join(self.parts), "Textual", "Mixed", around(boxes))
        return bottom + 3


class Signed(Block):
    """A signature on a line, or a line that was left empty."""

    label: str = Field(alias="signed")
    empty: bool = False

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper, pen = sheet.paper, sheet.pen("print")
        asked = paper.text(self.label, x, y + 8, pen)
        sheet.ask(asked.words)
        left = around(boxes_of(asked))[2] + sheet.style.gap
        base = y + 8 + pen.size * 1.3
        box = (left, y - 6, x + width, base)
        if not self.empty:
            box = hand.signature(paper, left + 10, base - 4, min(width - 120, 130), 20)
        paper.rule(left, base, x + width, base, width=0.7)
        sheet.field(self.label, "" if self.empty else "signed", "Visual", "Hand-Drawn", box)
        return base + 6
