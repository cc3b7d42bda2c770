"""A user's own gold as a corpus."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from formlab import readers, tables
from formlab.addresses import local
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Corpus, Folder, Predictions
from formlab.own import images as own_images
from formlab.own.types import FieldTypes, rule_text
from formlab.readers import is_run
from formlab.readers.answers import sources_of, unread
from formlab.readers.content import stem
from formlab.readers.door import FRAME, columns_of
from formlab.readers.layout import DOCUMENT, RECORD
from formlab.readers.values import pattern, read_values

BENCHMARK = "own"
INFERRED = tables.INFERRED
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
    else that of the type inferred from all values at such paths; its `subtype` is the user's, else
    its field, such as ``/items/*/price``. A declared rule stands in the record's `meta`
    (`types.rule_of`), and all types stand in each document's (`FieldTypes.of_document`). A value
    left blank is the empty text. The text of a page is the row without a path; a document without
    one has such a row that is not scored. Columns of the user's own are kept in the records, under
    ``own_<name>`` where formlab has a column of that name.

    The text of a document that has no image, which is no gold, is the column `context` (of a wide
    table one that `columns` names: ``{"context": "text"}``) or a file ``a.txt`` in `images`.

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
    gold = located(gold)
    values = read_values(gold, columns=columns, flaws=flaws)
    path = gold if isinstance(gold, Path) else None
    name = name or (stem(path.resolve()) if path else FRAME)
    known, declared = typed(FieldTypes.inferred(values), types, flaws)
    root = root_of(path, images, "image" in values.columns)
    pages: dict[str, list[str]] = {}
    texts: dict[str, Path] = {}
    if images is not None and root:
        # Without a folder only the column `image` says where the pages are.
        pages = own_images.find(root, without_image(values), flaws)
        texts = own_images.text_files(root, values["doc_id"].unique(maintain_order=True))
    return of_values(
        values, known, declared, name=name, root=root, pages=pages, texts=texts, flaws=flaws,
        sources=sources_of(path),
    )  # fmt: skip


def typed(inferred: FieldTypes, types: Any, flaws: Counter[str]) -> tuple[FieldTypes, FieldTypes]:
    """All types, and those that are declared; the inferred ones are counted among the flaws.

    `UnknownName` if a file of fields names one that no document has.
    """
    declared = FieldTypes.read(types) if types is not None else FieldTypes()
    known = [f"{path}/".replace("/*", "") for path in inferred.fields]
    for path in declared.fields if declared.is_list else ():
        # A part of a document may be named, and a list with its items or without.
        named = f"{path}/".replace("/*", "")
        if not any(other.startswith(named) for other in known):
            raise UnknownName.of("field in the types", path, inferred.fields)
    guessed = FieldTypes({p: t for p, t in inferred.fields.items() if p not in declared.fields})
    # How many: a user is to see what was taken for what.
    flaws.update({f"{INFERRED}: {kind}": count for kind, count in guessed.counts().items()})
    odd = sum(count for path, count in inferred.odd.items() if path in guessed.fields)
    flaws["different values that are not of the inferred type, compared as text"] += odd
    return FieldTypes(inferred.fields | declared.fields), declared


def root_of(path: Path | None, images: str | Path | None, has_image: bool) -> Path | None:
    """The folder that images of documents are relative to."""
    if images is not None:
        return Path(images).resolve()
    return (path if path.is_dir() else path.parent).resolve() if path and has_image else None


def without_image(values: pl.DataFrame) -> list[str]:
    """The documents, in order, of which no row names an image."""
    names = values["doc_id"].unique(maintain_order=True)
    if "image" not in values.columns:
        return names.to_list()
    shown = values.filter(pl.col("image").is_not_null())["doc_id"].unique()
    return names.filter(~names.is_in(shown.implode())).to_list()


def of_values(
    values: pl.DataFrame, known: FieldTypes, declared: FieldTypes, *, name: str, root: Path | None,
    pages: Mapping[str, list[str]], texts: Mapping[str, Path], flaws: Counter[str],
    sources: dict[str, str],
) -> Corpus:  # fmt: skip
    """The corpus of values, all of whose types, pages and files of text are known."""
    is_file = pl.col("origin").str.to_lowercase().str.ends_with(".json")
    if len(broken := unread(values).filter(is_file)):
        what, origin = broken.select("value", "origin").row(0)
        raise DataBroken(f"no JSON: {what!r:.200}", where=origin, remedy="mend that file")
    key = {"benchmark": BENCHMARK, "split": name}
    records = _records(values, known, declared, key)
    flaws["required fields without a value"] += _without(records, declared)
    documents = _documents(values, records, known, key)
    if root is not None:
        documents = _with_pages(documents, root, pages, texts, flaws)
    return Corpus(
        documents=documents,
        records=records,
        benchmark=BENCHMARK,
        split=name,
        root=root,
        flaws={what: count for what, count in sorted(flaws.items()) if count},
        sources=sources,
    ).check()


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
    return table(rows, key | {"role": "gold"})


def table(rows: pl.DataFrame, key: Mapping[str, str]) -> pl.DataFrame:
    """Rows of values as records: with every column, and those of the user's own after them."""
    schema = tables.RECORDS
    if key["benchmark"] == BENCHMARK:
        # All items of a list are one field. It slices: also what only an answer has.
        paths = rows["path"].drop_nulls().unique()
        field = pl.col("path").replace_strict(paths, list(map(pattern, paths)), default=None)
        stated = [pl.col("subtype")] if "subtype" in rows.columns else []
        rows = rows.with_columns(subtype=pl.coalesce(*stated, field.cast(pl.String)))
    usual = {"status": "ok", "task": "text"}
    stated = [
        pl.col(name).fill_null(value) if name in rows.columns else pl.lit(value).alias(name)
        for name, value in usual.items()
    ]
    kept = {"doc_id", "path", "value", "meta", "origin", *RECORD}
    own = [name for name in rows.columns if name not in (*kept, *DOCUMENT)]
    names = {name: name for name in own if name not in tables.RESERVED}
    for name in own:
        if name not in names:
            free = f"own_{name}"
            while free in names:
                free = f"own_{free}"
            names[name] = free
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
    must = [path for path, field in declared.fields.items() if field.required and "*" not in path]
    filled = records.filter(pl.col("path").is_in(must), pl.col("value") != "")
    return len(must) * records["doc_id"].n_unique() - filled.select("doc_id", "path").n_unique()


def _documents(
    values: pl.DataFrame, records: pl.DataFrame, known: FieldTypes, key: Mapping[str, str]
) -> pl.DataFrame:
    """A row for each document, with what its rows say of it and without any page."""
    stated = [name for name in DOCUMENT if name in values.columns]
    documents = values.group_by("doc_id", maintain_order=True).agg(
        pl.col(name).drop_nulls().first() for name in stated
    )
    fields = records.filter(pl.col("path").is_not_null()).group_by("doc_id").agg(
        n_fields=pl.len(), n_kinds=pl.col("kind").n_unique()
    )  # fmt: skip
    documents = documents.join(fields, on="doc_id", how="left", maintain_order="left")
    meta = tables.storable(json.dumps({"types": known.stated()}, ensure_ascii=False))
    columns = {n: pl.lit(None) for n in tables.DOCUMENTS if n not in documents.columns}
    columns |= {n: pl.lit(value) for n, value in (key | {"meta": meta}).items()}
    columns |= {n: pl.col(n).fill_null(0) for n in ("n_fields", "n_kinds")}
    full = documents.with_columns(**columns)
    return full.select(pl.col(n).cast(dtype) for n, dtype in tables.DOCUMENTS.items())


def _with_pages(
    documents: pl.DataFrame, root: Path, pages: Mapping[str, list[str]],
    texts: Mapping[str, Path], flaws: Counter[str],
) -> pl.DataFrame:  # fmt: skip
    """The documents with their images and the files of their text."""
    rows = documents.to_dicts()
    for row in rows:
        if not row["context"] and row["doc_id"] in texts:
            row["context"] = own_images.text_of(texts[row["doc_id"]])
        several = [row["image"]] if row["image"] else pages.get(row["doc_id"], [])
        row |= own_images.columns(root, several, row, flaws)
        if len(several) > 1:
            row["meta"] = json.dumps(
                json.loads(row["meta"]) | {"pages": several}, ensure_ascii=False
            )
    return tables.table("documents", rows)


def read(split: str, root: Path) -> Corpus:
    """The corpus whose gold is `root`, as `corpus` reads it; for `formlab.load`."""
    return corpus(root, name=split)


def schema_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of what a model answers about a document of a corpus."""
    return FieldTypes.of_document(document).json_schema()


def splits(root: Path) -> dict[str, int]:
    """The one split of a gold file or folder; its documents are counted when it is read."""
    return {stem(Path(root).resolve()): 0}


def located(source: Any) -> Any:
    """The local path of a path or address; any other source as it is."""
    return local(source) if isinstance(source, str | Path) else source


@tables.uncollected()
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
    gold, answers = located(gold), located(answers)
    named = sides(gold, answers, columns or {})
    if not isinstance(gold, Corpus):
        gold = corpus(gold, images=images, types=types, columns=named[0])
    if not isinstance(answers, Predictions):
        answers = readers.predictions(answers, gold, columns=named[1])
    return gold, answers


def sides(gold: Any, answers: Any, columns: Mapping[str, str]) -> list[dict[str, str]]:
    """The columns of gold and of answers among those that were named for either; see `pair`."""
    known = [
        _columns(side) if columns and not isinstance(side, Folder) else set()
        for side in (gold, answers)
    ]
    named: list[dict[str, str]] = [{}, {}]
    for name, column in columns.items():
        only = SIDES.index(name) if name in SIDES else None
        here = [n for n in range(2) if column in known[n] and only in (None, n)]
        if not here:
            raise UnknownName.of("column", column, known[0] | known[1])
        for n in here:
            named[n]["value" if name in SIDES else name] = column
    return named


def _columns(source: Any) -> set[str]:
    """The names of a source's columns; none of what is no table, such as a run."""
    return set() if is_run(source) else set(columns_of(source))
