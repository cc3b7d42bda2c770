"""Form filling: Table 2 of FormFactory, for own systems beside the published ones."""

from __future__ import annotations

import altair as alt
import polars as pl

from formlab import metrics, tables
from formlab.analysis.finding import Finding
from formlab.analysis.worst import wrong_fields
from formlab.charts import theme
from formlab.charts._output import clean, known
from formlab.charts.published import OWN, PUBLISHED, citation, marked, own_label
from formlab.charts.show import Caption, Card, Cards, Table
from formlab.charts.words import sentences, span

# Own kinds of field, and what Table 2 calls them. The paper does not say how its Checkbox and
# Check differ: several boxes to choose from stand beside the one, a single tick beside the other.
KINDS = {
    "string": "String", "dropdown": "Drop-down List", "choice": "Checkbox",
    "radio": "Radio Button", "description": "Description", "date": "Date", "checkbox": "Check",
    "number": "Number", "file": "File", "episodic": "Episodic",
}  # fmt: skip
_SIDES = {"click": "click", "value": "value (found anywhere)"}
NOTHING = "Nothing to show: no field of a form was scored."


def filling_cards(
    summary: pl.DataFrame, finding: Finding | None = None, *, cases: pl.DataFrame | None = None
) -> Cards:
    """The report in short: clicks, values by three rules, descriptions, forms without a fault.

    Parameters
    ----------
    summary
        As from `formlab.summarise`.
    finding
        What can be said of its kinds of field, as from `analysis.kinds`.
    cases
        Of the evaluation, to say how many forms the wrong fields stand in.
    """
    wanted = (
        ("fields", "click_accuracy", "clicks on the right element"),
        ("fields", "value_found_accuracy", "values found anywhere"),
        ("fields", "value_placed_accuracy", "values in their field"),
        ("fields", "value_submitted_accuracy", "values submitted right"),
        ("fields", "description_bleu", "BLEU of descriptions"),
        ("all", "form_completed", "forms without a fault"),
    )
    cards = [
        Card(title, row["value"], span(row))
        for place, metric, title in wanted
        for row in tables.only(tables.readable(summary), slice=place, metric=metric).to_dicts()
        if row["value"] == row["value"]
    ]
    return Cards(cards, finding=sentences(_finding(summary), _forms(cases), finding))


def _forms(cases: pl.DataFrame | None) -> str:
    """How many wrong fields there are, and in how many forms."""
    wrong = None if cases is None else wrong_fields(cases)
    if wrong is None or not wrong.height:
        return ""
    forms = wrong["doc_id"].n_unique()
    where = f"{forms:,} forms" if forms > 1 else f"one form, {clean(wrong['doc_id'][0], limit=60)}"
    verb = "fields stand" if wrong.height > 1 else "field stands"
    return f"{wrong.height:,} wrong {verb} in {where}"


def _finding(summary: pl.DataFrame) -> str:
    values = {
        name: tables.only(tables.readable(summary), slice=place, metric=name)["value"].to_list()
        for place, name in (
            ("fields", "click_accuracy"), ("fields", "value_found_accuracy"),
            ("fields", "value_placed_accuracy"), ("fields", "value_submitted_accuracy"),
            ("all", "form_completed"),
        )
    }  # fmt: skip
    parts = {
        "click_accuracy": "clicks on the right element for {:.0%} of the fields",
        "value_found_accuracy": "writes {:.0%} of the values somewhere",
        "value_placed_accuracy": "types {:.0%} into their own field",
        "value_submitted_accuracy": "submits {:.0%} of them right",
        "form_completed": "fills {:.0%} of the forms without a fault",
    }
    said = [parts[name].format(v[0]) for name, v in values.items() if v and v[0] == v[0]]
    if not said:
        return "No field of a form was scored"
    listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return f"{clean(summary['system'][0], limit=80)} {listed}"


def _by_kind(summary: pl.DataFrame) -> pl.DataFrame:
    rows = tables.readable(summary).filter(pl.col("slice").str.starts_with("kind="))
    return rows.with_columns(pl.col("slice").str.strip_prefix("kind=").alias("kind"))


def table_2(summary: pl.DataFrame, printed: pl.DataFrame) -> pl.DataFrame:
    """Click and value by kind of field as in Table 2 of FormFactory, own and published.

    A value counts if it is found anywhere in the output, a description with its BLEU; the kind
    ``Episodic`` is the mean over forms.

    Parameters
    ----------
    summary
        As from `formlab.summarise`, sliced by ``kind``.
    printed
        ``published("formfactory_table2")``, in percent as printed but for BLEU.

    Returns
    -------
    polars.DataFrame
        `system`, `origin` (measured here, published), `kind`, `metric` (``click``, ``value``),
        `value` in [0, 1], and for own ones `ci_low`, `ci_high`, `n_cases` and `n_docs`.
    """
    # Table 2 prints percent, and BLEU as a ratio.
    ratio = (pl.col("kind") == "Description") & (pl.col("metric") == "value")
    theirs = printed.select(
        "system", pl.lit(PUBLISHED).alias("origin"), "kind", "metric",
        pl.when(ratio).then("value").otherwise(pl.col("value") / 100).alias("value"),
    )  # fmt: skip
    whole = (
        tables.readable(summary)
        .filter(
            pl.col("slice_by").is_null(),
            pl.col("metric").is_in(["episodic_click", "episodic_value"]),
        )
        .with_columns(pl.lit("episodic").alias("kind"))
    )
    name = (
        pl.when(pl.col("metric").is_in(["click_accuracy", "episodic_click"]))
        .then(pl.lit("click"))
        .when(
            (pl.col("metric") == "description_bleu")
            | pl.col("metric").is_in(["value_found_accuracy", "episodic_value"])
        )
        .then(pl.lit("value"))
    )
    ours = pl.concat([_by_kind(summary), whole]).with_columns(name.alias("metric"))
    ours = ours.filter(
        pl.col("metric").is_not_null(), pl.col("value").is_finite(), pl.col("kind").is_in(KINDS)
    ).select(
        pl.lit(own_label(summary) if summary.height else "").alias("system"),
        pl.lit(OWN).alias("origin"), pl.col("kind").replace(KINDS), "metric", "value",
        "ci_low", "ci_high", "n_cases", "n_docs",
    )  # fmt: skip
    return pl.concat([ours, theirs], how="diagonal")


def filling_table(table: pl.DataFrame) -> Table | Caption:
    """`table_2` as it is printed: a row for each system, click and value for each kind.

    Parameters
    ----------
    table
        As from `table_2`.
    """
    if not table.height:
        return Caption(NOTHING, label="Note")
    named = table.with_columns(
        pl.format("{} {}", "kind", pl.col("metric").replace({"click": "clk.", "value": "val."}))
        .alias("column")
    )  # fmt: skip
    wide = named.pivot("column", index=["system", "origin"], values="value")
    order = [
        f"{kind} {side}"
        for kind in KINDS.values()
        for side in ("clk.", "val.")
        if f"{kind} {side}" in wide.columns
    ]
    note = "Shares; a description's value is its BLEU. – : the paper has no such column."
    return Table(wide.select("system", "origin", *order), note=note)


def filling_caption(summary: pl.DataFrame, printed: pl.DataFrame, *, say: str) -> Caption:
    """A caption with both episodic figures, how they were made, and where the others stand."""
    rows = [
        (metrics.title(name), row)
        for name in ("episodic_click", "episodic_value")
        for row in tables.only(tables.readable(summary), metric=name, slice="all").to_dicts()
    ]
    said = "; ".join(f"{title} {row['value']:.3f} ({span(row)})" for title, row in rows)
    text = f"{say} {said.capitalize() or 'Nothing was scored'}. "
    text += f"Published figures are of other forms and other runs: {citation(printed)}."
    found = tables.only(tables.readable(summary), metric="value_found_accuracy", slice="fields")[
        "settings"
    ]
    settings = "; ".join([*(row["settings"] for _, row in rows), *found]) or None
    return Caption(text, settings=settings)


def filling_dots(table: pl.DataFrame) -> alt.HConcatChart | Caption:
    """Click and value by kind: published systems as open dots, what was measured here filled.

    Parameters
    ----------
    table
        As from `table_2`.
    """
    if not table.height:
        return Caption(NOTHING, label="Note")
    kinds = [kind for kind in KINDS.values() if kind in set(table["kind"])]
    panels = [
        _panel(table.filter(pl.col("metric") == side), kinds, title, labels=place == 0)
        for place, (side, title) in enumerate(_SIDES.items())
    ]
    own = table.filter(pl.col("origin") == OWN)
    text = "Click and value by kind of field, measured here: " + "; ".join(
        f"{kind} {metric} {value:.3f}"
        for kind, metric, value in own.select("kind", "metric", "value").rows()
    )
    chart = alt.hconcat(*panels, spacing=18)
    # One legend, of the first panel: shared ones would be those of the second, which has none.
    chart = chart.resolve_scale(fill="independent", stroke="independent")
    return chart.properties(description=text)


def _panel(shown: pl.DataFrame, kinds: list[str], title: str, *, labels: bool) -> alt.LayerChart:
    shown = shown.rename({"origin": "kind", "kind": "field"})
    base = alt.Chart(known(shown))
    y = alt.Y("field:N", title=None, sort=kinds, axis=alt.Axis() if labels else None)
    y = y.scale(domain=kinds)
    x = alt.X("value:Q", title=title).scale(domain=[0, 1]).axis(format="%", tickCount=5)
    tip = [
        alt.Tooltip("system:N"), alt.Tooltip("kind:N", title="origin"), alt.Tooltip("field:N"),
        alt.Tooltip("value:Q", format=".3f"), alt.Tooltip("ci_low:Q", format=".3f"),
        alt.Tooltip("ci_high:Q", format=".3f"), alt.Tooltip("n_cases:Q", title="fields"),
    ]  # fmt: skip
    spans = base.mark_rule(strokeWidth=2.5, color=theme.GOLD)
    spans = spans.transform_filter("isValid(datum.ci_low)")
    spans = spans.encode(alt.X("ci_low:Q", title=title), alt.X2("ci_high:Q"), y)
    fill, edge = marked()
    shown_once = alt.Legend(orient="top", symbolStrokeWidth=1.6) if labels else None
    fill, edge = fill.legend(shown_once), edge.legend(shown_once)
    size = alt.condition(alt.datum.kind == OWN, alt.value(110), alt.value(46))
    dots = base.mark_point(opacity=1, strokeWidth=1.6)
    dots = dots.encode(x, y, fill, edge, size=size, tooltip=tip)
    return alt.layer(spans, dots).properties(width=220, height=alt.Step(24))
