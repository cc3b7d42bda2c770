"""Content by modality: one panel each, with the measure that fits it."""

from __future__ import annotations

import altair as alt
import polars as pl

from formlab import metrics, tables
from formlab.benchmarks.formcraft.taxonomy import MODALITIES
from formlab.charts import theme
from formlab.charts.published import OWN, PUBLISHED, marked, own_label
from formlab.charts.show import Caption

# What each modality is measured by, as FORMCRAFT does.
MEASURES = {
    "textual": "cer",
    "marking": "mark_f1",
    "visual": "cer",
    "cross": "cross_accuracy",
}
_FIELDS = ("system", "modality", "label", "metric", "value", "ci_low", "ci_high", "n_cases")


def modality_panels(
    summary: pl.DataFrame, printed: pl.DataFrame | None = None
) -> alt.VConcatChart | Caption:
    """A panel per modality: its subtypes, and all of it, by the metric that fits.

    Parameters
    ----------
    summary
        As from `formlab.summarise`, by ``modality`` and ``subtype``. A modality without scores
        has no panel.
    printed
        Published rows of system, modality, subtype, metric and value, shown as open markers.
    """
    own = _own(summary)
    if not own.height:
        return Caption("No field was scored by modality.", label="Note")
    rows = own.with_columns(pl.lit(OWN).alias("kind"))
    if printed is not None:
        rows = pl.concat([rows, _theirs(printed)], how="diagonal_relaxed")
    present = [name for name in MEASURES if name in set(own["modality"])]
    panels = [_panel(rows.filter(modality=name), name) for name in present]
    text = "; ".join(
        f"{modality}, {label}: {metric} {value:.3f}"
        for modality, label, metric, value in own.select(
            "modality", "label", "metric", "value"
        ).rows()
    )
    return alt.vconcat(*panels, spacing=20).properties(description=f"By modality. {text}")


def _own(summary: pl.DataFrame) -> pl.DataFrame:
    parts = []
    for modality, subtypes in MODALITIES.items():
        names = {f"modality={modality}": f"all {modality}"}
        if len(subtypes) > 1:
            names |= {f"subtype={name}": name for name in subtypes}
        rows = tables.readable(summary).filter(
            pl.col("slice").is_in(list(names)),
            pl.col("metric") == MEASURES[modality],
            pl.col("value").is_not_nan(),
        )
        parts.append(
            rows.with_columns(
                pl.lit(modality).alias("modality"), pl.col("slice").replace(names).alias("label")
            )
        )
    found = pl.concat(parts)
    if not found.height:
        return found
    return found.with_columns(pl.lit(own_label(summary)).alias("system")).select(_FIELDS)


def _theirs(printed: pl.DataFrame) -> pl.DataFrame:
    fits = pl.any_horizontal(
        (pl.col("modality") == name) & (pl.col("metric") == metric)
        for name, metric in MEASURES.items()
    )
    label = pl.coalesce("subtype", "all " + pl.col("modality"))
    rows = printed.filter(fits).with_columns(label.alias("label"), pl.lit(PUBLISHED).alias("kind"))
    return rows.select("system", "modality", "label", "metric", "value", "kind")


def _panel(rows: pl.DataFrame, modality: str) -> alt.LayerChart:
    metric = metrics.get(MEASURES[modality])
    known = set(rows["label"])
    order = [name for name in (f"all {modality}", *MODALITIES[modality]) if name in known]
    top = max(1.0, rows["value"].max() or 0.0) if metric.high is None else metric.high
    base = alt.Chart(rows)
    y = alt.Y("label:N", title=None, sort=order).axis(minExtent=120)
    better = "left" if metric.direction == "down" else "right"
    title = f"{metric.title} ({better} is better)"
    x = alt.X("value:Q", title=title).scale(domain=[0, top], clamp=True).axis(labelFlush=False)
    spans = base.transform_filter("isValid(datum.ci_low)").mark_rule(strokeWidth=2)
    spans = spans.encode(
        alt.X("ci_low:Q", title=title), alt.X2("ci_high:Q"), y, color=alt.value(theme.GOLD)
    )
    tip = [
        alt.Tooltip("system:N"), alt.Tooltip("kind:N"), alt.Tooltip("label:N"),
        alt.Tooltip("value:Q", format=".3f"), alt.Tooltip("ci_low:Q", format=".3f"),
        alt.Tooltip("ci_high:Q", format=".3f"), alt.Tooltip("n_cases:Q", title="fields"),
    ]  # fmt: skip
    dots = base.mark_point(opacity=1, strokeWidth=2).encode(x, y, *marked(), tooltip=tip)
    counts = base.transform_filter("isValid(datum.n_cases)")
    counts = counts.transform_calculate(n="'n = ' + format(datum.n_cases, ',')")
    counts = counts.mark_text(align="left", dx=8, fontSize=11, color=theme.NEUTRAL)
    counts = counts.encode(x=alt.value("width"), y=y, text="n:N")
    return alt.layer(spans, dots, counts).properties(
        title=modality, width=theme.WIDTH - 200, height=alt.Step(24)
    )
