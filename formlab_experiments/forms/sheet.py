"""A page being filled in, and its gold: FUNSD's entities and FORMCRAFT's tree of fields."""

from dataclasses import dataclass, field, replace
from typing import Any

import pydantic

from formlab.errors import UnknownName
from formlab_experiments.forms.content import STRICT
from formlab_experiments.forms.paper import Box, Paper, Pen, Word, around
from formlab_experiments.forms.scan import Scan, scan_box

Json = dict[str, Any]


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class Boxes:
    """How boxes to tick are printed.

    `size` and `step` (from row to row) are shares of the size of print, `pad` is the share below
    a row; `inset`, `below` (the label) and `slack` (right of an option) are page pixels. With
    `crosses` all marks are crosses, put in after the words are printed.
    """

    inset: float = 12
    below: float = 1
    size: float = 0.92
    step: float = 1.7
    slack: float = 7
    pad: float = 0
    crosses: bool = False


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class Style:
    """Distances between a label and its value, in page pixels, and the boxes to tick.

    `gap` lies between the two, `after` below them. What follows a crossed-out value starts
    behind its ink, or, if `measured`, behind its length in print.
    """

    gap: float = 8.0
    after: float = 2.0
    measured: bool = False
    boxes: Boxes = field(default_factory=Boxes)


@dataclass
class Entity:
    """One annotated stretch of the page, as FUNSD means it."""

    id: int
    label: str
    words: tuple[Word, ...]
    links: list[tuple[int, int]] = field(default_factory=list)


def empty_form() -> Json:
    """A form without fields, as FORMCRAFT's schema has it."""
    return {"fields": [], "groups": []}


@dataclass
class Sheet:
    """A page being filled in: its paper, its pens by name, and the gold of what is on it so far.

    `entities` are those of this page; `form` holds the fields of all pages drawn with it, each
    in the group that was open.
    """

    paper: Paper
    pens: dict[str, Pen]
    scan: Scan = field(default_factory=Scan)
    style: Style = field(default_factory=Style)
    number: int = 1
    form: Json = field(default_factory=empty_form)
    entities: list[Entity] = field(default_factory=list)
    owner: int | None = None
    open: list[Json] = field(default_factory=list)

    def pen(self, name: str, size: float = 1.0) -> Pen:
        """A pen of this sheet, its text `size` times as large."""
        if name not in self.pens:
            raise UnknownName.of("pen", name, self.pens)
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

    def answer(self, question: int, words: tuple[Word, ...]) -> None:
        """Annotate the answer to a question, if there is one."""
        if words:
            self.note("answer", words, of=question)

    def enter(self, label: str) -> None:
        """Open a group in the one that is open."""
        group = {"label": label} | empty_form()
        (self.open[-1] if self.open else self.form)["groups"].append(group)
        self.open.append(group)

    def leave(self) -> None:
        """Close the group; its box covers what was drawn in it."""
        group = self.open.pop()
        boxes = [tuple(item["box"]) for item in (*group["fields"], *group["groups"])]
        group["page"], group["box"] = self.number, list(around(boxes))

    def field(
        self, label: str, value: str, modality: str, subtype: str, box: Box, kind: str | None = None
    ) -> None:
        """Note a field in the open group; `box` is on the paper before it is scanned."""
        row = {"label": label, "modality": modality, "modality_subtype": subtype, "value": value}
        row |= {"kind": kind} if kind else {}
        # Annotators leave a margin around the ink.
        x0, y0, x1, y1 = box
        place = list(scan_box((x0 - 3, y0 - 4, x1 + 3, y1 + 4), self.scan, self.paper))
        row |= {"page": self.number, "box": place}
        (self.open[-1] if self.open else self.form)["fields"].append(row)
