"""Bars from zero: beside each other, or stacked as the shares of a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from formlab.charts import theme
from formlab.charts._parts import Plot, field, limits
from formlab.charts.show import Caption


def bars(
    frame: pl.DataFrame,
    y: str = "label",
    x: str = "value",
    *,
    low: str = "ci_low",
    high: str = "ci_high",
    colour: str | None = None,
    n: str | None = None,
    order: Sequence[str] = (),
    facet: str | None = None,
    **options: Any,
) -> alt.TopLevelMixin | Caption:
    """A bar for each row of a frame, with its interval where it has one; parameters as of `dots`.

    Several colours of one row stand below each other. Bars begin at zero.

    Examples
    --------
    >>> counts = pl.DataFrame({"label": ["a", "b"], "value": [3, 1]})
    >>> bars(counts, say="Fields").description
    'Fields: a 3; b 1'
    """
    plot = Plot.of(frame, [x], [y, colour, facet], **options)
    if isinstance(plot, Caption):
        return plot
    rows = _rows(plot, y, order)
    base = plot.base.encode(rows)
    hue = {"color": plot.colour(alt.Color, colour)} if colour else {}
    keys = [name for name in (y, facet) if name]
    offset = {}
    if colour and bool((plot.frame.group_by(keys).agg(pl.len())["len"] > 1).any()):
        sides = plot.values(colour)
        offset["yOffset"] = alt.YOffset(field=field(colour), type="nominal", sort=sides)
    length = _length(plot, x, plot.ends([x, low, high]))
    tip = plot.tooltip(y, colour, x, low, high, *plot.tips)
    layers = [base.mark_bar().encode(length, tooltip=tip, **hue, **offset)]
    if (spans := plot.intervals(base, low, high, x)) is not None:
        layers.append(spans.mark_rule(strokeWidth=2, color=theme.SOFT).encode(**offset))
    if n and plot.has(n):
        groups = [y, facet, colour if offset else None]
        layers.append(plot.counts(plot.base, rows, n, *groups, **offset))
    return plot.facet(_sized(plot, layers), facet, plot.alt_text([facet, y, colour], x, y))


def stacked(
    frame: pl.DataFrame,
    y: str = "label",
    x: str = "share",
    *,
    colour: str,
    pieces: str | None = None,
    n: str | None = None,
    order: Sequence[str] = (),
    facet: str | None = None,
    percent: bool = True,
    **options: Any,
) -> alt.TopLevelMixin | Caption:
    """One bar a row, made of its parts: shares of a whole, or counts; parameters as of `dots`.

    Parameters
    ----------
    frame
        One row a part.
    y, x
        The columns of the bar's name and of the part's size.
    colour
        The column that names the part; parts stand in the order of `colours`.
    pieces
        A column that cuts parts into pieces of the same colour.
    percent
        Whether parts are shares, so that a bar ends at 100 %; else they are counts.

    Examples
    --------
    >>> parts = pl.DataFrame({"label": ["a", "a"], "share": [0.75, 0.25], "what": ["ok", "no"]})
    >>> stacked(parts, colour="what", say="Answers").description
    'Answers: a, ok 0.750; a, no 0.250'
    """
    plot = Plot.of(frame, [x], [y, colour, pieces, facet], percent=percent, **options)
    if isinstance(plot, Caption):
        return plot
    sums = plot.frame.group_by([name for name in (y, facet) if name]).agg(pl.col(x).sum())
    ends = list(plot.domain or ([0, 1] if percent else limits(sums, [x], None)))
    hue = plot.colour(alt.Color, colour)
    places = {name: place for place, name in enumerate(hue.to_dict()["scale"]["domain"])}
    turn = pl.col(colour).replace_strict(places, default=len(places), return_dtype=pl.Int64)
    plot.frame = plot.frame.with_columns(turn.alias("turn"))
    rows = _rows(plot, y, order)
    more = {"detail": alt.Detail(field=field(pieces), type="nominal")} if pieces else {}
    bar = plot.base.mark_bar(stroke="white", strokeWidth=0.7 if pieces else 0).encode(
        _length(plot, x, ends, stack="zero"), rows, hue, alt.Order("turn:Q"),
        tooltip=plot.tooltip(y, colour, pieces, x, *plot.tips), **more,
    )  # fmt: skip
    layers = [bar, plot.counts(plot.base, rows, n, y, facet)] if n and plot.has(n) else [bar]
    return plot.facet(_sized(plot, layers), facet, plot.alt_text([facet, y, colour, pieces], x, y))


def _sized(plot: Plot, layers: list[Any]) -> alt.LayerChart:
    width = plot.width or theme.WIDTH - 180
    return alt.layer(*layers).properties(width=width, height=alt.Step(24))


def _length(plot: Plot, x: str, ends: list[float], **more: Any) -> alt.X:
    """The axis of the bars' lengths, which begins at zero."""
    form: dict[str, Any] = {"format": "%"} if plot.percent else {}
    if plot.frame[x].dtype.is_integer():
        form = {"values": list(range(int(ends[1]) + 1))} if ends[1] < 8 else {"tickMinStep": 1}
    axis = alt.Axis(tickCount=6, labelFlush=False, **form)
    channel = plot.numbers(alt.X, x, axis=axis, **more)
    return channel.scale(domain=[min(0, ends[0]), ends[1]], nice=False)


def _rows(plot: Plot, y: str, order: Sequence[str]) -> alt.Y:
    """The names of the bars, in order; numbers stand in theirs and have a title."""
    if plot.frame[y].dtype.is_numeric():
        return alt.Y(field=field(y), type="ordinal", title=plot.title(y))
    return plot.rows(y, order)
