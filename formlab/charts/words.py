"""What a report says in words: findings and captions, made from the numbers they speak of."""

from __future__ import annotations

import math

import polars as pl

from formlab import metrics, tables
from formlab.analysis.finding import Finding
from formlab.charts._output import number
from formlab.charts.show import Caption, Card, Cards, Table
from formlab.tables import Evaluation

# What a metric of whole documents is taken over, by its first unit.
_WHOLES = {"page": "whole pages", "document": "all forms", "item": "all items", "fact": "all facts"}


def reading_cards(summary: pl.DataFrame, finding: Finding | None = None) -> Cards:
    """The report in short: how well pages and fields were read.

    Parameters
    ----------
    summary
        As from `formlab.summarise`.
    finding
        What can be said of its kinds of field, as from `analysis.kinds`.
    """
    wanted = (
        ("all", "cer", "CER of whole pages"), ("all", "wer", "WER of whole pages"),
        ("fields", "cer", "CER of fields"), ("fields", "exact_accuracy", "fields read exactly"),
        ("fields", "normalised_accuracy", "fields right but for format"),
    )  # fmt: skip
    cards = [
        Card(title, row["value"], span(row))
        for place, metric, title in wanted
        for row in tables.only(tables.readable(summary), slice=place, metric=metric).to_dicts()
    ]
    return Cards(cards, finding=sentences(_reading(summary), finding))


def _reading(summary: pl.DataFrame) -> str:
    """The CER of pages and of fields, as far as they were scored."""
    said = [
        f"{what} with a CER of {_number(row['value'])}"
        for place, what in (("all", "whole pages"), ("fields", "fields"))
        for row in tables.only(tables.readable(summary), slice=place, metric="cer").to_dicts()
    ]
    return f"{summary['system'][0]} reads {' and '.join(said)}" if said else "Nothing was scored"


def sentences(*claims: str | Finding | None) -> str:
    """Claims as sentences; what is empty is left out.

    Examples
    --------
    >>> sentences("One", None, "Two.")
    'One. Two.'
    """
    said = [str(claim).rstrip(".") for claim in claims if claim is not None and str(claim)]
    return " ".join(f"{claim}." for claim in said)


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
    rows = tables.only(tables.readable(summary), metric=metric, slice=part).to_dicts()
    if not rows:
        return Caption(f"{say} {_unscored(summary, metric, part)}", label=label)
    row = rows[0]
    numbers = f"Over {_over(part, metric)}: {metrics.title(metric)} {_number(row['value'])}"
    return Caption(f"{say} {numbers} ({span(row)}).", label=label, settings=row["settings"])


def _unscored(summary: pl.DataFrame, metric: str, part: str) -> str:
    """Of what there is no number, and nothing more: other parts may well have been scored."""
    title = metrics.title(metric)
    if metric in set(summary["metric"]):
        return f"No {title} over {_over(part, metric)}."
    return f"No {title} was scored."


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

    Of them fields that depend on the reading rule and ambiguous dates only where there are any.
    With `unit`, such as ``page``, only metrics that are taken of that unit.
    """
    rows = tables.only(tables.readable(summary), slice=part)
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
    more = _unsure(shown)
    return Table(shown.select(*columns, "n_undefined", *more), titles=titles | more)


def _unsure(rows: pl.DataFrame) -> dict[str, str]:
    """The counts of values that are not sure, with their titles: those that are not all 0."""
    titles = {"n_reader": "depend on reading rule", "n_ambiguous": "ambiguous dates"}
    return {name: title for name, title in titles.items() if (rows[name].fill_null(0) > 0).any()}


def slice_cards(
    summary: pl.DataFrame, *, metric: str, by: str, finding: Finding | None = None
) -> Cards:
    """One metric over all fields, and the slices of `by` between whose values all others lie.

    Parameters
    ----------
    summary
        As from `formlab.summarise`, sliced by `by`.
    finding
        What can be said of these slices, as from `analysis.kinds`.
    """
    entry = metrics.get(metric)
    rows = tables.only(tables.readable(summary), slice="fields", metric=metric).to_dicts()
    cards = [Card(f"{entry.title}, all fields", row["value"], span(row)) for row in rows]
    ends = extremes(summary, metric=metric, by=by)
    cards += [Card(row["slice"].replace("=", " "), row["value"], span(row)) for row in ends]
    return Cards(cards, finding=sentences(_between(entry.title, by, rows, ends), finding))


def extremes(summary: pl.DataFrame, *, metric: str, by: str) -> list[dict]:
    """The rows of the lowest and the highest value of a metric over the slices of `by`.

    None where fewer than two slices have a value, one where all have the same.
    """
    slices = tables.readable(summary).filter(
        pl.col("slice").str.starts_with(f"{by}="), pl.col("metric") == metric
    )
    slices = slices.filter(pl.col("value").is_finite()).sort("value", maintain_order=True)
    if slices.height < 2:
        return []
    ends = slices.row(0, named=True), slices.row(-1, named=True)
    return [ends[0]] if ends[0]["value"] == ends[1]["value"] else list(ends)


def _between(title: str, by: str, rows: list[dict], ends: list[dict]) -> str:
    names = [row["slice"].removeprefix(f"{by}=") for row in ends]
    if len(ends) == 2:
        low, high = (f"{_number(e['value'])} ({n})" for e, n in zip(ends, names, strict=True))
        return f"By {by}, {title} lies between {low} and {high}"
    if ends:
        return f"By {by}, {title} is {_number(ends[0]['value'])} throughout"
    return f"{title} over all fields is {_number(rows[0]['value'])}" if rows else ""


def scores_by(summary: pl.DataFrame, *, by: str, metric: str) -> Table:
    """One metric over all fields and in each slice of `by`, in the summary's order."""
    part = pl.col("slice").str.starts_with(f"{by}=") | (pl.col("slice") == "fields")
    rows = tables.readable(summary).filter(part, pl.col("metric") == metric)
    titles = {"value": "pooled", "ci_low": "low", "ci_high": "high", "n_docs": "documents"}
    titles |= {"n_cases": "fields", "n_missing": "missing", "n_undefined": "undefined"}
    titles |= _unsure(rows)
    return Table(rows.select("slice", *titles), titles=titles)


def span(row: dict) -> str:
    """The interval and counts of one row of a summary, in words."""
    count = counted(row)
    counts = f"n = {count:,} in {row['n_docs']:,} document{'s' * (row['n_docs'] != 1)}"
    if math.isnan(row["ci_low"]):
        return counts
    return f"95 % interval {number(row['ci_low'])} to {number(row['ci_high'])}, {counts}"


def counted(row: dict) -> int:
    """The cases that a ratio is taken over: those whose own value is defined.

    Of a mean over documents, `n_undefined` counts documents; other scores pool all cases.

    Examples
    --------
    >>> counted({"metric": "click_accuracy", "n_cases": 5, "n_undefined": 1})
    4
    """
    name = row.get("metric")
    if name is None or metrics.is_mean(name) or metrics.get(name).score is not metrics.ratio:
        return row["n_cases"]
    return row["n_cases"] - (row.get("n_undefined") or 0)


def _number(value: float) -> str:
    return "undefined" if math.isnan(value) else number(value)
