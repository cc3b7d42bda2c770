"""Which pages are read how well: their word errors by kind, and their fields."""

from __future__ import annotations

import polars as pl

from formlab.analysis.finding import asked
from formlab.folders import Evaluation
from formlab.metrics.page import ERRORS

PAGES = {
    "doc_id": pl.String, "status": pl.String, "words": pl.Int64, "wer": pl.Float64,
    **dict.fromkeys(ERRORS, pl.Float64), "fields": pl.Int64, "wrong": pl.Int64,
    "missed": pl.Int64, "out_of_order": pl.Int64,
}  # fmt: skip


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
    ranked = evaluation.gathered(_counted).sort(
        pl.col("wer").fill_nan(None), "doc_id", descending=[True, False], nulls_last=True
    )
    return ranked if limit is None else ranked.head(limit)


def _counted(evaluation: Evaluation) -> pl.DataFrame:
    """The word errors of each page, and how many of its fields are wrong."""
    names = ["wer", *(f"words_{name}" for name in ERRORS)]
    scored = (
        evaluation.scan("scores")
        .filter(pl.col("level") == "page", pl.col("metric").is_in(names))
        .collect()
    )
    pages = scored.group_by("doc_id", maintain_order=True).agg(
        pl.col("status").first(), words=pl.col("total").filter(metric="wer").first(),
        **{
            short: pl.col("value").filter(metric=name).first()
            for name, short in zip(names, ("wer", *ERRORS), strict=True)
        },
    )  # fmt: skip
    fields = asked(evaluation, ["doc_id", "outcome", "cause"]).group_by("doc_id").agg(
        fields=pl.len(), wrong=(pl.col("outcome") != "match").sum(),
        missed=(pl.col("outcome") == "missing").sum(),
        out_of_order=(pl.col("cause") == "wrong_order").sum(),
    )  # fmt: skip
    joined = pages.join(fields, on="doc_id", how="left")
    joined = joined.with_columns(pl.col("fields", "wrong", "missed", "out_of_order").fill_null(0))
    return joined.select(pl.col(name).cast(kind) for name, kind in PAGES.items())
