"""Readers of predictions made elsewhere: one file each, one registry line each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from formlab.errors import DataBroken, DataMissing
from formlab.formats._spec import Format
from formlab.registry import Registry

if TYPE_CHECKING:
    from formlab.folders import Corpus, Predictions

_OWN = ("fincriticaled", "formcraft", "omniai", "formfactory", "vrdu", "plain")
FORMATS = Registry(
    "formats",
    {"run": "formlab.formats.runs:FORMAT"}
    | {name: f"formlab.formats.{name}:FORMAT" for name in _OWN}
    | {"own": "formlab.own:FORMAT"},
)


def splits(path: str | Path) -> list[str]:
    """The splits that a file or folder holds predictions for; empty where it does not say."""
    path = Path(path)
    for form in _in_order():
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
    for form in _in_order():
        if form.is_one(path):
            return form.read(path, corpus)
    known = "; ".join(form.title for form in FORMATS.values())
    raise DataBroken("no known format of predictions", where=path, remedy=f"one of: {known}")


def _in_order() -> list[Format]:
    """The formats as they are tried: those that take any table after plug-ins."""
    last = ("plain", "own")
    return [FORMATS[name] for name in (*(name for name in FORMATS if name not in last), *last)]
