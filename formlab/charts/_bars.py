"""Bars from zero: beside each other, or stacked as the shares of a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from formlab.charts import theme
from formlab.charts._parts import NOTHING, Plot, datum, field, limits, note
from formlab.charts.show import Caption


def bars(
    frame: pl.DataFrame,
    y: str = "label",
    x: str = "value",
    *,
    low: str = "ci_low",
    high: str = "ci_high",
    colour: str | None = None,
    colours: Mapping[str, str] | None = None,
    n: str | None = None,
    order: Sequence[str] = (),
    facet: str | None = None,
    metric: str | None = None,
    percent: bool = False,
    domain: Sequence[float] | None = None,
    tips: Sequence[str] = (),
    titles: Mapping[str, str] | None = None,
    say: str = "",
    empty: str = NOTHING,
    width: int | None = None,
) -> alt.TopLevelMixin | Caption:
    """A bar for each row of a frame, with its interval where it has one; parameters as of `dots`.

    Several colours of one row stand below each other. Bars begin at zero.

    Examples
    --------
    >>> counts = pl.DataFrame({"label": ["a", "b"], "value": [3, 1]})
    >>> bars(counts, say="Fields").description
    'Fields: a 3; b 1'
    """
    plot = Plot.of(
        frame, [x], [y, colour, facet, *tips], titles=titles, percent=percent, metric=metric
    )
    if plot is None:
        return note(empty)
    channel = _length(plot, x, list(domain or limits(plot.frame, [x, low, high], metric)))
    rows = _rows(plot, y, order)
    base = plot.base.encode(rows)
    hue = {"color": plot.colour(alt.Color, colour, colours)} if colour else {}
    keys = [name for name in (y, facet) if name]
    if colour and bool((plot.frame.group_by(keys).agg(pl.len())["len"] > 1).any()):
        hue["yOffset"] = alt.YOffset(field=field(colour), type="nominal", sort=plot.values(colour))
    tip = plot.tooltip(y, colour, x, low, high, *tips)
    layers = [base.mark_bar().encode(channel, tooltip=tip, **hue)]
    offset = {key: value for key, value in hue.items() if key == "yOffset"}
    if plot.has(low) and plot.has(high):
        span = base.transform_filter(f"isValid({datum(low)}) && isValid({datum(high)})")
        start = alt.X(field=field(low), type="quantitative", title=plot.title(x))
        span = span.mark_rule(strokeWidth=2, color=theme.SOFT)
        layers.append(span.encode(start, alt.X2(field=field(high)), **offset))
    if n and plot.has(n):
        layers.append(plot.counts(plot.base, rows, n, y, facet, *([colour] if offset else []),
                                  **offset))  # fmt: skip
    chart = alt.layer(*layers).properties(width=width or theme.WIDTH - 180, height=alt.Step(24))
    said = say or plot.heading(x, y)
    return plot.facet(chart, facet, plot.alt_text(said, [facet, y, colour], x))


def stacked(
    frame: pl.DataFrame,
    y: str = "label",
    x: str = "share",
    *,
    colour: str,
    colours: Mapping[str, str] | None = None,
    pieces: str | None = None,
    n: str | None = None,
    order: Sequence[str] = (),
    facet: str | None = None,
    percent: bool = True,
    domain: Sequence[float] | None = None,
    tips: Sequence[str] = (),
    titles: Mapping[str, str] | None = None,
    say: str = "",
    empty: str = NOTHING,
    width: int | None = None,
) -> alt.TopLevelMixin | Caption:
    """One bar a row, made of its parts: shares of a whole, or counts; parameters as of `dots`.

    Parameters
    ----------
    frame
        One row a part.
    y, x
        The columns of the bar's name and of the part's size.
    colour, colours
        The column that names the part; the colours in the order in which parts stand.
    pieces
        A column that cuts parts into pieces of the same colour.
    percent
        Whether parts are shares, so that a bar ends at 100 %; else they are counts.

    Examples
    --------
    >>> parts = pl.DataFrame({"label": ["a", "a"], "share": [0.75, 0.25], "what": ["ok", "no"]})
    >>> stacked(parts, colour="what", say="Answers").description
    'Answers: a, ok 0.750; a, no 0.250'
    """
    plot = Plot.of(
        frame, [x], [y, colour, pieces, facet, *tips], titles=titles, percent=percent, metric=None
    )
    if plot is None:
        return note(empty)
    keys = [name for name in (y, facet) if name]
    sums = plot.frame.group_by(keys).agg(pl.col(x).sum())
    ends = list(domain or ([0, 1] if percent else limits(sums, [x], None)))
    hue = plot.colour(alt.Color, colour, colours)
    places = {name: place for place, name in enumerate(hue.to_dict()["scale"]["domain"])}
    turn = pl.col(colour).replace_strict(places, default=len(places), return_dtype=pl.Int64)
    plot.frame = plot.frame.with_columns(turn.alias("turn"))
    rows = _rows(plot, y, order)
    more = {"detail": alt.Detail(field=field(pieces), type="nominal")} if pieces else {}
    bar = plot.base.mark_bar(stroke="white", strokeWidth=0.7 if pieces else 0).encode(
        _length(plot, x, ends, stack="zero"), rows, hue, alt.Order("turn:Q"),
        tooltip=plot.tooltip(y, colour, pieces, x, *tips), **more,
    )  # fmt: skip
    layers = [bar, plot.counts(plot.base, rows, n, y, facet)] if n and plot.has(n) else [bar]
    chart = alt.layer(*layers).properties(width=width or theme.WIDTH - 180, height=alt.Step(24))
    said = say or plot.heading(x, y)
    return plot.facet(chart, facet, plot.alt_text(said, [facet, y, colour, pieces], x))


def _length(plot: Plot, x: str, ends: list[float], **more: Any) -> alt.X:
    """The axis of the bars' lengths, which begins at zero."""
    form: dict[str, Any] = {"format": "%"} if plot.percent else {}
    if plot.frame[x].dtype.is_integer():
        form = {"tickMinStep": 1}
    axis = alt.Axis(tickCount=6, labelFlush=False, **form)
    channel = alt.X(field=field(x), type="quantitative", title=plot.title(x), axis=axis, **more)
    return channel.scale(domain=[min(0, ends[0]), ends[1]], nice=False)


def _rows(plot: Plot, y: str, order: Sequence[str]) -> alt.Y:
    """The names of the bars, in order; numbers stand in theirs and have a title."""
    if plot.frame[y].dtype.is_numeric():
        return alt.Y(field=field(y), type="ordinal", title=plot.title(y))
    return alt.Y(
        field=field(y), type="nominal", title=None, sort=list(order) or plot.values(y),
        axis=alt.Axis(labelLimit=theme.PHONE),
    )  # fmt: skip
