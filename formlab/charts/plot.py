"""What the charts share: columns as channels, axes, intervals, tooltips, panels, alt text."""

from __future__ import annotations

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

from formlab import metrics, selection
from formlab.charts import escaping, theme
from formlab.charts.html import number
from formlab.charts.words import NOTHING, OWN, Caption, counted, note, slice_title, words

# A label or an alt text no longer than one reads; what a file holds may be longer.
_LABEL, _ROWS = 200, 80
_COLOURS = {"stage": theme.STAGE_COLOURS, "status": theme.STATUS_COLOURS}
_COLOURS |= {"outcome": theme.OUTCOME_COLOURS, "cause": theme.CAUSE_COLOURS}


def field(name: str) -> str:
    """A column's name as Vega takes it: a dot or a bracket in it is no path."""
    return re.sub(r"([.\[\]])", r"\\\1", escaping.name(name))


def datum(name: str) -> str:
    """The value of a column in a Vega expression."""
    return f"datum[{json.dumps(escaping.name(name))}]"


def short(name: str, kind: pl.DataType) -> pl.Expr:
    """A column fit for a chart: NaN as null, categories as text, no text longer than a label."""
    if kind not in (pl.String, pl.Categorical, pl.Enum):
        return pl.col(name).fill_nan(None) if kind.is_float() else pl.col(name)
    text = pl.col(name).cast(pl.String)
    return pl.when(text.str.len_chars() > _LABEL).then(text.str.head(_LABEL) + "…").otherwise(text)


@dataclasses.dataclass
class Plot:
    """One frame on its way to a chart, with the options that all charts share (see `dots`)."""

    frame: pl.DataFrame
    value: str = "value"
    labels: Sequence[str] = ()
    further: str | None = None
    colour: str | None = None
    kind: str | None = None
    filled: str = OWN
    low: str = "ci_low"
    high: str = "ci_high"
    n: str | None = None
    order: Sequence[str] = ()
    row: str | None = None
    column: str | None = None
    titles: Mapping[str, str] = dataclasses.field(default_factory=dict)
    metric: str | None = None
    percent: bool = False
    domain: Sequence[float] | None = None
    colours: Mapping[str, str] | None = None
    tips: Sequence[str] = ()
    say: str = ""
    empty: str = NOTHING
    cases: Mapping[str, str] | None = None

    @classmethod
    def of(
        cls, frame: pl.DataFrame, value: str, *labels: str | None, number: str = "", **look: Any
    ) -> Plot:
        """The rows whose `value` and `number` are finite, each called by its `labels`.

        Each row has the line of its cases in the column `LINES`; the column of open markers is
        none of cases, though it may have the name of one.
        """
        plot = cls(frame, value, [name for name in labels if name], **look)
        numbers = [value, number] if number else [value]
        used = [*numbers, *plot.labels, plot.further, *plot.by, *plot.tips]
        frame.select(*dict.fromkeys(filter(None, used)))
        if {"metric", "n_cases", "n_undefined"} <= set(frame.columns):
            n = [counted(row) for row in frame.iter_rows(named=True)]
            frame = frame.with_columns(pl.Series("n_cases", n, pl.Int64), n_undefined=pl.lit(0))
        finite = [pl.col(name).is_finite() for name in numbers if frame[name].dtype.is_numeric()]
        shown = frame.drop_nulls(numbers).filter(*finite)
        style = [plot.kind] if plot.kind else []
        lines = pl.Series(selection.LINES, selection.of_rows(shown, plot.cases, without=style))
        if "slice_by" in plot.by:
            shown = shown.with_columns(pl.col("slice_by").map_elements(slice_title, pl.String))
        columns = [short(n, kind) for n, kind in shown.schema.items() if not kind.is_nested()]
        plot.frame = shown.select(columns).with_columns(lines.cast(pl.String))
        if len(plot.by) == 2:
            # Vega draws the panels of a grid under wrong headings where one of them has no row.
            rows, columns = (plot.frame.select(n).unique(maintain_order=True) for n in plot.by)
            every = rows.join(columns, how="cross", maintain_order="left_right")
            absent = every.join(plot.frame, on=plot.by, how="anti", maintain_order="left")
            plot.frame = pl.concat([plot.frame, absent], how="diagonal")
        return plot

    @property
    def by(self) -> list[str]:
        """The columns of the panels."""
        return [name for name in (self.row, self.column) if name]

    @cached_property
    def base(self) -> alt.Chart:
        """The chart that all layers begin from, as they must have one frame."""
        return alt.Chart(self.frame.rename(escaping.name))

    def values(self, column: str | None) -> list[str]:
        """The values of a column, in the frame's order."""
        if not self.has(column):
            return []
        return self.frame[column].drop_nulls().cast(pl.String).unique(maintain_order=True).to_list()

    def has(self, column: str | None) -> bool:
        """Whether the frame has any value of a column."""
        return column in self.frame.columns and self.frame[column].count() > 0

    def is_number(self, column: str) -> bool:
        """Whether a column has numbers, or else names."""
        return self.frame[column].dtype.is_numeric()

    def title(self, column: str) -> str:
        """The title of a column; that of the metric for its values."""
        if column not in self.titles:
            if self.metric and column == "value":
                is_mean = metrics.MACRO in self.values("average")
                return metrics.title(self.metric, metrics.MACRO if is_mean else metrics.POOLED)
            if column == "slice_value" and len(slices := self.values("slice_by")) == 1:
                return words(slices[0])
        return words(column, self.titles)

    # Channels

    def at(self, channel: Any, column: str, **more: Any) -> Any:
        """A channel of a column, numbers or names, under its title."""
        kind = "quantitative" if self.is_number(column) else "nominal"
        return channel(field=field(column), **{"type": kind, "title": self.title(column)} | more)

    def names(self, channel: Any, column: str, order: Sequence[str] = (), **more: Any) -> Any:
        """A channel of names in this order, or in that of the frame."""
        options = {"type": "nominal", "title": None, "sort": list(order) or self.values(column)}
        return self.at(channel, column, **options | more)

    def rows(self, y: str) -> alt.Y:
        """The names of the rows, in order; numbers stand in theirs and have a title."""
        if self.is_number(y):
            return self.at(alt.Y, y, type="ordinal")
        return self.names(alt.Y, y, self.order, axis=alt.Axis(labelLimit=theme.PHONE))

    def length(self, channel: Any, column: str, *others: str | None, **more: Any) -> Any:
        """The axis of values and their intervals, with ends that all panels share."""
        ends = self.ends(column, self.low, self.high, *others)
        axis: dict[str, Any] = {"tickCount": 6, "labelFlush": False}
        if self.percent:
            axis["format"] = "%"
        elif self.frame[column].dtype.is_integer():
            few = {"values": list(range(int(ends[1]) + 1))}
            axis |= few if ends[1] < 8 else {"tickMinStep": 1}
        scale = alt.Scale(domain=ends, nice=False)
        return self.at(channel, column, axis=alt.Axis(**axis), scale=scale, **more)

    def ends(self, *columns: str | None) -> list[float]:
        """The ends of an axis: zero and the metric's own, unless all values are far below that."""
        if self.domain:
            return list(self.domain)
        values = (self.frame[name].drop_nulls() for name in columns if self.has(name))
        seen = [0.0, *filter(math.isfinite, itertools.chain(*values))]
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
        palette = self.colours or _COLOURS.get(self.colour, {})
        if not self.colours and not set(values) <= set(palette):
            palette = theme.system_colours(sorted(values) if self.colour == "system" else values)
        palette = {name: palette[name] for name in palette if name in values}
        if channel is alt.Shape:
            palette = theme.system_shapes(palette)
        legend = self.legend(self.colour, columns=2, symbolOpacity=1) if len(palette) > 1 else None
        return self.names(channel, self.colour, palette, scale=theme.scale(palette), legend=legend)

    def legend(self, column: str, **more: Any) -> alt.Legend:
        """The key of a column, on top and no wider than a phone."""
        title = self.titles.get(column)
        return alt.Legend(title=title, orient="top", labelLimit=theme.PHONE, **more)

    def marks(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The channels of markers by colour and kind, and their look where no column says it."""
        marks, plain = {}, {"fill": theme.GOLD, "stroke": theme.GOLD}
        if self.colour:
            channels = {"stroke": alt.Stroke, "fill": alt.Fill, "shape": alt.Shape}
            marks, plain = {name: self.hue(at) for name, at in channels.items()}, {}
        if not self.kind:
            return marks, plain
        kinds = self.values(self.kind)
        names = [self.filled, *(name for name in kinds if name != self.filled)]
        soft = {"symbolStrokeColor": theme.SOFT, "symbolFillColor": "transparent"}
        legend = self.legend(self.kind, **soft if self.colour else {}) if len(kinds) > 1 else None

        def by_kind(channel: Any, own: Any, other: Any, legend: Any = legend) -> Any:
            # Without its type the scale would interpolate between the values.
            ends = [own, *[other] * (len(names) - 1)]
            scale = alt.Scale(type="ordinal", domain=names, range=ends)
            return self.names(channel, self.kind, names, scale=scale, legend=legend)

        if self.colour:
            # Vega has no legend of fills' opacity, so open markers are dashed as well.
            marks["fillOpacity"] = by_kind(alt.FillOpacity, 1.0, 0.0, None)
        else:
            marks["fill"] = by_kind(alt.Fill, plain.pop("fill"), "transparent")
        marks["strokeDash"] = by_kind(alt.StrokeDash, [1, 0], [2, 2])
        # A hollow marker needs room for its hole.
        return marks, plain | {"size": 60}

    def dodge(self, y: str) -> dict[str, Any]:
        """The channel that sets several colours of one row below each other; none otherwise."""
        keys = list(dict.fromkeys([y, *self.by]))
        if not self.colour or self.colour in keys:
            return {}
        if (self.frame.group_by(keys).agg(pl.col(self.colour).n_unique())[self.colour] < 2).all():
            return {}
        turns = self.values(self.colour)
        turns = sorted(turns) if self.colour == "system" else turns
        return {"yOffset": self.names(alt.YOffset, self.colour, turns)}

    # Layers, and what is around them

    def spans(self, base: alt.Chart, value: str, *, up: bool = False) -> list[Any]:
        """A layer of rules from end to end of the intervals; none where none is known."""
        if not (self.has(self.low) and self.has(self.high)):
            return []
        known = f"isValid({datum(self.low)}) && isValid({datum(self.high)})"
        start, end = (alt.Y, alt.Y2) if up else (alt.X, alt.X2)
        ends = self.at(start, self.low, title=self.title(value)), end(field=field(self.high))
        return [base.transform_filter(known).mark_rule(strokeWidth=2).encode(*ends)]

    def counts(self, y: str, dodge: Mapping[str, Any]) -> list[Any]:
        """A layer of the text n = … behind the right end of each row."""
        if not self.has(self.n):
            return []
        by = [field(name) for name in (y, *self.by, *[self.colour] * bool(dodge))]
        text = self.base.transform_aggregate(n=f"max({field(self.n)})", groupby=by)
        text = text.transform_filter("isValid(datum.n)")
        text = text.transform_calculate(n_text="'n = ' + format(datum.n, ',')")
        text = text.mark_text(align="left", dx=8, fontSize=11, color=theme.SOFT)
        return [text.encode(x=alt.value("width"), y=self.rows(y), text="n_text:N", **dodge)]

    @property
    def tooltip(self) -> list[alt.Tooltip]:
        """A line for each column, and for the counts of documents and fields where they are."""
        lines = []
        drawn = [*self.by, *self.labels, self.value, self.further, self.low, self.high]
        for name in filter(self.has, dict.fromkeys([*drawn, *self.tips, "n_docs", "n_cases"])):
            form = ".1%" if self.percent else ".3f"
            if self.frame[name].dtype.is_integer():
                form = ","
            elif name == "p" or name.startswith("p_"):
                form = ".3g"
            elif name.startswith(("difference", "least")):
                form = "+.3f"
            more = {"format": form} if self.is_number(name) else {}
            lines.append(self.at(alt.Tooltip, name, **more))
        return lines

    def described(self, by: str = "") -> str:
        """What the chart shows for readers who cannot see it: each row's names and value."""
        title, value = self.title(self.value), self.value
        say = self.say or (title if by in ("", "label") else f"{title} by {self.title(by)}")
        names = [name for name in dict.fromkeys([*self.by, *self.labels]) if name != value]
        digits = 0 if self.frame[value].dtype.is_integer() else 3
        drawn, rows = self.frame.drop_nulls(value), []
        for row in drawn.head(_ROWS).iter_rows(named=True):
            values = (row[name] for name in names if row[name] is not None)
            texts = (
                number(v) if isinstance(v, float) else escaping.clean(v, limit=80) for v in values
            )
            rows.append(f"{', '.join(dict.fromkeys(texts))} {number(row[value], digits)}")
        more = drawn.height - len(rows)
        return f"{say}: {'; '.join(rows)}" + f"; and {more:,} more" * (more > 0)

    def panels(
        self, chart: Any, by: str = "", *, spacing: int = 20, rows: bool = False
    ) -> alt.TopLevelMixin | Caption:
        """The chart with its alt text, once for each value of `row` and `column`.

        With `rows`, panels below each other have rows of their own. A note where there is no row.
        """
        if not self.frame.height:
            return note(self.empty)
        head = alt.Header(labelFontSize=13, labelAnchor="start")
        if len(self.by) == 2:
            grid = {"row": (alt.Row, self.row), "column": (alt.Column, self.column)}
            grid = {name: self.names(*channel, header=head) for name, channel in grid.items()}
            chart = chart.facet(**grid, spacing=spacing)
        elif self.by:
            # Below each other with the heading above: beside a low panel a long one has no room.
            panel, many = (
                self.names(alt.Facet, *self.by, header=head),
                len(self.values(self.column)),
            )
            chart = chart.facet(panel, columns=many or 1, spacing=spacing)
            if rows and self.row:
                chart = chart.resolve_scale(y="independent")
        return chart.properties(description=self.described(by))
