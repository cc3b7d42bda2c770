"""Scores of extracted entities: micro and macro averages, and each entity on its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from formlab import text
from formlab.benchmarks.vrdu import UNREPEATED, Schema
from formlab.folders import Corpus, Predictions
from formlab.metrics import entities as family
from formlab.metrics.entities import Matching, comparator, match_entities
from formlab.scoring.align import side_by_side, with_status
from formlab.scoring.tasks._kit import Scoring, TaskScores, text_rows
from formlab.tables import USABLE

RULES = "unrepeated=most-confident,else-first"
Counts = dict[tuple[str | None, str | None], np.ndarray]


def score(scoring: Scoring) -> TaskScores:
    """Every document by every entity, all together and as means over entities.

    Slices are by ``entity``, and the ``group`` of unrepeated ones; line items are one entity. The
    cases are single values, parts of line items included, with the ladder's accuracies.
    """
    corpus, predictions = scoring.corpus, scoring.predictions
    schema = Schema.of(corpus)
    records = leaves(corpus, predictions, schema, scoring.whole.dates)
    matching = match_entities(records.gold, records.pred, schema.matches, mode=scoring.mode)
    # A document was answered if any of its records was, else the first says why not.
    first = pl.col("status").sort_by(~pl.col("status").is_in(USABLE), maintain_order=True).first()
    status = predictions.records.group_by("doc_id", maintain_order=True).agg(first)
    documents = scoring.documents(dict(status.iter_rows()))
    cases = _cases(scoring, records, matching, schema, documents)
    counts = _counts(documents, records, matching, schema)
    scored = cases.filter(pl.col("outcome") != "unscored")
    scores = [
        *_of_documents(scoring, counts, schema, documents),
        *text_rows(scoring, scored, RULES, task="entity", level="field"),
    ]
    return TaskScores.of([cases], scores, records.notes)


def _cases(
    scoring: Scoring, records: Leaves, matching: Matching, schema: Schema, documents: pl.DataFrame
) -> pl.DataFrame:
    """A case for each single value; its entity's match function says whether it is right."""
    forgiven = records.pred.filter(pl.col("item").is_in(matching.forgiven.tolist()))["row"]
    unscored = records.pred_records.filter(pl.col("row").is_in({*forgiven, *records.left_out}))
    unscored = unscored.select("doc_id", pred_path="path", unscored=True)
    sides = (side.drop("row") for side in (records.gold_records, records.pred_records))
    joined = side_by_side(*sides, _pairs(records, matching, schema))
    joined = joined.join(unscored, on=["doc_id", "pred_path"], how="left", maintain_order="left")
    names = pl.coalesce("kind", pl.col("pred_path").str.split("/").list.last())
    joined = joined.with_columns(names, task=pl.lit("entity"))
    joined = with_status(joined, scoring.predictions.records)
    answered = documents.filter(pl.col("status").is_in(USABLE))["doc_id"]
    outcomes = []
    is_pair = pl.all_horizontal(pl.col("gold_status", "pred_status").is_not_null())
    columns = joined.select(is_pair, "gold", "pred", "accepted", "kind", "doc_id")
    for has_both, gold, pred, accepted, name, doc_id in columns.iter_rows():
        outcome = "mismatch" if has_both else "missing"
        same, order = comparator(schema.matches.get(name), scoring.mode), scoring.orders.get(doc_id)
        golds = (value for value in (gold, *(accepted or ())) if value is not None)
        if has_both and any(same(value, pred, order) for value in golds):
            outcome = "match"
        outcomes.append(outcome)
    not_scored = pl.when("unscored").then(pl.lit("unscored"))
    joined = joined.with_columns(
        outcome=pl.coalesce(not_scored, "outcome", pl.Series(outcomes, dtype=pl.String)),
        has_answer=pl.col("doc_id").is_in(answered.implode()),
    )
    names = joined["kind"]
    types = {name: schema.type_of(name) for name in names.drop_nulls().unique()}
    typed = names.replace_strict(types, return_dtype=pl.String) if types else names
    joined = joined.with_columns(typed, subtype=pl.coalesce("subtype", typed))
    return scoring.judged(joined).with_columns(names)


def _pairs(records: Leaves, matching: Matching, schema: Schema) -> pl.DataFrame:
    """The paths of values that stand beside each other: of matched items, then of all others."""
    pairs, item = matching.pairs.select("gold", "pred"), pl.col("item")
    taken = {*pairs["pred"], *matching.forgiven.tolist()}
    rest = (
        records.gold.filter(~item.is_in({*pairs["gold"]})),
        records.pred.filter(~item.is_in(taken)),
    )
    # Single values by their turn, line items by what agrees.
    is_flat, turn = pl.col("component").is_null(), pl.int_range(pl.len())
    flat = [
        side.filter(is_flat).select("doc", "name", "item", turn=turn.over("doc", "name"))
        for side in rest
    ]
    flat = flat[0].join(flat[1], on=["doc", "name", "turn"], suffix="_pred")
    lines = match_entities(*(side.filter(~is_flat) for side in rest), schema.matches, mode="fixed")
    flat = flat.select(gold="item", pred="item_pred")
    pairs = pl.concat([pairs, flat, lines.pairs.select("gold", "pred")])
    gold, pred = (
        side.select("doc", "path", "item", "component", turn=turn.over("item", "component"))
        for side in (records.gold, records.pred)
    )
    place = ["pred", "component", "turn"]
    both = gold.join(pairs, left_on="item", right_on="gold", maintain_order="left")
    other = pred.select(*place[1:], pred="item", pred_path="path")
    both = both.join(other, on=place, nulls_equal=True, maintain_order="left")
    return both.select("path", "pred_path", doc_id="doc")


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
        "row", "path", "status", pl.col("doc_id").alias("doc"),
        pl.col("row").cast(pl.Int64).min().over("doc_id", base).alias("item"),
        _unescaped(steps.list.get(1, null_on_oob=True).fill_null("")).alias("name"),
        pl.when(nested).then(_unescaped(steps.list.get(3, null_on_oob=True))).alias("component"),
        "value", "accepted", pl.col("meta").alias("identity"),
    )  # fmt: skip


def _unescaped(step: pl.Expr) -> pl.Expr:
    return step.str.replace_all("~1", "/", literal=True).str.replace_all("~0", "~", literal=True)
