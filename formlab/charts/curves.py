"""Metrics along one column: points with their intervals, and smoothed lines."""

from __future__ import annotations

import altair as alt
import polars as pl

from formlab import metrics, tables
from formlab.charts import theme
from formlab.charts._output import known
from formlab.charts.show import Caption
from formlab.charts.surfaces import NOTHING, words


def curve_lines(table: pl.DataFrame) -> alt.LayerChart | Caption:
    """Metrics along one column: points with intervals sized by their fields, smoothed lines.

    Parameters
    ----------
    table
        As from `formlab.analysis.curve`.
    """
    shown = table.filter(pl.col("value").is_finite())
    if not shown.height:
        return NOTHING
    order = table["x_value"].unique().sort().cast(pl.String).to_list()
    shown = shown.with_columns(
        pl.col("x_value").cast(pl.String),
        pl.col("metric").map_elements(metrics.title, return_dtype=pl.String).alias("name"),
    )
    names = shown["name"].unique(maintain_order=True).to_list()
    axis = words(table["x"][0])
    base = alt.Chart(known(shown))
    x = alt.X("x_value:N", title=axis, sort=order).scale(domain=order)
    # A band would take all the room of few values; points stand at their own place in it.
    offset = alt.XOffset("name:N", sort=names)
    y = alt.Y("value:Q", title="share right").scale(domain=_range(shown)).axis(format="%")
    key = alt.Legend(
        title=None, orient="top", columns=2, labelLimit=300, offset=18, symbolOpacity=1
    )
    colour = alt.Color("name:N", sort=names, legend=key).scale(
        theme.scale(theme.system_colours(names))
    )
    shape = alt.Shape("name:N", sort=names, legend=key).scale(
        theme.scale(theme.system_shapes(names))
    )
    tip = [
        alt.Tooltip("name:N", title="metric"), alt.Tooltip("x_value:N", title=axis),
        alt.Tooltip("value:Q", format=".3f"), alt.Tooltip("ci_low:Q", format=".3f"),
        alt.Tooltip("ci_high:Q", format=".3f"), alt.Tooltip("smooth:Q", format=".3f"),
        alt.Tooltip("n_docs:Q", title="forms"), alt.Tooltip("n_cases:Q", title="fields"),
    ]  # fmt: skip
    lines = base.mark_line(strokeWidth=2.5).encode(
        x, alt.Y("smooth:Q", title="share right"), colour
    )
    spans = base.mark_rule(opacity=0.55).transform_filter("isValid(datum.ci_low)")
    spans = spans.encode(
        x, alt.Y("ci_low:Q", title="share right"), alt.Y2("ci_high:Q"), colour, offset
    )
    size = alt.Size("n_cases:Q", legend=None).scale(range=[25, 140], domainMin=0)
    dots = base.mark_point(opacity=1).encode(x, y, colour, shape, size, offset, tooltip=tip)
    counts = base.transform_aggregate(n="max(n_cases)", groupby=["x_value"])
    counts = counts.mark_text(fontSize=10, baseline="top", color=theme.NEUTRAL)
    counts = counts.encode(x, y=alt.value(-14), text="n:Q")
    text = f"By {axis}: " + "; ".join(
        f"{name} at {at} {value:.3f}"
        for name, at, value in shown.select("name", "x_value", "value").rows()
    )
    return alt.layer(spans, lines, dots, counts).properties(
        width=theme.WIDTH - 40, height=260, description=text
    )


def curve_caption(table: pl.DataFrame, *, say: str) -> Caption:
    """What the lines are, of how many forms, and how they were smoothed."""
    if not table.filter(pl.col("value").is_finite()).height:
        return NOTHING
    first = table.filter(pl.col("metric") == table["metric"][0])
    ends = first.filter(pl.col("value").is_finite())
    at = " and ".join(
        f"{row['value']:.3f} at {row['x_value']}"
        for row in (ends.row(0, named=True), ends.row(-1, named=True))
    )
    name = metrics.title(table["metric"][0]).capitalize()
    text = (
        f"{say} {name} is {at}. n = {first['n_cases'].sum():,} fields in {first['n_docs'].sum():,} "
        "forms, the fields of each point along the top; bars are 95 % intervals."
    )
    return Caption(text, settings=tables.readable(first)["settings"][0])


def _range(shown: pl.DataFrame) -> list[float]:
    seen = [v for name in ("value", "ci_high") for v in shown[name] if v == v]
    return [0.0, max(1.0 if max(seen) > 0.5 else max(seen) * 1.1, 1e-9)]
