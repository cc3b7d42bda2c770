"""Blocks to look at: bar charts, flow diagrams, sketches, bar codes, plans."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Literal

from pydantic import Field

from formlab_experiments.forms.blocks import Block, Cells
from formlab_experiments.forms.paper import around
from formlab_experiments.forms.sheet import Sheet


class BarChart(Block):
    """Printed bars with their figures on top; the value lists names and figures."""

    label: str = Field(alias="bar_chart")
    bars: tuple[tuple[str, int], ...]
    height: float = 90.0

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper, pen = sheet.paper, sheet.pen("print", 0.85)
        title = paper.text(self.label, x, y, sheet.pen("print"))
        top, base = title.bottom + 14, title.bottom + 14 + self.height
        most, step = max(figure for _, figure in self.bars), width / len(self.bars)
        for place, (name, figure) in enumerate(self.bars):
            left, right = x + place * step + step * 0.22, x + (place + 1) * step - step * 0.22
            peak = base - self.height * figure / most
            paper.fill((left, peak, right, base), shade=150)
            paper.frame((left, peak, right, base))
            y0, wide = peak - pen.size * 1.4, right - left
            paper.text(str(figure), left, y0, pen, width=wide, align="centre")
            paper.text(name, x + place * step, base + 3, pen, width=step, align="centre")
        paper.rule(x, base, x + width, base)
        paper.rule(x, top - 12, x, base)
        value = "; ".join(f"{name} {figure}" for name, figure in self.bars)
        bottom = base + pen.size * 1.5
        sheet.field(self.label, value, "Visual", "Chart", (x, top - 14, x + width, bottom))
        return bottom + 6


class Flow(Block):
    """Printed boxes joined by arrows; the value is their texts in order, with arrows between."""

    label: str = Field(alias="flow")
    steps: Cells

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper, pen = sheet.paper, sheet.pen("print", 0.88)
        title = paper.text(self.label, x, y, sheet.pen("print"))
        top, gap = title.bottom + 5, 24
        wide = (width - gap * (len(self.steps) - 1)) / len(self.steps)
        tall = max(len(paper.wrap(step, pen, wide - 8)) for step in self.steps)
        bottom = top + tall * pen.size * pen.leading + 10
        for place, step in enumerate(self.steps):
            left = x + place * (wide + gap)
            paper.frame((left, top, left + wide, bottom), width=1.3)
            paper.text(step, left + 4, top + 5, pen, width=wide - 8, align="centre")
            if place:
                middle = (top + bottom) / 2
                for back, down in ((3 - gap, 0), (-9, -4), (-9, 4)):
                    paper.rule(left + back, middle + down, left - 3, middle, width=1.3)
        value = " -> ".join(self.steps)
        sheet.field(self.label, value, "Visual", "Diagram", (x, top, x + width, bottom))
        return bottom + 7


class BarCode(Block):
    """Bars that stand for digits, with the digits printed below: a static image."""

    label: str = Field(alias="bar_code")
    digits: str

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper, pen = sheet.paper, replace(sheet.pen("print"), face="mono")
        asked = paper.text(self.label, x, y, sheet.pen("print"))
        top, unit = asked.bottom + 2, min(2.2, width / (len(self.digits) * 7 + 6))
        at = x
        for digit in self.digits:
            # Seven units a digit, their pattern made from the digit: it only has to look so.
            pattern = f"1{(int(digit) * 37 + 11) % 64:06b}"
            for bit in pattern:
                if bit == "1":
                    paper.fill((at, top, at + unit, top + 34), shade=25)
                at += unit
        paper.fill((at, top, at + unit, top + 34), shade=25)
        printed = paper.text(self.digits, x, top + 36, pen, width=at - x, align="centre")
        box = around([(x, top, at + unit, top + 34), *[w.box for w in printed.words]])
        sheet.field(self.label, self.digits, "Visual", "Statistic Image", box)
        return printed.bottom + 4


def _arc(start: float, end: float, size: float = 1.0) -> list[tuple[float, float]]:
    turns = [start + (end - start) * step / 10 for step in range(11)]
    return [(size * math.cos(turn), size * math.sin(turn)) for turn in turns]


# Strokes in units of the sketch's radius, y downwards.
SHAPES = {
    "arrow-left": [
        [(1.6, 0), (0.4, 0.05), (-1.5, 0)],
        [(-0.9, -0.5), (-1.2, -0.25), (-1.5, 0), (-1.2, 0.25), (-0.9, 0.5)],
    ],
    "house": [
        [(-1, 0.9), (-1, 0.4), (-1, -0.1)], [(1, 0.9), (1, 0.4), (1, -0.1)],
        [(-1, 0.9), (0, 0.92), (1, 0.9)], [(-1.2, -0.05), (-0.6, -0.55), (0, -1)],
        [(0, -1), (0.6, -0.55), (1.2, -0.05)], [(-0.2, 0.9), (-0.2, 0.3), (0.2, 0.3), (0.2, 0.9)],
    ],
    "tooth": [
        [(-0.9, -0.8), (-0.4, -1), (0, -0.75), (0.4, -1), (0.9, -0.8), (0.85, -0.1), (0.55, 0.95)],
        [(0.55, 0.95), (0.3, 0.7), (0.15, 0.1), (-0.15, 0.1), (-0.3, 0.7), (-0.55, 0.95)],
        [(-0.55, 0.95), (-0.85, -0.1), (-0.9, -0.8)],
    ],
    "key": [
        [(x - 0.9, y) for x, y in _arc(0, 6.4, 0.5)], [(-0.4, 0), (0.5, 0.03), (1.4, 0)],
        [(1.4, 0), (1.4, 0.2), (1.4, 0.4)], [(1.1, 0), (1.1, 0.2), (1.1, 0.35)],
    ],
}  # fmt: skip


class Sketch(Block):
    """A frame with something drawn by hand in it; the value says what."""

    label: str = Field(alias="sketch")
    shape: Literal[*SHAPES]
    value: str
    height: float = 92.0

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper = sheet.paper
        asked = paper.text(self.label, x, y, sheet.pen("print"))
        top = asked.bottom + 2
        paper.frame((x, top, x + width, top + self.height))
        cx, cy, r = x + width / 2, top + self.height / 2, self.height * 0.36
        for line in SHAPES[self.shape]:
            # A hand strays sideways.
            xs = [cx + px * r + paper.random.gauss(0, 0.8) for px, _ in line]
            paper.stroke([(x, cy + py * r) for x, (_, py) in zip(xs, line, strict=True)])
        box = (x, top, x + width, top + self.height)
        sheet.field(self.label, self.value, "Visual", "Hand-Drawn", box)
        return top + self.height + 6


class Plan(Block):
    """A hand-drawn plan of rooms with their names in it: text within a drawing.

    `rooms` are (name, x, y, width, height) in shares of the plan.
    """

    label: str = Field(alias="plan")
    rooms: tuple[tuple[str, float, float, float, float], ...]
    height: float = 120.0

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        paper, pen = sheet.paper, sheet.pen("fill", 0.85)
        asked = paper.text(self.label, x, y, sheet.pen("print"))
        top, boxes = asked.bottom + 4, []
        for name, left, down, wide, tall in self.rooms:
            x0, y0 = x + left * width, top + down * self.height
            x1, y1 = x0 + wide * width, y0 + tall * self.height
            corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)]
            for (ax, ay), (bx, by) in pairwise(corners):
                stray = [paper.random.gauss(0, 0.9) for _ in "xy"]
                middle = ((ax + bx) / 2 + stray[0], (ay + by) / 2 + stray[1])
                boxes.append(paper.stroke([(ax, ay), middle, (bx, by)]))
            middle = (y0 + y1) / 2 - pen.size * 0.7
            printed = paper.text(name, x0 + 8, middle, pen, width=x1 - x0 - 12)
            boxes += [word.box for word in printed.words]
        value = "; ".join(name for name, *_ in self.rooms)
        sheet.field(self.label, value, "Textual", "TextInDraw", around(boxes))
        return top + self.height + 8
