"""Scores of extracted entities: micro and macro averages, and each entity on its own."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from formlab import text
from formlab.benchmarks.vrdu import UNREPEATED, Schema
from formlab.folders import Corpus, Predictions
from formlab.metrics.entities import Matching, comparator, match_entities
from formlab.scoring.align import side_by_side
from formlab.scoring.tasks._kit import Scoring, TaskScores, text_rows
from formlab.tables import USABLE

RULES = "unrepeated=most-confident,else-first"
# What these are made of: entities found, in the gold and predicted.
_SCORES, _COUNTS = ("precision", "recall", "f1"), pl.col("right", "gold", "pred")
# The leaves of gold and of predictions.
Sides = tuple[pl.DataFrame, pl.DataFrame]


def score(scoring: Scoring) -> TaskScores:
    """Every document by every entity, all together and as means over entities.

    Slices are by ``entity``, and the ``group`` of unrepeated ones; line items are one entity. The
    cases are single values, parts of line items included, with the ladder's accuracies.
    """
    predictions, schema = scoring.predictions, Schema.of(scoring.corpus)
    gold, claims, notes = leaves(scoring.corpus, predictions, schema, scoring.orders)
    sides = gold.filter("is_scored"), claims.filter("is_scored")
    matching = match_entities(*sides, schema.matches, mode=scoring.mode)
    # A document was answered if any of its records was, else the first says why not.
    is_unusable = ~pl.col("status").is_in(USABLE)
    documents = scoring.documents(predictions.records.sort(is_unusable, maintain_order=True))
    answered = documents.filter(pl.col("status").is_in(USABLE))["doc_id"].implode()
    is_forgiven = pl.col("item").is_in(matching.forgiven.tolist())
    unscored = claims.filter(~pl.col("is_scored") | is_forgiven)
    unscored = unscored.select("doc_id", pred_path="path", unscored=pl.lit("unscored"))
    joined = side_by_side(gold, claims, _pairs(sides, matching, schema))
    joined = joined.join(unscored, on=unscored.columns[:2], how="left", maintain_order="left")
    joined = joined.with_columns(
        pl.coalesce("kind", pl.col("pred_path").str.split("/").list.last()),
        task=pl.lit("entity"),
        outcome=pl.coalesce("unscored", "outcome"),
        has_answer=pl.col("doc_id").is_in(answered),
    )
    cases = _cases(scoring, joined, schema)
    scored = cases.filter(pl.col("outcome") != "unscored")
    scores = [
        *_of_documents(scoring, sides, matching, schema, documents),
        *text_rows(scoring, scored, RULES, task="entity", level="field"),
    ]
    return TaskScores.of([cases], scores, notes)


def _cases(scoring: Scoring, joined: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """A case for each single value; its entity's match function says whether it is right."""
    outcomes = []
    is_pair = pl.all_horizontal(pl.col("gold_status", "pred_status").is_not_null())
    columns = joined.select(is_pair, "gold", "pred", "accepted", "kind", "doc_id")
    for has_both, gold, pred, accepted, name, doc_id in columns.iter_rows():
        same, order = comparator(schema.matches.get(name), scoring.mode), scoring.orders.get(doc_id)
        golds = (value for value in (gold, *(accepted or ())) if value is not None)
        is_right = has_both and any(same(value, pred, order) for value in golds)
        outcomes.append("match" if is_right else "mismatch" if has_both else "missing")
    names = joined["kind"]
    types = names.map_elements(schema.type_of, return_dtype=pl.String)
    outcome = pl.coalesce("outcome", pl.Series(outcomes, dtype=pl.String))
    joined = joined.with_columns(types, outcome=outcome, subtype=pl.coalesce("subtype", types))
    return scoring.judged(joined).with_columns(names)


def _pairs(sides: Sides, matching: Matching, schema: Schema) -> pl.DataFrame:
    """The paths of values that stand beside each other: of matched items, then of all others."""
    pairs = matching.pairs.select("gold", "pred")
    taken = {*pairs["gold"]}, {*pairs["pred"], *matching.forgiven.tolist()}
    both = zip(sides, taken, strict=True)
    rest = [side.filter(~pl.col("item").is_in(items)) for side, items in both]
    # Single values by their turn, line items by what agrees.
    is_flat, turn = pl.col("component").is_null(), pl.int_range(pl.len())
    flat = [side.filter(is_flat).with_columns(turn=turn.over("doc", "name")) for side in rest]
    flat = flat[0].join(flat[1], on=["doc", "name", "turn"]).select(gold="item", pred="item_right")
    lines = match_entities(*(side.filter(~is_flat) for side in rest), schema.matches, mode="fixed")
    pairs = pl.concat([pairs, flat, lines.pairs.select("gold", "pred")])
    turn = turn.over("item", "component").alias("turn")
    gold = sides[0].select("doc_id", "path", "item", "component", turn)
    pred = sides[1].select("component", turn, pred="item", pred_path="path")
    both = gold.join(pairs, left_on="item", right_on="gold", maintain_order="left")
    both = both.join(pred, on=pred.columns[:3], nulls_equal=True, maintain_order="left")
    return both.select("doc_id", "path", "pred_path")


def _of_documents(
    scoring: Scoring, sides: Sides, matching: Matching, schema: Schema, documents: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    """Of a slice precision, recall and F1; of all entities their micro and macro averages."""
    docs, (gold, pred) = documents.select("doc_id"), (side.unique("item") for side in sides)
    gold = gold.join(matching.pairs, left_on="item", right_on="gold", how="left")
    wrong = pred.filter(~pl.col("item").is_in({*matching.pairs["pred"], *matching.forgiven}))
    # A pair is one prediction that counts, whatever share of it is right.
    paired = pl.when(pl.col("credit").is_not_null()).then(1.0)
    counted = gold.select("doc_id", "name", right="credit", gold=1.0, pred=paired)
    counted = pl.concat([counted, wrong.select("doc_id", "name", pred=1.0)], how="diagonal")

    def counts(names: Sequence[str]) -> np.ndarray:
        some = counted.filter(pl.col("name").is_in(names)).group_by("doc_id").agg(_COUNTS.sum())
        units = docs.join(some, on="doc_id", how="left", maintain_order="left")
        return units.select(_COUNTS.fill_null(0.0)).to_numpy()

    slices = {("entity", name): {"": counts([name])} for name in schema.entities}
    macro = np.hstack([parts[""] for parts in slices.values()])
    slices["group", "unrepeated"] = {"": counts(schema.names(UNREPEATED))}
    slices[None, None] = {"micro_": counts([*counted["name"].unique()]), "macro_": macro}
    rules = RULES, None if scoring.mode == "official" else text.DATE_RULE
    for (by, value), parts in slices.items():
        scores = {prefix + name: of for prefix, of in parts.items() for name in _SCORES}
        options = {"task": "entity", "level": "document", "slices": {by: value}}
        yield scoring.rows(documents, scores, *rules, **options)


def leaves(
    corpus: Corpus, predictions: Predictions, schema: Schema, orders: dict[str, str] | None = None
) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, int]]:
    """The leaves of gold and predictions, whether each of them `is_scored`, and notes why not."""
    is_value = (pl.col("task") != "layout") & pl.col("status").is_in(USABLE)
    claims = predictions.records.filter(is_value).drop_nulls("value")
    if orders is None:
        docs, values = corpus.records.select("doc_id", "value")
        orders = text.date_orders(docs, text.orders_shown(docs, values))
    gold, pred = (_parsed(side, orders) for side in (corpus.records, claims))
    blank = gold.filter(pl.col("status") == "unscored").select("doc", "name", is_blank=True)
    pred = pred.join(blank.unique(), on=["doc", "name"], how="left", maintain_order="left")
    # Of an unrepeated entity the most confident value wins, else the first (VRDU, appendix A.1).
    is_flat = pl.col("component").is_null()
    sure = {"descending": True, "nulls_last": True, "maintain_order": True}
    best = pl.col("number").sort_by(pl.col("confidence").fill_nan(None), **sure).first()
    is_later = pl.col("number") != best.over("doc", "name", is_flat)
    is_once = pl.col("name").is_in(schema.names(UNREPEATED)) & is_flat
    unlabelled, is_blank = pl.col("name").is_in(list(schema.unlabelled)), pl.col("is_blank")
    reasons = {
        "further predicted values of an unrepeated entity": is_once & is_later,
        "predicted values of entities that the gold does not label": unlabelled,
        "predicted values where the gold is blank, not scored": is_blank.fill_null(False),
    }
    notes = pred.select(**{note: reason.sum() for note, reason in reasons.items()})
    gold = gold.with_columns(is_scored=pl.col("status") != "unscored")
    pred = pred.with_columns(is_scored=~pl.any_horizontal(reasons.values()))
    return gold, pred, notes.row(0, named=True)


def _parsed(records: pl.DataFrame, orders: Mapping[str, str]) -> pl.DataFrame:
    """The records of values with the columns of `metrics.entities.LEAVES`."""
    path, records = pl.col("path"), records.drop_nulls("path").with_row_index("number")
    # The parts of a line item share the number of the first of them.
    base = pl.coalesce(path.str.extract("^([^/]*/[^/]*/[^/]*)/"), path)
    steps = pl.col("name", "component").str.replace_all("~1", "/", literal=True)
    return records.with_columns(
        doc="doc_id",
        item=pl.col("number").cast(pl.Int64).min().over("doc_id", base),
        name=path.str.extract("^[^/]*/([^/]*)").fill_null(""),
        component=path.str.extract("^(?:[^/]*/){3}([^/]*)"),
        identity="meta",
        order=pl.col("doc_id").replace_strict(orders, default=None, return_dtype=pl.String),
    ).with_columns(steps.str.replace_all("~0", "~", literal=True))
