"""What a model writes to fill in a form: a line for each action, ``[640,585] Ada Berg``."""

from __future__ import annotations

import math
import re

from formlab.metrics._forms import ActionLine

_NUMBER = r"[-+]?\d{1,9}(?:\.\d{1,9})?"
_LINE = re.compile(
    rf"[ \t]*(?:(?:[-*]|\d{{1,3}}[.)])[ \t]+)?(?:\[[A-H]1\d(?:_(?P<page>\d{{1,3}}))?\][ \t]*)?"
    rf"\[[ \t]*(?P<x>{_NUMBER})[ \t]*,[ \t]*(?P<y>{_NUMBER})[ \t]*\][ \t]*:?[ \t]*(?P<value>.*)"
)
_FENCE = re.compile(r"[ \t]*```\w*[ \t]*")


def parse_lines(output: str) -> list[ActionLine]:
    """The actions in a model's output, one for each line that starts with a point.

    A line without a point goes on with the value of the line before it. A list's dash or number
    and the name of a screenshot, ``[A13_2]``, may stand before the point.

    Examples
    --------
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
            float(match["x"]), float(match["y"]), "\n".join(value).strip(),
            float(match["page"]) if match["page"] else math.nan,
        )
        for match, value in actions
    ]  # fmt: skip
