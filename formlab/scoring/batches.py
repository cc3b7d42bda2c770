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

from formlab import benchmarks, readers, tables
from formlab.benchmarks.corpus import batch_numbers
from formlab.errors import DataBroken
from formlab.folders import Corpus, Predictions
from formlab.readers import answers, runs
from formlab.readers.door import stem
from formlab.readers.gold import Gold
from formlab.readers.types import FieldTypes, samples
from formlab.readers.values import first_items, listed, pieces

# The kinds of records that are read where they stand on a page.
_READ = ["word", "line"]


@dataclasses.dataclass(frozen=True)
class Batch:
    """Some whole documents of a corpus, and what is predicted for them, in files of `folder`.

    Without a folder `corpus` and `predictions` have all rows, else none. The last batch may be of
    answers to documents of no gold. `values` says how a table of answers becomes predictions.
    """

    number: int
    corpus: Corpus
    predictions: Predictions
    folder: Path | None = None
    values: dict[str, Any] | None = None

    def opened(self) -> tuple[Corpus, Predictions]:
        """Its documents with their gold, and what is predicted; with notes of this batch."""
        if self.folder is None:
            return self.corpus, self.predictions
        home = self.folder / "answers"
        corpus = _filled(self.corpus, self.folder / "gold", self.number)
        if self.values is None:
            return corpus, _filled(self.predictions, home, self.number)
        given = _read(home / "values", self.number, none=self.values["none"])
        valued = given.filter(pl.col("value").is_not_null())
        if corpus.benchmark == answers.OWN:
            # Several values of a user's own field are a list.
            valued = valued.filter(pl.col("path").is_null())
        answers.check_once(valued, self.values["source"])
        given = answers.with_paths(listed(given, self.values["lists"]), self.values["moved"])
        name, usual = self.predictions.system, self.values["usual"]
        return corpus, answers.of_values(given, corpus, name=name, usual=usual)


@dataclasses.dataclass(frozen=True)
class Cut:
    """Batches with what the whole is, its tables empty unless it is one batch in memory."""

    batches: list[Batch]
    corpus: Corpus
    predictions: Predictions
    names: list[str]


def batches(
    gold: Iterable[Corpus],
    predictions: Any,
    folder: Path,
    *,
    kept: bool = False,
    columns: Mapping[str, str] | None = None,
    name: str | None = None,
    fallback: str | None = None,
) -> Cut:
    """Gold and predictions in batches: written into files of `folder`, or kept in memory.

    `gold` are corpora of documents that follow one another, each a batch. `predictions` are
    `Predictions`; what `read_predictions` takes (as it takes `columns`), of which no more than a
    piece is in memory; or a function that makes them for a corpus and the documents that a
    predicate on `doc_id` holds for. With `kept` a single batch stays in memory. The system is
    called `name`, or `fallback` where only the name of a file says what. `DataBroken` if two
    batches have the same document; errors as of `read_predictions`.
    """
    gold, values = iter(gold), None
    first = list(islice(gold, 2))
    is_small = kept and len(first) == 1
    known = None if is_small else _Gold(folder / "gold", chain(first, gold))
    corpus = first[0] if is_small else known.corpus
    if isinstance(predictions, Predictions):
        found = predictions
    elif callable(predictions):
        every = pl.lit(value=True)
        found = predictions(corpus, every) if is_small else _of_function(predictions, known, folder)
    elif is_small:
        found = readers.read_predictions(predictions, corpus, columns=columns)
    elif runs.is_finished(predictions):
        found = runs.opened(predictions, corpus)
    elif readers.is_run(predictions) or (
        isinstance(predictions, Path) and not columns and readers.reader_of(predictions, corpus)
    ):
        # Some formats of answers are read beside all of the gold.
        every = _filled(corpus, folder / "gold", *range(known.count))
        found = readers.read_predictions(predictions, every)
    else:
        found, values = _of_table(predictions, known, folder, columns or {})
    is_file = isinstance(predictions, Path) and not readers.is_run(predictions)
    is_stem = is_file and found.system == stem(predictions.resolve())
    system = name or (fallback if is_stem else None) or found.system
    if is_small:
        found = dataclasses.replace(found, system=system)
        return Cut([Batch(0, corpus, found)], corpus, found, corpus.documents["doc_id"].to_list())
    bare = {table: found.scan(table).head(0).collect() for table in Predictions.TABLES}
    if values is None and not callable(predictions):
        for table in bare:
            rows = found.scan(table).collect_batches(chunk_size=benchmarks.BATCH)
            _partition(rows, known.documents, folder / "answers" / table)
    found = dataclasses.replace(found, **bare, system=system)
    count = known.count + any((folder / "answers").glob(f"*/{known.count:05}"))
    # What is odd in the whole is noted once.
    same = dataclasses.replace(corpus, flaws={}, sources={}, unreadable={})
    silent = dataclasses.replace(found, notes={}, sources={})
    made = [Batch(number, same, silent, folder, values) for number in range(count)]
    return Cut(made, corpus, found, known.documents["doc_id"].to_list())


class _Gold:
    """Gold that is written in `count` batches: its corpus, without rows, the `batch` of each of
    its documents, and how many values each path, task and kind has."""

    def __init__(self, home: Path, corpora: Iterable[Corpus]) -> None:
        bare, documents, fields = [], [], []
        for number, corpus in enumerate(corpora):
            for table in corpus.check().TABLES:
                _write(getattr(corpus, table), home / table, number)
            bare.append(corpus.filtered(pl.lit(value=False)))
            documents.append(corpus.documents.select("doc_id", name="doc_id", batch=number))
            valued = corpus.records.drop_nulls("path").group_by("path", "task", "kind")
            fields = [pl.concat([*fields, valued.len()]).group_by("path", "task", "kind").sum()]
        self.count, self.documents, self.fields = len(bare), pl.concat(documents), fields[0]
        sources, unreadable = (
            {file: text for corpus in bare for file, text in getattr(corpus, name).items()}
            for name in ("sources", "unreadable")
        )
        flaws = dict(sum((Counter(corpus.flaws) for corpus in bare), Counter()))
        whole = {"flaws": flaws, "sources": sources, "unreadable": unreadable}
        self.corpus = dataclasses.replace(bare[0], **whole)
        if (twice := self.documents["doc_id"].is_duplicated()).any():
            name = self.documents["doc_id"].filter(twice)[0]
            where = f"{corpus.benchmark}:{corpus.split}"
            raise DataBroken(f"document {name!r} is twice in the gold", where=where)


def _of_table(source: Any, gold: _Gold, folder: Path, columns: Any) -> tuple[Predictions, Any]:
    """Write the values of a table by batch; what `Batch.opened` has to know of all of them."""
    path = source if isinstance(source, Path) else None
    jsons = gold.fields.filter(pl.col("kind") == "json")["path"]
    fields = gold.fields.filter(pl.col("task") != "layout")
    notes = Counter[str]()
    read = (
        answers.of_corpus(values, gold.corpus, notes)
        for values in pieces(source, columns, notes, set(jsons))
    )
    given = _Values(read, folder / "read")
    answers.check_left(given.documents, gold.corpus, path, notes)
    renamed = answers.renames(given.documents["doc_id"], gold.documents["doc_id"])
    documents = given.documents.with_columns(name=pl.col("doc_id").replace(renamed))
    documents = documents.join(gold.documents.select("name", "batch"), on="name", how="left")
    documents = documents.with_columns(pl.col("batch").fill_null(gold.count))
    lists, paths = given.cut(documents, folder / "answers" / "values")
    notes["documents named by their files"] += len(renamed)
    moved = answers.moves(paths, fields["path"], notes)
    tasks = fields.group_by("task").agg(pl.col("len").sum())
    usual = tasks.sort("len", "task", descending=[True, False])["task"].first() or "text"
    none = {table: tables.table(table, []) for table in Predictions.TABLES}
    said = {"sources": answers.sources_of(path), "notes": answers.counted(notes)}
    found = Predictions(**none, system=answers.system_of(given.systems, path), **said)
    how = {"lists": lists, "moved": moved, "usual": usual, "source": path}
    return found, how | {"none": given.none}


def _of_function(make: Callable[..., Predictions], gold: _Gold, folder: Path) -> Predictions:
    """Write what `make` predicts for each batch, last for other documents; the first, bare."""
    bare = None
    for number in range(gold.count + 1):
        is_last = number == gold.count
        documents = gold.documents if is_last else gold.documents.filter(batch=number)
        of_batch = pl.col("doc_id").is_in(documents["doc_id"].implode())
        corpus = _filled(gold.corpus, folder / "gold", number)
        made = make(corpus, ~of_batch if is_last else of_batch)
        for table in made.TABLES:
            rows = getattr(made, table)
            if not is_last or rows.height:
                _write(rows, folder / "answers" / table, number)
        bare = bare or made.filtered(pl.lit(value=False))
    return bare


def own_gold(source: Any, folder: Path, *, columns: Any = None, **how: Any) -> Iterator[Corpus]:
    """A user's own gold as corpora of one batch each; parameters and errors of `gold.corpus`."""
    notes = Counter[str]()
    values = _Values(pieces(source, columns or {}, notes), folder / "read", sampled=True)
    # A document has one record more: its page.
    numbers = batch_numbers(values.documents["n"] + 1, benchmarks.BATCH)
    documents = values.documents.with_columns(name="doc_id", batch=numbers)
    lists, _ = values.cut(documents, folder / "values")
    inferred = FieldTypes.inferred(values.samples, lists)
    shared = Gold.of(source, documents, inferred, notes, **how)
    # What is odd in the whole is counted once.
    flaws = Counter(notes)
    for number in range(documents["batch"].max() + 1):
        rows = listed(_read(folder / "values", number, none=values.none), lists)
        yield shared.corpus(rows, flaws)
        flaws = Counter()
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
        folder.mkdir(parents=True)
        for number, values in enumerate(read):
            values.write_parquet(folder / f"{number:06}.parquet", compression="lz4")
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
        """Move the values to the `batch` of their document; which paths are lists, and all paths.

        Of a list the paths of its items are among them.
        """
        files = sorted(self.folder.iterdir())
        _partition((pl.read_parquet(file, glob=False) for file in files), documents, out)
        shutil.rmtree(self.folder)
        most = pl.DataFrame(schema={"path": pl.String, "len": pl.UInt32})
        for number in documents["batch"].unique().sort():
            rows = _read(out, number, none=self.none)
            # What is read where it stands on the page has paths of its own.
            rows = rows.filter(~pl.col("kind").is_in(_READ)) if "kind" in rows.columns else rows
            counts = rows.drop_nulls("path").group_by("doc_id", "path").len().drop("doc_id")
            most = pl.concat([most, counts]).group_by("path").max()
        lists = sorted(first_items(most["path"]) | {*most.filter(pl.col("len") > 1)["path"]})
        is_list = pl.col("path").is_in(lists)
        items = most.filter(is_list).with_columns(pl.int_ranges("len").alias("len")).explode("len")
        items = items.select(pl.format("{}/{}", "path", "len"))
        return lists, pl.concat([most.filter(~is_list)["path"], items.to_series()])


def _partition(rows: Iterable[pl.DataFrame], documents: pl.DataFrame, out: Path) -> None:
    """Write rows by the `batch` of their documents, in their order; documents get their `name`."""
    # A user's own columns may be called name and batch, and no column begins with a slash.
    places = documents.select("doc_id", pl.col("name", "batch").name.prefix("/"))
    last = documents["batch"].max() + 1
    for turn, frame in enumerate(rows):
        placed = frame.join(places, on="doc_id", how="left", maintain_order="left")
        name, batch = pl.coalesce("/name", "doc_id").alias("doc_id"), pl.col("/batch")
        placed = placed.with_columns(name, batch.fill_null(last)).drop("/name")
        parts = placed.partition_by("/batch", as_dict=True, include_key=False)
        for (number,), part in parts.items():
            _write(part, out, number, turn)


def _write(frame: pl.DataFrame, home: Path, number: int, turn: int = 0) -> None:
    file = home / f"{number:05}" / f"{turn:06}.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    frame.write_parquet(file, compression="lz4")


def _filled(bare: Corpus | Predictions, home: Path, *numbers: int) -> Any:
    """Gold or predictions with their rows in some batches."""
    read = {name: _read(home / name, *numbers, none=getattr(bare, name)) for name in bare.TABLES}
    return dataclasses.replace(bare, **read)


def _read(home: Path, *numbers: int, none: pl.DataFrame) -> pl.DataFrame:
    """The rows of some batches, in the columns of `none` and their own."""
    parts = [part for n in numbers for part in sorted((home / f"{n:05}").glob("*"))]
    read = (pl.read_parquet(part, glob=False) for part in parts)
    return pl.concat([none, *read], how="diagonal")
