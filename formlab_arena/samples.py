"""The sample of forms to fill in: a run of the arena over the forms that it has."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import formlab_arena
from formlab import benchmarks, files, resources, saving, systems
from formlab.analysis.samples import state_of
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.scoring.evaluate import evaluate
from formlab_arena import page_tasks
from formlab_arena.episode import RunSettings
from formlab_arena.evaluation import read_run, system_name
from formlab_arena.run import fill
from formlab_arena.texts import PAGES, TaskSet, task_set

# The benchmark whose sample is read where forms are filled in from pages.
READ = "formcraft"
# What comes with formlab as played, a folder for each system with its changed settings.
PLAYED = benchmarks.SAMPLES / "arena" / "runs"


def filled(corpus: Corpus, system: str, changes: Mapping[str, Any]) -> Evaluation:
    """One instance of each form of the sample, filled in by `system`.

    `changes` are those of a `RunSettings`, such as ``{"texts": "prose"}``. With ``pages`` the forms
    are those of the pages of FORMCRAFT's sample. What the baselines did comes with formlab; all
    else needs a browser.

    Raises
    ------
    NotAvailable
        If the extra `arena` is not installed, or there is no Chromium.
    """
    settings = RunSettings(system, **changes)
    shipped = benchmarks.SAMPLES / "arena" / PAGES / system
    if settings == RunSettings(system, texts=PAGES) and shipped.is_dir():
        parts = Corpus.load(shipped / "corpus"), Predictions.load(shipped / "predictions")
        return evaluate(*parts, mode="fixed")
    if settings.texts == PAGES:
        resources.need("arena")
    tasks = tasks_of(corpus, settings)
    if _is_of(played := PLAYED / system_name(settings.as_json()), settings, tasks):
        return evaluate(*read_run(played))
    resources.need("arena")
    more = f"{settings}{tasks.digest}"
    state = state_of(systems.get("ocr"), folders=(formlab_arena, systems), more=more)
    out = saving.run_folder(f"{corpus.benchmark}-arena-{system}-{state}")
    fill(out, settings, tasks=tasks, wait=True, workers=os.cpu_count() or 1)
    # A page may write a name in capitals and an amount with two decimals.
    return evaluate(*read_run(out), mode="fixed" if settings.texts == PAGES else None)


def tasks_of(corpus: Corpus, settings: RunSettings) -> TaskSet:
    """What is to be filled in: an instance of each form that the sample has."""
    if settings.texts == PAGES:
        return page_tasks.task_set(READ)
    codes = corpus.documents["template"].unique(maintain_order=True).to_list()
    return task_set(settings.texts, codes=codes, seed=settings.seed)


def _is_of(folder: Path, settings: RunSettings, tasks: TaskSet) -> bool:
    """Whether a folder is of a run with these settings over just these tasks."""
    if not folder.is_dir() or {file.name for file in folder.iterdir() if file.is_dir()} != {
        task.name for task in tasks.instances
    }:
        return False
    made = settings.as_json() | {"tasks": tasks.digest}
    return files.read_json(folder / "run.json") == made and all(
        files.read_text(folder / task.name / "task.txt") == task.text
        and files.read_json(folder / task.name / "values.json") == task.values
        for task in tasks.instances
    )
