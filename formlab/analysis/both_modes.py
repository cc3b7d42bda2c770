"""The same answers scored in both modes, ``official`` and ``fixed``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import tables
from formlab.analysis import mode_changes
from formlab.analysis.few_shot import TASKS, corpus_name, said, schema_of
from formlab.metrics import METRICS
from formlab.scoring.tasks import entities
from formlab.tables import Evaluation

MODES = ("official", "fixed")
SCORES = ("micro_f1", "macro_f1")
CHANGES: dict[str, Any] = {"corpus": pl.String, "split": pl.String} | mode_changes.COLUMNS
COMPARED: dict[str, Any] = {
    "corpus": pl.String, "task": pl.Enum(TASKS), "train_size": pl.Int64, "split": pl.String,
    "metric": pl.String, "official": pl.Float64, "fixed": pl.Float64, "difference": pl.Float64,
    "benchmark": pl.String, "level": pl.String, "mode": pl.String, "settings": tables.SETTINGS,
}  # fmt: skip


def changed_entities(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """The entities that earn another score in the other mode, with the reason.

    Returns
    -------
    polars.DataFrame
        The columns of `formlab.analysis.mode_changes.mode_changes`, and `corpus` and `split`.
    """
    changes = [pl.DataFrame(schema=CHANGES)]
    for one in _scorable(evaluations):
        named = pl.lit(corpus_name(one)).alias("corpus"), pl.lit(one.split).alias("split")
        changed = mode_changes.mode_changes(one.corpus, one.predictions)
        changes.append(changed.select(*named, pl.all()))
    return pl.concat(changes)


def both_modes(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """Micro and macro F1 of each split in both modes.

    Returns
    -------
    polars.DataFrame
        The columns of `COMPARED`. `difference` is fixed minus official.
    """
    rows = [row for one in _scorable(evaluations) for row in _compared(one)]
    return pl.DataFrame(rows, schema=COMPARED)


def _scorable(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Those of entities that hold what they scored."""
    kept = [one for one in evaluations if one.corpus is not None and one.predictions is not None]
    return [one for one in kept if schema_of(one) is not None]


def _compared(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    corpus, predictions = evaluation.corpus, evaluation.predictions
    known = pl.col("doc_id").is_in(corpus.documents["doc_id"].implode())
    predictions = dataclasses.replace(predictions, records=predictions.records.filter(known))
    threshold = evaluation.settings.get("threshold", 0.8)
    scored = {
        mode: entities.score(corpus, predictions, mode=mode, threshold=threshold).scores
        for mode in MODES
    }
    info = said(evaluation)
    for metric in SCORES:
        values = {mode: _value(scores, metric) for mode, scores in scored.items()}
        first = tables.only(evaluation.scores, metric=metric).row(0, named=True)
        yield values | {
            "corpus": corpus_name(evaluation), "task": info.get("task") or TASKS[-1],
            "train_size": info.get("train_size"), "split": evaluation.split, "metric": metric,
            "difference": values["fixed"] - values["official"],
            "mode": "both", **{name: first[name] for name in ("benchmark", "level", "settings")},
        }  # fmt: skip


def _value(scores: pl.DataFrame, metric: str) -> float:
    rows = tables.only(scores, metric=metric)
    score = METRICS[metric].score_in(rows["mode"].first())
    return float(score(np.array(rows["stats"].to_list()).sum(axis=0)))
