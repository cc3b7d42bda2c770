"""The charts: points with intervals, bars, lines and heat maps of altair, surfaces of plotly."""

import json
from typing import Any

import altair as alt
import numpy as np
import plotly.graph_objects as go
import polars as pl

from formlab.charts import theme
from formlab.charts.html import ASSETS
from formlab.charts.plot import HIGH, LABEL, LOW, Drawn, Plot, datum
from formlab.charts.words import note
from formlab.selection import LINES

# The most places of points that an axis of numbers marks.
_PLACES = 25
# Cividis is light enough for dark text from here on.
_LIGHT_FROM = 0.55
# A cell is a block around its middle: wall, top, top, wall, and a gap that parts it from the next.
_EDGES, _GAP = (-0.45, -0.45, 0.45, 0.45, 0.5), (1, 1, 1, 1, np.nan)
_COLOUR = np.outer(_GAP, _GAP)
_HEIGHT = np.outer((0, 1, 1, 0, 0), (0, 1, 1, 0, 0)) * _COLOUR
# The looks of a surface, as plotly has them.
_SURFACE = (ASSETS / "surface.json").read_text("utf-8")


def dots(frame: pl.DataFrame, y: str = "label", x: str = "value", **look: Any) -> Drawn:
    """A point for each row of a frame, with its interval where it has one.

    `y` is the column that names the row, or one of numbers for a scatter; `x` that of values. Rows
    without a value are left out; where none has one, a note is given.

    `look` is what all charts take. Columns: `colour`, whose values have a colour and a shape each;
    `kind`, of which one value, `filled`, is a filled marker and any other an open one: published
    figures beside what was measured here; `further`, values to compare with, drawn as ticks; `n`,
    counts at the end of the row; `row` and `column`, a panel for each of their values, below or
    beside each other; `tips`, shown by the tooltip as well. Intervals are from ``ci_low`` to
    ``ci_high``. `titles` are titles of columns, `order` the names of the rows from top to bottom,
    `colours` those of the values of `colour`, if not the theme's. `metric` names the axis and gives
    it its ends, `domain` gives it others; `percent` shows percentages; with `zero` a line marks
    zero, as for differences; `empty` is the note if there is nothing to draw. `cases` says which
    column of cases each column of the frame has the values of, for a report that leads from a mark
    to its cases; without it ``slice_by`` and columns named as those of cases are taken, with {}
    none.

    >>> scores = pl.DataFrame({"label": ["a", "b"], "value": [0.5, float("nan")]})
    >>> dots(scores, metric="cer").description
    'character error rate (CER): a 0.500'
    """
    plot = Plot(frame, x, [y], **{"n": "n_cases"} | look)
    tip, marks = plot.tooltip, plot.marks()
    wide = max(150, (theme.WIDTH - 180) // max(1, len(plot.values(plot.column))))
    if plot.is_number(y):
        points = plot.base.mark_point(opacity=0.8).properties(width=wide, height=240)
        points = points.encode(plot.at(alt.X, x), plot.at(alt.Y, y), tooltip=tip, **marks)
        plot.labels += [name for name in plot.tips if plot.frame[name].dtype == pl.String][:1]
        # Panels may be of different things, and have axes of their own.
        return plot.panels(points, apart="xy")
    base = plot.base.encode(plot.rows, **plot.dodge)
    points = base.mark_point(opacity=1, strokeWidth=2)
    line = plot.base.mark_rule(strokeDash=[4, 3], color=theme.NEUTRAL).encode(x=alt.datum(0))
    layers = [
        *[line] * plot.zero,
        *(rule.encode(tooltip=tip, stroke=marks["stroke"]) for rule in plot.spans(base)),
        points.encode(plot.length(alt.X), tooltip=tip, **marks),
    ]
    if plot.further:
        tick = base.mark_tick(thickness=3, size=16, color=theme.SLATE)
        layers.append(tick.encode(plot.at(alt.X, plot.further, title=plot.title(x)), tooltip=tip))
    chart = alt.layer(*layers, *plot.counts(**plot.dodge))
    chart = chart.properties(width=wide, height=alt.Step(15 if plot.dodge else 26))
    spacing = 64 if plot.column and plot.has(plot.n) else 32
    return plot.panels(chart, spacing=spacing, apart="xy" * bool(plot.row))


def bars(frame: pl.DataFrame, y: str = "label", x: str = "value", **look: Any) -> Drawn:
    """A bar from zero for each row of a frame, with its interval, or made of its parts.

    With `colour` each row of the frame is a part of a bar, named by that column, and with `percent`
    a share of it; parts stand in the order of `colours`. All else is as of `dots`.

    >>> counts = pl.DataFrame({"label": ["a", "b"], "value": [3, 1]})
    >>> bars(counts).description
    'value: a 3; b 1'
    """
    plot = Plot(frame, x, [y], **look)
    if plot.colour:
        sums = plot.frame.group_by(y, *plot.by).agg(pl.col(x).sum())
        plot.domain = plot.domain or ([0, 1] if plot.percent else Plot(sums, x, [y]).ends())
        hue, spans = plot.hue(alt.Color), []
        turn = pl.col(plot.colour).cast(pl.String).cast(pl.Enum(hue.to_dict()["sort"]))
        plot.frame = plot.frame.with_columns(turn=turn.to_physical().cast(pl.Int64))
        parts = [plot.length(alt.X, stack="zero"), hue, alt.Order("turn:Q")]
    else:
        parts, spans = [plot.length(alt.X)], plot.spans(plot.base.encode(plot.rows))
    bar = plot.base.mark_bar().encode(plot.rows, *parts, tooltip=plot.tooltip)
    chart = alt.layer(bar, *spans, *plot.counts())
    chart = chart.properties(width=theme.WIDTH - 180, height=alt.Step(24))
    return plot.panels(chart, apart="y" * bool(plot.row))


def lines(frame: pl.DataFrame, x: str, y: str = "value", **look: Any) -> Drawn:
    """Points along a column, joined by a line for each colour.

    `x` is a column of names in the frame's order, or of numbers (with `log` on a logarithmic axis).
    `further` is a column that the line follows instead of the points. Of `kind` all values but
    `filled` have open points and dashed lines; all else is as of `dots`.

    >>> rungs = pl.DataFrame({"rung": ["exact", "typed"], "value": [0.25, 0.5]})
    >>> lines(rungs, "rung").description
    'value by rung: exact 0.250; typed 0.500'
    """
    plot = Plot(frame, y, [x], **look)
    marks = plot.marks()
    course = {name: marks[name] for name in ("stroke", "strokeDash") if name in marks}
    if plot.is_number(x):
        places = plot.frame[x].unique().sort().to_list()
        # A line through many points has round numbers instead.
        axis = alt.Axis(labelFlush=False, labelOverlap=not plot.log, labelFontSize=11)
        axis.values = places if len(places) <= _PLACES else alt.Undefined
        scale = alt.Scale(zero=False, padding=12)
        if plot.log and places:
            scale = alt.Scale(type="log", domain=[0.8 * places[0], 1.25 * places[-1]])
        base = plot.base.encode(plot.at(alt.X, x, axis=axis, scale=scale))
    else:
        # Each panel has its own names, in the order of the first layer, which has all rows.
        base = plot.base.encode(plot.at(alt.X, x, sort=[*plot.order] or None))
        if plot.colour and plot.has(LOW):
            # Points and intervals of several lines stand beside each other, and each on its line.
            base = base.encode(xOffset=plot.names(alt.XOffset, plot.colour, sort=None))
    points, spans = base.mark_point(opacity=1, strokeWidth=2), plot.spans(base, up=True)
    chart = alt.layer(
        base.mark_line().encode(plot.at(alt.Y, plot.further or y), **course),
        *(rule.encode(opacity=alt.value(0.6), stroke=marks["stroke"]) for rule in spans),
        points.encode(plot.length(alt.Y), tooltip=plot.tooltip, **marks),
    )
    wide, high = theme.WIDTH - 160, 240
    if plot.by:
        wide, high = (theme.WIDTH + 60) // max(1, len(plot.values(plot.column))) - 16, 130
    return plot.panels(
        chart.properties(width=wide, height=high), spacing=16, apart=("x", "xOffset")
    )


def heatmap(frame: pl.DataFrame, x: str, y: str, value: str = "value", **look: Any) -> Drawn:
    """A square for each row of a frame, coloured by its value; cells without one stay empty.

    `x`, `y` and `value` are the columns of the cell's place and of its value, `across` and `order`
    the names from left to right and from top to bottom, empty ones among them. `n` are counts that
    stand below the value; all else is as of `dots`.

    >>> cells = pl.DataFrame({"scope": ["field"], "task": ["vqa"], "value": [0.5]})
    >>> heatmap(cells, "scope", "task").description
    'value by scope: field, vqa 0.500'
    """
    plot = Plot(frame, value, [x, y], **look)
    (low, high), form = plot.ends(), ".0%" if plot.percent else ".3~g"
    across, up = [*plot.across] or plot.values(x), [*plot.order] or plot.values(y)
    base = plot.base.encode(
        plot.names(alt.X, x, across, title=plot.title(x), scale=alt.Scale(domain=across)),
        plot.names(alt.Y, y, up, title=plot.title(y), scale=alt.Scale(domain=up)),
    )
    scale = alt.Scale(scheme=theme.SCORES, domain=[low, high])
    key = alt.Legend(format=form, orient="right")
    shade = plot.at(alt.Color, value, title=None, scale=scale, legend=key)
    # The ground has its own colours on light and dark pages alike, and so has the text on it.
    light = f"({datum(value)} - {low}) / {max(high - low, 1e-9)} > {_LIGHT_FROM}"
    ink = alt.condition(light, alt.value("#1F2328"), alt.value("#FFFFFF"))
    text = f"format({datum(value)}, '{form}')"
    text += f" + '|n = ' + format({datum(plot.n)}, ',')" if plot.n else ""
    label = base.transform_calculate(text=text).encode(text="text:N", color=ink)
    label = label.mark_text(fontSize=12, lineBreak="|", dy=-6 if plot.n else 0)
    square = base.mark_rect(stroke="white").encode(shade, tooltip=plot.tooltip)
    chart = alt.layer(square, label).properties(width=84 * len(across), height=44 * len(up))
    return plot.panels(chart, spacing=14)


def surface(frame: pl.DataFrame, x: str, y: str, value: str = "value", **look: Any) -> list[Any]:
    """A block for each cell as high as its value, with its interval, and its flat twin beside it.

    The surface is level over a cell and has no slopes: nothing was measured between cells, and
    cells without a value are gaps. Browsers without WebGL draw it flat.

    `x`, `y` and `value` are the columns of the cell's place, in order, and of its value; all else
    is as of `dots`. Gives the surface and its twin, a heat map with value and count in each cell,
    both to be displayed; or a note, where no cell has a value.

    >>> cells = pl.DataFrame({"size": ["1", "2"], "kinds": ["a", "a"], "value": [0.5, 0.25]})
    >>> three_d, flat = surface(cells, "size", "kinds")
    >>> flat.description
    'value by size: 1, a 0.500; 2, a 0.250'
    """
    frame = frame.with_columns(pl.col(x, y).cast(pl.String).str.head(LABEL))
    plot = Plot(frame, value, [x, y], **{"n": "n_cases"} | look)
    if not plot.frame.height:
        return [note(plot.empty)]
    # Cells without a value are gaps between the others.
    xs, ys = (frame[name].unique(maintain_order=True).to_list() for name in (x, y))
    plot.titles = {LOW: "95 % interval from", HIGH: "to", **plot.titles}
    ends, form = plot.ends(LOW, HIGH), ".0%" if plot.percent else ".3~g"
    look |= {"titles": plot.titles, "domain": ends, "across": xs, "order": ys[::-1]}
    look["n"] = plot.n if plot.has(plot.n) else None
    flat = heatmap(frame, x, y, value, **look)
    rows = plot.frame.to_dicts()
    at = [ys.index(row[y]) for row in rows], [xs.index(row[x]) for row in rows]
    # What the pointer tells of a cell. Plotly reads markup, so there is none in names.
    forms, texts = plot.hover(), []
    for row in rows:
        told = [name for name in forms if row[name] is not None]
        told = [f"{plot.title(name)}: {row[name]:{forms[name]}}" for name in told]
        texts.append("<br>".join(line.replace("<", "‹") for line in told))
    # A report leads from a cell to its cases: their lines, by row and column.
    heights, hover, cases = (np.full((len(ys), len(xs)), None) for _ in range(3))
    heights[at], hover[at], cases[at] = plot.frame[value], texts, plot.frame[LINES]
    sheet = {"z": _blocks(heights, _HEIGHT), "surfacecolor": _blocks(heights, _COLOUR)}
    sheet |= {"cmin": ends[0], "cmax": ends[1], "colorbar_tickformat": form}
    # Heights are looked up by y and then x, but custom data by x and then y.
    sheet["customdata"] = hover.repeat(5, 0).repeat(5, 1).T.tolist()
    scene = {"zaxis": {"title_text": plot.title(value), "range": ends, "tickformat": form}}
    for side, name, marks in (("x", x, xs), ("y", y, ys)):
        sheet[side] = np.add.outer(range(len(marks)), _EDGES).ravel().tolist()
        axis = {"title_text": f"<br><br>{plot.title(name)}", "range": [-0.6, len(marks) - 0.4]}
        scene[f"{side}axis"] = axis | {"ticktext": marks, "tickvals": list(range(len(marks)))}
    points = {"x": at[1], "y": at[0], "z": plot.frame[value].to_list(), "text": texts}
    if plot.has(LOW, HIGH):
        above, below = pl.col(HIGH) - pl.col(value), pl.col(value) - pl.col(LOW)
        sizes = plot.frame.select(array=above, arrayminus=below).fill_null(0)
        points["error_z"] = sizes.to_dict(as_series=False)
    figure = go.Figure(json.loads(_SURFACE))
    figure.update_traces(sheet, {"type": "surface"})
    figure.update_traces(points, {"type": "scatter3d"})
    figure.update_layout(scene=scene, meta={"alt": plot.described(), "cases": cases.tolist()})
    return [figure, flat]


def _blocks(cells: np.ndarray, block: np.ndarray) -> list[list[float | None]]:
    """A grid with a block for each cell, times the cell's value; what is undefined is null."""
    grid = np.kron(cells.astype(float), block)
    return np.where(np.isnan(grid), None, grid).tolist()
