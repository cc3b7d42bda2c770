"""A page being filled in, and what was annotated on it so far."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

from data.sample.generate.paper import Box, Paper, Pen, Word, around


@dataclass
class Entity:
    """One annotated stretch of the page, as FUNSD means it."""

    id: int
    label: str
    words: tuple[Word, ...]
    links: list[tuple[int, int]] = field(default_factory=list)

    @property
    def box(self) -> Box:
        """The box that covers its words."""
        return around([word.box for word in self.words])


@dataclass
class Sheet:
    """A page being filled in: its paper, its pens by name, and what was annotated so far."""

    paper: Paper
    pens: dict[str, Pen]
    entities: list[Entity] = field(default_factory=list)
    owner: int | None = None

    def pen(self, name: str, size: float = 1.0) -> Pen:
        """A pen of this sheet, its text `size` times as large."""
        pen = self.pens[name]
        return replace(pen, size=pen.size * size)

    def note(self, label: str, words: tuple[Word, ...], *, of: int | None = None) -> int:
        """Annotate `words`, linked from entity `of` if there is one; the new entity's id."""
        number = len(self.entities)
        self.entities.append(Entity(number, label, words))
        if of is not None:
            self.entities[of].links.append((of, number))
            self.entities[number].links.append((of, number))
        return number

    def ask(self, words: tuple[Word, ...]) -> int:
        """Annotate a question; it belongs to the section's heading, if the form has sections."""
        return self.note("question", words, of=self.owner)


class Block(Protocol):
    """A part of a form."""

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:
        """Draw at (x, y), `width` wide; the y below it."""
