"""A user's own gold and answers as formlab's tables."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from formlab import files, formats, tables
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Corpus, Folder, Predictions
from formlab.formats import Format
from formlab.own import images as own_images
from formlab.own._rows import KNOWN, read_rows
from formlab.own.types import FieldTypes, rule_text
from formlab.own.values import DOCUMENT, RECORD, read_values

BENCHMARK = "own"
# The name of a corpus that is in no file.
FRAME = "frame"
INFERRED = "types inferred"
# The names of the column of values that only one side has.
SIDES = ("gold", "prediction")


def corpus(
    gold: Any,
    *,
    images: str | Path | None = None,
    types: Any = None,
    name: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Corpus:
    """A corpus of the user's own documents, of the benchmark `own`.

    Each value is a record of task `text`; its `kind` is the user's, else that of the declared type,
    else that of the type inferred from all values at such paths. A declared rule stands in the
    record's `meta` (`types.rule_of`), and all types stand in each document's
    (`FieldTypes.of_document`). A value left blank is the empty text. The text of a page is the row
    without a path; a document without one has such a row that is not scored. Columns of the user's
    own are kept in the records, under ``own_<name>`` where formlab has a column of that name.

    An image stands in `documents.image`, relative to `root`; a PDF or TIFF there may have several
    pages. Where each page is a file, `documents.meta` lists them in order under `pages`, the first
    being `image` as well (`meta.page_images`). `records.page` counts from 1 either way: systems
    read page n, and the gallery shows it. Boxes are in pixels of their page, of a PDF in the unit
    of `documents.width`, else in points.

    Parameters
    ----------
    gold
        As for `read_values`.
    images
        A folder with images and PDFs called like the documents, see `images.find`. Without one,
        the gold's own column `image` is relative to the folder of its file.
    types
        As for `FieldTypes.read`; where none are declared they are inferred, and `flaws` counts them
        under names that begin with `INFERRED`.
    name
        The name of the corpus, its `split`; the stem of the gold's path, or ``frame``.
    columns
        As for `read_values`.

    Raises
    ------
    DataMissing, DataBroken, UnknownName
        If something is absent or cannot be read.

    Examples
    --------
    >>> loaded = corpus([{"doc_id": "a", "total": "9.00"}, {"doc_id": "b", "total": ""}])
    >>> loaded.records.filter(path="/total").select("doc_id", "value", "kind").rows()
    [('a', '9.00', 'number'), ('b', '', 'number')]
    """
    flaws: Counter[str] = Counter()
    values = read_values(gold, columns=columns, flaws=flaws)
    path = Path(gold) if isinstance(gold, str | Path) else None
    name = name or (path.resolve().stem if path else FRAME)
    declared = FieldTypes.read(types) if types is not None else FieldTypes()
    inferred = FieldTypes.inferred(values)
    known = FieldTypes(inferred.fields | declared.fields)
    guessed = FieldTypes({p: t for p, t in inferred.fields.items() if p not in declared.fields})
    # How many: a user is to see what was taken for what.
    flaws.update({f"{INFERRED}: {kind}": count for kind, count in guessed.counts().items()})
    root = None if images is None else Path(images).resolve()
    if root is None and path and "image" in values.columns:
        root = (path if path.is_dir() else path.parent).resolve()
    key = {"benchmark": BENCHMARK, "split": name}
    records = _records(values, known, declared, key)
    flaws["required fields without a value"] += _without(records, declared)
    documents = _documents(values, records, known, key, root, images is not None, flaws)
    return Corpus(
        documents=documents,
        records=records,
        benchmark=BENCHMARK,
        split=name,
        root=root,
        flaws={what: count for what, count in sorted(flaws.items()) if count},
        sources=_sources(path),
    ).check()


def predictions(
    answers: Any,
    corpus: Corpus,
    *,
    name: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Predictions:
    """Answers to a corpus, whether its user's own or a benchmark.

    A document may be named by its file (``scans/a.png`` for ``a``). One value where the gold has a
    list is its first item, and a list of where the gold has one value begins with it. An answer
    without a value claims nothing: where the gold is blank as well, that is right; a document with
    no other answers is `missing`.

    Parameters
    ----------
    answers
        As for `read_values`; the folder of a run, and other formats of predictions, see
        `formlab.read_predictions`.
    corpus
        What the answers are to.
    name
        What the system is called: by default the column `system`, else the stem of the path, or
        ``answers``.
    columns
        As for `read_values`.

    Raises
    ------
    DataMissing, DataBroken, UnknownName
        If something is absent or cannot be read, or the answers are of several systems.

    Examples
    --------
    >>> gold = [{"doc_id": "a", "total": "9.00"}]
    >>> answers = [{"doc_id": "a.png", "total": 9, "date": "2024-05-01"}]
    >>> predictions(answers, globals()["corpus"](gold)).records.select("doc_id", "path").rows()
    [('a', '/total'), ('a', '/date')]
    """
    path = Path(answers) if isinstance(answers, str | Path) else None
    own = corpus.benchmark == BENCHMARK
    if path and (formats.FORMATS["run"].is_one(path) if own else not is_one(path)):
        found = formats.read_predictions(path, corpus)
        return dataclasses.replace(found, system=name or found.system)
    return _read(answers, corpus, path, name, columns)


def pair(
    gold: Any,
    answers: Any,
    *,
    images: str | Path | None = None,
    types: Any = None,
    columns: Mapping[str, str] | None = None,
) -> tuple[Corpus, Predictions]:
    """Gold and answers as `corpus` and `predictions` read them; what is loaded already stays.

    `columns` name those of either side, or of both: ``gold`` is the column of the gold's values,
    ``prediction`` that of the answers'. `UnknownName` if neither side has one.
    """
    known = [
        _columns(side) if columns and not isinstance(side, Folder) else set()
        for side in (gold, answers)
    ]
    named: list[dict[str, str]] = [{}, {}]
    for name, column in (columns or {}).items():
        only = SIDES.index(name) if name in SIDES else None
        sides = [n for n in range(2) if column in known[n] and only in (None, n)]
        if not sides:
            raise UnknownName.of("column", column, known[0] | known[1])
        for n in sides:
            named[n]["value" if name in SIDES else name] = column
    if not isinstance(gold, Corpus):
        gold = corpus(gold, images=images, types=types, columns=named[0])
    if not isinstance(answers, Predictions):
        answers = predictions(answers, gold, columns=named[1])
    return gold, answers


def _columns(source: Any) -> set[str]:
    """The names of a source's columns; none of what is no table, such as a run."""
    if isinstance(source, str | Path) and not is_one(Path(source)):
        return set()
    return {name for _, row in read_rows(source, Counter()).rows for name in row}


def is_one(path: Path) -> bool:
    """Whether `path` is a table, or a folder of JSON files."""
    return path.suffix.lower() in KNOWN or (path.is_dir() and any(path.rglob("*.json")))


def _records(
    values: pl.DataFrame, known: FieldTypes, declared: FieldTypes, key: Mapping[str, str]
) -> pl.DataFrame:
    """The gold records, with a row for the page of every document."""
    paths = values["path"].drop_nulls().unique(maintain_order=True)
    typed = pl.DataFrame(
        {
            "path": paths,
            "type_kind": [known.of(path).kind for path in paths],
            "meta": [rule_text(declared.of(path)) for path in paths],
        },
        schema={"path": pl.String, "type_kind": pl.String, "meta": pl.String},
    )
    fields = values.filter(pl.col("path").is_not_null()).join(
        typed, on="path", how="left", maintain_order="left"
    )
    stated = [pl.col("kind")] if "kind" in values.columns else []
    kind = pl.coalesce(*stated, "type_kind").alias("kind")
    fields = fields.with_columns(kind, pl.col("value").fill_null("")).drop("type_kind")
    texts = values.filter(pl.col("path").is_null(), pl.col("value").is_not_null())
    texts = texts.unique("doc_id", keep="first", maintain_order=True)
    blank = values.select("doc_id").unique(maintain_order=True).join(texts, on="doc_id", how="anti")
    pages = pl.concat([texts, blank.with_columns(status=pl.lit("unscored"))], how="diagonal")
    pages = pages.with_columns(kind=pl.lit("page"), path=pl.lit(None, pl.String))
    rows = pl.concat([pages, fields], how="diagonal")
    return _table(rows, key | {"role": "gold"})


def _table(rows: pl.DataFrame, key: Mapping[str, str]) -> pl.DataFrame:
    """Rows of values as records: with every column, and those of the user's own after them."""
    schema = tables.RECORDS
    usual = {"status": "ok", "task": "text"}
    stated = [
        pl.col(name).fill_null(value) if name in rows.columns else pl.lit(value).alias(name)
        for name, value in usual.items()
    ]
    kept = {"doc_id", "path", "value", "meta", "origin", *RECORD}
    own = [name for name in rows.columns if name not in (*kept, *DOCUMENT)]
    names = {name: f"own_{name}" if name in tables.RESERVED else name for name in own}
    absent = [
        pl.lit(key.get(name)).alias(name)
        for name in schema if name not in kept or name not in (*rows.columns, *usual)
    ]  # fmt: skip
    own_rows = rows.select(pl.col(name).alias(new) for name, new in names.items())
    full = rows.with_columns(*stated).with_columns(*absent)
    full = full.select(pl.col(name).cast(dtype) for name, dtype in schema.items())
    return pl.concat([full, own_rows], how="horizontal") if names else full


def _without(records: pl.DataFrame, declared: FieldTypes) -> int:
    """How many required fields documents lack in the gold."""
    must = [path for path, one in declared.fields.items() if one.required and "*" not in path]
    given = records.filter(pl.col("path").is_in(must), pl.col("value") != "")
    return len(must) * records["doc_id"].n_unique() - given.select("doc_id", "path").n_unique()


def _documents(
    values: pl.DataFrame, records: pl.DataFrame, known: FieldTypes, key: Mapping[str, str],
    root: Path | None, is_folder: bool, flaws: Counter[str],
) -> pl.DataFrame:  # fmt: skip
    stated = [name for name in DOCUMENT if name in values.columns]
    documents = values.group_by("doc_id", maintain_order=True).agg(
        pl.col(name).drop_nulls().first() for name in stated
    )
    fields = records.filter(pl.col("path").is_not_null()).group_by("doc_id").agg(
        n_fields=pl.len().cast(pl.Int64), n_kinds=pl.col("kind").n_unique().cast(pl.Int64)
    )  # fmt: skip
    documents = documents.join(fields, on="doc_id", how="left", maintain_order="left")
    rows = documents.with_columns(pl.col("n_fields", "n_kinds").fill_null(0)).to_dicts()
    # Without a folder only the column `image` says where the pages are.
    named = [row["doc_id"] for row in rows if not row.get("image")] if is_folder and root else []
    found = own_images.find(root, named, flaws) if root and is_folder else {}
    types = known.stated()
    for row in rows:
        pages = [row["image"]] if row.get("image") else found.get(row["doc_id"], [])
        row |= key | own_images.columns(root, pages, row, flaws)
        meta = {"types": types} | ({"pages": pages} if len(pages) > 1 else {})
        row["meta"] = json.dumps(meta, ensure_ascii=False)
    return tables.table("documents", rows)


def _sources(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    if path.is_file():
        return {path.name: files.sha256(path)}
    found = sorted(path.rglob("*.json"))
    return {file.relative_to(path).as_posix(): files.sha256(file) for file in found}


def _read(
    answers: Any, corpus: Corpus, path: Path | None, name: str | None,
    columns: Mapping[str, str] | None,
) -> Predictions:  # fmt: skip
    notes: Counter[str] = Counter()
    values = _matched(read_values(answers, columns=columns, flaws=notes), corpus, notes)
    if name is None and "system" in values.columns:
        systems = values["system"].drop_nulls().unique().sort().to_list()
        if len(systems) > 1:
            what = f"several systems in one file: {', '.join(systems)}"
            raise DataBroken(what, where=path, remedy="a file each")
        name = systems[0] if systems else None
    name = name or (path.resolve().stem if path else "answers")
    values = values.drop("system", strict=False)
    values = _claims(values)
    values = values.join(_tasks(corpus), on=["doc_id", "path"], how="left", maintain_order="left")
    task = [pl.col("task")] if "task" in values.columns else []
    values = values.with_columns(
        pl.coalesce(*task, "gold_task", pl.lit(_usual(corpus))).alias("task")
    )
    values = values.drop("gold_task")
    # Both sides may have a column of one name: each is kept.
    twice = set(tables.own_columns("records", corpus.records)) & set(values.columns)
    values = values.rename({column: f"answer_{column}" for column in twice})
    key = {"benchmark": corpus.benchmark, "split": corpus.split, "system": name}
    return Predictions(
        records=_table(values, key | {"role": "prediction"}),
        responses=tables.table("responses", []),
        system=name,
        sources=_sources(path),
        notes={what: count for what, count in sorted(notes.items()) if count},
    ).check()


def _claims(values: pl.DataFrame) -> pl.DataFrame:
    """The answers without those that name no value; one row for a document without any."""
    empty = pl.col("value").is_null()
    stated = [pl.col("status")] if "status" in values.columns else []
    status = pl.coalesce(*stated, pl.when(empty).then(pl.lit("missing")).otherwise(pl.lit("ok")))
    silent = values.filter(empty.all().over("doc_id"), *(one.is_null() for one in stated))
    silent = silent.unique("doc_id", keep="first", maintain_order=True)
    said = values.filter(pl.any_horizontal(~empty, *(one.is_not_null() for one in stated)))
    both = pl.concat([said, silent.with_columns(path=pl.lit(None, pl.String))])
    kind = pl.when(pl.col("path").is_null()).then(pl.lit("page"))
    kind = kind.otherwise(pl.col("kind") if "kind" in values.columns else None)
    return both.with_columns(status.alias("status"), kind.alias("kind"))


def _tasks(corpus: Corpus) -> pl.DataFrame:
    known = corpus.records.filter(pl.col("path").is_not_null())
    return known.select("doc_id", "path", gold_task="task").unique(["doc_id", "path"])


def _usual(corpus: Corpus) -> str:
    values = corpus.records.filter(pl.col("path").is_not_null(), pl.col("task") != "layout")
    return values["task"].mode().sort()[0] if values.height else "text"


def _matched(values: pl.DataFrame, corpus: Corpus, notes: Counter[str]) -> pl.DataFrame:
    """The answers with documents and paths as the gold names them, where it is clear which."""
    known = corpus.documents["doc_id"].to_list()
    stems: dict[str, list[str]] = {}
    for doc_id in known:
        for name in {own_images.stem(doc_id), PurePosixPath(own_images.stem(doc_id)).name}:
            stems.setdefault(name, []).append(doc_id)
    given = set(values["doc_id"]) - set(known)
    renamed = {}
    for doc_id in sorted(given):
        name = own_images.stem(doc_id)
        found = stems.get(name) or stems.get(PurePosixPath(name).name) or []
        if len(found) == 1 and found[0] not in renamed.values():
            renamed[doc_id] = found[0]
    taken = set(values["doc_id"]) & set(renamed.values())
    renamed = {name: doc_id for name, doc_id in renamed.items() if doc_id not in taken}
    notes["documents named by their files"] += len(renamed)
    paths = set(corpus.records["path"].drop_nulls())
    plain = {_unescaped(path): path for path in paths}
    moved = {path: _path(path, paths, plain) for path in values["path"].drop_nulls().unique()}
    moved = {path: other for path, other in moved.items() if other != path}
    values = values.with_columns(pl.col("doc_id").replace(renamed))
    return values.with_columns(pl.col("path").replace(moved)) if moved else values


def _path(path: str, known: set[str], plain: Mapping[str, str]) -> str:
    """The path of the gold that a path of an answer stands for; else itself."""
    if path in known:
        return path
    if f"{path}/0" in known:
        return f"{path}/0"
    if path.endswith("/0") and path.removesuffix("/0") in known:
        return path.removesuffix("/0")
    return plain.get(_unescaped(path), path)


def _unescaped(path: str) -> str:
    return path.replace("~1", "/").replace("~0", "~")


def read(split: str, root: Path) -> Corpus:
    """The corpus whose gold is `root`, as `corpus` reads it; for `formlab.load`."""
    return corpus(root, name=split)


def splits(root: Path) -> dict[str, int]:
    """The one split of a gold file or folder; its documents are counted when it is read."""
    return {Path(root).resolve().stem: 0}


FORMAT = Format(
    BENCHMARK, "a table (CSV, TSV, a workbook …) or a folder of JSON files", is_one,
    lambda path, corpus: _read(path, corpus, path, None, None),
)  # fmt: skip
