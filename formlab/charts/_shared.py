"""Charts and tables that several notebooks show: short calls of the generic ones."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from formlab import decisions as decided
from formlab.analysis.finding import Finding, finding_table, has_pages
from formlab.analysis.label_corrections import corrected_scores
from formlab.analysis.overview import cause_counts, rungs, runs
from formlab.charts.escaping import clean
from formlab.charts.marks import lines, stacked
from formlab.charts.words import WORDING, Caption, Table, note, sentences, show, table
from formlab.errors import NotAvailable
from formlab.folders import Evaluation

# The other reports of its folder: a JSON object of name to ``benchmark:split:system`` of each
# evaluation; reports of the project's samples have none.
LINKS_VARIABLE = "FORMLAB_REPORTS"


def status_table(evaluation: Evaluation) -> Table | Caption:
    """Counts of pages, fields, questions … by level, status of the answer and outcome."""
    counts = evaluation.cases.group_by("level", "status", "outcome").agg(
        cases=pl.len(), documents=pl.col("doc_id").n_unique()
    )
    return table(counts.sort("level", "cases", "status", descending=[True, True, False]))


def notes_table(evaluation: Evaluation) -> Table | Caption:
    """Irregularities of the files, with counts, and each file left out with the reason."""
    left_out = [(f"left out: {file}: {why}", 1) for file, why in evaluation.unreadable.items()]
    rows = [(clean(what), count) for what, count in (*evaluation.notes.items(), *left_out)]
    rows = pl.DataFrame(rows, ["what", "count"], orient="row")
    return table(rows, empty="No irregularity was noted.")


def show_answered(
    evaluation: Evaluation, say: str = "What was scored, by status and outcome."
) -> None:
    """Display `status_table` and `notes_table`, each under its caption."""
    show(say, status_table(evaluation))
    show("What was inferred from the files, and what is odd in them.", notes_table(evaluation))


def cause_table(cases: pl.DataFrame, *, pages: bool = True) -> Table | Caption:
    """Each cause with its stage, its cases, their share, and what to try.

    Without `pages` what to try says nothing of images.
    """
    columns = ("stage", "cause", "cases", "share", "try")
    return table(_causes(cases, pages), *columns, **WORDING["causes"])


def _causes(cases: pl.DataFrame, pages: bool) -> pl.DataFrame:
    """The counts of causes, each with its name in words beside it."""
    name = pl.col("cause").str.replace_all("_", " ")
    return cause_counts(cases, pages=pages).with_columns(name, of_cause="cause")


def show_causes(say: str, cases: pl.DataFrame, of: Evaluation, **more: Any) -> None:
    """Display a bar for each cause of cases of the evaluation `of`, and `cause_table`.

    `say` and `more` are the caption of the bars, as of `charts.show`. Where no pages were read, no
    advice is on images.
    """
    look = WORDING["causes"] | WORDING["cause_bars"]
    show(say, stacked(_causes(cases, has_pages(of)), "cause", "cases", **look), **more)
    show("What to try for each cause.", cause_table(cases, pages=has_pages(of)))


def scores_table(summary: pl.DataFrame) -> Table | Caption:
    """The scores of a summary: pooled, mean of documents, interval, counts; slices by name."""
    slices = pl.format("{}: {}", "slice_by", "slice_value").fill_null("all")
    some = pl.col("n_reader", "n_ambiguous").replace(0, None)
    summary = summary.with_columns(some, slice=slices)
    key = ["slice", "metric"] if summary["slice_by"].count() else ["metric"]
    means = summary.filter(average="macro").select(*key, macro="value")
    shown = summary.filter(average="pooled").join(means, on=key, how="left", maintain_order="left")
    columns = "value ci_low ci_high macro n_docs n_cases n_missing n_undefined n_reader n_ambiguous"
    return table(shown, *key, *columns.split(), sparse=True, rows=5_000, **WORDING["scores"])


def show_scores(summary: pl.DataFrame, *, more: str = "") -> None:
    """Display `scores_table` of each level of a summary, under captions that end in `more`."""
    for (level,), rows in summary.group_by("level", maintain_order=True):
        say = f"Every score of the level {level}, of all and by slice."
        show(say, scores_table(rows), more=more)


def runs_table(evaluations: Sequence[Evaluation], **look: Any) -> Table | Caption:
    """Evaluations with their settings, documents and values, and what became of these."""
    columns = "system settings documents answered values right wrong missing"
    return table(runs(evaluations), *columns.split(), **look)


def page_error_bars(pages: pl.DataFrame) -> Any:
    """The word errors of pages by what became of the words; `pages` from `analysis.worst_pages`."""
    look, index = WORDING["page_errors"], ["doc_id", "words", "wer"]
    pages = pages.rename({"order": "out of order"})
    long = pages.unpivot([*look["colours"]], index=index, variable_name="error", value_name="rate")
    return stacked(long, "doc_id", "rate", colour="error", percent=False, **look)


def ladder_lines(summary: pl.DataFrame, *, by: str) -> Any:
    """Accuracy on each rung of the strictness ladder, a line per slice of `by`.

    Lines that cross mean that the ranking depends on how strictly one judges.
    """
    return lines(rungs(summary, by), "rung", colour="slice_value", **WORDING["ladder"])


def findings_table(
    findings: Sequence[Finding], reports: Mapping[str, str] = WORDING["reports"]
) -> Table | Caption:
    """The findings with effect, interval, n and p, each with the report that shows more of it.

    `reports` names the notebook that looks closer at each benchmark, with ``--`` at its end if it
    shows another one where it is given no evaluation; under ``systems`` that of comparisons. It has
    formlab's own if left out. A finding links to the report of its own evaluations where one was
    built in the same folder.
    """
    pages = pl.Series("report", [_report_of(one, reports) for one in findings], pl.String)
    shown = finding_table(findings).with_columns(pages, pl.col("p_adjusted").fill_nan(None))
    columns = "finding effect ci_low ci_high n_docs n_cases p_adjusted report"
    return table(shown, *columns.split(), sparse=True, cases={}, **WORDING["findings"])


def _report_of(finding: Finding, reports: Mapping[str, str]) -> str | None:
    """The page of the fewest evaluations that has all of a finding's, else that of the sample."""
    built = json.loads(os.environ.get(LINKS_VARIABLE) or "{}")
    notebook = reports.get("systems" if finding.systems else finding.benchmark, "--")
    own = {
        # Systems of one name are numbered where they are compared.
        f"{finding.benchmark}:{finding.split}:{re.sub(r' [(][0-9]+[)]$', '', name)}"
        for name in finding.systems or (finding.system,)
    }
    stem = notebook.rstrip("-")
    named = [n for n in built if n.partition("--")[0] == stem and own <= set(built[n])]
    named = named or [n for n in (notebook,) if n in built and not built[n]]
    return f"{min(named, key=lambda n: (len(built[n]), n))}.html" if named else None


def label_corrections(
    evaluations: Sequence[Evaluation], verdicts: str | Path, **draws: int
) -> tuple[Caption | Table, ...]:
    """A caption and a table of the scores as labelled, and without the label errors found.

    `verdicts` is a file or folder of decisions, or empty; the splits of one system are pooled. A
    note instead where there are no verdicts, or nothing can be scored again.
    """
    none = (note(WORDING["corrections"]["none"]),)
    if not str(verdicts):
        return none
    # A path that somebody named is to be there.
    audit = decided.read(verdicts).filter(pl.col("decision").is_in(list(decided.LABEL_AUDIT)))
    several = [one for one in evaluations if one.benchmark in audit["benchmark"]]
    if not several:
        return none
    try:
        scores, counts = corrected_scores(several, audit, **draws)
    except NotAvailable as error:
        return (note(f"Scores without label errors: {error}"),)
    done = "; ".join(f"{name.replace('_', ' ')}: {count:,}" for name, count in counts.items())
    text = sentences("Scores with and without the labels found wrong, all scored again", done)
    over = Caption(text, label="Table", settings=f"verdicts={decided.version(audit)}")
    return over, table(scores, titles=WORDING["corrections"]["titles"])
