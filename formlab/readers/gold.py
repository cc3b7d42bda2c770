"""A user's own forms: gold in any table as a corpus."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files, frames, tables
from formlab.errors import DataBroken, UnknownName
from formlab.files import local
from formlab.folders import Corpus, Folder
from formlab.readers import is_run
from formlab.readers import pages as page_files
from formlab.readers.answers import OWN, UNREAD, sources_of, table
from formlab.readers.door import stem
from formlab.readers.rows import counted
from formlab.readers.sources import FRAME, columns_of
from formlab.readers.types import FieldTypes, rule_text
from formlab.readers.values import DOCUMENT, read_values

__all__ = ["corpus", "read", "read_values", "splits"]
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
    else that of the type inferred from all values at such paths; its `field` is the pattern of its
    path, such as ``/items/*/price``. A declared rule stands in the record's `meta`
    (`types.rule_of`), and all types in each document's (`FieldTypes.of_document`). A value left
    blank is the empty text. The text of a page is the row without a path; a document without one
    has such a row that is not scored. The user's own columns are kept, under ``own_<name>`` where
    formlab has a column of that name.

    `gold` and `columns` are as for `read_values`, `types` as for `FieldTypes.read` (others are
    inferred, and `flaws` counts them); the `name` of the corpus, its `split`, is by default the
    stem of the gold's path. `images` is a folder as for `pages.find`; without one, the gold's own
    column `image` is relative to the folder of its file. Boxes are in pixels of their page, of a
    PDF in the unit of `documents.width`, else in points; `page` counts from 1. The text of a
    document without an image, which is no gold, is the column `context` or a file ``a.txt`` among
    the images. `DataMissing`, `DataBroken` or `UnknownName` if something cannot be read.

    >>> loaded = corpus([{"doc_id": "a", "total": "9.00"}, {"doc_id": "b", "total": ""}])
    >>> loaded.records.filter(path="/total").select("doc_id", "value", "kind").rows()
    [('a', '9.00', 'number'), ('b', '', 'number')]
    """
    flaws, gold = Counter[str](), local(gold)
    values = read_values(gold, columns=columns, flaws=flaws)
    has_image = pl.col("image").is_not_null() if "image" in values.columns else pl.lit(value=False)
    documents = values.group_by("doc_id", maintain_order=True).agg(has_image=has_image.any())
    how = {"types": types, "images": images, "name": name}
    shared = Gold.of(gold, documents, FieldTypes.inferred(values), flaws, **how)
    return shared.corpus(values, flaws)


@dataclass(frozen=True)
class Gold:
    """What all parts of a user's gold share: types, and files of each document below `root`."""

    split: str
    types: FieldTypes
    declared: FieldTypes
    root: Path | None
    pages: Mapping[str, list[str]]
    texts: Mapping[str, list[str]]
    sources: Mapping[str, str]

    @classmethod
    def of(
        cls,
        source: Any,
        documents: pl.DataFrame,
        inferred: FieldTypes,
        flaws: Counter[str],
        **how: Any,
    ) -> Gold:
        """Of documents, with `has_image` where rows name one; `how` is as in `corpus`."""
        types, images, name = (how.get(option) for option in ("types", "images", "name"))
        declared = FieldTypes.read(types) if types is not None else FieldTypes()
        known = [f"{path}/".replace("/*", "") for path in inferred.fields]
        for path in declared.fields if declared.is_list else ():
            # A part of a document may be named, and a list with its items or without.
            if not any(other.startswith(f"{path}/".replace("/*", "")) for other in known):
                raise UnknownName.of("field in the types", path, inferred.fields)
        for path in inferred.fields.keys() - declared.fields.keys():
            # How many: a user is to see what was taken for what.
            flaws[f"{tables.INFERRED}: {inferred.fields[path].type}"] += 1
            odd = "different values that are not of the inferred type, compared as text"
            flaws[odd] += inferred.odd.get(path, 0)
        path = source if isinstance(source, Path) else None
        root, pages, texts = None, dict[str, list[str]](), dict[str, list[str]]()
        if images is not None:
            root, without = Path(images).resolve(), documents.filter(~pl.col("has_image"))
            pages = page_files.find(root, without["doc_id"].to_list(), flaws)
            texts = page_files.find(root, documents["doc_id"].to_list(), Counter(), (".txt",))
        elif path and documents["has_image"].any():
            root = (path if path.is_dir() else path.parent).resolve()
        split = name or (stem(path.resolve()) if path else FRAME)
        types = FieldTypes(inferred.fields | declared.fields)
        return cls(split, types, declared, root, pages, texts, sources_of(path))

    def corpus(self, values: pl.DataFrame, flaws: Counter[str]) -> Corpus:
        """The corpus of some of the values, whole documents."""
        if "status" not in values.columns:
            values = values.with_columns(status=pl.lit(None, pl.String))
        mended = values.filter(status="repaired")
        # The origin of a value inside of a file goes on after `#`.
        is_file = pl.col("origin").str.to_lowercase().str.ends_with(".json")
        broken = pl.concat([values.filter(UNREAD), mended.filter(is_file)])
        for text, origin in broken.select("value", "origin").rows()[:1]:
            raise DataBroken(f"no JSON: {text!r:.200}", where=origin, remedy="mend that file")
        flaws["documents whose text was repaired to be read"] += mended["doc_id"].n_unique()
        key = {"benchmark": OWN, "split": self.split}
        records = self._records(values, key)
        # A row for each document, with what its rows say of it.
        stated = [pl.col(name).drop_nulls().first() for name in DOCUMENT if name in values.columns]
        fields = records.filter(pl.col("path").is_not_null()).group_by("doc_id")
        counts = fields.agg(n_fields=pl.len(), n_kinds=pl.col("kind").n_unique())
        documents = values.group_by("doc_id", maintain_order=True).agg(stated)
        documents = documents.join(counts, on="doc_id", how="left", maintain_order="left")
        rows = documents.with_columns(pl.col("n_fields", "n_kinds").fill_null(0)).to_dicts()
        meta = {"types": self.types.stated()}
        of_all = files.storable(json.dumps(meta, ensure_ascii=False))
        for row in rows:
            pages = [row["image"]] if row.get("image") else self.pages.get(row["doc_id"], [])
            if self.root is not None:
                row |= page_files.columns(self.root, pages, row, flaws)
            if text_files := () if row.get("context") else self.texts.get(row["doc_id"], ()):
                encodings = ("utf-8-sig", "latin-1")
                texts = (files.read_text(self.root / n, encodings=encodings) for n in text_files)
                row["context"] = files.storable("\n".join(texts))
            row["meta"] = of_all
            if self.root is not None and len(pages) > 1:
                several = json.dumps(meta | {"pages": pages}, ensure_ascii=False)
                row["meta"] = files.storable(several)
        return Corpus(
            documents=tables.table("documents", rows, **key),
            records=records,
            benchmark=OWN,
            split=self.split,
            root=self.root,
            flaws=counted(flaws),
            sources=dict(self.sources),
        ).check()

    def _records(self, values: pl.DataFrame, key: Mapping[str, str]) -> pl.DataFrame:
        paths = values["path"].drop_nulls().unique(maintain_order=True)
        kind, meta = (
            pl.col("path").replace_strict(found, default=None, return_dtype=pl.String)
            for found in (
                {path: self.types.of(path).kind for path in paths},
                {path: rule_text(self.declared.of(path)) for path in paths},
            )
        )
        stated = [pl.col("kind")] if "kind" in values.columns else []
        is_page = pl.col("path").is_null()
        fields = values.filter(~is_page).with_columns(
            pl.col("value").fill_null(""), kind=pl.coalesce(*stated, kind), meta=meta
        )
        texts = values.filter(is_page, pl.col("value").is_not_null())
        texts = texts.unique("doc_id", keep="first", maintain_order=True)
        blank = values.select("doc_id").unique(maintain_order=True)
        blank = blank.join(texts, on="doc_id", how="anti").with_columns(status=pl.lit("unscored"))
        pages = pl.concat([texts, blank], how="diagonal")
        pages = pages.with_columns(kind=pl.lit("page"), path=pl.lit(None, pl.String))
        return table(pl.concat([pages, fields], how="diagonal"), key | {"role": "gold"})


def read(split: str, root: Path) -> Corpus:
    """The corpus whose gold is `root`, as `corpus` reads it; for `formlab.load`."""
    return corpus(root, name=split)


def schema_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of what a model answers about a document of a corpus."""
    return FieldTypes.of_document(document).json_schema()


def splits(root: Path) -> dict[str, int]:
    """The one split of a gold file or folder; its documents are counted when it is read."""
    return {stem(Path(root).resolve()): 0}


def sides(gold: Any, answers: Any, columns: Mapping[str, str]) -> list[dict[str, str]]:
    """The columns of gold and of answers among those that were named for either side.

    ``gold`` is the column of the gold's values, ``prediction`` that of the answers'. `UnknownName`
    if neither side has one.
    """
    named, every = list[dict[str, str]](), set[str]()
    for source, value in zip((gold, answers), SIDES, strict=True):
        # A run is no table.
        is_table = columns and not isinstance(source, Folder) and not is_run(source)
        every |= set(known := columns_of(source) if is_table else ())
        stated = {name: column for name, column in columns.items() if column in known}
        side = {name: column for name, column in stated.items() if name not in SIDES}
        named.append(side | ({"value": stated[value]} if value in stated else {}))
    for column in set(columns.values()) - {c for side in named for c in side.values()}:
        raise UnknownName.of("column", column, every)
    return named


frames.door(globals(), __all__)
