"""The cases most worth a look."""

from __future__ import annotations

import polars as pl

from formlab.scoring.causes import CAUSES, STAGE_OF, STAGES, WHAT_TO_TRY, advice
from formlab.tables import WHOLE_LEVELS


def top_errors(cases: pl.DataFrame, *, limit: int = 20) -> pl.DataFrame:
    """A sample of the wrong fields: each cause in proportion, of each the least similar fields.

    Places are shared out by the causes' counts (largest remainder), so that the commonest error
    is the one most seen. Ties go by length of the gold value, longest first, then by document
    and path.

    Parameters
    ----------
    cases
        The schema CASES.
    limit
        How many at the most.

    Returns
    -------
    polars.DataFrame
        The schema CASES, the commonest cause first.
    """
    wrong = wrong_fields(cases)
    order = [
        pl.col("similarity"),
        -pl.col("gold").fill_null("").str.len_chars().cast(pl.Int64),
        pl.col("doc_id"),
        pl.col("path"),
    ]
    ranked = wrong.sort(order, maintain_order=True).with_columns(
        pl.int_range(pl.len()).over("cause").alias("rank"), pl.len().over("cause").alias("count")
    )
    # A cause's nth field comes when n - 1/2 of its fields would be due, as Sainte-Laguë has it.
    due = (pl.col("rank") + 0.5) / pl.col("count")
    chosen = ranked.sort(due, -pl.col("count").cast(pl.Int64), "cause", maintain_order=True)
    chosen = chosen.head(limit).sort(
        -pl.col("count").cast(pl.Int64), "cause", "rank", nulls_last=True
    )
    return chosen.select(cases.columns)


def wrong_fields(cases: pl.DataFrame) -> pl.DataFrame:
    """The cases of fields that are not right, or that stand out of order in a page's text."""
    return cases.filter(
        ~pl.col("level").is_in(WHOLE_LEVELS),
        pl.col("outcome").is_in(["mismatch", "missing", "spurious"])
        | (pl.col("cause") == "wrong_order").fill_null(False),
    )


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
    cause = pl.col("cause")
    # A table made elsewhere may have causes of its own.
    counts = wrong.group_by("cause", *([by] if by else [])).agg(cases=pl.len().cast(pl.Int64))
    counts = counts.with_columns(
        cause.replace_strict(STAGE_OF, default=None, return_dtype=pl.String).alias("stage"),
        cause.replace_strict(tips, default=None, return_dtype=pl.String).alias("try"),
        share=pl.col("cases") / pl.col("cases").sum(),
    )
    first, then = (
        pl.col(name).replace_strict(
            {value: rank for rank, value in enumerate(order)},
            default=len(order), return_dtype=pl.Int64,
        )
        for name, order in (("stage", STAGES), ("cause", CAUSES))
    )  # fmt: skip
    return counts.sort(
        first, -pl.col("cases").sum().over("cause"), then, "cause", -pl.col("cases"),
        *([by] if by else []),
    )  # fmt: skip
