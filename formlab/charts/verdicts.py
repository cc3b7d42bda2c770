"""The court of labels in a report: scores with and without label errors, proposals, reviewers."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from formlab import decisions as decided
from formlab import metrics, tables
from formlab.analysis.pooling import pooled
from formlab.analysis.reviewers import disagreements, reviewer_agreement
from formlab.analysis.summarise import summarise
from formlab.analysis.verdicts import NOTE, with_verdicts
from formlab.charts._output import number
from formlab.charts.show import Caption, Card, Cards, Table
from formlab.errors import NotAvailable
from formlab.tables import Evaluation

NONE = (
    "Labels are taken as they are: no verdicts were given. Judge them in the notebook on review, "
    "and give the folder of verdicts as the parameter verdicts."
)
_WAYS = {"as labelled": None, "without label errors": False, "without ambiguous labels too": True}
_KEY = ("metric", "slice")


def review_cards(progress: pl.DataFrame, proposals: pl.DataFrame, *, reviewer: str) -> Cards:
    """A review in short: how far it has got, and how many labels are contradicted.

    Parameters
    ----------
    progress
        As from `review.Review.progress`.
    proposals
        As from `analysis.proposals`.
    reviewer
        Whose progress it is.
    """
    items = int(progress["items"].sum())
    decided_items = items - int(progress["open"].sum())
    cards = [Card("items decided", decided_items, f"of {items:,}")]
    cards += [
        Card(word.replace("_", " "), int(progress[word].sum()))
        for word in decided.REVIEW
        if word in progress.columns
    ]
    most = _by_most(proposals).height
    cards.append(Card("labels contradicted by a majority", most, f"of {proposals.height:,} by any"))
    finding = (
        f"{decided_items:,} of {items:,} items are decided by {reviewer}; a majority of systems "
        f"contradicts {most:,} labels with one and the same value."
    )
    return Cards(cards, finding=finding)


def with_and_without(
    evaluation: Evaluation | Sequence[Evaluation],
    verdicts: str | Path,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[Any, ...]:
    """A caption and a table: the scores as labelled, and without the label errors found.

    A note instead where there are no verdicts, or nothing can be scored again.

    Parameters
    ----------
    evaluation
        As from `analysis.open_evaluation`; of several splits they are pooled.
    verdicts
        A file or folder of decisions; empty for none.
    resamples, seed
        Of the intervals.
    """
    if not str(verdicts):
        return (Caption(NONE, label="Note"),)
    ones = [evaluation] if isinstance(evaluation, Evaluation) else list(evaluation)
    decisions = decided.found(verdicts)
    here = pl.col("benchmark").is_in([one.benchmark for one in ones])
    court = decisions.filter(pl.col("decision").is_in(decided.COURT) & here)
    if not court.height:
        return (Caption("There are no verdicts on labels of this benchmark.", label="Note"),)
    try:
        found = {name: _again(ones, court, ambiguous) for name, ambiguous in _WAYS.items()}
    except NotAvailable as error:
        return (Caption(f"Scores without label errors: {error}", label="Note"),)
    summaries = {
        name: summarise(pooled(many), by=(), resamples=resamples, seed=seed)
        for name, many in found.items()
    }
    how = f"verdicts={decided.version(court)}|ci=bootstrap,documents,n={resamples},seed={seed}"
    settings = f"{ones[0].benchmark}:{pooled(ones).split}|{how}"
    return _caption(found["without label errors"], settings), _compared(summaries)


def each_with_and_without(
    evaluations: Sequence[Evaluation], verdicts: str | Path, **options: int
) -> tuple[Any, ...]:
    """`with_and_without` of each evaluation whose benchmark has verdicts, under its name.

    Parameters
    ----------
    evaluations, verdicts
        As for `with_and_without`; here every evaluation is scored by itself.
    **options
        `resamples` and `seed` of the intervals.
    """
    if not str(verdicts):
        return (Caption(NONE, label="Note"),)
    decisions = decided.found(verdicts)
    judged = set(decisions.filter(pl.col("decision").is_in(decided.COURT))["benchmark"])
    shown: list[Any] = []
    for one in evaluations:
        if one.benchmark in judged:
            first, *rest = with_and_without(one, verdicts, **options)
            name = f"{one.system} on {one.benchmark}:{one.split}"
            shown += [dataclasses.replace(first, text=f"{name}. {first.text}"), *rest]
    return tuple(shown) or (
        Caption("There are no verdicts on labels of these benchmarks.", label="Note"),
    )


def _again(ones: list[Evaluation], court: pl.DataFrame, ambiguous: bool | None) -> list[Evaluation]:
    if ambiguous is None:
        return ones
    return [with_verdicts(one, court, ambiguous=ambiguous) for one in ones]


def _caption(ones: list[Evaluation], settings: str) -> Caption:
    counts: Counter[str] = Counter()
    for one in ones:
        counts.update({k.removeprefix(NOTE): n for k, n in one.notes.items() if k.startswith(NOTE)})
    said = "; ".join(f"{name.replace('_', ' ')}: {n:,}" for name, n in counts.items())
    if not said:
        said = "no verdict is on a label of this split"
    return Caption(
        f"Scores with and without the labels found wrong, all scored again. {said}.",
        label="Table", settings=settings,
    )  # fmt: skip


def _compared(summaries: dict[str, pl.DataFrame]) -> Table | Caption:
    first = summaries["as labelled"]
    rows = tables.readable(first).filter(pl.col("slice").is_in(["all", "fields"]))
    rows = rows.filter([not metrics.is_mean(name) for name in rows["metric"]])
    if not rows.height:
        return Caption("Nothing was scored.", label="Note")
    shown = rows.select(*_KEY)
    for name, summary in summaries.items():
        side = tables.readable(summary).select(
            *_KEY, pl.col("value").alias(name), pl.col("n_cases").alias(f"n {name}"),
            pl.Series(f"interval {name}", _intervals(summary), dtype=pl.String),
        )  # fmt: skip
        shown = shown.join(side, on=_KEY, how="left", maintain_order="left")
    changed = pl.col("without label errors") - pl.col("as labelled")
    shown = shown.with_columns(change=changed).select(
        pl.Series("metric", [metrics.title(name) for name in shown["metric"]], dtype=pl.String),
        pl.col("slice").alias("over"), "as labelled", "interval as labelled",
        "without label errors", "interval without label errors", "change",
        "without ambiguous labels too", "n as labelled", "n without label errors",
    )  # fmt: skip
    titles = {f"interval {name}": "95 % interval" for name in list(_WAYS)[:2]}
    titles |= {"n as labelled": "cases", "n without label errors": "cases left"}
    return Table(shown, titles=titles)


def _intervals(summary: pl.DataFrame) -> list[str]:
    bounds = summary.select("ci_low", "ci_high").rows()
    return [f"{number(low)} to {number(high)}" if low == low else "–" for low, high in bounds]


def proposals_table(proposals: pl.DataFrame, *, rows: int = 50) -> Table | Caption:
    """Labels that systems contradict, the most agreed first.

    Parameters
    ----------
    proposals
        As from `analysis.proposals`.
    rows
        At most so many are shown.
    """
    if not proposals.height:
        return Caption("No system contradicts a label.", label="Note")
    shown = proposals.select(
        "doc_id", "task", "path", _short("gold").alias("label"), _short("pred").alias("read as"),
        agree=pl.format("{} of {}", "n_agree", "n_systems"),
        systems=pl.col("systems").list.join(", "),
    )  # fmt: skip
    return Table(shown, titles={"doc_id": "document"}, rows=rows)


def proposals_caption(proposals: pl.DataFrame, *, say: str) -> Caption:
    """What `proposals_table` shows: how many labels are contradicted, and by how many systems."""
    most = _by_most(proposals)
    several = most.filter(pl.col("n_agree") > 1).height
    text = (
        f"{say} n = {proposals.height:,} labels contradicted by a system, {most.height:,} of them "
        f"by a majority with the same value, {several:,} of these by two systems or more."
    )
    return Caption(text, label="Table")


def _by_most(proposals: pl.DataFrame) -> pl.DataFrame:
    return proposals.filter(pl.col("n_agree") * 2 > pl.col("n_systems"))


def agreement_figures(
    decisions: pl.DataFrame, *, resamples: int = 1000, seed: int = 0
) -> tuple[Any, ...]:
    """How far reviewers agree, and on what they do not; a note if fewer than two decided.

    Parameters
    ----------
    decisions
        As from `formlab.decisions.read`.
    """
    kappas = reviewer_agreement(decisions, resamples=resamples, seed=seed)
    if not kappas["n_items"].sum():
        text = "Agreement takes two reviewers who decided on the same things: a file for each."
        return (Caption(text, label="Note"),)
    say = "Cohen's kappa of reviewers, beyond chance; 95 % intervals by drawing documents"
    settings = f"kappa|ci=bootstrap,documents,n={resamples},seed={seed}"
    settings += f"|decisions={decided.version(decisions)}"
    both = Table(
        kappas, titles={"ci_low": "low", "ci_high": "high", "n_items": "both", "n_same": "the same"}
    )
    differ = disagreements(decisions)
    if not differ.height:
        return (
            Caption(f"{say}.", label="Table", settings=settings), both,
            Caption("The reviewers decided the same throughout.", label="Note"),
        )  # fmt: skip
    texts = [name for name in differ.columns if name not in ("benchmark", "split")]
    return (
        Caption(f"{say}.", label="Table", settings=settings), both,
        Caption(f"What reviewers decided differently, n = {differ.height:,}.", label="Table"),
        Table(differ.select(_short(name).alias(name) for name in texts)),
    )  # fmt: skip


def _short(name: str, size: int = 80) -> pl.Expr:
    value = pl.col(name)
    return pl.when(value.str.len_chars() > size).then(value.str.head(size) + "…").otherwise(value)
