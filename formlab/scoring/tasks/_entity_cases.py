"""Gold values beside predicted ones, entity by entity and part by part of each line item."""

from __future__ import annotations

import polars as pl

from formlab import tables
from formlab.benchmarks.vrdu import Schema
from formlab.folders import Corpus, Predictions
from formlab.metrics.entities import Matching, match_entities
from formlab.scoring._gold_words import Words
from formlab.scoring.align import judged
from formlab.scoring.tasks._leaves import Leaves
from formlab.tables import BOX

_GOLD = (
    "modality", "subtype", "accepted", "page", *BOX, "scope", "reference", "complexity", "modal",
)  # fmt: skip
_ROWS = {"gold_row": pl.UInt32, "pred_row": pl.UInt32, "outcome": pl.String}


def entity_cases(
    corpus: Corpus,
    predictions: Predictions,
    schema: Schema,
    records: Leaves,
    matching: Matching,
    *,
    mode: str,
    threshold: float,
    statuses: pl.DataFrame,
    words: Words | None = None,
) -> pl.DataFrame:
    """One row per value of either side, in the schema CASES.

    Entities that matched stand beside each other. What is left over is paired so that most
    agrees, to show how it differs. A value is a `match` where the entity's match function says
    so; a line item as a whole may still be missed.
    """
    rows = _aligned(records, matching, schema)
    rows = _with_outcome(rows, records, schema, mode)
    joined = _filled(rows, corpus, records, statuses)
    types = {name: schema.type_of(name) for name in joined["kind"].drop_nulls().unique()}
    kinds = joined["kind"]
    typed = kinds.replace_strict(types, return_dtype=pl.String) if types else kinds
    table = judged(
        joined.with_columns(typed.alias("kind"), pl.coalesce("subtype", typed).alias("subtype")),
        system=predictions.system,
        threshold=threshold,
        words=words,
        orders=dict(records.gold.select("doc", "order").drop_nulls().iter_rows()),
    )
    return table.with_columns(kinds.alias("kind"))


def _aligned(records: Leaves, matching: Matching, schema: Schema) -> pl.DataFrame:
    """Pairs of rows of gold and prediction, one of them null where a side has no partner."""
    gold, pred = (
        side.with_columns(pl.int_range(pl.len()).over("item", "component").alias("turn"))
        for side in (records.gold, records.pred)
    )
    pairs = matching.pairs.select("gold", "pred")
    forgiven = pl.Series(matching.forgiven, dtype=pl.Int64)
    rest_gold = gold.filter(~pl.col("item").is_in(pairs["gold"].implode()))
    rest_pred = pred.filter(
        ~pl.col("item").is_in(pairs["pred"].implode()), ~pl.col("item").is_in(forgiven.implode())
    )
    pairs = pl.concat([pairs, _leftover(rest_gold, rest_pred, schema)])
    side = ["item", "component", "turn", "row"]
    ours = gold.select(side).join(
        pairs, left_on="item", right_on="gold", how="left", maintain_order="left"
    )
    both = ours.join(
        pred.select(side), left_on=["pred", "component", "turn"],
        right_on=["item", "component", "turn"], how="left", nulls_equal=True, suffix="_pred",
        maintain_order="left",
    )  # fmt: skip
    both = both.select(pl.col("row").alias("gold_row"), pl.col("row_pred").alias("pred_row"))
    unpaired = pred.filter(~pl.col("row").is_in(both["pred_row"].drop_nulls().implode()))
    free = unpaired.filter(pl.col("item").is_in(forgiven.implode()))["row"]
    spurious = unpaired.filter(~pl.col("item").is_in(forgiven.implode()))["row"]
    unknown = records.gold_records.filter(pl.col("status") == "unscored")["row"]
    return pl.concat(
        [
            both.with_columns(pl.lit(None, pl.String).alias("outcome")).cast(_ROWS),
            _one_sided(spurious, "spurious"),
            _one_sided(free, "unscored"),
            _one_sided(records.left_out, "unscored"),
            _one_sided(unknown, "unscored", "gold_row"),
        ]
    )


def _leftover(gold: pl.DataFrame, pred: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    flat = pl.col("component").is_null()
    turned = [
        side.filter(flat).select(
            "doc", "name", "item", pl.int_range(pl.len()).over("doc", "name").alias("place")
        )
        for side in (gold, pred)
    ]
    on = ["doc", "name", "place"]
    pairs = turned[0].join(turned[1], on=on, suffix="_pred")
    items = match_entities(gold.filter(~flat), pred.filter(~flat), schema.matches, mode="fixed")
    return pl.concat(
        [
            pairs.select(pl.col("item").alias("gold"), pl.col("item_pred").alias("pred")),
            items.pairs.select("gold", "pred"),
        ]
    )


def _one_sided(rows: pl.Series, outcome: str, side: str = "pred_row") -> pl.DataFrame:
    """Rows of one side without a partner."""
    none = {name: pl.Series(name, [None] * rows.len()) for name in _ROWS}
    return pl.DataFrame(none | {side: rows}).with_columns(outcome=pl.lit(outcome)).cast(_ROWS)


def _with_outcome(rows: pl.DataFrame, records: Leaves, schema: Schema, mode: str) -> pl.DataFrame:
    rows = rows.with_row_index("case")
    both = rows.filter(pl.col("gold_row").is_not_null() & pl.col("pred_row").is_not_null())
    name = pl.coalesce("component", "name").alias("name")
    sides = []
    for side, key in ((records.gold, "gold_row"), (records.pred, "pred_row")):
        leaf = both.join(side.rename({"row": key}), on=key, how="left", maintain_order="left")
        # Each case is a document of its own, so that only its two values are compared.
        case = pl.col("case").cast(pl.String).alias("doc")
        sides.append(
            leaf.select(
                case, pl.col("case").cast(pl.Int64).alias("item"), name,
                pl.lit(None, pl.String).alias("component"), "value", "accepted", "identity",
                "order",
            )
        )  # fmt: skip
    same = match_entities(*sides, schema.matches, mode=mode).pairs["gold"]
    agreed = pl.col("case").cast(pl.Int64).is_in(same.implode())
    paired = pl.col("gold_row").is_not_null() & pl.col("pred_row").is_not_null()
    return rows.with_columns(
        pl.when(pl.col("outcome").is_not_null()).then("outcome")
        .when(paired & agreed).then(pl.lit("match"))
        .when(paired).then(pl.lit("mismatch"))
        .otherwise(pl.lit("missing")).alias("outcome")
    )  # fmt: skip


def _filled(
    rows: pl.DataFrame, corpus: Corpus, records: Leaves, statuses: pl.DataFrame
) -> pl.DataFrame:
    gold = records.gold_records.select(
        pl.col("row").alias("gold_row"), pl.col("doc_id").alias("gold_doc"), "path",
        pl.col("kind").alias("gold_kind"), pl.col("value").alias("gold"),
        pl.col("origin").alias("gold_origin"), *_GOLD,
    )  # fmt: skip
    pred = records.pred_records.select(
        pl.col("row").alias("pred_row"), pl.col("doc_id").alias("pred_doc"),
        pl.col("path").alias("pred_path"), pl.col("kind").alias("pred_kind"),
        pl.col("value").alias("pred"), pl.col("origin").alias("pred_origin"), "confidence",
        pl.col("status").alias("pred_status"),
        pl.col("page", *BOX).name.prefix("pred_"),
    )  # fmt: skip
    joined = rows.join(gold, on="gold_row", how="left").join(pred, on="pred_row", how="left")
    joined = joined.with_columns(pl.coalesce("gold_doc", "pred_doc").alias("doc_id"))
    joined = joined.join(statuses.rename({"status": "doc_status"}), on="doc_id", how="left")
    failed = pl.when(pl.col("doc_status") != "ok").then("doc_status")
    last = pl.col("pred_path").str.split("/").list.last()
    return (
        joined.sort("case")
        .with_columns(
            pl.lit(corpus.benchmark).alias("benchmark"),
            pl.lit(corpus.split).alias("split"),
            pl.lit("entity").alias("task"),
            pl.coalesce("path", "pred_path").alias("path"),
            pl.coalesce("gold_kind", "pred_kind", last).alias("kind"),
            pl.coalesce("pred_status", failed, pl.lit("missing")).alias("status"),
            (pl.col("doc_status") == "ok").alias("has_answer"),
        )
        .select(
            "has_answer",
            *(name for name in tables.CASES if name in joined.columns or name in _ADDED),
        )
    )


_ADDED = ("benchmark", "split", "task", "path", "kind", "status")
