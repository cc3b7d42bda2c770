"""The project's own samples, read by a real system: what a notebook shows when given nothing."""

from __future__ import annotations

import os
from pathlib import Path

from formlab import benchmarks, systems
from formlab.analysis.evaluate import evaluate
from formlab.tables import Evaluation


def open_evaluation(
    folder: str | Path = "", *, benchmark: str = "funsd", system: str = "ocr"
) -> Evaluation:
    """The evaluation saved in `folder`; without one, `system` over the sample of `benchmark`.

    The sample is read once and kept in the user's cache folder, or in FORMLAB_CACHE.

    Parameters
    ----------
    folder
        As written by ``formlab score … --out``; empty for the sample.

    Raises
    ------
    DataMissing, DataBroken
        If the folder holds no evaluation.
    """
    if str(folder):
        return Evaluation.load(folder)
    corpus = benchmarks.load(benchmark)
    reader = systems.get(system)
    out = cache() / "runs" / f"{benchmark}-{corpus.split}-{system}"
    return evaluate(corpus, systems.run(corpus, reader, out=out))


def cache() -> Path:
    """The folder for what can be made again: FORMLAB_CACHE, else formlab's in the user's cache."""
    given = os.environ.get("FORMLAB_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(given) if given else Path(base) / "formlab"
