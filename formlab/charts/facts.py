"""Financial facts by kind in both definitions of accuracy, by page, and the pages' structure."""

from __future__ import annotations

import altair as alt
import polars as pl

from formlab import tables
from formlab.analysis.finding import Finding
from formlab.charts import theme
from formlab.charts.ranks import GENERAL, NOTHING, upto_one
from formlab.charts.show import Caption, Card, Cards, Table
from formlab.charts.words import sentences, span

# Each metric as the legend names it: by what it divides.
DIVIDED = {
    "fact_accuracy": "by gold facts (paper)",
    "fact_accuracy_of_found": "by facts found (released code)",
}
STRUCTURE = {0: "0: lost", 1: "1: partly kept", 2: "2: kept"}


def fact_cards(summary: pl.DataFrame, finding: Finding | None = None) -> Cards:
    """The report in short: facts right by both definitions, missing ones, and the page's text.

    Parameters
    ----------
    summary
        As from `formlab.summarise`.
    finding
        What can be said of its kinds of fact, as from `analysis.kinds`.
    """
    wanted = (
        ("fields", "fact_accuracy", "facts right (FFA)"),
        ("fields", "fact_accuracy_of_found", "right of those found"),
        ("fields", "fact_missing_rate", "facts missing"),
        ("all", "macro_rouge1_stem", "ROUGE-1 of pages"),
        ("all", "structure_score", "structure, of 2"),
    )
    cards = [
        Card(title, row["value"], span(row))
        for place, metric, title in wanted
        for row in tables.only(tables.readable(summary), slice=place, metric=metric).to_dicts()
    ]
    return Cards(cards, finding=sentences(_finding(summary), finding))


def _finding(summary: pl.DataFrame) -> str:
    facts = tables.only(tables.readable(summary), slice="fields", metric="fact_accuracy")
    if not facts.height:
        return "No financial fact was scored"
    row = facts.row(0, named=True)
    if row["value"] != row["value"]:
        return f"{row['system']} was scored on facts, and their accuracy is undefined"
    said = f"{row['system']} gets {row['value']:.1%} of the facts right".replace("%", " %")
    text = tables.only(tables.readable(summary), slice="all", metric="macro_rouge1_stem")
    if text.height and text["value"].is_finite().all():
        said += f"; the text of its pages has a ROUGE-1 of {text['value'][0]:.3f}"
    return said


def accuracy_dots(summary: pl.DataFrame) -> alt.LayerChart | Caption:
    """Accuracy by kind of fact in both definitions: of the gold facts, and of those found."""
    shown = _by_kind(summary).filter(pl.col("value").is_not_nan())
    if not shown.height:
        return Caption(NOTHING, label="Note")
    shown = shown.with_columns(pl.col("metric").replace_strict(DIVIDED).alias("divided"))
    order = shown.filter(metric="fact_accuracy").sort("n_cases", descending=True)["kind"].to_list()
    names = list(DIVIDED.values())
    tip = [
        alt.Tooltip("kind:N"), alt.Tooltip("divided:N"), alt.Tooltip("value:Q", format=".3f"),
        alt.Tooltip("ci_low:Q", format=".3f"), alt.Tooltip("ci_high:Q", format=".3f"),
        alt.Tooltip("n_cases:Q", title="facts"), alt.Tooltip("settings:N"),
    ]  # fmt: skip
    x = alt.X("value:Q", title="share of facts right").scale(domain=[0, 1])
    title = "divided"
    base = alt.Chart(shown).encode(
        x,
        alt.Y("kind:N", title=None, sort=order),
        alt.Color("divided:N", title=title).scale(theme.scale(theme.system_colours(names))),
        yOffset=alt.YOffset("divided:N", sort=names),
        tooltip=tip,
    )
    spans = base.mark_rule(strokeWidth=2).transform_filter("isValid(datum.ci_low)")
    spans = spans.encode(alt.X("ci_low:Q", title="share of facts right"), alt.X2("ci_high:Q"))
    shapes = theme.scale(theme.system_shapes(names))
    dots = base.mark_point(opacity=1).encode(alt.Shape("divided:N", title=title).scale(shapes))
    text = "Facts right by kind: " + "; ".join(
        f"{kind} {value:.3f} {name}"
        for kind, value, name in shown.select("kind", "value", "divided").rows()
    )
    return alt.layer(spans, dots).properties(height=alt.Step(20), description=text)


def accuracy_table(summary: pl.DataFrame) -> Table:
    """Both definitions by kind, each with its interval."""
    whole = tables.only(tables.readable(summary), slice="fields").filter(
        pl.col("metric").is_in(list(DIVIDED))
    )
    rows = pl.concat([whole.with_columns(kind=pl.lit("all")), _by_kind(summary)])
    gold, found = (rows.filter(metric=name) for name in DIVIDED)
    values = {"value": "right", "ci_low": "low", "ci_high": "high"}
    joined = gold.select("kind", "n_cases", *values).join(
        found.select("kind", *values), on="kind", how="left", suffix="_2", maintain_order="left"
    )
    titles = {name: f"{title}, of gold" for name, title in values.items()}
    titles |= {f"{name}_2": f"{title}, of found" for name, title in values.items()}
    return Table(joined, titles=titles | {"n_cases": "facts"})


def accuracy_caption(summary: pl.DataFrame, *, say: str) -> Caption:
    """A caption of `accuracy_table` with the settings of both definitions."""
    whole = tables.only(tables.readable(summary), slice="fields").filter(
        pl.col("metric").is_in(list(DIVIDED))
    )
    return Caption(say, label="Table", settings="  ·  ".join(whole["settings"]) or None)


def _by_kind(summary: pl.DataFrame) -> pl.DataFrame:
    rows = tables.readable(summary).filter(
        pl.col("slice").str.starts_with("kind="), pl.col("metric").is_in(list(DIVIDED))
    )
    return rows.with_columns(pl.col("slice").str.strip_prefix("kind=").alias("kind"))


def page_dots(pages: pl.DataFrame) -> alt.Chart | Caption:
    """A dot per page, text across and facts up; `pages` as from `analysis.fact_pages`."""
    shown = pages.drop_nulls(["general", "fact_accuracy"]).drop_nans(["general", "fact_accuracy"])
    if not shown.height:
        return Caption(NOTHING, label="Note")
    text = f"Text and facts of {shown.height} pages, the lowest FFA first: " + "; ".join(
        f"page {name} {general:.3f} and {facts:.3f}"
        for name, general, facts in shown.sort("fact_accuracy")
        .head(5)
        .select("doc_id", "general", "fact_accuracy")
        .rows()
    )
    tip = [
        alt.Tooltip("doc_id:N", title="page"), alt.Tooltip("domain:N"),
        alt.Tooltip("general:Q", format=".3f", title="text"),
        alt.Tooltip("fact_accuracy:Q", format=".3f", title="FFA"),
        alt.Tooltip("facts:Q"), alt.Tooltip("wrong:Q"),
    ]  # fmt: skip
    chart = alt.Chart(shown).mark_point(opacity=0.8, color=theme.GOLD)
    return chart.encode(
        alt.X("general:Q", title=f"text of the page: {GENERAL}").scale(upto_one(shown["general"])),
        alt.Y("fact_accuracy:Q", title="facts of the page: FFA").scale(
            upto_one(shown["fact_accuracy"])
        ),
        alt.Size("facts:Q", title="facts").scale(range=[30, 220]),
        tooltip=tip,
    ).properties(height=240, description=text)


def pages_table(pages: pl.DataFrame, *, rows: int = 20) -> Table:
    """The pages with the most wrong facts; `pages` as from `analysis.fact_pages`."""
    titles = {"doc_id": "page", "fact_accuracy": "FFA", "general": "text"}
    return Table(pages, titles=titles, rows=rows)


def structure_bars(pages: pl.DataFrame) -> alt.Chart | Caption:
    """How many pages keep their structure (2), part of it (1) or none (0)."""
    known = pages.filter(pl.col("structure").is_not_null())
    if not known.height:
        return Caption(NOTHING, label="Note")
    scores = known["structure"].to_list()
    rows = [(name, scores.count(score)) for score, name in sorted(STRUCTURE.items(), reverse=True)]
    counts = pl.DataFrame(rows, schema={"score": pl.String, "pages": pl.Int64}, orient="row")
    text = "Pages by structure score: " + "; ".join(
        f"{score} {count}" for score, count in counts.select("score", "pages").rows()
    )
    return (
        alt.Chart(counts)
        .mark_bar()
        .encode(
            alt.X("pages:Q", title="pages").axis(tickMinStep=1),
            alt.Y("score:N", title=None, sort=counts["score"].to_list()),
            tooltip=[alt.Tooltip("score:N"), alt.Tooltip("pages:Q")],
        )
        .properties(height=alt.Step(26), description=text)
    )
