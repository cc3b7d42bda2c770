"""A page of a FORMCRAFT form being filled in: its groups, and the fields drawn so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from data.sample.generate.paper import Box, around
from data.sample.generate.scan import Scan, moved
from data.sample.generate.sheet import Sheet

Json = dict[str, Any]


def empty_form() -> Json:
    """A form without fields, as the schema has it."""
    return {"fields": [], "groups": []}


@dataclass
class FormSheet(Sheet):
    """A sheet that notes what it draws as fields of a form, in the group that is open."""

    scan: Scan = field(default_factory=Scan)
    number: int = 1
    form: Json = field(default_factory=empty_form)
    open: list[Json] = field(default_factory=list)

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
        place = list(moved((x0 - 3, y0 - 4, x1 + 3, y1 + 4), self.scan, self.paper))
        row |= {"page": self.number, "box": place}
        (self.open[-1] if self.open else self.form)["fields"].append(row)
