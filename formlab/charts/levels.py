"""Which level of understanding forms each benchmark can answer for."""

from __future__ import annotations

import polars as pl

from formlab.benchmarks import BENCHMARKS
from formlab.charts._table import Table
from formlab.scoring.tasks import TASKS, content
from formlab.tables import Evaluation

# What a system must be able to do for a task, from seeing a form to filling it in.
LEVELS: dict[str, tuple[str, ...]] = {
    "reading": ("text", "marking", "visual", "cross", "fact"),
    # A form is filled in by finding its fields, and by what is entered there.
    "locating": ("entity", "value", "click"),
    "structuring": ("layout",),
    "relating": ("vqa", "consistency"),
    "acting": ("click",),
}


def levels_table(evaluation: Evaluation | None = None) -> Table:
    """A row per registered benchmark: on each level the tasks that its gold can be scored on.

    Parameters
    ----------
    evaluation
        Its own tasks are named in the note.
    """
    rows = [
        {"benchmark": name, **_levels(_all(entry.tasks)), "title": entry.title}
        for name, entry in BENCHMARKS.items()
    ]
    note = None
    if evaluation is not None:
        found = _levels(evaluation.cases["task"].unique().sort().to_list())
        said = "; ".join(f"{level}: {tasks}" for level, tasks in found.items() if tasks)
        note = f"Scored in this evaluation of {evaluation.benchmark}: {said or 'nothing'}."
    schema = dict.fromkeys(("benchmark", *LEVELS, "title"), pl.String)
    return Table(pl.DataFrame(rows, schema=schema), note=note)


def _all(tasks: tuple[str, ...]) -> list[str]:
    # Text fields among marks and pictures are scored with them, under no task of their own.
    more = content.TASKS if any(TASKS.get(task) is content.score for task in tasks) else ()
    return [*tasks, *more]


def _levels(tasks: list[str]) -> dict[str, str | None]:
    return {
        level: ", ".join(task for task in members if task in tasks) or None
        for level, members in LEVELS.items()
    }
