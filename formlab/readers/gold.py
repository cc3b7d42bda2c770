"""A user's own forms: gold in any table as a corpus, with pages that are called like documents."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import polars as pl

from formlab import benchmarks, files, tables, text
from formlab.benchmarks.corpus import batch_numbers, image_columns, meta_of
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Corpus
from formlab.readers import Row, answers, counted, door
from formlab.readers.answers import IMAGES, IN_JSON, OWN, UNREAD
from formlab.readers.sources import FRAME
from formlab.readers.types import TYPES, FieldType, FieldTypes
from formlab.readers.values import DOCUMENT, Stored, by_text, pieces

__all__ = ["corpus", "read", "splits"]
(_PAGE,) = door.PATTERNS["pages"]
_ENCODINGS = ("utf-8-sig", "latin-1")
_ODD = "different values that are not of the inferred type, compared as text"


def corpus(
    gold: Any,
    *,
    images: str | Path | None = None,
    types: Any = None,
    name: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Corpus:
    """A corpus of the user's own documents, of the benchmark `own`.

    Each value is a record of task `text`; its `kind` is the user's, else that of the declared or
    inferred type; its `field` is the pattern of its path, such as ``/items/*/price``. A declared
    rule is the record's `meta` (`types.rule_of`), all types are in each document's. A blank value
    is the empty text. A page's text is the row without a path, not scored where there is none. Own
    columns are kept, under ``own_<name>`` where formlab has one of that name.

    `gold` is a path or address of CSV, TSV, JSON lines, JSON, Parquet, a workbook, a folder or zip
    archive with a file for each document; a frame; a list of dicts; or a dict of documents. A
    *long* source has a column for the document and one for the value; a *wide* one a row or an
    object for each document. Nested objects, lists and names such as ``items[0].price`` become JSON
    pointers; several values at a path are a list. An object of a value with its confidence, page or
    box is one value; a column ``total_confidence`` is of ``total``. `columns` has the source's own
    names, such as ``{"doc_id": "id"}``; `types` as for `FieldTypes.read` (others are
    inferred); `name` is the split, by default the stem of the gold's path. Below the folder
    `images`, a document's pages are the file called like it (``a.pdf``), those called so with a
    number (``a_2.png``; ``a-p1.png``), or those in a folder called so; else the gold's own column
    `image` is relative to its folder. Boxes are in pixels of their page, of a PDF in the unit of
    `documents.width`, else in points; `page` counts from 1. The text of a document without an image
    is the column `context` or a file ``a.txt`` among the images. `DataMissing`, `DataBroken` or
    `UnknownName` if something cannot be read.

    >>> loaded = corpus([{"doc_id": "a", "total": "9.00"}, {"doc_id": "b", "total": ""}])
    >>> loaded.records.filter(path="/total").select("doc_id", "value", "kind").rows()
    [('a', '9.00', 'number'), ('b', '', 'number')]
    """
    how = {"images": images, "types": types, "name": name, "columns": columns}
    with TemporaryDirectory(prefix="formlab-") as folder:
        (made,) = corpora(files.local(gold), Path(folder, "read"), records=math.inf, **how)
        return made()


def corpora(
    source: Any,
    folder: Path,
    *,
    columns: Any = None,
    records: float = 0,
    types: Any = None,
    images: str | Path | None = None,
    name: str | None = None,
) -> Iterator[Callable[[], Corpus]]:
    """What reads the same as corpora of at most so many `records`, whose values are in `folder`."""
    flaws = Counter[str]()
    values = Stored(pieces(source, columns or {}, flaws), folder, sampled=True)
    # A document has one record more: its page.
    numbers = pl.Series(batch_numbers(values.documents["n"] + 1, records or benchmarks.BATCH))
    values.cut(values.documents.select("doc_id", name="doc_id", batch=numbers))
    declared = FieldTypes.read(types) if types is not None else FieldTypes()
    inferred = FieldTypes.inferred(values.samples, values.lists)
    known = [f"{path}/".replace("/*", "") for path in inferred.fields]
    for path in declared.fields if declared.is_list else ():
        # A part of a document may be named, and a list with its items or without.
        if not any(other.startswith(f"{path}/".replace("/*", "")) for other in known):
            raise UnknownName.of("field in the types", path, inferred.fields)
    for path in inferred.fields.keys() - declared.fields.keys():
        flaws[f"types inferred: {inferred.fields[path].type}"] += 1
        flaws[_ODD] += inferred.odd.get(path, 0)
    types = FieldTypes(inferred.fields | declared.fields)
    path, names = source if isinstance(source, Path) else None, values.documents["doc_id"]
    root, pages, texts = None, None, dict[str, list[str]]()
    if images is not None:
        root = Path(images).resolve()
        pages, texts = find(root, names, flaws), find(root, names, Counter(), (".txt",))
    elif path and "image" in values.none.columns:
        root = (path if path.is_dir() else path.parent).resolve()
    key = {"benchmark": OWN, "split": name or (door.stem(path.resolve()) if path else FRAME)}
    said = {"root": root, "sources": answers.sources_of(path)}
    read = partial(_corpus, values, types, (pages, texts), key, said)
    for number in numbers.unique(maintain_order=True):
        # What is odd in the whole is counted once.
        yield partial(read, number, Counter() if number else flaws)


def _corpus(
    values: Stored, types: FieldTypes, found: Any, key: Row, said: Row, number: int, flaws: Any
) -> Corpus:
    """The documents of a batch, with the `types` of all and the files `found` for them."""
    (pages, texts), root, common = found, said["root"], {"types": msgspec.to_builtins(types.fields)}
    plain = door.as_text(common)

    def document(row: Row) -> Row:
        of_row = [row["image"]] if row.get("image") else (pages or {}).get(row["doc_id"], [])
        flaws["documents without an image"] += pages is not None and not of_row
        if root is not None and of_row:
            row["image"], file = of_row[0], root / of_row[0]
            if "\0" in str(file) or not file.resolve().is_relative_to(root):
                flaws["images outside of their folder"] += 1
                row["image"] = None
            elif file.suffix.lower() != ".pdf" or not file.is_file():
                # A PDF has a size for each page; what is not there keeps its name.
                size = image_columns(root, file.resolve(), flaws)
                row |= {side: row.get(side) or size.get(side) for side in ("width", "height")}
        if text_files := () if row.get("context") else texts.get(row["doc_id"], ()):
            found = (files.read_text(root / name, encodings=_ENCODINGS) for name in text_files)
            row["context"] = files.storable("\n".join(found))
        meta = door.as_text(common | {"pages": of_row}) if of_row[1:] else plain
        return row | {"meta": files.storable(meta)}

    rows = values.rows(number, values.lists)
    records = answers.table(_records(rows, types, flaws), key | {"role": "gold"})
    stated = [pl.col(name).drop_nulls().first() for name in DOCUMENT if name in rows.columns]
    kinds = pl.col("kind").filter(pl.col("path").is_not_null())
    counts = records.group_by("doc_id").agg(n_fields=kinds.len(), n_kinds=kinds.n_unique())
    rows = rows.group_by("doc_id", maintain_order=True).agg(stated)
    rows = rows.join(counts, on="doc_id", how="left", maintain_order="left").to_dicts()
    documents = tables.table("documents", map(document, rows), **key)
    return Corpus(documents, records, **key, **said, flaws=counted(flaws)).check()


def _records(values: pl.DataFrame, types: FieldTypes, flaws: Counter[str]) -> pl.DataFrame:
    """The fields of documents with their kinds and rules, after a row for each page."""
    is_mended = pl.col("status") == "repaired"
    broken = values.filter(UNREAD | (is_mended & IN_JSON))
    for value, origin in broken.select("value", "origin").rows()[:1]:
        raise DataBroken(f"no JSON: {value!r:.200}", where=origin, remedy="mend that file")
    mended = values.filter(is_mended)["doc_id"].n_unique()
    flaws["documents whose text was repaired to be read"] += mended
    kind = pl.coalesce("kind", by_text(values["path"], lambda p: TYPES.get(types.of(p).type)))
    meta, is_page = by_text(values["path"], types.rule), pl.col("path").is_null()
    fields = values.filter(~is_page).with_columns(kind, pl.col("value").fill_null(""), meta=meta)
    words = fields["value"].filter(fields["value"].str.to_lowercase().is_in(text.values.NULL_WORDS))
    flaws.update(f"values {w!r}, compared as text: leave blank what has no value" for w in words)
    scored = values.filter(is_page, pl.col("value").is_not_null())
    whole = pl.concat([scored, values.select("doc_id", status=pl.lit("unscored"))], how="diagonal")
    whole = whole.unique("doc_id", keep="first", maintain_order=True)
    return pl.concat([whole.with_columns(kind=pl.lit("page")), fields], how="diagonal")


def find(
    folder: Path, documents: Collection[str], flaws: Counter[str], endings: Sequence[str] = IMAGES
) -> dict[str, list[str]]:
    """The files of each document's pages in order, relative to `folder`; see `corpus`."""
    root = files.folder(folder, remedy="--images with the folder of the scans or PDFs")
    named, found = answers.by_key(documents, answers.file_names), defaultdict[str, list[Any]](list)
    for file in root.rglob("*"):
        path = PurePosixPath(file.relative_to(root).as_posix())
        if path.suffix.lower() not in endings or path.name[0] == "." or not file.is_file():
            continue
        whole = str(path.with_suffix(""))
        # Texts and numbers take turns, so that page 10 stands behind page 2.
        steps = [int(step) if step.isdecimal() else step for step in re.split("([0-9]+)", whole)]
        order = (steps, endings.index(path.suffix.lower()))
        for kind, called in enumerate((whole, _PAGE.sub(r"\1", whole), str(path.parent))):
            keys = answers.file_names(called)
            if key := next((key for key in keys if key in named), None):
                found[named[key]].append((keys.index(key), order, kind, path))
                break
    pages, note = {}, "documents with several files of one name: the first is read"
    for name, listed in found.items():
        # Those that are called like it with its folder go before those with another.
        nearest = min(listed)[0]
        listed = sorted(entry for entry in listed if entry[0] == nearest)
        alike, further, below = ([e[-1] for e in listed if e[2] == kind] for kind in range(3))
        chosen = [*alike[:1], *further] or below
        beside = {page.stem: page for page in reversed(chosen) if page.parent == chosen[0].parent}
        flaws[note] += len(beside) < len(chosen) + len(alike[1:])
        pages[name] = list(map(str, reversed(beside.values())))
    return pages


def read(split: str, root: Path) -> Corpus:
    """The corpus whose gold is `root`, as `corpus` reads it; for `formlab.load`."""
    return corpus(root, name=split)


def schema_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of what a model answers about a document of a corpus."""
    types = msgspec.convert(meta_of(document).get("types", {}), dict[str, FieldType])
    return FieldTypes(types).json_schema()


def splits(root: Path) -> dict[str, int]:
    """The one split of a gold file or folder; its documents are counted when it is read."""
    return {door.stem(Path(root).resolve()): 0}
