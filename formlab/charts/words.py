"""What a report says in words: findings and captions, made from the numbers they speak of."""

from __future__ import annotations

import math

import polars as pl

from formlab import metrics, tables
from formlab.charts.show import Caption, Card, Cards, Table
from formlab.tables import Evaluation

# What a metric of whole documents is taken over, by its first unit.
_WHOLES = {"page": "whole pages", "document": "all forms", "item": "all items", "fact": "all facts"}


def reading_cards(summary: pl.DataFrame, *, by: str = "kind") -> Cards:
    """The report in short: how well pages and fields were read, and what was read worst.

    Parameters
    ----------
    summary
        As from `formlab.summarise`, sliced by `by`.
    """
    wanted = (
        ("all", "cer", "CER of whole pages"), ("all", "wer", "WER of whole pages"),
        ("fields", "cer", "CER of fields"), ("fields", "exact_accuracy", "fields read exactly"),
        ("fields", "normalised_accuracy", "fields right but for format"),
    )  # fmt: skip
    cards = [
        Card(title, row["value"], span(row))
        for place, metric, title in wanted
        for row in tables.only(summary, slice=place, metric=metric).to_dicts()
    ]
    return Cards(cards, finding=_finding(summary, by))


def caption(
    summary: pl.DataFrame, *, metric: str, say: str, part: str = "fields", label: str = "Figure"
) -> Caption:
    """A caption with n, metric, interval and settings, from the row of `summary` it speaks of.

    Parameters
    ----------
    summary
        As from `formlab.summarise`.
    metric, part
        Which row: a metric, and a value of the column `slice`.
    say
        What the figure shows, in words and without numbers; they follow by themselves.
    """
    rows = tables.only(summary, metric=metric, slice=part).to_dicts()
    if not rows:
        return Caption(f"{say} Nothing was scored for it.", label=label)
    row = rows[0]
    numbers = f"Over {_over(part, metric)}: {metrics.title(metric)} {_number(row['value'])}"
    return Caption(f"{say} {numbers} ({span(row)}).", label=label, settings=row["settings"])


def _over(part: str, metric: str) -> str:
    if part == "all":
        units = metrics.get(metrics.plain(metric)).units
        return _WHOLES.get(units[0], "all documents")
    return "all fields" if part == "fields" else part


def status_table(evaluation: Evaluation) -> Table:
    """How many pages and fields were answered, and what became of the rest."""
    unit = (
        pl.when(pl.col("task") == "layout")
        .then(pl.lit("node of the tree"))
        .when(pl.col("task").is_in(["vqa", "consistency"]))
        .then(pl.lit("question or check"))
        .when(pl.col("path").is_null())
        .then(pl.lit("page"))
        .otherwise(pl.lit("field"))
    )
    counts = (
        evaluation.cases.group_by(unit.alias("unit"), "status", "outcome")
        .agg(pl.len().alias("cases"), pl.col("doc_id").n_unique().alias("documents"))
        .sort("unit", "cases", descending=[True, True])
    )
    return Table(counts)


def notes_table(evaluation: Evaluation) -> Table | Caption:
    """What was odd in the files, with counts: nothing of it was dropped."""
    if not evaluation.notes:
        return Caption("Nothing odd was met.", label="Note")
    rows = [{"what": name, "count": count} for name, count in evaluation.notes.items()]
    return Table(pl.DataFrame(rows, schema={"what": pl.String, "count": pl.Int64}))


def scores_table(summary: pl.DataFrame, *, part: str = "all", unit: str | None = None) -> Table:
    """Every metric of one slice: pooled value, mean over documents, interval and counts.

    With `unit`, such as ``page``, only metrics that are taken of that unit.
    """
    rows = tables.only(summary, slice=part)
    if unit is not None:
        chosen = [n for n in rows["metric"].unique() if unit in metrics.get(metrics.plain(n)).units]
        rows = rows.filter(pl.col("metric").is_in(chosen))
    means = {n: metrics.plain(n) for n in rows["metric"].unique() if metrics.is_mean(n)}
    macro = pl.col("metric").is_in(list(means))
    mean = rows.filter(macro).select(pl.col("metric").replace(means), macro="value")
    shown = rows.filter(~macro).join(mean, on="metric", how="left")
    titles = {"value": "pooled", "macro": "mean of documents", "ci_low": "low", "ci_high": "high"}
    titles |= {"n_docs": "documents", "n_cases": "cases", "n_missing": "missing"}
    titles |= {"n_undefined": "undefined"}
    columns = ("metric", "value", "ci_low", "ci_high", "macro", "n_docs", "n_cases", "n_missing")
    return Table(shown.select(*columns, "n_undefined"), titles=titles)


def slice_cards(summary: pl.DataFrame, *, metric: str, by: str) -> Cards:
    """One metric over all fields, and the slices of `by` where it is best and worst."""
    entry = metrics.get(metric)
    rows = tables.only(summary, slice="fields", metric=metric).to_dicts()
    slices = summary.filter(pl.col("slice").str.starts_with(f"{by}="), pl.col("metric") == metric)
    slices = slices.filter(pl.col("value").is_not_nan())
    slices = slices.sort("value", descending=entry.direction == "up", maintain_order=True)
    cards = [Card(f"{entry.title}, all fields", row["value"], span(row)) for row in rows]
    if slices.height < 2:
        return Cards(cards, finding=f"{entry.title} over {by}." if rows else "")
    best, worst = slices.row(0, named=True), slices.row(-1, named=True)
    cards += [
        Card(f"{word}: {row['slice'].replace('=', ' ')}", row["value"], span(row))
        for word, row in (("best", best), ("worst", worst))
    ]
    names = [row["slice"].removeprefix(f"{by}=") for row in (best, worst)]
    finding = (
        f"By {by}, {best['system']} is best on {names[0]} ({entry.title} {best['value']:.2f}) "
        f"and worst on {names[1]} ({worst['value']:.2f})."
    )
    return Cards(cards, finding=finding)


def scores_by(summary: pl.DataFrame, *, by: str, metric: str) -> Table:
    """One metric over all fields and in each slice of `by`, in the summary's order."""
    part = pl.col("slice").str.starts_with(f"{by}=") | (pl.col("slice") == "fields")
    rows = summary.filter(part, pl.col("metric") == metric)
    titles = {"value": "pooled", "ci_low": "low", "ci_high": "high", "n_docs": "documents"}
    titles |= {"n_cases": "fields", "n_missing": "missing", "n_undefined": "undefined"}
    return Table(rows.select("slice", *titles), titles=titles)


def _finding(summary: pl.DataFrame, by: str) -> str:
    fields = summary.filter(pl.col("slice").str.starts_with(f"{by}="), pl.col("metric") == "cer")
    fields = fields.filter(pl.col("value").is_not_nan()).sort("value")
    pages = tables.only(summary, slice="all", metric="cer")
    if fields.height >= 2:
        best, worst = fields.row(0, named=True), fields.row(-1, named=True)
        names = (row["slice"].removeprefix(f"{by}=") for row in (best, worst))
        good, bad = names
        return (
            f"{best['system']} reads {good} best (CER {best['value']:.2f}) and "
            f"{bad} worst (CER {worst['value']:.2f})."
        )
    if pages.height:
        row = pages.row(0, named=True)
        return f"{row['system']} reads whole pages with a CER of {row['value']:.2f}."
    return ""


def span(row: dict) -> str:
    """The interval and counts of one row of a summary, in words."""
    counts = f"n = {row['n_cases']:,} in {row['n_docs']:,} documents"
    if math.isnan(row["ci_low"]):
        return counts
    return f"95 % interval {row['ci_low']:.3f} to {row['ci_high']:.3f}, {counts}"


def _number(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:.3f}"
