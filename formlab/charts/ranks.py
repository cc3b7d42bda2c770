"""Systems by the text they read and by the facts they get right, published and measured."""

from __future__ import annotations

import altair as alt
import polars as pl

from formlab import tables
from formlab.charts import theme
from formlab.charts.published import OWN, PUBLISHED, citation, marked, own_label
from formlab.charts.show import Caption, Table
from formlab.scoring.tasks.facts import general_ranks, ranks

NOTHING = "Nothing to show: no financial fact was scored."
GENERAL = "(ROUGE-1 + ROUGE-L + 1 − edit distance) / 3"
_TEXT = ("rouge1", "rougeL", "edit_distance")
_KINDS = ("number_accuracy", "temporal_accuracy")
_FIGURES = (*_TEXT, *_KINDS, "fact_accuracy")


def general_and_facts(summary: pl.DataFrame, printed: pl.DataFrame) -> pl.DataFrame:
    """Published systems and one's own, with text and fact figures and both ranks.

    Parameters
    ----------
    summary
        As from `formlab.summarise`.
    printed
        As from `published`: one row a system, figures as printed.

    Returns
    -------
    polars.DataFrame
        `system kind rouge1 rougeL edit_distance number_accuracy temporal_accuracy fact_accuracy
        general general_rank fact_rank`; ranks are among the published systems, which read the
        same pages; what was measured here, on other pages, has none.
    """
    theirs = printed.with_columns(pl.col(_FIGURES).cast(pl.Float64), kind=pl.lit(PUBLISHED))
    r1, rl, edits = (pl.col(name) for name in _TEXT)
    theirs = general_ranks(
        theirs.with_columns(general=(r1 + rl + 1 - edits) / 3, facts=pl.col("fact_accuracy"))
    )
    columns = ("system", "kind", *_FIGURES, "general", "general_rank", "fact_rank")
    return pl.concat([theirs.select(columns), _own(summary, theirs.select(columns).schema)])


def _own(summary: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    if not summary.height:
        return pl.DataFrame(schema=schema)
    known = ranks(summary)
    values = {
        "rouge1": ("all", "macro_rouge1_stem"),
        "rougeL": ("all", "macro_rougeL_stem"),
        "edit_distance": ("all", "macro_edit_distance"),
        "number_accuracy": ("kind=number", "fact_accuracy"),
        "temporal_accuracy": ("kind=temporal", "fact_accuracy"),
        "fact_accuracy": ("fields", "fact_accuracy"),
    }
    row = {
        name: tables.only(tables.readable(summary), slice=part, metric=metric)["value"].first()
        for name, (part, metric) in values.items()
    }
    row |= {"system": own_label(summary), "kind": OWN, "general": known["general"].first()}
    return pl.DataFrame([row | {"general_rank": None, "fact_rank": None}], schema=schema)


def rank_slopes(compared: pl.DataFrame) -> alt.LayerChart | Caption:
    """The rank by text on the left, by facts on the right, a line per published system.

    Lines that cross are systems whose text reads better and whose facts are worse.
    """
    shown = compared.filter(pl.col("general_rank").is_not_null()).sort("fact_rank", "system")
    if not shown.height:
        return Caption(NOTHING, label="Note")
    ends = {"general_rank": "by text", "fact_rank": "by facts"}
    long = shown.unpivot(
        list(ends), index=["system", "general", "fact_accuracy"], variable_name="by",
        value_name="rank",
    ).with_columns(pl.col("by").replace(ends))  # fmt: skip
    moves = shown["general_rank"] - shown["fact_rank"]
    change = dict(zip(shown["system"], moves, strict=True))
    said = {
        name: "facts rank higher" if move > 0 else "text ranks higher" if move < 0 else "same rank"
        for name, move in change.items()
    }
    # Systems of one rank share a line of text, or their names would cover each other.
    first = pl.col("system").cum_count().over("by", "rank") == 1
    names = pl.col("system").str.join(", ").over("by", "rank")
    long = long.with_columns(
        pl.col("system").replace_strict(said).alias("moved"),
        pl.when(first).then(names).otherwise(pl.lit("")).alias("names"),
    )
    colours = {
        "facts rank higher": theme.GOLD, "text ranks higher": theme.PREDICTED,
        "same rank": theme.NEUTRAL,
    }  # fmt: skip
    tip = [
        alt.Tooltip("system:N"), alt.Tooltip("by:N"), alt.Tooltip("rank:Q"),
        alt.Tooltip("general:Q", format=".3f", title="text"),
        alt.Tooltip("fact_accuracy:Q", format=".3f", title="FFA"),
    ]  # fmt: skip
    base = alt.Chart(long).encode(
        alt.X("by:N", title=None, sort=list(ends.values()))
        .axis(orient="top", domain=False, ticks=False, labelFontSize=13)
        .scale(padding=0.9),
        alt.Y("rank:Q", axis=None)
        .scale(reverse=True, nice=False, zero=False, domain=[0.6, shown.height + 0.4]),
        alt.Color("moved:N", title=None)
        .scale(theme.scale(colours))
        .legend(orient="bottom"),
        tooltip=tip,
    )  # fmt: skip
    right = base.transform_filter("datum.by === 'by facts' && datum.names").transform_calculate(
        name="datum.rank + '   ' + datum.names"
    )
    left = base.transform_filter("datum.by === 'by text' && datum.names").transform_calculate(
        name="datum.names + '   ' + datum.rank"
    )
    chart = alt.layer(
        base.mark_line().encode(detail="system:N"),
        base.mark_point(opacity=1),
        left.mark_text(align="right", dx=-12, fontSize=12).encode(text="name:N"),
        right.mark_text(align="left", dx=12, fontSize=12).encode(text="name:N"),
    )
    text = "Rank by text and by facts: " + "; ".join(
        f"{name} {by_text} and {by_facts}"
        for name, by_text, by_facts in shown.select("system", "general_rank", "fact_rank").rows()
    )
    return chart.properties(width=480, height=26 * shown.height + 20, description=text)


def text_and_facts(compared: pl.DataFrame) -> alt.LayerChart | Caption:
    """A marker per system, text across and facts up: what was measured here filled."""
    shown = compared.drop_nulls(["general", "fact_accuracy"]).drop_nans(
        ["general", "fact_accuracy"]
    )
    if not shown.height:
        return Caption(NOTHING, label="Note")
    tip = [
        alt.Tooltip("system:N"), alt.Tooltip("kind:N"),
        alt.Tooltip("general:Q", format=".3f", title="text"),
        alt.Tooltip("fact_accuracy:Q", format=".3f", title="FFA"),
    ]  # fmt: skip
    base = alt.Chart(shown).encode(
        alt.X("general:Q", title=f"text: {GENERAL}").scale(upto_one(shown["general"])),
        alt.Y("fact_accuracy:Q", title="facts: FFA").scale(upto_one(shown["fact_accuracy"])),
        tooltip=tip,
    )
    dots = base.mark_point(opacity=1, strokeWidth=2).encode(*marked())
    own = base.transform_filter(alt.FieldEqualPredicate(field="kind", equal=OWN))
    names = own.mark_text(align="right", dx=-10).encode(text="system:N")
    text = "Text and facts: " + "; ".join(
        f"{name} ({kind}) {general:.3f} and {facts:.3f}"
        for name, kind, general, facts in shown.select(
            "system", "kind", "general", "fact_accuracy"
        ).rows()
    )
    return alt.layer(dots, names).properties(height=260, description=text)


def upto_one(values: pl.Series) -> alt.Scale:
    """A scale from a little below the least of `values` up to 1, its end."""
    low = values.min()
    return alt.Scale(domain=[max(0.0, low - max(0.02, (1 - low) * 0.1)), 1], nice=False)


def compared_table(compared: pl.DataFrame) -> Table:
    """Published figures and one's own, best facts on top; only published systems have ranks."""
    titles = {
        "kind": "figures", "rouge1": "R1", "rougeL": "RL", "edit_distance": "E",
        "number_accuracy": "number", "temporal_accuracy": "temporal", "fact_accuracy": "FFA",
        "general_rank": "rank by text", "fact_rank": "rank by facts",
    }  # fmt: skip
    rows = compared.drop("general").sort("fact_accuracy", descending=True, nulls_last=True)
    return Table(rows, titles=titles)


def cited(printed: pl.DataFrame, *, say: str, label: str = "Table") -> Caption:
    """A caption that says where published figures stand, and that they are of other pages."""
    text = f"{say} Published figures are of the paper's own pages. From: {citation(printed)}."
    return Caption(text, label=label)
