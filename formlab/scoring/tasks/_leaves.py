"""Records of entities as the leaves that matching works on: one row per value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from formlab import text
from formlab.benchmarks.vrdu import UNREPEATED, Schema
from formlab.folders import Corpus, Predictions
from formlab.tables import USABLE


class Leaves(NamedTuple):
    """Both sides, restricted to what is scored, and the predictions that are not.

    `gold` and `pred` have the columns of `formlab.metrics.entities.LEAVES` and `row`, the place
    in `gold_records` and `pred_records`. `left_out` are rows of `pred_records` that nothing is
    scored on: a further value of an unrepeated entity, or one whose gold is not known.
    """

    gold: pl.DataFrame
    pred: pl.DataFrame
    gold_records: pl.DataFrame
    pred_records: pl.DataFrame
    left_out: pl.Series
    notes: dict[str, int]


def leaves(
    corpus: Corpus, predictions: Predictions, schema: Schema, *,
    dates: Mapping[str, int] | None = None,
) -> Leaves:  # fmt: skip
    """The leaves of gold and predictions.

    Of an unrepeated entity the most confident value wins, and the first where none says how
    confident it is (VRDU, appendix A.1). `dates` are those of the whole corpus, see `Whole`.
    """
    gold_records = corpus.records.filter(pl.col("path").is_not_null()).with_row_index("row")
    claims = predictions.records.filter(pl.col("path").is_not_null(), pl.col("task") != "layout")
    is_usable = pl.col("status").is_in(USABLE) & pl.col("value").is_not_null()
    pred_records = claims.filter(is_usable).with_row_index("row")
    orders = text.date_orders(corpus.records["doc_id"], corpus.records["value"], dates)
    written = pl.col("doc").replace_strict(orders, default=None, return_dtype=pl.String)
    gold, pred = (
        _parsed(records).with_columns(written.alias("order"))
        for records in (gold_records, pred_records)
    )
    unknown = gold.filter(pl.col("status") == "unscored").select("doc", "name").unique()
    gold = gold.filter(pl.col("status") != "unscored")
    once = pl.col("name").is_in(schema.names(UNREPEATED)) & pl.col("component").is_null()
    sure = pred_records.select("row", pl.col("confidence").fill_nan(None))
    ranked = pred.filter(once).join(sure, on="row", maintain_order="left")
    ranked = ranked.sort("confidence", descending=True, nulls_last=True, maintain_order=True)
    later = ranked.filter(~pl.struct("doc", "name").is_first_distinct())["row"]
    no_gold = pred.filter(pl.col("name").is_in(list(schema.unlabelled)))["row"]
    blank = pred.join(unknown, on=["doc", "name"], how="semi")["row"]
    left_out = pl.concat([later, no_gold, blank]).unique().sort()
    notes = {
        "further predicted values of an unrepeated entity": later.len(),
        "predicted values of entities that the gold does not label": no_gold.len(),
        "predicted values where the gold is blank, not scored": blank.len(),
    }
    pred = pred.filter(~pl.col("row").is_in(left_out.implode()))
    return Leaves(gold, pred, gold_records, pred_records, left_out, notes)


def _parsed(records: pl.DataFrame) -> pl.DataFrame:
    steps = pl.col("path").str.split("/")
    nested = steps.list.len() > 3
    # The parts of a line item share the number of the first of them.
    base = pl.when(nested).then(pl.col("path").str.extract(r"^(/[^/]*/[^/]*)")).otherwise("path")
    return records.select(
        "row", "status", pl.col("doc_id").alias("doc"),
        pl.col("row").cast(pl.Int64).min().over("doc_id", base).alias("item"),
        _unescaped(steps.list.get(1, null_on_oob=True).fill_null("")).alias("name"),
        pl.when(nested).then(_unescaped(steps.list.get(3, null_on_oob=True))).alias("component"),
        "value", "accepted", pl.col("meta").alias("identity"),
    )  # fmt: skip


def _unescaped(step: pl.Expr) -> pl.Expr:
    return step.str.replace_all("~1", "/", literal=True).str.replace_all("~0", "~", literal=True)
