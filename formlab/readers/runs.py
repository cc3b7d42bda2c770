"""A folder written by `formlab run`, finished or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from formlab import files, systems
from formlab.errors import DataBroken
from formlab.folders import MANIFEST, Corpus, Predictions, home_of


def read(path: Path, corpus: Corpus, *, scanned: bool = False) -> Predictions:
    """The predictions of a run, of one under way or killed those so far.

    Those of a finished run stay on disk until they are read, if `scanned`.
    """
    if is_finished(path):
        found = Predictions.load(path, scanned=scanned)
    else:
        # Nothing else here needs what asks models.
        from formlab.systems import chat

        found = systems.unfinished(path) or chat.unfinished(path, corpus)
    if found is None:
        raise DataBroken("a run that has not begun", where=path, remedy="formlab run … --out")
    known = found.scan("records").select(pl.col("benchmark").unique()).collect()["benchmark"]
    if others := sorted({*known} - {corpus.benchmark}):
        what = f"this run read {', '.join(others)}, not {corpus.benchmark}"
        raise DataBroken(what, where=path)
    return found


def is_finished(source: Any) -> bool:
    """Whether a source is the folder of a run that has ended."""
    return isinstance(source, Path) and files.is_file(home_of(source) / MANIFEST)


def splits(path: Path) -> list[str]:
    """The split that a run under way or finished has read, if its head says so."""
    head = files.read_json(path / "run.json") if files.is_file(path / "run.json") else None
    split = head.get("split") if isinstance(head, dict) else None
    return [split] if isinstance(split, str) else []
