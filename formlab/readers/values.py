"""Values, of gold or of answers, as one long table, whatever they are kept in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, repeat
from typing import Any

import polars as pl

from formlab import tables
from formlab.errors import DataBroken
from formlab.readers import content
from formlab.readers.door import WRAPPERS, Batch, as_text, batches
from formlab.readers.layout import (
    PLACE,
    SYNONYMS,
    Layout,
    box,
    column_of,
    documents_of,
    texts,
)
from formlab.readers.rows import Row
from formlab.text import answers
from formlab.trees import escape

# How deep values may be nested.
_DEEPEST = 60
# `items[0].price`, `$.vendor.name`.
_DOTTED = re.compile(r"(?:\$\.?)?[^\W\d][\w-]*(?:\.[\w-]+|\.?\[(?:\d+|\*)\])+")
_STEP = re.compile(r"[\w*-]+")
_CONFIDENCE = re.compile(r"(.+?)[ _.-]?(?:confidence|conf)", re.IGNORECASE)
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
_CALL = {"model", "usage", "status", "created", "finish_reason", "error", "latency", "seconds",
         "cost", "confidence", "system", "tokens", "request_id"}  # fmt: skip
# The number of a row, the path of a cell ("" for that of a page), the cell, and what is said of it.
Cells = Iterable[tuple[int, str, Any, Row | None]]


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
    such as ``response``, is left out.

    Parameters
    ----------
    source
        A path, or an address that fsspec takes (``s3://…``): CSV, TSV, JSON lines, JSON, Parquet, a
        workbook (its first sheet), a folder or zip archive with a JSON file for each document; a
        polars or pandas frame; a list of dicts; or a dict of documents.
    columns
        The source's name for each column, such as ``{"doc_id": "id", "value": "target"}``; else the
        usual names (`layout.SYNONYMS`) are looked for. Columns named here are no fields.
    flaws
        Counts what is odd in the source, by a short name.

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
        return "/" + "/".join(_STEP.findall(path))
    return None if path in ("", "/") else path if path.startswith("/") else f"/{path}"


def _member(name: str) -> str:
    """The pointer of a column or member: a name, or a pointer already."""
    is_pointer = name.startswith("/") or any(step.isdecimal() for step in name.split("/")[1:])
    is_pointer = is_pointer or _DOTTED.fullmatch(name) is not None
    return tables.storable((pointer(name) or "") if is_pointer else f"/{escape(name)}")


def pieces(
    source: Any, columns: Mapping[str, str], notes: Counter[str], whole: Collection[str] = ()
) -> Iterator[pl.DataFrame]:
    """The values of a source, some at a time, lists as the source has them; see `read_values`.

    The first rows decide what each column is. Objects at the paths `whole` stay their JSON.
    """
    layout, seen = None, pl.DataFrame(schema={"doc_id": pl.String, "origin": pl.String})
    for batch in batches(source, notes):
        if batch.origins:
            layout = layout or Layout.of(batch, columns)
            values, documents = values_of(batch, layout, frozenset(whole))
            if not layout.is_long:
                seen = _check_once(pl.concat([seen, documents]), batch, layout.names["doc_id"])
            yield values
    if layout is None:
        where = source if isinstance(source, str) or hasattr(source, "name") else None
        raise DataBroken("no rows", where=where, remedy="one row a value")


def values_of(
    batch: Batch, layout: Layout, whole: Collection[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The values of some rows, and the document and place of each row."""
    documents = {"doc_id": texts(documents_of(batch, layout.names["doc_id"]))}
    origins = {"origin": texts(batch.origins)}
    further = [name for name in layout.names if name not in (*SYNONYMS, "origin")]
    beside = {tables.storable(n): column_of(n, batch, layout.names[n]) for n in further}
    base = pl.DataFrame(documents | beside | origins)
    if layout.is_long:
        paths, found = _long(batch, layout.names)
        cells: Cells = zip(range(len(found)), paths, found, repeat(None))
        is_plain = set(map(type, found)) <= {str, type(None)}
    else:
        cells, is_plain = _wide(batch, layout.names), False
    if is_plain:
        values = base.with_columns(path=texts(paths).replace("", None), value=texts(found))
    else:
        values = _placed(_leaves_of(cells, batch, whole, is_long=layout.is_long), base)
    if batch.documents:
        below = pl.concat_str("origin", pl.lit("#"), "path")
        values = values.with_columns(origin=pl.coalesce(below, "origin"))
    first = ("doc_id", "path", "value")
    values = values.select(*first, pl.exclude(*first, "origin"), "origin")
    return _answered(values), pl.DataFrame(documents | origins)


def _check_once(documents: pl.DataFrame, batch: Batch, column: str) -> pl.DataFrame:
    """The documents so far and their places; `DataBroken` if one has two rows of a wide table."""
    again = documents["doc_id"].is_duplicated()
    if not again.any():
        return documents
    doc_id = documents["doc_id"].filter(again)[0]
    first, second = documents.filter(pl.col("doc_id") == doc_id)["origin"].head(2)
    remedy, rest = "keep one of them", [name for name in batch.names if name != column]
    if len(rest) == 2:
        remedy += f"; or if each row is a value: --columns path={rest[0]},value={rest[1]}"
    what = f"two rows for document {doc_id!r}, the first at {first}"
    raise DataBroken(what, where=batch.home + second, remedy=remedy)


def _long(batch: Batch, names: Mapping[str, str]) -> tuple[list[str], list[Any]]:
    """The path and the cell of each row."""
    stated = list(map(as_text, batch.column(names.get("path"))))
    pointers = {path: pointer(path) or "" for path in set(stated)}
    paths, cells = [pointers[path] for path in stated], batch.column(names.get("value"))
    if "" in pointers.values() and None in cells:
        both = zip(cells, paths, batch.column("text"), strict=True)
        cells = [text if cell is None and not path else cell for cell, path, text in both]
    return paths, cells


def _wide(batch: Batch, names: Mapping[str, str]) -> Cells:
    """The cells of each row."""
    beside = {*names.values()} | ({"doc_id"} if batch.documents else set())
    # Of each name its pointer, and whether that is of an item of a list.
    known: dict[str, tuple[str, bool]] = {}
    for number, row in enumerate(batch.rows):
        row = _unwrapped(row, beside)
        sure = {m[1]: n for n in row if (m := _CONFIDENCE.fullmatch(n)) and m[1] in row}
        left_out = beside | set(sure.values())
        for name, cell in row.items():
            if name in left_out:
                continue
            if name not in known:
                known[name] = (start := _member(name)), "*" in pattern(start)
            start, is_item = known[name]
            # A column for the third item is blank where there are two.
            if cell is not None or not is_item:
                said = {"confidence": row[sure[name]]} if name in sure else None
                yield number, start, cell, said


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
                found.setdefault(item[name], []).append(said if _value_of(said) else item["value"])
            return {key: cells if len(cells) > 1 else cells[0] for key, cells in found.items()}
    return value[0] if len(value) == 1 else value


def _leaves_of(
    cells: Cells, batch: Batch, whole: Collection[str], *, is_long: bool
) -> list[tuple[int, str, str | None, Row | None]]:
    """The values in cells; without a path for a document that has none."""
    found: list[tuple[int, str, str | None, Row | None]] = []
    for number, path, cell, said in cells:
        if cell is None or type(cell) is str or path in whole:
            found.append((number, path, as_text(cell), said))
            continue
        try:
            found += [(number, end, leaf, more or said) for end, leaf, more in leaves(cell, path)]
        except RecursionError:
            what = f"nested deeper than {_DEEPEST} levels"
            raise DataBroken(what, where=f"{batch.where(number)}#{path[:80]}") from None
    bare = set() if is_long else set(range(len(batch.origins))) - {number for number, *_ in found}
    if bare:
        found += [(number, "", None, None) for number in bare]
        found.sort(key=lambda each: each[0])
    return found


def leaves(
    value: Any, path: str = "", depth: int = 0
) -> Iterator[tuple[str, str | None, Row | None]]:
    """The values of an object or list, each at its pointer, and what is said beside it.

    An object of a value and its confidence, page or box is one value.

    Examples
    --------
    >>> list(leaves({"total": {"value": 9, "confidence": 0.5}, "paid": [True]}))
    [('/total', '9', {'confidence': 0.5, 'page': None}), ('/paid/0', 'true', None)]
    """
    if hasattr(value, "tolist"):  # An array in a cell of a frame.
        value = value.tolist()
    if not isinstance(value, dict | list | tuple):
        yield path, tables.storable(as_text(value)), None
        return
    if depth > _DEEPEST:
        raise RecursionError
    if isinstance(value, dict) and (name := _value_of(value)):
        for end, leaf, said in leaves(value[name], path, depth + 1):
            yield end, leaf, said or _said(value)
        return
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(inner, f"{path}/{tables.storable(escape(str(step)))}", depth + 1)


def _value_of(members: Row) -> str | None:
    """The member that is the value of an object which says more of it; null if it is none."""
    found = [name for name in _VALUES if name in members]
    rest = members.keys() - set(found)
    is_known = rest <= _BESIDE or "confidence" in rest
    if not found or not is_known or rest <= {"type", "kind"}:
        return None
    is_sure = not rest.isdisjoint(_SAID["confidence"])
    return found[0] if is_sure or found[0] == "value" else None


def _said(members: Row) -> Row:
    """The confidence, page and box of a value."""
    stated = {key: members[n] for key, names in _SAID.items() for n in names if n in members}
    said = {"confidence": stated.get("confidence"), "page": stated.get("page")}
    return said | dict(zip(tables.BOX, box(stated.get("box")) or (), strict=False))


def _placed(
    found: list[tuple[int, str, str | None, Row | None]], base: pl.DataFrame
) -> pl.DataFrame:
    """The values beside what their rows say, and what is said of each."""
    numbers, paths, leaf_texts, said = map(list, zip(*found, strict=True)) if found else [[]] * 4
    path = texts(paths).replace("", None)
    values = base[numbers].with_columns(path=path, value=texts(leaf_texts))
    for name in PLACE if any(said) else ():
        stated = pl.Series([content.number(s and s.get(name)) for s in said], dtype=pl.Float64)
        if stated.count():
            stated = stated.cast(tables.RECORDS[name], strict=False)
            known = [pl.col(name)] if name in values.columns else []
            values = values.with_columns(pl.coalesce(*known, pl.lit(stated)).alias(name))
    return values


def _answered(values: pl.DataFrame) -> pl.DataFrame:
    """The values with the fields of what is JSON as text, without reasoning; broken JSON stays."""
    text, is_page = pl.col("value"), pl.col("path").is_null()
    marked = text.str.contains(answers.MARKED) | (is_page & text.str.contains("{", literal=True))
    found: list[tuple[int, str, str | None, Row | None]] = []
    statuses: dict[int, str] = {}
    for number in values.select(marked.fill_null(False).arg_true()).to_series():
        path, value = values["path"][number], values["value"][number]
        parsed = answers.plain(value) if path else answers.read(value)
        inner = parsed.value
        if not isinstance(inner, str | None):
            inner = _unwrapped(inner) if isinstance(inner, dict) else inner
            below = [each for each in leaves(inner) if each[1] is not None]
            found += [(number, *each) for each in below or [("", None, None)]]
        elif parsed.changes and parsed.status != "bad_json":
            found.append((number, path or "", inner, None))
        else:
            continue
        statuses[number] = parsed.status
    if not found:
        return values
    stated = pl.col("status") if "status" in values.columns else pl.lit(None, pl.String)
    status = pl.coalesce(stated, pl.col("number").replace_strict(statuses, default=None))
    values = values.with_row_index("number").with_columns(status=status)
    read = _placed(found, values)
    rest = values.filter(~pl.col("number").is_in(list(statuses)))
    both = pl.concat([rest, read], how="diagonal_relaxed")
    return both.sort("number", maintain_order=True).drop("number")


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
    number = pl.int_range(pl.len()).over("doc_id", "path")
    item_path = pl.format("{}/{}", "path", number)
    path = pl.when(pl.col("path").is_in(sorted(paths))).then(item_path).otherwise("path")
    return values.with_columns(path.alias("path"))
