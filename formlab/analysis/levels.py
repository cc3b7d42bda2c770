"""What is reached on each level of understanding forms, and what may share an axis."""

from __future__ import annotations

import dataclasses
from typing import Any

import polars as pl

from formlab import benchmarks
from formlab.scoring.tasks import content
from formlab.tables import LADDER, SUMMARY


@dataclasses.dataclass(frozen=True)
class Measure:
    """One score that speaks for a level: a metric, the slice it is of, and what it is a share of.

    `tasks` are those of the level; where fields of other tasks were scored by the same metric, the
    score stands for another level.
    """

    level: str
    metric: str
    part: str
    over: str
    tasks: tuple[str, ...] = ()


_READ, _NAMED = ("text", "marking", "visual", "cross"), ("entity", "value")
# Levels have different metrics, and one metric may be taken over different totals: each of these
# has an axis of its own, and levels are not ranked.
MEASURES = (
    Measure("reading", "cer", "all", "characters of whole pages"),
    Measure("reading", "wer", "all", "words of whole pages"),
    Measure("reading", "normalised_accuracy", "fields", "fields", _READ),
    Measure("reading", "fact_accuracy", "fields", "facts in the gold"),
    Measure("locating", "micro_f1", "all", "entities"),
    Measure("locating", "normalised_accuracy", "fields", "named values", _NAMED),
    Measure("locating", "episodic_click", "all", "fields of a form, mean over forms"),
    Measure("structuring", "tree_similarity", "all", "trees"),
    Measure("structuring", "json_accuracy", "all", "values of the JSON"),
    Measure("relating", "vqa_accuracy", "all", "questions"),
    Measure("relating", "consistency_accuracy", "all", "checks of dependent values"),
    Measure("acting", "episodic_value", "all", "fields of a form, mean over forms"),
    Measure("acting", "value_submitted_accuracy", "fields", "values submitted"),
    Measure("acting", "form_completed", "all", "forms"),
)
LEVELS = tuple(dict.fromkeys(measure.level for measure in MEASURES))
HEADLINES: dict[str, Any] = {
    "level": pl.String, "over": pl.String, "tasks": pl.String, "mode": pl.String,
    "panel": pl.String, **SUMMARY,
}  # fmt: skip
# What of the settings of a score says whose it is and how sure, not what is measured.
_APART = ("formlab=", "ci=", "documents=", "verdicts=", "ambiguous=")


def headlines(summary: pl.DataFrame) -> pl.DataFrame:
    """The scores that speak for each level: every one of `MEASURES` that is defined.

    Parameters
    ----------
    summary
        As from `summaries`.

    Returns
    -------
    polars.DataFrame
        The rows of `summary` with `level`; `over`, what the score is taken over; the `tasks` that
        its fields are of; `mode`; and `panel`. Two scores may share an axis if and only if their
        `panel` is the same: the same metric of the same slice and tasks, by the same rules.
    """
    found = []
    for row in summary.filter(pl.col("value").is_not_nan()).iter_rows(named=True):
        for place, measure in enumerate(MEASURES):
            if (row["metric"], row["slice"]) != (measure.metric, measure.part):
                continue
            tasks = _tasks(row["benchmark"], measure.tasks)
            if measure.tasks and not tasks:
                continue
            said = rules(row["settings"])
            found.append(row | {
                "level": measure.level, "over": measure.over, "tasks": ", ".join(tasks) or None,
                "mode": _mode(said), "panel": f"{place:02}|{','.join(tasks)}|{said}",
            })  # fmt: skip
    table = pl.DataFrame(found, schema=HEADLINES)
    return table.sort("panel", "benchmark", "split", "system", maintain_order=True)


def _tasks(benchmark: str, wanted: tuple[str, ...]) -> list[str]:
    """Of the tasks of a level those that fields of a benchmark are of."""
    known = benchmarks.BENCHMARKS.get(benchmark)
    if known is None or not wanted:
        return list(wanted)
    # Text fields among marks and pictures are scored with them, under no task of their own.
    more = content.TASKS if set(content.TASKS) & set(known.tasks) - {"text"} else ()
    return [task for task in wanted if task in {*known.tasks, *more}]


def _mode(settings: str) -> str | None:
    modes = [part for part in settings.split("|") if part.startswith("mode=")]
    return modes[0].removeprefix("mode=") if modes else None


def rules(settings: str) -> str:
    """What of a score's settings says how it is measured, and not of what.

    Examples
    --------
    >>> rules("funsd:test|cer|unit=page|mode=fixed|formlab=0.2.0|avg=micro|ci=bootstrap")
    'cer|unit=page|mode=fixed|avg=micro'
    """
    return "|".join(part for part in settings.split("|")[1:] if not part.startswith(_APART))


def rungs(summary: pl.DataFrame) -> pl.DataFrame:
    """Accuracy on each rung of the strictness ladder, over all fields of each evaluation.

    Returns
    -------
    polars.DataFrame
        The rows of `summary` with `rung`, and the `tasks` that the fields are of.
    """
    names = {f"{rung}_accuracy": rung for rung in LADDER}
    return (
        summary.filter(pl.col("slice") == "fields", pl.col("metric").is_in(list(names)))
        .filter(pl.col("value").is_not_nan())
        .with_columns(
            rung=pl.col("metric").replace(names),
            tasks=pl.col("benchmark").map_elements(
                lambda name: ", ".join(_tasks(name, _READ + _NAMED)), return_dtype=pl.String
            ),
        )
        .select("rung", "tasks", *SUMMARY)
    )
