"""Predictions as FinCriticalED publishes them: a folder of ``pred_<i>.txt``, HTML or plain text."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from formlab.benchmarks.fincriticaled import decoded
from formlab.errors import DataBroken
from formlab.folders import Corpus, Predictions
from formlab.formats._collected import Collected
from formlab.formats._spec import Format

# Python makes no integer of more digits than some thousand.
_NAME = re.compile(r"pred_([0-9]{1,18})\.txt")


def is_one(path: Path) -> bool:
    """Whether `path` is a folder with at least one ``pred_<i>.txt``."""
    return path.is_dir() and any(_NAME.fullmatch(file.name) for file in path.glob("pred_*.txt"))


def read(path: Path, corpus: Corpus) -> Predictions:
    """The page that a system wrote for each document; the folder's name is the system's.

    A file that is not UTF-8 is read as latin-1, as the released code does, and counted.

    Raises
    ------
    DataMissing, DataBroken
        If a file cannot be read, or two are of one number (``pred_2.txt`` and ``pred_02.txt``).
    """
    collected = Collected(corpus, path.resolve().name)
    named = ((_NAME.fullmatch(file.name), file) for file in path.glob("pred_*.txt"))
    numbered = sorted((int(match[1]), file) for match, file in named if match)
    for (number, first), (following, second) in pairwise(numbered):
        if number == following:
            what = f"two pages of number {number}, the first in {first.name}"
            raise DataBroken(what, where=second, remedy="keep one of them")
    for number, file in numbered:
        collected.records.append({
            "doc_id": str(number), "task": "text", "kind": "page", "status": "ok",
            "value": decoded(file, collected.notes), "origin": file.name,
        })  # fmt: skip
    return collected.predictions(file for _, file in numbered)


FORMAT = Format("fincriticaled", "a folder of pred_<i>.txt as in FinCriticalED", is_one, read)
