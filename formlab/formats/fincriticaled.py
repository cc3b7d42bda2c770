"""Predictions as FinCriticalED publishes them: a folder of ``pred_<i>.txt``, HTML or plain text."""

from __future__ import annotations

import re
from pathlib import Path

from formlab.benchmarks.fincriticaled import decoded
from formlab.folders import Corpus, Predictions
from formlab.formats._collected import Collected
from formlab.formats._spec import Format

_NAME = re.compile(r"pred_(\d+)\.txt")


def is_one(path: Path) -> bool:
    """Whether `path` is a folder with at least one ``pred_<i>.txt``."""
    return path.is_dir() and any(_NAME.fullmatch(file.name) for file in path.glob("pred_*.txt"))


def read(path: Path, corpus: Corpus) -> Predictions:
    """The page that a system wrote for each document; the folder's name is the system's.

    A file that is not UTF-8 is read as latin-1, as the released code does, and counted.
    """
    collected = Collected(corpus, path.resolve().name)
    named = ((_NAME.fullmatch(file.name), file) for file in path.glob("pred_*.txt"))
    numbered = sorted((int(match[1]), file) for match, file in named if match)
    for number, file in numbered:
        collected.records.append({
            "doc_id": str(number), "task": "text", "kind": "page", "status": "ok",
            "value": decoded(file, collected.notes), "origin": file.name,
        })  # fmt: skip
    return collected.predictions(file for _, file in numbered)


FORMAT = Format("fincriticaled", "a folder of pred_<i>.txt as in FinCriticalED", is_one, read)
