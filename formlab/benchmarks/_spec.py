"""The type of a benchmark: one entry of the registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from formlab.errors import UnknownName

if TYPE_CHECKING:
    from formlab.benchmarks._build import SplitReader
    from formlab.folders import Corpus


def _when_called(function: Callable[..., Any] | str) -> Callable[..., Any]:
    """`function` itself; one that is named ``module:function`` is imported when it is called."""
    if not isinstance(function, str):
        return function
    return lambda *values: resolve_name(function)(*values)


@dataclass(frozen=True)
class Benchmark:
    """A source of forms with gold records.

    `splits` maps each split, as published, to its count of documents; `tasks` are the tasks its
    gold can be scored on; `modes` are the ways to score it, the default first; `read` loads one
    split from a folder in the published layout, and `reader`, if not None, gives it document by
    document, so that some of it can be read without the rest; `find_splits`, if not None, counts
    the documents of the splits in a folder, beside those in `splits`. These are functions, or are
    named as ``module:function`` and imported when used. A model is asked with `prompt`, for an
    answer of the JSON schema `schema`, whose leaves stand at their JSON pointers in the gold; a
    schema may be a function, or the name of one, of a document's row. Without a schema a model is
    asked for the fields that the gold of a document has. A split may have `parts`, the one to test
    on first; the others are read as the split ``<split>-<part>``.
    """

    name: str
    read: Callable[[str, Path], Corpus]
    title: str = ""
    licence: str = "not stated"
    citation: str = ""
    source: str = ""
    splits: dict[str, int] = field(default_factory=dict)
    tasks: tuple[str, ...] = ("text",)
    slices: tuple[str, ...] = ("kind",)
    modes: tuple[str, ...] = ("fixed",)
    find_splits: Callable[[Path], dict[str, int]] | None = None
    reader: Callable[[str, Path], SplitReader] | None = None
    parts: tuple[str, ...] = ("test",)
    prompt: str = ""
    schema: dict[str, Any] | Callable[[dict[str, Any]], dict[str, Any]] | str | None = None

    def __post_init__(self) -> None:
        # A reader named as text is imported when used, so that listing benchmarks imports none.
        object.__setattr__(self, "read", _when_called(self.read))
        for name in ("find_splits", "reader"):
            if getattr(self, name):
                object.__setattr__(self, name, _when_called(getattr(self, name)))

    def schema_of(self, document: dict[str, Any]) -> dict[str, Any] | None:
        """The JSON Schema of a model's answer about a document; None if there is none."""
        if self.schema is None or isinstance(self.schema, dict):
            return self.schema
        return _when_called(self.schema)(document)

    def splits_in(self, root: Path) -> dict[str, int]:
        """The splits that can be asked for under `root`, and their counts of documents."""
        return self.splits | self._in_folder(root)

    def first_split(self, root: Path) -> str:
        """The split that is loaded where none is asked for: the first one found under `root`."""
        return next(iter(self._in_folder(root) or self.splits))

    def _in_folder(self, root: Path) -> dict[str, int]:
        return self.find_splits(root) if self.find_splits else {}

    def load(self, split: str, root: Path, part: str | None = None) -> Corpus:
        """The corpus of one split under `root`, or of a part of it (the one to test on).

        Raises
        ------
        UnknownName, DataMissing, DataBroken
            As for `named`, and if files are absent or unreadable.
        """
        return self.read(self.named(split, root, part), root).check()

    def named(self, split: str, root: Path, part: str | None = None) -> str:
        """The name of one split under `root`, or of a part of it (the one to test on).

        Raises
        ------
        UnknownName
            If the benchmark has no such split, or its splits no such part.
        """
        known = self.splits_in(root)
        if split not in known:
            split, named = part_of(split, self.parts)
            part = part or named
        if split not in known:
            raise UnknownName.of(f"split of {self.name}", split, known)
        part = part or self.parts[0]
        if part not in self.parts:
            raise UnknownName.of(f"part of a split of {self.name}", part, self.parts)
        return split if part == self.parts[0] else f"{split}-{part}"


def part_of(name: str, parts: tuple[str, ...]) -> tuple[str, str]:
    """The split's own name, and which of its `parts` a corpus of that name has.

    Examples
    --------
    >>> part_of("train_3-test_6-SD_0-train", ("test", "train"))
    ('train_3-test_6-SD_0', 'train')
    >>> part_of("train_3-test_6-SD_0", ("test", "train"))
    ('train_3-test_6-SD_0', 'test')
    """
    split, _, part = name.rpartition("-")
    return (split, part) if part in parts else (name, parts[0])
