"""What became of a model's answers: how many of each task were valid, repaired, refused …"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from formlab.charts import theme
from formlab.charts.show import Caption, Table
from formlab.tables import USABLE, Evaluation

# One metric has a row an answer; its status tells what became of it.
_EACH = "usable_answers"
# In the order in which they are shown.
_WORDS = {
    "ok": "valid", "repaired": "valid after repair", "bad_json": "no usable JSON",
    "refused": "refused", "truncated": "cut short", "api_error": "error of the API",
    "missing": "missing", "unscored": "unscored",
}  # fmt: skip
_NOTHING = "No model was asked: there are no answers to count."


def answer_counts(evaluations: Evaluation | Sequence[Evaluation]) -> pl.DataFrame:
    """How many answers of each system and task have each status.

    Parameters
    ----------
    evaluations
        One or several, as from `formlab.evaluate`; those of systems that were not asked anything
        add nothing.

    Returns
    -------
    polars.DataFrame
        system, benchmark, task, status, answers, share; the shares of a task add up to 1.
    """
    each = [evaluations] if isinstance(evaluations, Evaluation) else list(evaluations)
    scores = pl.concat([evaluation.scores for evaluation in each])
    answers = scores.filter(pl.col("metric") == _EACH, pl.col("slice_by") == "task")
    key = ["system", "benchmark", "task"]
    counts = answers.group_by(*key, "status").agg(pl.len().cast(pl.Int64).alias("answers"))
    order = pl.col("status").replace_strict({s: n for n, s in enumerate(_WORDS)})
    whole = pl.col("answers").sum().over(key)
    return counts.with_columns(share=pl.col("answers") / whole).sort(*key, order)


def answer_table(evaluations: Evaluation | Sequence[Evaluation]) -> Table | Caption:
    """The counts of `answer_counts`, a row for each system and task; a note if there are none."""
    counts = answer_counts(evaluations)
    if not counts.height:
        return Caption(_NOTHING, label="Note")
    key = ["system", "benchmark", "task"]
    present = [status for status in _WORDS if status in counts["status"]]
    sums = [
        pl.col("answers").filter(pl.col("status") == status).sum().alias(_WORDS[status])
        for status in present
    ]
    usable = pl.col("answers").filter(pl.col("status").is_in(USABLE)).sum()
    # What was not asked says nothing of the system.
    asked = pl.col("answers").filter(pl.col("status") != "missing").sum()
    rows = counts.group_by(key, maintain_order=True).agg(
        pl.col("answers").sum().alias("questions"), *sums, (usable / asked).alias("usable")
    )
    return Table(rows, titles={"usable": "usable share"})


def answer_figures(
    evaluations: Evaluation | Sequence[Evaluation],
) -> list[Caption | alt.Chart | Table]:
    """Bars and table of the answers under one caption; one line where no model was asked."""
    if not answer_counts(evaluations).height:
        return [Caption(_NOTHING, label="Note")]
    say = "Answers of models by what became of them."
    return [Caption(say), answer_bars(evaluations), answer_table(evaluations)]


def answer_bars(evaluations: Evaluation | Sequence[Evaluation]) -> alt.Chart | Caption:
    """One bar for each system and task, its parts the statuses of the answers."""
    counts = answer_counts(evaluations)
    if not counts.height:
        return Caption(_NOTHING, label="Note")
    # Each bar is of one benchmark: the shares of two would add up to twice all.
    named = [name for name in ("system", "benchmark") if counts[name].n_unique() > 1]
    row = pl.concat_str(*named, "task", separator=" · ")
    present = [status for status in _WORDS if status in counts["status"]]
    shown = counts.with_columns(
        row.alias("row"), what=pl.col("status").replace_strict(_WORDS),
        place=pl.col("status").replace_strict({s: n for n, s in enumerate(_WORDS)}),
    )  # fmt: skip
    colours = [theme.STATUS_COLOURS[status] for status in present]
    tip = [
        alt.Tooltip("row:N", title="answers of"), alt.Tooltip("what:N", title="status"),
        alt.Tooltip("answers:Q"), alt.Tooltip("share:Q", format=".1%"),
    ]  # fmt: skip
    scale = alt.Scale(domain=[_WORDS[status] for status in present], range=colours)
    text = "; ".join(
        f"{name}: {count} {what}"
        for name, count, what in shown.select("row", "answers", "what").rows()
    )
    return (
        alt.Chart(shown)
        .mark_bar()
        .encode(
            alt.X("share:Q", title="share of the questions").axis(format="%").scale(domain=[0, 1]),
            alt.Y("row:N", title=None, sort=shown["row"].unique(maintain_order=True).to_list()),
            alt.Color("what:N", title=None, scale=scale),
            alt.Order("place:Q"),
            tooltip=tip,
        )
        .properties(height=alt.Step(26), description=f"Statuses of answers: {text}")
    )
