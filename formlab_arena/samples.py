"""The sample of forms to fill in: a run of the arena over the forms that it has."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import formlab_arena
from formlab import benchmarks, kept, resources, systems
from formlab.analysis.samples import state_of
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.scoring.evaluate import evaluate
from formlab_arena import page_tasks
from formlab_arena.episode import RunSettings
from formlab_arena.evaluation import read_run
from formlab_arena.run import fill
from formlab_arena.texts import PAGES, task_set

# The benchmark whose sample is read where forms are filled in from pages.
READ = "formcraft"


def filled(corpus: Corpus, system: str, changes: Mapping[str, Any]) -> Evaluation:
    """One instance of each form of the sample, filled in by `system`; needs a browser.

    `changes` are those of a `RunSettings`, such as ``{"texts": "prose"}``. With ``pages`` the forms
    are those of the pages of FORMCRAFT's sample; what `rules` did with them comes with formlab.

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
    resources.need("arena")
    codes = corpus.documents["template"].unique(maintain_order=True).to_list()
    if settings.texts == PAGES:
        tasks = page_tasks.task_set(READ)
    else:
        tasks = task_set(settings.texts, codes=codes, seed=settings.seed)
    more = f"{settings}{tasks.digest}"
    state = state_of(systems.get("ocr"), folders=(formlab_arena, systems), more=more)
    out = kept.run_folder(f"{corpus.benchmark}-arena-{system}-{state}")
    fill(out, settings, tasks=tasks, wait=True, workers=os.cpu_count() or 1)
    # A page may write a name in capitals and an amount with two decimals.
    return evaluate(*read_run(out), mode="fixed" if settings.texts == PAGES else None)
