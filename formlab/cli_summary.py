"""How the commands print a summary."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import click

from formlab.show import show

if TYPE_CHECKING:
    import polars as pl

# How many scores of a split are printed without --all.
MAIN = 10


def show_summary(summary: pl.DataFrame, options: dict[str, Any], *, as_json: bool) -> None:
    """Print a summary: as JSON every column, with `--all` every score, else the main ones."""
    if as_json:
        show(summary.to_dicts(), as_json=True)
        return
    rows = _readable(summary)
    main = rows if options["everything"] else _main(summary, options["by"])
    show(main, as_json=False)
    if len(main) < len(rows):
        shown = f"{len(main)} of {len(rows):,} scores"
        click.echo(f"{shown}; --all prints all and slices, --json every column", err=True)


def _main(summary: pl.DataFrame, by: Collection[str]) -> list[dict[str, Any]]:
    """The main scores of each split, and with `by` those of its slices."""
    import polars as pl

    from formlab import metrics
    from formlab.analysis import headlines
    from formlab.registry import OWN
    from formlab.tables import LADDER, readable

    kinds = summary["metric"].unique().to_list()
    pooled = summary.filter(~pl.col("metric").is_in([n for n in kinds if metrics.is_mean(n)]))
    # First what speaks for a level, then metrics of plug-ins and of values that are right by the
    # rules of one's own forms, the ladder, and what is left.
    heads = headlines(pooled).select(
        "split", "metric", level="score_level", place=pl.int_range(pl.len())
    )
    plugged = [n for n in pooled["metric"].unique() if metrics.METRICS.source(n) != OWN]
    ladder = [f"{rung}_accuracy" for rung in LADDER]
    rank = (
        pl.when(pl.col("place").is_not_null()).then(0)
        .when(pl.col("value").is_nan()).then(4)
        .when(pl.col("metric").is_in(plugged) | pl.col("metric").str.starts_with("match_")).then(1)
        .when(pl.col("metric").is_in(ladder), pl.col("level") == "field").then(2)
        .otherwise(3)
    )  # fmt: skip
    ranked = pooled.join(heads, on=["split", "metric", "level"], how="left", maintain_order="left")
    ranked = ranked.with_columns(rank.alias("rank")).sort("rank", "place", maintain_order=True)
    whole = ranked.filter(pl.col("slice_by").is_null())
    whole = whole.group_by("split", maintain_order=True).head(MAIN)
    sliced = ranked.filter(pl.col("slice_by").is_in(list(by)), pl.col("rank") < 2)
    several = ["split"] if summary["split"].n_unique() > 1 else []
    columns = (*several, "task", "level", *(["slice"] if by else []), "metric")
    rows = readable(pl.concat([whole, sliced.select(whole.columns)]))
    return rows.select(
        *columns, "value", "ci_low", "ci_high", n="n_cases", missing="n_missing"
    ).to_dicts()


def _readable(summary: pl.DataFrame) -> list[dict[str, Any]]:
    """A row per slice and metric, the mean over documents beside the pooled value."""
    import polars as pl

    from formlab import metrics
    from formlab.tables import readable

    summary = readable(summary)
    means = {n: metrics.plain(n) for n in summary["metric"].unique() if metrics.is_mean(n)}
    macro = pl.col("metric").is_in(list(means))
    key = ["split", "task", "level", "metric", "slice"]
    mean = summary.filter(macro).with_columns(pl.col("metric").replace(means))
    mean = mean.select(*key, macro="value")
    rows = summary.filter(~macro).join(
        mean, on=key, how="left", nulls_equal=True, maintain_order="left"
    )
    counts = {f"n_{name}": name for name in ("docs", "cases", "missing", "undefined")}
    # Named only where they tell rows apart.
    several = ["split"] if rows["split"].n_unique() > 1 else []
    if rows.select("split", "slice", "metric").is_duplicated().any():
        several += ["task", "level"]
    columns = (*several, "slice", "metric", "value", "ci_low", "ci_high", "macro", *counts)
    return rows.select(columns).rename(counts).to_dicts()
