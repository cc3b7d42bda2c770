"""The actions that a model states: a point on a screenshot, and the text typed there."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from formlab.tables import BOX

_NUMBER = r"[-+]?\d{1,9}(?:\.\d{1,9})?"
# A list's dash or number and the name of a screenshot, [A13_2], may stand before the point.
_LINE = re.compile(
    rf"[ \t]*(?:(?:[-*]|\d{{1,3}}[.)])[ \t]+)?(?:\[[A-H]1\d(?:_(?P<page>\d{{1,3}}))?\][ \t]*)?"
    rf"\[[ \t]*(?P<x>{_NUMBER})[ \t]*,[ \t]*(?P<y>{_NUMBER})[ \t]*\][ \t]*:?[ \t]*(?P<value>.*)"
)
_FENCE = re.compile(r"[ \t]*```\w*[ \t]*")


class ActionLine(NamedTuple):
    """A click at (x, y) in pixels, on a page from 1, and the text typed; NaN is not given.

    `field` is the path of the field that it is said to be for, where that is given.
    """

    x: float
    y: float
    value: str
    page: float = math.nan
    field: str | None = None

    @property
    def clicks(self) -> bool:
        """Whether it has a point."""
        return not (math.isnan(self.x) or math.isnan(self.y))

    @property
    def named(self) -> bool:
        """Whether its place is a field's name and no point."""
        return self.field is not None and not self.clicks

    @property
    def count(self) -> int:
        """How many actions it is: a click, a value, or both."""
        return self.clicks + bool(self.value.strip())


def line_rows(output: str) -> list[dict[str, Any]]:
    """A row for each line of an output that starts with a point; other lines go on with its value.

    >>> [row["value"] for row in line_rows("[640,585] Ada Berg\\n[640, 760] First line\\nsecond")]
    ['Ada Berg', 'First line\\nsecond']
    """
    rows: list[dict[str, Any]] = []
    # Not splitlines(): a value may hold U+2028 or a form feed.
    for line in output.replace("\r\n", "\n").split("\n"):
        if match := _LINE.fullmatch(line):
            point, page = (float(match["x"]), float(match["y"])), match["page"]
            row = {"task": "click", "path": f"/lines/{len(rows)}", "kind": "line"}
            row |= {"value": [match["value"].strip()], "page": int(page) if page else None}
            rows.append(row | dict(zip(BOX, point * 2, strict=True)))
        elif rows and not _FENCE.fullmatch(line):
            rows[-1]["value"].append(line)
    return [row | {"value": "\n".join(row["value"]).strip()} for row in rows]
