"""The type of a benchmark: one entry of the registry."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from formlab.errors import UnknownName

if TYPE_CHECKING:
    from formlab.benchmarks.corpus import SplitReader
    from formlab.folders import Corpus


@dataclass(frozen=True)
class Benchmark:
    """A source of forms with gold records.

    `splits` maps each split, as published, to its count of documents; `tasks` are the tasks its
    gold can be scored on; `modes` are the ways to score it, the default first. `read` gives one
    split of a folder in the published layout, as a corpus or as a `SplitReader`, which gives it
    document by document, so that some of it can be read without the rest; `find_splits`, if not
    None, counts the documents of the splits in a folder, beside those in `splits`. A model is asked
    with `prompt`, for an answer of the JSON schema `schema`, whose leaves stand at their JSON
    pointers in the gold; a schema may be a function of a document's row. Without a schema a model
    is asked for the fields that the gold of a document has. A split may have `parts`, the one to
    test on first; the others are read as the split ``<split>-<part>``.
    """

    name: str
    read: Callable[[str, Path], Corpus | SplitReader]
    title: str = ""
    licence: str = "not stated"
    citation: str = ""
    source: str = ""
    splits: dict[str, int] = field(default_factory=dict)
    tasks: tuple[str, ...] = ("text",)
    slices: tuple[str, ...] = ("kind",)
    modes: tuple[str, ...] = ("fixed",)
    find_splits: Callable[[Path], dict[str, int]] | None = None
    parts: tuple[str, ...] = ("test",)
    prompt: str = ""
    schema: dict[str, Any] | Callable[[dict[str, Any]], dict[str, Any]] | None = None

    def schema_of(self, document: dict[str, Any]) -> dict[str, Any] | None:
        """The JSON Schema of a model's answer about a document; None if there is none."""
        return self.schema(document) if callable(self.schema) else self.schema

    def splits_in(self, root: Path) -> dict[str, int]:
        """The splits that can be asked for under `root`, and their counts of documents."""
        return self.splits | (self.find_splits(root) if self.find_splits else {})

    def first_split(self, root: Path) -> str:
        """The split that is loaded where none is asked for: the first one found under `root`."""
        found = self.find_splits(root) if self.find_splits else {}
        return next(iter(found or self.splits))

    def corpora(
        self, split: str, root: Path, part: str | None = None, *, records: float
    ) -> Iterator[Corpus]:
        """One split under `root`, or a part of it (the one to test on), in corpora as of `corpora`.

        `UnknownName` if the benchmark has no such split, or its splits no such part; `DataMissing`
        or `DataBroken` if files are absent or unreadable.
        """
        from formlab.benchmarks.corpus import SplitReader, cut

        known = self.splits_in(root)
        if split not in known:
            split, named = part_of(split, self.parts)
            part = part or named
        if split not in known:
            raise UnknownName.of(f"split of {self.name}", split, known)
        part = part or self.parts[0]
        if part not in self.parts:
            raise UnknownName.of(f"part of a split of {self.name}", part, self.parts)
        found = self.read(split if part == self.parts[0] else f"{split}-{part}", root)
        is_reader = isinstance(found, SplitReader)
        yield from found.corpora(records) if is_reader else cut(found.check(), records)


def part_of(name: str, parts: tuple[str, ...]) -> tuple[str, str]:
    """The split's own name, and which of its `parts` a corpus of that name has.

    >>> part_of("train_3-test_6-SD_0-train", ("test", "train"))
    ('train_3-test_6-SD_0', 'train')
    >>> part_of("train_3-test_6-SD_0", ("test", "train"))
    ('train_3-test_6-SD_0', 'test')
    """
    split, _, part = name.rpartition("-")
    return (split, part) if part in parts else (name, parts[0])


def builtin() -> dict[str, Benchmark]:
    """formlab's own benchmarks, as `benchmarks.toml` lists them."""
    listed = tomllib.loads(Path(__file__).with_name("benchmarks.toml").read_text("utf-8"))
    return {name: Benchmark(name, **_values(entry)) for name, entry in listed.items()}


def _values(entry: dict[str, Any]) -> dict[str, Any]:
    def later(function: str) -> Callable[..., Any]:
        """The function ``module:name``, which is imported when it is called."""
        return lambda *values: resolve_name(function)(*values)

    functions = {
        key: later(entry[key]) for key in ("read", "find_splits", "schema") if key in entry
    }
    tuples = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
    return entry | functions | tuples
