"""A user's own forms: gold in any table as a corpus, beside the answers to it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files, frames, tables
from formlab.errors import DataBroken, UnknownName
from formlab.files import local
from formlab.folders import Corpus, Folder, Predictions
from formlab.readers import is_run, read_predictions
from formlab.readers import pages as page_files
from formlab.readers.answers import OWN, sources_of, table, unread
from formlab.readers.door import stem
from formlab.readers.rows import counted
from formlab.readers.sources import FRAME, columns_of
from formlab.readers.types import FieldTypes, rule_text
from formlab.readers.values import DOCUMENT, read_values

__all__ = ["corpus", "pair", "read", "read_values", "splits"]
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
    (`types.rule_of`), and all types stand in each document's (`FieldTypes.of_document`). A value
    left blank is the empty text. The text of a page is the row without a path; a document without
    one has such a row that is not scored. Columns of the user's own are kept in the records, under
    ``own_<name>`` where formlab has a column of that name.

    `gold` and `columns` are as for `read_values`, `types` as for `FieldTypes.read` (where none are
    declared they are inferred, and `flaws` counts them), and `name` is that of the corpus, its
    `split`: by default the stem of the gold's path.

    `images` is a folder with images and PDFs called like the documents, see `pages.find`; without
    one, the gold's own column `image` is relative to the folder of its file. An image stands in
    `documents.image`, relative to `root`; a PDF or TIFF may have several pages. Where each page is
    a file, `documents.meta` lists them in order under `pages` (`meta.page_images`). `records.page`
    counts from 1 either way. Boxes are in pixels of their page, of a PDF in the unit of
    `documents.width`, else in points. The text of a document without an image, which is no gold,
    is the column `context` (of a wide table one that `columns` names) or a file ``a.txt`` there.

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
    known, declared = typed(FieldTypes.inferred(values), types, flaws)
    has_image = pl.col("image").is_not_null() if "image" in values.columns else pl.lit(False)
    documents = values.group_by("doc_id", maintain_order=True).agg(has_image=has_image.any())
    root, pages, texts = pages_of(documents, path, images, "image" in values.columns, flaws)
    said: dict[str, Any] = {"flaws": flaws, "sources": sources_of(path)}
    said["name"] = name or (stem(path.resolve()) if path else FRAME)
    return of_values(values, known, declared, root=root, pages=pages, texts=texts, **said)


def typed(inferred: FieldTypes, types: Any, flaws: Counter[str]) -> tuple[FieldTypes, FieldTypes]:
    """All types, and those that are declared; the inferred ones are counted among the flaws."""
    declared = FieldTypes.read(types) if types is not None else FieldTypes()
    known = [f"{path}/".replace("/*", "") for path in inferred.fields]
    for path in declared.fields if declared.is_list else ():
        # A part of a document may be named, and a list with its items or without.
        if not any(other.startswith(f"{path}/".replace("/*", "")) for other in known):
            raise UnknownName.of("field in the types", path, inferred.fields)
    guessed = FieldTypes({p: t for p, t in inferred.fields.items() if p not in declared.fields})
    # How many: a user is to see what was taken for what.
    flaws.update(f"{tables.INFERRED}: {field.type}" for field in guessed.fields.values())
    odd = sum(count for path, count in inferred.odd.items() if path in guessed.fields)
    flaws["different values that are not of the inferred type, compared as text"] += odd
    return FieldTypes(inferred.fields | declared.fields), declared


def pages_of(
    documents: pl.DataFrame,
    path: Path | None,
    images: str | Path | None,
    has_column: bool,
    flaws: Counter[str],
) -> tuple[Path | None, dict[str, list[str]], dict[str, Path]]:
    """The folder of the images, and by document its pages and its file of text there."""
    if images is None:
        home = path if path is None or path.is_dir() else path.parent
        return home.resolve() if home and has_column else None, {}, {}
    root, names = Path(images).resolve(), documents["doc_id"].to_list()
    without = documents.filter(~pl.col("has_image"))["doc_id"].to_list()
    return root, page_files.find(root, without, flaws), page_files.text_files(root, names)


def of_values(
    values: pl.DataFrame,
    known: FieldTypes,
    declared: FieldTypes,
    *,
    name: str,
    root: Path | None,
    pages: Mapping[str, list[str]],
    texts: Mapping[str, Path],
    flaws: Counter[str],
    sources: dict[str, str],
) -> Corpus:
    """The corpus of values, all of whose types, pages and files of text are known."""
    # The origin of a value inside of a file goes on after `#`.
    is_file = pl.col("origin").str.to_lowercase().str.ends_with(".json")
    mended = values.filter(status="repaired") if "status" in values.columns else values.clear()
    for broken in (values.filter(unread(values)), mended):
        for text, origin in broken.filter(is_file).select("value", "origin").rows()[:1]:
            raise DataBroken(f"no JSON: {text!r:.200}", where=origin, remedy="mend that file")
    for origin in mended["origin"].head(1):
        note = f"documents whose text was repaired to be read, such as {origin}"
        flaws[note] += mended["doc_id"].n_unique()
    key = {"benchmark": OWN, "split": name}
    records = _records(values, known, declared, key)
    must = [path for path, kind in declared.fields.items() if kind.required and "*" not in path]
    filled = records.filter(pl.col("path").is_in(must), pl.col("value") != "")
    lacking = len(must) * records["doc_id"].n_unique()
    lacking -= filled.select("doc_id", "path").n_unique()
    flaws["required fields without a value"] += lacking
    meta = {"types": known.stated()}
    # A row for each document, with what its rows say of it.
    stated = [pl.col(name).drop_nulls().first() for name in DOCUMENT if name in values.columns]
    fields = records.filter(pl.col("path").is_not_null()).group_by("doc_id")
    counts = fields.agg(n_fields=pl.len(), n_kinds=pl.col("kind").n_unique())
    documents = values.group_by("doc_id", maintain_order=True).agg(stated)
    documents = documents.join(counts, on="doc_id", how="left", maintain_order="left")
    documents = documents.with_columns(pl.col("n_fields", "n_kinds").fill_null(0)).to_dicts()
    for row in documents:
        several = [row["image"]] if row.get("image") else pages.get(row["doc_id"], [])
        if root is not None:
            row |= page_files.columns(root, several, row, flaws)
            if not row.get("context") and row["doc_id"] in texts:
                text = files.read_text(texts[row["doc_id"]], encodings=("utf-8-sig", "latin-1"))
                row["context"] = files.storable(text)
        listed = {"pages": several} if root is not None and len(several) > 1 else {}
        row["meta"] = files.storable(json.dumps(meta | listed, ensure_ascii=False))
    return Corpus(
        documents=tables.table("documents", documents, **key),
        records=records,
        benchmark=OWN,
        split=name,
        root=root,
        flaws=counted(flaws),
        sources=sources,
    ).check()


def _records(
    values: pl.DataFrame, known: FieldTypes, declared: FieldTypes, key: Mapping[str, str]
) -> pl.DataFrame:
    paths = values["path"].drop_nulls().unique(maintain_order=True)
    rules = {path: rule_text(declared.of(path)) for path in paths}
    kinds = {path: known.of(path).kind for path in paths}
    kind, meta = (
        pl.col("path").replace_strict(found, default=None, return_dtype=pl.String)
        for found in (kinds, rules)
    )
    stated = [pl.col("kind")] if "kind" in values.columns else []
    is_page = pl.col("path").is_null()
    fields = values.filter(~is_page).with_columns(
        pl.col("value").fill_null(""), kind=pl.coalesce(*stated, kind), meta=meta
    )
    texts = values.filter(is_page, pl.col("value").is_not_null())
    texts = texts.unique("doc_id", keep="first", maintain_order=True)
    blank = values.select("doc_id").unique(maintain_order=True).join(texts, on="doc_id", how="anti")
    pages = pl.concat([texts, blank.with_columns(status=pl.lit("unscored"))], how="diagonal")
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
    """Gold and answers as `corpus` and `read_predictions` read them; what is loaded already stays.

    `columns` name those of either side, or of both: ``gold`` is the column of the gold's values,
    ``prediction`` that of the answers'. `UnknownName` if neither side has one.
    """
    gold, answers = located(gold), located(answers)
    named = sides(gold, answers, columns or {})
    if not isinstance(gold, Corpus):
        gold = corpus(gold, images=images, types=types, columns=named[0])
    if not isinstance(answers, Predictions):
        answers = read_predictions(answers, gold, columns=named[1])
    return gold, answers


def sides(gold: Any, answers: Any, columns: Mapping[str, str]) -> list[dict[str, str]]:
    """The columns of gold and of answers among those that were named for either; see `pair`."""
    # A run is no table.
    known = [
        set() if not columns or isinstance(side, Folder) or is_run(side) else {*columns_of(side)}
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


frames.door(globals(), __all__)
