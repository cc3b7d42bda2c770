"""What rules, a judge model and humans say of the same facts, and how far they agree."""

from __future__ import annotations

from typing import Any

import polars as pl

from formlab.analysis.audit import RATERS, Audit
from formlab.charts.marks import dots
from formlab.charts.published import cited
from formlab.charts.words import OWN, PUBLISHED, caption, note, table

NONE = (
    "No judge was asked. The command formlab facts judge fincriticaled --model MODEL "
    "--predictions RUN --out FILE asks one; with FILE as the parameter judge its answers stand "
    "beside the rules."
)
# The judge's scores and what each is taken from.
_SCORES = {"judge_structure": "structure, of 2", "judge_entity_accuracy": "facts right"}
_SCORES |= {"judge_entity_score": "entity score, of 5", "judge_overall": "overall score, of 10"}
_SCORES["judge_overall_stated"] = "overall score as stated, of 10"
_MODES = {"fixed": "verdicts verified", "official": "as the judge says"}


def audit_figures(audit: Audit, printed: pl.DataFrame) -> tuple[Any, ...]:
    """The judge's scores, how far raters agree, and where the judge was overruled.

    `audit` is from `analysis.open_audit`, `printed` a published table with the columns annotator,
    other and kappa. A note, if no judge was asked.
    """
    facts = audit.table
    if not facts.height:
        return (note(NONE),)
    own = audit.kappas.with_columns(kind=pl.lit(OWN)).filter(pl.col("kappa").is_not_nan())
    pair = pl.format("annotators {} × {}", "annotator", "other")
    pair = pl.when(annotator="all").then(pl.lit("all annotators")).otherwise(pair)
    published = printed.select(
        raters=pair, kappa=pl.col("kappa").cast(float), kind=pl.lit(PUBLISHED)
    )
    kappas = pl.concat([own, published], how="diagonal") if own.height else own
    say = f"Agreement of raters beyond chance, n = {facts.height:,} facts on "
    say += f"{facts['doc_id'].n_unique():,} pages; intervals by drawing pages."
    look = {"titles": {"kappa": "kappa: agreement beyond chance"}, "tips": ["n_items"]}
    look["empty"] = "Kappa is undefined: every rater always gives the same answer."
    drawn = dots(kappas, "raters", "kappa", kind="kind", n=None, say="Kappa", **look)
    scores = audit.summary.filter(pl.col("metric").is_in(list(_SCORES)))
    scores = scores.sort(pl.col("metric").cast(pl.Enum([*_SCORES])), "slice_value", "mode").select(
        pl.col("metric").replace(_SCORES).alias("score"),
        kind=pl.when(slice_by="kind").then("slice_value").otherwise(pl.lit("all")),
        counts=pl.col("mode").replace(_MODES),
        **{name: name for name in ("value", "ci_low", "ci_high", "n_docs", "n_undefined")},
    )
    right = facts.select(RATERS).unpivot(variable_name="rater", value_name="facts judged")
    right = right.group_by("rater", maintain_order=True).agg(
        pl.col("facts judged").count(), pl.col("facts judged").mean().alias("called right")
    )
    # A span of a page may stand in for a fact: a table shows its beginning.
    overruled = facts.drop_nulls("override").select(
        "doc_id", "path", pl.col("gold").str.head(80), "judge", "final", "override",
        pl.col("reason").str.head(80),
    )  # fmt: skip
    odd = pl.DataFrame(list(audit.notes.items()), schema=["what", "count"], orient="row")
    titles = {"path": "fact", "override": "overruled by", "reason": "why"}
    tables = {
        "Scores of pages by the judge. Overall is twice the score of structure plus five times "
        "the share of facts right; the judge's own stands beside it.": table(scores),
        "What the judge says of each page.": table(audit.pages, rows=50, sparse=True),
        "What each rater calls right.": table(right),
        "Facts on which the judge was overruled, and why.": table(
            overruled, rows=50, titles=titles, empty="The judge was overruled on no fact."
        ),
        "Irregularities in the judge's answers.": table(odd, empty="There were none."),
    }
    captioned = (p for text, t in tables.items() for p in (caption(text, label="Table"), t))
    return (caption(say, more=cited(printed)), drawn, *captioned)
