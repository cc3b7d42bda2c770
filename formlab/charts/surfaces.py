"""A metric over two columns, as a 3D surface and as its flat twin."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import plotly.graph_objects as go
import polars as pl

from formlab import metrics, tables
from formlab.charts import theme
from formlab.charts._output import known
from formlab.charts.show import Caption
from formlab.charts.words import counted, span

# What readers call the columns; any other one is read with its underscores as spaces.
COLUMNS = {"n_fields": "fields in the form", "n_kinds": "types of field"}
NOTHING = Caption("Nothing to show: nothing was scored for this surface.", label="Note")
# Each cell is a block of this width, of 1 from middle to middle.
_BLOCK = 0.9
# Cividis is light enough for dark text from here on.
_LIGHT_FROM = 0.55
_CELL = (84, 44)


def surface_3d(table: pl.DataFrame) -> go.Figure | Caption:
    """A block for each cell as high as its score, with its interval; empty cells are gaps.

    The surface is level over a cell and has no slopes: nothing was measured between cells.

    Parameters
    ----------
    table
        As from `formlab.analysis.surface`.

    Returns
    -------
    plotly.graph_objects.Figure
        With its flat twin for browsers without WebGL; or a note, where the table has no score.
    """
    cells = _filled(table)
    if not cells.height:
        return NOTHING
    xs, ys = _sides(table)
    title = metrics.title(table["metric"][0])
    low, high = _limits(table)
    shared = {
        "cmin": low, "cmax": high, "colorscale": theme.PLOTLY_SCORES,
        "colorbar": {
            "title": {"text": ""}, "tickformat": _format(table), "orientation": "h",
            "thickness": 12, "len": 0.6, "y": 1.0, "yanchor": "top", "nticks": 6,
        },
    }  # fmt: skip
    sheet = go.Surface(
        **_blocks(cells, xs, ys), **shared, name="", hovertemplate="%{customdata}<extra></extra>",
        contours={axis: {"highlight": False} for axis in "xyz"},
        lighting={"ambient": 0.85, "diffuse": 0.35, "specular": 0.05, "roughness": 0.9},
    )  # fmt: skip
    figure = go.Figure([sheet, _bars(cells, xs, ys)])
    axes = [words(table["x"][0]), words(table["y"][0])]
    scene: dict[str, Any] = {
        f"{side}axis": {
            "title": {"text": f"<br>{name}"}, "range": [-0.6, len(marks) - 0.4],
            "tickvals": list(range(len(marks))), "ticktext": marks,
        }
        for side, name, marks in zip("xy", axes, (xs, ys), strict=True)
    }  # fmt: skip
    scene["zaxis"] = {
        "title": {"text": title}, "range": [low, high], "tickformat": _format(table), "nticks": 6,
    }  # fmt: skip
    scene |= {
        "camera": theme.CAMERA | {"center": {"x": 0, "y": 0, "z": -0.15}},
        "aspectmode": "manual",
        "dragmode": "turntable",
    }
    scene["aspectratio"] = {"x": 1.4, "y": 1.15, "z": 0.8}
    text = _description(table, title, axes)
    figure.update_layout(
        scene=scene, height=theme.SURFACE_HEIGHT, showlegend=False,
        meta={"alt": text, "fallback": _flat(cells, xs, ys, axes, shared)},
    )  # fmt: skip
    return figure


def _blocks(cells: pl.DataFrame, xs: list[str], ys: list[str]) -> dict[str, Any]:
    """The grid of a sheet that stands on the floor around each cell and is level above it."""
    found = {(x, y): row for x, y, row in _places(cells)}
    heights: list[list[float | None]] = []
    colours: list[list[float | None]] = []
    texts: list[list[str]] = []
    for y in ys:
        level = [found.get((x, y)) for x in xs]
        floor, top, colour, said = [], [], [], []
        for row in level:
            value = row["value"] if row else None
            # The last line of each cell is empty: else its neighbour's wall would lean on it.
            floor += [0.0 if row else None] * 4 + [None]
            top += [0.0 if row else None, value, value, 0.0 if row else None, None]
            colour += [value] * 4 + [None]
            said += [_hover(row) if row else ""] * 4 + [""]
        gap = [None] * len(floor)
        heights += [floor, top, top, floor, gap]
        colours += [colour] * 4 + [gap]
        texts += [said] * 5
    return {
        "x": _edges(len(xs)), "y": _edges(len(ys)),
        "z": heights, "surfacecolor": colours,
        # Heights are looked up by y and then x, but custom data by x and then y.
        "customdata": [list(column) for column in zip(*texts, strict=True)],
    }  # fmt: skip


def _edges(count: int) -> list[float]:
    half = _BLOCK / 2
    return [k + side for k in range(count) for side in (-half, -half, half, half, 0.5)]


def _bars(cells: pl.DataFrame, xs: list[str], ys: list[str]) -> go.Scatter3d:
    """The score of each cell as a point with its interval, where there is one."""
    rows = [(xs.index(x), ys.index(y), row) for x, y, row in _places(cells)]
    return go.Scatter3d(
        x=[x for x, _, _ in rows], y=[y for _, y, _ in rows], z=[r["value"] for *_, r in rows],
        mode="markers", marker={"size": 3, "color": theme.PREDICTED}, name="",
        error_z={
            "type": "data", "symmetric": False, "color": theme.PREDICTED, "thickness": 3,
            "array": [_gap(r["value"], r["ci_high"]) for *_, r in rows],
            "arrayminus": [_gap(r["ci_low"], r["value"]) for *_, r in rows],
        },
        text=[_hover(r) for *_, r in rows], hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip


def _gap(low: float, high: float) -> float:
    return 0.0 if math.isnan(low) or math.isnan(high) else max(high - low, 0.0)


def _flat(
    cells: pl.DataFrame, xs: list[str], ys: list[str], axes: list[str], shared: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """The same as a plotly heat map, for browsers without WebGL."""
    found = {(x, y): row for x, y, row in _places(cells)}
    rows = [[found.get((x, y)) for x in xs] for y in ys]
    colours = {"zmin": shared["cmin"], "zmax": shared["cmax"]}
    colours |= {key: shared[key] for key in ("colorscale", "colorbar")}
    heat = {
        "type": "heatmap", "x": xs, "y": ys, **colours, "hovertemplate": "%{text}<extra></extra>",
        "z": [[row["value"] if row else None for row in line] for line in rows],
        "text": [[_hover(row) if row else "" for row in line] for line in rows],
    }  # fmt: skip
    sides = {
        f"{side}axis": {"title": {"text": name}, "type": "category"}
        for side, name in zip("xy", axes, strict=True)
    }
    return {"data": [heat], "layout": sides}


def surface_2d(table: pl.DataFrame) -> alt.LayerChart | Caption:
    """The flat twin, for print: a square for each cell with its score and how many it is of.

    Parameters
    ----------
    table
        As from `formlab.analysis.surface`.
    """
    cells = _filled(table)
    if not cells.height:
        return NOTHING
    xs, ys = _sides(table)
    title = metrics.title(table["metric"][0])
    low, high = _limits(table)
    form = _format(table)
    shown = cells.with_columns(pl.col("x_value", "y_value").cast(pl.String)).with_columns(
        pl.format("n = {}", "n_cases").alias("count"),
        ((pl.col("value") - low) / max(high - low, 1e-9)).alias("light"),
    )
    axes = [words(table["x"][0]), words(table["y"][0])]
    x = alt.X("x_value:N", title=axes[0], sort=xs).scale(domain=xs)
    y = alt.Y("y_value:N", title=axes[1], sort=ys[::-1]).scale(domain=ys[::-1])
    colour = alt.Color("value:Q", title=None).scale(scheme=theme.SCORES, domain=[low, high])
    tip = [
        alt.Tooltip("x_value:N", title=axes[0]), alt.Tooltip("y_value:N", title=axes[1]),
        alt.Tooltip("value:Q", format=".3f", title=title), alt.Tooltip("ci_low:Q", format=".3f"),
        alt.Tooltip("ci_high:Q", format=".3f"), alt.Tooltip("n_docs:Q", title="forms"),
        alt.Tooltip("n_cases:Q", title="fields"),
    ]  # fmt: skip
    base = alt.Chart(known(shown))
    squares = base.mark_rect(stroke="white").encode(x, y, colour.legend(format=form), tooltip=tip)
    # The ground has its own colours on light and dark pages alike, and so has the text on it.
    ink = alt.condition(alt.datum.light > _LIGHT_FROM, alt.value("#1F2328"), alt.value("#FFFFFF"))
    values = base.mark_text(fontSize=13, dy=-6, fontWeight=600).encode(
        x, y, text=alt.Text("value:Q", format=form), color=ink
    )
    counts = base.mark_text(fontSize=10, dy=9).encode(x, y, text="count:N", color=ink)
    return alt.layer(squares, values, counts).properties(
        width=alt.Step(_CELL[0]), height=alt.Step(_CELL[1]),
        description=_description(table, title, axes),
    )  # fmt: skip


def surface_caption(table: pl.DataFrame, *, say: str) -> Caption:
    """What the surface is over and of how many, its range, and how many cells are empty."""
    cells = _filled(table)
    if not cells.height:
        return NOTHING
    low, high = (cells.sort("value").row(place, named=True) for place in (0, -1))
    ends = [
        f"{row['value']:.3f} at {row['x_value']} by {row['y_value']} ({span(row)})"
        for row in (low, high)
    ]
    same = low["value"] == high["value"]
    said = f"is {low['value']:.3f} in every cell" if same else f"lies between {' and '.join(ends)}"
    name = metrics.title(table["metric"][0]).capitalize()
    text = f"{say} {name} {said}; {cells.height} cells hold forms, "
    text += f"{table.height - cells.height} hold none and stay empty."
    return Caption(text, settings=tables.readable(cells)["settings"][0])


def _filled(table: pl.DataFrame) -> pl.DataFrame:
    """The cells with a score, `n_cases` being the fields that it is taken over."""
    cells = table.filter(pl.col("value").is_finite())
    n_cases = pl.Series([counted(row) for row in cells.iter_rows(named=True)], dtype=pl.Int64)
    return cells.with_columns(n_cases=n_cases, n_undefined=pl.lit(0))


def _sides(table: pl.DataFrame) -> tuple[list[str], list[str]]:
    xs, ys = (
        table[name].unique().sort().cast(pl.String).to_list() for name in ("x_value", "y_value")
    )
    return xs, ys


def _places(cells: pl.DataFrame) -> list[tuple[str, str, dict[str, Any]]]:
    return [(row["x_value"], row["y_value"], row) for row in cells.iter_rows(named=True)]


def words(column: str) -> str:
    """What readers call a column."""
    return COLUMNS.get(column, column.replace("_", " "))


def _hover(row: dict[str, Any]) -> str:
    lines = [f"{words(row[side])}: {row[f'{side}_value']}" for side in "xy"]
    lines += [f"{metrics.title(row['metric'])}: {row['value']:.3f}", *span(row).split(", ", 1)]
    return "<br>".join(lines)


def _is_share(table: pl.DataFrame) -> bool:
    entry = metrics.get(table["metric"][0])
    return (entry.low, entry.high) == (0.0, 1.0)


def _format(table: pl.DataFrame) -> str:
    return ".0%" if _is_share(table) else ".3~g"


def _limits(table: pl.DataFrame) -> tuple[float, float]:
    """The ends of the scale: those of the metric, unless all that was measured is far below."""
    entry = metrics.get(table["metric"][0])
    columns = (table[name].drop_nulls().drop_nans() for name in ("value", "ci_low", "ci_high"))
    found = [value for column in columns for value in column]
    low = min([0.0, *found]) if entry.low is None else entry.low
    top = max([0.0, *found]) * 1.05
    if entry.high is not None and top > 0.75 * entry.high:
        top = entry.high
    return low, max(top, low + 1e-9)


def _description(table: pl.DataFrame, title: str, axes: list[str]) -> str:
    said = "; ".join(
        f"{x} by {y}: {row['value']:.3f} of {row['n_cases']}"
        for x, y, row in _places(_filled(table))
    )
    return f"{title.capitalize()} by {axes[0]} and {axes[1]}: {said}"
