"""Scores of the answers themselves: whether each could be used, by its status."""

from __future__ import annotations

import polars as pl

from formlab import tables
from formlab.metrics.response_validity import VALIDITY_METRICS, answer_tallies
from formlab.scoring.tasks._kit import made_by, score_rows


def answer_scores(responses: pl.DataFrame, *, mode: str | None = None) -> pl.DataFrame:
    """One row per answer and share: over all tasks, and sliced by task."""
    part = responses.with_columns(path=pl.lit(None, pl.String))
    scores = [tables.table("scores", [])]
    for name, metric in VALIDITY_METRICS.items():
        tallies = answer_tallies(part["status"].to_list(), name)
        for by, values in ((None, None), ("task", part["task"])):
            scores.append(
                score_rows(
                    part, metric, tallies, made_by(), level="answer", mode=mode,
                    slice_by=by, slice_value=values,
                )
            )  # fmt: skip
    return pl.concat(scores)
