"""A value over two columns as a 3D surface, with its flat twin beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import polars as pl
from IPython.display import display

from formlab.charts import theme
from formlab.charts.html import number
from formlab.charts.marks import heatmap
from formlab.charts.plot import Plot, short
from formlab.charts.words import Caption
from formlab.errors import UnknownName
from formlab.selection import LINES

# A cell is a block around its middle: wall, top, top, wall, and a gap that parts it from the next.
_EDGES, _GAP = (-0.45, -0.45, 0.45, 0.45, 0.5), (1, 1, 1, 1, np.nan)
_COLOUR = np.outer(_GAP, _GAP)
_HEIGHT = np.outer((0, 1, 1, 0, 0), (0, 1, 1, 0, 0)) * _COLOUR
# A longer name along the surface is shortened there, and whole beside it and on hover.
_TICK = 14


class Pair(list[Any]):
    """A surface and its flat twin, which a notebook shows with one call; a list of both."""

    def _ipython_display_(self) -> None:
        display(*self)


def surface(frame: pl.DataFrame, x: str, y: str, value: str = "value", **look: Any) -> Pair:
    """A block for each cell as high as its value, with its interval, and its flat twin beside it.

    The surface is level over a cell and has no slopes: nothing was measured between cells, and
    cells without a value are gaps. Browsers without WebGL draw it flat.

    `x`, `y` and `value` are the columns of the cell's place, in order, and of its value; all else
    is as of `dots`. Gives the surface and its twin, a heat map with value and count in each cell,
    which a notebook shows together; or a note, where no cell has a value.

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
    sheet = {
        "type": "surface",
        "x": np.add.outer(range(len(xs)), _EDGES).ravel().tolist(),
        "y": np.add.outer(range(len(ys)), _EDGES).ravel().tolist(),
        "z": _blocks(heights, _HEIGHT),
        "surfacecolor": _blocks(heights, _COLOUR),
        "colorscale": theme.PLOTLY_SCORES,
        "colorbar": bar | {"len": 0.6, "y": 1.0, "yanchor": "top", "nticks": 6},
        "cmin": ends[0],
        "cmax": ends[1],
        # Heights are looked up by y and then x, but custom data by x and then y.
        "customdata": hover.repeat(5, 0).repeat(5, 1).T.tolist(),
        "hovertemplate": "%{customdata}<extra></extra>",
        "contours": {axis: {"highlight": False} for axis in "xyz"},
        "lighting": {"ambient": 0.85, "diffuse": 0.35, "specular": 0.05, "roughness": 0.9},
    }
    known = [(row.get(low), row[value], row.get(high)) for row in rows]
    known = [(0.0, 0.0, 0.0) if None in interval else interval for interval in known]
    points = {
        "type": "scatter3d",
        "mode": "markers",
        "x": at[1],
        "y": at[0],
        "z": plot.frame[value].to_list(),
        "error_z": {
            "array": [max(high - value, 0.0) for _, value, high in known],
            "arrayminus": [max(value - low, 0.0) for low, value, _ in known],
            "color": theme.PREDICTED,
            "thickness": 3,
        },
        "marker": {"size": 3, "color": theme.PREDICTED},
        "text": texts,
        "hovertemplate": "%{text}<extra></extra>",
    }
    scene: dict[str, Any] = {
        "camera": theme.CAMERA | {"center": {"x": 0, "y": 0, "z": -0.15}},
        "aspectmode": "manual",
        "aspectratio": {"x": 1.4, "y": 1.15, "z": 0.8},
        "dragmode": "turntable",
        "zaxis": {"title": {"text": plot.title(value)}, "range": ends, "tickformat": form},
    }
    for side, name, marks in (("x", x, xs), ("y", y, ys)):
        scene[f"{side}axis"] = {
            "title": {"text": f"<br><br>{plot.title(name)}"},
            "ticktext": [m if len(m) <= _TICK else m[: _TICK - 1] + "…" for m in marks],
            "tickvals": list(range(len(marks))),
            "range": [-0.6, len(marks) - 0.4],
        }
    meta = {"alt": plot.described(value, x, y), "cases": cases.tolist()}
    layout = {"scene": scene, "height": theme.SURFACE_HEIGHT, "showlegend": False, "meta": meta}
    return Pair([go.Figure({"data": [sheet, points], "layout": layout}), flat])


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
