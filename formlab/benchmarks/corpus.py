"""What the readers of benchmarks share: documents read one by one, corpora of them, images."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from formlab import files, pictures, tables
from formlab.errors import DataBroken, DataMissing, FormlabError, GoldInDoubt
from formlab.folders import Corpus

Row = dict[str, Any]
# The row of a document, and its gold records as rows or, which is quicker, as columns.
Part = tuple[Row, list[Row] | dict[str, Sequence[Any]]]


@dataclass(frozen=True)
class SplitReader:
    """One split of a benchmark, of which any documents can be read without the others.

    `units` are what documents are read from, such as files; ``read(unit, flaws, sources)`` yields
    those of one with their gold records and counts what is odd; `flaws` and `sources` here are of
    the whole split; `empty` is raised where there is no document.

    A unit whose own file (`file_of`) cannot be read is left out, counted as `unread`, and listed
    with the reason. It is an error if the gold contradicts itself (`GoldInDoubt`), if the file
    holds other documents (`file_of` is None), or if no unit can be read.
    """

    benchmark: str
    split: str
    root: Path
    units: Sequence[Any]
    read: Callable[[Any, Counter[str], dict[str, str]], Iterator[Part]]
    flaws: Counter[str] = field(default_factory=Counter)
    sources: dict[str, str] = field(default_factory=dict)
    empty: FormlabError | None = None
    file_of: Callable[[Any], Path | None] = lambda unit: unit if isinstance(unit, Path) else None
    unread: str = "documents unreadable"

    def corpora(self, records: float) -> Iterator[Corpus]:
        """The documents in corpora of at most so many gold records, or of one document."""
        # What is odd in the split as a whole is counted once.
        batch, is_first = _Batch(self, Counter(self.flaws)), True
        for unit in self.units:
            flaws, sources = Counter[str](), dict[str, str]()
            for document, rows in self._parts(unit, flaws, sources, batch.unreadable):
                columns = rows if isinstance(rows, dict) else tables.columns_of(rows, _GOLD)
                count = len(next(iter(columns.values()), ()))
                if batch.documents and len(batch.columns["doc_id"]) + count > records:
                    yield batch.corpus()
                    batch, is_first = _Batch(self, Counter()), False
                batch.add(document, columns, count, self.file_of(unit))
                batch.note(flaws, sources)
            batch.note(flaws, sources)
        if is_first and not batch.documents and (batch.unreadable or self.empty):
            raise none_read(batch.unreadable, self.root) if batch.unreadable else self.empty
        yield batch.corpus()

    def _parts(
        self, unit: Any, flaws: Counter[str], sources: dict[str, str], unreadable: dict[str, str]
    ) -> Iterator[Part]:
        """The documents of a unit; none, and nothing counted, if its own file cannot be read."""
        if (file := self.file_of(unit)) is None:
            yield from self.read(unit, flaws, sources)
            return
        try:
            # All of them or none.
            yield from list(self.read(unit, flaws, sources))
        except GoldInDoubt:
            raise
        except (DataBroken, DataMissing, RecursionError) as error:
            flaws.clear()
            sources.clear()
            flaws[self.unread] += 1
            what = error if isinstance(error, FormlabError) else f"nested too deeply ({file})"
            reason = str(what).replace(f"{self.root}/", "")
            unreadable[file.relative_to(self.root).as_posix()] = reason


# What all records of gold have, unless they say otherwise.
_GOLD = {"role": "gold", "status": "ok"}


class _Batch:
    """The records of some documents as they are collected."""

    def __init__(self, split: SplitReader, flaws: Counter[str]) -> None:
        self.split, self.flaws, self.sources = split, flaws, dict(split.sources)
        self.documents, self.columns = list[Row](), dict[str, list[Any]](doc_id=[])
        self.unreadable: dict[str, str] = {}

    def add(self, document: Row, columns: Mapping[str, Any], count: int, file: Any) -> None:
        """Take a document and its records, which are so many."""
        paths = [path for path in columns.get("path", ()) if path is not None]
        if len(set(paths)) < len(paths):
            twice = next(path for path, count in Counter(paths).items() if count > 1)
            what = f"two values of {document['doc_id']} at one path: {twice}"
            raise GoldInDoubt(what, where=file, remedy="keep one of them")
        self.documents.append(document)
        columns = {**columns, "doc_id": [document["doc_id"]] * count}
        height = len(self.columns["doc_id"])
        for name in columns.keys() | self.columns.keys():
            usual = [_GOLD.get(name)]
            column = self.columns.setdefault(name, usual * height)
            column += columns.get(name, usual * count)

    def note(self, flaws: Counter[str], sources: dict[str, str]) -> None:
        """Take over what was counted since the last time."""
        self.flaws.update(flaws)
        self.sources |= sources
        flaws.clear()
        sources.clear()

    def corpus(self) -> Corpus:
        base = {"benchmark": self.split.benchmark, "split": self.split.split}
        return Corpus(
            documents=tables.table("documents", self.documents, **base),
            records=tables.table("records", self.columns, **base, **_GOLD),
            **base,
            root=self.split.root,
            flaws={what: count for what, count in sorted(self.flaws.items()) if count},
            sources=self.sources,
            unreadable=self.unreadable,
        ).check()


def none_read(unreadable: dict[str, str], where: Path | None) -> DataBroken:
    """The error for documents of which none can be read, with the reason of the first."""
    first = next(iter(unreadable.values()))
    what = f"no document can be read, the first of {len(unreadable)}: {first}"
    return DataBroken(what, where=where)


def cut(corpus: Corpus, records: float) -> Iterator[Corpus]:
    """A corpus as corpora of at most so many gold records each, or of one document."""
    if corpus.records.height <= records:
        yield corpus
        return
    heights = dict(corpus.records.group_by("doc_id").len().iter_rows())
    names = corpus.documents["doc_id"]
    numbers = batch_numbers((heights.get(name, 0) for name in names), records)
    for number in numbers.unique(maintain_order=True):
        part = corpus.filtered(pl.col("doc_id").is_in(names.filter(numbers == number).implode()))
        # What is odd in the whole is counted once.
        yield part if number == 0 else dataclasses.replace(part, flaws={}, unreadable={})


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


def counts_of(rows: Iterable[Row]) -> Row:
    """The columns `n_fields` and `n_kinds` of a document by the rows of its fields.

    >>> counts_of([{"kind": "date"}, {"kind": "money"}, {"kind": "date"}])
    {'n_fields': 3, 'n_kinds': 2}
    """
    kinds = [row["kind"] for row in rows]
    return {"n_fields": len(kinds), "n_kinds": len(set(kinds))}


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
