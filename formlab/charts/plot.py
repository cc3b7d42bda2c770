"""What the charts share: columns as channels, axes, intervals, tooltips, panels, alt text."""

import dataclasses
import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import altair as alt
import polars as pl
import polars.selectors as cs

from formlab import metrics, selection
from formlab.charts import escaping, theme
from formlab.charts.html import cell
from formlab.charts.words import NOTHING, OWN, Caption, counted, note, slice_title, words

# A label or an alt text no longer than one reads; what a file holds may be longer.
LABEL, _ROWS = 200, 80
Drawn = alt.TopLevelMixin | Caption
# The ends of intervals, and the column of the headings of panels.
LOW, HIGH, PANEL = "ci_low", "ci_high", "panel"


def field(name: str) -> str:
    """A column's name as Vega takes it: a dot or a bracket in it is no path."""
    return re.sub(r"([.\[\]])", r"\\\1", escaping.name(name))


def datum(name: str) -> str:
    """The value of a column in a Vega expression."""
    return f"datum[{json.dumps(escaping.name(name))}]"


@dataclasses.dataclass
class Plot:
    """One frame on its way to a chart, with the options that all charts share (see `dots`).

    It keeps the rows whose `value` and numbers among `labels` are finite, each with the line of its
    cases in the column `LINES`.
    """

    frame: pl.DataFrame
    value: str
    labels: Sequence[str]
    colour: str | None = None
    kind: str | None = None
    filled: str = OWN
    further: str | None = None
    n: str | None = None
    order: Sequence[str] = ()
    across: Sequence[str] = ()
    row: str | None = None
    column: str | None = None
    titles: Mapping[str, str] = dataclasses.field(default_factory=dict)
    metric: str | None = None
    percent: bool = False
    zero: bool = False
    log: bool = False
    domain: Sequence[float] | None = None
    colours: Mapping[str, str] | None = None
    tips: Sequence[str] = ()
    empty: str = NOTHING
    cases: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        self.labels = [*dict.fromkeys(filter(None, [*self.labels, self.colour, self.kind]))]
        self.by = [name for name in (self.row, self.column) if name]
        frame, used = self.frame, [self.value, *self.labels]
        if {"metric", "n_cases", "n_undefined"} <= set(frame.columns):
            n = [counted(row) for row in frame.iter_rows(named=True)]
            frame = frame.with_columns(pl.Series("n_cases", n, pl.Int64), n_undefined=pl.lit(0))
        frame = frame.drop_nulls(self.value).filter(
            pl.col(name).is_finite() for name in used if frame[name].dtype.is_numeric()
        )
        # The column of open markers is none of cases, though it may have the name of one.
        lines = selection.of_rows(frame, self.cases, without=[self.kind or ""])
        if "slice_by" in self.by:
            frame = frame.with_columns(pl.col("slice_by").map_elements(slice_title, pl.String))
        names = (cs.string() | cs.categorical() | cs.enum()).cast(pl.String)
        names = names.str.replace(f"(?s)^(.{{{LABEL}}}).+", "$1…")
        frame = frame.select(~cs.nested()).with_columns(cs.float().fill_nan(None), names)
        panel = {PANEL: pl.concat_str(self.by, separator=", ")} if self.by else {}
        self.frame = frame.with_columns(pl.Series(selection.LINES, lines, pl.String), **panel)

    @cached_property
    def base(self) -> alt.Chart:
        """The chart that all layers begin from, as they must have one frame."""
        return alt.Chart(self.frame.rename(escaping.name))

    def values(self, column: str | None) -> list[str]:
        """The values of a column, in the frame's order; systems by name, as in every chart."""
        if not self.has(column):
            return []
        values = self.frame[column].drop_nulls().cast(pl.String).unique(maintain_order=True)
        return (values.sort() if column == self.colour == "system" else values).to_list()

    def has(self, *columns: str | None) -> bool:
        """Whether the frame has any value of each of these columns."""
        return all(name in self.frame.columns and self.frame[name].count() for name in columns)

    def is_number(self, column: str) -> bool:
        """Whether a column has numbers, or else names."""
        return self.frame[column].dtype.is_numeric()

    def title(self, column: str) -> str:
        """The title of a column; that of the metric for its values."""
        if column == "value" and self.metric and column not in self.titles:
            is_mean = metrics.MACRO in self.values("average")
            return metrics.title(self.metric, metrics.MACRO if is_mean else metrics.POOLED)
        slices = self.values("slice_by") if column == "slice_value" else []
        return words(slices[0] if len(slices) == 1 else column, self.titles)

    def at(self, channel: Any, column: str, **more: Any) -> Any:
        """A channel of a column, numbers or names, under its title."""
        kind = "quantitative" if self.is_number(column) else "nominal"
        return channel(field=field(column), **{"type": kind, "title": self.title(column)} | more)

    def names(self, channel: Any, column: str, order: Sequence[str] = (), **more: Any) -> Any:
        """A channel of names in this order, or in that of the frame."""
        options = {"type": "nominal", "title": None, "sort": list(order) or self.values(column)}
        return self.at(channel, column, **options | more)

    @property
    def rows(self) -> alt.Y:
        """The names of the rows, in order; numbers stand in theirs and have a title."""
        if self.is_number(self.labels[0]):
            return self.at(alt.Y, self.labels[0], type="ordinal")
        return self.names(alt.Y, self.labels[0], self.order)

    def length(self, channel: Any, **more: Any) -> Any:
        """The axis of values and their intervals, with ends that all panels share."""
        whole = {"tickMinStep": 1} if self.frame[self.value].dtype.is_integer() else {}
        form = {"format": "%"} if self.percent else whole
        axis = alt.Axis(tickCount=6, labelFlush=False, **form)
        scale = alt.Scale(domain=self.ends(LOW, HIGH, self.further), nice=False)
        return self.at(channel, self.value, axis=axis, scale=scale, **more)

    def ends(self, *others: str | None) -> list[float]:
        """The ends of an axis: zero and the metric's own, unless all values are far below that."""
        if self.domain:
            return list(self.domain)
        columns = filter(self.has, (self.value, *others))
        values = itertools.chain(*(self.frame[name].drop_nulls() for name in columns))
        seen = [0.0, *filter(math.isfinite, values)]
        low, high = min(seen), max(seen)
        of_metric = metrics.get(self.metric).high if self.metric else None
        room = 0.05 * (high - low) or 0.01
        if of_metric is not None and high > of_metric / 2:
            high = max(of_metric, high)
        elif high > 0:
            high += room
        return [round(low - room, 9) if low < 0 else low, round(high, 9)]

    def hue(self, channel: Any) -> Any:
        """A channel of colour or shape, with the theme's scale and its legend on top."""
        values = self.values(self.colour)
        palette = self.colours or theme.COLOURS.get(self.colour, {})
        if not self.colours and not set(values) <= set(palette):
            palette = theme.system_colours(values)
        palette = {name: palette[name] for name in palette if name in values}
        if channel is alt.Shape:
            palette = dict(zip(palette, itertools.cycle(theme.SYSTEM_SHAPES), strict=False))
        legend = alt.Legend(title=self.titles.get(self.colour), columns=2, symbolOpacity=1)
        scale = alt.Scale(domain=[*palette], range=[*palette.values()])
        look = {"scale": scale, "legend": legend if len(palette) > 1 else None}
        return self.names(channel, self.colour, palette, **look)

    def marks(self) -> dict[str, Any]:
        """The channels of markers by colour and kind."""
        marks: dict[str, Any] = dict.fromkeys(("stroke", "fill"), alt.value(theme.GOLD))
        if self.colour:
            channels = {"stroke": alt.Stroke, "fill": alt.Fill, "shape": alt.Shape}
            marks = {name: self.hue(at) for name, at in channels.items()}
        if self.kind:
            order = [*dict.fromkeys([self.filled, *self.values(self.kind)])]
            soft = {"symbolStrokeColor": theme.SOFT, "symbolFillColor": "transparent"}
            legend = alt.Legend(title=self.titles.get(self.kind), **soft) if order[1:] else None
            # Vega has no legend of fills' opacity, so open markers are dashed as well.
            looks = {"strokeDash": (alt.StrokeDash, [1, 0], [2, 2], legend)}
            fill = {"fill": (alt.Fill, theme.GOLD, "transparent", legend)}
            looks |= {"fillOpacity": (alt.FillOpacity, 1.0, 0.0, None)} if self.colour else fill
            for name, (channel, own, other, key) in looks.items():
                # Without its type the scale would interpolate between the values.
                ends = [own, *[other] * len(order[1:])]
                scale = alt.Scale(type="ordinal", domain=order, range=ends)
                marks[name] = self.names(channel, self.kind, order, scale=scale, legend=key)
            # A hollow marker needs room for its hole.
            marks["size"] = alt.value(60)
        return marks

    @cached_property
    def dodge(self) -> dict[str, Any]:
        """The channel that sets several colours of one row below each other; none otherwise."""
        row = {self.labels[0], *self.by}
        parts = row | {self.colour or self.labels[0]}
        if self.frame.n_unique([*row]) == self.frame.n_unique([*parts]):
            return {}
        return {"yOffset": self.names(alt.YOffset, self.colour)}

    def spans(self, base: alt.Chart, *, up: bool = False) -> list[Any]:
        """A layer of rules from end to end of the intervals; none where none is known."""
        if not self.has(LOW, HIGH):
            return []
        known = f"isValid({datum(LOW)}) && isValid({datum(HIGH)})"
        start, end = (alt.Y, alt.Y2) if up else (alt.X, alt.X2)
        ends = self.at(start, LOW, title=self.title(self.value)), end(field=HIGH)
        return [base.transform_filter(known).mark_rule(strokeWidth=2).encode(*ends)]

    def counts(self, **dodge: Any) -> list[Any]:
        """A layer of the text n = … behind the right end of each row."""
        if not self.has(self.n):
            return []
        by = [field(name) for name in (self.labels[0], *self.by, *[self.colour] * bool(dodge))]
        text = self.base.transform_aggregate(n=f"max({field(self.n)})", groupby=by)
        text = text.transform_filter("isValid(datum.n)")
        text = text.transform_calculate(n_text="'n = ' + format(datum.n, ',')")
        text = text.mark_text(align="left", dx=8, fontSize=11, color=theme.SOFT)
        return [text.encode(x=alt.value("width"), y=self.rows, text="n_text:N", **dodge)]

    def hover(self) -> dict[str, str]:
        """Each column that the pointer tells of a mark, and the format of its numbers."""
        drawn = [*self.by, *self.labels, self.value, self.further, LOW, HIGH]
        forms = {}
        for name in filter(self.has, dict.fromkeys([*drawn, *self.tips, "n_docs", "n_cases"])):
            of_number = ".3g" if re.match("p$|p_", name) else ".1%" if self.percent else ".3f"
            of_number = "," if self.frame[name].dtype.is_integer() else of_number
            forms[name] = of_number if self.is_number(name) else ""
        return forms

    @property
    def tooltip(self) -> list[alt.Tooltip]:
        """A line for each column, and for the counts of documents and fields where they are."""
        forms = self.hover().items()
        return [self.at(alt.Tooltip, name, format=form or alt.Undefined) for name, form in forms]

    def described(self) -> str:
        """What the chart shows for readers who cannot see it: each row's names and value."""
        by, value = self.labels[0], self.value
        say = self.title(value) + f" by {self.title(by)}" * (by != "label")
        names = [name for name in (*self.by, *self.labels) if name != value]
        rows = []
        for row in self.frame.head(_ROWS).iter_rows(named=True):
            of = dict.fromkeys(cell(row[name]) for name in names if row[name] is not None)
            rows.append(f"{', '.join(of)} {cell(row[value])}")
        more = self.frame.height - len(rows)
        return f"{say}: {'; '.join(rows)}" + f"; and {more:,} more" * (more > 0)

    def panels(self, chart: Any, *, spacing: int = 20, apart: Sequence[str] = ()) -> Drawn:
        """The chart with its alt text, once for each value of `row` and `column`.

        Each panel has the scales `apart`, such as ``xy``, for itself. A note where there is no row.
        """
        if not self.frame.height:
            return note(self.empty)
        if self.by:
            # Below each other with the heading above: beside a low panel a long one has no room.
            head = alt.Header(labelFontSize=13, labelAnchor="start")
            order = [", ".join(of) for of in itertools.product(*map(self.values, self.by))]
            panel = self.names(alt.Facet, PANEL, order, header=head)
            chart = chart.facet(panel, columns=len(self.values(self.column)) or 1, spacing=spacing)
            chart = chart.resolve_scale(**dict.fromkeys(apart, "independent"))
        return chart.properties(description=self.described())
