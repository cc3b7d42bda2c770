"""Scores of extracted entities by task and training size."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt
import polars as pl

from formlab import metrics, tables
from formlab.analysis.splits import TASK_TITLES, WHOLE
from formlab.charts import theme
from formlab.charts._bars import bars
from formlab.charts._lines import lines
from formlab.charts._output import clean, number
from formlab.charts._words import sentences
from formlab.charts.show import Caption

# A caption names so many scores; of more it gives the ends.
_NAMED = 4


def few_shot_chart(
    scores: pl.DataFrame, *, metric: str = "micro_f1", parts: Sequence[str] = (WHOLE,)
) -> alt.TopLevelMixin | Caption:
    """A score by task and training size: curves, or bars where there is one size each.

    `scores` are from `analysis.few_shot`; several `parts` are told apart by colour.
    """
    shown = _titled(scores.filter(pl.col("metric") == metric, pl.col("part").is_in(list(parts))))
    place = {part: at for at, part in enumerate(parts)}
    shown = shown.sort(pl.col("part").replace_strict(place), maintain_order=True)
    look = {
        "colour": "part" if len(parts) > 1 else None, "colours": theme.system_colours(parts),
        "metric": metric, "domain": [0, 1], "tips": ["interval", "n_splits"],
        "titles": {"train_size": "training documents"},
    }  # fmt: skip
    sizes = shown.group_by("corpus", "task", "part").agg(pl.col("train_size").n_unique())
    if (sizes["train_size"] > 1).any():
        curves = shown.drop_nulls("train_size").sort("task", maintain_order=True)
        return lines(curves, "train_size", row="corpus", column="templates", log=True, **look)
    return bars(shown, "label", facet="corpus", n="n_docs", **look)


def few_shot_caption(
    say: str, scores: pl.DataFrame, *, metric: str = "micro_f1", part: str = WHOLE
) -> Caption:
    """A caption with the scores, of many the ends, with their intervals, n and settings."""
    rows = _titled(tables.only(scores, metric=metric, part=part))
    title = f"{metrics.title(metric)} of {part}"
    if not rows.height:
        return Caption(sentences(say, f"No {title} was scored"))
    named, ends = rows, ""
    if rows.height > _NAMED:
        ordered = rows.filter(pl.col("value").is_finite()).sort("value")
        named = pl.concat([ordered.head(1), ordered.tail(1)])
        ends = "the lowest and the highest are "
    values = "; ".join(
        f"{clean(row['corpus'], limit=60)}, {row['label']} {_score(row)}"
        for row in named.to_dicts()
    )
    n_splits = rows["n_splits"].sum()
    counts = f"n = {rows['n_docs'].sum():,} documents in {n_splits:,} split{'s' * (n_splits != 1)}"
    over = {"splits": "over splits (t)", "documents": "over documents (bootstrap)"}
    kinds = " and ".join(over[kind] for kind in rows["interval"].unique().sort())
    text = sentences(say, f"{title}: {ends}{values}; {counts}", f"95 % intervals {kinds}")
    settings = list(dict.fromkeys(map(tables.settings_text, rows.iter_rows(named=True))))
    more = f" and {len(settings) - 1} more" if len(settings) > 1 else ""
    return Caption(text, settings=f"{settings[0]}{more}")


def _titled(scores: pl.DataFrame) -> pl.DataFrame:
    task = pl.col("task").cast(pl.String).replace(TASK_TITLES)
    size = pl.format(", {} training documents", "train_size").fill_null("")
    return scores.with_columns(task.alias("templates"), (task + size).alias("label"))


def _score(row: dict) -> str:
    interval = f" ({number(row['ci_low'])} to {number(row['ci_high'])})"
    known = row["ci_low"] is not None and math.isfinite(row["ci_low"])
    return number(row["value"]) + interval * known
