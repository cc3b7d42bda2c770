"""All evaluations: what was run, its counts and costs, and the status of answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from formlab import tables
from formlab.analysis.finding import origin
from formlab.folders import Evaluation
from formlab.tables import STATUSES, USABLE

RUNS: dict[str, Any] = {
    "benchmark": pl.String, "split": pl.String, "system": pl.String, "mode": pl.String,
    "documents": pl.Int64, "answered": pl.Int64, "values": pl.Int64, "right": pl.Int64,
    "wrong": pl.Int64, "missing": pl.Int64, "spurious": pl.Int64,
    "page_cer": pl.Float64, "calls": pl.Int64,
    "seconds": pl.Float64, "tokens": pl.Int64, "cost": pl.Float64,
    "settings": pl.String,
}  # fmt: skip


def runs(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """What was run, on what, and how it went.

    Returns
    -------
    polars.DataFrame
        `answered` documents have at least one usable value; `values` of the gold are `right`,
        `wrong` or `missing`; predictions without a gold value are `spurious`. `page_cer` is the
        mean CER of whole pages, null where none was scored. `seconds`, `tokens` and `cost` are
        sums over the `calls` (or pages) that report them, null if none does. `settings` are
        those of the system.
    """
    return pl.DataFrame([_run(each) for each in evaluations], schema=RUNS)


def _run(evaluation: Evaluation) -> dict[str, Any]:
    cases = evaluation.fields
    asked = cases.drop_nulls("gold")
    counts = dict(asked["outcome"].value_counts().iter_rows())
    answered = evaluation.cases.filter(pl.col("status").is_in(USABLE))
    pages = tables.only(evaluation.scores, metric="cer", level="page")
    settings = evaluation.settings.get("system") or {}
    return origin(evaluation) | {
        "mode": evaluation.mode,
        "settings": ", ".join(f"{name} {value}" for name, value in settings.items()),
        "documents": evaluation.documents.height,
        "answered": answered["doc_id"].n_unique(),
        "values": asked.height,
        "right": counts.get("match", 0),
        "wrong": counts.get("mismatch", 0),
        "missing": counts.get("missing", 0),
        "spurious": cases.filter(pl.col("outcome") == "spurious").height,
        "page_cer": pages["value"].fill_nan(None).mean(),
    } | _spent(evaluation)  # fmt: skip


def _spent(evaluation: Evaluation) -> dict[str, Any]:
    if evaluation.predictions is None:
        return {}
    responses = evaluation.predictions.responses
    tokens = responses.select(pl.sum_horizontal("tokens_in", "tokens_out", ignore_nulls=False))
    spent = responses.select("seconds", tokens.to_series().alias("tokens"), "cost")
    return {"calls": responses.height} | {each.name: each.sum() for each in spent if each.count()}


def failures(evaluation: Evaluation) -> dict[str, int]:
    """In how many documents an answer could not be used, by its status, the commonest first."""
    cases = evaluation.cases.filter(~pl.col("status").is_in([*USABLE, "missing", "unscored"]))
    counts = cases.group_by("status").agg(count=pl.col("doc_id").n_unique())
    return dict(counts.sort("count", "status", descending=[True, False]).iter_rows())


def answers(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """How many answers of each system and task have each status.

    Returns
    -------
    polars.DataFrame
        system, benchmark, task, status, answers, share; the shares of a task add up to 1. Systems
        that were not asked anything add nothing.
    """
    scores = pl.concat([each.scores for each in evaluations], how="diagonal_relaxed")
    # This metric has one row for each answer, with its status.
    rows = scores.filter(metric="usable_answers", slice_by="task")
    rows = rows.with_columns(task=pl.col("slice_value"))
    key = ["system", "benchmark", "task"]
    counts = rows.group_by(*key, "status").agg(answers=pl.len().cast(pl.Int64))
    order = {status: rank for rank, status in enumerate(STATUSES)}
    rank = pl.col("status").replace_strict(order, default=len(order), return_dtype=pl.Int64)
    share = pl.col("answers") / pl.col("answers").sum().over(key)
    return counts.with_columns(share=share).sort(*key, rank)
