"""Predictions as FinCriticalED publishes them: a folder of ``pred_<i>.txt``, HTML or plain text."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from formlab import files, tables
from formlab.errors import DataBroken
from formlab.formats._spec import Format
from formlab.tables import Corpus, Predictions

_NAME = re.compile(r"pred_(\d+)\.txt")


def is_one(path: Path) -> bool:
    """Whether `path` is a folder with at least one ``pred_<i>.txt``."""
    return path.is_dir() and any(_NAME.fullmatch(file.name) for file in path.glob("pred_*.txt"))


def read(path: Path, corpus: Corpus) -> Predictions:
    """The page that a system wrote for each document; the folder's name is the system's.

    A file that is not UTF-8 is read as latin-1, as the released code does, and counted.
    """
    notes: Counter[str] = Counter()
    rows, sources = [], {}
    numbered = {int(m[1]): f for f in path.glob("pred_*.txt") if (m := _NAME.fullmatch(f.name))}
    for number in sorted(numbered):
        file = numbered[number]
        try:
            text = files.read_text(file)
        except DataBroken:
            text = files.read_text(file, encodings=("latin-1",))
            notes["files in latin-1"] += 1
        sources[file.name] = files.sha256(file)
        rows.append({
            "benchmark": corpus.benchmark, "split": corpus.split, "doc_id": str(number),
            "role": "prediction", "system": path.resolve().name, "task": "text", "kind": "page",
            "value": text, "status": "ok", "origin": file.name,
        })  # fmt: skip
    return Predictions(
        records=tables.table("records", rows),
        responses=tables.table("responses", []),
        system=path.resolve().name,
        sources=sources,
        notes=dict(notes),
    )


FORMAT = Format("fincriticaled", "a folder of pred_<i>.txt as in FinCriticalED", is_one, read)
