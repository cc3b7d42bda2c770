"""What rules, a judge model and humans say of the same facts, and how far they agree."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from formlab.analysis.audit import RATERS
from formlab.analysis.factpages import Audit
from formlab.charts.published import OWN, PUBLISHED, citation, marked
from formlab.charts.show import Caption, Table

NONE = "No judge was asked: give its answers as the parameter judge to see them beside the rules."
_LONG = 80


def judge_figures(audit: Audit, printed: pl.DataFrame) -> tuple[Any, ...]:
    """Agreement and what each rater calls right, with captions; a note if no judge was asked."""
    if not audit.table.height:
        return (Caption(NONE, label="Note"),)
    return (
        agreement_caption(audit, printed),
        kappa_dots(audit, printed),
        Caption("What each rater calls right.", label="Table"),
        rater_table(audit),
    )


def judge_tables(audit: Audit) -> tuple[Any, ...]:
    """Overrides, planted text and oddities, with captions; nothing if no judge was asked."""
    if not audit.table.height:
        return ()
    return (
        Caption("Facts on which the judge was overruled, and why.", label="Table"),
        override_table(audit),
        Caption("Text in predictions that addresses the judge.", label="Table"),
        planted_table(audit),
        Caption("What was odd in the judge's answers.", label="Table"),
        judge_notes(audit),
    )


def rater_table(audit: Audit) -> Table:
    """How many facts each rater judged, and the share that it calls right."""
    rows = [
        {
            "rater": name,
            "facts judged": audit.table[name].count(),
            "called right": audit.table[name].mean(),
        }
        for name in RATERS
    ]
    schema = {"rater": pl.String, "facts judged": pl.Int64, "called right": pl.Float64}
    return Table(pl.DataFrame(rows, schema=schema))


def kappa_dots(audit: Audit, printed: pl.DataFrame) -> alt.LayerChart | Caption:
    """Kappa of each pair of raters with its interval, and of the paper's annotators (open).

    Parameters
    ----------
    audit
        As from `analysis.open_audit`.
    printed
        As from `published`, with columns annotator, other, kappa.
    """
    own = audit.kappas.select("raters", "kappa", "ci_low", "ci_high", "n_items", kind=pl.lit(OWN))
    own = own.filter(pl.col("kappa").is_not_nan())
    if not own.height:
        return Caption("Kappa is undefined: every rater always says the same.", label="Note")
    names = pl.format("annotators {} × {}", "annotator", "other")
    everyone = pl.when(pl.col("annotator") == "all").then(pl.lit("all annotators"))
    theirs = printed.select(
        everyone.otherwise(names).alias("raters"),
        pl.col("kappa").cast(pl.Float64),
        kind=pl.lit(PUBLISHED),
    )
    shown = pl.concat([own, theirs], how="diagonal")
    low = min(0.0, shown["kappa"].min(), shown["ci_low"].fill_nan(None).min() or 0.0)
    title = "kappa: agreement beyond chance"
    x = alt.X("kappa:Q", title=title).scale(domain=[low, 1])
    y = alt.Y("raters:N", title=None, sort=shown["raters"].to_list())
    tip = [
        alt.Tooltip("raters:N"), alt.Tooltip("kind:N"), alt.Tooltip("kappa:Q", format=".3f"),
        alt.Tooltip("ci_low:Q", format=".3f"), alt.Tooltip("ci_high:Q", format=".3f"),
        alt.Tooltip("n_items:Q", title="facts"),
    ]  # fmt: skip
    spans = alt.Chart(shown).mark_rule(strokeWidth=2).transform_filter("isValid(datum.ci_low)")
    spans = spans.encode(alt.X("ci_low:Q", title=title), alt.X2("ci_high:Q"), y)
    dots = (
        alt.Chart(shown).mark_point(opacity=1, strokeWidth=2).encode(x, y, *marked(), tooltip=tip)
    )
    text = "Kappa: " + "; ".join(
        f"{raters} {kappa:.3f} ({kind})"
        for raters, kappa, kind in shown.select("raters", "kappa", "kind").rows()
    )
    return alt.layer(spans, dots).properties(height=alt.Step(24), description=text)


def agreement_caption(audit: Audit, printed: pl.DataFrame) -> Caption:
    """What `kappa_dots` shows: how the intervals came about, and where the paper's kappas stand."""
    say = "Agreement of raters beyond chance; intervals by drawing pages"
    pages = audit.table["doc_id"].n_unique()
    counts = f"n = {audit.table.height:,} facts on {pages:,} pages"
    text = (
        f"{say}, {counts}. Open markers are the paper's own annotators on its pages. "
        f"Published in: {citation(printed)}."
    )
    return Caption(text)


def override_table(audit: Audit, *, rows: int = 50) -> Table | Caption:
    """The facts on which the judge was overruled, by whom and why."""
    shown = audit.table.filter(pl.col("override").is_not_null())
    if not shown.height:
        return Caption("The judge was overruled on no fact.", label="Note")
    columns = ("doc_id", "path", "gold", "judge", "final", "override", "reason")
    titles = {"doc_id": "page", "path": "fact", "override": "overruled by", "reason": "why"}
    # A stretch of a page may stand in for a fact: a table shows its beginning.
    short = shown.select(columns).with_columns(
        pl.when(pl.col(name).str.len_chars() > _LONG)
        .then(pl.col(name).str.head(_LONG) + "…")
        .otherwise(name)
        .alias(name)
        for name in ("gold", "reason")
    )
    return Table(short, titles=titles, rows=rows)


def planted_table(audit: Audit) -> Table | Caption:
    """Pages whose prediction holds text that is written to sway a judge."""
    shown = audit.table.filter(pl.col("planted").is_not_null())
    if not shown.height:
        return Caption("No prediction holds text that addresses its judge.", label="Note")
    called = [pl.col(name).mean().alias(f"right by {name}") for name in ("rule", "judge")]
    counts = shown.group_by("doc_id", "planted", maintain_order=True).agg(
        pl.len().alias("facts"), *called
    )
    return Table(counts, titles={"doc_id": "page", "planted": "text for the judge"})


def judge_notes(audit: Audit) -> Table:
    """What was odd in the judge's answers, with counts: nothing of it was dropped silently."""
    rows = [{"what": name, "count": count} for name, count in audit.notes.items()]
    return Table(pl.DataFrame(rows, schema={"what": pl.String, "count": pl.Int64}))
