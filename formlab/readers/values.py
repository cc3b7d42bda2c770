"""Values, of gold or of answers, as one long table, whatever they are kept in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import polars as pl

from formlab import files, tables
from formlab.errors import DataBroken
from formlab.readers.door import Box, around, as_text, number
from formlab.readers.layout import PLACE, SYNONYMS, Layout, column_of, documents_of, texts
from formlab.readers.rows import Batch, Row, leaves
from formlab.readers.sources import WRAPPERS, batches
from formlab.text import answers, replies
from formlab.trees import escape

# `items[0].price`, `$.vendor.name`, `$['items'][0]['name']`, `items[0][name]`.
_NAME = r"[^\W\d][\w-]*"
_BRACKETS = rf"""\.?\[(?:\d+|\*)\](?:\[{_NAME}\])?|\[(?:'[^'\]]+'|"[^"\]]+")\]"""
_DOTTED = re.compile(rf"(?:\$(?:\.?{_NAME})?|{_NAME})(?:\.[\w-]+|{_BRACKETS})+")
_STEP = re.compile(r"""'([^'\]]+)'|"([^"\]]+)"|([\w*-]+)""")
_CONFIDENCE = re.compile(r"(.+?)[ _.-]?(?:confidence|conf)", re.IGNORECASE)
# What texts have in them that may be more than a value.
_MARKS = r"[<{\[`◁]"
# What services call a value, and what they say of it in the same object.
_VALUES = ("value", "content", "text")
_SAID = {
    "confidence": ("confidence", "conf", "score", "probability"),
    "page": ("page", "page_number", "pageNumber"),
    "box": ("box", "bbox", "bounding_box", "boundingBox", "polygon"),
}
_BESIDE = {*chain.from_iterable(_SAID.values()), "type", "kind"}
# Around an answer: names that may hold all of it, and what may stand beside these.
_AROUND = {*WRAPPERS, "fields", "output", "prediction", "answer", "json"}
_CALL = {"model", "usage", "status", "created", "finish_reason", "error", "latency", "seconds"}
_CALL |= {"cost", "confidence", "system", "tokens", "request_id"}
# The path of a value ("" for the text of a page), the value, and what is said of it.
Leaf = tuple[str, Any, Row | None]
# Values that hold no others, unless a text has one of the `_MARKS`.
_PLAIN = {str, type(None), int, float, bool}


class Cells(NamedTuple):
    """Of each cell that may hold values the row's number, its path, value and what is said."""

    places: Sequence[int]
    paths: list[str]
    values: list[Any]
    stated: list[Row | None]


@tables.uncollected()
def read_values(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    flaws: Counter[str] | None = None,
) -> pl.DataFrame:
    """A long table of values: one row per document and path.

    A *long* source has a column for the document and one for the value; a *wide* one has a row or
    an object for each document, with a column or member for each field. Nested objects and lists
    become JSON pointers (``/items/0/price``), and so do names such as ``items[0].price``. Values
    are text as the source writes them: "007" and "9.00" stay, and an empty cell is null (that of a
    list's item in a wide table: no item). An object of a value with its confidence, page or box is
    one value; a column ``total_confidence`` is of ``total``; an object around all of an answer,
    such as ``response`` or a chat completion, is left out.

    `source` is a path, or an address that fsspec takes (``s3://…``): CSV, TSV, JSON lines, JSON,
    Parquet, a workbook (its first sheet that is no cover), a folder or zip archive with a JSON file
    for each document; a polars or pandas frame; a list of dicts; or a dict of documents. `columns`
    has the table's name for each column, such as ``{"doc_id": "id", "value": "target"}``; else the
    usual names (`layout.SYNONYMS`) are looked for, and columns named here are no fields. `flaws`
    counts what is odd in the source, by a short name.

    Returns
    -------
    polars.DataFrame
        doc_id, path (null for the text of a whole page), value, what rows say beside it, own
        columns as text, and origin (file and line). A document without any value has one row
        without path and value. Where a document has several values at a path, they and all others
        at that path are a list: ``/party/0``, ``/party/1``.

    Raises
    ------
    DataMissing, DataBroken, UnknownName
        If there is no such file, it cannot be read, or its columns are not told apart.

    Examples
    --------
    >>> read_values([{"doc_id": "a", "total": 9.5, "items": [{"name": "Tea"}]}]).rows()
    [('a', '/total', '9.5', 'frame, row 1'), ('a', '/items/0/name', 'Tea', 'frame, row 1')]
    """
    flaws = Counter() if flaws is None else flaws
    values = pl.concat([*pieces(source, columns or {}, flaws)], how="diagonal")
    return listed(values, lists_of(values))


def pattern(path: str) -> str:
    """A path with ``*`` for each place in a list.

    Examples
    --------
    >>> pattern("/items/10/price")
    '/items/*/price'
    """
    return "/".join("*" if step.isdecimal() else step for step in path.split("/"))


def pointer(path: str | None) -> str | None:
    """A path as a JSON pointer; null where it names the whole document.

    Examples
    --------
    >>> pointer("total"), pointer("items[0].price"), pointer("/items/0"), pointer("/")
    ('/total', '/items/0/price', '/items/0', None)
    """
    path = (path or "").strip()
    if _DOTTED.fullmatch(path):
        return "/" + "/".join(escape("".join(step)) for step in _STEP.findall(path))
    return None if path in ("", "/") else path if path.startswith("/") else f"/{path}"


def pieces(
    source: Any, columns: Mapping[str, str], notes: Counter[str], whole: Collection[str] = ()
) -> Iterator[pl.DataFrame]:
    """The values of a source, some at a time, lists as they are, JSON at `whole` paths."""
    layout, seen = None, pl.DataFrame(schema={"doc_id": pl.String, "origin": pl.String})
    names = {"doc_id", *SYNONYMS["doc_id"]} - {"id"} | {*columns.values()}
    for batch in batches(source, notes):
        if batch.origins:
            place = "/" if batch.documents else "response"
            batch = batch._replace(rows=replies.replaced(batch.rows, names, place))
            layout = layout or Layout.of(batch, columns)
            rows = pl.DataFrame(
                {"doc_id": documents_of(batch, layout.names["doc_id"])}
                | {"origin": texts(batch.origins)}
            )
            if not layout.is_long:
                seen = pl.concat([seen, rows])
                _check_once(seen, batch, layout.names["doc_id"])
            yield _values_of(batch, layout, rows, frozenset(whole))
    if layout is None:
        where = source if isinstance(source, str) or hasattr(source, "name") else None
        raise DataBroken("no rows", where=where, remedy="one row a value")


def _check_once(documents: pl.DataFrame, batch: Batch, column: str) -> None:
    """`DataBroken` if a document has two rows of a wide table."""
    if not (again := documents["doc_id"].is_duplicated()).any():
        return
    doc_id = documents["doc_id"].filter(again)[0]
    first, second = documents.filter(pl.col("doc_id") == doc_id)["origin"].head(2)
    remedy, rest = "keep one of them", [name for name in batch.names if name != column]
    if len(rest) == 2:
        remedy += f"; or if each row is a value: --columns path={rest[0]},value={rest[1]}"
    what = f"two rows for document {doc_id!r}, the first at {first}"
    raise DataBroken(what, where=batch.home + second, remedy=remedy)


def _values_of(
    batch: Batch, layout: Layout, rows: pl.DataFrame, whole: Collection[str]
) -> pl.DataFrame:
    """The values of some rows, beside what their rows say and what is said of each."""
    found, stated = _found(batch, layout, whole)
    further = [name for name in layout.names if name not in (*SYNONYMS, "origin")]
    values = rows.with_columns(
        column_of(name, batch, layout.names[name]).alias(files.storable(name)) for name in further
    )[found["place"]].with_columns(found["path"].replace("", None), found["value"])
    if batch.documents:
        below = pl.concat_str("origin", pl.lit("#"), found["inside"].replace("", None))
        values = values.with_columns(origin=pl.coalesce(below, "origin"))
    for name in (*PLACE, "status") if any(stated) else ():
        said = [(members or {}).get(name) for members in stated]
        said = said if name == "status" else list(map(number, said))
        column = pl.Series(name, said, strict=False).cast(tables.RECORDS[name], strict=False)
        if column.null_count() < len(column):
            known = [pl.col(name)] if name in values.columns else []
            values = values.with_columns(pl.coalesce(*known, column.gather(found["said"])))
    first = ("doc_id", "path", "value")
    return values.select(*first, pl.exclude(*first, "origin"), "origin")


def _found(
    batch: Batch, layout: Layout, whole: Collection[str]
) -> tuple[pl.DataFrame, list[Row | None]]:
    """The values in the cells, in the order of their rows, and what is said of any."""
    cells = (_long if layout.is_long else _wide)(batch, layout.names)
    is_odd = pl.Series([type(value) not in _PLAIN for value in cells.values], dtype=pl.Boolean)
    plain = [value if type(value) in _PLAIN else None for value in cells.values]
    columns = {"place": cells.places, "inside": texts(cells.paths), "value": texts(plain)}
    found = pl.DataFrame(columns, schema_overrides={"place": pl.UInt32, "inside": pl.String})
    found = found.with_row_index("at").with_columns(path="inside", said="at")
    is_odd |= found["value"].str.contains(_MARKS).fill_null(value=False)
    odd, stated = [], list(cells.stated)
    for at in is_odd.arg_true():
        place, path, value, said = (column[at] for column in cells)
        try:
            if type(value) is str and path and not layout.is_long and path not in whole:
                # An object or its list as text in a cell, as tables have line items.
                value = answers.stated(value)
            for inside, inner, beside in _leaves(value, path, said, whole):
                odd += [(at, place, inside, *leaf) for leaf in _answer(inside, inner, beside)]
        except RecursionError as error:
            where = f"{batch.home}{batch.origins[place]}#{path[:80]}"
            raise DataBroken(str(error), where=where) from None
    places = {*found["place"].filter(~is_odd), *(row[1] for row in odd)}
    odd += [(None, n, "", "", None, None) for n in range(len(batch.rows)) if n not in places]
    if odd or is_odd.any():
        at, place, inside, path, value, said = zip(*odd, strict=True) if odd else [()] * 6
        columns = {"at": at, "place": place, "inside": texts(inside), "value": texts(value)}
        columns |= {"path": texts(path), "said": range(len(stated), len(stated) + len(odd))}
        rest = pl.DataFrame(columns, schema_overrides=found.schema)
        found = pl.concat([found.filter(~is_odd), rest]).sort("place", "at", maintain_order=True)
    return found, [*stated, *(row[5] for row in odd)]


def _long(batch: Batch, names: Mapping[str, str]) -> Cells:
    """The value of each row."""
    stated, values = texts(batch.column(names.get("path"))), batch.column(names.get("value"))
    known = stated.unique().to_list()
    paths = stated.replace_strict(known, [pointer(path) or "" for path in known])
    if "text" in batch.names:
        pages = zip(values, paths, batch.column("text"), strict=True)
        values = [text if value is None and not path else value for value, path, text in pages]
    count = len(values)
    return Cells(range(count), paths.to_list(), values, [None] * count)


def _wide(batch: Batch, names: Mapping[str, str]) -> Cells:
    """The cells of each row that may hold values."""
    beside = {*names.values()} | ({"doc_id"} if batch.documents else set())
    cells = Cells([], [], [], [])
    for place, row in enumerate(batch.rows):
        row = _unwrapped(row, beside)
        sure = {m[1]: name for name in row if (m := _CONFIDENCE.fullmatch(name)) and m[1] in row}
        for name, cell in row.items():
            if name not in beside and name not in sure.values():
                path, is_item = _member(name)
                # A column for the third item is blank where there are two.
                if cell is not None or not is_item:
                    said = {"confidence": row[sure[name]]} if name in sure else None
                    for column, value in zip(cells, (place, path, cell, said), strict=True):
                        column.append(value)
    return cells


@lru_cache(maxsize=2**16)
def _member(name: str) -> tuple[str, bool]:
    """The pointer of a column, which may be one already, and whether it is of an item of a list."""
    is_pointer = name.startswith("/") or any(step.isdecimal() for step in name.split("/")[1:])
    is_pointer = is_pointer or _DOTTED.fullmatch(name) is not None
    path = (pointer(name) or "") if is_pointer else f"/{escape(name)}"
    return path, "*" in pattern(path)


def _unwrapped(row: Row, beside: Collection[str] = ()) -> Row:
    """A row without the one object, or text in JSON, that stands around all of its answer."""
    rest = {name: cell for name, cell in row.items() if name not in beside}
    around = [name for name in rest if name.lower() in _AROUND]
    if len(around) != 1 or not rest.keys() <= _CALL | {around[0]}:
        return row
    inner = _by_name(rest[around[0]])
    if isinstance(inner, str) and answers.is_json(inner):
        inner = {"/": inner}
    kept = {name: cell for name, cell in row.items() if name not in rest}
    # There may be several around one another.
    return _unwrapped(kept | inner, beside) if isinstance(inner, dict) and inner else row


def _by_name(value: Any) -> Any:
    """A list of fields that say their names as an object of them; a list of one object as that."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return value
    for name in SYNONYMS["path"]:
        if value and all(isinstance(item.get(name), str) and "value" in item for item in value):
            found: dict[str, Any] = {}
            for item in value:
                said = {key: cell for key, cell in item.items() if key != name}
                found.setdefault(item[name], []).append(said if _value_in(said) else item["value"])
            return {key: cells if len(cells) > 1 else cells[0] for key, cells in found.items()}
    return value[0] if len(value) == 1 else value


def _leaves(cell: Any, path: str, said: Row | None, whole: Collection[str] = ()) -> Iterator[Leaf]:
    """The values in a cell; an object of a value and its confidence, page or box is one value."""
    if cell is None or type(cell) is str or path in whole:
        yield path, as_text(cell), said
        return
    for place, leaf in leaves(cell, path, _value_in):
        if isinstance(leaf, dict):
            stated = {key: leaf[n] for key, names in _SAID.items() for n in names if n in leaf}
            corners = _box(stated.pop("box", None)) or ()
            stated |= zip(tables.BOX, corners, strict=False)
            yield from _leaves(leaf[str(_value_in(leaf))], place, stated)
        else:
            yield place, leaf, said


def _value_in(members: Row) -> str | None:
    """The member that is the value of an object which says more of it; null if it is none."""
    found = [name for name in _VALUES if name in members]
    rest = members.keys() - set(found)
    if not found or not (rest <= _BESIDE or "confidence" in rest) or rest <= {"type", "kind"}:
        return None
    is_sure = not rest.isdisjoint(_SAID["confidence"])
    return found[0] if is_sure or found[0] == "value" else None


def _box(value: Any) -> Box | None:
    """The box around corners: of four numbers, of eight, or of points."""
    sides = [leaf for _, leaf in leaves(value if isinstance(value, list) else [])]
    return None if len(sides) % 2 else around(zip(sides[::2], sides[1::2], strict=True))


def _answer(path: str, value: Any, said: Row | None) -> Iterator[Leaf]:
    """A value, or the fields of what is JSON as text, without reasoning; broken JSON stays."""
    parsed = None
    if isinstance(value, str):
        parsed = answers.plain(value) if path else answers.read(value)
    if parsed is None or isinstance(parsed.value, str | None):
        if parsed and parsed.changes and parsed.status != "bad_json":
            value, said = parsed.value, (said or {}) | {"status": parsed.status}
        yield path, value, said
        return
    inner = _unwrapped(parsed.value) if isinstance(parsed.value, dict) else parsed.value
    below = [leaf for leaf in _leaves(inner, "", None) if as_text(leaf[1]) is not None]
    for place, leaf, stated in below or [("", None, None)]:
        yield place, leaf, (stated or {}) | {"status": parsed.status}


def lists_of(values: pl.DataFrame) -> set[str]:
    """The paths that are lists: several values of a document, or single ones beside lists."""
    keyed = values.filter(pl.col("path").is_not_null()).select("doc_id", "path")
    return first_items(keyed["path"].unique()) | set(keyed.filter(keyed.is_duplicated())["path"])


def first_items(paths: pl.Series) -> set[str]:
    """The paths of which there is also a first item; an item of a list is none of them."""
    lists = paths.filter(paths.str.ends_with("/0")).str.strip_suffix("/0")
    lists = lists.filter(~lists.str.contains("/[0-9]+$"))
    return set(lists.filter(lists.is_in(paths.implode())))


def listed(values: pl.DataFrame, paths: Collection[str]) -> pl.DataFrame:
    """The values with those at `paths` as the items of lists there."""
    if not paths:
        return values
    item_path = pl.format("{}/{}", "path", pl.int_range(pl.len()).over("doc_id", "path"))
    path = pl.when(pl.col("path").is_in(sorted(paths))).then(item_path).otherwise("path")
    return values.with_columns(path.alias("path"))
