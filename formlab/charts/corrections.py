"""Scores with and without the labels that people found wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from formlab import decisions as decided
from formlab.analysis.label_corrections import corrected_scores
from formlab.charts._parts import note
from formlab.charts._table import Table
from formlab.charts._words import sentences, table
from formlab.charts.show import Caption
from formlab.errors import NotAvailable
from formlab.folders import Evaluation

NONE = (
    "Labels are taken as they are: there are no verdicts on them. Judge them in the notebook on "
    "review, and name the folder of verdicts as the parameter verdicts."
)
_TITLES = {
    "level": "over", "value": "as labelled", "corrected": "without label errors",
    "corrected_low": "low", "corrected_high": "high",
    "n_cases": "cases", "n_corrected": "cases left",
}  # fmt: skip


def label_corrections(
    evaluations: Evaluation | Sequence[Evaluation],
    verdicts: str | Path,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[Caption, Table | Caption] | tuple[Caption]:
    """A caption and a table of the scores as labelled, and without the label errors found.

    `verdicts` is a file or folder of decisions, or empty; the splits of one system are pooled. A
    note instead where there are no verdicts, or nothing can be scored again.
    """
    if not str(verdicts):
        return (note(NONE),)
    several = [evaluations] if isinstance(evaluations, Evaluation) else list(evaluations)
    # A path that somebody named is to be there.
    audit = decided.read(verdicts).filter(pl.col("decision").is_in(list(decided.LABEL_AUDIT)))
    several = [result for result in several if result.benchmark in set(audit["benchmark"])]
    audit = audit.filter(pl.col("benchmark").is_in([result.benchmark for result in several]))
    if not several:
        return (note("There are no verdicts on the labels of what is shown here."),)
    try:
        scores, counts = corrected_scores(several, audit, resamples=resamples, seed=seed)
    except NotAvailable as error:
        return (note(f"Scores without label errors: {error}"),)
    done = "; ".join(f"{name.replace('_', ' ')}: {count:,}" for name, count in counts.items())
    say = "Scores with and without the labels found wrong, all scored again"
    text = sentences(say, done or "No verdict is on a label of these splits")
    settings = f"verdicts={decided.version(audit)}|ci=bootstrap,documents,n={resamples},seed={seed}"
    columns = [name for name in scores.columns if name != "of" or scores["of"].n_unique() > 1]
    caption = Caption(text, label="Table", settings=settings)
    return caption, table(scores, *columns, titles=_TITLES)
