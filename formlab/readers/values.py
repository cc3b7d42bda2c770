"""Values, of gold or of answers, as one long table, whatever they are kept in."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain, islice
from operator import itemgetter
from typing import Any, NamedTuple

import polars as pl

from formlab import files, tables
from formlab.errors import DataBroken, UnknownName
from formlab.readers.door import LARGEST, around, as_text, number
from formlab.readers.rows import Batch, Row, leaves
from formlab.readers.sources import WRAPPERS, batches
from formlab.text import answers, replies
from formlab.trees import escape

# Other names of the three columns that make a table of values.
SYNONYMS = {
    name: tuple(others.split())
    for name, others in {
        "doc_id": "document document_id doc docid id file filename file_name image",
        "path": "field key label name pointer",
        "value": "gold target expected truth ground_truth prediction pred answer output response "
        "completion text",
    }.items()
}
# What a row may say beside its value: of the record, then of its document.
PLACE = ("confidence", "page", *tables.BOX)
RECORD = (*PLACE, "kind", "accepted", "status", "modality", "subtype", "task", "scope")
RECORD += ("reference", "complexity", "modal")
DOCUMENT = ("image", "width", "height", "template", "domain", "context")
_DTYPES = {n: (tables.DOCUMENTS | tables.RECORDS).get(n, pl.String) for n in (*RECORD, *DOCUMENT)}
_ALLOWED = {"status": tables.STATUSES, "task": tables.TASKS}
# `items[0].price`, `$.vendor.name`, `$['items'][0]['name']`, `items[0][name]`.
_NAME = r"[^\W\d][\w-]*"
_BRACKETS = rf"""\.?\[(?:\d+|\*)\](?:\[{_NAME}\])?|\[(?:'[^'\]]+'|"[^"\]]+")\]"""
_DOTTED = re.compile(rf"(?:\$(?:\.?{_NAME})?|{_NAME})(?:\.[\w-]+|{_BRACKETS})+")
_STEP = re.compile(r"""'([^'\]]+)'|"([^"\]]+)"|([\w*-]+)""")
_CONFIDENCE = re.compile(r"(.+?)[ _.-]?(?:confidence|conf)", re.IGNORECASE)
# Values that hold no others, unless a text has one of these marks.
_PLAIN, _MARKS = {str, type(None), int, float, bool}, re.compile(r"[<{\[`◁]")
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
    usual names (`SYNONYMS`) are looked for, and columns named here are no fields. `flaws` counts
    what is odd in the source, by a short name.

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


def pieces(
    source: Any, columns: Mapping[str, str], notes: Counter[str], whole: Collection[str] = ()
) -> Iterator[pl.DataFrame]:
    """The values of a source, some at a time, lists as they are, JSON at `whole` paths."""
    layout, seen = None, list[pl.DataFrame]()
    names = {"doc_id", *SYNONYMS["doc_id"]} - {"id"} | {*columns.values()}
    for batch in batches(source, notes):
        if not batch.origins:
            continue
        if any(isinstance(cell, dict | list) for row in batch.rows[:20] for cell in row.values()):
            place = "/" if batch.documents else "response"
            batch = batch._replace(rows=replies.replaced(batch.rows, names, place))
        layout = layout or Layout.of(batch, columns)
        documents = _documents(batch, layout.names["doc_id"])
        rows = pl.DataFrame({"doc_id": documents, "origin": texts(batch.origins)})
        if not layout.is_long:
            seen.append(rows)
            _check_once(pl.concat(seen), batch, layout.names["doc_id"])
        yield _values_of(batch, layout, rows, frozenset(whole))
    if layout is None:
        where = source if isinstance(source, str) or hasattr(source, "name") else None
        raise DataBroken("no rows", where=where, remedy="one row a value")


class Layout(NamedTuple):
    """A table's own name of each column, and whether each row is a value."""

    names: dict[str, str]
    is_long: bool

    @classmethod
    def of(cls, batch: Batch, columns: Mapping[str, str]) -> Layout:
        """The layout of a source that begins with these rows."""
        known, keys = batch.names, {"path", "value"}
        for name, column in columns.items():
            if column not in known:
                raise UnknownName.of("column", column, known)
            if name not in (names := [*SYNONYMS, *RECORD, *DOCUMENT, "system"]):
                raise UnknownName.of("name for a column", name, names)
        if batch.documents:
            return cls({"doc_id": "doc_id"} | dict(columns), is_long=False)
        names = {name: columns.get(name) or _named(name, known, columns) for name in SYNONYMS}
        names = {name: column for name, column in names.items() if column} | dict(columns)
        if "doc_id" not in names:
            raise _lacks("doc_id", "no column for the document among ", known, known, batch)
        others = [name for name in known if name not in names.values()]
        fields = [name for name in others if name not in {*_DTYPES, *tables.RECORDS}]

        def is_repeated(name: str) -> bool:
            return len(set(map(as_text, batch.column(names[name])))) < len(batch.origins)

        # A wide table may have fields called name and text as well.
        if "path" not in names and _holds_json(batch, names.get("value")):
            is_long = True
        elif names.get("path") == "path" and "value" not in names and not fields and others:
            # Rows that only say what became of a field.
            is_long = True
        elif keys <= names.keys() and keys.isdisjoint(columns):
            # A table of values names a document again for its next value, or a field in the next.
            is_alone = not fields and (len(batch.origins) == 1 or is_repeated("path"))
            is_plain = {names[name].lower() for name in keys} == keys
            is_long = is_plain or is_repeated("doc_id") or is_alone
        else:
            is_long = not keys.isdisjoint(columns) or ("value" in names and not fields)
            lacks = "path" if "value" in names else "value"
            has_one = not keys.isdisjoint(names)
            if lacks == "value" if is_long else has_one and fields and is_repeated("doc_id"):
                every = [*names.values(), *others]
                raise _lacks(lacks, f"no column `{lacks}` among ", every, fields, batch)
        if not is_long:
            return cls({"doc_id": names["doc_id"]} | dict(columns), is_long=False)
        # A row without a path may say `text` for its value, as in formlab's plainest file.
        rest = {name: name for name in others if name not in (*names, "text")}
        return cls(names | rest, is_long=True)


def _lacks(name: str, what: str, known: list[str], fields: list[str], batch: Batch) -> DataBroken:
    """The error of a table without a column, with the one that is called most like it."""
    near = get_close_matches(name, fields, 1, 0.3) or [*fields, "…"]
    listed, where = ", ".join(column[:40] for column in known[:12]), batch.home + batch.origins[0]
    return DataBroken(what + listed, where=where, remedy=f"--columns {name}={near[0]:.40}")


def _named(name: str, known: list[str], columns: Mapping[str, str]) -> str | None:
    """The column of that name in any case, else the only one with a synonym of it."""
    lower = {column.lower(): column for column in known if column not in columns.values()}
    found = [lower[synonym] for synonym in SYNONYMS[name] if synonym in lower]
    if name == "doc_id" and len(found) > 1 and name not in lower:
        what = f"the document's column may be any of {', '.join(found)}"
        raise DataBroken(what, remedy=f"--columns doc_id={found[0]}")
    return lower.get(name) or (found[0] if len(found) == 1 else None)


def _holds_json(batch: Batch, column: str | None) -> bool:
    """Whether the first texts of a column are answers in JSON, or hold a model's reasoning."""
    found = (cell for cell in batch.column(column) if column and isinstance(cell, str) and cell)
    return any(answers.is_json(text) or answers.plain(text).changes for text in islice(found, 20))


def texts(values: Sequence[Any]) -> pl.Series:
    """Values as texts of a column; half of a surrogate pair is kept as its escape."""
    if not set(map(type, values)) <= {str, type(None)}:
        values = list(map(as_text, values))
    try:
        return pl.Series(values, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series([*map(files.storable, values)], dtype=pl.String)


def _documents(batch: Batch, column: str) -> pl.Series:
    """The document of each row; `DataBroken` names the first without one."""
    cells = batch.column(column)
    is_list = pl.Series([isinstance(c, dict | list | tuple) for c in cells], dtype=pl.Boolean)
    names = texts(cells).str.strip_chars().fill_null("")
    for row in ((names == "") | is_list).arg_true()[:1]:
        what = f"{column} is no text but a list or an object" if names[row] else f"no {column}"
        where, remedy = batch.home + batch.origins[row], "a name of the document in every row"
        raise DataBroken(what, where=where, remedy=remedy)
    return names


def _check_once(documents: pl.DataFrame, batch: Batch, column: str) -> None:
    """`DataBroken` if a document has two rows of a wide table."""
    again = documents.filter(documents["doc_id"].is_duplicated())
    for doc_id in again["doc_id"][:1]:
        first, second = again.filter(doc_id=doc_id)["origin"].head(2)
        remedy, rest = "keep one of them", [name for name in batch.names if name != column]
        if len(rest) == 2:
            remedy += f"; or if each row is a value: --columns path={rest[0]},value={rest[1]}"
        what = f"two rows for document {doc_id!r}, the first at {first}"
        raise DataBroken(what, where=batch.home + second, remedy=remedy)


def _values_of(
    batch: Batch, layout: Layout, rows: pl.DataFrame, whole: Collection[str]
) -> pl.DataFrame:
    place, inside, path, value, stated = _found(batch, layout, whole)
    further = [name for name in layout.names if name not in (*SYNONYMS, "origin")]
    columns = (_column(n, batch, layout.names[n]).alias(files.storable(n)) for n in further)
    values = rows.with_columns(columns)[list(place)]
    values = values.with_columns(path=texts(path).replace("", None), value=texts(value))
    if batch.documents:
        below = pl.concat_str("origin", pl.lit("#"), texts(inside).replace("", None))
        values = values.with_columns(origin=pl.coalesce(below, "origin"))
    for name in (*PLACE, "status") if any(stated) else ():
        said = [(members or {}).get(name) for members in stated]
        said = said if name == "status" else list(map(number, said))
        column = pl.Series(name, said, strict=False).cast(tables.RECORDS[name], strict=False)
        if column.null_count() < len(column):
            known = [pl.col(name)] if name in values.columns else []
            values = values.with_columns(pl.coalesce(*known, column))
    first = ("doc_id", "path", "value")
    return values.select(*first, pl.exclude(*first, "origin"), "origin")


def _column(name: str, batch: Batch, column: str) -> pl.Series:
    """What rows say beside their values, as the dtype of its column; an own column is text."""
    dtype, cells = _DTYPES.get(name, pl.String), batch.column(column)
    if isinstance(dtype, pl.List):
        return pl.Series([None if cell is None else _several(cell) for cell in cells], dtype=dtype)
    stated = texts(cells)
    if dtype == pl.String and name not in _ALLOWED:
        return stated.replace("", None)
    stated = stated.str.strip_chars().replace("", None)
    what, remedy = f"{name} cannot be", "a number"
    if dtype == pl.String:
        known = stated.set(~stated.is_in(_ALLOWED[name]), None)
        what, remedy = f"unknown {name}", f"one of: {', '.join(_ALLOWED[name])}"
    else:
        floats = stated.cast(pl.Float64, strict=False)
        is_odd = ~(floats.abs() < LARGEST) | ((floats % 1 != 0) & (dtype == pl.Int64))
        known = floats.set(is_odd, None).cast(dtype)
    for row in (stated.is_not_null() & known.is_null()).arg_true()[:1]:
        where = batch.home + batch.origins[row]
        raise DataBroken(f"{what} {stated[row]!r:.80}", where=where, remedy=remedy)
    return known


def _several(cell: Any) -> list[str]:
    """Further right values: a list, a JSON list, or texts between ``|``."""
    if isinstance(cell, str):
        try:
            parsed = json.loads(cell)
        except (ValueError, RecursionError):
            parsed = None
        cell = parsed if isinstance(parsed, list) else cell.split("|")
    cell = cell.tolist() if hasattr(cell, "tolist") else cell
    found = cell if isinstance(cell, list | tuple) else [cell]
    return [files.storable(as_text(item)) for item in found if item not in (None, "")]


def _found(batch: Batch, layout: Layout, whole: Collection[str]) -> Iterable[Sequence[Any]]:
    """Of all values the row, the place in its document, the path, the value, what is said of it."""
    places, paths, values, stated = (_long if layout.is_long else _wide)(batch, layout.names)
    has_mark, found = _MARKS.search, list[tuple]()
    odd = [has_mark(v) if type(v) is str else type(v) not in _PLAIN for v in values]
    if not any(odd) and len({*places}) == len(batch.rows):
        return places, paths, paths, values, stated
    for is_odd, place, path, value, said in zip(odd, places, paths, values, stated, strict=True):
        if not is_odd:
            found.append((place, path, path, value, said))
            continue
        try:
            if type(value) is str and path and not layout.is_long and path not in whole:
                # An object or its list as text in a cell, as tables have line items.
                value = answers.stated(value)
            for inside, inner, beside in _leaves(value, path, said, whole):
                found += [(place, inside, *leaf) for leaf in _answer(inside, inner, beside)]
        except RecursionError as error:
            where = f"{batch.home}{batch.origins[place]}#{path[:80]}"
            raise DataBroken(str(error), where=where) from None
    lacking = {*range(len(batch.rows))} - {row[0] for row in found}
    found += [(place, "", "", None, None) for place in lacking]
    return zip(*sorted(found, key=itemgetter(0)), strict=True)


def _long(batch: Batch, names: Mapping[str, str]) -> tuple[Sequence[Any], ...]:
    """The row, path, value and nothing more of each row."""
    stated, values = texts(batch.column(names.get("path"))), batch.column(names.get("value"))
    known = {path: pointer(path) or "" for path in stated.unique()}
    paths = [known[path] for path in stated.to_list()]
    if "text" in batch.names:
        pages = zip(values, paths, batch.column("text"), strict=True)
        values = [text if value is None and not path else value for value, path, text in pages]
    return range(len(values)), paths, values, [None] * len(values)


def _wide(batch: Batch, names: Mapping[str, str]) -> tuple[Sequence[Any], ...]:
    """The row, path, value of each cell that may hold values, and what is said of it."""
    beside = {*names.values()} | ({"doc_id"} if batch.documents else set())
    cells = [], [], [], []
    for place, row in enumerate(batch.rows):
        row = _unwrapped(row, beside)
        sure = {m[1]: name for name in row if (m := _CONFIDENCE.fullmatch(name)) and m[1] in row}
        for name, cell in row.items():
            if name not in beside and name not in sure.values():
                path, is_item = _member(name)
                # A column for the third item is blank where there are two.
                if cell is not None or not is_item:
                    said = {"confidence": row[sure[name]]} if name in sure else None
                    for column, part in zip(cells, (place, path, cell, said), strict=True):
                        column.append(part)
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
    if path in whole:
        yield path, as_text(cell), said
        return
    for place, leaf in leaves(cell, path, _value_in):
        if isinstance(leaf, dict):
            stated = {key: leaf[n] for key, names in _SAID.items() for n in names if n in leaf}
            box = stated.pop("box", None)
            # Four numbers, eight, or points.
            sides = [side for _, side in leaves(box if isinstance(box, list) else [])]
            corners = around(zip(sides[::2], sides[1::2], strict=False))
            stated |= zip(tables.BOX, corners or (), strict=False) if not len(sides) % 2 else ()
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
