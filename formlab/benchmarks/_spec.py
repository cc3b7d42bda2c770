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
    split from a folder in the published layout.
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

    def load(self, split: str, root: Path) -> Corpus:
        """The corpus of one split under `root`.

        Raises
        ------
        UnknownName
            If the benchmark has no such split.
        DataMissing, DataBroken
            If files are absent or unreadable.
        """
        if split not in self.splits:
            raise UnknownName.of(f"split of {self.name}", split, self.splits)
        return self.read(split, root).check()
