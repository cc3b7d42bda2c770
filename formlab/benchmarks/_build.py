"""What the readers of benchmarks share: documents read one by one, corpora of them, images."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from formlab import benchmarks, files, pictures, tables
from formlab.errors import DataBroken, DataMissing, FormlabError, GoldInDoubt
from formlab.folders import Corpus

Row = dict[str, Any]
# The row of a document, and those of its gold records: row by row, or column by column.
Columns = dict[str, list[Any]]
Rows = list[Row] | Columns
# What is counted of files that cannot be read.
UNREADABLE = "documents unreadable"
# Records that become a part of the table together: those of a few documents, while they are in the
# processor's cache.
_AT_ONCE = 6000
Part = tuple[Row, Rows]


def _own_file(unit: Any) -> Path | None:
    return unit if isinstance(unit, Path) else None


@dataclass(frozen=True)
class SplitReader:
    """One split of a benchmark, of which any documents can be read without the others.

    `units` are what documents are read from, such as their files, in the order of the corpus;
    ``read(unit, flaws, sources)`` yields the documents of a unit with their gold records, which
    lack only what all rows share, and counts what is odd in `flaws`. What is known of the whole
    split before its documents are read stands in the `flaws` and `sources` here.

    A unit whose own file (`file_of`; by default the unit, if it is a path) cannot be read as what
    it should be is left out, counted as `unread`, and listed with the reason: as a document
    without gold, whatever a system reads there would count as wrong. It is an error if the gold
    contradicts itself (`GoldInDoubt`), if the file holds documents beside the one that is broken
    (`file_of` is None), or if no unit can be read.
    """

    benchmark: str
    split: str
    root: Path
    units: Sequence[Any]
    read: Callable[[Any, Counter[str], dict[str, str]], Iterator[Part]]
    flaws: Counter[str] = field(default_factory=Counter)
    sources: dict[str, str] = field(default_factory=dict)
    # Raised where there is no document.
    empty: FormlabError | None = None
    file_of: Callable[[Any], Path | None] = _own_file
    unread: str = UNREADABLE

    @tables.uncollected()
    def corpus(self, start: int = 0, stop: int | None = None) -> Corpus:
        """The documents of the units from `start` up to `stop`, by default of all."""
        return next(self.corpora(math.inf, start, stop))

    def corpora(self, records: float, start: int = 0, stop: int | None = None) -> Iterator[Corpus]:
        """The same in corpora of at most so many gold records, or of one document."""
        # What is odd in the split as a whole is counted once.
        growing = _Growing(self, Counter() if start else Counter(self.flaws))
        whole, first = not start and stop is None, True
        flaws, sources = Counter[str](), dict[str, str]()
        for unit in self.units[start:stop]:
            for document, rows in self._parts(unit, flaws, sources, growing.unreadable):
                columns = _by_column(rows, growing.gold)
                if growing.documents and growing.height + len(columns["path"]) > records:
                    yield growing.corpus()
                    growing, first = _Growing(self, Counter()), False
                growing.add(document, columns)
                growing.note(flaws, sources)
            growing.note(flaws, sources)
        if whole and first and not growing.documents:
            if growing.unreadable:
                raise benchmarks.none_read(growing.unreadable, self.root)
            if self.empty:
                raise self.empty
        yield growing.corpus()

    def _parts(
        self, unit: Any, flaws: Counter[str], sources: dict[str, str], unreadable: dict[str, str]
    ) -> Iterator[Part]:
        """The documents of a unit; none if its own file cannot be read.

        `flaws` and `sources` are empty before it.
        """
        if (file := self.file_of(unit)) is None:
            yield from self.read(unit, flaws, sources)
            return
        try:
            # All of them or none.
            parts = list(self.read(unit, flaws, sources))
            for document, rows in parts:
                _check_paths(document, rows, file)
        except GoldInDoubt:
            raise
        except (DataBroken, DataMissing, RecursionError) as error:
            # What was counted of it so far.
            flaws.clear()
            sources.clear()
            flaws[self.unread] += 1
            what = error if isinstance(error, FormlabError) else f"nested too deeply ({file})"
            reason = str(what).replace(f"{self.root}/", "")
            unreadable[file.relative_to(self.root).as_posix()] = reason
        else:
            yield from parts


def _by_column(rows: Rows, same: Row) -> Columns:
    """The columns of some rows; `same` has the values of what a row leaves out."""
    if not isinstance(rows, list):
        return rows
    names = dict.fromkeys(["path", *(name for row in rows for name in row)])
    return {name: [row.get(name, same.get(name)) for row in rows] for name in names}


def _check_paths(document: Row, rows: Rows, file: Path) -> None:
    """`GoldInDoubt` if two values of a document stand at one path."""
    if isinstance(rows, list):
        paths = Counter(row["path"] for row in rows if row.get("path") is not None)
        if twice := [path for path, count in paths.items() if count > 1]:
            what = f"two values of {document['doc_id']} at one path: {twice[0]}"
            raise GoldInDoubt(what, where=file, remedy="keep one of them")


class _Growing:
    """The rows of some documents as they are collected."""

    def __init__(self, split: SplitReader, flaws: Counter[str]) -> None:
        self.split, self.flaws, self.sources = split, flaws, dict(split.sources)
        self.documents: list[Row] = []
        self.unreadable: dict[str, str] = {}
        self.base = {"benchmark": split.benchmark, "split": split.split}
        self.gold = self.base | {"role": "gold", "status": "ok"}
        self.height, self.parts = 0, list[pl.DataFrame]()
        self.records: Columns = {"doc_id": []}

    def add(self, document: Row, columns: Columns) -> None:
        self.documents.append(document)
        before, count = len(self.records["doc_id"]), len(columns["path"])
        self.height += count
        columns = columns | {"doc_id": [document["doc_id"]] * count}
        for name in self.records | columns:
            usual = [self.gold.get(name)]
            waiting = self.records.setdefault(name, usual * before)
            waiting += columns.get(name, usual * count)
        if before + count >= _AT_ONCE:
            self._to_table()

    def _to_table(self) -> None:
        self.parts.append(tables.table("records", self.records, **self.gold))
        self.records = {"doc_id": []}

    def note(self, flaws: Counter[str], sources: dict[str, str]) -> None:
        """Take over what was counted since the last time."""
        self.flaws.update(flaws)
        self.sources |= sources
        flaws.clear()
        sources.clear()

    def corpus(self) -> Corpus:
        self._to_table()
        return Corpus(
            documents=tables.table("documents", self.documents, **self.base),
            records=pl.concat(self.parts, rechunk=True),
            **self.base,
            root=self.split.root,
            flaws={what: count for what, count in sorted(self.flaws.items()) if count},
            sources=self.sources,
            unreadable=self.unreadable,
        )


def cut(corpus: Corpus, records: float) -> Iterator[Corpus]:
    """A corpus as corpora of at most so many gold records each, or of one document."""
    heights = dict(corpus.records.group_by("doc_id").len().iter_rows())
    names = corpus.documents["doc_id"]
    numbers = batch_numbers((heights.get(name, 0) for name in names), records)
    for number in range((numbers.max() or 0) + 1):
        chosen = pl.col("doc_id").is_in(names.filter(numbers == number).implode())
        yield dataclasses.replace(
            corpus, documents=corpus.documents.filter(chosen),
            records=corpus.records.filter(chosen), flaws={} if number else corpus.flaws,
            unreadable={} if number else corpus.unreadable,
        )  # fmt: skip


def batch_numbers(counts: Iterable[int], records: float) -> pl.Series:
    """The number of the batch of each document, by the counts of their records.

    >>> batch_numbers([2, 2, 9, 1], 4).to_list()
    [0, 0, 1, 2]
    """
    numbers, total = [0], 0
    for count in counts:
        is_full = total > 0 and total + count > records
        numbers.append(numbers[-1] + is_full)
        total = count if is_full else total + count
    return pl.Series(numbers[1:], dtype=pl.Int64)


def image_columns(
    root: Path, image: str | Path | None, flaws: Counter[str], *, missing: str = "images missing"
) -> Row:
    """The columns `image`, `width` and `height` of a page; what is not there is counted."""
    row: Row = {}
    try:
        if image is not None:
            row["width"], row["height"] = pictures.image_size(image)
    except (DataBroken, DataMissing):
        if files.is_file(image):
            # Whatever opens the image reports why; the document stays.
            flaws["images unreadable"] += 1
        else:
            image = None
    if image is None:
        flaws[missing] += 1
        return {}
    name, folder = str(image), f"{root}/"
    # A third of the time that `relative_to` takes, which has the last word.
    inside = name.startswith(folder)
    row["image"] = name[len(folder) :] if inside else Path(image).relative_to(root).as_posix()
    return row


def box_of(value: Any) -> tuple[float, float, float, float] | None:
    """A list of four finite numbers as a box; None for anything else.

    >>> box_of([1, 2, 3.5, 4]), box_of([1, 2, 3]), box_of([1, 2, 3, float("inf")])
    ((1.0, 2.0, 3.5, 4.0), None, None)
    """
    try:
        box = msgspec.convert(value, tuple[float, float, float, float])
    except (ValueError, OverflowError):
        return None
    return box if all(map(math.isfinite, box)) else None
