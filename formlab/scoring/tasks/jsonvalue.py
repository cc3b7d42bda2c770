"""JSON accuracy of whole forms, where the gold is one JSON object at the path ``/``.

A system's JSON is its record of task `value` at ``/``.
"""

from __future__ import annotations

import polars as pl

from formlab.metrics.counts import json_tallies
from formlab.scoring.align import with_status
from formlab.scoring.tasks._kit import Scoring, TaskScores, used


def score(scoring: Scoring) -> TaskScores:
    """JSON accuracy of every document.

    A document without a usable JSON has lost every leaf. Mode `official` forgives a null that was
    filled in, as the published tool does.
    """
    sides = scoring.corpus.records, scoring.predictions.records
    gold, answers = (records.filter(task="value", path="/") for records in sides)
    answers = answers.select("doc_id", pred="value", pred_status="status")
    both = gold.drop("status").join(answers, on="doc_id", how="left", maintain_order="left")
    both = with_status(both, sides[1])
    official = scoring.mode == "official"
    parts = {"json_accuracy": json_tallies(both["value"], used(both), official=official)}
    same = {"system": pl.lit(scoring.predictions.system), "path": pl.lit(None, pl.String)}
    rows = both.with_columns(**same)
    return TaskScores(scores=scoring.rows(rows, parts, "lists=any-order", level="document"))
