"""Figures that papers published, to stand beside one's own and marked as theirs."""

from __future__ import annotations

import dataclasses

import altair as alt
import polars as pl

from formlab import files, metrics, resources, tables
from formlab.charts import theme
from formlab.charts.show import Caption
from formlab.charts.words import caption
from formlab.errors import UnknownName

FOLDER = resources.folder("data/published")
# A published figure is an open marker; what was measured here is a filled one.
OWN, PUBLISHED = "measured here", "published"
# Where the forms measured here are not those of the paper, the legend says so.
ELSEWHERE = "published, on other forms"


def published(*names: str) -> pl.DataFrame:
    """Published tables below each other: text as printed, `value` a number, percent a ratio.

    Parameters
    ----------
    *names
        Files of ``data/published``, without their ending.

    Raises
    ------
    UnknownName
        If there is no such table.

    Examples
    --------
    >>> table = published("formcraft_table3", "formcraft_table4")
    >>> table.filter(system="GPT-5", metric="vqa_accuracy")["value"].round(4).to_list()
    [0.7913]
    """
    return pl.concat([_read(name) for name in names], how="diagonal_relaxed")


def _read(name: str) -> pl.DataFrame:
    known = [file.stem for file in sorted(FOLDER.glob("*.csv"))]
    if name not in known:
        raise UnknownName.of("published table", name, known)
    text = files.read_text(FOLDER / f"{name}.csv")
    table = pl.read_csv(text.encode(), infer_schema=False)
    if "value" in table.columns:
        table = table.with_columns(pl.col("value").cast(pl.Float64))
    if "unit" not in table.columns:
        return table
    percent = pl.col("unit") == "percent"
    return table.with_columns(
        pl.when(percent).then(pl.col("value") / 100).otherwise("value").alias("value"),
        pl.when(percent).then(pl.lit("ratio")).otherwise("unit").alias("unit"),
    )


def citation(printed: pl.DataFrame) -> str:
    """Where published rows were printed: each paper once, with its tables.

    Examples
    --------
    >>> citation(published("formcraft_table3"))[-27:]
    'review), Table 3a, Table 3b'
    """
    places: dict[str, list[str]] = {}
    for source in printed["source"].unique(maintain_order=True):
        paper, _, table = source.rpartition(", ")
        places.setdefault(paper or table, []).extend([table] if paper else [])
    return "; ".join(", ".join([paper, *found]) for paper, found in places.items())


def own_label(summary: pl.DataFrame) -> str:
    """What was measured, as a legend says it: the system and the forms it was measured on."""
    row = summary.row(0, named=True)
    return f"{row['system']} on {row['benchmark']}:{row['split']}"


def published_dots(summary: pl.DataFrame, printed: pl.DataFrame, *, metric: str) -> alt.LayerChart:
    """One dot per system for one metric: what was measured here filled, published figures open.

    Parameters
    ----------
    summary
        As from `formlab.summarise`; its row of slice ``all`` is shown, if it has one.
    printed
        As from `published`.
    metric
        Of both.
    """
    theirs = printed.filter(pl.col("metric") == metric)
    rows = [
        {"system": row["system"], "value": row["value"], "kind": ELSEWHERE}
        for row in theirs.to_dicts()
    ]
    rows += [
        {"system": own_label(summary), "kind": OWN}
        | {key: row[key] for key in ("value", "ci_low", "ci_high")}
        for row in tables.only(tables.readable(summary), metric=metric, slice="all").to_dicts()
    ]
    schema = {"system": pl.String, "kind": pl.String}
    schema |= dict.fromkeys(("value", "ci_low", "ci_high"), pl.Float64)
    shown = pl.DataFrame(rows, schema=schema).sort("value", nulls_last=True)
    entry = metrics.get(metric)
    order = shown["system"].to_list()
    y = alt.Y("system:N", title=None, sort=order if entry.direction == "down" else order[::-1])
    title = f"{entry.title}, {entry.unit}"
    x = alt.X("value:Q", title=title).scale(zero=True)
    spans = alt.Chart(shown).mark_rule(strokeWidth=2, color=theme.GOLD)
    spans = spans.transform_filter("isValid(datum.ci_low)")
    spans = spans.encode(alt.X("ci_low:Q", title=title), alt.X2("ci_high:Q"), y)
    tip = [alt.Tooltip("system:N"), alt.Tooltip("kind:N"), alt.Tooltip("value:Q", format=".3f")]
    dots = (
        alt.Chart(shown)
        .mark_point(opacity=1, strokeWidth=2)
        .encode(x, y, *marked(ELSEWHERE), tooltip=tip)
    )
    text = f"{entry.title}: " + "; ".join(
        f"{name} ({kind}) {value:.3f}"
        for name, kind, value in shown.select("system", "kind", "value").rows()
    )
    return alt.layer(spans, dots).properties(height=alt.Step(26), description=text)


def marked(theirs: str = PUBLISHED) -> tuple[alt.Fill, alt.Stroke]:
    """Channels that fill what was measured here and leave published figures, `theirs`, open."""
    domain = [OWN, theirs]
    fill = alt.Scale(domain=domain, range=[theme.GOLD, "transparent"])
    edge = alt.Scale(domain=domain, range=[theme.GOLD, theme.PREDICTED])
    return (
        alt.Fill("kind:N", title=None).scale(fill),
        alt.Stroke("kind:N", title=None).scale(edge),
    )


def published_caption(
    summary: pl.DataFrame, printed: pl.DataFrame, *, metric: str, say: str, part: str = "all"
) -> Caption:
    """A caption of what was measured here that tells it from published figures and cites them.

    Parameters
    ----------
    summary, metric, say, part
        As in `formlab.charts.caption`.
    printed
        The published rows that are shown.
    """
    own = caption(summary, metric=metric, say=say, part=part)
    return dataclasses.replace(own, text=f"{own.text} {told_apart(printed)}")


def told_apart(printed: pl.DataFrame) -> str:
    """The sentence that tells published figures from measured ones and cites them."""
    return (
        "Open markers are published figures, on the forms of their paper and not on those "
        f"measured here: {citation(printed)}."
    )
