"""What was run and how it went: counts, costs, statuses, worst pages, sizes of trees, causes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from formlab.analysis.comparability import of_gold
from formlab.analysis.finding import asked, in_fields, origin
from formlab.folders import Evaluation
from formlab.metrics.page import ERRORS
from formlab.scoring.causes import CAUSES, STAGE_OF, STAGES, WHAT_TO_TRY, advice
from formlab.tables import STATUSES, USABLE, WHOLE_LEVELS

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
_SPENT = {"tokens": pl.sum_horizontal("tokens_in", "tokens_out", ignore_nulls=False)}


def runs(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """What was run, on what, and how it went.

    Of each evaluation `answered` documents have at least one usable value; `values` of the gold are
    `right`, `wrong` or `missing`; predictions without a gold value are `spurious`. `page_cer` is
    the mean CER of whole pages, null where none was scored. `seconds`, `tokens` and `cost` are sums
    over the `calls` (or pages) that report them, null if none does. `settings` are those of the
    system.
    """
    return pl.DataFrame([_run(evaluation) for evaluation in evaluations], schema=RUNS)


def _run(evaluation: Evaluation) -> dict[str, Any]:
    outcome, cases = pl.col("outcome"), evaluation.scan("cases")
    outcomes = {"right": "match", "wrong": "mismatch", "missing": "missing"}
    counts = {name: of_gold() & (outcome == word) for name, word in outcomes.items()}
    counts |= {"values": of_gold(), "spurious": outcome == "spurious"}
    row = origin(evaluation) | {"mode": evaluation.mode}
    sums = {name: chosen.sum() for name, chosen in counts.items()}
    row |= cases.filter(in_fields()).select(**sums).collect().row(0, named=True)
    usable = cases.filter(pl.col("status").is_in(USABLE)).select(pl.col("doc_id").n_unique())
    row |= {"documents": len(evaluation.document_names), "answered": usable.collect().item()}
    of_pages = pl.col("metric") == "cer", pl.col("level") == "page", pl.col("slice_by").is_null()
    pages = evaluation.scan("scores").filter(*of_pages).select("value").collect()["value"]
    pages = pages.drop_nans().drop_nulls()
    row["page_cer"] = math.fsum(pages) / len(pages) if len(pages) else None
    settings = evaluation.settings.get("system") or {}
    row["settings"] = ", ".join(f"{name} {value}" for name, value in settings.items())
    if evaluation.predictions is not None:
        spent = evaluation.predictions.responses.select("seconds", "cost", **_SPENT)
        row |= {c.name: math.fsum(c.drop_nulls()) for c in spent if c.count()}
        row |= {"calls": spent.height}
    return row


def failures(evaluation: Evaluation) -> dict[str, int]:
    """In how many documents an answer could not be used, by its status, the commonest first."""
    usable = pl.col("status").is_in([*USABLE, "missing", "unscored"])
    counts = evaluation.scan("cases").filter(~usable).group_by("status")
    counts = counts.agg(count=pl.col("doc_id").n_unique())
    counts = counts.sort("count", "status", descending=[True, False])
    return dict(counts.collect().iter_rows())


def answers(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """How many answers of each system and task have each status.

    Returns system, benchmark, task, status, answers, share; the shares of a task add up to 1.
    Systems that were not asked anything add nothing.
    """
    # This metric has one row for each answer, with its status.
    answer = pl.col("metric") == "usable_answers", pl.col("slice_by") == "task"
    columns = ["system", "benchmark", "status", pl.col("slice_value").alias("task")]
    scores = [evaluation.scan("scores") for evaluation in evaluations]
    rows = pl.concat(table.filter(*answer).select(columns).collect() for table in scores)
    key = ["system", "benchmark", "task"]
    counts = rows.group_by(*key, "status").agg(answers=pl.len().cast(pl.Int64))
    share = pl.col("answers") / pl.col("answers").sum().over(key)
    return counts.with_columns(share=share).sort(*key, _place("status", STATUSES))


def _place(column: str, order: Sequence[str]) -> pl.Expr:
    """Where a value stands in `order`; at the end if it does not."""
    places = {value: place for place, value in enumerate(order)}
    return pl.col(column).replace_strict(places, default=len(order), return_dtype=pl.Int64)


def worst_pages(evaluation: Evaluation, *, limit: int | None = 10) -> pl.DataFrame:
    """The pages with the most word errors per gold word, what these errors are, and the fields.

    Returns `doc_id status words wer omitted inserted substituted order`, errors per gold word (the
    four sum to `wer`), and counts of `fields`, of those `wrong`, `missed` (found nowhere) and
    `out_of_order`. No rows where no page's text was scored. A page without gold words has no rate
    and stands last.
    """
    named = {"wer": "wer"} | {name: f"words_{name}" for name in ERRORS}
    of_pages = pl.col("level") == "page", pl.col("metric").is_in(list(named.values()))
    scored = evaluation.scan("scores").filter(*of_pages).collect()
    rates = {name: pl.col("value").filter(metric=metric).first() for name, metric in named.items()}
    words = pl.col("total").filter(metric="wer").first().cast(pl.Int64)
    pages = scored.group_by("doc_id", maintain_order=True).agg(
        pl.col("status").first(), words=words, **rates
    )
    counts = {
        "fields": pl.len(),
        "wrong": (pl.col("outcome") != "match").sum(),
        "missed": (pl.col("outcome") == "missing").sum(),
        "out_of_order": (pl.col("cause") == "wrong_order").sum(),
    }
    fields = asked(evaluation, ["doc_id", "outcome", "cause"]).group_by("doc_id").agg(**counts)
    pages = pages.join(fields, on="doc_id", how="left", maintain_order="left")
    rate = pl.col("wer").fill_nan(None)
    ranked = pages.with_columns(pl.col(*counts).fill_null(0).cast(pl.Int64)).sort(
        rate, "doc_id", descending=[True, False], nulls_last=True
    )
    return ranked if limit is None else ranked.head(limit)


def tree_sizes(evaluation: Evaluation) -> pl.DataFrame:
    """A row per document whose trees were compared, the largest distance first.

    Returns doc_id, system, the columns that say how `distance` was made; of the gold tree `nodes`,
    `groups` (nodes with others below) and `levels`, the root not counted; `given`, the nodes of the
    predicted tree; `distance` and `similarity`, NaN where undefined. Empty where the evaluation
    compares no trees.
    """
    scores = evaluation.scan("scores").filter(pl.col("level") == "document").collect()
    distances = scores.filter(metric="tree_edit_distance").rename({"value": "distance"})
    similar = scores.filter(metric="tree_similarity").select("doc_id", similarity="value")
    columns = ["doc_id", "path", "pred_path", "depth"]
    cases = evaluation.scan("cases").filter(pl.col("task") == "layout").select(columns).collect()
    # In reading order a node that has others below stands right before the first of them.
    groups = (pl.col("depth").shift(-1) > pl.col("depth")).sum()
    gold = cases.filter(pl.col("path").is_not_null()).group_by("doc_id")
    gold = gold.agg(nodes=pl.len(), groups=groups, levels=pl.col("depth").max())
    given = cases.drop_nulls("pred_path").group_by("doc_id").agg(given=pl.len())
    table = distances.join(similar, on="doc_id")
    table = table.join(gold, on="doc_id", how="left").join(given, on="doc_id", how="left")
    sizes = pl.col("nodes", "groups", "levels", "given").fill_null(0).cast(pl.Int64)
    made = ["benchmark", "split", "metric", "level", "mode", "settings"]
    table = table.select("doc_id", "system", sizes, "distance", "similarity", *made)
    return table.sort(-pl.col("distance"), "doc_id")


def wrong_fields(cases: pl.DataFrame) -> pl.DataFrame:
    """The cases of fields that are not right, or that stand out of order in a page's text."""
    wrong = pl.col("outcome").is_in(["mismatch", "missing", "spurious"])
    misplaced = (pl.col("cause") == "wrong_order").fill_null(False)
    return cases.filter(~pl.col("level").is_in(WHOLE_LEVELS), wrong | misplaced)


def top_errors(cases: pl.DataFrame, *, limit: int = 20) -> pl.DataFrame:
    """A sample of the wrong fields: each cause in proportion, of each the least similar fields.

    The commonest cause stands first. Ties go by length of the gold value, longest first, then by
    document and path.
    """
    length = pl.col("gold").fill_null("").str.len_chars().cast(pl.Int64)
    ranked = (
        wrong_fields(cases)
        .sort("similarity", -length, "doc_id", "path", maintain_order=True)
        .with_columns(rank=pl.int_range(pl.len()).over("cause"), count=pl.len().over("cause"))
    )
    # A cause's nth field comes when n - 1/2 of its fields would be due, as Sainte-Laguë has it.
    due, count = (pl.col("rank") + 0.5) / pl.col("count"), -pl.col("count").cast(pl.Int64)
    chosen = ranked.sort(due, count, "cause", maintain_order=True).head(limit)
    return chosen.sort(count, "cause", "rank", nulls_last=True).select(cases.columns)


def cause_counts(cases: pl.DataFrame, by: str | None = None, *, pages: bool = True) -> pl.DataFrame:
    """Cases by cause, in the order of the stages and the most frequent first, with what to try.

    Without `pages` nothing is said of images.

    Examples
    --------
    >>> from formlab import tables
    >>> rows = [{"cause": "digit", "path": f"/{n}", "level": "field"} for n in range(3)]
    >>> cases = tables.table("cases", [*rows, rows[0] | {"cause": "case"}])
    >>> cause_counts(cases).select("stage", "cause", "cases", "share").rows()
    [('characters', 'digit', 3, 0.75), ('form', 'case', 1, 0.25)]
    """
    tips = {name: advice(name, pages=pages) for name in WHAT_TO_TRY}
    wrong = cases.drop_nulls(["cause", "path"]).filter(pl.col("level") != "node")
    slices = [by] if by else []
    counts = wrong.group_by("cause", *slices).agg(cases=pl.len().cast(pl.Int64))
    # A table made elsewhere may have causes of its own.
    words = {"default": None, "return_dtype": pl.String}
    counts = counts.with_columns(
        pl.col("cause").replace_strict(STAGE_OF, **words).alias("stage"),
        pl.col("cause").replace_strict(tips, **words).alias("try"),
        share=pl.col("cases") / pl.col("cases").sum(),
    )
    often = -pl.col("cases").sum().over("cause")
    order = [_place("stage", STAGES), often, _place("cause", CAUSES), "cause", -pl.col("cases")]
    return counts.sort(*order, *slices)
