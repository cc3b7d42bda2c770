"""Where reviewers of the same values agree, and where they do not."""

from __future__ import annotations

import polars as pl

from formlab import decisions as decided
from formlab.analysis.kappa import rater_agreement

_WORDS = {"review": decided.REVIEW, "label audit": decided.LABEL_AUDIT}


def reviewer_agreement(
    decisions: pl.DataFrame, *, resamples: int = 1000, seed: int = 0
) -> pl.DataFrame:
    """Cohen's kappa of each pair of reviewers, and Fleiss' of all, on what they decided both.

    Parameters
    ----------
    decisions
        As from `formlab.decisions.read` on a folder with a file for each reviewer.
    resamples, seed
        Of the intervals; documents are drawn, whose values are not independent.

    Returns
    -------
    polars.DataFrame
        `about raters kappa ci_low ci_high n_items n_same`: `about` is ``review`` or
        ``label audit``, whose words are not compared with each other; `n_same` counts equal
        decisions.
    """
    tables = []
    for about, words in _WORDS.items():
        review = decisions.filter(pl.col("decision").is_in(words))
        raters = sorted(review["reviewer"].unique())
        if len(raters) < 2:
            continue
        wide = review.select(*decided.KEY, "reviewer", "decision")
        wide = wide.pivot("reviewer", index=decided.KEY, values="decision")
        table = rater_agreement(wide, raters, resamples=resamples, seed=seed)
        tables.append(table.with_columns(about=pl.lit(about)))
    columns = ["about", "raters", "kappa", "ci_low", "ci_high", "n_items", "n_same"]
    if not tables:
        empty = rater_agreement(pl.DataFrame(schema={"doc_id": pl.String}), [])
        tables = [empty.with_columns(about=pl.lit("", pl.String))]
    return pl.concat(tables).select(columns)


def disagreements(decisions: pl.DataFrame) -> pl.DataFrame:
    """What reviewers decided differently, a row each, in the order of the documents.

    Returns
    -------
    polars.DataFrame
        `benchmark split doc_id task path label` and a column for each reviewer with what he or
        she decided: the decision and, of an edit or a label error, the value given. Things that
        only one reviewer decided on are not among them.
    """
    extra = pl.coalesce("value", "parts")
    answer = pl.when(extra.is_null()).then("decision")
    answer = answer.otherwise(pl.format("{}: {}", "decision", extra))
    table = decisions.with_columns(answer=answer)
    many = pl.len().over(decided.KEY) > 1
    differ = pl.struct("decision", "value", "parts").n_unique().over(decided.KEY) > 1
    table = table.filter(many & differ)
    labels = table.group_by(decided.KEY).agg(pl.col("label").first())
    wide = table.select(*decided.KEY, "reviewer", "answer")
    wide = wide.pivot("reviewer", index=decided.KEY, values="answer", sort_columns=True)
    wide = wide.join(labels, on=decided.KEY, nulls_equal=True, how="left", maintain_order="left")
    raters = [name for name in wide.columns if name not in (*decided.KEY, "label")]
    return wide.select(*decided.KEY, "label", *raters).sort(decided.KEY)
