"""JSON accuracy of whole forms, where the gold is one JSON object at the path ``/``.

A system's JSON is its record of task `value` at ``/``.
"""

from __future__ import annotations

import json

import numpy as np
import polars as pl

from formlab.benchmarks.omniai import WHOLE
from formlab.metrics.counts import accuracy_parts, loaded
from formlab.scoring.align import with_status
from formlab.scoring.tasks._kit import Scoring, TaskScores
from formlab.tables import USABLE


def score(scoring: Scoring) -> TaskScores:
    """JSON accuracy of every document.

    A document without a usable JSON has lost every leaf. Mode `official` forgives a null that was
    filled in, as the published tool does.
    """
    records, official = scoring.predictions.records, scoring.mode == "official"
    gold, answers = (r.filter(task="value", path=WHOLE) for r in (scoring.corpus.records, records))
    answers = answers.select("doc_id", pred="value", pred_status="status")
    both = gold.drop("status").join(answers, on="doc_id", how="left", maintain_order="left")
    both = with_status(both, records)
    tallies = []
    for value, answer, status in both.select("value", "pred", "status").iter_rows():
        pred = loaded(answer or "") if status in USABLE else None
        tallies.append(accuracy_parts(json.loads(value), pred, official=official))
    same = {"system": pl.lit(scoring.predictions.system), "path": pl.lit(None, pl.String)}
    parts = {"json_accuracy": np.array(tallies).reshape(-1, 2)}
    rows = both.with_columns(**same)
    return TaskScores(scores=scoring.rows(rows, parts, "lists=any-order", level="document"))
