"""Boxes on a page, and the marks that stand on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


class Rect(NamedTuple):
    """A box in pixels, origin top left."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        """In pixels."""
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        """In pixels."""
        return self.y1 - self.y0

    @property
    def middle(self) -> float:
        """Half way down."""
        return (self.y0 + self.y1) / 2

    @property
    def centre(self) -> float:
        """Half way across."""
        return (self.x0 + self.x1) / 2

    def holds(self, other: Rect) -> bool:
        """Whether the centre of `other` is inside."""
        return self.x0 <= other.centre <= self.x1 and self.y0 <= other.middle <= self.y1

    @property
    def window(self) -> tuple[slice, slice]:
        """The rows and columns of the page's pixels that are inside."""
        x0, y0, x1, y1 = (max(0, round(side)) for side in self)
        return np.s_[y0:y1, x0:x1]

    def grown(self, by: float) -> Rect:
        """The box with `by` pixels more on each side."""
        return Rect(self.x0 - by, self.y0 - by, self.x1 + by, self.y1 + by)


def around(boxes: list[Rect]) -> Rect:
    """The smallest box around all."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return Rect(min(x0), min(y0), max(x1), max(y1))


class Tick(NamedTuple):
    """A box or circle to tick; `ink` is the share of its inside that is dark, in [0, 1]."""

    box: Rect
    is_round: bool
    ink: float


class Grid(NamedTuple):
    """Cells between long rules: a table, a frame (one cell) or a plan."""

    box: Rect
    cells: tuple[Rect, ...]


@dataclass(frozen=True)
class Marks:
    """The marks of one page; `unit` is the height of its letters, `ink` its dark pixels."""

    unit: float
    ink: np.ndarray
    ticks: list[Tick] = field(default_factory=list)
    rings: list[Rect] = field(default_factory=list)
    rules: list[Rect] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)
    struck: list[Rect] = field(default_factory=list)
    bars: list[Rect] = field(default_factory=list)
    has_letters: bool = True
