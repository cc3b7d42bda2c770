"""Scores of extracted entities: micro and macro averages, and each entity on its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from formlab import text
from formlab.benchmarks.vrdu import UNREPEATED, Schema
from formlab.folders import Corpus, Predictions
from formlab.metrics import entities as family
from formlab.metrics.entities import Matching, match_entities
from formlab.scoring.tasks._entity_cases import entity_cases
from formlab.scoring.tasks._kit import TaskScores, made_by, score_rows, text_rows
from formlab.scoring.tasks._leaves import Leaves, leaves
from formlab.scoring.whole import Whole
from formlab.tables import USABLE, Settings

RULES = "unrepeated=most-confident,else-first"


def score(
    corpus: Corpus, predictions: Predictions, *, mode: str, threshold: float,
    kinds: Whole | None = None,
) -> TaskScores:  # fmt: skip
    """Every document by every entity, all together and as means over entities.

    Slices are by ``entity``, and the ``group`` of unrepeated ones; line items are one entity. The
    cases are single values, parts of line items included, with the ladder's accuracies.
    """
    schema = Schema.of(corpus)
    records = leaves(corpus, predictions, schema, dates=kinds.dates if kinds else None)
    matching = match_entities(records.gold, records.pred, schema.matches, mode=mode)
    counts = _counts(corpus, records, matching, schema)
    statuses = _statuses(corpus, predictions)
    cases = entity_cases(
        corpus, predictions, schema, records, matching, mode=mode, threshold=threshold,
        statuses=statuses, words=kinds.words if kinds else None,
    )  # fmt: skip
    date_rule = None if mode == "official" else text.DATE_RULE
    documents = corpus.documents.select("benchmark", "split", "doc_id").with_columns(
        statuses["status"], system=pl.lit(predictions.system), path=pl.lit(None, pl.String)
    )
    scores = [
        *_rows(counts, schema, documents, made_by(RULES, date_rule), mode),
        *text_rows(
            cases.filter(pl.col("outcome") != "unscored"),
            task="entity",
            level="field",
            mode=mode,
            threshold=threshold,
            rules=[RULES],
        ),
    ]
    return TaskScores.of([cases], scores, records.notes)


def _counts(
    corpus: Corpus, records: Leaves, matching: Matching, schema: Schema
) -> dict[tuple[str | None, str | None], np.ndarray]:
    """By slice: credit, gold and predicted items of each document, shape (documents, 3)."""
    documents = {name: index for index, name in enumerate(corpus.documents["doc_id"])}
    gold, pred = (
        side.group_by("item", maintain_order=True)
        .agg(pl.col("doc", "name").first())
        .with_columns(pl.col("doc").replace_strict(documents, return_dtype=pl.Int64).alias("place"))
        for side in (records.gold, records.pred)
    )
    credit = gold.join(matching.pairs, left_on="item", right_on="gold")
    taken = matching.pairs["pred"].implode()
    wrong = pred.filter(~pl.col("item").is_in(taken))
    wrong = wrong.filter(~pl.col("item").is_in(pl.Series(matching.forgiven).implode()))
    single = schema.names(UNREPEATED)
    chosen = {("entity", name): [name] for name in schema.entities}
    chosen |= {("group", "unrepeated"): single, (None, None): None}
    counts = {}
    for of, names in chosen.items():
        parts = [
            side if names is None else side.filter(pl.col("name").is_in(names))
            for side in (credit, gold, wrong)
        ]
        places = [side["place"].to_numpy() for side in parts]
        size = len(documents)
        earned = np.bincount(places[0], weights=parts[0]["credit"], minlength=size)
        # A pair is one prediction that counts, whatever share of it is right.
        paired = np.bincount(places[0], minlength=size)
        expected, extra = (np.bincount(index, minlength=size) for index in places[1:])
        counts[of] = np.stack([earned, expected, paired + extra], axis=1).astype(float)
    return counts


def _statuses(corpus: Corpus, predictions: Predictions) -> pl.DataFrame:
    """What became of each document: ``ok`` if it was answered, else why not."""
    statuses = predictions.records.select("doc_id", "status")
    is_usable = pl.col("status").is_in(USABLE)
    best = statuses.group_by("doc_id", maintain_order=True).agg(
        pl.col("status").sort_by(~is_usable, maintain_order=True).first()
    )
    joined = corpus.documents.select("doc_id").join(
        best, on="doc_id", how="left", maintain_order="left"
    )
    return joined.with_columns(pl.col("status").fill_null("missing"))


def _rows(
    counts: dict[tuple[str | None, str | None], np.ndarray], schema: Schema,
    documents: pl.DataFrame, settings: Settings, mode: str,
) -> Iterator[pl.DataFrame]:  # fmt: skip
    every = np.hstack([
        np.zeros((documents.height, 0)), *(counts["entity", name] for name in schema.entities)
    ])  # fmt: skip
    for (by, value), parts in counts.items():
        # Of a slice precision, recall and F1; of all entities their micro and macro averages.
        for name in family.METRICS:
            if ("_" in name) != (by is None):
                continue
            stats = every if name.startswith("macro_") else parts
            if stats.shape[1]:
                yield score_rows(
                    documents, family.METRICS[name], stats, settings, level="document", mode=mode,
                    task="entity", slice_by=by, slice_value=value,
                )  # fmt: skip
