"""Points with intervals, in rows of names or against a second number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from formlab.charts import theme
from formlab.charts._names import key_title, label_layers, name_points
from formlab.charts._parts import OWN, Plot, field
from formlab.charts.show import Caption


def dots(
    frame: pl.DataFrame,
    y: str = "label",
    x: str = "value",
    *,
    low: str = "ci_low",
    high: str = "ci_high",
    colour: str | None = None,
    kind: str | None = None,
    filled: str = OWN,
    names: str = "system",
    tick: str | None = None,
    size: str | None = None,
    n: str | None = "n_cases",
    order: Sequence[str] = (),
    facet: str | None = None,
    across: bool = False,
    join: bool = False,
    above: bool = False,
    zero: bool = False,
    **options: Any,
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
    colour
        A column whose values have a colour and a shape each. Several points of one row stand
        below each other.
    kind, filled
        A column of which one value, `filled`, is a filled marker, and any other an open one:
        published figures beside what was measured here.
    names
        The column that names open markers at their points, if the frame has it and it names no
        row: in full where that fits, else by numbers with a key below.
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
    zero
        Whether a line marks zero, as for differences; of a scatter, whether its axes begin there.
    options
        What all charts take. `metric` names the axis and gives it its ends, `domain` gives it
        others; `percent` shows values as percentages. `colours` are those of the values of
        `colour`, if not the theme's. `tips` are columns that the tooltip shows beside those
        drawn, `titles` are titles of columns. `say` begins the alt text; `empty` is the note if
        there is nothing to draw. `width` is in pixels. `cases` says which column of cases each
        column of the frame has the values of, for a report that leads from a mark to its cases;
        without it ``slice_by`` and columns named as those of cases are taken, with {} none.

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
    used = [y, colour, kind, tick, size, facet]
    plot = Plot.of(frame, needed, used, style=kind, **options)
    if isinstance(plot, Caption):
        return plot
    seen = [x] if scatter else [x, low, high, *filter(None, [tick])]
    ends = plot.ends(seen, zero=zero or not scatter)
    form = {"format": "%"} if plot.percent else {}
    length = plot.numbers(alt.X, x, axis=alt.Axis(tickCount=6, labelFlush=False, **form))
    # Panels of a scatter may be of different things, and have axes of their own.
    own_axes = scatter and facet is not None
    length = length.scale(zero=True) if own_axes else length.scale(domain=ends, nice=False)
    rows = plot.rows(y, order, named=not above)
    if scatter:
        rows = plot.numbers(alt.Y, y).scale(zero=zero or own_axes)
    dodge = {}
    if colour and not scatter and not join and _shared(plot.frame, [y, facet], colour):
        turns = sorted(plot.values(colour)) if colour == "system" else plot.values(colour)
        dodge = {"yOffset": alt.YOffset(field=field(colour), type="nominal", sort=turns)}
    key = None
    if kind and plot.has(names) and names not in (y, colour, facet):
        sides = {x: ends} | ({y: plot.ends([y], zero=zero)} if scatter else {})
        only = pl.lit(True) if scatter else pl.col(kind) != filled
        groups = [facet, *([] if scatter else [y]), *([colour] if dodge else [])]
        key = name_points(plot, names, sides, only=only, groups=groups)
    base = plot.base.encode(rows, **dodge)
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
    marks = _marks(plot, colour, kind, filled)
    hue = {"stroke": marks["stroke"]} if marks else {}
    tip = plot.tooltip(y, colour, kind, x, low, high, tick, size, *plot.tips)
    spans = None if scatter else plot.intervals(base, low, high, x)
    if spans is not None:
        spans = spans.mark_rule(strokeWidth=2, **({} if hue else {"color": theme.GOLD}))
        layers.append(spans.encode(tooltip=tip, **hue))
    plain = {} if marks else {"color": theme.GOLD}
    if size:
        marks["size"] = plot.numbers(alt.Size, size).scale(range=[30, 220], domainMin=0)
    # A hollow marker needs room for its hole.
    large = {"size": 60} if kind and colour else {}
    points = base.mark_point(opacity=0.8 if scatter else 1, strokeWidth=2, **plain, **large)
    layers.append(points.encode(length, tooltip=tip, **marks))
    if key is not None:
        layers += label_layers(base, x, [length], ends)
    if tick:
        mark = base.mark_tick(thickness=3, size=16, color="#555B66")
        layers.append(mark.encode(plot.numbers(alt.X, tick, x), tooltip=tip))
    if n and plot.has(n) and not scatter and not join:
        groups = [y, facet, colour if dodge else None]
        layers.append(plot.counts(plot.base, rows, n, *groups, **dodge))
    if above:
        name = plot.base.mark_text(
            align="left", baseline="bottom", dy=-7, fontSize=12, limit=theme.PHONE,
            color=theme.SOFT,
        )  # fmt: skip
        text = alt.Text(field=field(y), type="nominal")
        layers.append(name.encode(rows, x=alt.value(0), text=text))
    many = len(plot.values(colour)) if dodge else 1
    step = 36 if above else 26 if many == 1 else 15
    height = 240 if scatter else alt.Step(step if key is None else max(step + 5, 20))
    wide = plot.width or (theme.PHONE if above else theme.WIDTH - 180)
    if across and not plot.width:
        wide = max(150, wide // max(1, len(plot.values(facet))))
    chart = alt.layer(*layers).properties(width=wide, height=height)
    # A point of a scatter has no name of its own.
    named = [name for name in plot.tips if plot.frame[name].dtype == pl.String] if scatter else []
    text = plot.alt_text([facet, *named[:1], y, colour, kind], x, y)
    counted = n and plot.has(n) and across and not scatter
    drawn = plot.facet(chart, facet, text, across=across, spacing=64 if counted else 32)
    drawn = drawn.properties(title=key_title(key)) if key else drawn
    return drawn.resolve_scale(x="independent") if own_axes else drawn


def _shared(frame: pl.DataFrame, rows: Sequence[str | None], colour: str) -> bool:
    """Whether a row has points of several colours."""
    keys = [name for name in dict.fromkeys(rows) if name]
    if colour in keys:
        return False
    return bool((frame.group_by(keys).agg(pl.col(colour).n_unique())[colour] > 1).any())


def _marks(plot: Plot, colour: str | None, kind: str | None, filled: str) -> dict[str, Any]:
    """The channels of colour and shape, and which markers are filled."""
    marks: dict[str, Any] = {}
    if colour:
        channels = {"stroke": alt.Stroke, "fill": alt.Fill, "shape": alt.Shape}
        marks = {name: plot.colour(channel, colour) for name, channel in channels.items()}
    if not kind:
        return marks
    known = plot.values(kind)
    names = [filled, *(name for name in known if name != filled)]
    key = alt.Legend(
        title=plot.titles.get(kind), orient="top", symbolStrokeWidth=2, labelLimit=theme.PHONE
    )
    over: dict[str, Any] = {"field": field(kind), "type": "nominal", "sort": names}
    over["legend"] = key if len(known) > 1 else None

    def scale(own: Any, other: Any, **more: Any) -> alt.Scale:
        return alt.Scale(domain=names, range=[own, *[other] * (len(names) - 1)], **more)

    if not colour:
        marks["stroke"] = alt.Stroke(**over, scale=scale(theme.GOLD, theme.PREDICTED))
        return marks | {"fill": alt.Fill(**over, scale=scale(theme.GOLD, "transparent"))}
    # Vega has no legend of fills' opacity, so open markers are dashed as well. Without its type
    # the scale would interpolate between the values.
    opacity = scale(1.0, 0.0, type="ordinal")
    marks["fillOpacity"] = alt.FillOpacity(**over | {"legend": None}, scale=opacity)
    if over["legend"]:
        key["symbolStrokeColor"], key["symbolFillColor"] = theme.SOFT, "transparent"
        marks["strokeDash"] = alt.StrokeDash(**over, scale=scale([1, 0], [2, 2]))
    return marks | {"fill": plot.colour(alt.Fill, colour, legend=False)}
