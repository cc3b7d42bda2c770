"""A value over two columns as a 3D surface, with its flat twin beside it."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import polars as pl
from IPython.display import display

from formlab.charts import theme
from formlab.charts._heatmap import heatmap
from formlab.charts._output import number
from formlab.charts._parts import Plot, short
from formlab.charts.show import Caption
from formlab.errors import UnknownName
from formlab.selection import LINES

# Each cell is a block of this width, of 1 from middle to middle.
_BLOCK = 0.9
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
    *,
    low: str = "ci_low",
    high: str = "ci_high",
    n: str = "n_cases",
    **options: Any,
) -> Pair:
    """A block for each cell as high as its value, with its interval, and its flat twin beside it.

    The surface is level over a cell and has no slopes: nothing was measured between cells, and
    cells without a value are gaps. Browsers without WebGL draw it flat.

    Parameters
    ----------
    frame
        One row a cell, in order of both columns.
    x, y, value
        The columns of the cell's place, and of its value.
    low, high, n
        The ends of the interval, and the count; drawn if the frame has them.

    Returns
    -------
    list
        The surface and its twin, a heat map with value and count in each cell, which a notebook
        shows together; or a note, where no cell has a value. Other parameters as of `dots`.

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
    named = frame.with_columns(short(name, pl.String()) for name in (x, y))
    plot = Plot.of(named, [value], [x, y], **options)
    if isinstance(plot, Caption):
        return Pair([plot])
    # Cells without a value are gaps between the others.
    sides = {name: named[name].unique(maintain_order=True).to_list() for name in (x, y)}
    ends = plot.ends([value, low, high])
    titles = {low: "95 % interval from", high: "to", **options.pop("titles", {})}
    counts, flat_options = n if plot.has(n) else None, options | {"domain": ends, "titles": titles}
    flat = heatmap(named, x, y, value, n=counts, xs=sides[x], ys=sides[y][::-1], **flat_options)
    cells = {
        (row[x], row[y]): {
            "value": row[value], "low": row.get(low), "high": row.get(high),
            "text": _hover(plot, row, (x, y), value, low, high, n), "cases": row[LINES],
        }
        for row in plot.frame.iter_rows(named=True)
    }  # fmt: skip
    figure = _figure(plot, cells, (x, y), sides, value, ends)
    figure.layout.meta["alt"] = plot.alt_text([x, y], value)
    # A report leads from a cell to its cases: their lines, by row and column.
    lines = [[cells.get((across, up), {}).get("cases") for across in sides[x]] for up in sides[y]]
    figure.layout.meta["cases"] = lines
    figure.layout.meta["fallback"]["layout"]["meta"] = {"cases": lines}
    return Pair([figure, flat])


def _figure(
    plot: Plot, cells: dict[tuple[str, str], dict[str, Any]], columns: tuple[str, str],
    sides: dict[str, list[str]], value: str, ends: list[float],
) -> go.Figure:  # fmt: skip
    xs, ys = (sides[name] for name in columns)
    form = ".0%" if plot.percent else ".3~g"
    colours = {
        "colorscale": theme.PLOTLY_SCORES,
        "colorbar": {
            "title": {"text": ""}, "tickformat": form, "orientation": "h", "thickness": 12,
            "len": 0.6, "y": 1.0, "yanchor": "top", "nticks": 6,
        },
    }  # fmt: skip
    sheet = go.Surface(
        **_blocks(cells, xs, ys), **colours, cmin=ends[0], cmax=ends[1], name="",
        hovertemplate="%{customdata}<extra></extra>",
        contours={axis: {"highlight": False} for axis in "xyz"},
        lighting={"ambient": 0.85, "diffuse": 0.35, "specular": 0.05, "roughness": 0.9},
    )  # fmt: skip
    scene: dict[str, Any] = {
        f"{side}axis": {
            "title": {"text": f"<br><br>{plot.title(name)}"}, "range": [-0.6, len(marks) - 0.4],
            "tickvals": list(range(len(marks))), "ticktext": list(map(_tick, marks)),
        }
        for side, name, marks in zip("xy", columns, (xs, ys), strict=True)
    }  # fmt: skip
    scene["zaxis"] = {
        "title": {"text": plot.title(value)}, "range": ends, "tickformat": form, "nticks": 6,
    }  # fmt: skip
    scene |= {
        "camera": theme.CAMERA | {"center": {"x": 0, "y": 0, "z": -0.15}},
        "aspectmode": "manual", "aspectratio": {"x": 1.4, "y": 1.15, "z": 0.8},
        "dragmode": "turntable",
    }  # fmt: skip
    rows = [[cells.get((x, y)) for x in xs] for y in ys]
    heat = {
        "type": "heatmap", "x": xs, "y": ys, "zmin": ends[0], "zmax": ends[1], **colours,
        "hovertemplate": "%{text}<extra></extra>",
        "z": [[cell["value"] if cell else None for cell in line] for line in rows],
        "text": [[cell["text"] if cell else "" for cell in line] for line in rows],
    }  # fmt: skip
    axes = {
        f"{side}axis": {"title": {"text": plot.title(name)}, "type": "category"}
        for side, name in zip("xy", columns, strict=True)
    }
    figure = go.Figure([sheet, _points(cells, xs, ys)])
    return figure.update_layout(
        scene=scene, height=theme.SURFACE_HEIGHT, showlegend=False,
        meta={"alt": "", "fallback": {"data": [heat], "layout": axes}},
    )  # fmt: skip


def _tick(name: str) -> str:
    return name if len(name) <= _TICK else name[: _TICK - 1] + "…"


def _blocks(cells: dict[tuple[str, str], Any], xs: list[str], ys: list[str]) -> dict[str, Any]:
    """The grid of a sheet that stands on the floor around each cell and is level above it."""
    heights: list[list[float | None]] = []
    colours: list[list[float | None]] = []
    texts: list[list[str]] = []
    for y in ys:
        row = [cells.get((x, y)) or {"value": None, "text": ""} for x in xs]
        grounds = [(c["value"], None if c["value"] is None else 0.0) for c in row]
        # The last line of each cell is empty: else its neighbour's wall would lean on it.
        floor = [h for _, ground in grounds for h in (*[ground] * 4, None)]
        top = [h for value, ground in grounds for h in (ground, value, value, ground, None)]
        gap = [None] * len(floor)
        heights += [floor, top, top, floor, gap]
        colours += [[v for c in row for v in (*[c["value"]] * 4, None)]] * 4 + [gap]
        texts += [[text for c in row for text in (*[c["text"]] * 4, "")]] * 5
    half = _BLOCK / 2
    edges = {
        side: [place + to for place in range(len(names)) for to in (-half, -half, half, half, 0.5)]
        for side, names in zip("xy", (xs, ys), strict=True)
    }
    # Heights are looked up by y and then x, but custom data by x and then y.
    hover = [list(column) for column in zip(*texts, strict=True)]
    return {**edges, "z": heights, "surfacecolor": colours, "customdata": hover}


def _points(cells: dict[tuple[str, str], Any], xs: list[str], ys: list[str]) -> go.Scatter3d:
    """The value of each cell as a point with its interval, where there is one."""
    ends = [
        (c["value"], c["value"]) if None in (c["low"], c["high"]) else (c["low"], c["high"])
        for c in cells.values()
    ]
    values, texts = ([cell[name] for cell in cells.values()] for name in ("value", "text"))
    each = list(zip(values, ends, strict=True))
    return go.Scatter3d(
        x=[xs.index(x) for x, _ in cells], y=[ys.index(y) for _, y in cells], z=values,
        mode="markers", name="", marker={"size": 3, "color": theme.PREDICTED},
        error_z={
            "type": "data", "symmetric": False, "color": theme.PREDICTED, "thickness": 3,
            "array": [max(high - value, 0.0) for value, (_, high) in each],
            "arrayminus": [max(value - low, 0.0) for value, (low, _) in each],
        },
        text=texts, hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip


def _hover(
    plot: Plot, row: dict[str, Any], sides: tuple[str, str], value: str, low: str, high: str, n: str
) -> str:
    """What the pointer shows of a cell. Plotly reads markup in it, so there is none in names."""
    lines = [f"{plot.title(name)}: {row[name]}" for name in sides]
    lines.append(f"{plot.title(value)}: {number(row[value])}")
    if row.get(low) is not None and row.get(high) is not None:
        lines.append(f"95 % interval {number(row[low])} to {number(row[high])}")
    counts = [(name, row.get(name)) for name in (n, "n_docs")]
    lines += [f"{plot.title(name)}: {count:,}" for name, count in counts if count is not None]
    return "<br>".join(line.replace("<", "‹") for line in lines)
