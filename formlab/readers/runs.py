"""A folder written by `formlab run`, finished or not."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import polars as pl

from formlab import files, systems
from formlab.errors import DataBroken
from formlab.folder import table
from formlab.folders import Corpus, Predictions


def read(path: Path, corpus: Corpus, only: pl.Expr | None = None) -> Predictions:
    """The predictions of a run; of one under way or killed, what it has finished.

    Of a finished run no other rows are read than those for which `only` is true. `DataBroken` if
    the run has not begun, read another benchmark than `corpus`, or a prompt has changed since, so
    that its answers cannot be matched.
    """
    if files.is_file(path / "manifest.json"):
        manifest = Predictions.manifest_of(path)
        hashes = {name: manifest["tables"][name]["sha256"] for name in Predictions.TABLES}
        frames = {name: table(path, name, sha256, only) for name, sha256 in hashes.items()}
        predictions = Predictions(**frames, **Predictions.fields_in(manifest)).check()
    else:
        # Nothing else here needs what asks models.
        from formlab.systems import chat

        predictions = systems.unfinished(path) or chat.unfinished(path, corpus)
        if predictions is None:
            raise DataBroken("a run that has not begun", where=path, remedy="formlab run … --out")
        if only is not None:
            parts = {name: getattr(predictions, name).filter(only) for name in Predictions.TABLES}
            predictions = dataclasses.replace(predictions, **parts)
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
