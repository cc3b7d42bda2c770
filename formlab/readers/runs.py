"""A folder written by `formlab run`, finished or not."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import polars as pl

from formlab import files, systems
from formlab.errors import DataBroken
from formlab.folders import Corpus, Predictions


def read(path: Path, corpus: Corpus) -> Predictions:
    """The predictions of a run; of one under way or killed, what it has finished.

    Raises
    ------
    DataBroken
        If the run has not begun, read another benchmark than `corpus`, or a prompt has changed
        since, so that its answers cannot be matched.
    """
    if files.is_file(Predictions.home(path) / "manifest.json"):
        predictions = Predictions.load(path)
    else:
        # Nothing else here needs what asks models.
        from formlab.systems import chat

        predictions = systems.unfinished(path) or chat.unfinished(path, corpus)
        if predictions is None:
            raise DataBroken("a run that has not begun", where=path, remedy="formlab run … --out")
    return _checked(predictions, path, corpus)


def read_some(path: Path, corpus: Corpus, only: pl.Expr) -> Predictions:
    """The same for the rows for which `only` is true; of a finished run no others are read."""
    if files.is_file(Predictions.home(path) / "manifest.json"):
        run = Predictions.opened(path)
        frames = {name: run.scan(name).filter(only).collect() for name in run.TABLES}
        return _checked(dataclasses.replace(run, **frames).check(), path, corpus)
    whole = read(path, corpus)
    records, responses = whole.records.filter(only), whole.responses.filter(only)
    return dataclasses.replace(whole, records=records, responses=responses)


def _checked(predictions: Predictions, path: Path, corpus: Corpus) -> Predictions:
    others = set(predictions.records["benchmark"].unique()) - {corpus.benchmark}
    if others:
        listed = ", ".join(sorted(others))
        raise DataBroken(f"this run read {listed}, not {corpus.benchmark}", where=path)
    return predictions


def splits(path: Path) -> list[str]:
    """The split that a run under way or finished has read, if its head says so."""
    head = files.read_json(path / "run.json") if files.is_file(path / "run.json") else None
    split = head.get("split") if isinstance(head, dict) else None
    return [split] if isinstance(split, str) else []
