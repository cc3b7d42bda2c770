"""Scores of extracted entities by task and training size, one's own and published ones."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from formlab import metrics
from formlab.analysis.few_shot import NESTED, SIMPLE, WHOLE
from formlab.charts import theme
from formlab.charts.entities import NO_ENTITIES, TOP
from formlab.charts.published import OWN, PUBLISHED
from formlab.charts.show import Caption

TASK_TITLES = {
    "single": "one template", "mixed": "mixed templates", "unseen": "unseen template",
    "all documents": "all documents",
}  # fmt: skip
PART_COLOURS = {SIMPLE: theme.SYSTEM_COLOURS[0], NESTED: theme.SYSTEM_COLOURS[1]}
# What VRDU's data sets call themselves, and what the paper calls them.
PAPER_CORPORA = {"DeepForm": "ad-buy-form", "FARA": "registration-form"}
# Pixels for the panels of a row.
_PANELS = theme.WIDTH - 20


def few_shot_chart(
    table: pl.DataFrame, *, metric: str = "micro_f1", parts: Sequence[str] = (WHOLE,)
) -> alt.FacetChart | Caption:
    """A score by task and training size: curves, or bars where there is one size each.

    Parameters
    ----------
    table
        As from `formlab.analysis.few_shot`.
    metric, parts
        Which of its rows; several parts are told apart by colour.

    Returns
    -------
    altair.FacetChart
        With the interval of each score. Or a note, where there are no such rows.
    """
    shown = _titled(table.filter(pl.col("metric") == metric, pl.col("part").is_in(parts)))
    shown = shown.drop_nulls("value")
    if not shown.height:
        return Caption(NO_ENTITIES, label="Note")
    colours = PART_COLOURS if len(parts) > 1 else {parts[0]: theme.SYSTEM_COLOURS[0]}
    present = {name: colours[name] for name in parts if name in shown["part"].unique()}
    key = alt.Legend(title=None, orient="top") if len(present) > 1 else None
    colour = alt.Color("part:N", legend=key).scale(theme.scale(present))
    title = metrics.title(metric)
    text = f"{title}: " + "; ".join(
        f"{corpus}, {label}, {part} {value:.3f}"
        for corpus, label, part, value in shown.select("corpus", "label", "part", "value").rows()
    )
    if _has_curves(shown):
        return _curves(shown, title, colour).properties(description=text)
    return _bars(shown, title, colour).properties(description=text)


def _titled(table: pl.DataFrame) -> pl.DataFrame:
    task = pl.col("task").cast(pl.String).replace(TASK_TITLES)
    size = pl.format(", {} training documents", "train_size").fill_null("")
    titled = table.with_columns(task.alias("task"), (task + size).alias("label"))
    # JSON has no NaN.
    return titled.with_columns(pl.col("value", "ci_low", "ci_high").fill_nan(None))


def _has_curves(shown: pl.DataFrame) -> bool:
    sizes = shown.group_by("corpus", "task", "part").agg(pl.col("train_size").n_unique())
    return bool((sizes["train_size"] > 1).any())


def _tips(name: str, title: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip(name, title=title), alt.Tooltip("value:Q", format=".3f"),
        alt.Tooltip("ci_low:Q", format=".3f"), alt.Tooltip("ci_high:Q", format=".3f"),
        alt.Tooltip("interval:N", title="interval over"),
        alt.Tooltip("n_splits:Q", title="splits"), alt.Tooltip("n_docs:Q", title="documents"),
    ]  # fmt: skip


def _bars(shown: pl.DataFrame, title: str, colour: alt.Color) -> alt.FacetChart:
    labels = shown["label"].unique(maintain_order=True).to_list()
    y = alt.Y("label:N", title=None, sort=labels).axis(labelLimit=280)
    offset = alt.YOffset("part:N", sort=[SIMPLE, NESTED])
    base = alt.Chart(shown)
    x = alt.X("value:Q", title=title).scale(domain=[0, 1]).axis(tickCount=5)
    bars = base.mark_bar(height=14).encode(x, y, colour, yOffset=offset, tooltip=_tips("label", ""))
    spans = base.transform_filter("isValid(datum.ci_low)").mark_rule(strokeWidth=2)
    spans = spans.encode(alt.X("ci_low:Q", title=title), alt.X2("ci_high:Q"), y, yOffset=offset)
    count = base.transform_calculate(n="'n = ' + format(datum.n_docs, ',')")
    count = count.mark_text(align="left", dx=8, fontSize=11, color=theme.NEUTRAL)
    count = count.encode(x=alt.value("width"), y=y, yOffset=offset, text="n:N")
    width = theme.WIDTH - 250
    chart = alt.layer(bars, spans, count).properties(width=width, height=alt.Step(24))
    facet = alt.Facet("corpus:N", header=TOP, title=None)
    return chart.facet(facet, columns=1).resolve_scale(y="independent")


def _curves(
    shown: pl.DataFrame, title: str, colour: alt.Color, *, marks: str = "part:N"
) -> alt.FacetChart:
    sizes = shown["train_size"].drop_nulls().unique().sort().to_list()
    domain = [0.8 * min(sizes), 1.25 * max(sizes)]
    x = alt.X("train_size:Q", title="training documents").scale(type="log", domain=domain)
    x = x.axis(values=sizes, format="d", labelFlush=False, labelOverlap=False, labelFontSize=11)
    y = alt.Y("value:Q", title=title).scale(domain=[0, 1]).axis(tickCount=5)
    base = alt.Chart(shown)
    tips = [alt.Tooltip("train_size:Q", title="training documents"), *_tips(marks, "")]
    own, theirs = f"datum.kind !== '{PUBLISHED}'", f"datum.kind === '{PUBLISHED}'"
    spans = base.transform_filter("isValid(datum.ci_low)").mark_rule(strokeWidth=2, opacity=0.7)
    spans = spans.encode(x, alt.Y("ci_low:Q", title=title), alt.Y2("ci_high:Q"), colour)
    layers = [
        spans,
        base.transform_filter(own).mark_line().encode(x, y, colour),
        base.transform_filter(own).mark_point(opacity=1).encode(x, y, colour, tooltip=tips),
    ]
    if PUBLISHED in shown.get_column("kind", default=pl.Series([OWN])):
        dashed = base.transform_filter(theirs).mark_line(strokeDash=[4, 3], strokeWidth=1.5)
        open_ = base.transform_filter(theirs).mark_point(filled=False, opacity=1, strokeWidth=2)
        layers += [dashed.encode(x, y, colour), open_.encode(x, y, colour, tooltip=tips)]
    tasks = [name for name in TASK_TITLES.values() if name in shown["task"].unique()]
    chart = alt.layer(*layers).properties(width=_PANELS // len(tasks) - 16, height=130)
    return chart.facet(
        column=alt.Column("task:N", sort=tasks, title=None, header=TOP),
        row=alt.Row("corpus:N", title=None, header=alt.Header(title=None, labelFontSize=13)),
        spacing=16,
    )


def in_paper(table: pl.DataFrame) -> pl.DataFrame:
    """The rows of `formlab.analysis.few_shot` that stand for a cell of the paper's table."""
    return table.filter(
        pl.col("corpus").is_in(list(PAPER_CORPORA)), pl.col("train_size").is_not_null()
    )


def published_curves(
    table: pl.DataFrame, printed: pl.DataFrame, *, metric: str = "micro_f1"
) -> alt.FacetChart:
    """Published scores by training size, open and dashed; what was measured here is filled.

    Parameters
    ----------
    table
        As from `formlab.analysis.few_shot`; its scores on the paper's data sets are shown among
        the published ones.
    printed
        As from ``published("vrdu_table3")``.
    metric
        ``micro_f1`` or ``macro_f1``.
    """
    mine = table.filter(pl.col("metric") == metric, pl.col("part") == WHOLE)
    own = _titled(in_paper(mine)).select(
        pl.col("corpus").replace(PAPER_CORPORA), "task", "train_size", "value", "ci_low", "ci_high",
        "interval", "n_splits", "n_docs", pl.lit(OWN).alias("kind"),
        pl.format("{} ({})", "system", pl.lit(OWN)).alias("system"),
    )  # fmt: skip
    theirs = printed.filter(pl.col("metric") == metric).select(
        "corpus", pl.col("task").replace(TASK_TITLES), pl.col("train_size").cast(pl.Int64), "value",
        pl.lit(PUBLISHED).alias("kind"),
        pl.format("{} ({})", "system", pl.lit(PUBLISHED)).alias("system"),
    )  # fmt: skip
    shown = pl.concat([theirs, own], how="diagonal")
    names = shown["system"].unique(maintain_order=True).to_list()
    key = alt.Legend(title=None, orient="top", columns=2, labelLimit=300)
    scale = theme.scale(theme.system_colours(names))
    title = metrics.title(metric)
    text = f"{title} by training documents, {' and '.join(names)}"
    colour = alt.Color("system:N", legend=key).scale(scale)
    return _curves(shown, title, colour, marks="system:N").properties(description=text)
