"""A value over two columns, as squares with the value in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from formlab.charts import theme
from formlab.charts._parts import NOTHING, Plot, datum, field, limits, note
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
    metric: str | None = None,
    percent: bool = False,
    domain: Sequence[float] | None = None,
    tips: Sequence[str] = (),
    titles: Mapping[str, str] | None = None,
    say: str = "",
    empty: str = NOTHING,
    cell: tuple[int, int] = (84, 44),
) -> alt.TopLevelMixin | Caption:
    """A square for each row of a frame, coloured by its value; cells without one stay empty.

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
    plot = Plot.of(
        frame, [value], [x, y, text, n, row, column, *tips], titles=titles, percent=percent,
        metric=metric,
    )  # fmt: skip
    if plot is None:
        return note(empty)
    ends = list(domain or limits(plot.frame, [value], metric))
    across, up = list(xs) or plot.values(x), list(ys) or plot.values(y)
    place = {
        "x": alt.X(field=field(x), type="nominal", title=plot.title(x), sort=across),
        "y": alt.Y(field=field(y), type="nominal", title=plot.title(y), sort=up),
    }
    place["x"] = place["x"].scale(domain=across)
    place["y"] = place["y"].scale(domain=up)
    form: dict[str, Any] = {"format": ".0%" if percent else ".3~g"}
    shade = alt.Color(field=field(value), type="quantitative", title=None)
    shade = shade.scale(scheme=theme.SCORES, domain=ends).legend(**form)
    description = plot.alt_text(
        say or plot.title(value), [row, column, x, y, *([text] if text else [])], value
    )
    plot.crossed(row, column)
    base = plot.base
    tip = plot.tooltip(row, column, x, y, value, "ci_low", "ci_high", *tips)
    layers = [base.mark_rect(stroke="white").encode(shade, **place, tooltip=tip)]
    # The ground has its own colours on light and dark pages alike, and so has the text on it.
    light = f"({datum(value)} - {ends[0]}) / {max(ends[1] - ends[0], 1e-9)} > {_LIGHT_FROM}"
    ink = alt.condition(light, alt.value("#1F2328"), alt.value("#FFFFFF"))
    said = alt.Text(field=field(text or value), type="nominal" if text else "quantitative")
    said = said if text else said.format(form["format"])
    label = base.mark_text(fontSize=13, dy=-6 if n else 0, fontWeight=400 if text else 600)
    layers.append(label.encode(**place, text=said, color=ink))
    if n:
        count = base.transform_calculate(n_text=f"'n = ' + format({datum(n)}, ',')")
        count = count.mark_text(fontSize=10, dy=9).encode(**place, text="n_text:N", color=ink)
        layers.append(count)
    chart = alt.layer(*layers).properties(width=cell[0] * len(across), height=cell[1] * len(up))
    panels: dict[str, Any] = {}
    if row:
        panels["row"] = alt.Row(field=field(row), type="nominal", title=None, sort=plot.values(row))
    if column:
        panels["column"] = alt.Column(
            field=field(column), type="nominal", title=plot.title(column), sort=plot.values(column)
        )
    if panels:
        return chart.facet(spacing=14, **panels).properties(description=description)
    return chart.properties(description=description)
