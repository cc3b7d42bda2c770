"""Scores of extracted entities: micro and macro averages, and each entity on its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
# The leaves of gold and of predictions.
Sides = tuple[pl.DataFrame, pl.DataFrame]


def score(scoring: Scoring) -> TaskScores:
    """Every document by every entity, all together and as means over entities.

    Slices are by ``entity``, and the ``group`` of unrepeated ones; line items are one entity. The
    cases are single values, parts of line items included, with the ladder's accuracies.
    """
    predictions, schema = scoring.predictions, Schema.of(scoring.corpus)
    *every, notes = leaves(scoring.corpus, predictions, schema, scoring.orders)
    sides = tuple(side.filter("is_scored") for side in every)
    matching = match_entities(*sides, schema.matches, mode=scoring.mode)
    # A document was answered if any of its records was, else the first says why not.
    first = pl.col("status").sort_by(~pl.col("status").is_in(USABLE), maintain_order=True).first()
    status = predictions.records.group_by("doc_id", maintain_order=True).agg(first)
    documents = scoring.documents(dict(status.iter_rows()))
    pairs = _pairs(sides, matching, schema)
    is_forgiven = pl.col("item").is_in(matching.forgiven.tolist())
    unscored = every[1].filter(~pl.col("is_scored") | is_forgiven)
    joined = side_by_side(*every, pairs).join(
        unscored.select("doc_id", pred_path="path", unscored=True),
        on=["doc_id", "pred_path"], how="left", maintain_order="left",
    )  # fmt: skip
    answered = documents.filter(pl.col("status").is_in(USABLE))["doc_id"].implode()
    joined = with_status(joined, predictions.records).with_columns(
        pl.coalesce("kind", pl.col("pred_path").str.split("/").list.last()),
        task=pl.lit("entity"),
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
    not_scored, names = pl.when("unscored").then(pl.lit("unscored")), joined["kind"]
    types = {name: schema.type_of(name) for name in names.drop_nulls().unique()}
    typed = names.replace_strict(types, return_dtype=pl.String) if types else names
    joined = joined.with_columns(
        typed,
        outcome=pl.coalesce(not_scored, "outcome", pl.Series(outcomes, dtype=pl.String)),
        subtype=pl.coalesce("subtype", typed),
    )
    return scoring.judged(joined).with_columns(names)


def _pairs(sides: Sides, matching: Matching, schema: Schema) -> pl.DataFrame:
    """The paths of values that stand beside each other: of matched items, then of all others."""
    pairs = matching.pairs.select("gold", "pred")
    taken = {*pairs["gold"]}, {*pairs["pred"], *matching.forgiven.tolist()}
    rest = [
        side.filter(~pl.col("item").is_in(items)) for side, items in zip(sides, taken, strict=True)
    ]
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
        for side in sides
    )
    place = ["pred", "component", "turn"]
    both = gold.join(pairs, left_on="item", right_on="gold", maintain_order="left")
    other = pred.select(*place[1:], pred="item", pred_path="path")
    both = both.join(other, on=place, nulls_equal=True, maintain_order="left")
    return both.select("path", "pred_path", doc_id="doc")


def _of_documents(
    scoring: Scoring, sides: Sides, matching: Matching, schema: Schema, documents: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    """Of a slice precision, recall and F1; of all entities their micro and macro averages."""
    size, number = documents.height, {name: n for n, name in enumerate(documents["doc_id"])}
    place = pl.col("doc").replace_strict(number, return_dtype=pl.Int64).alias("place")
    first = pl.col("doc", "name").first()
    gold, pred = (
        side.group_by("item", maintain_order=True).agg(first).with_columns(place) for side in sides
    )
    credit = gold.join(matching.pairs, left_on="item", right_on="gold")
    wrong = pred.filter(~pl.col("item").is_in({*matching.pairs["pred"], *matching.forgiven}))
    chosen = {("entity", name): [name] for name in schema.entities}
    chosen |= {("group", "unrepeated"): schema.names(UNREPEATED), (None, None): None}
    rules, of_entities = (RULES, None if scoring.mode == "official" else text.DATE_RULE), []
    for (by, value), names in chosen.items():
        is_of = pl.lit(value=True) if names is None else pl.col("name").is_in(names)
        parts = [side.filter(is_of) for side in (credit, gold, wrong)]
        places = [side["place"].to_numpy() for side in parts]
        # A pair is one prediction that counts, whatever share of it is right.
        paired, expected, extra = (np.bincount(place, minlength=size) for place in places)
        earned = np.bincount(places[0], weights=parts[0]["credit"], minlength=size)
        counts = np.stack([earned, expected, paired + extra], axis=1).astype(float)
        of_entities += [counts] * (by == "entity")
        every = np.hstack([np.zeros((size, 0)), *of_entities])
        options = {"level": "document", "task": "entity", "slice_by": by, "slice_value": value}
        for name in family.SCORES:
            stats = every if name.startswith("macro_") else counts
            if ("_" in name) == (by is None) and stats.shape[1]:
                yield scoring.rows(documents, {name: stats}, *rules, **options)


def leaves(
    corpus: Corpus, predictions: Predictions, schema: Schema, orders: dict[str, str] | None = None
) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, int]]:
    """The leaves of gold and predictions, whether each of them `is_scored`, and notes why not."""
    claims = predictions.records.filter(pl.col("task") != "layout")
    claims = claims.filter(pl.col("status").is_in(USABLE) & pl.col("value").is_not_null())
    if orders is None:
        orders = text.date_orders(corpus.records["doc_id"], corpus.records["value"])
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
    steps = pl.col("path").str.split("/")
    nested = steps.list.len() > 3
    # The parts of a line item share the number of the first of them.
    base = pl.when(nested).then(pl.col("path").str.extract(r"^(/[^/]*/[^/]*)")).otherwise("path")
    written = pl.col("doc_id").replace_strict(orders, default=None, return_dtype=pl.String)
    return (
        records.drop_nulls("path")
        .with_row_index("number")
        .with_columns(
            doc="doc_id",
            item=pl.col("number").cast(pl.Int64).min().over("doc_id", base),
            name=_unescaped(steps.list.get(1, null_on_oob=True).fill_null("")),
            component=pl.when(nested).then(_unescaped(steps.list.get(3, null_on_oob=True))),
            identity="meta",
            order=written,
        )
    )


def _unescaped(step: pl.Expr) -> pl.Expr:
    return step.str.replace_all("~1", "/", literal=True).str.replace_all("~0", "~", literal=True)
