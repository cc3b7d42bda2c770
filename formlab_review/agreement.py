"""Where reviewers of the same values agree, and where they do not."""

import itertools
from collections.abc import Iterable, Sequence

import polars as pl

from formlab import decisions as decided
from formlab.analysis.agreement import rater_agreement

NOTHING = "none"
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
    rated = []
    for about, words in _WORDS.items():
        review = decisions.filter(pl.col("decision").is_in(words))
        wide = review.select(*decided.KEY, "reviewer", "decision")
        wide = wide.pivot("reviewer", index=decided.KEY, values="decision")
        rated.append(((about,), wide, sorted(review["reviewer"].unique())))
    return grouped(("about",), rated, resamples=resamples, seed=seed)


def grouped(
    names: Sequence[str], rated: Iterable[tuple[tuple, pl.DataFrame, Sequence[str]]],
    *, resamples: int, seed: int,
) -> pl.DataFrame:  # fmt: skip
    """`rater_agreement` of groups with their ratings and raters, behind the columns `names`."""
    tables = [rater_agreement(pl.DataFrame(schema={"doc_id": pl.String}), [])]
    tables[0] = tables[0].select(*(pl.lit("").alias(name) for name in names), "*")
    for key, table, raters in rated:
        kappas = rater_agreement(table, raters, resamples=resamples, seed=seed)
        columns = [pl.lit(value).alias(name) for name, value in zip(names, key, strict=True)]
        tables.append(kappas.select(*columns, "*"))
    return pl.concat(tables)


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


def fact_agreement(ratings: pl.DataFrame, *, resamples: int = 1000, seed: int = 0) -> pl.DataFrame:
    """Agreement of annotators on facts: Cohen's kappa of each pair and Fleiss' of all, and F1.

    Parameters
    ----------
    ratings
        `doc_id item` and a column for each of m annotators: a label, ``none``, or null where he or
        she did not see the item. As from `formlab_review.annotation.ratings`.
    resamples, seed
        Of the intervals; pages are drawn, whose facts are not independent.

    Returns
    -------
    polars.DataFrame
        `label raters kappa ci_low ci_high n_items n_same f1`: a row for each group of annotators
        over all labels, then one for each label against all else. `f1`, in [0, 1], is the overlap
        of pairs on what either marked, which no item that both left alone can raise; NaN where
        nobody marked anything. Sources: FinCriticalED, appendices B.4 and B.5; for the F1 of
        annotators, Hripcsak and Rothschild, JAMIA 2005.

    Examples
    --------
    >>> marks = {"x": ["Number", "Number", "Date", "none"], "y": ["Number", "Date", "Date", "none"]}
    >>> table = pl.DataFrame({"doc_id": list("aabb"), "item": list("1234")} | marks)
    >>> fact_agreement(table, resamples=0).select("label", "kappa", "f1", "n_same").row(1)
    ('Date', 0.5, 0.6666666666666666, 3)
    """
    raters = [name for name in ratings.columns if name not in ("doc_id", "item")]
    marks = pl.concat([ratings[name].cast(pl.String) for name in raters] or [pl.Series([""])])
    labels = sorted(set(marks.drop_nulls()) - {NOTHING, ""})
    groups = [list(pair) for pair in itertools.combinations(raters, 2)]
    groups += [raters] if len(raters) > 2 else []
    rated, overlaps = [], []
    for label in ("all", *labels):
        compared = labels if label == "all" else [label]
        chosen = ratings.with_columns(
            pl.when(pl.col(name).is_in(compared) | pl.col(name).is_null())
            .then(name)
            .otherwise(pl.lit(NOTHING))
            .alias(name)
            for name in raters
        )
        rated.append(((label,), chosen, raters))
        overlaps += [_overlap(chosen, group) for group in groups]
    table = grouped(("label",), rated, resamples=resamples, seed=seed)
    return table.with_columns(f1=pl.Series(overlaps, dtype=pl.Float64))


def _overlap(ratings: pl.DataFrame, raters: list[str]) -> float:
    """F1 of the marks of all pairs among the raters, pooled."""
    same = marked = 0
    both = ratings.select(raters).drop_nulls()
    for pair in itertools.combinations(raters, 2):
        first, second = (both[name] for name in pair)
        same += 2 * int(((first == second) & (first != NOTHING)).sum())
        marked += int((first != NOTHING).sum() + (second != NOTHING).sum())
    return same / marked if marked else float("nan")
