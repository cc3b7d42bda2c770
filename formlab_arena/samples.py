"""The sample of forms to fill in: a run of the arena over the forms that it has."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import formlab_arena
from formlab import resources, systems
from formlab.analysis.samples import state_of
from formlab.folders import Corpus, Evaluation
from formlab.known_files import cache_folder
from formlab.scoring.evaluate import evaluate
from formlab_arena.episode import RunSettings
from formlab_arena.evaluation import read_run
from formlab_arena.run import fill
from formlab_arena.texts import task_set


def filled(corpus: Corpus, system: str, changes: Mapping[str, Any]) -> Evaluation:
    """One instance of each form of the sample, filled in by `system`; needs a browser.

    `changes` are those of a `RunSettings`, such as ``{"texts": "prose"}``.

    Raises
    ------
    NotAvailable
        If the extra `arena` is not installed, or there is no Chromium.
    """
    resources.need("arena")
    settings = RunSettings(system, **changes)
    codes = corpus.documents["template"].unique(maintain_order=True).to_list()
    tasks = task_set(settings.texts, codes=codes, seed=settings.seed)
    more = f"{settings}{tasks.digest}"
    state = state_of(systems.get("ocr"), folders=(formlab_arena, systems), more=more)
    out = cache_folder() / "runs" / f"{corpus.benchmark}-arena-{system}-{state}"
    # The browser refuses to start where an event loop runs, as it does under a notebook's cells.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(fill, out, settings, tasks=tasks, wait=True).result()
    return evaluate(*read_run(out))
