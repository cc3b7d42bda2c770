"""Predictions as they are collected from the files of one system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from formlab import files, tables
from formlab.folders import Corpus, Predictions

Row = dict[str, Any]


class Collected:
    """Rows of *records* and *responses* of one system, without what they all share, and notes.

    A row may say its own `benchmark`, `split` or `role`.
    """

    def __init__(self, corpus: Corpus, system: str) -> None:
        self.corpus, self.system = corpus, system
        self.records: list[Row] = []
        self.responses: list[Row] = []
        self.notes: Counter[str] = Counter()

    def predictions(self, sources: Iterable[Path]) -> Predictions:
        """All of it, with the hashes of the files it is from."""
        key = {"benchmark": self.corpus.benchmark, "split": self.corpus.split}
        key["system"] = self.system
        mark = key | {"role": "prediction"}
        return Predictions(
            records=tables.table("records", [mark | row for row in self.records]),
            responses=tables.table("responses", [key | row for row in self.responses]),
            system=self.system,
            sources={file.name: files.sha256(file) for file in sources},
            notes={what: count for what, count in sorted(self.notes.items()) if count},
        )
