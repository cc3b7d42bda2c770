"""The actions that a model states: a point on a screenshot, and the text typed there."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from formlab.tables import BOX

_NUMBER = r"[-+]?\d{1,9}(?:\.\d{1,9})?"
_LINE = re.compile(
    rf"[ \t]*(?:(?:[-*]|\d{{1,3}}[.)])[ \t]+)?(?:\[[A-H]1\d(?:_(?P<page>\d{{1,3}}))?\][ \t]*)?"
    rf"\[[ \t]*(?P<x>{_NUMBER})[ \t]*,[ \t]*(?P<y>{_NUMBER})[ \t]*\][ \t]*:?[ \t]*(?P<value>.*)"
)
_FENCE = re.compile(r"[ \t]*```\w*[ \t]*")


class ActionLine(NamedTuple):
    """One action of a system: a click at (x, y) in pixels and the text typed there.

    `page` counts from 1; NaN where it is not given. `x` and `y` of NaN are no click. `field` is the
    path of the field that it is said to be for, where that is given; a click tells more.
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


def parse_lines(output: str) -> list[ActionLine]:
    """The actions in a model's output, one for each line that starts with a point.

    A line without a point goes on with the value of the line before it. A list's dash or number
    and the name of a screenshot, ``[A13_2]``, may stand before the point.

    >>> parse_lines("[640,585] Ada Berg\\n[640, 760] First line\\nsecond line")[1]
    ActionLine(x=640.0, y=760.0, value='First line\\nsecond line', page=nan, field=None)
    >>> parse_lines("I cannot help with that.")
    []
    """
    actions: list[tuple[re.Match[str], list[str]]] = []
    # Not splitlines(): a value may hold U+2028 or a form feed.
    for line in output.replace("\r\n", "\n").split("\n"):
        if match := _LINE.fullmatch(line):
            actions.append((match, [match["value"].strip()]))
        elif actions and not _FENCE.fullmatch(line):
            actions[-1][1].append(line)
    return [
        ActionLine(
            *(float(match[name]) for name in "xy"),
            "\n".join(value).strip(),
            float(match["page"] or math.nan),
        )
        for match, value in actions
    ]


def line_rows(lines: Iterable[ActionLine]) -> Iterator[dict[str, Any]]:
    """A row for each line of an output, at its point; its page is null where that is not said."""
    for index, line in enumerate(lines):
        page = None if math.isnan(line.page) else int(line.page)
        row = {"task": "click", "path": f"/lines/{index}", "kind": "line", "value": line.value}
        yield row | {"page": page} | dict(zip(BOX, (line.x, line.y) * 2, strict=True))
