"""Names at the points of a chart: in full where there is room, else numbers with a key."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from formlab.charts import theme
from formlab.charts._output import clean
from formlab.charts._parts import NAME, Plot, datum, field

# The room that is counted on in pixels, that of a phone, and what a label takes of it.
_WIDE, _HIGH, _LETTER, _LINE = 230, 240, 6.2, 12
_ABOVE = -8
# So many numbers stand beside each other in one label.
_LISTED = 5
Place = tuple[float, float, str]


def name_points(
    plot: Plot, names: str, ends: dict[str, Sequence[float]], *, only: pl.Expr,
    groups: Sequence[str | None],
) -> str:  # fmt: skip
    """Put a label beside some of the points into `plot`; the key to numbers, or nothing.

    `names` is the column of names, `ends` the ends of the axis of each column of numbers, x first,
    `only` says which points have a label, and `groups` which columns part points that are in no
    other's way.
    """
    rows = plot.frame.with_row_index("at").filter(only, pl.col(names).is_not_null())
    keys = [name for name in groups if name]
    parts = rows.partition_by(keys, maintain_order=True) if keys else [rows]
    numbers = {name: str(n) for n, name in enumerate(rows[names].unique(maintain_order=True), 1)}
    full = {name: clean(name, limit=40) for name in numbers}
    for texts in (full, numbers):
        labels: dict[int, str] = {}
        for part in parts:
            places = _places(part, names, texts, ends)
            at = part["at"].to_list()
            clusters = _clusters(places)
            labels |= {at[middle]: text for middle, text in clusters}
        if len(labels) == rows.height:
            break
    column = [labels.get(at) for at in range(plot.frame.height)]
    plot.frame = plot.frame.with_columns(pl.Series(NAME, column, dtype=pl.String))
    if texts is full:
        return ""
    key = "; ".join(f"{n} {full[name]}" for name, n in numbers.items())
    return f"{key}. Several at one place: from left to right."


def _places(
    part: pl.DataFrame, names: str, texts: dict[str, str], ends: dict[str, Sequence[float]]
) -> list[Place]:
    """Where each point is in pixels, and its label."""
    sides = []
    for (column, (low, high)), room in zip(ends.items(), (_WIDE, _HIGH), strict=False):
        sides.append([(value - low) / max(high - low, 1e-9) * room for value in part[column]])
    across, up = sides if len(sides) > 1 else (sides[0], [0.0] * part.height)
    labels = [texts[name] for name in part[names]]
    return list(zip(across, up, labels, strict=True))


def _clusters(places: list[Place]) -> list[tuple[int, str]]:
    """The place of each label and its text; labels that would cover each other become one."""
    groups = [[at] for at in range(len(places))]

    def box(group: list[int]) -> tuple[float, float, float]:
        x, y = (sum(places[at][side] for at in group) / len(group) for side in (0, 1))
        return x, y, len(_joined(places, group)) * _LETTER / 2 + 2

    while True:
        boxes = [box(group) for group in groups]
        pairs = itertools.combinations(range(len(groups)), 2)
        clash = next((pair for pair in pairs if _overlap(*(boxes[at] for at in pair))), None)
        if clash is None:
            break
        first, second = clash
        groups[first] += groups.pop(second)
    found = []
    for group, (x, y, _) in zip(groups, boxes, strict=True):
        middle = min(group, key=lambda at: abs(places[at][0] - x) + abs(places[at][1] - y))
        found.append((middle, _joined(places, group)))
    return found


def _overlap(one: tuple[float, float, float], other: tuple[float, float, float]) -> bool:
    return abs(one[0] - other[0]) < one[2] + other[2] and abs(one[1] - other[1]) < _LINE


def _joined(places: list[Place], group: list[int]) -> str:
    """The texts of a group from left to right; of many numbers the runs alone."""
    texts = list(dict.fromkeys(places[at][2] for at in sorted(group, key=places.__getitem__)))
    if len(texts) <= _LISTED or not all(text.isdecimal() for text in texts):
        return ", ".join(texts)
    runs: list[list[int]] = []
    for number in sorted(map(int, texts)):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def label_layers(
    base: alt.Chart, x: str, channels: Sequence[Any], ends: Sequence[float]
) -> list[alt.Chart]:
    """The layers of the labels: those at an end of the axis stand towards its middle."""
    place = f"({datum(x)} - {ends[0]}) / {max(ends[1] - ends[0], 1e-9)}"
    sides = {"left": f"{place} < 0.06", "right": f"{place} > 0.94"}
    sides["center"] = f"{place} >= 0.06 && {place} <= 0.94"
    layers = []
    for align, where in sides.items():
        text = base.transform_filter(f"isValid({datum(NAME)}) && {where}")
        text = text.mark_text(
            align=align, dx={"left": -3, "right": 3}.get(align, 0), dy=_ABOVE, baseline="bottom",
            fontSize=10, color=theme.SOFT,
        )  # fmt: skip
        layers.append(text.encode(*channels, text=alt.Text(field=field(NAME), type="nominal")))
    return layers


def key_title(key: str) -> alt.TitleParams:
    """The key to numbered points, below a chart."""
    return alt.TitleParams(
        key, orient="bottom", anchor="start", fontSize=11, fontWeight="normal", offset=10,
        color=theme.SOFT, frame="bounds",
    )  # fmt: skip
