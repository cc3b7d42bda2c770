"""What the modes ``official`` and ``fixed`` make of the same extracted entities, and why."""

from __future__ import annotations

import json

import altair as alt
import polars as pl

from formlab import metrics, tables
from formlab.charts import theme
from formlab.charts._table import Table
from formlab.charts.entity_words import shared_settings, signed
from formlab.charts.few_shot import TASK_TITLES
from formlab.charts.show import Caption

MORE, LESS, ELSE = "worth more when fixed", "worth less when fixed", "counted in one mode only"
EFFECTS = {
    MORE: theme.OUTCOME_COLOURS["match"], LESS: theme.OUTCOME_COLOURS["mismatch"],
    ELSE: theme.NEUTRAL,
}  # fmt: skip
_NONE = Caption("No entity earns another score in the other mode.", label="Note")


def change_bars(changes: pl.DataFrame) -> alt.Chart | Caption:
    """How many entities each reason makes worth more, or less, when fixed.

    Parameters
    ----------
    changes
        As from `formlab.analysis.changed_entities`.
    """
    if not changes.height:
        return _NONE
    more = pl.col("fixed") > pl.col("official")
    effect = pl.when(more).then(pl.lit(MORE)).when(~more).then(pl.lit(LESS)).otherwise(pl.lit(ELSE))
    counts = changes.with_columns(effect.alias("effect"))
    counts = counts.group_by("reason", "effect").len("entities").sort("reason", "effect")
    present = {name: hue for name, hue in EFFECTS.items() if name in counts["effect"].unique()}
    text = "Entities that change with the mode: " + "; ".join(
        f"{reason}, {what} {count}" for reason, what, count in counts.rows()
    )
    return (
        alt.Chart(counts)
        .mark_bar()
        .encode(
            alt.X("entities:Q", title="entities").axis(tickMinStep=1),
            alt.Y("reason:N", title=None, sort="-x").axis(labelLimit=260),
            alt.Color("effect:N", title=None, legend=alt.Legend(orient="top")).scale(
                theme.scale(present)
            ),
            tooltip=[alt.Tooltip("reason:N"), alt.Tooltip("effect:N"), alt.Tooltip("entities:Q")],
        )
        .properties(width=theme.WIDTH - 250, height=alt.Step(26), description=text)
    )


def modes_table(compared: pl.DataFrame) -> Table:
    """Each split's scores in both modes.

    Parameters
    ----------
    compared
        As from `formlab.analysis.both_modes`.
    """
    task = pl.col("task").cast(pl.String).replace(TASK_TITLES)
    shown = compared.with_columns(
        task.alias("task"),
        pl.col("metric").replace({m: metrics.title(m) for m in compared["metric"]}),
    )
    note = None
    if not compared["exact"].all():
        note = (
            "The evaluation does not keep the order or place of all answers: where 'own score met' "
            "says no, its own score came out differently here."
        )
    titles = {
        "train_size": "training documents",
    }
    return Table(shown.drop("split", "settings"), titles=titles, note=note)


def changes_table(changes: pl.DataFrame, *, each: int = 3) -> Table | Caption:
    """Examples of entities that earn another score in the other mode, some of each reason.

    Parameters
    ----------
    changes
        As from `formlab.analysis.changed_entities`.
    each
        At most so many of each reason.
    """
    if not changes.height:
        return _NONE
    order = changes.group_by("reason").len().sort("len", "reason", descending=[True, False])
    some = changes.group_by("reason", maintain_order=True).head(each)
    some = order.select("reason").join(some, on="reason", how="left", maintain_order="left")
    columns = (
        "reason",
        "name",
        "gold",
        "official_pred",
        "fixed_pred",
        "official",
        "fixed",
        "doc_id",
    )
    titles = {
        "name": "entity", "official_pred": "beside it, official", "fixed_pred": "beside it, fixed",
        "official": "worth, official", "fixed": "worth, fixed", "doc_id": "document",
    }  # fmt: skip
    note = f"{changes.height:,} entities change; at most {each} of each reason are shown."
    sides = pl.col("gold", "official_pred", "fixed_pred")
    some = some.with_columns(sides.map_elements(_item_words, return_dtype=pl.String))
    return Table(some.select(columns), titles=titles, digits=2, note=note)


def _item_words(text: str) -> str:
    """A line item, which comes as a JSON object, as its parts; a single value as it is."""
    try:
        parts = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        parts = None
    if not isinstance(parts, dict):
        return text
    return "; ".join(f"{name}: {value}" for name, value in parts.items())


def changes_caption(changes: pl.DataFrame, compared: pl.DataFrame, *, say: str) -> Caption:
    """A caption with how many entities change and by how much micro F1 does."""
    rows = tables.only(compared, metric="micro_f1")
    if not rows.height:
        return Caption(f"{say} Nothing was compared.")
    low, high = rows["difference"].min(), rows["difference"].max()
    much = signed(low) if rows.height == 1 else f"{signed(low)} to {signed(high)}"
    of = "split" if rows.height == 1 else "splits"
    text = (
        f"{say} n = {changes.height:,} entities change in {rows.height:,} {of}; micro F1 "
        f"fixed minus official: {much}."
    )
    return Caption(text, settings=shared_settings(rows))
