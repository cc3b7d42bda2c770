"""All evaluations: what was run, its counts and costs, and the status of answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from formlab import tables
from formlab.analysis.comparability import of_gold
from formlab.analysis.finding import in_fields, origin
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
    documents = evaluation.gathered(_by_document)
    counts = documents.drop("doc_id", "answered").sum().row(0, named=True)
    pages = evaluation.gathered(_pages)["value"].drop_nans().drop_nulls()
    settings = evaluation.settings.get("system") or {}
    return origin(evaluation) | {
        "mode": evaluation.mode,
        "settings": ", ".join(f"{name} {value}" for name, value in settings.items()),
        "documents": sum(part.documents.height for part in evaluation.parts()),
        "answered": documents.filter("answered")["doc_id"].n_unique(),
        **counts,
        "page_cer": math.fsum(pages) / len(pages) if len(pages) else None,
    } | _spent(evaluation)  # fmt: skip


def _by_document(part: Evaluation) -> pl.DataFrame:
    """Of each document how its values are read, and whether it has any usable answer."""
    field, asked = in_fields().fill_null(False), of_gold()
    outcomes = {"right": "match", "wrong": "mismatch", "missing": "missing"}
    return part.scan("cases").group_by("doc_id").agg(
        (field & asked).sum().alias("values"),
        *((field & asked & (pl.col("outcome") == of)).sum().alias(n) for n, of in outcomes.items()),
        (field & (pl.col("outcome") == "spurious")).sum().alias("spurious"),
        answered=pl.col("status").is_in(USABLE).any(),
    ).collect()  # fmt: skip


def _pages(part: Evaluation) -> pl.DataFrame:
    scores = part.scan("scores").filter(pl.col("metric") == "cer", pl.col("level") == "page")
    return tables.only(scores.collect(), metric="cer", level="page")


def _spent(evaluation: Evaluation) -> dict[str, Any]:
    tokens = pl.sum_horizontal("tokens_in", "tokens_out", ignore_nulls=False)
    spent = []
    for part in evaluation.parts():
        if part.predictions is None:
            return {}
        spent.append(part.predictions.responses.select("seconds", "cost", tokens=tokens))
    sums = {each.name: each.drop_nulls() for each in pl.concat(spent)}
    known = {name: math.fsum(values) for name, values in sums.items() if len(values)}
    known |= {"tokens": int(known["tokens"])} if "tokens" in known else {}
    return {"calls": sum(each.height for each in spent)} | known


def failures(evaluation: Evaluation) -> dict[str, int]:
    """In how many documents an answer could not be used, by its status, the commonest first."""
    unusable = ~pl.col("status").is_in([*USABLE, "missing", "unscored"])
    cases = evaluation.gathered(
        lambda s: s.scan("cases").filter(unusable).select("status", "doc_id").unique().collect(),
    )
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
    # This metric has one row for each answer, with its status.
    answer = pl.col("metric") == "usable_answers", pl.col("slice_by") == "task"
    columns = ["system", "benchmark", "status", pl.col("slice_value").alias("task")]
    rows = pl.concat(
        [
            each.gathered(lambda s: s.scan("scores").filter(*answer).select(columns).collect())
            for each in evaluations
        ],
        how="diagonal_relaxed",
    )
    key = ["system", "benchmark", "task"]
    counts = rows.group_by(*key, "status").agg(answers=pl.len().cast(pl.Int64))
    order = {status: rank for rank, status in enumerate(STATUSES)}
    rank = pl.col("status").replace_strict(order, default=len(order), return_dtype=pl.Int64)
    share = pl.col("answers") / pl.col("answers").sum().over(key)
    return counts.with_columns(share=share).sort(*key, rank)
