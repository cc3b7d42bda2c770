"""Scores of extracted entities: micro and macro averages, and each entity on its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from formlab import files, metrics, tables, text
from formlab.benchmarks.vrdu import UNREPEATED, Schema
from formlab.metrics import entities as family
from formlab.metrics.entities import Matching, match_entities
from formlab.scoring.tasks._entity_cases import entity_cases
from formlab.scoring.tasks._leaves import Leaves, leaves
from formlab.scoring.tasks._spec import Scored
from formlab.tables import LADDER, USABLE, Corpus, Predictions

RULES = "unrepeated=most-confident,else-first"
PER_ENTITY = ("precision", "recall", "f1")
OVERALL = (
    "micro_precision", "micro_recall", "micro_f1", "macro_precision", "macro_recall", "macro_f1",
)  # fmt: skip


def score(corpus: Corpus, predictions: Predictions, *, mode: str, threshold: float) -> Scored:
    """Every document by every entity, all together and as means over entities.

    Slices are ``entity=<name>``, ``group=unrepeated`` and ``all``; line items are one entity. The
    cases are single values, parts of line items included, with the ladder's accuracies.
    """
    schema = Schema.of(corpus)
    found = leaves(corpus, predictions, schema)
    matching = match_entities(found.gold, found.pred, schema.matches, mode=mode)
    counts = _counts(corpus, found, matching, schema)
    statuses = _statuses(corpus, predictions)
    cases = entity_cases(
        corpus, predictions, schema, found, matching, mode=mode, threshold=threshold,
        statuses=statuses,
    )  # fmt: skip
    head = f"{corpus.benchmark}:{corpus.split}|{{metric}}|mode={mode}|{RULES}"
    made = f"formlab={files.version()}"
    how = "" if mode == "official" else f"{text.DATE_RULE}|"
    rows = [
        *_rows(counts, schema, statuses, f"{head}|{how}{made}", mode),
        *_rungs(cases, f"{head}|fuzzy>={threshold:g}|{text.DATE_RULE}|{made}"),
    ]
    base = corpus.documents.select("benchmark", "split").head(1)
    scores = pl.concat(
        [tables.table("scores", []), *(_completed(part, base, predictions.system) for part in rows)]
    )
    return Scored(cases, scores, {name: count for name, count in found.notes.items() if count})


def _counts(
    corpus: Corpus, found: Leaves, matching: Matching, schema: Schema
) -> dict[str, np.ndarray]:
    """By slice: credit, gold and predicted items of each document, shape (documents, 3)."""
    documents = {name: place for place, name in enumerate(corpus.documents["doc_id"])}
    gold, pred = (
        side.group_by("item", maintain_order=True)
        .agg(pl.col("doc", "name").first())
        .with_columns(pl.col("doc").replace_strict(documents, return_dtype=pl.Int64).alias("place"))
        for side in (found.gold, found.pred)
    )
    credit = gold.join(matching.pairs, left_on="item", right_on="gold")
    taken = matching.pairs["pred"].implode()
    wrong = pred.filter(~pl.col("item").is_in(taken))
    wrong = wrong.filter(~pl.col("item").is_in(pl.Series(matching.forgiven).implode()))
    single = schema.names(UNREPEATED)
    chosen = {f"entity={name}": [name] for name in schema.entities}
    chosen |= {"group=unrepeated": single, "all": None}
    counts = {}
    for label, names in chosen.items():
        parts = [
            side if names is None else side.filter(pl.col("name").is_in(names))
            for side in (credit, gold, wrong)
        ]
        places = [part["place"].to_numpy() for part in parts]
        size = len(documents)
        earned = np.bincount(places[0], weights=parts[0]["credit"], minlength=size)
        # A pair is one prediction that counts, whatever share of it is right.
        paired = np.bincount(places[0], minlength=size)
        wanted, extra = (np.bincount(place, minlength=size) for place in places[1:])
        counts[label] = np.stack([earned, wanted, paired + extra], axis=1).astype(float)
    return counts


def _statuses(corpus: Corpus, predictions: Predictions) -> pl.DataFrame:
    """What became of each document: ``ok`` if it was answered, else why not."""
    given = predictions.records.select("doc_id", "status")
    usable = pl.col("status").is_in(USABLE)
    best = given.group_by("doc_id", maintain_order=True).agg(
        pl.col("status").sort_by(~usable, maintain_order=True).first()
    )
    joined = corpus.documents.select("doc_id").join(
        best, on="doc_id", how="left", maintain_order="left"
    )
    return joined.with_columns(pl.col("status").fill_null("missing"))


def _rows(
    counts: dict[str, np.ndarray], schema: Schema, statuses: pl.DataFrame, settings: str, mode: str
) -> Iterator[pl.DataFrame]:
    size = statuses.height
    mark = np.full((size, 1), float(mode == "official"))
    whole = [counts[f"entity={name}"] for name in schema.entities]
    for label, parts in counts.items():
        for name in OVERALL if label == "all" else PER_ENTITY:
            metric = family.METRICS[name]
            stats = np.hstack([*whole, mark] if name.startswith("macro_") else [parts, mark])
            if stats.shape[1] == 1:
                continue
            yield statuses.with_columns(
                pl.lit("document").alias("unit"),
                pl.lit(label).alias("slice"),
                pl.lit(name).alias("metric"),
                pl.Series("stats", stats).arr.to_list(),
                pl.Series("value", metric.score(stats), dtype=pl.Float64),
                pl.lit(settings.replace("{metric}", name)).alias("settings"),
            )


def _rungs(cases: pl.DataFrame, settings: str) -> Iterator[pl.DataFrame]:
    scored = cases.filter(pl.col("outcome") != "unscored")
    for metric in metrics.METRICS.values():
        if metric.view not in LADDER or not scored.height:
            continue
        tallies = np.asarray(metric.tallies(scored[metric.view].to_list()))
        yield scored.select(
            "doc_id", "status", "path",
            pl.lit("field").alias("unit"),
            pl.lit(metric.name).alias("metric"),
            pl.Series("hits", tallies[:, 0], dtype=pl.Float64),
            pl.Series("total", tallies[:, 1], dtype=pl.Float64),
            pl.Series("value", metric.score(tallies), dtype=pl.Float64),
            pl.lit(settings.replace("{metric}", metric.name)).alias("settings"),
        )  # fmt: skip


def _completed(part: pl.DataFrame, base: pl.DataFrame, system: str) -> pl.DataFrame:
    part = part.join(base, how="cross").with_columns(pl.lit(system).alias("system"))
    missing = [name for name in tables.SCORES if name not in part.columns]
    part = part.with_columns(pl.lit(None).alias(name) for name in missing)
    return part.select(pl.col(name).cast(kind) for name, kind in tables.SCORES.items())
