"""Charts and tables that several notebooks show: short calls of the generic ones."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Literal

import altair as alt
import polars as pl

from formlab import metrics
from formlab.analysis.finding import Finding, finding_table, p_text
from formlab.analysis.overview import (
    LEVELS,
    cause_counts,
    rungs,
    worst_pages,
    wrong_fields,
)
from formlab.charts import theme
from formlab.charts._bars import stacked
from formlab.charts._dots import dots
from formlab.charts._lines import lines
from formlab.charts._output import clean, number
from formlab.charts._parts import ELSEWHERE, note
from formlab.charts._table import Table
from formlab.charts._words import caption, figure, how, sentences, span, table
from formlab.charts.published import beside
from formlab.charts.show import Caption
from formlab.folders import Evaluation
from formlab.scoring.causes import STAGES
from formlab.tables import LADDER, USABLE, slice_name

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
    rows = [{"what": clean(name), "count": count} for name, count in evaluation.notes.items()]
    left = evaluation.unreadable.items()
    rows += [{"what": clean(f"left out: {file}: {reason}"), "count": 1} for file, reason in left]
    return table(pl.DataFrame(rows), empty="No irregularity was noted.")


def cause_bars(
    cases: pl.DataFrame, by: str = "kind", *, what: str = "fields", pages: bool = True
) -> alt.TopLevelMixin | Caption:
    """How many cases each cause has, a piece for each value of `by`, in the stage's colour.

    `what` names the cases; without `pages` what to try says nothing of images.

    A note where there is but one cause, which a table says better.
    """
    counts = _causes(cases, by, pages=pages)
    if counts["cause"].n_unique() == 1:
        total = counts["cases"].sum()
        return note(f"One cause explains all {total:,} of them: {counts['cause'][0]}.")
    stages = [stage for stage in STAGES if stage in set(counts["stage"])]
    return stacked(
        counts, "cause", "cases", colour="stage", pieces=by, percent=False, tips=["try"],
        colours={stage: theme.STAGE_COLOURS[stage] for stage in stages},
        titles={"cases": what, "try": "what to try", "stage": "stage"},
        say=f"{what.capitalize()} by cause of error", empty="No field has a cause of error.",
        cases={"cause": "of_cause", by: by},
    )  # fmt: skip


def cause_table(
    cases: pl.DataFrame, *, what: str = "fields", pages: bool = True
) -> Table | Caption:
    """Each cause with its stage, its cases (called `what`), their share, and what to try."""
    return table(
        _causes(cases, pages=pages), "stage", "cause", "cases", "share", "try",
        titles={"cases": what, "try": "what to try"}, empty="No field has a cause of error.",
        cases={"cause": "of_cause"},
    )  # fmt: skip


def _causes(cases: pl.DataFrame, by: str | None = None, *, pages: bool) -> pl.DataFrame:
    """The counts of causes, each with its name in words beside it."""
    counts = cause_counts(cases, by, pages=pages).with_columns(of_cause="cause")
    return counts.with_columns(pl.col("cause").str.replace_all("_", " "))


def worst_caption(
    cases: pl.DataFrame, shown: pl.DataFrame, *, say: str = "", what: str = "fields"
) -> Caption:
    """How many of the wrong `what` among `cases` a gallery shows, by cause.

    `shown` is what `analysis.top_errors` chose from them; `say` what else is to be seen there.
    """
    wrong = wrong_fields(cases)
    if not wrong.height:
        return note(f"None of the {what} is wrong.")
    counts = wrong["cause"].value_counts().sort("count", "cause", descending=[True, False])
    drawn = dict(shown["cause"].value_counts().iter_rows())
    by_cause = "; ".join(
        f"{(cause or 'no cause named').replace('_', ' ')} {drawn.get(cause, 0)} of {count:,}"
        for cause, count in counts.iter_rows()
    )
    misplaced = (wrong["outcome"] == "match").any()
    names = f"{what} that are wrong or out of order" if misplaced else f"wrong {what}"
    sample = (
        f"A sample of {shown.height:,} of {wrong.height:,} {names}, each cause in proportion "
        f"and of each the least similar: {by_cause}"
    )
    return caption(say, more=sentences(sample))


def scores_table(
    summary: pl.DataFrame, *, level: str | None = None, by: str | None = None
) -> Table | Caption:
    """Every score over the whole of a level, or of each slice: pooled, mean, interval, counts.

    Without `level` the rows of the summary are taken as they are. `by` is the column that names
    the rows beside the metric, such as ``slice_value``.
    """
    if level is not None:
        summary = summary.filter(pl.col("slice_by").is_null(), pl.col("level") == level)
    key = ["metric", *([by] if by else [])]
    if by:
        summary = summary.with_columns(pl.col(by).fill_null("all"))
    means = summary.filter(average="macro").select(*key, macro="value")
    shown = summary.filter(average="pooled").join(
        means, on=key, how="left", nulls_equal=True, maintain_order="left"
    )
    # What few scores have is a column only where one of them has it.
    some = [n for n in ("n_reader", "n_ambiguous") if (shown[n].fill_null(0) > 0).any()]
    columns = ("value", "ci_low", "ci_high", "macro", "n_docs", "n_cases", "n_missing")
    titles = {"value": "pooled", "macro": "mean of documents", "n_cases": "cases"}
    titles |= {"slice_value": "slice"}
    return table(
        shown, *key[::-1], *columns, "n_undefined", *some, titles=titles, sparse=True, rows=5_000
    )


def page_error_bars(pages: pl.DataFrame) -> alt.TopLevelMixin | Caption:
    """The word errors of pages by what became of the words; `pages` from `analysis.worst_pages`."""
    hues = [theme.OUTCOME_COLOURS[name] for name in ("missing", "spurious", "mismatch")]
    names = ("omitted", "inserted", "substituted", "out of order")
    long = pages.rename({"order": "out of order"}).unpivot(
        names, index=["doc_id", "words", "wer"], variable_name="error", value_name="rate"
    )
    return stacked(
        long, "doc_id", "rate", colour="error", percent=False, tips=["wer", "words"],
        colours=dict(zip(names, [*hues, theme.SYSTEM_COLOURS[5]], strict=True)),
        titles={"rate": "word errors per word of the gold text", "doc_id": "page", "wer": "WER",
                "words": "gold words"},
        say="Word errors of pages", empty="No text of whole pages was scored.",
    )  # fmt: skip


def each_page_figures(evaluations: Sequence[Evaluation], *, limit: int = 5) -> list[object]:
    """`page_error_bars` of every evaluation that has texts of pages, each under its caption."""
    figures: list[object] = []
    for result in evaluations:
        pages = worst_pages(result, limit=limit)
        # Where no page has a usable text, its status says more than its errors.
        if pages["status"].is_in(USABLE).any():
            name = f"{clean(result.system, limit=80)} on {result.benchmark}:{result.split}"
            say = f"Pages as read by {name}, the most word errors for each word first."
            figures += figure(caption(say), page_error_bars(pages))
    return figures or [note("No text of whole pages was scored.")]


def ladder_lines(summary: pl.DataFrame, *, by: str) -> alt.TopLevelMixin | Caption:
    """Accuracy on each rung of the strictness ladder, a line per slice of `by`.

    Lines that cross mean that the ranking depends on how strictly one judges.
    """
    return lines(
        rungs(summary, by), "rung", colour="slice_value", order=LADDER, percent=True,
        domain=[0, 1], say=f"Accuracy from strict to lenient by {by}",
        titles={"rung": "strictness, from strict to lenient", "value": "share of fields",
                "slice_value": by.replace("_", " ")},
    )  # fmt: skip


def slice_caption(
    slices: pl.DataFrame, *, say: str, label: Literal["Figure", "Table"] = "Figure"
) -> Caption:
    """A caption with the first slice of `analysis.find_slices`: its value, interval, n and p."""
    if not slices.height:
        return Caption(f"{say} There is none.", label=label)
    row = slices.row(0, named=True)
    first = (
        f"The first is {slice_name(row)} of {row['system']}, with {row['value']:.3f} against "
        f"{row['rest']:.3f} elsewhere ({span(row)}; {p_text(row['p_adjusted'])}, adjusted for "
        f"{row['n_tested']:,} slices)"
    )
    return Caption(sentences(say, first), label=label, settings=how(row))


def slice_figures(slices: pl.DataFrame, *, limit: int = 15) -> list[object]:
    """Chart and table of weak slices with their captions, or one note where there is none.

    `slices` are from `analysis.find_slices`; the chart shows `limit` of them at the most.
    """
    if not slices.height:
        return [note(
            "No slice with enough fields in enough documents is significantly worse than the rest. "
            "That does not prove that there is none: tests on few documents have little power."
        )]  # fmt: skip
    names = pl.Series("slice", [slice_name(row) for row in slices.iter_rows(named=True)])
    named = slices.with_columns(names, label=pl.format("{}: {}", "system", names))
    metric = slices["metric"][0]
    title = "fields right" if metric == "outcome" else metrics.title(metric)
    below = (
        f"Out of {slices['n_tested'].max():,} slices tested. Excess is the difference times the "
        "number of fields. These slices were selected for being bad: expect smaller differences "
        "on new documents."
    )
    return [
        slice_caption(slices, say="Slices significantly worse than all other fields."),
        dots(
            named.head(limit), colour="system", tick="rest", tips=["difference", "p_adjusted"],
            titles={"value": f"{title}; the tick is all other fields"}, say="Weak slices",
        ),
        slice_caption(slices, say="The same with counts, intervals and tests.", label="Table"),
        table(
            named, "system", "slice", "n_cases", "n_docs", "value", "ci_low", "ci_high", "rest",
            "difference", "difference_low", "difference_high", "p_adjusted", "excess",
            titles={"rest": "all others", "difference_low": "low ", "difference_high": "high "},
            digits={"excess": 1}, note_below=below,
        ),
    ]  # fmt: skip


def findings_table(findings: Sequence[Finding], reports: Mapping[str, str]) -> Table | Caption:
    """The findings with effect, interval, n and p, each with the report that shows more of it.

    `reports` names the notebook that looks closer at each benchmark, with ``--`` at its end if it
    shows another one where it is given no evaluation; under ``systems`` that of comparisons. A
    finding links to the report of its own evaluations where one was built in the same folder.
    """
    rows = finding_table(findings)
    effects, pages = [], []
    for finding, row in zip(findings, rows.iter_rows(named=True), strict=True):
        effect, *ends = finding.numbers
        interval = f" ({' to '.join(map(number, ends))})"
        effects.append(number(effect) + interval * (not math.isnan(row["ci_low"])))
        pages.append(_report_of(finding, reports))
    shown = rows.select(
        "finding", pl.format("{} on {}:{}", "system", "benchmark", "split").alias("where"),
        pl.Series("effect", effects, dtype=pl.String), "n_cases", "n_docs",
        pl.col("p_adjusted").fill_nan(None), pl.Series("report", pages, dtype=pl.String),
    )  # fmt: skip
    below = "Effect: the share of gold values, or the difference. A finding without p is a count."
    if shown["p_adjusted"].count():
        below += " p is adjusted for the tests of its kind."
    return table(
        shown, titles={"effect": "effect (95 % interval)", "n_cases": "values"}, sparse=True,
        links=["report"], note_below=below,
        empty="There is no finding: see what was run for the counts.",
    )  # fmt: skip


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
    if not named:
        named = [n for n in (notebook,) if n in built and not built[n]]
    return f"{min(named, key=lambda n: (len(built[n]), n))}.html" if named else None


def headline_table(heads: pl.DataFrame) -> Table | Caption:
    """The scores of `analysis.headlines` in figures, with what each is taken over."""
    return table(
        heads.with_columns(of=pl.format("{} on {}:{}", "system", "benchmark", "split")),
        "level", "of", "metric", "over", "tasks", "value", "ci_low", "ci_high", "n_docs",
        "n_cases", titles={"n_cases": "cases", "of": "evaluation"},
        note_below="Values of different metrics do not compare.",
        empty="Nothing was scored on any level.",
    )  # fmt: skip


def level_dots(
    heads: pl.DataFrame, printed: pl.DataFrame | None = None
) -> alt.VConcatChart | Caption:
    """A panel for each metric and what it is taken over, one below the other, by level.

    `heads` are from `analysis.headlines`; scores share a panel only if they may share an axis.
    `printed` are published figures, with the columns that say where they belong.
    """
    order = {level: place for place, level in enumerate(LEVELS)}
    rows = heads.sort(pl.col("level").replace_strict(order), "panel", maintain_order=True)
    panels = []
    for panel in rows.partition_by("panel", maintain_order=True):
        first = panel.row(0, named=True)
        points = beside(panel, panel.clear(), ELSEWHERE)
        if printed is not None:
            key = ["level", "benchmark", "metric", "mode"]
            points = beside(panel, printed.join(panel, on=key, how="semi"), ELSEWHERE)
        entry = metrics.get(first["metric"])
        points = points.sort("value", "system", descending=[entry.direction == "up", False])
        title = f"{entry.title}, over {first['over']}"
        panels.append(dots(
            points, "system", kind="kind", metric=first["metric"], n=None, above=True,
            titles={"value": title, "n_cases": "cases"}, say=f"{first['level']}, {title}",
            width=theme.WIDTH - 180,
        ))  # fmt: skip
    if not panels:
        return note("Nothing was scored.")
    text = "; ".join(str(panel.description) for panel in panels)
    return alt.vconcat(*panels, description=text).resolve_scale(
        x="independent", fill="independent", stroke="independent"
    )
