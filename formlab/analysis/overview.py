"""What was run and how it went: counts, costs, status of answers, worst pages, sizes of trees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from formlab import tables
from formlab.analysis.comparability import of_gold
from formlab.analysis.finding import asked, in_fields, origin
from formlab.folders import Evaluation
from formlab.metrics.page import ERRORS
from formlab.tables import STATUSES, USABLE

RUNS: dict[str, Any] = {
    **dict.fromkeys(("benchmark", "split", "system", "mode"), pl.String),
    **dict.fromkeys(("documents", "answered", "values", "right"), pl.Int64),
    **dict.fromkeys(("wrong", "missing", "spurious"), pl.Int64),
    "page_cer": pl.Float64,
    "calls": pl.Int64,
    "seconds": pl.Float64,
    "tokens": pl.Int64,
    "cost": pl.Float64,
    "settings": pl.String,
}
_COUNTS = ("fields", "wrong", "missed", "out_of_order")
_SIZES = ("nodes", "groups", "levels", "given")


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
    return pl.DataFrame([_run(evaluation) for evaluation in evaluations], schema=RUNS)


def _run(evaluation: Evaluation) -> dict[str, Any]:
    documents = evaluation.gathered(_by_document)
    pages = evaluation.gathered(_page_scores)["value"].drop_nans().drop_nulls()
    settings = evaluation.settings.get("system") or {}
    row = origin(evaluation) | documents.drop("doc_id", "answered").sum().row(0, named=True)
    row["mode"] = evaluation.mode
    row["settings"] = ", ".join(f"{name} {value}" for name, value in settings.items())
    row["documents"] = sum(part.documents.height for part in evaluation.parts())
    row["answered"] = documents.filter("answered")["doc_id"].n_unique()
    row["page_cer"] = math.fsum(pages) / len(pages) if len(pages) else None
    answers = [part.predictions for part in evaluation.parts()]
    if all(answer is not None for answer in answers):
        tokens = pl.sum_horizontal("tokens_in", "tokens_out", ignore_nulls=False)
        spent = pl.concat(a.responses.select("seconds", "cost", tokens=tokens) for a in answers)
        sums = {c.name: math.fsum(c.drop_nulls()) for c in spent if c.count()}
        row |= sums | {"calls": spent.height}
        row |= {"tokens": int(sums["tokens"])} if "tokens" in sums else {}
    return row


def _by_document(part: Evaluation) -> pl.DataFrame:
    """Of each document how its values are read, and whether it has any usable answer."""
    field, outcome = in_fields().fill_null(False), pl.col("outcome")
    outcomes = {"right": "match", "wrong": "mismatch", "missing": "missing"}
    counts = {name: of_gold() & (outcome == word) for name, word in outcomes.items()}
    counts |= {"values": of_gold(), "spurious": outcome == "spurious"}
    sums = {name: (field & chosen).sum() for name, chosen in counts.items()}
    answered = pl.col("status").is_in(USABLE).any()
    return part.scan("cases").group_by("doc_id").agg(**sums, answered=answered).collect()


def _page_scores(part: Evaluation) -> pl.DataFrame:
    scores = part.scan("scores").filter(pl.col("metric") == "cer", pl.col("level") == "page")
    return tables.only(scores.collect(), metric="cer", level="page")


def failures(evaluation: Evaluation) -> dict[str, int]:
    """In how many documents an answer could not be used, by its status, the commonest first."""
    unusable = ~pl.col("status").is_in([*USABLE, "missing", "unscored"])
    cases = evaluation.gathered(
        lambda part: part.scan("cases").filter(unusable).select("status", "doc_id").collect()
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
        evaluation.gathered(lambda p: p.scan("scores").filter(*answer).select(columns).collect())
        for evaluation in evaluations
    )
    key = ["system", "benchmark", "task"]
    counts = rows.group_by(*key, "status").agg(answers=pl.len().cast(pl.Int64))
    share = pl.col("answers") / pl.col("answers").sum().over(key)
    order = pl.col("status").replace_strict(
        STATUSES, range(len(STATUSES)), default=len(STATUSES), return_dtype=pl.Int64
    )
    return counts.with_columns(share=share).sort(*key, order)


def worst_pages(evaluation: Evaluation, *, limit: int | None = 10) -> pl.DataFrame:
    """The pages with the most word errors per gold word, what these errors are, and the fields.

    Parameters
    ----------
    evaluation
        As from `formlab.evaluate`.
    limit
        How many pages at the most; None for all.

    Returns
    -------
    polars.DataFrame
        `doc_id status words wer omitted inserted substituted order`, errors per gold word (the
        four sum to `wer`), and counts of `fields`, of those `wrong`, `missed` (found nowhere) and
        `out_of_order`. No rows where no page's text was scored. A page without gold words has no
        rate and stands last.
    """
    ranked = evaluation.gathered(_pages).sort(
        pl.col("wer").fill_nan(None), "doc_id", descending=[True, False], nulls_last=True
    )
    return ranked if limit is None else ranked.head(limit)


def _pages(part: Evaluation) -> pl.DataFrame:
    """The word errors of each page, and how many of its fields are wrong."""
    metrics = {"wer": "wer"} | {name: f"words_{name}" for name in ERRORS}
    chosen = pl.col("level") == "page", pl.col("metric").is_in(list(metrics.values()))
    scored = part.scan("scores").filter(*chosen).collect()
    rates = {name: pl.col("value").filter(metric=of).first() for name, of in metrics.items()}
    words = pl.col("total").filter(metric="wer").first().cast(pl.Int64)
    pages = scored.group_by("doc_id", maintain_order=True).agg(
        pl.col("status").first(), words=words, **rates
    )
    fields = asked(part, ["doc_id", "outcome", "cause"]).group_by("doc_id").agg(
        fields=pl.len(),
        wrong=(pl.col("outcome") != "match").sum(),
        missed=(pl.col("outcome") == "missing").sum(),
        out_of_order=(pl.col("cause") == "wrong_order").sum(),
    )  # fmt: skip
    joined = pages.join(fields, on="doc_id", how="left", maintain_order="left")
    return joined.with_columns(pl.col(_COUNTS).fill_null(0).cast(pl.Int64))


def tree_sizes(evaluation: Evaluation) -> pl.DataFrame:
    """A row per document whose trees were compared, the largest distance first.

    Returns
    -------
    polars.DataFrame
        doc_id, system, the columns that say how `distance` was made; of the gold tree `nodes`,
        `groups` (nodes with others below) and `levels`, the root not counted; `given`, the nodes of
        the predicted tree; `distance` and `similarity`, NaN where undefined. Empty where the
        evaluation compares no trees.
    """
    return evaluation.gathered(_trees).sort(-pl.col("distance"), "doc_id")


def _trees(part: Evaluation) -> pl.DataFrame:
    scores = part.scan("scores").filter(pl.col("level") == "document").collect()
    distances = scores.filter(metric="tree_edit_distance").rename({"value": "distance"})
    similar = scores.filter(metric="tree_similarity").select("doc_id", similarity="value")
    columns = ["doc_id", "path", "pred_path", "depth"]
    cases = part.scan("cases").filter(pl.col("task") == "layout").select(columns).collect()
    gold = cases.filter(pl.col("path").is_not_null()).group_by("doc_id").agg(
        nodes=pl.len(),
        # In reading order a node that has others below stands right before the first of them.
        groups=(pl.col("depth").shift(-1) > pl.col("depth")).sum(),
        levels=pl.col("depth").max(),
    )  # fmt: skip
    given = cases.drop_nulls("pred_path").group_by("doc_id").agg(given=pl.len())
    table = distances.join(similar, on="doc_id")
    table = table.join(gold, on="doc_id", how="left").join(given, on="doc_id", how="left")
    table = table.with_columns(pl.col(_SIZES).fill_null(0).cast(pl.Int64))
    made = ["benchmark", "split", "metric", "level", "mode", "settings"]
    return table.select("doc_id", "system", *_SIZES, "distance", "similarity", *made)
