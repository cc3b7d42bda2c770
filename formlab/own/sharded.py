"""Gold and answers of any size: cut into shards of whole documents, each read on its own.

A plan is made once, with little memory: the rows of both sides are partitioned into Parquet files
of one shard each, and what depends on the whole (which columns are what, which paths are lists,
the types, how answers name documents) is decided and written beside them. Any process then opens
any shard; together the shards are what `own.pair` of the whole is.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files, readers, tables
from formlab.benchmarks import SHARD
from formlab.errors import DataBroken, DataMissing
from formlab.folders import Corpus, Predictions
from formlab.own._partition import Side, name_of, partition_run, shard_of, tables_of_run
from formlab.readers import is_run
from formlab.readers import pages as own_images
from formlab.readers.answers import moves, renames, sources_of, system_of, with_paths
from formlab.readers.answers import of_values as predictions_of
from formlab.readers.door import stem
from formlab.readers.gold import BENCHMARK, corpus, located, root_of, sides, typed
from formlab.readers.gold import of_values as corpus_of
from formlab.readers.sources import FRAME, items
from formlab.readers.types import FieldTypes
from formlab.readers.values import listed

Rows = list[dict[str, Any]]
PLAN = "plan.json"
SIDES = ("gold", "answers")
_FILES = "{}-files.parquet"
_PAGES = "pages.parquet"


@dataclasses.dataclass(frozen=True)
class Plan:
    """The shards of gold and answers, in the order in which the gold names their documents.

    `sources` are plain data, valid as JSON: ``folder``, ``shard`` (``strange``, the last, has the
    answers to documents that the gold does not have), and counts of its ``documents``,
    ``records`` and ``answers``. Flaws and notes of the shards sum to those of the whole.
    """

    folder: Path
    split: str
    system: str
    root: Path | None
    sources: list[dict[str, Any]]

    @property
    def documents(self) -> int:
        """How many documents the gold has."""
        return sum(source["documents"] for source in self.sources)


@tables.uncollected()
def plan(
    gold: Any,
    answers: Any,
    *,
    folder: str | Path,
    images: str | Path | None = None,
    types: Any = None,
    columns: Mapping[str, str] | None = None,
    records: int = SHARD,
) -> Plan:
    """Gold and answers partitioned by document into a new folder, as `own.pair` would read them.

    Of delimited text, JSON lines, Parquet and folders of JSON no more than a piece is in memory.
    A shard has at most that many gold `records`, and whole documents. Errors are those of
    `own.pair`.
    """
    folder = Path(folder)
    sides_read = [_source(side) for side in (gold, answers)]
    hashes = list(map(_hashes, sides_read))
    with files.writing(folder):
        for side, known in zip(SIDES, hashes, strict=True):
            frame = pl.DataFrame({"file": list(known), "sha256": list(known.values())})
            files.write_parquet(folder / _FILES.format(side), frame)
        cut = _cut(sides_read, folder, images, types, columns or {}, records)
        files.write_json(folder / PLAN, cut)
    return _plan(folder, cut)


@tables.uncollected()
def open(source: Mapping[str, Any]) -> tuple[Corpus, Predictions]:
    """The corpus and the predictions of one shard of a plan, its documents in the gold's order."""
    folder, shard = Path(source["folder"]), source["shard"]
    stated = _stated(folder)
    is_first = shard == stated["sources"][0]["shard"]
    gold = listed(shard_of(folder / SIDES[0] / shard), stated["lists"])
    root = None if stated["root"] is None else Path(stated["root"])
    pages, texts = _pages(folder, gold["doc_id"].unique())
    cut = corpus_of(
        gold, FieldTypes.of_stated(stated["types"]), FieldTypes.of_stated(stated["declared"]),
        name=stated["split"], root=root, pages=pages, texts=texts,
        flaws=Counter(stated["flaws"] if is_first else {}),
        sources=_sources(folder, 0, gold, is_first=is_first),
    )  # fmt: skip
    answers, notes = stated["answers"], stated["notes"] if is_first else {}
    if "settings" in answers:
        run = tables_of_run(folder / SIDES[1] / shard)
        answers = answers | {"system": source.get("name") or answers["system"]}
        return cut, Predictions(**run, **answers, notes=notes)
    given = listed(shard_of(folder / SIDES[1] / shard), answers["lists"])
    sources = _sources(folder, 1, given, is_first=is_first)
    given = with_paths(given, answers["moved"])
    name, usual = source.get("name") or answers["system"], answers["usual"]
    made = predictions_of(given, cut, name=name, usual=usual, sources=sources, notes=notes)
    return cut, made


def _source(side: Any) -> Path | Rows | Predictions:
    """A path, rows that are read already, or predictions."""
    side = located(side)
    if isinstance(side, Corpus):
        what = "only tables of gold are cut into shards"
        raise DataBroken(what, remedy="formlab.evaluate, which takes any corpus")
    if isinstance(side, Path) and not side.exists():
        raise DataMissing("no such file or folder", where=side, remedy="check the path")
    return side if isinstance(side, Path | Predictions) else [row for _, row, _ in items(side)]


def _hashes(side: Path | Rows | Predictions) -> dict[str, str]:
    """The hash of each file of a table; of a run, whose journal may be long, how each stands."""
    if not isinstance(side, Path):
        return {}
    return _states(side) if _is_whole(side) else sources_of(side)


def _states(folder: Path) -> dict[str, str]:
    stats = {str(file): file.stat() for file in sorted(folder.rglob("*")) if file.is_file()}
    return {name: f"{stat.st_size} {stat.st_mtime_ns}" for name, stat in stats.items()}


def _cut(
    sides_read: list[Any], folder: Path, images: str | Path | None, types: Any,
    columns: Mapping[str, str], records: int,
) -> dict[str, Any]:  # fmt: skip
    """Write the values of both sides by shards; what `open` has to know of the whole."""
    path = sides_read[0] if isinstance(sides_read[0], Path) else None
    named = sides(*sides_read, columns)
    gold = Side(sides_read[0], named[0], folder / _unread(SIDES[0]))
    documents = gold.documents
    shards = documents.with_columns(name="doc_id", shard=_shards(documents["n"], records))
    gold.partition(shards, folder / SIDES[0])
    if isinstance(sides_read[1], Predictions) or (_is_whole(sides_read[1]) and not columns):
        whole = partial(corpus, sides_read[0], images=images, types=types, columns=named[0])
        run = _run(sides_read[1], whole)
        theirs = partition_run(run, shards, folder / SIDES[1])
        answers = {name: getattr(run, name) for name in ("system", "settings", "sources")}
        notes = run.notes
    else:
        answers, notes, theirs = _answers(sides_read[1], named[1], folder, gold, shards)
    inferred = FieldTypes.inferred(gold.samples, gold.lists)
    known, declared = typed(inferred, types, gold.flaws)
    root = root_of(path, images, "image" in gold.columns)
    if images is not None:
        _find(folder, root, documents, gold.flaws)
    return {
        "split": stem(path.resolve()) if path else FRAME,
        "system": answers["system"],
        "root": None if root is None else str(root),
        "types": known.stated(), "declared": declared.stated(), "lists": gold.lists,
        "flaws": dict(gold.flaws), "answers": answers, "notes": dict(notes),
        "sources": _counted(shards, theirs),
    }  # fmt: skip


def _answers(
    source: Path | Rows, columns: Mapping[str, str], folder: Path, gold: Side,
    shards: pl.DataFrame,
) -> tuple[dict[str, Any], Mapping[str, int], pl.DataFrame]:  # fmt: skip
    """What `open` has to know of all answers, their notes, and how many each shard has."""
    given = Side(source, columns, folder / _unread(SIDES[1]))
    renamed = renames(given.documents["doc_id"], gold.documents["doc_id"])
    theirs = given.documents.with_columns(name=pl.col("doc_id").replace(renamed)).join(
        shards.select("name", "shard"), on="name", how="left", maintain_order="left"
    )
    given.partition(theirs, folder / SIDES[1])
    given.flaws["documents named by their files"] += len(renamed)
    usual = sorted((-count, task) for task, count in gold.tasks.items() if task != "layout")
    stated = {
        "system": system_of(given.systems, source if isinstance(source, Path) else None),
        "lists": given.lists, "moved": moves(given.listed_paths, gold.listed_paths, given.flaws),
        "usual": usual[0][1] if usual and usual[0][0] else "text",
    }  # fmt: skip
    return stated, given.flaws, theirs.group_by("shard").agg(answers=pl.col("n").sum())


def _run(run: Path | Predictions, whole: Callable[[], Corpus]) -> Predictions:
    """The predictions of a run; one under way may need the gold as a `whole`."""
    if isinstance(run, Predictions):
        return run
    is_finished = (run / "manifest.json").is_file()
    return readers.read_predictions(run, _empty() if is_finished else whole())


def _is_whole(side: Any) -> bool:
    """Whether a side is the folder of a run, or what one of the readers reads as a whole."""
    is_read = isinstance(side, Path) and readers.reader_of(side, _empty()) is not None
    return is_run(side) or is_read


def _empty() -> Corpus:
    return Corpus(*(tables.table(name, []) for name in Corpus.TABLES), BENCHMARK, "")


def _shards(counts: pl.Series, most: int) -> pl.Series:
    """The number of the shard of each document, of whose values there are `counts`."""
    numbers, shard, records = [], 0, 0
    for count in counts:
        # A document has one record more: its page.
        if records and records + count + 1 > most:
            shard, records = shard + 1, 0
        records += count + 1
        numbers.append(shard)
    return pl.Series(numbers, dtype=pl.Int64)


def _counted(shards: pl.DataFrame, theirs: pl.DataFrame) -> list[dict[str, Any]]:
    """The name of each shard and what it has."""
    ours = shards.group_by("shard").agg(documents=pl.len(), records=pl.col("n").sum() + pl.len())
    both = ours.join(theirs, on="shard", how="full", coalesce=True, nulls_equal=True)
    rows = both.sort("shard", nulls_last=True).to_dicts()
    return [{n: cell or 0 for n, cell in r.items()} | {"shard": name_of(r["shard"])} for r in rows]


def _find(folder: Path, root: Path, documents: pl.DataFrame, flaws: Counter[str]) -> None:
    """Write which pages, and which file of text, each document has."""
    names = documents["doc_id"].to_list()
    pages = own_images.find(root, documents.filter(~pl.col("has_image"))["doc_id"].to_list(), flaws)
    texts = {name: str(file) for name, file in own_images.text_files(root, names).items()}
    rows = [(name, pages.get(name, []), texts.get(name)) for name in names]
    schema = {"doc_id": pl.String, "pages": pl.List(pl.String), "text": pl.String}
    files.write_parquet(folder / _PAGES, pl.DataFrame(rows, schema=schema, orient="row"))


def _pages(folder: Path, names: pl.Series) -> tuple[dict[str, list[str]], dict[str, Path]]:
    """The pages and the file of text of some documents."""
    if not (folder / _PAGES).is_file():
        return {}, {}
    found = pl.scan_parquet(folder / _PAGES, glob=False).filter(
        pl.col("doc_id").is_in(names.implode())
    )
    rows = found.collect().rows()
    pages = {name: pages for name, pages, _ in rows if pages}
    return pages, {name: Path(text) for name, _, text in rows if text}


def _sources(folder: Path, side: int, values: pl.DataFrame, *, is_first: bool) -> dict[str, str]:
    """The hashes of the user's files that the values are of; of a table, which is one file, that.

    Files of no document belong to the first shard.
    """
    hashes = files.read_parquet(folder / _FILES.format(SIDES[side]))
    if hashes.height > 1:  # The files of a folder, one document each.
        used = values["origin"].str.split("#").list.first().unique()
        hidden = pl.col("file").str.contains(r"(^|/)\.[^/]*$") & is_first
        hashes = hashes.filter(pl.col("file").is_in(used.implode()) | hidden)
    return dict(hashes.iter_rows())


def _plan(folder: Path, stated: Mapping[str, Any]) -> Plan:
    root = None if stated["root"] is None else Path(stated["root"])
    named = {"folder": str(folder.resolve())}
    sources = [named | source for source in stated["sources"]]
    return Plan(folder, stated["split"], stated["system"], root, sources)


@lru_cache(maxsize=4)
def _stated(folder: Path) -> dict[str, Any]:
    return dict(files.read_json(folder / PLAN))


def _unread(side: str) -> str:
    return f"{side}-read"
