"""What a benchmark is to formlab: one entry of the registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from formlab.errors import UnknownName
from formlab.tables import Corpus


@dataclass(frozen=True)
class Benchmark:
    """A source of forms with gold records.

    `splits` maps each split, as published, to its count of documents; `tasks` are the tasks its
    gold can be scored on; `modes` are the ways to score it, the default first; `read` loads one
    split from a folder in the published layout; `find_splits`, where given, tells the splits that
    a folder holds and their counts, beside those in `splits`.
    """

    name: str
    title: str
    licence: str
    citation: str
    source: str
    splits: dict[str, int]
    tasks: tuple[str, ...]
    read: Callable[[str, Path], Corpus]
    slices: tuple[str, ...] = ("kind",)
    modes: tuple[str, ...] = ("fixed",)
    find_splits: Callable[[Path], dict[str, int]] | None = None

    def splits_in(self, root: Path) -> dict[str, int]:
        """The splits that can be asked for under `root`, and their counts of documents."""
        return self.splits | (self.find_splits(root) if self.find_splits else {})

    def first_split(self, root: Path) -> str:
        """The split that is loaded where none is asked for: the first one found under `root`."""
        found = self.find_splits(root) if self.find_splits else {}
        return next(iter(found or self.splits))

    def load(self, split: str, root: Path) -> Corpus:
        """The corpus of one split under `root`.

        Raises
        ------
        UnknownName
            If the benchmark has no such split.
        DataMissing, DataBroken
            If files are absent or unreadable.
        """
        known = self.splits_in(root)
        if split not in known:
            raise UnknownName.of(f"split of {self.name}", split, known)
        return self.read(split, root).check()
