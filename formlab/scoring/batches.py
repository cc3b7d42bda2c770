"""Gold and predictions of any size as batches of whole documents, written as they are read."""

from __future__ import annotations

import dataclasses
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

import polars as pl

from formlab import benchmarks, readers, tables
from formlab.benchmarks._build import batch_numbers
from formlab.errors import DataBroken
from formlab.folders import Corpus, Predictions
from formlab.readers import answers, runs
from formlab.readers.door import stem
from formlab.readers.gold import Gold
from formlab.readers.types import FieldTypes, samples
from formlab.readers.values import first_items, listed, pieces

# How many rows wait before they are written.
_WAITING = 300_000
# The kinds of records that are read where they stand on a page.
_READ = ["word", "line"]
# The columns of rows of no batch.
_EMPTY, _NONE = "columns.parquet", pl.lit(value=False)


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
        how, given = self.values, _read(home / "values", self.number)
        valued = given.filter(pl.col("value").is_not_null())
        if corpus.benchmark == answers.OWN:
            valued = valued.filter(pl.col("path").is_null())
        answers.check_once(valued, how["path"])
        given = answers.with_paths(listed(given, how["lists"]), how["moved"])
        system = self.predictions.system
        return corpus, answers.of_values(given, corpus, name=system, usual=how["usual"])


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
    `Predictions`, or what `read_predictions` takes (as it takes `columns`), of which no more than a
    piece of a run or of a table is in memory; or a function that makes them for a corpus and the
    documents that a predicate on `doc_id` holds for. With `kept` a single batch stays in memory
    with all that is predicted. The system is called `name`, or `fallback` where nothing but the
    name of a file says what. `DataMissing`, `DataBroken` or `UnknownName` if something is absent or
    cannot be read, or two batches have the same document.
    """
    gold = iter(gold)
    first = list(islice(gold, 2))
    if kept and len(first) == 1:
        found = predictions
        if callable(found):
            found = found(first[0], pl.lit(value=True))
        elif not isinstance(found, Predictions):
            found = readers.read_predictions(predictions, first[0], columns=columns)
        found = dataclasses.replace(found, system=_system(found, predictions, name, fallback))
        names = first[0].documents["doc_id"].to_list()
        return Cut([Batch(0, first[0], found)], first[0], found, names)
    known = _Gold(folder / "gold", chain(first, gold))
    values, home = None, folder / "answers"
    is_file = isinstance(predictions, Path) and not columns
    if callable(predictions):
        found = _of_function(predictions, known, folder)
    elif isinstance(predictions, Predictions):
        found = predictions
    elif runs.is_finished(predictions):
        found = runs.opened(predictions, known.corpus)
    elif readers.is_run(predictions) or (
        is_file and readers.reader_of(predictions, known.corpus) is not None
    ):
        # Some formats of answers are read beside all of the gold.
        every = _filled(known.corpus, folder / "gold", *range(known.count))
        found = readers.read_predictions(predictions, every, columns=columns)
    else:
        found, values = _of_table(predictions, known, home, columns or {})
    bare = {table: found.scan(table).head(0).collect() for table in Predictions.TABLES}
    for table, none in bare.items() if values is None and not callable(predictions) else ():
        batching = {"chunk_size": benchmarks.BATCH, "maintain_order": True}
        rows = found.scan(table).collect_batches(**batching)
        partition(chain([none], rows), known.documents, home / table)
    whole = dataclasses.replace(found, **bare, system=_system(found, predictions, name, fallback))
    strange = any(home.glob(f"*/{known.count:05}"))
    corpus = dataclasses.replace(known.corpus, flaws={}, sources={}, unreadable={})
    silent = dataclasses.replace(whole, notes={}, sources={})
    made = [Batch(n, corpus, silent, folder, values) for n in range(known.count + strange)]
    return Cut(made, known.corpus, whole, known.documents["doc_id"].to_list())


def _system(predictions: Predictions, source: Any, name: str | None, fallback: str | None) -> str:
    """What a system is called: `name`, else the `fallback` if only its file says what."""
    is_stem = isinstance(source, Path) and predictions.system == stem(source.resolve())
    usual = fallback if is_stem and not readers.is_run(source) else None
    return name or usual or predictions.system


class _Gold:
    """What is known of gold that is written in `count` batches: its corpus, without rows, the
    `batch` of each of its documents, and how many values have each path, task and kind."""

    def __init__(self, home: Path, corpora: Iterable[Corpus]) -> None:
        bare, documents, fields = [], [], []
        for number, corpus in enumerate(corpora):
            for table in corpus.check().TABLES:
                _write(getattr(corpus, table), home / table, number)
            bare.append(corpus.filtered(_NONE))
            documents.append(corpus.documents.select("doc_id", name="doc_id", batch=number))
            valued = corpus.records.drop_nulls("path").group_by("path", "task", "kind")
            fields = [pl.concat([*fields, valued.len()]).group_by("path", "task", "kind").sum()]
        self.count, self.documents, self.fields = len(bare), pl.concat(documents), fields[0]
        flaws = sum((Counter(corpus.flaws) for corpus in bare), Counter())
        sources, unreadable = (
            {file: text for corpus in bare for file, text in getattr(corpus, name).items()}
            for name in ("sources", "unreadable")
        )
        whole = {"flaws": dict(flaws), "sources": sources, "unreadable": unreadable}
        self.corpus = dataclasses.replace(bare[0], **whole)
        if (twice := self.documents["doc_id"].is_duplicated()).any():
            name = self.documents["doc_id"].filter(twice)[0]
            where = f"{corpus.benchmark}:{corpus.split}"
            raise DataBroken(f"document {name!r} is twice in the gold", where=where)


def _of_table(source: Any, gold: _Gold, home: Path, columns: Any) -> tuple[Predictions, Any]:
    """Write the values of a table by batch; what `Batch.opened` has to know of all of them."""
    path = source if isinstance(source, Path) else None
    jsons = gold.fields.filter(pl.col("kind") == "json")["path"]
    fields = gold.fields.filter(pl.col("task") != "layout")
    given = Values(source, columns, home / "read", json_paths=jsons, of=gold.corpus)
    renamed = answers.renames(given.documents["doc_id"], gold.documents["doc_id"])
    theirs = given.documents.with_columns(name=pl.col("doc_id").replace(renamed))
    theirs = theirs.join(gold.documents.select("name", "batch"), on="name", how="left")
    given.partition(theirs.with_columns(pl.col("batch").fill_null(gold.count)), home / "values")
    given.notes["documents named by their files"] += len(renamed)
    moved = answers.moves(given.listed_paths, fields["path"], given.notes)
    tasks = fields.group_by("task").agg(pl.col("len").sum())
    usual = tasks.sort("len", "task", descending=[True, False])["task"].first() or "text"
    none = {table: tables.table(table, []) for table in Predictions.TABLES}
    told = {"sources": answers.sources_of(path), "notes": answers.counted(given.notes)}
    found = Predictions(**none, system=answers.system_of(given.systems, path), **told)
    return found, {"lists": given.lists, "moved": moved, "usual": usual, "path": path}


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
        bare = bare or made.filtered(_NONE)
    return bare


def own_gold(source: Any, folder: Path, *, columns: Any = None, **how: Any) -> Iterator[Corpus]:
    """A user's own gold as corpora of one batch each; parameters and errors of `gold.corpus`."""
    values = Values(source, columns or {}, folder / "read")
    # A document has one record more: its page.
    numbers = batch_numbers(values.documents["n"] + 1, benchmarks.BATCH)
    documents = values.documents.with_columns(name="doc_id", batch=numbers)
    values.partition(documents, folder / "values")
    inferred = FieldTypes.inferred(values.samples, values.lists)
    shared = Gold.of(source, documents, inferred, values.notes, **how)
    # What is odd in the whole is counted once.
    flaws = Counter(values.notes)
    for number in range(documents["batch"].max() + 1):
        rows = listed(_read(folder / "values", number), values.lists)
        yield shared.corpus(rows, flaws)
        flaws = Counter()
    shutil.rmtree(folder)


class Values:
    """The values of any table, but for those of other splits than that `of` a corpus; in files."""

    def __init__(
        self, source: Any, columns: Any, folder: Path, of: Any = None, json_paths: Any = ()
    ) -> None:
        self.folder, self.of, self.notes = folder, of, Counter()
        self.systems: set[str] = set()
        self.samples: pl.DataFrame | None = None
        self.files: list[Path] = []
        self._documents: list[pl.DataFrame] = []
        folder.mkdir(parents=True)
        for values in pieces(source, columns, self.notes, set(json_paths)):
            if of:
                path = source if isinstance(source, Path) else None
                answers.check_corpus(values, of, path)
            self._add(values)

    def _add(self, values: pl.DataFrame) -> None:
        self.files.append(self.folder / f"{len(self.files):06}.parquet")
        values.write_parquet(self.files[-1], compression="lz4")
        if self.of is None:
            self.samples = samples(values.filter(pl.col("path").is_not_null()), self.samples)
        if "system" in values.columns:
            self.systems |= set(values["system"].drop_nulls().unique())
        has_image = pl.col("image").is_not_null() if "image" in values.columns else pl.lit(False)
        documents = values.group_by("doc_id", maintain_order=True)
        counts = {"n": pl.count("path"), "has_image": has_image.any()}
        self._documents.append(documents.agg(**counts))

    @cached_property
    def documents(self) -> pl.DataFrame:
        """The documents in the order of their first appearance, with how many values each has."""
        every = pl.concat(self._documents).group_by("doc_id", maintain_order=True)
        return every.agg(pl.col("n").sum(), pl.col("has_image").any())

    def partition(self, documents: pl.DataFrame, out: Path) -> None:
        """Write the values by the `batch` of each document; from then on `lists` are known."""
        partition((pl.read_parquet(file, glob=False) for file in self.files), documents, out)
        shutil.rmtree(self.folder)
        most = pl.DataFrame(schema={"path": pl.String, "len": pl.UInt32})
        for number in documents["batch"].unique().sort():
            rows = _read(out, number)
            # What is read where it stands on the page has paths of its own.
            rows = rows.filter(~pl.col("kind").is_in(_READ)) if "kind" in rows.columns else rows
            counts = rows.drop_nulls("path").group_by("doc_id", "path").len()
            most = pl.concat([most, counts.group_by("path").agg(pl.col("len").max())])
            most = most.group_by("path").agg(pl.col("len").max())
        several = set(most.filter(pl.col("len") > 1)["path"])
        self.lists = sorted(first_items(most["path"]) | several)
        is_list = pl.col("path").is_in(self.lists)
        items = most.filter(is_list).with_columns(pl.int_ranges("len").alias("len")).explode("len")
        items = items.select(pl.format("{}/{}", "path", "len"))
        self.listed_paths = pl.concat([most.filter(~is_list)["path"], items.to_series()])


def partition(rows: Iterable[pl.DataFrame], documents: pl.DataFrame, out: Path) -> None:
    """Write rows by the `batch` of their documents, in their order; documents get their `name`."""
    last = documents["batch"].max() + 1
    waiting: dict[int, list[pl.DataFrame]] = {}
    height = turn = 0

    def write() -> None:
        for number, frames in waiting.items():
            _write(pl.concat(frames, how="diagonal"), out, number, turn)
        waiting.clear()

    out.mkdir(parents=True)
    for frame in rows:
        if not turn:
            frame.clear().write_parquet(out / _EMPTY)
        joining = {"on": "doc_id", "how": "left", "maintain_order": "left"}
        place = frame.select("doc_id").join(documents.select("doc_id", "name", "batch"), **joining)
        named = frame.with_columns(place["name"].fill_null(frame["doc_id"]).alias("doc_id"))
        batch = place["batch"].fill_null(last)
        for number in batch.unique().sort():
            waiting.setdefault(number, []).append(named.filter(batch == number))
        height, turn = height + frame.height, turn + 1
        if height >= _WAITING:
            write()
            height = 0
    write()


def _write(frame: pl.DataFrame, home: Path, number: int, turn: int = 0) -> None:
    (folder := home / f"{number:05}").mkdir(parents=True, exist_ok=True)
    if not (home / _EMPTY).exists():
        frame.clear().write_parquet(home / _EMPTY)
    frame.write_parquet(folder / f"{turn:06}.parquet", compression="lz4")


def _filled(bare: Corpus | Predictions, home: Path, *numbers: int) -> Any:
    """Gold or predictions with their rows in some batches."""
    read = {table: _read(home / table, *numbers) for table in bare.TABLES}
    return dataclasses.replace(bare, **read)


def _read(home: Path, *numbers: int) -> pl.DataFrame:
    """The rows of some batches, none where they have none."""
    parts = [part for n in numbers for part in sorted((home / f"{n:05}").glob("*.parquet"))]
    parts = [*home.glob(_EMPTY), *parts]
    return pl.concat([pl.read_parquet(part, glob=False) for part in parts], how="diagonal")
