"""Values, of gold or of answers, as one long table, whatever they are kept in."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain, islice
from operator import itemgetter
from typing import Any

import polars as pl

from formlab import files, tables
from formlab.errors import DataBroken, UnknownName
from formlab.readers import Row, leaves
from formlab.readers.cells import MARKS, values_in
from formlab.readers.door import as_text, number
from formlab.readers.sheets import NAMES
from formlab.readers.sources import Batch, batches
from formlab.text import answers, replies
from formlab.text.answers import plain_name, unwrapped
from formlab.trees import escape

# What a row may say beside its value: of the record, then of its document.
RECORD = ("confidence", "page", *tables.BOX, "kind", "accepted", "status", "modality", "subtype")
RECORD += ("task", "scope", "reference", "complexity", "modal")
DOCUMENT = ("image", "width", "height", "template", "domain", "context")
_DTYPES = {n: (tables.DOCUMENTS | tables.RECORDS)[n] for n in (*RECORD, *DOCUMENT)}
_ALLOWED = {"status": tables.STATUSES, "task": tables.TASKS}
# `items[0].price`, `$.vendor.name`, `$['items'][0]['name']`, `items[0][name]`.
_NAME = r"[^\W\d][\w-]*"
_BRACKETS = rf"""\.?\[(?:\d+|\*)\](?:\[{_NAME}\])?|\[(?:'[^'\]]+'|"[^"\]]+")\]"""
_DOTTED = re.compile(rf"(?:\$(?:\.?{_NAME})?|{_NAME})(?:\.[\w-]+|{_BRACKETS})+")
_STEP = re.compile(r"""'([^'\]]+)'|"([^"\]]+)"|([\w*-]+)""")
_CONFIDENCE = re.compile(
    r"(.+?)[ _.-]?(?:confidence|conf|prob(?:ability)?)|(?:confidence|conf)[ _.-](.+)", re.IGNORECASE
)
_PLAIN, _COLUMNS = {type(None), int, float, bool}, NAMES["columns"]


def pattern(path: str) -> str:
    """A path with ``*`` for each place in a list.

    >>> pattern("/items/10/price")
    '/items/*/price'
    """
    return "/".join("*" if step.isdecimal() else step for step in path.split("/"))


@lru_cache(maxsize=2**16)
def pointer(path: str | None) -> str | None:
    """A path as a JSON pointer; null where it names the whole document.

    >>> pointer("total"), pointer("items[0].price"), pointer("/items/0"), pointer("/")
    ('/total', '/items/0/price', '/items/0', None)
    """
    path = (path or "").strip()
    if _DOTTED.fullmatch(path):
        return "/" + "/".join(escape("".join(step)) for step in _STEP.findall(path))
    return None if path in ("", "/") else path if path.startswith("/") else f"/{path}"


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
    `columns` has the table's names, such as ``{"doc_id": "id"}``; else the usual ones of
    `names.toml` are looked for. `flaws` counts what is odd, by a short name.

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
    requests = {*NAMES["columns"]["doc_id"]} - {"id"}
    for batch in batches(source, notes):
        if not batch.rows:
            continue
        if any(isinstance(cell, dict | list) for row in batch.rows[:20] for cell in row.values()):
            place = "/" if batch.documents else "response"
            named = {*columns.values(), *(n for n in batch.names if plain_name(n) in requests)}
            batch = batch._replace(rows=replies.replaced(batch.rows, named, place))
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
        if name not in (usual := [*_COLUMNS, *RECORD, *DOCUMENT, "system"]):
            raise UnknownName.of("name for a column", name, usual)
    if batch.documents:
        return {"doc_id": "doc_id", **columns}, False
    names, where = dict(columns), batch.home + batch.origins[0]
    usual_names = {plain_name(column): column for column in known if column not in columns.values()}
    for name in _COLUMNS.keys() - names:
        usual = [usual_names[n] for n in _COLUMNS[name] if n in usual_names]
        found = usual or [usual_names[n] for n in NAMES["further"][name] if n in usual_names]
        if len(found) == 1 or plain_name(name) in usual_names:
            names[name] = found[0]
    if "doc_id" not in names:
        what = f"no column, or several, for the document among {', '.join(known)[:400]}"
        raise DataBroken(what, where=where, remedy=_naming("doc_id", known))
    fields = {*known} - {*names.values(), *_DTYPES, *tables.RECORDS}
    if not keys.isdisjoint(columns):
        is_long = True
    elif keys <= names.keys():
        # A wide table may have fields called name and text among others.
        is_plain = not fields or {names[name].lower() for name in keys} == keys
        documents = (as_text(row.get(names["doc_id"])) for row in batch.rows)
        is_long = is_plain or len({*documents}) < len(batch.rows)
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
    found = [*_found(batch, names, whole, is_long=is_long)]
    silent = {*range(len(batch.rows))}.difference(map(itemgetter(0), found))
    found = sorted(found + [(row, "", None, "", {}) for row in silent], key=itemgetter(0))
    rows, paths, cells, inside, said = zip(*found, strict=True)
    further = {name: column for name, column in names.items() if name not in _COLUMNS}
    if is_long:
        # A row without a path may say `text` for its value, as in formlab's plainest file.
        used = {*names, *names.values(), "text", "origin"}
        further |= {name: name for name in batch.names if name not in used}
    columns = {files.storable(name): _column(name, batch, further[name]) for name in further}
    columns = {"doc_id": documents, "path": None, "value": None} | columns
    values = pl.DataFrame(columns | {"origin": texts(batch.origins)})[list(rows)]
    values = values.with_columns(path=texts(paths).replace("", None), value=texts(cells))
    if batch.documents:
        below = pl.concat_str("origin", pl.lit("#"), texts(inside).replace("", None))
        values = values.with_columns(origin=pl.coalesce(below, "origin"))
    for name in sorted(set(chain.from_iterable(said))):
        stated = [pl.col(name)] if name in values.columns else []
        given = [one.get(name) for one in said]
        column = pl.Series(name, given, dtype=tables.RECORDS[name], strict=False)
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


def texts(values: Sequence[Any]) -> pl.Series:
    """Values as texts of a column; half of a surrogate pair is kept as its escape."""
    if not set(map(type, values)) <= {str, type(None)}:
        values = list(map(as_text, values))
    try:
        return pl.Series(values, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series([*map(files.storable, values)], dtype=pl.String)


def _found(
    batch: Batch, names: Mapping[str, str], whole: Collection[str], *, is_long: bool
) -> Iterator[tuple[int, str, Any, str, Row]]:
    """Row, path and value of each, its path in the row's own JSON, and what is said of it."""
    for row, path, value, beside in (_long if is_long else _wide)(batch.rows, names):
        is_text = type(value) is str
        if not beside and (not MARKS.search(value) if is_text else type(value) in _PLAIN):
            yield row, path, value, path, beside
            continue
        if is_text and path and not is_long and path not in whole:
            # An object or its list as text in a cell, as tables have line items.
            value = answers.stated(value)
        try:
            for place, cell, said in values_in(value, path, beside, whole):
                yield row, place, cell, place if path else "", said
        except RecursionError as error:
            where = f"{batch.home}{batch.origins[row]}#{path[:80]}"
            raise DataBroken(str(error), where=where) from None


def _long(rows: Sequence[Row], names: Mapping[str, str]) -> Iterator[tuple[int, str, Any, Row]]:
    """Row, path, value and what is said, where each row is a value."""
    place, value = names.get("path"), names["value"]
    for place_of_row, row in enumerate(rows):
        path, cell = pointer(as_text(row.get(place))) or "", row.get(value)
        # A page may have its text beside the values of fields.
        yield place_of_row, path, row.get("text") if cell is None and not path else cell, {}


def _wide(rows: Sequence[Row], names: Mapping[str, str]) -> Iterator[tuple[int, str, Any, Row]]:
    """The same of a table or of objects with a row for each document."""
    beside = {"doc_id", *names.values()}
    rows = [unwrapped(row, beside) for row in rows]
    members = {name: _member(name) for row in rows for name in row if name not in beside}
    confidences = {subject: name for name, (*_, subject) in members.items()}
    for place_of_row, row in enumerate(rows):
        known = {name.removesuffix(".value") for name in row}
        for name, cell in row.items():
            if name not in members:
                continue
            path, is_item, subject = members[name]
            # A column for the third item is blank where there are two.
            if subject in known or (cell is None and is_item):
                continue
            sure = confidences.get(name.removesuffix(".value"))
            yield place_of_row, path, cell, {"confidence": number(row.get(sure))} if sure else {}


@lru_cache(maxsize=2**16)
def _member(name: str) -> tuple[str, bool, str | None]:
    """The pointer of a column, whether it is of a list's item, and of which its confidence."""
    is_pointer = name.startswith("/") or any(step.isdecimal() for step in name.split("/")[1:])
    is_pointer = is_pointer or _DOTTED.fullmatch(name) is not None
    path = (pointer(name) or "") if is_pointer else f"/{escape(name)}"
    subject = _CONFIDENCE.fullmatch(name)
    return path, "*" in pattern(path), subject and (subject[1] or subject[2])
