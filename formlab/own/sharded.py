"""Gold and answers of any size: cut into shards of whole documents, each read on its own.

A plan is made once, with little memory: the rows of both sides are partitioned into Parquet files
of one shard each, and what depends on the whole (which columns are what, which paths are lists,
the types, how answers name documents) is decided and written beside them. Any process then opens
any shard; together the shards are what `own.pair` of the whole is.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files, formats, tables
from formlab.errors import DataBroken, DataMissing
from formlab.folders import Corpus, Folder, Predictions
from formlab.own import images as own_images
from formlab.own._partition import Side, name_of, shard_of
from formlab.own._rows import FRAME, RawRows, read_rows
from formlab.own.answers import moves, renames, sides, system_of
from formlab.own.answers import of_values as predictions_of
from formlab.own.corpus import of_values as corpus_of
from formlab.own.corpus import root_of, sources_of, typed
from formlab.own.types import FieldTypes
from formlab.own.values import listed

PLAN = "plan.json"
SIDES = ("gold", "answers")
_FILES = "{}-files.parquet"
_PAGES = "pages.parquet"
# How many gold records a shard has at most, unless one document has more.
RECORDS = 20_000


@dataclasses.dataclass(frozen=True)
class Plan:
    """The shards of gold and answers, in the order in which the gold names their documents.

    Each of `sources` is plain data, valid as JSON, that `open` makes a corpus and predictions of,
    in any process that sees `folder`: ``folder`` and ``shard`` (its name: ``00000``, ``00001`` …,
    and ``strange`` last for answers to documents that the gold does not have, where there are any:
    a corpus without documents); ``documents``, ``records`` and ``answers``, which count it; and
    ``digest``, the same exactly if gold, answers and all arguments are. Flaws and notes of the
    shards sum to those of the whole; `sources` of the opened folders name the user's own files.

    `split`, `system` and `root` are those of every shard. Which kinds of records there are is
    not in the plan: whoever needs it merges it from opened shards.
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
    records: int = RECORDS,
) -> Plan:
    """Gold and answers partitioned by document into `folder`, as `own.pair` would read them.

    A plan in `folder` that was made of the same files with the same arguments stays as it is; any
    other is replaced.

    Parameters
    ----------
    gold, answers
        As for `own.pair`. CSV, TSV, JSON lines, Parquet and folders of JSON are read in pieces,
        with memory that does not grow with them; workbooks and single JSON files as a whole.
    folder
        Where the partition goes; it takes about as much space as the files themselves.
    images, types, columns
        As for `own.pair`.
    records
        How many gold records a shard has at most; a document is never cut.

    Raises
    ------
    DataMissing, DataBroken, UnknownName
        As for `own.pair`.
    """
    folder = Path(folder)
    sides_read = [_source(side) for side in (gold, answers)]
    digest = _digest(sides_read, images, types, columns, records)
    file = folder / PLAN
    if file.is_file() and (stated := files.read_json(file)).get("digest") == digest:
        return _plan(folder, stated)
    file.unlink(missing_ok=True)
    for name in (*SIDES, *map(_unread, SIDES)):
        shutil.rmtree(folder / name, ignore_errors=True)
    stated = {"digest": digest} | _cut(sides_read, folder, images, types, columns or {}, records)
    files.write_json(file, stated)
    return _plan(folder, stated)


@tables.uncollected()
def open(source: Mapping[str, Any]) -> tuple[Corpus, Predictions]:
    """The corpus and the predictions of one shard of a plan, its documents in the gold's order.

    Raises
    ------
    DataMissing, DataBroken
        If the folder of the plan is not there, or damaged.
    """
    folder, shard = Path(source["folder"]), source["shard"]
    stated = _stated(folder, source["digest"].rpartition("-")[0])
    is_first = shard == stated["sources"][0]["shard"]
    gold, given = (
        listed(shard_of(folder / side / shard), lists)
        for side, lists in zip(SIDES, stated["lists"], strict=True)
    )
    root = None if stated["root"] is None else Path(stated["root"])
    pages, texts = _pages(folder, gold["doc_id"].unique())
    corpus = corpus_of(
        gold, FieldTypes.of_stated(stated["types"]), FieldTypes.of_stated(stated["declared"]),
        name=stated["split"], root=root, pages=pages, texts=texts,
        flaws=Counter(stated["flaws"] if is_first else {}),
        sources=_sources(folder, 0, gold, is_first=is_first),
    )  # fmt: skip
    sources = _sources(folder, 1, given, is_first=is_first)
    given = given.with_columns(pl.col("path").replace(stated["moved"]))
    predictions = predictions_of(
        given, corpus, name=stated["system"], usual=stated["usual"], sources=sources,
        notes=stated["notes"] if is_first else {},
    )  # fmt: skip
    return corpus, predictions


def _source(side: Any) -> Path | RawRows:
    """A path, or rows that are read already."""
    path = Path(side) if isinstance(side, str | Path) else None
    if isinstance(side, Folder) or (path and formats.FORMATS["run"].is_one(path)):
        what = "only tables of gold and answers are cut into shards"
        raise DataBroken(what, where=path, remedy="formlab.evaluate, which takes any answers")
    if path and not path.exists():
        raise DataMissing("no such file or folder", where=path, remedy="check the path")
    return path or read_rows(side, Counter())


def _digest(
    sides_read: list[Path | RawRows], images: str | Path | None, types: Any,
    columns: Mapping[str, str] | None, records: int,
) -> str:  # fmt: skip
    """What a plan is made of, as one hash. Of images only names, sizes and times count."""
    stated: list[Any] = [files.version(), records, dict(columns or {}), str(images)]
    stated += [None if types is None else FieldTypes.read(types).stated()]
    for side in sides_read:
        rows = [] if isinstance(side, Path) else side.rows
        stated += [str(side.resolve()), sources_of(side)] if isinstance(side, Path) else [rows]
    if images is not None:
        scans = sorted(file for file in Path(images).rglob("*") if file.is_file())
        stated += [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in scans]
    text = json.dumps(stated, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _cut(
    sides_read: list[Path | RawRows], folder: Path, images: str | Path | None, types: Any,
    columns: Mapping[str, str], records: int,
) -> dict[str, Any]:  # fmt: skip
    """Write the values of both sides by shards; what `open` has to know of the whole."""
    named = sides(*sides_read, columns)
    gold, given = (
        Side(source, names, folder / _unread(side))
        for side, source, names in zip(SIDES, sides_read, named, strict=True)
    )
    path, other = (side if isinstance(side, Path) else None for side in sides_read)
    documents, answered = gold.documents, given.documents
    shards = documents.with_columns(name="doc_id", shard=_shards(documents["n"], records))
    renamed = renames(answered["doc_id"], documents["doc_id"])
    theirs = answered.with_columns(name=pl.col("doc_id").replace(renamed)).join(
        shards.select("name", "shard"), on="name", how="left", maintain_order="left"
    )
    gold.partition(shards, folder / SIDES[0])
    given.partition(theirs, folder / SIDES[1])
    inferred = FieldTypes.inferred(gold.samples, gold.lists)
    known, declared = typed(inferred, types, gold.flaws)
    root = root_of(path, images, "image" in gold.columns)
    if images is not None:
        _find(folder, root, documents, gold.flaws)
    usual = sorted(((-n, task) for task, n in gold.tasks.items() if n and task != "layout"))
    given.flaws["documents named by their files"] += len(renamed)
    for side, source in enumerate(sides_read):
        if isinstance(source, Path):
            hashes = sources_of(source)
            frame = pl.DataFrame({"file": list(hashes), "sha256": list(hashes.values())})
            files.write_parquet(folder / _FILES.format(SIDES[side]), frame)
    return {
        "split": path.resolve().stem if path else FRAME,
        "system": system_of(given.systems, other),
        "root": None if root is None else str(root),
        "types": known.stated(), "declared": declared.stated(),
        "lists": [gold.lists, given.lists],
        "moved": moves(given.listed_paths, gold.listed_paths),
        "usual": usual[0][1] if usual else "text",
        "flaws": dict(gold.flaws), "notes": dict(given.flaws),
        "sources": _counted(shards, theirs),
    }  # fmt: skip


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
    answers = theirs.group_by("shard").agg(answers=pl.col("n").sum())
    both = ours.join(answers, on="shard", how="full", coalesce=True, nulls_equal=True)
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
    found = pl.scan_parquet(folder / _PAGES).filter(pl.col("doc_id").is_in(names.implode()))
    rows = found.collect().rows()
    pages = {name: pages for name, pages, _ in rows if pages}
    return pages, {name: Path(text) for name, _, text in rows if text}


def _sources(folder: Path, side: int, values: pl.DataFrame, *, is_first: bool) -> dict[str, str]:
    """The hashes of the user's files that the values are of; of a table, which is one file, that.

    Files of no document belong to the first shard.
    """
    file = folder / _FILES.format(SIDES[side])
    if not file.is_file():
        return {}
    hashes = pl.read_parquet(file)
    if hashes.height > 1:
        used = values["origin"].str.split("#").list.first().unique()
        hidden = pl.col("file").str.contains(r"(^|/)\.[^/]*$") & is_first
        hashes = hashes.filter(pl.col("file").is_in(used.implode()) | hidden)
    return dict(hashes.iter_rows())


def _plan(folder: Path, stated: Mapping[str, Any]) -> Plan:
    root = None if stated["root"] is None else Path(stated["root"])
    named = {"folder": str(folder.resolve())}
    sources = [
        named | source | {"digest": f"{stated['digest']}-{source['shard']}"}
        for source in stated["sources"]
    ]
    return Plan(folder, stated["split"], stated["system"], root, sources)


@lru_cache(maxsize=4)
def _stated(folder: Path, digest: str) -> dict[str, Any]:
    """What a plan says, if it is still the one that a shard is of."""
    stated = files.read_json(folder / PLAN)
    if stated["digest"] != digest:
        what = "the plan in this folder is another than the shard's"
        raise DataBroken(what, where=folder, remedy="make the plan anew")
    return stated


def _unread(side: str) -> str:
    return f"{side}-read"
