"""A value over two columns, as squares with the value in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from formlab.charts import theme
from formlab.charts._parts import Plot, datum, field
from formlab.charts.show import Caption

# Cividis is light enough for dark text from here on.
_LIGHT_FROM = 0.55


def heatmap(
    frame: pl.DataFrame,
    x: str,
    y: str,
    value: str = "value",
    *,
    text: str | None = None,
    n: str | None = None,
    xs: Sequence[str] = (),
    ys: Sequence[str] = (),
    row: str | None = None,
    column: str | None = None,
    cell: tuple[int, int] = (84, 44),
    **options: Any,
) -> alt.TopLevelMixin | Caption:
    """A square for each row of a frame, coloured by its value; cells without one stay empty.

    Parameters that are not here are as of `dots`.

    Parameters
    ----------
    frame
        One row a cell.
    x, y, value
        The columns of the cell's place, and of its value.
    text
        A column of what stands in the cell; the value, if left out.
    n
        A column of counts that stand below it.
    xs, ys
        The order of columns and rows, empty ones among them.
    row, column
        A panel for each value of these columns.
    cell
        Width and height of a cell in pixels.

    Examples
    --------
    >>> cells = pl.DataFrame({"scope": ["field"], "task": ["vqa"], "value": [0.5]})
    >>> heatmap(cells, "scope", "task", say="Right").description
    'Right: field, vqa 0.500'
    """
    plot = Plot.of(frame, [value], [x, y, text, n, row, column], **options)
    if isinstance(plot, Caption):
        return plot
    ends = plot.ends([value])
    across, up = list(xs) or plot.values(x), list(ys) or plot.values(y)
    place = {}
    for side, channel, name, order in (("x", alt.X, x, across), ("y", alt.Y, y, up)):
        axis = channel(field=field(name), type="nominal", title=plot.title(name), sort=order)
        place[side] = axis.scale(domain=order)
    form = ".0%" if plot.percent else ".3~g"
    shade = alt.Color(field=field(value), type="quantitative", title=None)
    shade = shade.scale(scheme=theme.SCORES, domain=ends).legend(format=form)
    description = plot.alt_text([row, column, x, y, text], value)
    plot.crossed(row, column)
    base = plot.base
    tip = plot.tooltip(row, column, x, y, value, "ci_low", "ci_high", *plot.tips)
    layers = [base.mark_rect(stroke="white").encode(shade, **place, tooltip=tip)]
    # The ground has its own colours on light and dark pages alike, and so has the text on it.
    light = f"({datum(value)} - {ends[0]}) / {max(ends[1] - ends[0], 1e-9)} > {_LIGHT_FROM}"
    ink = alt.condition(light, alt.value("#1F2328"), alt.value("#FFFFFF"))
    shown = alt.Text(field=field(value), type="quantitative").format(form)
    if text:
        shown = alt.Text(field=field(text), type="nominal")
    label = base.mark_text(fontSize=13, dy=-6 if n else 0, fontWeight=400 if text else 600)
    layers.append(label.encode(**place, text=shown, color=ink))
    if n:
        count = base.transform_calculate(n_text=f"'n = ' + format({datum(n)}, ',')")
        count = count.mark_text(fontSize=10, dy=9).encode(**place, text="n_text:N", color=ink)
        layers.append(count)
    chart = alt.layer(*layers).properties(width=cell[0] * len(across), height=cell[1] * len(up))
    title = plot.title(column) if column else None
    return plot.grid(chart, description, row, column, spacing=14, title=title)
