"""A value over two columns as a 3D surface, with its flat twin beside it."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import polars as pl
from IPython.display import display

from formlab.charts import theme
from formlab.charts.html import MISSING, number
from formlab.charts.marks import heatmap
from formlab.charts.plot import Plot, short
from formlab.charts.words import Caption
from formlab.errors import UnknownName
from formlab.selection import LINES

# Each cell is a block of this half width, of 1 from middle to middle.
_HALF = 0.45
# A longer name along the surface is shortened there, and whole beside it and on hover.
_TICK = 14


class Pair(list[Any]):
    """A surface and its flat twin, which a notebook shows with one call; a list of both."""

    def _ipython_display_(self) -> None:
        display(*self)


def surface(
    frame: pl.DataFrame,
    x: str,
    y: str,
    value: str = "value",
    **look: Any,
) -> Pair:
    """A block for each cell as high as its value, with its interval, and its flat twin beside it.

    The surface is level over a cell and has no slopes: nothing was measured between cells, and
    cells without a value are gaps. Browsers without WebGL draw it flat.

    `x`, `y` and `value` are the columns of the cell's place, in order, and of its value; all else
    is as of `dots`. Gives the surface and its twin, a heat map with value and count in each cell,
    which a notebook shows together; or a note, where no cell has a value.

    Examples
    --------
    >>> cells = pl.DataFrame({"size": ["1", "2"], "kinds": ["a", "a"], "value": [0.5, 0.25]})
    >>> three_d, flat = surface(cells, "size", "kinds", say="CER")
    >>> flat.description
    'CER: 1, a 0.500; 2, a 0.250'
    """
    for name in (x, y):
        if name not in frame.columns:
            raise UnknownName.of("column", name, frame.columns)
    frame = frame.with_columns(short(name, pl.String()) for name in (x, y))
    plot = Plot.of(frame, [value], [x, y], **{"n": "n_cases"} | look)
    if isinstance(plot, Caption):
        return Pair([plot])
    # Cells without a value are gaps between the others.
    xs, ys = (frame[name].unique(maintain_order=True).to_list() for name in (x, y))
    low, high = plot.low, plot.high
    ends, form = plot.ends(value, low, high), ".0%" if plot.percent else ".3~g"
    look |= {"titles": {low: "95 % interval from", high: "to", **plot.titles}, "domain": ends}
    look["n"] = plot.n if plot.has(plot.n) else None
    flat = heatmap(frame, x, y, value, xs=xs, ys=ys[::-1], **look)
    rows = {(row[x], row[y]): row for row in plot.frame.iter_rows(named=True)}
    grid = [[rows.get((across, up)) for across in xs] for up in ys]
    heights = [[row and row[value] for row in line] for line in grid]
    texts = [[_hover(plot, row, x, y, value) for row in line] for line in grid]
    cases = [[row and row[LINES] for row in line] for line in grid]
    bar = {"title": {"text": ""}, "tickformat": form, "orientation": "h", "thickness": 12}
    bar |= {"len": 0.6, "y": 1.0, "yanchor": "top", "nticks": 6}
    colours = {"colorscale": theme.PLOTLY_SCORES, "colorbar": bar}
    sheet = go.Surface(
        **_blocks(heights, texts), **colours, cmin=ends[0], cmax=ends[1], name="",
        hovertemplate="%{customdata}<extra></extra>",
        contours={axis: {"highlight": False} for axis in "xyz"},
        lighting={"ambient": 0.85, "diffuse": 0.35, "specular": 0.05, "roughness": 0.9},
    )  # fmt: skip
    scene: dict[str, Any] = {
        "camera": theme.CAMERA | {"center": {"x": 0, "y": 0, "z": -0.15}},
        "aspectmode": "manual",
        "aspectratio": {"x": 1.4, "y": 1.15, "z": 0.8},
        "dragmode": "turntable",
        "zaxis": {"title": {"text": plot.title(value)}, "range": ends, "tickformat": form},
    }
    axes = {}
    for side, name, marks in (("x", x, xs), ("y", y, ys)):
        ticks = [mark if len(mark) <= _TICK else mark[: _TICK - 1] + "…" for mark in marks]
        scene[f"{side}axis"] = {
            "title": {"text": f"<br><br>{plot.title(name)}"}, "ticktext": ticks,
            "tickvals": list(range(len(marks))), "range": [-0.6, len(marks) - 0.4],
        }  # fmt: skip
        axes[f"{side}axis"] = {"title": {"text": plot.title(name)}, "type": "category"}
    heat = {"type": "heatmap", "x": xs, "y": ys, "z": heights, "text": texts, **colours}
    heat |= {"zmin": ends[0], "zmax": ends[1], "hovertemplate": "%{text}<extra></extra>"}
    points = [
        (at, up, row, texts[up][at]) for up, line in enumerate(grid) for at, row in enumerate(line)
    ]
    figure = go.Figure([sheet, _points([point for point in points if point[2]], value, low, high)])
    # A report leads from a cell to its cases: their lines, by row and column.
    flat_figure = {"data": [heat], "layout": axes | {"meta": {"cases": cases}}}
    meta = {"alt": plot.described(value, x, y), "fallback": flat_figure, "cases": cases}
    figure.update_layout(scene=scene, height=theme.SURFACE_HEIGHT, showlegend=False, meta=meta)
    return Pair([figure, flat])


def _hover(plot: Plot, row: dict[str, Any] | None, x: str, y: str, value: str) -> str:
    """What the pointer shows of a cell. Plotly reads markup in it, so there is none in names."""
    if not row:
        return ""
    lines = [f"{plot.title(name)}: {row[name]}" for name in (x, y)]
    lines.append(f"{plot.title(value)}: {number(row[value])}")
    ends = [number(row.get(end)) for end in (plot.low, plot.high)]
    lines += [f"95 % interval {' to '.join(ends)}"] if MISSING not in ends else []
    counts = [(name, row.get(name)) for name in (plot.n, "n_docs")]
    lines += [f"{plot.title(name)}: {count:,}" for name, count in counts if count is not None]
    return "<br>".join(line.replace("<", "‹") for line in lines)


def _blocks(values: list[list[float | None]], texts: list[list[str]]) -> dict[str, Any]:
    """The grid of a sheet that stands on the floor around each cell and is level above it."""
    heights: list[list[float | None]] = []
    colours: list[list[float | None]] = []
    hover: list[list[str]] = []
    for row, names in zip(values, texts, strict=True):
        # The last line of each cell is empty: else its neighbour's wall would lean on it.
        grounds = [None if value is None else 0.0 for value in row]
        floor = [h for ground in grounds for h in (*[ground] * 4, None)]
        pairs = zip(row, grounds, strict=True)
        top = [h for value, ground in pairs for h in (ground, value, value, ground, None)]
        gap = [None] * len(floor)
        heights += [floor, top, top, floor, gap]
        colours += [[v for value in row for v in (*[value] * 4, None)]] * 4 + [gap]
        hover += [[text for name in names for text in (*[name] * 4, "")]] * 5
    edges = (-_HALF, -_HALF, _HALF, _HALF, 0.5)
    xs, ys = ([at + to for at in range(len(side)) for to in edges] for side in (values[0], values))
    # Heights are looked up by y and then x, but custom data by x and then y.
    hover = [list(column) for column in zip(*hover, strict=True)]
    return {"x": xs, "y": ys, "z": heights, "surfacecolor": colours, "customdata": hover}


def _points(points: list[tuple], value: str, low: str, high: str) -> go.Scatter3d:
    """The value of each cell as a point with its interval, where there is one."""
    xs, ys, rows, texts = (list(side) for side in zip(*points, strict=True))
    values = [row[value] for row in rows]
    spans = [(row.get(low), row.get(high), row[value]) for row in rows]
    known = [(v, v, v) if None in (low, high) else (low, high, v) for low, high, v in spans]
    error = {"type": "data", "symmetric": False, "color": theme.PREDICTED, "thickness": 3}
    error["array"] = [max(high - v, 0.0) for _, high, v in known]
    error["arrayminus"] = [max(v - low, 0.0) for low, _, v in known]
    marker = {"size": 3, "color": theme.PREDICTED}
    return go.Scatter3d(
        x=xs, y=ys, z=values, mode="markers", name="", marker=marker, error_z=error, text=texts,
        hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip
