"""What the generic charts share: columns as channels, tooltips, axis ends, counts, alt text."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from formlab import metrics, selection
from formlab.charts import harmless, theme
from formlab.charts._output import clean, known, number
from formlab.charts.show import Caption
from formlab.errors import UnknownName

OWN, PUBLISHED = "measured here", "published"
# Where the forms measured here are not those of the paper, the legend says so.
ELSEWHERE = "published, on other forms"
NOTHING = "Nothing was scored for it."
TITLES = {
    "ci_low": "low", "ci_high": "high", "n_docs": "documents", "n_cases": "fields",
    "doc_id": "document", "system_a": "first system", "system_b": "second system",
}  # fmt: skip
# The column of the label that stands at a point: see `_names`.
NAME = "_name"
# A label or an alt text no longer than one reads; what a file holds may be longer.
_LABEL, _ROWS = 200, 80


def words(column: str, titles: Mapping[str, str] | None = None) -> str:
    """What readers call a column: its title, or its name with underscores as spaces."""
    return (titles or {}).get(column) or TITLES.get(column) or column.replace("_", " ")


def field(name: str) -> str:
    """A column's name as Vega takes it: a dot or a bracket in it is no path."""
    return re.sub(r"([.\[\]])", r"\\\1", harmless.name(name))


def datum(name: str) -> str:
    """The value of a column in a Vega expression."""
    return f"datum[{json.dumps(harmless.name(name))}]"


def note(text: str) -> Caption:
    """One line in the place of a chart or table that has nothing to show."""
    return Caption(text, label="Note")


def limits(
    frame: pl.DataFrame, columns: Sequence[str], metric: str | None, *, zero: bool = True
) -> list[float]:
    """The ends of an axis: zero and the metric's own, unless all values are far below that."""
    columns = [name for name in columns if name in frame.columns]
    values = pl.concat([frame[name].cast(pl.Float64) for name in columns])
    seen = [*values.filter(values.is_finite()), *([0.0] if zero else [])]
    low, high = min(seen), max(seen)
    own = metrics.get(metric).high if metric else None
    room = 0.05 * (high - low) or 0.01
    if own is not None and high > own / 2:
        high = max(own, high)
    elif high > 0 or not zero:
        high += room
    return [round(low - room, 9) if low < 0 or not zero else low, round(high, 9)]


def counted(row: Mapping[str, Any]) -> int | None:
    """The cases that a ratio is taken over: those whose own value is defined; None if unknown.

    Of a mean over documents, `n_undefined` counts documents; other scores pool all cases.

    Examples
    --------
    >>> counted({"metric": "click_accuracy", "n_cases": 5, "n_undefined": 1})
    4
    """
    entry = metrics.METRICS.get(row.get("metric"))
    is_mean = row.get("average") == metrics.MACRO
    if entry is None or is_mean or entry.score is not metrics.ratio or row["n_cases"] is None:
        return row["n_cases"]
    return row["n_cases"] - (row.get("n_undefined") or 0)


def colours_of(column: str, values: Sequence[str]) -> dict[str, str]:
    """The colours of the values of a column: the theme's for what it knows, else by place."""
    own = {
        "stage": theme.STAGE_COLOURS, "status": theme.STATUS_COLOURS,
        "outcome": theme.OUTCOME_COLOURS, "cause": theme.CAUSE_COLOURS,
    }.get(column, {})  # fmt: skip
    if own and set(values) <= set(own):
        return {name: colour for name, colour in own.items() if name in values}
    return theme.system_colours(sorted(values) if column == "system" else values)


def short(name: str, kind: pl.DataType) -> pl.Expr:
    """A column fit for a chart: categories as text, and no text longer than a label."""
    if kind not in (pl.String, pl.Categorical, pl.Enum):
        return pl.col(name)
    text = pl.col(name).cast(pl.String)
    return pl.when(text.str.len_chars() > _LABEL).then(text.str.head(_LABEL) + "…").otherwise(text)


@dataclasses.dataclass
class Plot:
    """One frame on its way to a chart, with the options that all charts share (see `dots`)."""

    frame: pl.DataFrame
    titles: Mapping[str, str] = dataclasses.field(default_factory=dict)
    metric: str | None = None
    percent: bool = False
    domain: Sequence[float] | None = None
    colours: Mapping[str, str] | None = None
    tips: Sequence[str] = ()
    say: str = ""
    empty: str = NOTHING
    width: int | None = None
    cases: Mapping[str, str] | None = None
    # The frame that was drawn last, and the same under names for Vega.
    _drawn: tuple[pl.DataFrame, pl.DataFrame] | None = None

    @classmethod
    def of(
        cls, frame: pl.DataFrame, needed: Sequence[str], used: Sequence[str | None], *,
        style: str | None = None, **options: Any,
    ) -> Plot | Caption:  # fmt: skip
        """The rows whose `needed` numbers are known; a note where there are none.

        Each row has the line of its cases in the column `LINES`; `style` is no column of cases,
        though it may have the name of one.
        """
        plot = cls(frame, **options)
        if {"metric", "n_cases", "n_undefined"} <= set(frame.columns):
            cases = [counted(row) for row in frame.iter_rows(named=True)]
            frame = frame.with_columns(
                pl.Series("n_cases", cases, dtype=pl.Int64), pl.lit(0).alias("n_undefined")
            )
        for name in (*needed, *filter(None, used), *plot.tips):
            if name not in frame.columns:
                raise UnknownName.of("column", name, frame.columns)
        shown = known(frame).drop_nulls(needed)
        if numeric := [name for name in needed if shown[name].dtype.is_float()]:
            shown = shown.filter(pl.all_horizontal(pl.col(name).is_finite() for name in numeric))
        if not shown.height:
            return note(plot.empty)
        lines = selection.of_rows(shown, plot.cases, without=[style] if style else [])
        shown = shown.select(
            short(name, kind) for name, kind in shown.schema.items() if not kind.is_nested()
        )
        plot.frame = shown.with_columns(pl.Series(selection.LINES, lines, dtype=pl.String))
        return plot

    @property
    def base(self) -> alt.Chart:
        """The chart that all layers begin from."""
        # Layers of one chart must have one frame.
        if self._drawn is None or self._drawn[0] is not self.frame:
            self._drawn = (self.frame, self.frame.rename(harmless.name))
        return alt.Chart(self._drawn[1])

    def values(self, column: str | None) -> list[str]:
        """The values of a column, in the frame's order."""
        if column is None:
            return []
        return self.frame[column].drop_nulls().cast(pl.String).unique(maintain_order=True).to_list()

    def title(self, column: str) -> str:
        """The title of a column; that of the metric for its values."""
        if column not in self.titles:
            if self.metric and column in ("value", "smooth"):
                is_mean = self.has("average") and metrics.MACRO in self.values("average")
                return metrics.title(self.metric, metrics.MACRO if is_mean else metrics.POOLED)
            slices = self.values("slice_by") if self.has("slice_by") else []
            if column == "slice_value" and len(slices) == 1:
                return words(slices[0])
        return words(column, self.titles)

    def has(self, column: str | None) -> bool:
        """Whether the frame has any value of a column."""
        return column in self.frame.columns and self.frame[column].count() > 0

    def tooltip(self, *columns: str | None) -> list[alt.Tooltip]:
        """A line for each column, and for the counts of documents and fields where they are."""
        lines = []
        for name in dict.fromkeys([*filter(None, columns), "n_docs", "n_cases"]):
            if not self.has(name):
                continue
            dtype, form = self.frame[name].dtype, ".1%" if self.percent else ".3f"
            if dtype.is_integer():
                form = ","
            elif name == "p" or name.startswith("p_"):
                form = ".3g"
            elif name.startswith(("difference", "least")):
                form = "+.3f"
            more = {"type": "quantitative", "format": form} if dtype.is_numeric() else {}
            more = {"type": "nominal", "title": self.title(name)} | more
            lines.append(alt.Tooltip(field=field(name), **more))
        return lines

    def ends(self, columns: Sequence[str], *, zero: bool = True) -> list[float]:
        """The ends of the axis of these columns."""
        return list(self.domain or limits(self.frame, columns, self.metric, zero=zero))

    def numbers(self, channel: Any, column: str, title: str = "", **more: Any) -> Any:
        """A channel of numbers under the title of this column, or of another."""
        heading = self.title(title or column)
        return channel(field=field(column), type="quantitative", title=heading, **more)

    def rows(self, y: str, order: Sequence[str], *, named: bool = True) -> alt.Y:
        """The channel of rows of names, in order."""
        return alt.Y(
            field=field(y), type="nominal", title=None, sort=list(order) or self.values(y),
            axis=alt.Axis(labelLimit=theme.PHONE) if named else None,
        )  # fmt: skip

    def colour(self, channel: Any, column: str, *, legend: Any = True) -> Any:
        """A colour or shape channel over a column, with the theme's scale and its legend on top."""
        names = self.values(column)
        palette = dict(self.colours) if self.colours else colours_of(column, names)
        palette = {name: palette[name] for name in palette if name in names}
        if channel is alt.Shape:
            palette = theme.system_shapes(palette)
        key = alt.Legend(
            title=self.titles.get(column), orient="top", columns=2,
            labelLimit=theme.PHONE, symbolOpacity=1,
        )  # fmt: skip
        return channel(
            field=field(column), type="nominal", sort=list(palette),
            scale=theme.scale(palette), legend=key if legend and len(palette) > 1 else None,
        )  # fmt: skip

    def intervals(
        self, base: alt.Chart, low: str, high: str, value: str, *, up: bool = False
    ) -> alt.Chart | None:
        """The intervals that are known, for a mark from end to end; None where there are none."""
        if not (self.has(low) and self.has(high)):
            return None
        start, end = (alt.Y, alt.Y2) if up else (alt.X, alt.X2)
        spans = base.transform_filter(f"isValid({datum(low)}) && isValid({datum(high)})")
        return spans.encode(self.numbers(start, low, value), end(field=field(high)))

    def counts(self, base: alt.Chart, y: Any, column: str, *groups: str | None, **more: Any) -> Any:
        """The text n = … behind the right end of each row."""
        by = [field(name) for name in filter(None, groups)]
        text = base.transform_aggregate(n=f"max({field(column)})", groupby=by)
        text = text.transform_filter("isValid(datum.n)")
        text = text.transform_calculate(n_text="'n = ' + format(datum.n, ',')")
        text = text.mark_text(align="left", dx=8, fontSize=11, color=theme.SOFT)
        return text.encode(x=alt.value("width"), y=y, text="n_text:N", **more)

    def alt_text(self, columns: Sequence[str | None], value: str, by: str = "") -> str:
        """What the chart shows for readers who cannot see it: each row's names and value."""
        title = self.title(value)
        say = self.say or (title if by in ("", "label") else f"{title} by {self.title(by)}")
        names = [name for name in dict.fromkeys(columns) if name and name != value]
        digits = 0 if self.frame[value].dtype.is_integer() else 3
        rows = []
        for row in self.frame.head(_ROWS).iter_rows(named=True):
            values = (row[name] for name in names if row[name] is not None)
            texts = (number(v) if isinstance(v, float) else clean(v, limit=80) for v in values)
            rows.append(f"{', '.join(dict.fromkeys(texts))} {number(row[value], digits)}")
        more = self.frame.height - len(rows)
        return f"{say}: {'; '.join(rows)}" + (f"; and {more:,} more" if more > 0 else "")

    def crossed(self, row: str | None, column: str | None) -> None:
        """Add an empty row for each pair of `row` and `column` that the frame has not.

        Vega draws the panels of a grid under wrong headings where one of them has no row.
        """
        if row is None or column is None:
            return
        sides = [self.frame.select(name).unique(maintain_order=True) for name in (row, column)]
        every = sides[0].join(sides[1], how="cross", maintain_order="left_right")
        absent = every.join(self.frame, on=[row, column], how="anti", maintain_order="left")
        self.frame = pl.concat([self.frame, absent], how="diagonal")

    def grid(
        self, chart: Any, text: str, row: str | None, column: str | None, *, spacing: int,
        title: str | None = None, **more: Any,
    ) -> Any:  # fmt: skip
        """The chart once for each pair of values of `row` and `column`."""
        if row and not column:
            # Below each other with the heading above: beside a low panel a long one has no room.
            return self.facet(chart, row, text, spacing=spacing, own=False)
        sides = (("row", row, alt.Row, None), ("column", column, alt.Column, title))
        panels = {
            side: channel(
                field=field(name), type="nominal", title=head, sort=self.values(name), **more
            )
            for side, name, channel, head in sides
            if name
        }
        chart = chart.facet(spacing=spacing, **panels) if panels else chart
        return chart.properties(description=text)

    def facet(
        self, chart: Any, facet: str | None, text: str, *, across: bool = False,
        spacing: int = 20, own: bool = True,
    ) -> Any:  # fmt: skip
        """The chart once for each value of `facet`, below or beside each other; rows of its own."""
        if facet is not None:
            head = alt.Header(title=None, labelFontSize=13, labelAnchor="start")
            panels = alt.Facet(
                field=field(facet), type="nominal", title=None, header=head, sort=self.values(facet)
            )
            columns = len(self.values(facet)) if across else 1
            chart = chart.facet(panels, columns=columns, spacing=spacing)
            chart = chart.resolve_scale(y="independent") if own and not across else chart
        return chart.properties(description=text)
