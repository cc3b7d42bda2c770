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
# The row of a document, and those of its gold records.
Part = tuple[Row, list[Row]]
# How many rows are collected before they become a table.
_ROWS = 3_000
# What is counted of files that cannot be read.
UNREADABLE = "documents unreadable"


@dataclass(frozen=True)
class SplitReader:
    """One split of a benchmark, of which any documents can be read without the others.

    `units` are what documents are read from, such as their files, in the order of the corpus;
    ``read(unit, flaws, sources)`` yields the documents of a unit with their gold records, which
    lack only what all rows share, and counts what is odd in `flaws`. What is known of the whole
    split before its documents are read stands in the `flaws` and `sources` here.

    A unit whose own file (`file_of`) cannot be read is left out, counted as `unread`, and listed
    with the reason. It is an error if the gold contradicts itself (`GoldInDoubt`), if the file
    holds documents beside the one that is broken (`file_of` is None), or if no unit can be read.
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
    file_of: Callable[[Any], Path | None] = lambda unit: unit if isinstance(unit, Path) else None
    unread: str = UNREADABLE

    @tables.uncollected()
    def corpus(self) -> Corpus:
        """The documents of all units."""
        return next(self.corpora(math.inf))

    def corpora(self, records: float) -> Iterator[Corpus]:
        """The same in corpora of at most so many gold records, or of one document."""
        # What is odd in the split as a whole is counted once.
        growing, is_first = _Growing(self, Counter(self.flaws)), True
        for unit in self.units:
            flaws, sources = Counter[str](), dict[str, str]()
            for document, rows in self._parts(unit, flaws, sources, growing.unreadable):
                if growing.documents and growing.height + len(rows) > records:
                    yield growing.corpus()
                    growing, is_first = _Growing(self, Counter()), False
                growing.add(document, rows)
                growing.note(flaws, sources)
            growing.note(flaws, sources)
        if is_first and not growing.documents:
            if growing.unreadable:
                raise benchmarks.none_read(growing.unreadable, self.root)
            if self.empty:
                raise self.empty
        yield growing.corpus()

    def _parts(
        self, unit: Any, flaws: Counter[str], sources: dict[str, str], unreadable: dict[str, str]
    ) -> Iterator[Part]:
        """The documents of a unit; none, and nothing counted, if its own file cannot be read."""
        if (file := self.file_of(unit)) is None:
            yield from self.read(unit, flaws, sources)
            return
        try:
            # All of them or none.
            parts = list(self.read(unit, flaws, sources))
        except GoldInDoubt:
            raise
        except (DataBroken, DataMissing, RecursionError) as error:
            flaws.clear()
            sources.clear()
            flaws[self.unread] += 1
            what = error if isinstance(error, FormlabError) else f"nested too deeply ({file})"
            reason = str(what).replace(f"{self.root}/", "")
            unreadable[file.relative_to(self.root).as_posix()] = reason
            return
        for document, rows in parts:
            paths = Counter(row["path"] for row in rows if row.get("path") is not None)
            if twice := [path for path, count in paths.items() if count > 1]:
                what = f"two values of {document['doc_id']} at one path: {twice[0]}"
                raise GoldInDoubt(what, where=file, remedy="keep one of them")
        yield from parts


def corpus_reader(reader: Callable[[str, Path], SplitReader]) -> Callable[[str, Path], Corpus]:
    """The function that reads all documents of a split at once."""
    return lambda split, root: reader(split, root).corpus()


class _Growing:
    """The rows of some documents as they are collected."""

    def __init__(self, split: SplitReader, flaws: Counter[str]) -> None:
        self.split, self.flaws, self.sources = split, flaws, dict(split.sources)
        self.documents: list[Row] = []
        self.unreadable: dict[str, str] = {}
        self.base = {"benchmark": split.benchmark, "split": split.split}
        self.height, self.parts = 0, list[pl.DataFrame]()
        self.rows, self.names = list[Row](), list[str]()

    def add(self, document: Row, rows: list[Row]) -> None:
        self.documents.append(document)
        self.height += len(rows)
        self.rows += rows
        self.names += [files.storable(document["doc_id"])] * len(rows)
        if len(self.rows) >= _ROWS:
            self.flush()

    def flush(self) -> None:
        """Make a table of the rows so far."""
        made = tables.table("records", self.rows, **self.base, role="gold", status="ok")
        self.parts.append(made.with_columns(pl.Series("doc_id", self.names, pl.String)))
        self.rows, self.names = [], []

    def note(self, flaws: Counter[str], sources: dict[str, str]) -> None:
        """Take over what was counted since the last time."""
        self.flaws.update(flaws)
        self.sources |= sources
        flaws.clear()
        sources.clear()

    def corpus(self) -> Corpus:
        self.flush()
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
    return row | {"image": Path(image).relative_to(root).as_posix()}


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
