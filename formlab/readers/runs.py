"""A folder written by `formlab run`, finished or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from formlab import files, systems
from formlab.errors import DataBroken
from formlab.folders import Corpus, Predictions


def read(path: Path, corpus: Corpus) -> Predictions:
    """The predictions of a run; of one under way or killed, what it has finished."""
    if is_finished(path):
        return _checked(Predictions.load(path), path, corpus)
    # Nothing else here needs what asks models.
    from formlab.systems import chat

    predictions = systems.unfinished(path) or chat.unfinished(path, corpus)
    if predictions is None:
        raise DataBroken("a run that has not begun", where=path, remedy="formlab run … --out")
    return _checked(predictions, path, corpus)


def is_finished(source: Any) -> bool:
    """Whether a source is the folder of a run that has ended."""
    is_folder = isinstance(source, Path) and source.is_dir()
    return is_folder and files.is_file(Predictions.home(source) / "manifest.json")


def opened(path: Path, corpus: Corpus) -> Predictions:
    """The predictions of a finished run, which stay on disk until they are scanned."""
    return _checked(Predictions.opened(path), path, corpus)


def _checked(predictions: Predictions, path: Path, corpus: Corpus) -> Predictions:
    known = predictions.scan("records").select(pl.col("benchmark").unique()).collect()
    if others := sorted(set(known["benchmark"]) - {corpus.benchmark}):
        what = f"this run read {', '.join(others)}, not {corpus.benchmark}"
        raise DataBroken(what, where=path)
    return predictions


def splits(path: Path) -> list[str]:
    """The split that a run under way or finished has read, if its head says so."""
    head = files.read_json(path / "run.json") if files.is_file(path / "run.json") else None
    split = head.get("split") if isinstance(head, dict) else None
    return [split] if isinstance(split, str) else []
