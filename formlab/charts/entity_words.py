"""What a report on extracted entities says in words, and its tables."""

from __future__ import annotations

import polars as pl

from formlab import metrics, tables
from formlab.analysis.few_shot import NESTED, TASKS, WHOLE
from formlab.analysis.finding import Finding
from formlab.charts._output import clean, number
from formlab.charts._table import Table
from formlab.charts.entities import NO_ENTITIES
from formlab.charts.few_shot import PAPER_CORPORA, TASK_TITLES, in_paper
from formlab.charts.published import citation
from formlab.charts.show import Caption, Card, Cards
from formlab.charts.words import sentences, span

# A caption names so many scores; of more it gives the range.
_NAMED = 4
_SHORT = {"micro_f1": "micro", "macro_f1": "macro"}
_CARDS = (
    ("all", "micro_f1", "micro F1"), ("all", "macro_f1", "macro F1"),
    ("group=unrepeated", "f1", "F1 of simple entities"),
    (f"type={NESTED}", "f1", "F1 of line items"),
)  # fmt: skip


def entity_cards(summary: pl.DataFrame, finding: Finding | None = None) -> Cards:
    """Micro and macro F1 of each data set, and what can be said of its entities.

    Parameters
    ----------
    summary
        As from `formlab.analysis.by_entity`.
    finding
        What can be said of the entities, as from `analysis.kinds`.
    """
    cards = [
        Card(f"{title}, {clean(corpus, limit=60)}", row["value"], span(row))
        for corpus in summary["corpus"].unique(maintain_order=True)
        for part, metric, title in _CARDS
        for row in tables.only(
            tables.readable(summary), corpus=corpus, slice=part, metric=metric
        ).to_dicts()
    ]
    return Cards(cards, finding=sentences(_finding(summary), finding) if cards else NO_ENTITIES)


def _finding(summary: pl.DataFrame) -> str:
    """F1 of simple entities and of line items, corpus by corpus, side by side."""
    said = []
    for corpus in summary["corpus"].unique(maintain_order=True):
        parts = [
            f"{name} with F1 {number(row['value'], 2)}"
            for part, name in (
                ("group=unrepeated", "simple entities"), (f"type={NESTED}", "line items"),
            )
            for row in tables.only(
                tables.readable(summary), corpus=corpus, slice=part, metric="f1"
            ).to_dicts()
        ]  # fmt: skip
        if parts:
            said.append(f"{' and '.join(parts)} in {clean(corpus, limit=60)}")
    return f"{clean(summary['system'][0], limit=80)} finds {'; '.join(said)}" if said else ""


def entity_caption(summary: pl.DataFrame, *, say: str) -> Caption:
    """A caption with the F1 of simple entities of each data set, n, interval and settings.

    Parameters
    ----------
    summary
        As from `formlab.analysis.by_entity`.
    say
        What the figure shows, in words and without numbers.
    """
    rows = tables.only(tables.readable(summary), slice="group=unrepeated", metric="f1")
    if not rows.height:
        return Caption(f"{say} No F1 of simple entities was scored.")
    said = "; ".join(
        f"{clean(row['corpus'], limit=60)} {_score(row)}, n = {row['n_gold']:,} in "
        f"{row['n_docs']:,} documents"
        for row in rows.to_dicts()
    )
    return Caption(f"{say} F1 of simple entities: {said}.", settings=shared_settings(rows))


def few_shot_caption(
    table: pl.DataFrame, *, say: str, metric: str = "micro_f1", part: str = WHOLE
) -> Caption:
    """A caption with the scores, their intervals, n and settings.

    Parameters
    ----------
    table
        As from `formlab.analysis.few_shot`.
    say
        What the figure shows, in words and without numbers.
    metric, part
        Which of its rows.
    """
    rows = tables.only(table, metric=metric, part=part)
    if not rows.height:
        return Caption(f"{say} No {metrics.title(metric)} of {part} was scored.")
    title = f"{metrics.title(metric)} of {part}"
    if rows.height <= _NAMED:
        said = "; ".join(f"{_place(row)} {_score(row)}" for row in rows.to_dicts())
    else:
        known = rows.filter(pl.col("value").is_finite()).sort("value")
        ends = known if known.height else rows
        low, high = ends.row(0, named=True), ends.row(-1, named=True)
        said = f"from {_score(low)} on {_place(low)} to {_score(high)} on {_place(high)}"
    over = {"splits": "over splits (t)", "documents": "over documents (bootstrap)"}
    kinds = [over[kind] for kind in rows["interval"].unique().sort()]
    splits = rows["n_splits"].sum()
    plural = "" if splits == 1 else "s"
    count = f"n = {rows['n_docs'].sum():,} documents in {splits:,} split{plural}"
    text = f"{say} {title}: {said}; {count}. 95 % intervals {' and '.join(kinds)}."
    return Caption(text, settings=shared_settings(rows))


def _place(row: dict) -> str:
    size = "" if row["train_size"] is None else f" with {row['train_size']:,} training documents"
    return f"{clean(row['corpus'], limit=60)}, {TASK_TITLES[row['task']]}{size}"


def _score(row: dict) -> str:
    if row["ci_low"] != row["ci_low"]:
        return number(row["value"])
    return f"{number(row['value'])} ({number(row['ci_low'])} to {number(row['ci_high'])})"


def shared_settings(rows: pl.DataFrame) -> str:
    """One settings string for rows of several splits."""
    given = tables.readable(rows)["settings"].unique(maintain_order=True).to_list()
    if len(given) == 1:
        return given[0]
    heads, _, rests = zip(*(text.partition("|") for text in given), strict=True)
    count = f"{heads[0].partition(':')[0]}:{len(set(heads))} splits or groups of them"
    return "|".join([count, " or ".join(dict.fromkeys(rests))])


def published_curves_caption(
    table: pl.DataFrame, printed: pl.DataFrame, *, say: str, metric: str = "micro_f1"
) -> Caption:
    """A caption that tells what was measured here from published scores, and cites them."""
    mine = in_paper(table)
    own = few_shot_caption(mine, say=say, metric=metric)
    if not tables.only(mine, metric=metric, part=WHOLE).height:
        own = Caption(
            f"{say} What was measured here is on other documents or splits and not shown."
        )
    text = (
        f"{own.text} Open markers and dashed lines are published scores, of systems trained on so "
        f"many documents of the paper's own data: {citation(printed)}."
    )
    return Caption(text, settings=own.settings)


def published_scores_table(table: pl.DataFrame, printed: pl.DataFrame) -> Table:
    """Published micro and macro F1 by task and training size, and one's own on the same data.

    Parameters
    ----------
    table
        As from `formlab.analysis.few_shot`; where nothing of it is of a data set and size of the
        paper, its columns are left out.
    printed
        As from ``published("vrdu_table3")``.
    """
    on = ["corpus", "task", "train_size"]
    theirs = printed.select(
        "corpus", pl.col("task").cast(pl.Enum(TASKS)), pl.col("train_size").cast(pl.Int64),
        pl.format("{} {}", "system", pl.col("metric").replace(_SHORT)).alias("column"), "value",
    )  # fmt: skip
    wide = theirs.pivot("column", index=on, values="value", maintain_order=True).sort(on)
    own = table.filter(pl.col("part") == WHOLE).select(
        pl.col("corpus").replace(PAPER_CORPORA), "task", "train_size",
        pl.format("here {}", pl.col("metric").replace(_SHORT)).alias("column"), "value",
    )  # fmt: skip
    own = own.join(wide, on=on, how="semi").sort("column", descending=True)
    if own.height:
        mine = own.pivot("column", index=on, values="value", maintain_order=True)
        wide = wide.join(mine, on=on, how="left", maintain_order="left")
    shown = wide.with_columns(pl.col("task").cast(pl.String).replace(TASK_TITLES))
    note = f"Published: {citation(printed)}. Columns 'here', if any, were measured here."
    return Table(shown, titles={"train_size": "training documents"}, note=note)


def gap_caption(gaps: pl.DataFrame, *, say: str, metric: str = "micro_f1") -> Caption:
    """A caption with the gap of one metric, its interval and how it was made."""
    rows = tables.only(gaps, metric=metric, part=WHOLE).to_dicts()
    if not rows:
        return Caption(f"{say} Nothing was compared.")
    said = "; ".join(
        f"{clean(row['corpus'], limit=60)} with {row['train_size']:,} training documents "
        f"{signed(row['value'])} ({signed(row['ci_low'])} to {signed(row['ci_high'])})"
        for row in rows
    )
    text = f"{say} {metrics.title(metric)}: {said}. 95 % intervals from those of both scores."
    return Caption(text, settings="ci=mover,level=0.95")


def signed(value: float) -> str:
    """A difference, its sign always there.

    Examples
    --------
    >>> signed(0.1), signed(-0.1), signed(float("nan"))
    ('+0.100', '−0.100', 'undefined')
    """
    return "undefined" if value != value else f"{value:+.3f}".replace("-", "−")
