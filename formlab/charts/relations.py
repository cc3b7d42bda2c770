"""Relations between fields: which questions and consistency checks a system gets right."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from formlab import tables
from formlab.analysis.finding import Finding
from formlab.benchmarks.formcraft.taxonomy import RELATIONS
from formlab.charts import theme
from formlab.charts._output import clean, number
from formlab.charts.published import OWN, PUBLISHED, own_label, told_apart
from formlab.charts.scores import ladder_lines
from formlab.charts.show import Caption, Card, Cards
from formlab.charts.words import sentences, span
from formlab.scoring.tasks.relations import TASKS, cell_counts

TITLES = {"vqa": "questions", "consistency": "consistency checks"}
_METRICS = {metric: TITLES[task] for task, metric in TASKS.items()}
_NONE = "No question or consistency check was scored: the predictions answer none."
_AXES = {"modal": "modal relationship"}
_CELL = 74
# Where the ground is dark enough for white text, on the scale of accuracy.
_LIGHT_FROM = 0.55


def relation_cards(summary: pl.DataFrame, finding: Finding | None = None) -> Cards:
    """Accuracy of questions and of checks, and what can be said of the kinds of relation.

    Parameters
    ----------
    summary
        As from `formlab.summarise`.
    finding
        What can be said of the kinds of relation, as from `analysis.kinds`.
    """
    rows = _whole(summary)
    cards = [Card(f"{title} right", row["value"], span(row)) for title, row in rows]
    if not cards:
        return Cards([], finding=f"{_NONE} Only published figures are shown.")
    system = clean(summary["system"][0], limit=80)
    if (word := _all_alike(rows)) is not None:
        counts = " and ".join(f"{row['n_cases']:,} {title}" for title, row in rows)
        said = f"{system} gets all {counts} {word}, so kinds of relation cannot be told apart"
        return Cards(cards, finding=sentences(said, _not_answered(summary)))
    named = " and ".join(f"{number(row['value'], 2)} of the {title}" for title, row in rows)
    return Cards(
        cards,
        finding=sentences(f"{system} gets {named} right", finding, _not_answered(summary)),
    )


def _whole(summary: pl.DataFrame) -> list[tuple[str, dict]]:
    """The rows of all questions and of all checks, each with its title."""
    return [
        (title, row)
        for metric, title in _METRICS.items()
        for row in tables.only(tables.readable(summary), metric=metric, slice="all").to_dicts()
    ]


def relation_caption(
    summary: pl.DataFrame, *, say: str, printed: pl.DataFrame | None = None
) -> Caption:
    """A caption with the accuracy of questions and of checks, and how checks were answered.

    Parameters
    ----------
    summary
        As from `formlab.summarise`.
    say
        What the figure shows, in words and without numbers.
    printed
        The published rows that are shown, to be cited.
    """
    rows = _whole(summary)
    parts = [f"{title} {number(row['value'])} ({span(row)})" for title, row in rows]
    said = f"Right over all items: {'; '.join(parts)}." if parts else "No answer was scored."
    text = f"{say} {said} {_not_answered(summary)}".strip()
    if printed is not None:
        text += f" {told_apart(printed)}"
    settings = "; ".join(row["settings"] for _, row in rows) or None
    return Caption(text, settings=settings)


def _not_answered(summary: pl.DataFrame) -> str:
    """What a reader must know of how the answers came about, or nothing."""
    whole = tables.readable(summary).filter(pl.col("slice") == "all")
    said = []
    if "consistency_accuracy" in set(whole["metric"]):
        said.append(
            "A check without an answer counts by what was read for its field, which shows "
            "reading and no reasoning."
        )
        if "vqa_accuracy" not in set(whole["metric"]):
            said.append("No question was answered.")
    return " ".join(said)


def _is_one(axis: str) -> pl.Expr:
    """Slices of this axis alone, not its combinations with others."""
    return pl.col("slice").str.starts_with(f"{axis}=") & ~pl.col("slice").str.contains("&")


def relation_figures(summary: pl.DataFrame, cases: pl.DataFrame) -> list[Any]:
    """Right answers by kind of relation, each chart under its caption.

    One note instead where nothing was scored, or where all items are right or all are wrong: then
    no kind of relation differs from another.

    Parameters
    ----------
    summary
        As from `formlab.summarise`.
    cases
        Of the evaluation.
    """
    whole = _whole(summary)
    if not whole:
        return [Caption(_NONE, label="Note")]
    if (word := _all_alike(whole)) is not None:
        said = f"Every item is {word}, so no kind of relation differs from another."
        return [Caption(said, label="Note")]
    heat = "Right answers by scope, reference and complexity; a cell without items is empty."
    shown: list[Any] = [relation_caption(summary, say=heat), relation_heatmap(cases)]
    for axis in ("modal", "scope", "reference", "complexity"):
        say = f"Share of right answers by {_AXES.get(axis, axis)}."
        shown += [relation_caption(summary, say=say), relation_dots(summary, by=axis)]
    return shown


def strictness_figures(summary: pl.DataFrame) -> list[Any]:
    """Questions and checks from strict to lenient; one note where every rung has all of them.

    Parameters
    ----------
    summary
        As from `formlab.summarise`.
    """
    rungs = [f"{rung}_accuracy" for rung in tables.LADDER]
    rows = tables.readable(summary).filter(
        pl.col("slice").str.starts_with("task="), pl.col("metric").is_in(rungs)
    )
    if rows.height and (rows["value"] == 1.0).all():
        said = "Every item is right however strictly one judges, exact to fuzzy."
        return [Caption(said, label="Note")]
    say = "Questions and checks from strict to lenient; the accuracies above are of typed."
    return [relation_caption(summary, say=say), ladder_lines(summary, by="task")]


def _all_alike(whole: list[tuple[str, dict]]) -> str | None:
    """``right`` or ``wrong`` where all items are; else None."""
    values = {row["value"] for _, row in whole}
    return {1.0: "right", 0.0: "wrong"}.get(values.pop()) if len(values) == 1 else None


def relation_heatmap(cases: pl.DataFrame) -> alt.FacetChart | Caption:
    """Accuracy by scope, reference and complexity, the count in every cell; empty cells are empty.

    Parameters
    ----------
    cases
        Of an evaluation; single and cross-modality items are taken together.
    """
    cells = cell_counts(cases).group_by("task", "scope", "reference", "complexity")
    cells = cells.agg(pl.col("items", "right").sum()).filter(pl.col("items") > 0)
    if not cells.height:
        return Caption(_NONE, label="Note")
    cells = cells.with_columns(
        (pl.col("right") / pl.col("items")).alias("accuracy"),
        pl.format("{} of {}", "right", "items").alias("count"),
        pl.col("task").replace(TITLES),
    ).sort("task", "scope", "reference", "complexity")
    x = alt.X("scope:N", title="scope", sort=list(RELATIONS["scope"]))
    y = alt.Y("reference:N", title="reference", sort=list(RELATIONS["reference"]))
    x = x.scale(domain=list(RELATIONS["scope"])).axis(labelFontSize=11)
    y = y.scale(domain=list(RELATIONS["reference"])).axis(labelFontSize=11)
    colour = alt.Color("accuracy:Q", title="share right").scale(scheme=theme.SCORES, domain=[0, 1])
    tip = [alt.Tooltip(f"{axis}:N") for axis in ("task", "scope", "reference", "complexity")]
    tip += [alt.Tooltip("count:N", title="right"), alt.Tooltip("accuracy:Q", format=".2f")]
    base = alt.Chart(cells)
    squares = base.mark_rect(stroke="white").encode(x, y, colour.legend(format="%"), tooltip=tip)
    # The ground has its own colours on light and dark pages alike, and so has the text on it.
    ink = alt.condition(
        alt.datum.accuracy > _LIGHT_FROM, alt.value("#1F2328"), alt.value("#FFFFFF")
    )
    words = base.mark_text(fontSize=12).encode(x, y, text="count:N", color=ink)
    text = "; ".join(
        f"{task}, {scope}, {reference}, {complexity}: {count}"
        for task, scope, reference, complexity, count in cells.select(
            "task", "scope", "reference", "complexity", "count"
        ).rows()
    )
    layers = alt.layer(squares, words).properties(width=3 * _CELL, height=3 * 34)
    return layers.facet(
        row=alt.Row("task:N", title=None, sort=list(TITLES.values())),
        column=alt.Column("complexity:N", sort=list(RELATIONS["complexity"])),
        spacing={"row": 14, "column": 14},
    ).properties(description=f"Right answers by kind of relation. {text}")


def relation_dots(summary: pl.DataFrame, *, by: str) -> alt.FacetChart | Caption:
    """Accuracy with its interval for each value of one axis, questions beside checks.

    Parameters
    ----------
    summary
        As from `formlab.summarise`.
    by
        One of scope, reference, complexity and modal.
    """
    rows = tables.readable(summary).filter(_is_one(by), pl.col("metric").is_in(list(_METRICS)))
    if not rows.height:
        return Caption(_NONE, label="Note")
    shown = rows.with_columns(
        pl.col("slice").str.strip_prefix(f"{by}=").alias("label"),
        pl.col("metric").replace(_METRICS).alias("task"),
    )
    base = alt.Chart(shown)
    y = alt.Y("label:N", title=None, sort=[*RELATIONS[by], "none"])
    x = (
        alt.X("value:Q", title="share right")
        .scale(domain=[0, 1])
        .axis(format="%", tickCount=5, labelFlush=False)
    )
    colours = theme.scale(theme.system_colours(TITLES.values()))
    colour = alt.Color("task:N", legend=None).scale(colours)
    tip = [
        alt.Tooltip("task:N"), alt.Tooltip("label:N", title=by),
        alt.Tooltip("value:Q", format=".3f"), alt.Tooltip("ci_low:Q", format=".3f"),
        alt.Tooltip("ci_high:Q", format=".3f"), alt.Tooltip("n_cases:Q", title="items"),
    ]  # fmt: skip
    spans = base.mark_rule(strokeWidth=2).encode(
        alt.X("ci_low:Q", title="share right"), alt.X2("ci_high:Q"), y, colour
    )
    dots = base.mark_point(opacity=1).encode(x, y, colour, tooltip=tip)
    label = base.transform_calculate(n="'n = ' + datum.n_cases")
    label = label.mark_text(align="left", dx=14, fontSize=11, color=theme.NEUTRAL)
    label = label.encode(x=alt.value("width"), y=y, text="n:N")
    text = "; ".join(
        f"{task}, {name} {value:.2f}"
        for task, name, value in shown.select("task", "label", "value").rows()
    )
    layers = alt.layer(spans, dots, label).properties(width=210, height=alt.Step(28))
    return layers.facet(
        column=alt.Column("task:N", title=None, sort=list(TITLES.values())), spacing=64
    ).properties(description=f"Share right by {by}: {text}")


def relation_pairs(summary: pl.DataFrame, printed: pl.DataFrame) -> alt.LayerChart | Caption:
    """Questions against consistency checks: a line per system with a dot for each of the two.

    Parameters
    ----------
    summary
        As from `formlab.summarise`; its system is shown if it was scored on either.
    printed
        Published rows of `system`, `metric` and `value`, as from `formlab.charts.published`.
    """
    rows = [(name, metric, value, PUBLISHED) for name, metric, value in _pairs(printed)]
    own = _pairs(tables.only(tables.readable(summary), slice="all"))
    rows += [(own_label(summary), metric, value, OWN) for _, metric, value in own]
    if not rows:
        return Caption("No system has figures for questions or checks.", label="Note")
    shown = pl.DataFrame(rows, schema=["system", "metric", "value", "kind"], orient="row")
    shown = shown.with_columns(pl.col("metric").replace(_METRICS).alias("task"))
    base = alt.Chart(shown)
    order = shown.sort("kind", "system")["system"].unique(maintain_order=True).to_list()
    y = alt.Y("system:N", title=None, sort=order)
    x = (
        alt.X("value:Q", title="share right")
        .scale(domain=[0, 1])
        .axis(format="%", tickCount=5, labelFlush=False)
    )
    colours = theme.scale(theme.system_colours(TITLES.values()))
    colour = alt.Stroke("task:N", title=None).scale(colours)
    colour = colour.legend(symbolFillColor="transparent")
    # Filled with the colour of its task where it was measured here, else open.
    fills = alt.Fill("fill:N", legend=None).scale(None)
    fill = {title: theme.SYSTEM_COLOURS[i] for i, title in enumerate(TITLES.values())}
    filled = shown.with_columns(
        pl.when(pl.col("kind") == OWN)
        .then(pl.col("task").replace(fill))
        .otherwise(pl.lit("transparent"))
        .alias("fill")
    )
    shape = alt.Shape("task:N", title=None).scale(theme.scale(theme.system_shapes(fill)))
    shape = shape.legend(symbolFillColor="transparent")
    tip = [alt.Tooltip(f"{name}:N") for name in ("system", "kind", "task")]
    tip.append(alt.Tooltip("value:Q", format=".3f"))
    lines = base.transform_aggregate(low="min(value)", high="max(value)", groupby=["system"])
    lines = lines.mark_rule(strokeWidth=1.5, color=theme.NEUTRAL)
    lines = lines.encode(alt.X("low:Q", title="share right"), alt.X2("high:Q"), y)
    dots = alt.Chart(filled).mark_point(opacity=1, strokeWidth=2)
    dots = dots.encode(x, y, colour, fills, shape, tooltip=tip)
    text = "; ".join(
        f"{system} ({kind}), {task}: {value:.2f}"
        for system, kind, task, value in shown.select("system", "kind", "task", "value").rows()
    )
    width = theme.WIDTH - 200
    return alt.layer(lines, dots).properties(width=width, height=alt.Step(30), description=text)


def _pairs(table: pl.DataFrame) -> list[tuple[str, str, float]]:
    shown = table.filter(pl.col("metric").is_in(list(_METRICS)), pl.col("value").is_finite())
    return shown.select("system", "metric", "value").rows()
