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
from typing import Any

import polars as pl

from formlab import files, tables
from formlab.errors import DataBroken, UnknownName
from formlab.readers import Row, leaves
from formlab.readers.door import around, as_text, number
from formlab.readers.sources import NAMES, Batch, batches
from formlab.text import answers, replies
from formlab.text.answers import MEMBERS, by_name, plain_name, unwrapped, value_in
from formlab.trees import escape

# What a row may say beside its value: of the record, then of its document.
RECORD = ("confidence", "page", *tables.BOX, "kind", "accepted", "status", "modality", "subtype")
RECORD += ("task", "scope", "reference", "complexity", "modal")
DOCUMENT = ("image", "width", "height", "template", "domain", "context")
_DTYPES = {n: (tables.DOCUMENTS | tables.RECORDS)[n] for n in (*RECORD, *DOCUMENT)}
_ALLOWED = {"status": tables.STATUSES, "task": tables.TASKS}
_COLUMNS = NAMES["columns"]
# `items[0].price`, `$.vendor.name`, `$['items'][0]['name']`, `items[0][name]`.
_NAME = r"[^\W\d][\w-]*"
_BRACKETS = rf"""\.?\[(?:\d+|\*)\](?:\[{_NAME}\])?|\[(?:'[^'\]]+'|"[^"\]]+")\]"""
_DOTTED = re.compile(rf"(?:\$(?:\.?{_NAME})?|{_NAME})(?:\.[\w-]+|{_BRACKETS})+")
_STEP = re.compile(r"""'([^'\]]+)'|"([^"\]]+)"|([\w*-]+)""")
_CONFIDENCE = re.compile(
    r"(.+?)[ _.-]?(?:confidence|conf|prob(?:ability)?)|(?:confidence|conf)[ _.-](.+)", re.IGNORECASE
)
# A text without any of these marks is a value as it stands.
_MARKS = re.compile(r"[<{\[`◁]")
# The path of a value ("" for the text of a page), the value, and what is said of it.
Leaf = tuple[str, Any, Row]
_SAID = ("confidence", "page", "box")
_PLAIN = {type(None), int, float, bool}


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
    requests = {*_COLUMNS["doc_id"]} - {"id"}
    for batch in batches(source, notes):
        if not batch.rows:
            continue
        if any(isinstance(cell, dict | list) for row in batch.rows[:20] for cell in row.values()):
            place = "/" if batch.documents else "response"
            named = {*columns.values(), *(n for n in batch.names if plain_name(n) in requests)}
            batch = batch._replace(rows=replies.replaced(batch.rows, named, place))
        names, is_long = layout = layout or layout_of(batch, columns)
        yield _values_of(batch, names, whole, None if is_long else first_rows)
    if layout is None:
        where = source if isinstance(source, str) or hasattr(source, "name") else None
        raise DataBroken("no rows", where=where, remedy="one row a value")


def layout_of(batch: Batch, columns: Mapping[str, str]) -> tuple[dict[str, str], bool]:
    """A table's own name of each column that formlab knows, and whether each row is a value."""
    known, names = batch.names, dict(columns)
    for name, column in columns.items():
        if column not in known:
            raise UnknownName.of("column", column, known)
        if name not in (usual := [*_COLUMNS, *RECORD, *DOCUMENT, "system"]):
            raise UnknownName.of("name for a column", name, usual)
    if batch.documents:
        return {"doc_id": "doc_id", **columns}, False
    free = {plain_name(column): column for column in known if column not in columns.values()}
    for name in _COLUMNS.keys() - columns:
        usual = [n for n in _COLUMNS[name] if n in free]
        usual = usual or [n for n in NAMES["further"][name] if n in free]
        if len(usual) == 1 or plain_name(name) in usual:
            names[name] = free[usual[0]]
    where = batch.home + batch.origins[0]
    if "doc_id" not in names:
        what = f"no column, or several, for the document among {', '.join(known)[:400]}"
        raise DataBroken(what, where=where, remedy=_naming("doc_id", known))
    fields = {*known} - {*names.values(), *_DTYPES, *tables.RECORDS}
    keys = {"path", "value"}
    if not keys.isdisjoint(columns):
        is_long = True
    elif keys <= names.keys():
        # A wide table may have fields called name and text among others.
        is_plain = not fields or {names[name].lower() for name in keys} == keys
        documents = {as_text(row.get(names["doc_id"])) for row in batch.rows}
        is_long = is_plain or len(documents) < len(batch.rows)
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


def _values_of(
    batch: Batch,
    names: Mapping[str, str],
    whole: Collection[str],
    first_rows: dict[str, str] | None,
) -> pl.DataFrame:
    """The values of a batch, a row without one for a document that has none.

    Of a table with a row for each document `first_rows` has the origins of the rows so far.
    """
    beside = {name: column for name, column in names.items() if name not in _COLUMNS}
    if first_rows is None:
        # A row without a path may say `text` for its value, as in formlab's plainest file.
        used = {*names, *names.values(), "text", "origin"}
        beside |= {name: name for name in batch.names if name not in used}
    found = list[tuple[str, str, Any, str, Row]]()
    for origin, row in zip(batch.origins, batch.rows, strict=True):
        where, place = batch.home + origin, ""
        doc_id = (as_text(row.get(names["doc_id"])) or "").strip()
        if not doc_id:
            remedy = "a name of the document in every row"
            raise DataBroken(f"no {names['doc_id']}", where=where, remedy=remedy)
        if first_rows is not None and (first := first_rows.setdefault(doc_id, origin)) != origin:
            rest = [other for other in batch.names if other not in ("doc_id", "path", "value")]
            lacking = "value" if "path" in batch.names else "path"
            remedy = f"keep one of them; or if each row is a value: {_naming(lacking, rest)}"
            what = f"two rows for document {doc_id!r}, the first at {first}"
            raise DataBroken(what, where=where, remedy=remedy)
        stated = ((name, _stated(name, row.get(column), where)) for name, column in beside.items())
        said = {name: cell for name, cell in stated if cell is not None}
        count = len(found)
        try:
            for place, cell, more in (_wide if first_rows is not None else _long)(row, names):
                is_plain = (type(cell) is str and not _MARKS.search(cell)) or type(cell) in _PLAIN
                for path, value, inner in (
                    [(place, cell, more)] if is_plain else values_in(cell, place, more, whole)
                ):
                    inside = f"{origin}#{path}" if batch.documents and place else origin
                    found.append((doc_id, path, value, inside, inner | said))
        except RecursionError as error:
            raise DataBroken(str(error), where=f"{where}#{place[:80]}") from None
        if len(found) == count:
            found.append((doc_id, "", None, origin, said))
    documents, paths, cells, origins, said = zip(*found, strict=True)
    columns = {"doc_id": texts(documents), "path": texts(paths).replace("", None)}
    columns["value"] = texts(cells)
    for name in dict.fromkeys(chain(beside, *said)):
        dtype = _DTYPES.get(name, pl.String)
        cells = [one.get(name) for one in said]
        columns[files.storable(name)] = pl.Series(cells, dtype=dtype, strict=False)
    return pl.DataFrame(columns | {"origin": texts(origins)})


def _stated(name: str, cell: Any, where: str) -> Any:
    """What a row says beside its value, as its column holds it; an own column is text."""
    dtype, allowed = _DTYPES.get(name, pl.String), _ALLOWED.get(name)
    if isinstance(dtype, pl.List):
        # Further right values: a list, a JSON list as text, or texts between `|`.
        with suppress(ValueError, RecursionError, TypeError):
            cell = parsed if isinstance(parsed := json.loads(cell), list) else cell
        several = leaves(cell.split("|") if isinstance(cell, str) else cell)
        return [files.storable(as_text(i)) for _, i in several if i not in (None, "")] or None
    text = as_text(cell)
    if dtype == pl.String and not allowed:
        return files.storable(text) or None
    if not (text := (text or "").strip()):
        return None
    stated = number(text) if not allowed else text if text in allowed else None
    if stated is None or (dtype.is_integer() and stated % 1):
        remedy = f"one of: {', '.join(allowed)}" if allowed else "a number"
        raise DataBroken(f"{name} cannot be {text!r:.80}", where=where, remedy=remedy)
    return int(stated) if dtype.is_integer() else stated


def _long(row: Row, names: Mapping[str, str]) -> Iterator[Leaf]:
    """The value of a row that is one."""
    path, cell = pointer(as_text(row.get(names.get("path")))) or "", row.get(names["value"])
    # A page may have its text beside the values of fields.
    yield path, row.get("text") if cell is None and not path else cell, {}


def _wide(row: Row, names: Mapping[str, str]) -> Iterator[Leaf]:
    """The members of a row that is a document, without those that say how sure another is."""
    beside = {"doc_id", *names.values()}
    row = unwrapped(row, beside)
    members = {name: _member(name) for name in row if name not in beside}
    known = {name.removesuffix(".value") for name in row}
    sure = {of: number(row[name]) for name, (*_, of) in members.items() if of in known}
    for name, (path, is_item, subject) in members.items():
        # A column for the third item is blank where there are two.
        if subject in known or (row[name] is None and is_item):
            continue
        stated = name.removesuffix(".value")
        yield path, row[name], {"confidence": sure[stated]} if stated in sure else {}


@lru_cache(maxsize=2**16)
def _member(name: str) -> tuple[str, bool, str | None]:
    """The pointer of a column, whether it is of a list's item, and of which its confidence."""
    is_pointer = name.startswith("/") or any(step.isdecimal() for step in name.split("/")[1:])
    is_pointer = is_pointer or _DOTTED.fullmatch(name) is not None
    path = (pointer(name) or "") if is_pointer else f"/{escape(name)}"
    subject = _CONFIDENCE.fullmatch(name)
    return path, "*" in pattern(path), subject and (subject[1] or subject[2])


def values_in(cell: Any, path: str, said: Row, whole: Collection[str] = ()) -> Iterator[Leaf]:
    """The values in a cell, at `whole` paths as they are, each with what is said of it."""
    if path in whole:
        yield path, as_text(cell), said
        return
    if isinstance(cell, str) and path and _MARKS.search(cell):
        # An object or its list as text in a cell, as tables have line items.
        cell = answers.stated(cell)
    for leaf in values_of(
        unwrapped(cell) if isinstance(cell, dict) and not path else cell, path, said
    ):
        yield from _answers(*leaf)


def values_of(cell: Any, path: str, said: Row) -> Iterator[Leaf]:
    """The values in a cell; an object of a value and its confidence, page or box is one value."""
    for place, leaf in leaves(cell, path, value_in):
        if not isinstance(leaf, dict):
            yield place, leaf, said
            continue
        members = {plain_name(name): member for name, member in leaf.items()}
        stated = {key: members[n] for key in _SAID for n in MEMBERS[key] if n in members}
        # Four numbers, eight, or points.
        sides = [side for _, side in leaves(stated.pop("box", ()))]
        corners = around(zip(sides[::2], sides[1::2], strict=False)) or ()
        stated = {key: number(text) for key, text in stated.items()}
        stated |= zip(tables.BOX, corners, strict=False)
        yield from values_of(leaf[str(value_in(leaf))], place, stated)


def _answers(path: str, value: Any, said: Row) -> Iterator[Leaf]:
    """A value, or the fields of JSON in a text, without a model's reasoning; broken JSON stays."""
    if not isinstance(value, str) or not _MARKS.search(value):
        yield path, value, said
        return
    parsed = answers.plain(value) if path else answers.read(value)
    status = {"status": parsed.status}
    if isinstance(parsed.value, str | None):
        if parsed.changes:
            value, said = value if parsed.status == "bad_json" else parsed.value, said | status
        yield path, value, said
        return
    inner = unwrapped(parsed.value) if isinstance(parsed.value, dict) else by_name(parsed.value)
    if isinstance(inner, dict) and inner.keys() == {"/"}:
        yield from _answers("", inner["/"], said)
        return
    below = [leaf for leaf in values_of(inner, "", {}) if as_text(leaf[1]) is not None]
    for place, leaf, stated in below or [("", None, {})]:
        yield place, leaf, stated | status


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
