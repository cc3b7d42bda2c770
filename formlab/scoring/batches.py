"""Gold and predictions of any size as batches of whole documents, written as they are read."""

from __future__ import annotations

import dataclasses
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

import polars as pl

from formlab import benchmarks, readers
from formlab.benchmarks.corpus import batch_numbers
from formlab.errors import DataBroken
from formlab.folders import Corpus, Predictions
from formlab.readers import answers
from formlab.readers.door import stem
from formlab.readers.gold import maker
from formlab.readers.types import FieldTypes, samples
from formlab.readers.values import first_items, listed, pieces
from formlab.scoring import choice

# The kinds of records that are read where they stand on a page.
_READ = ["word", "line"]
_EVERY = pl.lit(value=True)


@dataclasses.dataclass(frozen=True)
class Batch:
    """Some whole documents of a corpus, and what is predicted for them, in files of `folder`.

    Without a folder `corpus` and `predictions` have all rows, else none. The last batch may be of
    answers to documents of no gold.
    """

    number: int
    corpus: Corpus
    predictions: Predictions
    folder: Path | None = None

    def opened(self) -> tuple[Corpus, Predictions]:
        """Its documents with their gold, and what is predicted for them."""
        if self.folder is None:
            return self.corpus, self.predictions
        corpus = _filled(self.corpus, self.folder, self.number)
        return corpus, _filled(self.predictions, self.folder, self.number)


@dataclasses.dataclass(frozen=True)
class Cut:
    """Batches with what the whole is, its tables empty unless it is one batch in memory: the names
    of all documents, and of those that were `answered`, strangers among them."""

    batches: list[Batch]
    corpus: Corpus
    predictions: Predictions
    names: list[str]
    answered: set[str]


def batches(
    gold: Iterable[Corpus],
    predictions: Any,
    folder: Path,
    *,
    in_memory: bool = False,
    columns: Mapping[str, str] | None = None,
    name: str | None = None,
    fallback: str | None = None,
) -> Cut:
    """Gold and predictions in batches: written into files of `folder`, or kept in memory.

    `gold` are corpora of documents that follow one another, each a batch. `predictions` are
    `Predictions`; what `read_predictions` takes (as it takes `columns`), of which no more than a
    piece is in memory; or a function that makes them for a corpus and the documents that a
    predicate on `doc_id` holds for. With `in_memory` a single batch stays there. The system is
    called `name`, or `fallback` where only the name of a file says what. `DataBroken` if two
    batches have the same document; errors as of `read_predictions`.
    """
    gold = iter(gold)
    first = list(islice(gold, 2))
    stored = None if in_memory and len(first) == 1 else _Gold(folder, chain(first, gold))
    corpus = stored.corpus if stored else first[0]
    found, is_path = predictions, isinstance(predictions, Path)
    is_run = readers.is_run(predictions)
    if not isinstance(predictions, Predictions) and not callable(predictions):
        has_reader = is_path and not columns and readers.reader_of(predictions, corpus)
        if stored and answers.is_finished(predictions):
            found = answers.of_run(predictions, corpus, scanned=True)
        elif stored and not is_run and not has_reader:
            found = _of_table(predictions, stored, columns or {})
        else:
            # Some formats of answers are read beside all of the gold.
            every = stored.filled(*range(stored.count)) if stored else corpus
            found = readers.read_predictions(predictions, every, columns=columns)
    if stored:
        found, count, answered = _written(found, stored)
        names = stored.documents["doc_id"].to_list()
    else:
        found = found(corpus, _EVERY) if callable(found) else found
        answered = choice.answered(found, corpus.split)
        names = corpus.documents["doc_id"].to_list()
    is_stem = is_path and not is_run and found.system == stem(predictions.resolve())
    system = name or (fallback if is_stem else None) or found.system
    found = dataclasses.replace(found, system=system)
    if not stored:
        return Cut([Batch(0, corpus, found)], corpus, found, names, answered)
    # What is odd in the whole is noted once.
    same = dataclasses.replace(corpus, flaws={}, sources={}, unreadable={})
    silent = dataclasses.replace(found, notes={}, sources={})
    made = [Batch(number, same, silent, folder) for number in range(count)]
    return Cut(made, corpus, found, names, answered)


class _Gold:
    """Gold that is written in `count` batches: its corpus, without rows, the `batch` of each of
    its documents, and how many values each path, task and kind has."""

    def __init__(self, folder: Path, corpora: Iterable[Corpus]) -> None:
        bare, documents, fields = [], [], []
        for number, corpus in enumerate(corpora):
            _store(corpus.check(), folder, number)
            bare.append(corpus.filtered(~_EVERY))
            documents.append(corpus.documents.select("doc_id", name="doc_id", batch=number))
            valued = corpus.records.drop_nulls("path").group_by("path", "task", "kind")
            fields = [pl.concat([*fields, valued.len()]).group_by("path", "task", "kind").sum()]
        self.folder, self.count, self.fields = folder, len(bare), fields[0]
        self.documents = pl.concat(documents)
        whole = {
            "flaws": dict(sum((Counter(corpus.flaws) for corpus in bare), Counter())),
            "sources": {file: text for c in bare for file, text in c.sources.items()},
            "unreadable": {file: text for c in bare for file, text in c.unreadable.items()},
        }
        self.corpus = dataclasses.replace(bare[0], **whole)
        if (twice := self.documents["doc_id"].is_duplicated()).any():
            name = self.documents["doc_id"].filter(twice)[0]
            where = f"{corpus.benchmark}:{corpus.split}"
            raise DataBroken(f"document {name!r} is twice in the gold", where=where)

    def filled(self, *numbers: int) -> Corpus:
        """The corpus of some batches."""
        return _filled(self.corpus, self.folder, *numbers)

    def parts(self) -> Iterator[tuple[int, pl.Expr]]:
        """Each batch with what holds for its documents; at last for those of no gold."""
        name = pl.col("doc_id")
        for (number,), batch in self.documents.group_by("batch", maintain_order=True):
            names = batch["doc_id"]
            # Files are sorted mostly: what has none of the names is not even read.
            is_near = name.is_between(pl.lit(names.min()), pl.lit(names.max()))
            yield number, is_near & name.is_in(names.implode())
        yield self.count, ~name.is_in(self.documents["doc_id"].implode())


def _written(
    found: Predictions | Callable[..., Predictions] | Iterator[Predictions], gold: _Gold
) -> tuple[Predictions, int, set[str]]:
    """Write what is predicted for each batch of gold, and last for other documents, if any: all
    that is no row, how many batches there are, and the answered documents."""
    if isinstance(found, Predictions):
        found = _of_folder(found, gold)
    elif callable(found):
        make = found
        found = (make(gold.filled(number), documents) for number, documents in gold.parts())
    bare, notes, count, answered = None, Counter[str](), gold.count, set[str]()
    for number, made in enumerate(found):
        if number < gold.count or any(getattr(made, table).height for table in made.TABLES):
            _store(made, gold.folder, number)
            count = number + 1
        notes.update(made.notes)
        answered |= choice.answered(made, gold.corpus.split)
        bare = bare or made.filtered(~_EVERY)
    return dataclasses.replace(bare, notes=dict(notes)), count, answered


def _of_folder(found: Predictions, gold: _Gold) -> Iterator[Predictions]:
    for number, documents in gold.parts():
        rows = {table: found.scan(table).filter(documents).collect() for table in found.TABLES}
        yield dataclasses.replace(found, **rows, notes={} if number else found.notes)


def _of_table(source: Any, gold: _Gold, columns: Mapping[str, str]) -> Iterator[Predictions]:
    """The answers in a table by batch; names, lists and tasks follow from all of them."""
    path, notes = source if isinstance(source, Path) else None, Counter[str]()
    objects = gold.fields.filter(pl.col("kind") == "json")["path"]
    fields = gold.fields.filter(pl.col("task") != "layout")
    read = pieces(source, columns, notes, set(objects))
    read = (answers.of_corpus(values, gold.corpus, notes) for values in read)
    given = _Values(read, gold.folder / "read")
    answers.check_left(given.documents, gold.corpus, path, notes)
    renamed = answers.renames(given.documents["doc_id"], gold.documents["doc_id"])
    documents = given.documents.with_columns(name=pl.col("doc_id").replace(renamed))
    documents = documents.join(gold.documents.select("name", "batch"), on="name", how="left")
    documents = documents.with_columns(pl.col("batch").fill_null(gold.count))
    lists, paths = given.cut(documents, home := gold.folder / "values")
    notes["documents named by their files"] += len(renamed)
    moved = answers.moves(paths, fields["path"], notes)
    tasks = fields.group_by("task").agg(pl.col("len").sum())
    usual = tasks.sort("len", "task", descending=[True, False])["task"].first() or "text"
    same = {"name": answers.system_of(given.systems, path), "sources": answers.sources_of(path)}
    for number in range(gold.count + 1):
        rows, corpus = _read(home, number, none=given.none), gold.filled(number)
        valued = rows.drop_nulls("value")
        if corpus.benchmark == answers.OWN:
            # Several values of a user's own field are a list.
            valued = valued.filter(pl.col("path").is_null())
        answers.check_once(valued, path)
        rows = answers.with_paths(listed(rows, lists), moved)
        yield answers.of_values(rows, corpus, usual=usual, notes=notes, **same)
        notes.clear()


def own_gold(source: Any, folder: Path, *, columns: Any = None, **how: Any) -> Iterator[Corpus]:
    """A user's own gold as corpora of one batch each; parameters and errors of `gold.corpus`."""
    notes = Counter[str]()
    values = _Values(pieces(source, columns or {}, notes), folder / "read", sampled=True)
    # A document has one record more: its page.
    numbers = batch_numbers(values.documents["n"] + 1, benchmarks.BATCH)
    documents = values.documents.with_columns(name="doc_id", batch=numbers)
    lists, _ = values.cut(documents, folder / "values")
    inferred = FieldTypes.inferred(values.samples, lists)
    made = maker(source, documents, inferred, notes, **how)
    for number in range(documents["batch"].max() + 1):
        rows = listed(_read(folder / "values", number, none=values.none), lists)
        yield made(rows, notes)
        # What is odd in the whole is counted once.
        notes = Counter()
    shutil.rmtree(folder)


class _Values:
    """Values of any number in files of `folder`; their columns in `none`, systems and samples.

    `documents` are those in the order of their first appearance, with how many values each has.
    """

    def __init__(
        self, read: Iterable[pl.DataFrame], folder: Path, *, sampled: bool = False
    ) -> None:
        self.folder, self.none, self.samples = folder, pl.DataFrame(), None
        self.systems, documents = set[str](), []
        for number, values in enumerate(read):
            _write(values, folder, number)
            self.none = pl.concat([self.none, values.clear()], how="diagonal")
            if sampled:
                self.samples = samples(values.drop_nulls("path"), self.samples)
            if "system" in values.columns:
                self.systems |= {*values["system"].drop_nulls()}
            has_image = (
                pl.col("image").is_not_null() if "image" in values.columns else pl.lit(False)
            )
            counts = {"n": pl.count("path"), "has_image": has_image.any()}
            documents.append(values.group_by("doc_id", maintain_order=True).agg(**counts))
        every = pl.concat(documents).group_by("doc_id", maintain_order=True)
        self.documents = every.agg(pl.col("n").sum(), pl.col("has_image").any())

    def cut(self, documents: pl.DataFrame, out: Path) -> tuple[list[str], pl.Series]:
        """Move the values to the `batch` of their document, which gets its `name`, in their order.

        Returns which paths are lists, and all paths, those of the items of a list among them.
        """
        # A user's own columns may be called name and batch, and no column begins with a slash.
        places = documents.select("doc_id", pl.col("name", "batch").name.prefix("/"))
        for turn, file in enumerate(sorted(self.folder.glob("*/*"))):
            values = pl.read_parquet(file, glob=False)
            placed = values.join(places, on="doc_id", how="left", maintain_order="left")
            placed = placed.with_columns(doc_id="/name").drop("/name")
            parts = placed.partition_by("/batch", as_dict=True, include_key=False)
            for (number,), part in parts.items():
                _write(part, out, number, turn)
        shutil.rmtree(self.folder)
        most = pl.DataFrame(schema={"path": pl.String, "len": pl.UInt32})
        for number in documents["batch"].unique().sort():
            rows = _read(out, number, none=self.none)
            # What is read where it stands on the page has paths of its own.
            if "kind" in rows.columns:
                rows = rows.filter(~pl.col("kind").is_in(_READ).fill_null(value=False))
            counts = rows.drop_nulls("path").group_by("doc_id", "path").len().drop("doc_id")
            most = pl.concat([most, counts]).group_by("path").max()
        lists = sorted(first_items(most["path"]) | {*most.filter(pl.col("len") > 1)["path"]})
        is_list = pl.col("path").is_in(lists)
        items = most.filter(is_list).with_columns(pl.int_ranges("len").alias("len")).explode("len")
        items = items.select(pl.format("{}/{}", "path", "len"))
        return lists, pl.concat([most.filter(~is_list)["path"], items.to_series()])


def _store(side: Corpus | Predictions, folder: Path, number: int) -> None:
    for table in side.TABLES:
        _write(getattr(side, table), folder / type(side).__name__ / table, number)


def _filled(bare: Corpus | Predictions, folder: Path, *numbers: int) -> Any:
    """Gold or predictions with their rows in some batches."""
    home = folder / type(bare).__name__
    read = {name: _read(home / name, *numbers, none=getattr(bare, name)) for name in bare.TABLES}
    return dataclasses.replace(bare, **read)


def _write(frame: pl.DataFrame, home: Path, number: int, turn: int = 0) -> None:
    file = home / f"{number:06}" / f"{turn:06}.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    frame.write_parquet(file, compression="lz4")


def _read(home: Path, *numbers: int, none: pl.DataFrame) -> pl.DataFrame:
    """The rows of some batches, in the columns of `none` and their own."""
    parts = [part for n in numbers for part in sorted((home / f"{n:06}").glob("*"))]
    read = (pl.read_parquet(part, glob=False) for part in parts)
    return pl.concat([none, *read], how="diagonal")
