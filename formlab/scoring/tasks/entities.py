"""Scores of extracted entities: micro and macro averages, and each entity on its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from formlab import tables, text
from formlab.benchmarks.vrdu import UNREPEATED, Schema
from formlab.folders import Corpus, Predictions
from formlab.metrics import entities as family
from formlab.metrics.entities import Matching, comparator, match_entities
from formlab.scoring.tasks._kit import Scoring, TaskScores, text_rows
from formlab.tables import BOX, USABLE

RULES = "unrepeated=most-confident,else-first"
# What a case has of its gold record, and the rows of both sides that a case stands for.
_GOLD = ("modality", "subtype", "accepted", "page", *BOX)
_GOLD += ("scope", "reference", "complexity", "modal")
Counts = dict[tuple[str | None, str | None], np.ndarray]
_ROWS = {"gold_row": pl.UInt32, "pred_row": pl.UInt32, "outcome": pl.String}


def score(scoring: Scoring) -> TaskScores:
    """Every document by every entity, all together and as means over entities.

    Slices are by ``entity``, and the ``group`` of unrepeated ones; line items are one entity. The
    cases are single values, parts of line items included, with the ladder's accuracies.
    """
    corpus, predictions, mode = scoring.corpus, scoring.predictions, scoring.mode
    schema = Schema.of(corpus)
    records = leaves(corpus, predictions, schema, scoring.whole.dates)
    matching = match_entities(records.gold, records.pred, schema.matches, mode=mode)
    # A document was answered if any of its records was, else the first says why not.
    first = pl.col("status").sort_by(~pl.col("status").is_in(USABLE), maintain_order=True).first()
    status = predictions.records.group_by("doc_id", maintain_order=True).agg(first)
    documents = scoring.documents(dict(status.iter_rows()))
    orders = dict(records.gold.select("doc", "order").drop_nulls().iter_rows())
    joined = _filled(_aligned(records, matching, schema), corpus, records, documents)
    joined = joined.with_columns(_outcomes(joined, schema, orders, mode)).drop("is_pair")
    names = joined["kind"]
    types = {name: schema.type_of(name) for name in names.drop_nulls().unique()}
    typed = names.replace_strict(types, return_dtype=pl.String) if types else names
    joined = joined.with_columns(typed.alias("kind"), subtype=pl.coalesce("subtype", typed))
    cases = scoring.judged(joined, orders=orders).with_columns(names.alias("kind"))
    counts = _counts(documents, records, matching, schema)
    scored = cases.filter(pl.col("outcome") != "unscored")
    scores = [
        *_of_documents(scoring, counts, schema, documents),
        *text_rows(scoring, scored, RULES, task="entity", level="field"),
    ]
    return TaskScores.of([cases], scores, records.notes)


def _aligned(records: Leaves, matching: Matching, schema: Schema) -> pl.DataFrame:
    """Rows of gold and prediction beside each other, one null where a side has no partner."""
    turn = pl.int_range(pl.len()).over("item", "component")
    gold, pred = (side.with_columns(turn=turn) for side in (records.gold, records.pred))
    pairs, item = matching.pairs.select("gold", "pred"), pl.col("item")
    is_forgiven = item.is_in(pl.Series(matching.forgiven, dtype=pl.Int64).implode())
    left = gold.filter(~item.is_in(pairs["gold"].implode()))
    rest = pred.filter(~item.is_in(pairs["pred"].implode()), ~is_forgiven)
    pairs = pl.concat([pairs, _leftover(left, rest, schema)])
    place, left = ["component", "turn"], {"how": "left", "maintain_order": "left"}
    both = gold.select("item", *place, "row").join(pairs, left_on="item", right_on="gold", **left)
    keys = {"left_on": ["pred", *place], "right_on": ["item", *place], "nulls_equal": True}
    both = both.join(pred.select("item", *place, pred_row="row"), **keys, **left)
    both = both.select("pred_row", gold_row="row")
    alone = pred.filter(~pl.col("row").is_in(both["pred_row"].drop_nulls().implode()))
    unknown = records.gold_records.filter(pl.col("status") == "unscored")["row"]
    unscored = pl.lit("unscored").alias("outcome")
    parts = [
        both,
        alone.filter(~is_forgiven).select(pred_row="row", outcome=pl.lit("spurious")),
        alone.filter(is_forgiven).select(unscored, pred_row="row"),
        records.left_out.alias("pred_row").to_frame().with_columns(unscored),
        unknown.alias("gold_row").to_frame().with_columns(unscored),
    ]
    # What no entry of either side has yet is null.
    return pl.concat(parts, how="diagonal_relaxed").select(*_ROWS).cast(_ROWS)


def _leftover(gold: pl.DataFrame, pred: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Pairs of items: single values by their turn, line items by what agrees."""
    is_flat, on = pl.col("component").is_null(), ["doc", "name", "place"]
    turn = pl.int_range(pl.len()).over("doc", "name")
    ours, theirs = (
        side.filter(is_flat).select("doc", "name", "item", place=turn) for side in (gold, pred)
    )
    pairs = ours.join(theirs, on=on, suffix="_pred").select(gold="item", pred="item_pred")
    lines = (side.filter(~is_flat) for side in (gold, pred))
    items = match_entities(*lines, schema.matches, mode="fixed").pairs
    return pl.concat([pairs, items.select("gold", "pred")])


def _outcomes(
    joined: pl.DataFrame, schema: Schema, orders: Mapping[str, str], mode: str
) -> pl.Series:
    """The outcome of each row: a `match` where the entity's match function says so."""
    outcomes = []
    columns = joined.select("outcome", "gold", "pred", "accepted", "kind", "doc_id", "is_pair")
    for outcome, gold, pred, accepted, name, doc_id, is_pair in columns.iter_rows():
        if outcome is None and is_pair:
            same = comparator(schema.matches.get(name), mode)
            golds = (value for value in (gold, *(accepted or ())) if value is not None)
            right = any(same(value, pred, orders.get(doc_id)) for value in golds)
            outcome = "match" if right else "mismatch"
        outcomes.append(outcome or "missing")
    return pl.Series("outcome", outcomes, dtype=pl.String)


def _filled(
    rows: pl.DataFrame, corpus: Corpus, records: Leaves, documents: pl.DataFrame
) -> pl.DataFrame:
    """The rows with the records of both sides, under the names of *cases*."""
    renamed = {"gold_row": "row", "gold_doc": "doc_id", "gold_kind": "kind", "gold": "value"}
    gold = records.gold_records.select("path", *_GOLD, gold_origin="origin", **renamed)
    sides = pl.col("path", "kind", "origin", "status", "page", *BOX).name.prefix("pred_")
    renamed = {"pred_row": "row", "pred_doc": "doc_id", "pred": "value"}
    pred = records.pred_records.select("confidence", sides, **renamed)
    left = {"how": "left", "maintain_order": "left"}
    joined = rows.join(gold, on="gold_row", **left).join(pred, on="pred_row", **left)
    joined = joined.with_columns(pl.coalesce("gold_doc", "pred_doc").alias("doc_id"))
    joined = joined.join(documents.select("doc_id", doc_status="status"), on="doc_id", **left)
    is_answered = pl.col("doc_status") == "ok"
    last = pl.col("pred_path").str.split("/").list.last()
    failed = pl.when(~is_answered).then("doc_status")
    columns = {name: pl.lit(getattr(corpus, name)) for name in ("benchmark", "split")}
    joined = joined.with_columns(
        **columns,
        task=pl.lit("entity"),
        path=pl.coalesce("path", "pred_path"),
        kind=pl.coalesce("gold_kind", "pred_kind", last),
        status=pl.coalesce("pred_status", failed, pl.lit("missing")),
        has_answer=is_answered,
        is_pair=pl.col("gold_row").is_not_null() & pl.col("pred_row").is_not_null(),
    )
    return joined.select(
        "has_answer", "is_pair", *(name for name in tables.CASES if name in joined.columns)
    )


def _counts(documents: pl.DataFrame, records: Leaves, matching: Matching, schema: Schema) -> Counts:
    """By slice: credit, gold and predicted items of each document, shape (documents, 3)."""
    size, number = documents.height, {name: n for n, name in enumerate(documents["doc_id"])}
    place = pl.col("doc").replace_strict(number, return_dtype=pl.Int64).alias("place")
    first, sides = pl.col("doc", "name").first(), (records.gold, records.pred)
    items = (side.group_by("item", maintain_order=True).agg(first) for side in sides)
    gold, pred = (side.with_columns(place) for side in items)
    credit = gold.join(matching.pairs, left_on="item", right_on="gold")
    wrong = pred.filter(~pl.col("item").is_in({*matching.pairs["pred"], *matching.forgiven}))
    chosen = {("entity", name): [name] for name in schema.entities}
    chosen |= {("group", "unrepeated"): schema.names(UNREPEATED), (None, None): None}
    counts = {}
    for of, names in chosen.items():
        is_of = pl.lit(value=True) if names is None else pl.col("name").is_in(names)
        parts = [side.filter(is_of) for side in (credit, gold, wrong)]
        places = [side["place"].to_numpy() for side in parts]
        # A pair is one prediction that counts, whatever share of it is right.
        paired, expected, extra = (np.bincount(place, minlength=size) for place in places)
        earned = np.bincount(places[0], weights=parts[0]["credit"], minlength=size)
        counts[of] = np.stack([earned, expected, paired + extra], axis=1).astype(float)
    return counts


def _of_documents(
    scoring: Scoring, counts: Counts, schema: Schema, documents: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    """Of a slice precision, recall and F1; of all entities their micro and macro averages."""
    of_entities = [counts["entity", name] for name in schema.entities]
    every = np.hstack([np.zeros((documents.height, 0)), *of_entities])
    rules = RULES, None if scoring.mode == "official" else text.DATE_RULE
    for (by, value), parts in counts.items():
        options = {"level": "document", "task": "entity", "slice_by": by, "slice_value": value}
        for name in family.SCORES:
            stats = every if name.startswith("macro_") else parts
            if ("_" in name) == (by is None) and stats.shape[1]:
                yield scoring.rows(documents, {name: stats}, *rules, **options)


class Leaves(NamedTuple):
    """Both sides, restricted to what is scored, and the rows of `pred_records` that are not."""

    gold: pl.DataFrame
    pred: pl.DataFrame
    gold_records: pl.DataFrame
    pred_records: pl.DataFrame
    left_out: pl.Series
    notes: dict[str, int]


def leaves(
    corpus: Corpus, predictions: Predictions, schema: Schema, dates: Mapping[str, int] | None = None
) -> Leaves:
    """The leaves of gold and predictions."""
    # Of an unrepeated entity the most confident value wins, else the first (VRDU, appendix A.1).
    gold_records = corpus.records.filter(pl.col("path").is_not_null()).with_row_index("row")
    claims = predictions.records.filter(pl.col("path").is_not_null(), pl.col("task") != "layout")
    is_usable = pl.col("status").is_in(USABLE) & pl.col("value").is_not_null()
    pred_records = claims.filter(is_usable).with_row_index("row")
    orders = text.date_orders(corpus.records["doc_id"], corpus.records["value"], dates)
    written = pl.col("doc").replace_strict(orders, default=None, return_dtype=pl.String)
    sides = gold_records, pred_records
    gold, pred = (_parsed(side).with_columns(order=written) for side in sides)
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
