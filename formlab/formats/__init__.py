"""Readers of predictions made elsewhere: one file each, one registry line each."""

from __future__ import annotations

from pathlib import Path

from formlab.errors import DataBroken, DataMissing
from formlab.formats import fincriticaled, formcraft, formfactory, omniai, plain, runs, vrdu
from formlab.formats._spec import Format
from formlab.tables import Corpus, Predictions

FORMATS: dict[str, Format] = {
    "run": runs.FORMAT,
    "fincriticaled": fincriticaled.FORMAT,
    "formcraft": formcraft.FORMAT,
    "omniai": omniai.FORMAT,
    "formfactory": formfactory.FORMAT,
    "vrdu": vrdu.FORMAT,
    "plain": plain.FORMAT,
}


def splits(path: str | Path) -> list[str]:
    """The splits that a file or folder holds predictions for; empty where it does not say."""
    path = Path(path)
    for form in FORMATS.values():
        if form.splits and path.exists() and form.is_one(path):
            return form.splits(path)
    return []


def read_predictions(path: str | Path, corpus: Corpus) -> Predictions:
    """The predictions in a file or folder, in whatever registered format it is.

    Raises
    ------
    DataMissing
        If there is nothing at `path`.
    DataBroken
        If no format fits, or the one that fits meets something it cannot read.
    """
    path = Path(path)
    if not path.exists():
        raise DataMissing("no such file or folder", where=path, remedy="check --predictions")
    for form in FORMATS.values():
        if form.is_one(path):
            return form.read(path, corpus)
    known = "; ".join(form.title for form in FORMATS.values())
    raise DataBroken("no known format of predictions", where=path, remedy=f"one of: {known}")
