"""A metric by groups of forms from easy to hard, with and without the ruler."""

from __future__ import annotations

import altair as alt
import polars as pl

from formlab import tables
from formlab.charts import theme
from formlab.charts._output import known
from formlab.charts.show import Caption
from formlab.charts.words import span

NOTHING = Caption("Nothing to show: no field of a form was scored.", label="Note")


def difficulty_dots(table: pl.DataFrame) -> alt.LayerChart | Caption:
    """A metric by group of difficulty, a colour for each run; group 0 is all forms.

    Parameters
    ----------
    table
        As from `formlab.analysis.by_difficulty`.
    """
    shown = table.filter(pl.col("value").is_finite())
    if not shown.height:
        return NOTHING
    shown = shown.with_columns(_group_words().alias("label"))
    labels = shown.sort("group")["label"].unique(maintain_order=True).to_list()
    runs = shown["run"].unique(maintain_order=True).to_list()
    base = alt.Chart(known(shown))
    title = "share of fields right"
    x = alt.X("value:Q", title=title).scale(domain=[0, 1]).axis(format="%")
    y = alt.Y("label:N", title="group", sort=labels).axis(labelLimit=300)
    offset = alt.YOffset("run:N", sort=runs)
    colour = alt.Color("run:N", title=None, sort=runs).scale(
        theme.scale(theme.system_colours(runs))
    )
    shape = alt.Shape("run:N", title=None, sort=runs).scale(theme.scale(theme.system_shapes(runs)))
    tip = [
        alt.Tooltip("run:N"), alt.Tooltip("label:N", title="group"),
        alt.Tooltip("value:Q", format=".3f"), alt.Tooltip("ci_low:Q", format=".3f"),
        alt.Tooltip("ci_high:Q", format=".3f"), alt.Tooltip("n_docs:Q", title="forms filled in"),
        alt.Tooltip("n_cases:Q", title="fields"),
    ]  # fmt: skip
    spans = base.mark_rule(strokeWidth=2).transform_filter("isValid(datum.ci_low)")
    spans = spans.encode(alt.X("ci_low:Q", title=title), alt.X2("ci_high:Q"), y, colour, offset)
    dots = base.mark_point(opacity=1).encode(x, y, colour, shape, offset, tooltip=tip)
    text = "By group: " + "; ".join(
        f"{run}, {label}: {value:.3f}"
        for run, label, value in shown.select("run", "label", "value").rows()
    )
    height = alt.Step(16 if len(runs) > 1 else 26)
    return alt.layer(spans, dots).properties(width=320, height=height, description=text)


def _group_words() -> pl.Expr:
    name = pl.when(pl.col("group") == 0).then(pl.lit("0, all")).otherwise(pl.col("group"))
    return pl.format("{}: {} fields, {} types", name, "fields", "types")


def difficulty_caption(table: pl.DataFrame, *, say: str) -> Caption:
    """How the groups were made, and what each run gets over all forms."""
    whole = table.filter(pl.col("group") == 0, pl.col("value").is_finite())
    if not whole.height:
        return NOTHING
    said = "; ".join(f"{row['run']} {row['value']:.3f} ({span(row)})" for row in whole.to_dicts())
    text = (
        f"{say} Over all forms (group 0): {said}. Groups 1 to 5 cut the forms into parts of about "
        "equal number by the mean of their rank by fields and their rank by types of field; the "
        "paper does not give its own bounds."
    )
    return Caption(text, settings=tables.readable(whole)["settings"][0])


def ruler_note(table: pl.DataFrame) -> Caption:
    """Whether there is a run to compare with."""
    runs = table["run"].unique(maintain_order=True).to_list()
    if len(runs) > 1:
        return Caption(f"Compared are the runs {' and '.join(runs)}, of the same forms.", "Note")
    made = runs[0] if runs else "nothing"
    text = (
        f"Shown is the run {made} alone: the parameter ruler_evaluation compares it with the other."
    )
    return Caption(text, label="Note")
