"""Readers of predictions made elsewhere: one file each, one registry line each."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from formlab.errors import DataBroken, DataMissing
from formlab.formats._spec import Format
from formlab.registry import Registry

if TYPE_CHECKING:
    from formlab.folders import Corpus, Predictions

_OWN = ("omniai",)
FORMATS = Registry(
    "formats",
    {name: f"formlab.formats.{name}:FORMAT" for name in _OWN},
)


def splits(path: str | Path) -> list[str]:
    """The splits that a file or folder holds predictions for; empty where it does not say."""
    path = Path(path)
    for form in _in_order():
        # Not Path.exists(), which raises on names that no file can have.
        if form.splits and os.path.exists(path) and form.is_one(path):
            return form.splits(path)
    return []


def read_predictions(
    path: str | Path,
    corpus: Corpus,
    *,
    documents: Collection[str] | None = None,
    others: bool = False,
) -> Predictions:
    """The predictions in a file or folder, in whatever registered format it is.

    Parameters
    ----------
    path
        The file or folder.
    corpus
        What they are for. A format may need all of it: a row's task, where the file does not say
        it, is the commonest of the corpus.
    documents
        Of which documents, such as those of a shard: `doc_id`; without them, of all. A finished run
        is then read in parts; other formats are read as a whole and cut. Notes and sources are
        those of the whole.
    others
        All documents but those.

    Raises
    ------
    DataMissing
        If there is nothing at `path`.
    DataBroken
        If no format fits, or the one that fits meets something it cannot read.
    """
    path = Path(path)
    if not os.path.exists(path):
        raise DataMissing("no such file or folder", where=path, remedy="check --predictions")
    for form in _in_order():
        if form.is_one(path):
            return _read(form, path, corpus, documents, others)
    known = "; ".join(form.title for form in FORMATS.values())
    raise DataBroken("no known format of predictions", where=path, remedy=f"one of: {known}")


def _read(
    form: Format, path: Path, corpus: Corpus, documents: Collection[str] | None, others: bool
) -> Predictions:
    if documents is None:
        return form.read(path, corpus)
    import polars as pl

    chosen = pl.col("doc_id").is_in(sorted(documents)).xor(pl.lit(others))
    if form.read_some is not None:
        return form.read_some(path, corpus, chosen)
    predictions = form.read(path, corpus)
    return dataclasses.replace(
        predictions, records=predictions.records.filter(chosen),
        responses=predictions.responses.filter(chosen),
    )  # fmt: skip


def _in_order() -> list[Format]:
    """The formats as they are tried: those that take any table after plug-ins."""
    last = ("plain", "own")
    return [FORMATS[name] for name in (*(name for name in FORMATS if name not in last), *last)]
