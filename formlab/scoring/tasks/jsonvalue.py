"""JSON accuracy of whole forms, where the gold is one JSON object at the path ``/``.

A system's JSON is its record of task `value` at ``/``.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl

from formlab.benchmarks.omniai import WHOLE
from formlab.folders import Corpus, Predictions
from formlab.metrics.jsonacc import METRICS, accuracy_parts, loaded
from formlab.scoring.align import with_status
from formlab.scoring.tasks._kit import TaskScores, made_by, score_rows
from formlab.scoring.whole import Whole
from formlab.tables import USABLE


def score(
    corpus: Corpus,
    predictions: Predictions,
    *,
    mode: str,
    threshold: float,  # noqa: ARG001
    kinds: Whole | None = None,  # noqa: ARG001
) -> TaskScores:
    """JSON accuracy of every document.

    A document without a usable JSON has lost every leaf. Mode `official` forgives a null that was
    filled in, as the published tool does.
    """
    gold = corpus.records.filter(pl.col("task") == "value", pl.col("path") == WHOLE)
    answers = predictions.records.filter(pl.col("task") == "value", pl.col("path") == WHOLE)
    answers = answers.select("doc_id", pred="value", pred_status="status")
    both = gold.drop("status").join(answers, on="doc_id", how="left", maintain_order="left")
    both = with_status(both, predictions.records).with_columns(
        system=pl.lit(predictions.system), path=pl.lit(None, pl.String)
    )
    pairs = [_tally(row, official=mode == "official") for row in both.to_dicts()]
    tallies, settings = np.array(pairs).reshape(-1, 2), made_by("lists=any-order")
    metric = METRICS["json_accuracy"]
    scores = score_rows(both, metric, tallies, settings, level="document", mode=mode)
    return TaskScores(scores=scores)


def _tally(row: dict[str, Any], *, official: bool) -> tuple[float, float]:
    pred = loaded(row["pred"] or "") if row["status"] in USABLE else None
    return accuracy_parts(json.loads(row["value"]), pred, official=official)
