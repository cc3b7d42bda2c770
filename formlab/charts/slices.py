"""Weak slices: where a system is worse than on the rest, ranked."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import polars as pl

from formlab import metrics, tables
from formlab.analysis.finding import p_text
from formlab.charts import theme
from formlab.charts._output import number
from formlab.charts.show import Caption, Table

_OUTCOME = "fields right"


def slice_ranks(found: pl.DataFrame, *, limit: int = 15) -> alt.LayerChart | Caption:
    """Each weak slice with its interval beside the value of all other fields, heaviest on top.

    Parameters
    ----------
    found
        As from `formlab.analysis.find_slices`.
    limit
        At most so many slices.
    """
    if not found.height:
        return _nothing_found()
    found = tables.readable(found)
    several = found["system"].n_unique() > 1
    label = pl.format("{}: {}", "system", "slice") if several else pl.col("slice")
    shown = found.head(limit).with_columns(label.alias("label"))
    metric = shown["metric"].first()
    title = _OUTCOME if metric == "outcome" else metrics.title(metric)
    systems = sorted(shown["system"].unique())
    y = alt.Y("label:N", title=None, sort=shown["label"].to_list()).axis(labelLimit=330)
    key = alt.Legend(title="system", orient="top") if several else None
    colour = alt.Color("system:N", legend=key).scale(theme.scale(theme.system_colours(systems)))
    base = alt.Chart(shown)
    tip = [
        alt.Tooltip("slice:N"), alt.Tooltip("system:N"),
        alt.Tooltip("value:Q", format=".3f"), alt.Tooltip("ci_low:Q", format=".3f"),
        alt.Tooltip("ci_high:Q", format=".3f"), alt.Tooltip("rest:Q", format=".3f"),
        alt.Tooltip("difference:Q", format="+.3f"), alt.Tooltip("p_adjusted:Q", format=".3g"),
        alt.Tooltip("n_docs:Q", title="documents"), alt.Tooltip("n_cases:Q", title="fields"),
    ]  # fmt: skip
    axis = f"{title}; the tick is all other fields"
    x = alt.X("value:Q", title=axis).scale(zero=True)
    spans = base.mark_rule(strokeWidth=2).encode(
        alt.X("ci_low:Q", title=axis), alt.X2("ci_high:Q"), y, colour, tooltip=tip
    )
    dots = base.mark_point(opacity=1).encode(x, y, colour, tooltip=tip)
    rests = base.mark_tick(thickness=3, size=16, color="#555B66").encode(
        alt.X("rest:Q", title=axis), y, tooltip=tip
    )
    counts = base.transform_calculate(n="'n = ' + format(datum.n_cases, ',')")
    counts = counts.mark_text(align="left", dx=8, fontSize=11, color=theme.NEUTRAL)
    counts = counts.encode(x=alt.value("width"), y=y, text="n:N")
    said = "; ".join(
        f"{name} {value:.3f} against {rest:.3f}"
        for name, value, rest in shown.select("label", "value", "rest").rows()
    )
    return alt.layer(spans, dots, rests, counts).properties(
        width=theme.WIDTH - 180, height=alt.Step(26), description=f"Weak slices by {title}: {said}"
    )


def slice_table(found: pl.DataFrame) -> Table | Caption:
    """The weak slices as a ranked table, each with its counts and intervals."""
    if not found.height:
        return _nothing_found()
    titles = {
        "ci_low": "low", "ci_high": "high", "rest": "all others", "difference_low": "low ",
        "difference_high": "high ", "p_adjusted": "p, adjusted", "n_docs": "documents",
        "n_cases": "fields",
    }  # fmt: skip
    columns = [
        "system", "slice", "n_cases", "n_docs", "value", "ci_low", "ci_high", "rest", "difference",
        "difference_low", "difference_high", "p_adjusted", "excess",
    ]  # fmt: skip
    tried = found["n_tested"].max()
    note = (
        f"Out of {tried:,} slices tried. Excess is the difference times the fields. Slices were "
        "picked for looking bad: expect less of a difference on new documents."
    )
    digits = {"p_adjusted": 4, "excess": 1}
    return Table(tables.readable(found).select(columns), titles=titles, digits=digits, note=note)


def slice_caption(found: pl.DataFrame, *, say: str, label: str = "Figure") -> Caption:
    """A caption with the first slice, its value, interval, n and p, and the search's settings."""
    if not found.height:
        return Caption(f"{say} None was found.", label=label)
    row = tables.readable(found).row(0, named=True)
    ends = f"95 % interval {number(row['ci_low'])} to {number(row['ci_high'])}, "
    ends = "" if math.isnan(row["ci_low"]) else ends
    text = (
        f"{say} First: {row['slice']} of {row['system']} with {row['value']:.3f} against "
        f"{row['rest']:.3f} elsewhere ({ends}"
        f"n = {row['n_cases']:,} in {row['n_docs']:,} documents; {p_text(row['p_adjusted'])}, "
        f"adjusted for {row['n_tested']:,} slices)."
    )
    return Caption(text, label=label, settings=row["settings"])


def slice_figures(found: pl.DataFrame, *, limit: int = 15) -> list[Any]:
    """Chart and table of weak slices with their captions, or one note where there is none."""
    if not found.height:
        return [_nothing_found()]
    return [
        slice_caption(found, say="Slices significantly worse than all other fields."),
        slice_ranks(found, limit=limit),
        slice_caption(found, say="The same with counts, intervals and tests.", label="Table"),
        slice_table(found),
    ]


def _nothing_found() -> Caption:
    return Caption(
        "No slice with enough fields in enough documents is significantly worse than the rest. "
        "That is no proof that there is none: few documents show little.",
        label="Note",
    )
