"""Extracted entities: scores of each entity and data type, and the gap to an unseen template."""

from __future__ import annotations

import altair as alt
import polars as pl

from formlab import metrics, tables
from formlab.analysis.few_shot import NESTED
from formlab.charts import theme
from formlab.charts.show import Caption

TYPE_COLOURS = {
    "string": theme.SYSTEM_COLOURS[0], "date": theme.SYSTEM_COLOURS[4],
    "money": theme.SYSTEM_COLOURS[2], "address": theme.SYSTEM_COLOURS[3],
    NESTED: theme.SYSTEM_COLOURS[1],
}  # fmt: skip
NO_ENTITIES = "Nothing to show: no entities were scored."
TOP = alt.Header(title=None, labelFontSize=13, labelAnchor="start")


def entity_dots(summary: pl.DataFrame, *, by: str = "entity") -> alt.FacetChart | Caption:
    """F1 of each entity, or of each data type, best on top, coloured by data type.

    Parameters
    ----------
    summary
        As from `formlab.analysis.by_entity`.
    by
        ``entity`` or ``type``.
    """
    rows = tables.readable(summary).filter(
        pl.col("slice").str.starts_with(f"{by}="), pl.col("metric") == "f1"
    )
    rows = rows.with_columns(pl.col("value", "ci_low", "ci_high").fill_nan(None))
    rows = rows.drop_nulls("value")
    if not rows.height:
        return Caption(NO_ENTITIES, label="Note")
    shown = rows.with_columns(pl.col("slice").str.strip_prefix(f"{by}=").alias("name"))
    shown = shown.sort("corpus", "value", descending=[False, True], maintain_order=True)
    title = metrics.title("f1")
    y = alt.Y("name:N", title=None, sort=alt.EncodingSortField("value", order="descending"))
    x = alt.X("value:Q", title=title).scale(domain=[0, 1]).axis(tickCount=5)
    types = {name: hue for name, hue in TYPE_COLOURS.items() if name in shown["type"].unique()}
    key = None if by == "type" else alt.Legend(title="data type", orient="top")
    colour = alt.Color("type:N", legend=key).scale(theme.scale(types))
    tips = [
        alt.Tooltip("name:N", title=by), alt.Tooltip("type:N", title="data type"),
        alt.Tooltip("value:Q", format=".3f"), alt.Tooltip("ci_low:Q", format=".3f"),
        alt.Tooltip("ci_high:Q", format=".3f"), alt.Tooltip("n_gold:Q", title="in the gold"),
        alt.Tooltip("n_docs:Q", title="documents"),
    ]  # fmt: skip
    base = alt.Chart(shown)
    spans = base.transform_filter("isValid(datum.ci_low)").mark_rule(strokeWidth=2)
    spans = spans.encode(alt.X("ci_low:Q", title=title), alt.X2("ci_high:Q"), y, colour)
    dots = base.mark_point(opacity=1).encode(x, y, colour, tooltip=tips)
    count = base.transform_calculate(n="'n = ' + format(datum.n_gold, ',')")
    count = count.mark_text(align="left", dx=8, fontSize=11, color=theme.NEUTRAL)
    layers = alt.layer(spans, dots, count.encode(x=alt.value("width"), y=y, text="n:N"))
    text = f"{title} by {by}: " + "; ".join(
        f"{name} {value:.3f}" for name, value in shown.select("name", "value").rows()
    )
    chart = layers.properties(width=theme.WIDTH - 250, height=alt.Step(24))
    facet = alt.Facet("corpus:N", header=TOP, title=None)
    chart = chart.facet(facet, columns=1).resolve_scale(y="independent")
    return chart.properties(description=text)


def gap_dots(gaps: pl.DataFrame) -> alt.FacetChart | Caption:
    """What an unseen template costs: mixed minus unseen, right of the line if it costs anything.

    Parameters
    ----------
    gaps
        As from `formlab.analysis.transfer_gaps`.
    """
    shown = gaps.with_columns(pl.col("value", "ci_low", "ci_high").fill_nan(None))
    shown = shown.drop_nulls("value")
    if not shown.height:
        what = "no training size has both mixed templates and an unseen one"
        return Caption(f"Nothing to compare: {what}.", label="Note")
    names = {name: metrics.title(name) for name in shown["metric"].unique(maintain_order=True)}
    shown = shown.with_columns(
        pl.format("{} of {}", pl.col("metric").replace(names), "part").alias("score"),
        pl.format("{}, {} training documents", "corpus", "train_size").alias("label"),
    )
    order = shown["score"].unique(maintain_order=True).to_list()
    edge = max(
        0.1, *(abs(v) for c in ("value", "ci_low", "ci_high") for v in shown[c].drop_nulls())
    )
    title = "score on mixed templates minus score on an unseen one"
    x = alt.X("value:Q", title=title).scale(domain=[-1.05 * edge, 1.05 * edge])
    y = alt.Y("score:N", title=None, sort=order)
    base = alt.Chart(shown)
    zero = base.mark_rule(color=theme.NEUTRAL).encode(x=alt.datum(0))
    spans = base.transform_filter("isValid(datum.ci_low)").mark_rule(strokeWidth=2)
    spans = spans.encode(alt.X("ci_low:Q", title=title), alt.X2("ci_high:Q"), y)
    tips = [
        alt.Tooltip("score:N"), alt.Tooltip("value:Q", format="+.3f"),
        alt.Tooltip("ci_low:Q", format="+.3f"), alt.Tooltip("ci_high:Q", format="+.3f"),
    ]  # fmt: skip
    dots = base.mark_point(opacity=1, color=theme.SYSTEM_COLOURS[0]).encode(x, y, tooltip=tips)
    text = "Mixed minus unseen: " + "; ".join(
        f"{label}, {score} {value:+.3f}"
        for label, score, value in shown.select("label", "score", "value").rows()
    )
    chart = alt.layer(zero, spans, dots).properties(width=theme.WIDTH - 250, height=alt.Step(24))
    facet = alt.Facet("label:N", header=TOP, title=None)
    chart = chart.facet(facet, columns=1).resolve_scale(y="independent")
    return chart.properties(description=text)
