"""What rules, a judge model and humans say of the same facts, and how far they agree."""

from __future__ import annotations

import itertools
from typing import Any

import polars as pl

from formlab.analysis.audit import RATERS, Audit
from formlab.charts._dots import dots
from formlab.charts._parts import OWN, PUBLISHED, note
from formlab.charts._words import caption, table
from formlab.charts.published import cited
from formlab.charts.show import Caption

NONE = (
    "No judge was asked. The command formlab facts judge fincriticaled --model MODEL "
    "--predictions RUN --out FILE asks one; with FILE as the parameter judge its answers stand "
    "beside the rules."
)
# The judge's scores and what each is taken from.
_SCORES = {
    "judge_structure": "structure, of 2", "judge_entity_accuracy": "facts right",
    "judge_entity_score": "entity score, of 5", "judge_overall": "overall score, of 10",
    "judge_overall_stated": "overall score as stated, of 10",
}  # fmt: skip
_MODES = {"fixed": "verdicts verified", "official": "as the judge says"}
_LONG = 80


def audit_figures(audit: Audit, printed: pl.DataFrame) -> tuple[Any, ...]:
    """The judge's scores, how far raters agree, and where the judge was overruled.

    `audit` is from `analysis.open_audit`, `printed` a published table with the columns annotator,
    other and kappa. A note, if no judge was asked.
    """
    facts = audit.table
    if not facts.height:
        return (note(NONE),)
    scores = audit.summary.filter(pl.col("metric").is_in(list(_SCORES))).with_columns(
        score=pl.col("metric").replace(_SCORES), counts=pl.col("mode").replace(_MODES),
        kind=pl.when(slice_by="kind").then("slice_value").otherwise(pl.lit("all")),
    ).sort(pl.col("metric").cast(pl.Enum([*_SCORES])), "kind", "mode")  # fmt: skip
    raters = facts.select(RATERS).unpivot(variable_name="rater", value_name="right")
    raters = raters.group_by("rater", maintain_order=True).agg(
        pl.col("right").count().alias("facts judged"), pl.col("right").mean().alias("called right")
    )
    # A stretch of a page may stand in for a fact: a table shows its beginning.
    long = pl.col("gold", "reason")
    overruled = facts.filter(pl.col("override").is_not_null()).with_columns(
        pl.when(long.str.len_chars() > _LONG).then(long.str.head(_LONG) + "…").otherwise(long)
    )
    odd = pl.DataFrame(list(audit.notes.items()), schema=["what", "count"], orient="row")
    counts = f"n = {facts.height:,} facts on {facts['doc_id'].n_unique():,} pages"
    say = f"Agreement of raters beyond chance, {counts}; intervals by drawing pages."
    kappas = dots(
        beside_published(audit.kappas, printed), "raters", "kappa", kind="kind", n=None,
        tips=["n_items"], titles={"kappa": "kappa: agreement beyond chance"}, say="Kappa",
        empty="Kappa is undefined: every rater always gives the same answer.",
    )  # fmt: skip
    titles = {"path": "fact", "override": "overruled by", "reason": "why"}
    columns = ["doc_id", "path", "gold", "judge", "final", "override", "reason"]
    none = "The judge was overruled on no fact."
    shown = {
        "Scores of pages by the judge. Overall is twice the score of structure plus five times "
        "the share of facts right; the judge's own stands beside it.":
            table(scores, "score", "kind", "counts", "value", "ci_low", "ci_high", "n_docs",
                  "n_undefined"),
        "What the judge says of each page.": table(audit.pages, rows=50, sparse=True),
        "What each rater calls right.": table(raters),
        "Facts on which the judge was overruled, and why.":
            table(overruled, *columns, rows=50, titles=titles, empty=none),
        "Irregularities in the judge's answers.": table(odd, empty="There were none."),
    }  # fmt: skip
    captioned = [(Caption(say, label="Table"), rows) for say, rows in shown.items()]
    return (caption(say, more=cited(printed)), kappas, *itertools.chain(*captioned))


def beside_published(kappas: pl.DataFrame, printed: pl.DataFrame) -> pl.DataFrame:
    """Kappas measured here and those of the paper's annotators, in one table."""
    own = kappas.with_columns(kind=pl.lit(OWN)).filter(pl.col("kappa").is_not_nan())
    pair = pl.format("annotators {} × {}", "annotator", "other")
    raters = pl.when(annotator="all").then(pl.lit("all annotators")).otherwise(pair)
    theirs = printed.select(
        raters=raters, kappa=pl.col("kappa").cast(float), kind=pl.lit(PUBLISHED)
    )
    return pl.concat([own, theirs], how="diagonal") if own.height else own
