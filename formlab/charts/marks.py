"""The charts: points with intervals, bars, lines and heat maps of altair, surfaces of plotly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import plotly.graph_objects as go
import polars as pl

from formlab.charts import theme
from formlab.charts.html import number
from formlab.charts.plot import Plot, datum, short
from formlab.charts.words import Caption, note
from formlab.selection import LINES

Drawn = alt.TopLevelMixin | Caption
# The most places of points that an axis of numbers marks.
_PLACES = 25
# Cividis is light enough for dark text from here on.
_LIGHT_FROM = 0.55
# A cell is a block around its middle: wall, top, top, wall, and a gap that parts it from the next.
_EDGES, _GAP = (-0.45, -0.45, 0.45, 0.45, 0.5), (1, 1, 1, 1, np.nan)
_COLOUR = np.outer(_GAP, _GAP)
_HEIGHT = np.outer((0, 1, 1, 0, 0), (0, 1, 1, 0, 0)) * _COLOUR
# A longer name along the surface is shortened there, and whole beside it and on hover.
_TICK = 14


def dots(
    frame: pl.DataFrame,
    y: str = "label",
    x: str = "value",
    *,
    tick: str | None = None,
    zero: bool = False,
    **look: Any,
) -> Drawn:
    """A point for each row of a frame, with its interval where it has one.

    `y` is the column that names the row, or a column of numbers for a scatter; `x` that of values.
    Rows without a value are left out; where no row has one, a note is given. `tick` is a column of
    values to compare with, drawn as a tick in each row. With `zero` a line marks zero, as for
    differences; the axes of a scatter then begin there.

    `look` is what all charts take. Columns: `colour`, whose values have a colour and a shape each;
    several points of one row stand below each other. `kind`, of which one value, `filled`, is a
    filled marker and any other an open one: published figures beside what was measured here. `low`
    and `high`, the ends of the interval, ``ci_low`` and ``ci_high`` if the frame has them. `n`,
    counts at the end of the row. `row` and `column`: a panel for each of their values, below or
    beside each other. `tips` are shown by the tooltip beside those drawn. `titles` are titles of
    columns, `order` the names of the rows from top to bottom. `metric` names the axis and gives it
    its ends, `domain` gives it others; `percent` shows values as percentages. `colours` are those
    of the values of `colour`, if not the theme's. `say` begins the alt text; `empty` is the note if
    there is nothing to draw. `cases` says which column of cases each column of the frame has the
    values of, for a report that leads from a mark to its cases; without it ``slice_by`` and columns
    named as those of cases are taken, with {} none.

    >>> scores = pl.DataFrame({"label": ["a", "b"], "value": [0.5, float("nan")]})
    >>> dots(scores, metric="cer", say="CER by kind").description
    'CER by kind: a 0.500'
    """
    is_scatter = frame[y].dtype.is_numeric()
    look = {"n": "n_cases", "further": tick, "number": y if is_scatter else ""} | look
    plot = Plot.of(frame, x, y, look.get("colour"), look.get("kind"), **look)
    tip, (marks, plain) = plot.tooltip, plot.marks()
    wide = max(150, (theme.WIDTH - 180) // max(1, len(plot.values(plot.column))))
    if is_scatter:
        # Panels may be of different things, and have axes of their own.
        scale = alt.Scale(zero=zero or bool(plot.by))
        axes = [plot.at(channel, name, scale=scale) for channel, name in ((alt.X, x), (alt.Y, y))]
        points = plot.base.encode(*axes, tooltip=tip).mark_point(opacity=0.8, **plain)
        names = [name for name in plot.tips if plot.frame[name].dtype == pl.String]
        plot.labels = [*names[:1], *plot.labels]
        chart = plot.panels(points.encode(**marks).properties(width=wide, height=240), y)
        apart = bool(plot.by) and not isinstance(chart, Caption)
        return chart.resolve_scale(x="independent", y="independent") if apart else chart
    dodge = plot.dodge(y)
    base = plot.base.encode(plot.rows(y), **dodge)
    line = plot.base.mark_rule(strokeDash=[4, 3], color=theme.NEUTRAL).encode(x=alt.datum(0))
    hue = marks.get("stroke", alt.value(theme.GOLD))
    layers = [line] * zero + [rule.encode(tooltip=tip, stroke=hue) for rule in plot.spans(base, x)]
    points = base.mark_point(opacity=1, strokeWidth=2, **plain)
    layers.append(points.encode(plot.length(alt.X, x, tick), tooltip=tip, **marks))
    if tick:
        bar = base.mark_tick(thickness=3, size=16, color=theme.SLATE)
        layers.append(bar.encode(plot.at(alt.X, tick, title=plot.title(x)), tooltip=tip))
    layers += plot.counts(y, dodge)
    chart = alt.layer(*layers).properties(width=wide, height=alt.Step(15 if dodge else 26))
    spacing = 64 if plot.column and plot.has(plot.n) else 32
    return plot.panels(chart, y, spacing=spacing, rows=True)


def bars(frame: pl.DataFrame, y: str = "label", x: str = "value", **look: Any) -> Drawn:
    """A bar from zero for each row of a frame, with its interval; `look` as of `dots`.

    >>> counts = pl.DataFrame({"label": ["a", "b"], "value": [3, 1]})
    >>> bars(counts, say="Fields").description
    'Fields: a 3; b 1'
    """
    plot = Plot.of(frame, x, y, look.get("colour"), **look)
    dodge = plot.dodge(y)
    base = plot.base.encode(plot.rows(y), **dodge)
    hue = {"color": plot.hue(alt.Color)} if plot.colour else {}
    bar = base.mark_bar().encode(plot.length(alt.X, x), **hue)
    return _bars(plot, bar, y, *plot.spans(base, x), **dodge)


def stacked(
    frame: pl.DataFrame,
    y: str = "label",
    x: str = "share",
    *,
    pieces: str | None = None,
    percent: bool = True,
    **look: Any,
) -> Drawn:
    """One bar a row, made of its parts: shares of a whole, or without `percent` counts.

    `y` is the column of the bar's name and `x` that of the part's size. `colour` names the part;
    parts stand in the order of `colours`. `pieces` is a column that cuts parts into pieces of the
    same colour; all else is as of `dots`.

    >>> parts = pl.DataFrame({"label": ["a", "a"], "share": [0.75, 0.25], "what": ["ok", "no"]})
    >>> stacked(parts, colour="what", say="Answers").description
    'Answers: a, ok 0.750; a, no 0.250'
    """
    plot = Plot.of(frame, x, y, look.get("colour"), pieces, percent=percent, **look)
    whole = plot.frame.group_by([y, *[plot.row] * bool(plot.row)]).agg(pl.col(x).sum())
    plot.domain = plot.domain or ([0, 1] if percent else Plot(whole).ends(x))
    hue = plot.hue(alt.Color)
    turns = {name: place for place, name in enumerate(hue.to_dict()["sort"])}
    turn = pl.col(plot.colour).cast(pl.String).replace_strict(turns, return_dtype=pl.Int64)
    plot.frame = plot.frame.with_columns(turn=turn)
    more = {"detail": plot.at(alt.Detail, pieces, type="nominal")} if pieces else {}
    bar = plot.base.mark_bar(stroke="white", strokeWidth=0.7 if pieces else 0)
    length = plot.length(alt.X, x, stack="zero")
    bar = bar.encode(length, plot.rows(y), hue, alt.Order("turn:Q"), **more)
    return _bars(plot, bar, y)


def _bars(plot: Plot, bar: Any, y: str, *spans: Any, **dodge: Any) -> Drawn:
    """Bars with their tooltips and alt text, and above them their intervals and counts."""
    chart = alt.layer(bar.encode(tooltip=plot.tooltip), *spans, *plot.counts(y, dodge))
    chart = chart.properties(width=theme.WIDTH - 180, height=alt.Step(24))
    return plot.panels(chart, y, rows=True)


def lines(
    frame: pl.DataFrame,
    x: str,
    y: str = "value",
    *,
    smooth: str | None = None,
    log: bool = False,
    **look: Any,
) -> Drawn:
    """Points along a column, joined by a line for each colour.

    `x` is a column of names in the frame's order, or of numbers (with `log` on a logarithmic axis).
    `smooth` is a column that the line follows instead of the points, which the axis then says. Of
    `kind` all values but `filled` have open points and dashed lines; all else is as of `dots`.

    >>> rungs = pl.DataFrame({"rung": ["exact", "typed"], "value": [0.25, 0.5]})
    >>> lines(rungs, "rung", say="Ladder").description
    'Ladder: exact 0.250; typed 0.500'
    """
    plot = Plot.of(frame, y, look.get("colour"), look.get("kind"), x, further=smooth, **look)
    if smooth:
        plot.say = plot.say or f"{plot.title(y)} by {plot.title(x)}"
        heading = f"{plot.title(y)} (lines: mean of neighbouring points)"
        plot.titles = {**plot.titles, y: heading, smooth: heading}
    marks, plain = plot.marks()
    hue = {"stroke": marks.get("stroke", alt.value(theme.GOLD))}
    dash = {"strokeDash": marks["strokeDash"]} if plot.kind else {}
    base = plot.base.encode(_along(plot, x, log))
    if plot.colour and (smooth or plot.has(plot.low)) and not plot.is_number(x):
        # Points and intervals of several lines stand beside each other, and each on its line.
        base = base.encode(xOffset=plot.names(alt.XOffset, plot.colour, sort=None))
    points = base.mark_point(opacity=1, strokeWidth=2, **plain)
    chart = alt.layer(
        *(rules.encode(opacity=alt.value(0.6), **hue) for rules in plot.spans(base, y, up=True)),
        base.mark_line().encode(plot.at(alt.Y, smooth or y), **hue, **dash),
        points.encode(plot.length(alt.Y, y), tooltip=plot.tooltip, **marks),
    )
    if not plot.by:
        return plot.panels(chart.properties(width=theme.WIDTH - 160, height=240), x)
    wide = (theme.WIDTH + 60) // max(1, len(plot.values(plot.column))) - 16
    return plot.panels(chart.properties(width=wide, height=130), x, spacing=16)


def _along(plot: Plot, x: str, log: bool) -> alt.X:
    """The axis that lines go along: names in order, or numbers at the places that have points."""
    if not plot.is_number(x):
        return plot.names(alt.X, x, plot.order, title=plot.title(x))
    places = plot.frame[x].drop_nulls().unique().sort().to_list()
    # A line through many points has round numbers instead.
    marked = {"values": places} if len(places) <= _PLACES else {}
    axis = alt.Axis(labelFlush=False, labelOverlap=not log, labelFontSize=11, **marked)
    scale = alt.Scale(zero=False, padding=12)
    if log and places:
        scale = alt.Scale(type="log", domain=[0.8 * places[0], 1.25 * places[-1]])
    return plot.at(alt.X, x, axis=axis, scale=scale)


def heatmap(
    frame: pl.DataFrame,
    x: str,
    y: str,
    value: str = "value",
    *,
    xs: Sequence[str] = (),
    ys: Sequence[str] = (),
    **look: Any,
) -> Drawn:
    """A square for each row of a frame, coloured by its value; cells without one stay empty.

    `x`, `y` and `value` are the columns of the cell's place and of its value, `xs` and `ys` the
    order of columns and rows, empty ones among them. `n` are counts that stand below the value; all
    else is as of `dots`.

    >>> cells = pl.DataFrame({"scope": ["field"], "task": ["vqa"], "value": [0.5]})
    >>> heatmap(cells, "scope", "task", say="Right").description
    'Right: field, vqa 0.500'
    """
    plot = Plot.of(frame, value, x, y, **look)
    (low, high), form = plot.ends(value), ".0%" if plot.percent else ".3~g"
    across, up = list(xs) or plot.values(x), list(ys) or plot.values(y)
    base = plot.base.encode(
        plot.names(alt.X, x, across, title=plot.title(x), scale=alt.Scale(domain=across)),
        plot.names(alt.Y, y, up, title=plot.title(y), scale=alt.Scale(domain=up)),
    )
    scale = alt.Scale(scheme=theme.SCORES, domain=[low, high])
    shade = plot.at(alt.Color, value, title=None, scale=scale, legend=alt.Legend(format=form))
    layers = [base.mark_rect(stroke="white").encode(shade, tooltip=plot.tooltip)]
    # The ground has its own colours on light and dark pages alike, and so has the text on it.
    light = f"({datum(value)} - {low}) / {max(high - low, 1e-9)} > {_LIGHT_FROM}"
    ink = alt.condition(light, alt.value("#1F2328"), alt.value("#FFFFFF"))
    texts = [(f"format({datum(value)}, '{form}')", 13, 600, -6 if plot.n else 0)]
    texts += [(f"'n = ' + format({datum(plot.n)}, ',')", 10, 400, 9)] if plot.n else []
    for shown, size, weight, down in texts:
        label = base.transform_filter(f"isValid({datum(value)})").transform_calculate(text=shown)
        label = label.mark_text(fontSize=size, fontWeight=weight, dy=down)
        layers.append(label.encode(text="text:N", color=ink))
    chart = alt.layer(*layers).properties(width=84 * len(across), height=44 * len(up))
    return plot.panels(chart, spacing=14)


def surface(frame: pl.DataFrame, x: str, y: str, value: str = "value", **look: Any) -> list[Any]:
    """A block for each cell as high as its value, with its interval, and its flat twin beside it.

    The surface is level over a cell and has no slopes: nothing was measured between cells, and
    cells without a value are gaps. Browsers without WebGL draw it flat.

    `x`, `y` and `value` are the columns of the cell's place, in order, and of its value; all else
    is as of `dots`. Gives the surface and its twin, a heat map with value and count in each cell,
    both to be displayed; or a note, where no cell has a value.

    >>> cells = pl.DataFrame({"size": ["1", "2"], "kinds": ["a", "a"], "value": [0.5, 0.25]})
    >>> three_d, flat = surface(cells, "size", "kinds", say="CER")
    >>> flat.description
    'CER: 1, a 0.500; 2, a 0.250'
    """
    frame = frame.with_columns(short(name, pl.String()) for name in (x, y))
    plot = Plot.of(frame, value, x, y, **{"n": "n_cases"} | look)
    if not plot.frame.height:
        return [note(plot.empty)]
    # Cells without a value are gaps between the others.
    xs, ys = (frame[name].unique(maintain_order=True).to_list() for name in (x, y))
    low, high, n = plot.low, plot.high, plot.n if plot.has(plot.n) else None
    ends, form = plot.ends(value, low, high), ".0%" if plot.percent else ".3~g"
    look |= {"titles": {low: "95 % interval from", high: "to", **plot.titles}, "domain": ends}
    flat = heatmap(frame, x, y, value, xs=xs, ys=ys[::-1], **look | {"n": n})
    rows = plot.frame.to_dicts()
    texts = [_hover(plot, row, x, y, value) for row in rows]
    at = [ys.index(row[y]) for row in rows], [xs.index(row[x]) for row in rows]
    # A report leads from a cell to its cases: their lines, by row and column.
    heights, hover, cases = (np.full((len(ys), len(xs)), None) for _ in range(3))
    heights[at], hover[at], cases[at] = plot.frame[value], texts, plot.frame[LINES]
    bar = {"title": {"text": ""}, "tickformat": form, "orientation": "h", "thickness": 12}
    bar |= {"len": 0.6, "y": 1.0, "yanchor": "top", "nticks": 6}
    sides = zip("xy", (xs, ys), strict=True)
    sheet = {side: np.add.outer(range(len(of)), _EDGES).ravel().tolist() for side, of in sides}
    sheet |= {"z": _blocks(heights, _HEIGHT), "surfacecolor": _blocks(heights, _COLOUR)}
    sheet |= {"type": "surface", "cmin": ends[0], "cmax": ends[1], "colorbar": bar}
    # Heights are looked up by y and then x, but custom data by x and then y.
    sheet |= {"customdata": hover.repeat(5, 0).repeat(5, 1).T.tolist()}
    sheet |= {"hovertemplate": "%{customdata}<extra></extra>", "colorscale": theme.PLOTLY_SCORES}
    sheet["contours"] = {axis: {"highlight": False} for axis in "xyz"}
    sheet["lighting"] = {"ambient": 0.85, "diffuse": 0.35, "specular": 0.05, "roughness": 0.9}
    known = [(row.get(low), row[value], row.get(high)) for row in rows]
    known = [(0.0, 0.0, 0.0) if None in interval else interval for interval in known]
    error = {"array": [max(high - value, 0.0) for _, value, high in known], "thickness": 3}
    error |= {"arrayminus": [max(value - low, 0.0) for low, value, _ in known]}
    points = {"x": at[1], "y": at[0], "z": plot.frame[value].to_list(), "text": texts}
    points |= {
        "error_z": error | {"color": theme.PREDICTED},
        "hovertemplate": "%{text}<extra></extra>",
    }
    points |= {"marker": {"size": 3, "color": theme.PREDICTED}, "mode": "markers"}
    points["type"] = "scatter3d"
    scene: dict[str, Any] = {
        "camera": theme.CAMERA | {"center": {"x": 0, "y": 0, "z": -0.15}},
        "aspectmode": "manual",
        "aspectratio": {"x": 1.4, "y": 1.15, "z": 0.8},
        "dragmode": "turntable",
        "zaxis": {"title": {"text": plot.title(value)}, "range": ends, "tickformat": form},
    }
    for side, name, marks in (("x", x, xs), ("y", y, ys)):
        ticks = [mark if len(mark) <= _TICK else mark[: _TICK - 1] + "…" for mark in marks]
        axis = {"title": {"text": f"<br><br>{plot.title(name)}"}}
        axis["range"] = [-0.6, len(marks) - 0.4]
        scene[f"{side}axis"] = axis | {"ticktext": ticks, "tickvals": list(range(len(marks)))}
    meta = {"alt": plot.described(), "cases": cases.tolist()}
    layout = {"scene": scene, "height": theme.SURFACE_HEIGHT, "showlegend": False, "meta": meta}
    return [go.Figure({"data": [sheet, points], "layout": layout}), flat]


def _blocks(cells: np.ndarray, block: np.ndarray) -> list[list[float | None]]:
    """A grid with a block for each cell, times the cell's value; what is undefined is null."""
    grid = np.kron(cells.astype(float), block)
    return np.where(np.isnan(grid), None, grid).tolist()


def _hover(plot: Plot, row: dict[str, Any], x: str, y: str, value: str) -> str:
    """What the pointer shows of a cell. Plotly reads markup in it, so there is none in names."""
    lines = [f"{plot.title(name)}: {row[name]}" for name in (x, y)]
    lines.append(f"{plot.title(value)}: {number(row[value])}")
    low, high = row.get(plot.low), row.get(plot.high)
    if low is not None and high is not None:
        lines.append(f"95 % interval {number(low)} to {number(high)}")
    counts = [(name, row.get(name)) for name in (plot.n, "n_docs")]
    lines += [f"{plot.title(name)}: {count:,}" for name, count in counts if count is not None]
    return "<br>".join(line.replace("<", "‹") for line in lines)
