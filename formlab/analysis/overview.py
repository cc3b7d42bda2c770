"""What was run and what came of it, over all evaluations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from formlab import tables
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
_STATUSES = dict.fromkeys(("benchmark", "split", "system", "status"), pl.String)
_STATUSES |= dict.fromkeys(("cases", "documents"), pl.Int64)


def runs(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """What was run, on what, and how it went.

    Returns
    -------
    polars.DataFrame
        `answered` documents have at least one usable value; `values` of the gold are `right`,
        `wrong` or `missing`; predictions without a gold value are `spurious`. `page_cer` is the
        mean CER of whole pages, null where none was scored. `seconds`, `tokens` and `cost` are
        sums over the `calls` (or pages) that tell them, null where none does. `settings` are
        those of the system.
    """
    return pl.DataFrame([_run(one) for one in evaluations], schema=RUNS)


def _run(evaluation: Evaluation) -> dict[str, Any]:
    cases = evaluation.fields
    asked = cases.filter(pl.col("gold").is_not_null())
    counts = dict(asked["outcome"].value_counts().iter_rows())
    usable = evaluation.cases.filter(pl.col("status").is_in(USABLE))
    pages = tables.only(evaluation.scores, metric="cer", level="page")
    base = {key: getattr(evaluation, key) for key in ("benchmark", "split", "system", "mode")}
    settings = evaluation.settings.get("system") or {}
    return base | {
        "settings": ", ".join(f"{name} {value}" for name, value in settings.items()),
        "documents": evaluation.documents.height,
        "answered": usable["doc_id"].n_unique(),
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
    sums = {values.name: values.sum() for values in spent if values.count()}
    return {"calls": responses.height} | sums


def statuses(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """How many gold values of each evaluation have an answer of each status.

    Returns
    -------
    polars.DataFrame
        `benchmark split system status cases documents`, in the order of `STATUSES`. Runs of one
        name are told apart by their place: ``ocr``, ``ocr (2)``.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    order = {status: place for place, status in enumerate(STATUSES)}
    found = []
    for one in evaluations:
        asked = one.cases.filter(pl.col("gold").is_not_null())
        counts = asked.group_by("status").agg(
            cases=pl.len().cast(pl.Int64), documents=pl.col("doc_id").n_unique().cast(pl.Int64)
        )
        key = one.benchmark, one.split, one.system
        seen[key] += 1
        name = one.system if seen[key] == 1 else f"{one.system} ({seen[key]})"
        ranked = counts.sort(pl.col("status").replace_strict(order, default=len(order)))
        named = ranked.with_columns(
            benchmark=pl.lit(one.benchmark), split=pl.lit(one.split), system=pl.lit(name)
        )
        found.append(named.select(list(_STATUSES)))
    return pl.concat([pl.DataFrame(schema=_STATUSES), *found])


def answers(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """How many answers of each system and task have each status.

    Returns
    -------
    polars.DataFrame
        system, benchmark, task, status, answers, share; the shares of a task add up to 1. Systems
        that were not asked anything add nothing.
    """
    scores = pl.concat([one.scores for one in evaluations], how="diagonal_relaxed")
    # One metric has a row an answer; its status tells what became of it.
    each = scores.filter(pl.col("metric") == "usable_answers", pl.col("slice_by") == "task")
    each = each.with_columns(task=pl.col("slice_value"))
    key = ["system", "benchmark", "task"]
    counts = each.group_by(*key, "status").agg(answers=pl.len().cast(pl.Int64))
    order = {status: place for place, status in enumerate(STATUSES)}
    turn = pl.col("status").replace_strict(order, default=len(order), return_dtype=pl.Int64)
    share = pl.col("answers") / pl.col("answers").sum().over(key)
    return counts.with_columns(share=share).sort(*key, turn)
