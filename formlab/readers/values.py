"""Values, of gold or of answers, as one long table, whatever they are kept in."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import islice
from typing import Any

import polars as pl

from formlab import files, tables
from formlab.errors import DataBroken, UnknownName
from formlab.readers.cells import SYNONYMS, texts, values_in
from formlab.readers.door import as_text
from formlab.readers.rows import leaves
from formlab.readers.sources import Batch, batches
from formlab.text import answers, replies

# What a row may say beside its value: of the record, then of its document.
RECORD = ("confidence", "page", *tables.BOX, "kind", "accepted", "status", "modality", "subtype")
RECORD += ("task", "scope", "reference", "complexity", "modal")
DOCUMENT = ("image", "width", "height", "template", "domain", "context")
_DTYPES = {n: (tables.DOCUMENTS | tables.RECORDS)[n] for n in (*RECORD, *DOCUMENT)}
_ALLOWED = {"status": tables.STATUSES, "task": tables.TASKS}


@tables.uncollected()
def read_values(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    flaws: Counter[str] | None = None,
) -> pl.DataFrame:
    """A long table of values: one row per document and path.

    A *long* source has a column for the document and one for the value; a *wide* one a row or an
    object for each document. Nested objects and lists become JSON pointers (``/items/0/price``), as
    do names such as ``items[0].price``. Values are text as it is written: "007" and "9.00" stay, an
    empty cell is null. An object of a value with its confidence, page or box is one value; a column
    ``total_confidence`` is of ``total``; what stands around an answer is left out.

    `source` is a path or address of CSV, TSV, JSON lines, JSON, Parquet, a workbook, a folder or
    zip archive with a file for each document; a frame; a list of dicts; or a dict of documents.
    `columns` has the table's names, such as ``{"doc_id": "id"}``; else the usual ones (`SYNONYMS`)
    are looked for. `flaws` counts what is odd, by a short name.

    The columns are doc_id, path (null for the text of a page), value, what rows say beside it, own
    columns as text, and origin (file and line). A document without a value has one row without
    path. Several values at a path are a list: ``/party/0``, ``/party/1``. `DataMissing`,
    `DataBroken` or `UnknownName` if it cannot be read or columns are not told apart.

    >>> read_values([{"doc_id": "a", "total": 9.5, "items": [{"name": "Tea"}]}]).rows()
    [('a', '/total', '9.5', 'frame, row 1'), ('a', '/items/0/name', 'Tea', 'frame, row 1')]
    """
    flaws = Counter() if flaws is None else flaws
    values = pl.concat([*pieces(source, columns or {}, flaws)], how="diagonal")
    return listed(values, lists_of(values))


def pieces(
    source: Any, columns: Mapping[str, str], notes: Counter[str], whole: Collection[str] = ()
) -> Iterator[pl.DataFrame]:
    """The values of a source, some at a time, lists as they are, JSON at `whole` paths."""
    layout, first_rows = None, dict[str, str]()
    requests = {"doc_id", *SYNONYMS["doc_id"]} - {"id"} | {*columns.values()}
    for batch in batches(source, notes):
        if not batch.rows:
            continue
        if any(isinstance(cell, dict | list) for row in batch.rows[:20] for cell in row.values()):
            place = "/" if batch.documents else "response"
            batch = batch._replace(rows=replies.replaced(batch.rows, requests, place))
        names, is_long = layout = layout or layout_of(batch, columns)
        documents = _documents(batch, names["doc_id"], None if is_long else first_rows)
        yield _values_of(batch, names, documents, whole, is_long=is_long)
    if layout is None:
        where = source if isinstance(source, str) or hasattr(source, "name") else None
        raise DataBroken("no rows", where=where, remedy="one row a value")


def layout_of(batch: Batch, columns: Mapping[str, str]) -> tuple[dict[str, str], bool]:
    """A table's own name of each column that formlab knows, and whether each row is a value."""
    known, keys = batch.names, {"path", "value"}
    for name, column in columns.items():
        if column not in known:
            raise UnknownName.of("column", column, known)
        if name not in (usual := [*SYNONYMS, *RECORD, *DOCUMENT, "system"]):
            raise UnknownName.of("name for a column", name, usual)
    if batch.documents:
        return {"doc_id": "doc_id", **columns}, False
    names, where = dict(columns), batch.home + batch.origins[0]
    lower = {column: column for column in known if column not in columns.values()}
    lower = {re.sub("[ _-]+", "_", name.strip().lower()): name for name in lower}
    for name in SYNONYMS.keys() - names:
        found = [lower[other] for other in (name, *SYNONYMS[name]) if other in lower]
        if found and (len(found) == 1 or name in lower):
            names[name] = found[0]
    if "doc_id" not in names:
        what = f"no column, or several, for the document among {', '.join(known)[:400]}"
        raise DataBroken(what, where=where, remedy=_naming("doc_id", known))
    fields = {*known} - {*names.values(), *_DTYPES, *tables.RECORDS}
    if not keys.isdisjoint(columns):
        is_long = True
    elif keys <= names.keys():
        # A wide table may have fields called name and text among others.
        is_plain = {names[name].lower() for name in keys} == keys
        count = len({as_text(row.get(names["doc_id"])) for row in batch.rows})
        is_long = is_plain or not fields or count < len(batch.rows)
    else:
        # Texts of pages; or answers as JSON or behind reasoning, beside columns of the user's own.
        texts = (row.get(names.get("value")) for row in batch.rows)
        some = islice((text for text in texts if isinstance(text, str) and text), 20)
        is_page = "value" in names and "path" not in names
        is_long = is_page and (
            not fields or any(answers.is_json(t) or answers.plain(t).changes for t in some)
        )
    if is_long and "value" not in names:
        remedy = _naming("value", sorted(fields))
        raise DataBroken("no column for the values", where=where, remedy=remedy)
    return names if is_long else {"doc_id": names["doc_id"], **columns}, is_long


def _naming(name: str, columns: Sequence[str]) -> str:
    """The option that names what a table lacks: the column that is called most like it."""
    return f"--columns {name}={[*get_close_matches(name, columns, 1, 0.3), *columns, '…'][0]:.40}"


def _documents(batch: Batch, column: str, first_rows: dict[str, str] | None) -> pl.Series:
    """The document of each row; `DataBroken` for none, or for two rows of one in a wide table."""
    names = texts([row.get(column) for row in batch.rows]).str.strip_chars().replace("", None)
    for row in names.is_null().arg_true()[:1]:
        where, remedy = batch.home + batch.origins[row], "a name of the document in every row"
        raise DataBroken(f"no {column}", where=where, remedy=remedy)
    for name, origin in () if first_rows is None else zip(names, batch.origins, strict=True):
        if (first := first_rows.setdefault(name, origin)) is not origin:
            rest = [other for other in batch.names if other not in (column, "path", "value")]
            lacking = "value" if "path" in batch.names else "path"
            remedy = f"keep one of them; or if each row is a value: {_naming(lacking, rest)}"
            what = f"two rows for document {name!r}, the first at {first}"
            raise DataBroken(what, where=batch.home + origin, remedy=remedy)
    return names


def _values_of(
    batch: Batch,
    names: Mapping[str, str],
    documents: pl.Series,
    whole: Collection[str],
    *,
    is_long: bool,
) -> pl.DataFrame:
    """The values of a batch, a row without one for a document that has none."""
    leaves = values_in(batch, names, whole, is_long=is_long)
    every = pl.int_range(len(documents), eager=True).alias("row").to_frame()
    if (lacking := every.join(leaves, on="row", how="anti")).height:
        leaves = pl.concat([leaves, lacking], how="diagonal").sort("row", maintain_order=True)
    further = {name: column for name, column in names.items() if name not in SYNONYMS}
    if is_long:
        # A row without a path may say `text` for its value, as in formlab's plainest file.
        used = {*names, *names.values(), "text", "origin"}
        further |= {name: name for name in batch.names if name not in used}
    rows = {"doc_id": documents, "path": None, "value": None}
    rows |= {files.storable(name): _column(name, batch, further[name]) for name in further}
    values = pl.DataFrame(rows | {"origin": texts(batch.origins)})[leaves["row"]]
    values = values.with_columns(leaves["path", "value"])
    if batch.documents:
        below = pl.concat_str("origin", pl.lit("#"), leaves["inside"])
        values = values.with_columns(origin=pl.coalesce(below, "origin"))
    for column in leaves.drop("row", "path", "inside", "value"):
        stated = [pl.col(column.name)] if column.name in values.columns else []
        values = values.with_columns(pl.coalesce(*stated, column))
    return values


def _column(name: str, batch: Batch, column: str) -> pl.Series:
    """What rows say beside their values, as the dtype of its column; an own column is text."""
    dtype, cells = _DTYPES.get(name, pl.String), [row.get(column) for row in batch.rows]
    if isinstance(dtype, pl.List):
        found = []
        for cell in cells:
            # Further right values: a list, a JSON list as text, or texts between `|`.
            with suppress(ValueError, RecursionError, TypeError):
                cell = parsed if isinstance(parsed := json.loads(cell), list) else cell
            several = leaves(cell.split("|") if isinstance(cell, str) else cell)
            found.append([files.storable(as_text(i)) for _, i in several if i not in (None, "")])
        return pl.Series([several or None for several in found], dtype=dtype)
    stated = texts(cells)
    if dtype == pl.String and name not in _ALLOWED:
        return stated.replace("", None)
    stated, allowed = stated.str.strip_chars().replace("", None), _ALLOWED.get(name, ())
    known = stated.cast(dtype, strict=False)
    is_known = known.is_in(allowed) if allowed else known.is_finite()
    for row in (stated.is_not_null() & ~is_known.fill_null(value=False)).arg_true()[:1]:
        what, where = f"{name} cannot be {stated[row]!r:.80}", batch.home + batch.origins[row]
        remedy = f"one of: {', '.join(allowed)}" if allowed else "a number"
        raise DataBroken(what, where=where, remedy=remedy)
    return known


def listed(values: pl.DataFrame, paths: Collection[str]) -> pl.DataFrame:
    """The values with those at `paths` as the items of lists there."""
    if not paths:
        return values
    item_path = pl.format("{}/{}", "path", pl.int_range(pl.len()).over("doc_id", "path"))
    path = pl.when(pl.col("path").is_in(sorted(paths))).then(item_path).otherwise("path")
    return values.with_columns(path.alias("path"))


def lists_of(values: pl.DataFrame) -> set[str]:
    """The paths that are lists: several values of a document, or single ones beside lists."""
    keyed = values.filter(pl.col("path").is_not_null()).select("doc_id", "path")
    return first_items(keyed["path"].unique()) | set(keyed.filter(keyed.is_duplicated())["path"])


def first_items(paths: pl.Series) -> set[str]:
    """The paths of which there is also a first item; an item of a list is none of them."""
    lists = paths.filter(paths.str.ends_with("/0")).str.strip_suffix("/0")
    lists = lists.filter(~lists.str.contains("/[0-9]+$"))
    return set(lists.filter(lists.is_in(paths.implode())))
