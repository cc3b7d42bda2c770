"""Scores as dots with their intervals, the strictness ladder, and counts of causes."""

from __future__ import annotations

import altair as alt
import polars as pl

from formlab import metrics
from formlab.charts import theme
from formlab.charts._output import known
from formlab.charts.show import Caption
from formlab.tables import LADDER


def slice_dots(summary: pl.DataFrame, *, metric: str, by: str) -> alt.LayerChart | Caption:
    """One dot and interval per slice of `by`, in the summary's own order, a colour per system.

    Parameters
    ----------
    summary
        As from `formlab.summarise`.
    metric, by
        Which metric, over which sliced column.

    Returns
    -------
    altair.LayerChart
        Or a note, where the summary has no such rows.
    """
    shown = _sliced(summary, by).filter(pl.col("metric") == metric)
    if not shown.height:
        return _nothing(metric, by)
    labels = shown["label"].unique(maintain_order=True).to_list()
    base = alt.Chart(known(shown))
    axis_title = metrics.title(metric)
    low = min(0.0, shown["ci_low"].min() or 0.0)
    high = max(_ceiling(metric, shown), low + 1e-9)
    x = alt.X("value:Q", title=axis_title).scale(domain=[low, high], clamp=True)
    y = alt.Y("label:N", title=None, sort=labels).axis(labelLimit=220)
    systems = sorted(shown["system"].unique())
    # One system needs no legend: the counts of fields stand there instead.
    key = None if len(systems) == 1 else alt.Legend(title="system")
    colour = alt.Color("system:N", legend=key).scale(theme.scale(theme.system_colours(systems)))
    shape = alt.Shape("system:N", legend=key).scale(theme.scale(theme.system_shapes(systems)))
    tip = [
        alt.Tooltip("label:N", title=by), alt.Tooltip("system:N"),
        alt.Tooltip("value:Q", format=".3f", title=metric),
        alt.Tooltip("ci_low:Q", format=".3f"), alt.Tooltip("ci_high:Q", format=".3f"),
        alt.Tooltip("n_docs:Q", title="documents"), alt.Tooltip("n_cases:Q", title="fields"),
    ]  # fmt: skip
    offset = alt.YOffset("system:N") if len(systems) > 1 else alt.Undefined
    dots = base.mark_point(opacity=1).encode(x, y, colour, shape, yOffset=offset, tooltip=tip)
    spans = base.mark_rule(strokeWidth=2).encode(
        alt.X("ci_low:Q", title=axis_title), alt.X2("ci_high:Q"), y, colour, yOffset=offset
    )
    layers = [spans, dots] if len(systems) > 1 else [spans, dots, _counts(base, y)]
    text = f"{axis_title} by {by}: " + "; ".join(
        f"{label} {value:.3f}" for label, value in shown.select("label", "value").rows()
    )
    return alt.layer(*layers).properties(height=alt.Step(26 * len(systems)), description=text)


def _counts(base: alt.Chart, y: alt.Y) -> alt.Chart:
    label = base.transform_calculate(n="'n = ' + format(datum.n_cases, ',')")
    label = label.mark_text(align="left", dx=8, fontSize=11, color=theme.NEUTRAL)
    return label.encode(x=alt.value("width"), y=y, text="n:N")


def ladder_lines(summary: pl.DataFrame, *, by: str) -> alt.LayerChart | Caption:
    """Accuracy on each rung of the strictness ladder, a line per slice of `by`.

    Lines that cross mean that the ranking depends on how strictly one judges.
    """
    names = {f"{rung}_accuracy": rung for rung in LADDER}
    shown = _sliced(summary, by).filter(pl.col("metric").is_in(list(names)))
    if not shown.height:
        return _nothing("ladder", by)
    shown = shown.with_columns(pl.col("metric").replace(names).alias("rung"))
    labels = shown["label"].unique(maintain_order=True).to_list()
    colours = theme.scale(theme.system_colours(labels))
    base = alt.Chart(shown).encode(
        alt.X("rung:N", title="strictness, from strict to lenient", sort=list(LADDER)),
        alt.Y("value:Q", title="share of fields").axis(format="%").scale(domain=[0, 1]),
        alt.Color("label:N", title=by, sort=labels).scale(colours),
        tooltip=[
            alt.Tooltip("label:N", title=by), alt.Tooltip("rung:N"),
            alt.Tooltip("value:Q", format=".1%"), alt.Tooltip("ci_low:Q", format=".1%"),
            alt.Tooltip("ci_high:Q", format=".1%"), alt.Tooltip("n_cases:Q", title="fields"),
        ],
    )  # fmt: skip
    shape = alt.Shape("label:N", title=by, sort=labels).scale(
        theme.scale(theme.system_shapes(labels))
    )
    spans = base.mark_rule(opacity=0.6).encode(
        alt.Y("ci_low:Q", title="share of fields"), alt.Y2("ci_high:Q")
    )
    chart = spans + base.mark_line() + base.mark_point(opacity=1).encode(shape)
    return chart.properties(
        width=theme.WIDTH - 160,
        height=240,
        description=f"Accuracy on the rungs of the ladder by {by}",
    )


def cause_bars(cases: pl.DataFrame, *, by: str = "kind") -> alt.Chart | Caption:
    """How many cases each cause has, most frequent on top, split by `by`."""
    wrong = cases.filter(
        pl.col("cause").is_not_null(), pl.col("path").is_not_null(), pl.col("task") != "layout"
    )
    if not wrong.height:
        return _nothing("causes", by)
    counts = wrong.group_by("cause", by).len("cases").sort("cause", by)
    order = (
        counts.group_by("cause")
        .agg(pl.col("cases").sum())
        .sort("cases", "cause", descending=[True, False])
    )
    kinds = counts[by].unique().sort().to_list()
    return (
        alt.Chart(counts)
        .mark_bar()
        .encode(
            alt.X("cases:Q", title="fields"),
            alt.Y("cause:N", title=None, sort=order["cause"].to_list()),
            alt.Color(f"{by}:N", title=by).scale(theme.scale(theme.system_colours(kinds))),
            tooltip=[alt.Tooltip("cause:N"), alt.Tooltip(f"{by}:N"), alt.Tooltip("cases:Q")],
        )
        .properties(height=alt.Step(22), description=f"Fields by cause of error and {by}")
    )


def _nothing(what: str, by: str) -> Caption:
    return Caption(f"Nothing to show: no field was scored for {what} by {by}.", label="Note")


def _sliced(summary: pl.DataFrame, by: str) -> pl.DataFrame:
    head = f"{by}="
    rows = summary.filter(pl.col("slice").str.starts_with(head))
    return rows.with_columns(pl.col("slice").str.strip_prefix(head).alias("label"))


def _ceiling(metric: str, shown: pl.DataFrame) -> float:
    """The end of the axis: the metric's own, unless all values are far below it."""
    top = max(v for v in (*shown["value"], *shown["ci_high"], 0.0) if v == v)
    own = metrics.get(metrics.plain(metric)).high
    return own if own is not None and top > own / 2 else top * 1.1
