"""Lines along a column, and slopes between two ranks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from formlab.charts import theme
from formlab.charts._parts import OWN, Plot, datum, field
from formlab.charts.show import Caption
from formlab.selection import LINES

# The most places of points that an axis of numbers marks.
_PLACES = 25


def lines(
    frame: pl.DataFrame,
    x: str,
    y: str = "value",
    *,
    low: str = "ci_low",
    high: str = "ci_high",
    colour: str | None = None,
    smooth: str | None = None,
    band: bool = False,
    kind: str | None = None,
    filled: str = OWN,
    size: str | None = None,
    n: str | None = None,
    order: Sequence[str] = (),
    log: bool = False,
    row: str | None = None,
    column: str | None = None,
    **options: Any,
) -> alt.TopLevelMixin | Caption:
    """Points along a column, joined by a line for each colour; parameters as of `dots`.

    Parameters
    ----------
    frame
        One row a point.
    x
        Names in the frame's order, or numbers (with `log` on a logarithmic axis).
    smooth
        A column that the line follows instead of the points, which the axis then says.
    band
        Whether intervals are a band instead of bars.
    kind, filled
        A column of which all values but `filled` have open points and dashed lines.
    n
        A column of counts that stand above the points.
    row, column
        A panel for each value of these columns.

    Examples
    --------
    >>> rungs = pl.DataFrame({"rung": ["exact", "typed"], "value": [0.25, 0.5]})
    >>> lines(rungs, "rung", say="Ladder").description
    'Ladder: exact 0.250; typed 0.500'
    """
    used = [x, colour, smooth, kind, size, row, column]
    plot = Plot.of(frame, [y], used, style=kind, **options)
    if isinstance(plot, Caption):
        return plot
    ends = plot.ends([y, low, high])
    text = plot.alt_text([row, column, colour, kind, x], y, x)
    along = _along(plot, x, order, log=log)
    plot.crossed(row, column)
    form = {"format": "%"} if plot.percent else {}
    heading = plot.title(y) + (" (lines: mean of neighbouring points)" if smooth else "")
    plot.titles = {**plot.titles, y: heading}
    up = plot.numbers(alt.Y, y, axis=alt.Axis(tickCount=5, **form)).scale(domain=ends, nice=False)
    base = plot.base.encode(along)
    hue = {"color": plot.colour(alt.Color, colour)} if colour else {}
    shape = {"shape": plot.colour(alt.Shape, colour)} if colour else {}
    offset: dict[str, Any] = {}
    beside = smooth or (plot.has(low) and not band)
    if colour and beside and not plot.frame[x].dtype.is_numeric():
        # Points and intervals of several lines stand beside each other, and each on its line.
        offset = {"xOffset": alt.XOffset(field=field(colour), type="nominal")}
    tip = plot.tooltip(colour, kind, x, y, low, high, smooth, size, row, column, *plot.tips)
    layers = []
    if (spans := plot.intervals(base, low, high, y, up=True)) is not None:
        if band:
            spans = spans.mark_area(opacity=0.18)
        else:
            spans = spans.mark_rule(strokeWidth=2, opacity=0.6)
        layers.append(spans.encode(**hue, **offset))
    at = plot.numbers(alt.Y, smooth or y, y)
    if size:
        shape["size"] = alt.Size(field=field(size), type="quantitative", legend=None)
        shape["size"] = shape["size"].scale(range=[25, 140], domainMin=0)
    plain = {} if hue else {"color": theme.GOLD}
    for own in (True, False) if kind else (True,):
        part = base
        if kind:
            part = base.transform_filter(f"{datum(kind)} {'=' if own else '!'}== '{filled}'")
        line = part.mark_line(strokeDash=[1, 0] if own else [4, 3], **plain)
        point = part.mark_point(opacity=1, filled=own, **plain)
        layers.append(line.encode(at, **hue, **offset))
        layers.append(point.encode(up, tooltip=tip, **hue, **shape, **offset))
    if n and plot.has(n):
        above = base.transform_aggregate(n=f"max({field(n)})", groupby=[field(x)])
        above = above.mark_text(fontSize=10, baseline="top", color=theme.NEUTRAL)
        layers.append(above.encode(y=alt.value(-14), text=alt.Text("n:Q", format=",")))
    chart = alt.layer(*layers)
    if row is None and column is None:
        wide = plot.width or theme.WIDTH - 160
        return chart.properties(width=wide, height=240, description=text)
    across = max(1, len(plot.values(column)))
    wide = plot.width or (theme.WIDTH + 60) // across - 16
    # Long names of rows stand over their panels, where they are whole.
    over = {} if column else {"labelOrient": "top"}
    head = alt.Header(title=None, labelFontSize=13, labelAnchor="start", **over)
    chart = chart.properties(width=wide, height=130)
    return plot.grid(chart, text, row, column, spacing=16, header=head)


def _along(plot: Plot, x: str, order: Sequence[str], *, log: bool) -> alt.X:
    """The axis that lines go along: names in order, or numbers at the places that have points."""
    title = plot.title(x)
    if not plot.frame[x].dtype.is_numeric():
        return alt.X(
            field=field(x), type="nominal", title=title, sort=list(order) or plot.values(x)
        )
    places = plot.frame[x].drop_nulls().unique().sort().to_list()
    # A line through many points has round numbers instead.
    marked = {"values": places} if len(places) <= _PLACES else {}
    axis = alt.Axis(labelFlush=False, labelOverlap=not log, labelFontSize=11, **marked)
    channel = plot.numbers(alt.X, x, axis=axis)
    if log:
        return channel.scale(type="log", domain=[0.8 * places[0], 1.25 * places[-1]])
    return channel.scale(zero=False, padding=12)


def slope(
    frame: pl.DataFrame,
    left: str,
    right: str,
    name: str = "system",
    *,
    colour: str | None = None,
    **options: Any,
) -> alt.TopLevelMixin | Caption:
    """A line from each row's rank by one column to its rank by another, the first rank on top.

    Parameters
    ----------
    frame
        One row a system.
    left, right
        The columns of ranks.
    name
        The column of names; those of one rank share a line of text.

    Examples
    --------
    >>> ranks = pl.DataFrame({"system": ["a", "b"], "text": [1, 2], "facts": [2, 1]})
    >>> slope(ranks, "text", "facts", say="Ranks").description
    'Ranks: a 1, 2; b 2, 1'
    """
    plot = Plot.of(frame, [left, right], [name, colour], **options)
    if isinstance(plot, Caption):
        return plot
    sides = {left: plot.title(left), right: plot.title(right)}
    keep = dict.fromkeys([name, *filter(None, [colour]), *plot.tips, LINES])
    long = plot.frame.unpivot(
        [left, right], index=list(keep), variable_name="by", value_name="rank"
    )
    # Names of one rank would cover each other.
    first = pl.col(name).cum_count().over("by", "rank") == 1
    names = pl.when(first).then(pl.col(name).str.join(", ").over("by", "rank"))
    texts = pl.format("{}   {}", names, "rank"), pl.format("{}   {}", "rank", names)
    both = pl.when(pl.col("by") == left).then(texts[0]).otherwise(texts[1])
    drawn = dataclasses.replace(
        plot, frame=long.with_columns(both.alias("names"), pl.col("by").replace(sides))
    )
    # Outwards, as the names below: on a phone the two columns stand close.
    outwards = {"condition": {"test": "datum.index === 0", "value": "right"}, "value": "left"}
    across = alt.Axis(
        orient="top", domain=False, ticks=False, labelFontSize=13, title=None, labelAlign=outwards
    )
    last = float(plot.frame.select(pl.max_horizontal(left, right).max()).item())
    scale = alt.Scale(reverse=True, nice=False, zero=False, domain=[0.6, last + 0.4])
    base = drawn.base.encode(
        alt.X("by:N", axis=across, sort=list(sides.values())).scale(padding=0.9),
        alt.Y("rank:Q", axis=None, scale=scale),
        **({"color": drawn.colour(alt.Color, colour)} if colour else {}),
    )
    tip = drawn.tooltip(name, "by", "rank", colour, *plot.tips)
    layers = [
        base.mark_line().encode(detail=alt.Detail(field=field(name), type="nominal")),
        base.mark_point(opacity=1).encode(tooltip=tip),
    ]
    for title, align, gap in ((sides[left], "right", -12), (sides[right], "left", 12)):
        side = base.transform_filter(alt.FieldEqualPredicate(field="by", equal=title))
        side = side.transform_filter("isValid(datum.names)")
        layers.append(side.mark_text(align=align, dx=gap, fontSize=12).encode(text="names:N"))
    rows = plot.frame.select(name, left, right).rows()
    text = "; ".join(f"{who} {a:g}, {b:g}" for who, a, b in rows)
    return alt.layer(*layers).properties(
        width=480, height=26 * max(int(last), 2) + 20,
        description=f"{plot.say or f'{sides[left]} and {sides[right]}'}: {text}",
    )  # fmt: skip
