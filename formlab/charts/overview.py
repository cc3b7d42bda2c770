"""All evaluations on one page: what was run, what became of it, and the findings."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from formlab.analysis.finding import Finding, finding_table
from formlab.analysis.finding_pairs import asked
from formlab.charts import theme
from formlab.charts._output import number
from formlab.charts._words import p_words
from formlab.charts.show import Caption, Card, Cards, Table
from formlab.tables import STATUSES, Evaluation

# What a report is told of the others of its folder: a JSON object of name to title.
LINKS_VARIABLE = "FORMLAB_REPORTS"


# More runs than this are counted on the cards and shown in the table.
_CARDS = 6


def overview_cards(runs: pl.DataFrame, findings: Sequence[Finding]) -> Cards:
    """How much was run, what came of each run, and the finding that is most worth a look.

    Evaluations ask for different things, or for the same twice: nothing is summed over them.

    Parameters
    ----------
    runs, findings
        As from `analysis.runs` and `analysis.findings`.
    """
    cards = [Card("evaluations", runs.height, _benchmarks(runs["benchmark"].n_unique()))]
    cards += [_run_card(row) for row in runs.head(_CARDS).iter_rows(named=True)]
    return Cards(cards, finding=_first(runs, findings))


def _benchmarks(count: int) -> str:
    return f"{count:,} benchmark{'s' * (count != 1)}"


def _run_card(row: dict[str, Any]) -> Card:
    who = f"{row['system']} on {row['benchmark']}:{row['split']}"
    answered = f"{row['answered']:,} of {row['documents']:,} documents have a usable answer"
    if row["values"]:
        counts = f"{row['right']:,} of {row['values']:,} values; {answered}"
        return Card(f"values right: {who}", row["right"] / row["values"], counts)
    return Card(f"CER of pages: {who}", row["page_cer"], f"mean over pages; {answered}")


def _first(runs: pl.DataFrame, findings: Sequence[Finding]) -> str:
    if findings:
        one = findings[0]
        return f"{one.system} on {one.benchmark}:{one.split}: {one.claim}."
    lost = runs.select(pl.col("values").sum() - pl.col("right").sum()).item() or 0
    pages = runs["page_cer"].drop_nulls()
    if lost:
        return f"{lost:,} values are not right; no finding stands out among them."
    if (pages > 0).any():
        return "No value was lost, and every page has a CER below 0.5."
    return "No value was lost." if runs["values"].sum() else "Nothing was scored."


def runs_table(runs: pl.DataFrame) -> Table:
    """What was run, on what, how it went, how long it took and what it cost."""
    shown = runs.select(
        "benchmark", "split", "system", "mode", "documents", "answered", "values", "right",
        "wrong", "missing", "spurious", "calls", "seconds", "tokens", "cost",
    )  # fmt: skip
    note = "– : not told. Calls are those to a model, or pages read."
    return Table(shown, titles={"calls": "calls or pages"}, note=note, digits={"seconds": 1})


def status_bars(statuses: pl.DataFrame) -> alt.Chart | Caption:
    """The share of gold values whose answer has each status, a bar for each evaluation.

    Parameters
    ----------
    statuses
        As from `analysis.statuses`.
    """
    if not statuses.height:
        return Caption("No value was asked for.", label="Note")
    shown = statuses.with_columns(
        name=pl.format("{} on {}:{}", "system", "benchmark", "split"),
        share=pl.col("cases") / pl.col("cases").sum().over("benchmark", "split", "system"),
        turn=pl.col("status").replace_strict(
            {status: place for place, status in enumerate(STATUSES)}, return_dtype=pl.Int64
        ),
    )
    used = [status for status in STATUSES if status in shown["status"].to_list()]
    colours = {status: theme.STATUS_COLOURS[status] for status in used}
    names = shown["name"].unique(maintain_order=True).to_list()
    said = "; ".join(f"{r['name']} {r['status']} {r['cases']:,}" for r in shown.to_dicts())
    return (
        alt.Chart(shown)
        .mark_bar()
        .encode(
            alt.X("share:Q", title="share of values").axis(format="%").scale(domain=[0, 1]),
            alt.Y("name:N", title=None, sort=names).axis(labelLimit=260),
            alt.Color("status:N", title="status", sort=used).scale(theme.scale(colours)),
            order=alt.Order("turn:Q"),
            tooltip=[
                alt.Tooltip("name:N"), alt.Tooltip("status:N"),
                alt.Tooltip("cases:Q", title="values", format=","), alt.Tooltip("documents:Q"),
            ],
        )
        .properties(height=alt.Step(26), description=f"Values by status: {said}")
    )  # fmt: skip


def findings_table(findings: Sequence[Finding], reports: Mapping[str, str]) -> Table | Caption:
    """The findings with effect, interval, n and p, each with the report that shows more of it.

    Parameters
    ----------
    findings
        As from `analysis.findings`.
    reports
        The notebook that looks closer at each benchmark. A finding links to its report where one
        was built in the same folder.
    """
    if not findings:
        return Caption("There is no finding: see what was run for the counts.", label="Note")
    beside = json.loads(os.environ.get(LINKS_VARIABLE) or "{}")
    table = finding_table(findings)
    pages = [
        _page(reports.get(row["benchmark"], ""), row["system"], list(beside))
        for row in table.iter_rows(named=True)
    ]
    spans = [
        number(row["effect"]) + (f" ({number(row['ci_low'])} to {number(row['ci_high'])})" * known)
        for row in table.iter_rows(named=True)
        for known in [not math.isnan(row["ci_low"])]
    ]
    shown = table.select(
        "finding", pl.format("{} on {}:{}", "system", "benchmark", "split").alias("where"),
        pl.Series("effect", spans, dtype=pl.String), "n_cases", "n_docs",
        p_words(table["p_adjusted"]), "what_to_try",
        pl.Series("report", pages, dtype=pl.String),
    )  # fmt: skip
    # A column in which nothing stands tells nothing.
    said = shown.with_columns(pl.col("what_to_try").replace("", None))
    shown = said.drop([n for n in ("p_adjusted", "what_to_try", "report") if not said[n].count()])
    titles = {"effect": "effect (95 % interval)", "n_cases": "values", "n_docs": "documents"}
    titles |= {"p_adjusted": "p, adjusted", "what_to_try": "what to try"}
    note = "Effect: the share of gold values, or the difference. What has no p is a count."
    if "p_adjusted" in shown.columns:
        note += " The table's p is adjusted for all tests of this report, that in a sentence for "
        note += "those of its own group."
    titles = {name: title for name, title in titles.items() if name in shown.columns}
    links = ("report",) if "report" in shown.columns else ()
    return Table(shown, titles=titles, links=links, note=note)


def wrong_table(evaluations: Sequence[Evaluation], *, by: str, limit: int = 3) -> Table | Caption:
    """The values of `by` with the most wrong gold values, a few of each evaluation.

    Parameters
    ----------
    evaluations
        As from `formlab.evaluate`.
    by
        A column of *cases*, such as ``kind`` or ``cause``.
    limit
        How many of each evaluation at the most.
    """
    found = []
    for one in evaluations:
        wrong = (pl.col("outcome") != "match").sum().cast(pl.Int64).alias("wrong")
        counts = asked(one).group_by(by).agg(wrong, pl.len().cast(pl.Int64).alias("values"))
        named = counts.select(
            pl.lit(f"{one.system} on {one.benchmark}:{one.split}").alias("where"),
            pl.col(by).cast(pl.String), "values", "wrong",
            (pl.col("wrong") / pl.col("wrong").sum()).alias("share"),
        )  # fmt: skip
        named = named.filter(pl.col(by).is_not_null(), pl.col("wrong") > 0)
        found.append(named.sort(-pl.col("wrong"), by).head(limit))
    if not any(table.height for table in found):
        return Caption("No value is wrong.", label="Note")
    table = pl.concat(found)
    if by == "cause":
        # Nearly all values that have a cause are wrong: their number says nothing more.
        table = table.drop("values")
    shown = table.with_columns(pl.col(by).str.replace_all("_", " "))
    return Table(shown, titles={"share": "share of all wrong values"}, digits=2)


def _page(notebook: str, system: str, names: list[str]) -> str | None:
    """The page of a notebook, that of the system's own evaluation before any other."""
    fit = [name for name in sorted(names) if name.partition("--")[0] == notebook]
    own = [name for name in fit if system in name.partition("--")[2]]
    return f"{(own or fit)[0]}.html" if fit else None
