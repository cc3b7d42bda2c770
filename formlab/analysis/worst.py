"""The cases most worth a look."""

from __future__ import annotations

import polars as pl


def worst(cases: pl.DataFrame, *, limit: int = 20) -> pl.DataFrame:
    """The wrong fields that differ most from their gold, worst first.

    Fields that were not found at all come after those that were read wrongly: a wrong reading
    shows more. Ties go by length of the gold value, longest first, then by document and path.

    Parameters
    ----------
    cases
        The schema CASES.
    limit
        How many at the most.
    """
    wrong = cases.filter(
        pl.col("path").is_not_null(),
        pl.col("task") != "layout",
        pl.col("outcome").is_in(["mismatch", "missing", "spurious"]),
    )
    order = [
        pl.col("outcome") == "missing",
        pl.col("similarity"),
        -pl.col("gold").fill_null("").str.len_chars().cast(pl.Int64),
        pl.col("doc_id"),
        pl.col("path"),
    ]
    return wrong.sort(order).head(limit)
