"""The scores of each level of understanding forms, and which of them may share an axis."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from formlab import benchmarks
from formlab.scoring.tasks import content
from formlab.tables import LADDER, SUMMARY, Settings, settings_text


class Measure(NamedTuple):
    """One score that speaks for a level: a metric of fields of these tasks, a share of `over`."""

    level: str
    metric: str
    of: str
    over: str
    tasks: tuple[str, ...] = ()


_READ, _NAMED = ("text", "marking", "visual", "cross"), ("entity", "value")
# Levels have different metrics, and one metric may be taken over different totals: each of these
# has an axis of its own, and levels are not ranked.
MEASURES = (
    # Of one's own forms, whose values are right by rules of their own.
    Measure("reading", "match_f1", "field", "values of one's own forms"),
    Measure("reading", "match_weighted", "field", "values of one's own forms, by their weights"),
    Measure("reading", "cer", "page", "characters of whole pages"),
    Measure("reading", "wer", "page", "words of whole pages"),
    Measure("reading", "normalised_accuracy", "field", "fields", _READ),
    Measure("reading", "fact_accuracy", "fact", "facts in the gold"),
    Measure("locating", "micro_f1", "document", "entities"),
    Measure("locating", "normalised_accuracy", "field", "named values", _NAMED),
    Measure("locating", "episodic_click", "document", "fields of a form, mean over forms"),
    Measure("structuring", "tree_similarity", "document", "trees"),
    Measure("structuring", "json_accuracy", "document", "values of the JSON"),
    Measure("relating", "vqa_accuracy", "question", "questions"),
    Measure("relating", "consistency_accuracy", "check", "checks of all fields of a relation"),
    Measure("acting", "episodic_value", "document", "fields of a form, mean over forms"),
    Measure("acting", "value_submitted_accuracy", "field", "values submitted"),
    Measure("acting", "form_completed", "document", "forms"),
)
LEVELS = tuple(dict.fromkeys(measure.level for measure in MEASURES))
# The tasks of each level; a form is filled in by finding its fields, and by what is entered there.
_LEVEL_TASKS = {
    "reading": (*_READ, "fact"),
    "locating": ("entity", "value", "click"),
    "structuring": ("layout",),
    "relating": ("vqa", "consistency"),
    "acting": ("click",),
}
HEADLINES: dict[str, Any] = {
    **dict.fromkeys(("level", "over", "tasks", "panel"), pl.String),
    **{name: kind for name, kind in SUMMARY.items() if name != "level"},
    "score_level": pl.String,
}


def headlines(summary: pl.DataFrame) -> pl.DataFrame:
    """The scores that speak for each level: every one of `MEASURES` that is defined in `summary`.

    Returns the rows of `summary`, their own `level` as `score_level`, with the `level` they speak
    for; `over`, what the score is taken over; the `tasks` that its fields are of; and `panel`. Two
    scores may share an axis if and only if their `panel` is the same: the same metric of the same
    level and tasks, by the same rules.
    """
    rows = []
    for row in _defined(summary).filter(pl.col("slice_by").is_null()).iter_rows(named=True):
        for number, measure in enumerate(MEASURES):
            tasks = _tasks(row["benchmark"], measure.tasks)
            is_it = (row["metric"], row["level"]) == (measure.metric, measure.of)
            if is_it and bool(tasks) == bool(measure.tasks):
                panel = f"{number:02}|{','.join(tasks)}|{rules(row)}"
                facts = {"level": measure.level, "over": measure.over, "panel": panel}
                facts |= {"tasks": ", ".join(tasks) or None, "score_level": row["level"]}
                rows.append(row | facts)
    table = pl.DataFrame(rows, schema=HEADLINES)
    return table.sort("panel", "benchmark", "split", "system", maintain_order=True)


def _defined(summary: pl.DataFrame) -> pl.DataFrame:
    return summary.filter(pl.col("value").is_not_nan(), average="pooled")


def _tasks(benchmark: str, tasks: tuple[str, ...]) -> list[str]:
    """Of the tasks of a level those that fields of a benchmark are of."""
    known = benchmarks.BENCHMARKS.get(benchmark)
    if known is None or not tasks:
        return list(tasks)
    # Text fields among marks and pictures are scored with them, under no task of their own.
    more = content.TASKS if set(content.TASKS) & set(known.tasks) - {"text"} else ()
    return [task for task in tasks if task in {*known.tasks, *more}]


def rules(row: Mapping[str, Any]) -> str:
    """How a score is measured, without its data, its system and its interval."""
    settings = Settings(**row["settings"])
    kept = Settings(rules=settings.rules, read=settings.read, average=settings.average)
    whose = dict.fromkeys(("benchmark", "split"))
    return settings_text(dict(row) | whose | {"settings": dataclasses.asdict(kept)})


def rungs(summary: pl.DataFrame, by: str | None = None) -> pl.DataFrame:
    """Accuracy on each rung of the strictness ladder, over all fields or of each slice `by`.

    They are rows of `summary` with `rung`, and the `tasks` that the fields are of.
    """
    names = {f"{rung}_accuracy": rung for rung in LADDER}
    tasks = {n: ", ".join(_tasks(n, _READ + _NAMED)) for n in summary["benchmark"].unique()}
    slices = pl.col("slice_by")
    chosen = slices == by if by else slices.is_null() & (pl.col("level") == "field")
    rung, of = pl.col("metric").replace(names), pl.col("benchmark").replace(tasks)
    columns = [name for name in SUMMARY if name != "task"]
    rows = _defined(summary).filter(chosen, pl.col("metric").is_in([*names]))
    return rows.select(rung.alias("rung"), of.alias("tasks"), *columns)


def tasks_by_level(benchmark: str) -> dict[str, str | None]:
    """The tasks of each level that the gold of a benchmark can be scored on.

    Examples
    --------
    >>> tasks_by_level("vrdu")["locating"]
    'entity'
    """
    tasks = {level: _tasks(benchmark, own) for level, own in _LEVEL_TASKS.items()}
    return {level: ", ".join(own) or None for level, own in tasks.items()}
