"""The data of form filling: the fields of a form, the actions taken, the result per field."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

# Clicking one of these enters its value; the rest must be typed or chosen.
TICKED = ("checkbox", "radio", "choice")
DESCRIPTION = "description"


class ActionLine(NamedTuple):
    """One action of a system: a click at (x, y) in pixels and what is typed there.

    `page` counts from 1; NaN where it is not said. `x` and `y` of NaN are no click. `field` is the
    path of the field that it is said to be for, where that is said; a click tells more.
    """

    x: float
    y: float
    value: str
    page: float = np.nan
    field: str | None = None

    @property
    def clicks(self) -> bool:
        """Whether it has a point."""
        return not (math.isnan(self.x) or math.isnan(self.y))

    @property
    def named(self) -> bool:
        """Whether its place is a field's name and no point."""
        return self.field is not None and not self.clicks


class Filled(NamedTuple):
    """One form: what is asked for, what was done, and all that the system wrote.

    `elements` are rows of page, x0, y0, x1, y1 and the path of the field an element belongs to.
    """

    fields: Sequence[GoldField]
    lines: Sequence[ActionLine]
    elements: Sequence[Sequence[Any]] = ()
    output: str = ""


class TargetValue(NamedTuple):
    """One value to enter and where: rows of page, x0, y0, x1, y1; none if not known."""

    value: str
    boxes: Sequence[Sequence[float]] = ()


@dataclass(frozen=True, slots=True)
class GoldField:
    """One field to fill in.

    `value` is the gold as annotated; `items` are the values to enter one by one, none for a field
    to leave alone; `accepted` are further ways to write the only one and `order` is
    which of day and month the form writes first, where that is known.
    """

    path: str
    kind: str
    value: str
    items: tuple[TargetValue, ...]
    accepted: tuple[str, ...] = ()
    order: str | None = None

    @property
    def rights(self) -> tuple[str, ...]:
        """All ways to write the only value; none where there are several."""
        return (self.value, *self.accepted) if len(self.items) == 1 else ()

    @property
    def typed(self) -> str:
        """The value as one types it."""
        return ", ".join(item.value for item in self.items) or self.value

    @property
    def leave_empty(self) -> bool:
        """Whether the right thing to do is nothing."""
        return not self.items


@dataclass(slots=True)
class FieldVerdict:
    """What became of one field.

    `clicked` is None where no place is known or nothing is to be clicked, and `unwanted`, whether
    something did that, where something is; `found` is the value anywhere in the output,
    `right` the value of the line that is meant, `placed` the same in the right place and
    `submitted` what the form was sent with (None where nothing was). `near` is the path of the
    element that a miss hits or is next to and `distance` how far it is off, in pixels: infinite
    on another page and without a click. `made`, `expected` and `matched` count actions.
    """

    clicked: bool | None = None
    unwanted: bool | None = None
    found: bool = False
    right: bool = False
    placed: bool = False
    submitted: bool | None = None
    distance: float = np.nan
    near: str | None = None
    lines: list[int] = field(default_factory=list)
    text: str | None = None
    made: int = 0
    expected: int = 0
    matched: int = 0
