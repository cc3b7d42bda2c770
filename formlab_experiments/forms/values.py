"""What a form says, made from a seed: words, numbers, dates, amounts, and their sums."""

from __future__ import annotations

import datetime
import random
import string
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from formlab.errors import UnknownName
from formlab_experiments.forms.blocks import Cells
from formlab_experiments.forms.content import Content, one_of

# What a field of a text is drawn from: words, or the whole numbers from low to high.
Source = tuple[int, int] | Cells
Span = tuple[str, int, int]


class Money(int):
    """Cents, written as dollars; brackets for a minus.

    >>> f"{Money(-123456)}"
    '($1,234.56)'
    """

    def __format__(self, _: str) -> str:
        text = f"${abs(self) / 100:,.2f}"
        return f"({text})" if self < 0 else text


class State:
    """The random numbers, the sources to draw from, and the values made so far."""

    def __init__(self, generator: random.Random, sources: Mapping[str, Source]) -> None:
        self.random, self.sources = generator, sources
        self.values: dict[str, Any] = {}
        self.row = 0

    def value(self, name: str) -> Any:
        """A value made before, else one drawn from the source of that name."""
        if name in self.values:
            return self.values[name]
        if name not in self.sources:
            raise UnknownName.of("value or source", name, [*self.values, *self.sources])
        source = self.sources[name]
        if isinstance(source[0], int):
            return self.random.randint(*source)
        return self.random.choice(source)

    def column(self, path: str) -> list[Any]:
        """The values of one name in all rows, by the path ``rows.name``."""
        table, _, name = path.partition(".")
        rows = self.value(table)
        if not all(name in row for row in rows):
            raise UnknownName.of("value of a row", path, rows[0])
        return [row[name] for row in rows]


def fill_in(text: str, state: State) -> tuple[str, list[Span]]:
    """A text with its ``{fields}`` filled in, and where each stands: name, start, end.

    >>> state = State(random.Random(1), {"town": ("Ashmouth",)})
    >>> fill_in("{town} Channel 4", state)
    ('Ashmouth Channel 4', [('town', 0, 8)])
    """
    line, spans = "", []
    for before, name, form, _ in string.Formatter().parse(text):
        line += before
        if name is not None:
            start = len(line)
            line += format(state.value(name), form or "")
            spans.append((name, start, len(line)))
    return line, spans


class Maker(Content):
    """A way to make a value. In a template its first key names it."""

    def make(self, state: State) -> Any:
        """The value."""
        raise NotImplementedError


class Date(Maker):
    """A day of a year."""

    year: int = Field(alias="date")
    months: tuple[int, int]
    days: tuple[int, int]

    def make(self, state: State) -> datetime.date:
        month = state.random.randint(*self.months)
        return datetime.date(self.year, month, state.random.randint(*self.days))


class After(Maker):
    """A date some days after another one; `row` is one day more in each row."""

    start: str = Field(alias="after")
    days: tuple[int, int] | Literal["row"]

    def make(self, state: State) -> datetime.date:
        days = state.row if self.days == "row" else state.random.randint(*self.days)
        return state.value(self.start) + datetime.timedelta(days=days)


class Amount(Maker):
    """An amount of money in cents: a whole number of `step`."""

    among: tuple[int, int] = Field(alias="amount")
    step: int = 1

    def make(self, state: State) -> Money:
        return Money(state.random.randint(*self.among) * self.step)


class Total(Maker):
    """The sum of the amounts of all rows."""

    path: str = Field(alias="sum")

    def make(self, state: State) -> Money:
        return Money(sum(state.column(self.path)))


class Latest(Maker):
    """The latest date of all rows."""

    path: str = Field(alias="latest")

    def make(self, state: State) -> datetime.date:
        return max(state.column(self.path))


class Repeat(Maker):
    """Rows of values; the last one is sometimes a correction, which takes an amount back."""

    count: tuple[int, int] = Field(alias="rows")
    each: dict[str, str | AnyMaker]
    correction: dict[str, int] = Field(default_factory=dict)
    chance: float = 0.0

    def make(self, state: State) -> list[dict[str, Any]]:
        rows = []
        for number in range(state.random.randint(*self.count)):
            inner = State(state.random, state.sources)
            inner.values, inner.row = dict(state.values), number
            rows.append({name: make(maker, inner, name) for name, maker in self.each.items()})
        if state.random.random() < self.chance:
            rows[-1] |= {name: Money(cents) for name, cents in self.correction.items()}
        return rows


AnyMaker = one_of(Maker)
Repeat.model_rebuild()
Values = dict[str, str | AnyMaker]


def make(maker: str | Maker, state: State, name: str) -> Any:
    """The value of a text or of a maker, which the makers after it can refer to by `name`."""
    state.values[name] = fill_in(maker, state)[0] if isinstance(maker, str) else maker.make(state)
    return state.values[name]
