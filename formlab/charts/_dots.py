"""Points with intervals, in rows of names or against a second number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from formlab.charts import theme
from formlab.charts._parts import NOTHING, OWN, Plot, datum, field, limits, note
from formlab.charts.show import Caption


def dots(
    frame: pl.DataFrame,
    y: str = "label",
    x: str = "value",
    *,
    low: str = "ci_low",
    high: str = "ci_high",
    colour: str | None = None,
    colours: Mapping[str, str] | None = None,
    kind: str | None = None,
    filled: str = OWN,
    tick: str | None = None,
    size: str | None = None,
    n: str | None = "n_cases",
    order: Sequence[str] = (),
    facet: str | None = None,
    across: bool = False,
    join: bool = False,
    above: bool = False,
    metric: str | None = None,
    percent: bool = False,
    domain: Sequence[float] | None = None,
    zero: bool = False,
    tips: Sequence[str] = (),
    titles: Mapping[str, str] | None = None,
    say: str = "",
    empty: str = NOTHING,
    width: int | None = None,
) -> alt.TopLevelMixin | Caption:
    """A point for each row of a frame, with its interval where it has one.

    Parameters
    ----------
    frame
        One row a point. Rows without a value are left out.
    y, x
        The column that names the row, or a column of numbers for a scatter; the column of values.
    low, high
        The ends of the interval; drawn if the frame has them.
    colour, colours
        A column whose values have a colour and a shape each; the colours, if not the theme's.
        Several points of one row stand below each other.
    kind, filled
        A column of which one value, `filled`, is a filled marker, and any other an open one:
        published figures beside what was measured here.
    tick
        A column of values to compare with, drawn as a tick in each row.
    size
        A column that the points' size shows.
    n
        A column of counts that stand at the end of the row; left out where rows have several.
    order
        The names of the rows from top to bottom; the frame's own order if left out.
    facet, across
        A panel for each value of this column, below each other, or beside each other.
    join
        Whether a line joins the points of a row, which then share it.
    above
        Whether names stand above their points: long ones leave a phone no room beside them.
    metric
        Names the axis and gives it its ends.
    percent
        Whether values are shown as percentages.
    domain
        The ends of the axis; zero and the metric's own if left out.
    zero
        Whether a line marks zero, as for differences; of a scatter, whether its axes begin there.
    tips
        Columns that the tooltip shows beside those drawn.
    titles
        What columns are called on axes, in legends and tooltips.
    say
        The beginning of the alt text.
    empty
        What to say where there is nothing to draw.
    width
        In pixels.

    Returns
    -------
    altair chart
        Or a note, where no row has a value.

    Examples
    --------
    >>> scores = pl.DataFrame({"label": ["a", "b"], "value": [0.5, float("nan")]})
    >>> dots(scores, metric="cer", say="CER by kind").description
    'CER by kind: a 0.500'
    """
    scatter = y in frame.columns and frame[y].dtype.is_numeric()
    needed = [x, y] if scatter else [x]
    plot = Plot.of(
        frame, needed, [y, colour, kind, tick, size, facet, *tips], titles=titles,
        percent=percent, metric=metric,
    )  # fmt: skip
    if plot is None:
        return note(empty)
    seen = [x] if scatter else [x, low, high, *filter(None, [tick])]
    ends = list(domain or limits(plot.frame, seen, metric, zero=zero or not scatter))
    form = {"format": "%"} if percent else {}
    across_axis = alt.Axis(tickCount=6, labelFlush=False, **form)
    length = alt.X(field=field(x), type="quantitative", title=plot.title(x), axis=across_axis)
    # Panels of a scatter may be of different things, and have axes of their own.
    own_axes = scatter and facet is not None
    length = length.scale(zero=True) if own_axes else length.scale(domain=ends, nice=False)
    channel: dict[str, Any] = {"x": length}
    channel["y"] = _rows(plot, y, order, above=above, zero=zero or own_axes)
    dodge = {}
    if colour and not scatter and not join and _shared(plot.frame, [y, facet], colour):
        names = sorted(plot.values(colour)) if colour == "system" else plot.values(colour)
        dodge = {"yOffset": alt.YOffset(field=field(colour), type="nominal", sort=names)}
    base = plot.base.encode(channel["y"], **dodge)
    layers = []
    if zero and not scatter:
        rule = plot.base.mark_rule(strokeDash=[4, 3], color=theme.NEUTRAL)
        layers.append(rule.encode(x=alt.datum(0)))
    if join:
        line = base.transform_aggregate(
            left=f"min({field(x)})", right=f"max({field(x)})",
            groupby=[field(name) for name in filter(None, [y, facet])],
        ).mark_rule(strokeWidth=1.5, color=theme.NEUTRAL)  # fmt: skip
        layers.append(line.encode(alt.X("left:Q", title=plot.title(x)), alt.X2("right:Q")))
    marks = _marks(plot, colour, colours, kind, filled)
    hue = {"stroke": marks["stroke"]} if marks else {}
    tip = plot.tooltip(y, colour, kind, x, low, high, tick, size, *tips)
    if plot.has(low) and plot.has(high) and not scatter:
        span = base.transform_filter(f"isValid({datum(low)}) && isValid({datum(high)})")
        span = span.mark_rule(strokeWidth=2, **({} if hue else {"color": theme.GOLD}))
        start = alt.X(field=field(low), type="quantitative", title=plot.title(x))
        layers.append(span.encode(start, alt.X2(field=field(high)), tooltip=tip, **hue))
    plain = {} if marks else {"color": theme.GOLD}
    if size:
        marks["size"] = alt.Size(field=field(size), type="quantitative", title=plot.title(size))
        marks["size"] = marks["size"].scale(range=[30, 220], domainMin=0)
    # A hollow marker needs room for its hole.
    large = {"size": 60} if kind and colour else {}
    points = base.mark_point(opacity=0.8 if scatter else 1, strokeWidth=2, **plain, **large)
    layers.append(points.encode(channel["x"], tooltip=tip, **marks))
    if tick:
        mark = base.mark_tick(thickness=3, size=16, color="#555B66")
        at = alt.X(field=field(tick), type="quantitative", title=plot.title(x))
        layers.append(mark.encode(at, tooltip=tip))
    if n and plot.has(n) and not scatter and not join:
        groups = [y, facet, colour if dodge else None]
        layers.append(plot.counts(plot.base, channel["y"], n, *groups, **dodge))
    if above:
        name = plot.base.mark_text(
            align="left", baseline="bottom", dy=-7, fontSize=12, limit=theme.PHONE,
            color=theme.SOFT,
        )  # fmt: skip
        name = name.encode(
            channel["y"], x=alt.value(0), text=alt.Text(field=field(y), type="nominal")
        )
        layers.append(name)
    many = len(plot.values(colour)) if dodge else 1
    height = 240 if scatter else alt.Step(36 if above else 26 if many == 1 else 15)
    wide = width or (theme.PHONE if above else theme.WIDTH - 180)
    if across and not width:
        wide = max(150, wide // max(1, len(plot.values(facet))))
    chart = alt.layer(*layers).properties(width=wide, height=height)
    said = say or plot.heading(x, y)
    # A point of a scatter has no name of its own.
    named = [name for name in tips if frame[name].dtype == pl.String] if scatter else []
    text = plot.alt_text(said, [facet, *named[:1], y, colour, kind], x)
    counted = n and plot.has(n) and across and not scatter
    drawn = plot.facet(chart, facet, text, across=across, spacing=64 if counted else 32)
    return drawn.resolve_scale(x="independent") if own_axes else drawn


def _rows(plot: Plot, y: str, order: Sequence[str], *, above: bool, zero: bool) -> alt.Y:
    """The channel of the rows: names in order, or an axis of numbers."""
    if plot.frame[y].dtype.is_numeric():
        return alt.Y(field=field(y), type="quantitative", title=plot.title(y)).scale(zero=zero)
    axis = None if above else alt.Axis(labelLimit=theme.PHONE)
    return alt.Y(
        field=field(y), type="nominal", title=None, axis=axis, sort=list(order) or plot.values(y)
    )


def _shared(frame: pl.DataFrame, rows: Sequence[str | None], colour: str) -> bool:
    """Whether a row has points of several colours."""
    keys = [name for name in dict.fromkeys(rows) if name]
    if colour in keys:
        return False
    return bool((frame.group_by(keys).agg(pl.col(colour).n_unique())[colour] > 1).any())


def _marks(
    plot: Plot, colour: str | None, colours: Mapping[str, str] | None, kind: str | None, filled: str
) -> dict[str, Any]:
    """The channels of colour and shape, and which markers are filled."""
    marks: dict[str, Any] = {}
    if colour:
        marks["stroke"] = plot.colour(alt.Stroke, colour, colours)
        marks["fill"] = plot.colour(alt.Fill, colour, colours)
        marks["shape"] = plot.colour(alt.Shape, colour, colours)
    if kind:
        there = plot.values(kind)
        names = [filled, *(name for name in there if name != filled)]
        own = [name == filled for name in names]
        key = alt.Legend(
            title=plot.titles.get(kind), orient="top", symbolStrokeWidth=2, labelLimit=theme.PHONE
        )
        over = {"field": field(kind), "type": "nominal", "sort": names}
        over["legend"] = key if len(there) > 1 else None
        if colour:
            # Vega has no legend of fills' opacity, so open markers are dashed as well. Without its
            # type the scale would be one of places, with values between those given.
            opacities = [float(one) for one in own]
            scale = alt.Scale(type="ordinal", domain=names, range=opacities)
            marks["fillOpacity"] = alt.FillOpacity(**over | {"legend": None}, scale=scale)
            if over["legend"]:
                key["symbolStrokeColor"], key["symbolFillColor"] = theme.SOFT, "transparent"
                dashes = [[1, 0] if one else [2, 2] for one in own]
                scale = alt.Scale(domain=names, range=dashes)
                marks["strokeDash"] = alt.StrokeDash(**over, scale=scale)
            marks["fill"] = plot.colour(alt.Fill, colour, colours, legend=False)
        else:
            edges = [theme.GOLD if one else theme.PREDICTED for one in own]
            fills = [theme.GOLD if one else "transparent" for one in own]
            marks["stroke"] = alt.Stroke(**over, scale=alt.Scale(domain=names, range=edges))
            marks["fill"] = alt.Fill(**over, scale=alt.Scale(domain=names, range=fills))
    return marks
