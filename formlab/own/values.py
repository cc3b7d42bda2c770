"""A user's own values, of gold or of answers, as one long table, whatever they are kept in."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from formlab import tables
from formlab.errors import DataBroken, UnknownName
from formlab.own._rows import RawRows, Row, as_text, read_rows
from formlab.trees import escape

# Other names of the three columns that make a table of values.
SYNONYMS = {
    "doc_id": ("document", "document_id", "doc", "id", "file", "filename", "file_name", "image"),
    "path": ("field", "key", "label", "name", "pointer"),
    "value": ("gold", "target", "expected", "truth", "prediction", "pred", "answer", "output",
              "text"),
}  # fmt: skip
# What a row may say beside its value: of the record, then of its document.
RECORD = (
    "kind", "page", *tables.BOX, "accepted", "confidence", "status", "modality", "subtype", "task",
    "scope", "reference", "complexity", "modal",
)  # fmt: skip
DOCUMENT = ("image", "width", "height", "template", "domain", "context")
_SCHEMA = tables.DOCUMENTS | tables.RECORDS
_ALLOWED = {"status": tables.STATUSES, "task": tables.TASKS}
_DEEPEST = 60
# Beyond this a number is no page and no width.
_MOST = 2.0**53


def read_values(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    flaws: Counter[str] | None = None,
) -> pl.DataFrame:
    """A long table of values: one row per document and path.

    A *long* source has a column for the document and one for the value; a *wide* one has a row or
    an object for each document, with a column or member for each field. Nested objects and lists
    become JSON pointers (``/items/0/price``). Values are text as the source writes them: "007" and
    "9.00" stay, and an empty cell is null (that of a list's item in a wide table: no item).

    Parameters
    ----------
    source
        A path: CSV, TSV, JSON lines, JSON, Parquet, a workbook (its first sheet) or a folder with
        one JSON file for each document, in any depth; a polars or pandas frame; a list of dicts; or
        a dict of documents.
    columns
        The source's name for each column, such as ``{"doc_id": "id", "value": "target"}``. Without
        it the names of formlab and their usual synonyms (`SYNONYMS`) are looked for. A wide table's
        columns that are named here are no fields.
    flaws
        Counts what is odd in the source, by a short name.

    Returns
    -------
    polars.DataFrame
        doc_id, path (null for the text of a whole page), value, those of `RECORD` and `DOCUMENT`
        that the source has, its own columns as text, and origin (file and line). A document without
        any value has one row without path and value. Where a document has several values at a
        path, they and all others at that path are a list: ``/party/0``, ``/party/1``.

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
    rows = read_rows(source, flaws)
    if not rows.rows:
        raise DataBroken("no rows", where=rows.home, remedy="one row a value")
    names, long = _columns(rows, columns or {})
    collect = _long if long else _wide
    return _listed(_frame(list(collect(rows, names)), names))


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
    >>> pointer("total"), pointer("/items/0"), pointer("/")
    ('/total', '/items/0', None)
    """
    path = (path or "").strip()
    return None if path in ("", "/") else path if path.startswith("/") else f"/{path}"


def _member(name: str) -> str:
    """The pointer of a column or member: a name, or a pointer already."""
    is_pointer = name.startswith("/") or any(step.isdecimal() for step in name.split("/")[1:])
    return str(pointer(name)) if is_pointer else f"/{escape(name)}"


def _columns(rows: RawRows, columns: Mapping[str, str]) -> tuple[dict[str, str], bool]:
    """The table's own name of each column, and whether the table is long."""
    known = list(dict.fromkeys(name for _, row in rows.rows for name in row))
    for name in columns.values():
        if name not in known:
            raise UnknownName.of("column", name, known)
    names = {name: column for name, column in columns.items() if name not in SYNONYMS}
    names |= {n: columns[n] if n in columns else _named(n, known, columns) for n in SYNONYMS}
    names = {name: column for name, column in names.items() if column is not None}
    if rows.documents:
        return {"doc_id": "doc_id"} | dict(columns), False
    if "doc_id" not in names:
        what = f"no column for the document among {', '.join(known[:12])}"
        raise DataBroken(what, where=rows.home, remedy="columns={'doc_id': …}, --columns doc_id=…")
    if not _is_long(rows, names, known, columns):
        return {"doc_id": names["doc_id"]} | dict(columns), False
    # A row without a path may say `text` for its value, as in formlab's plainest file.
    rest = [name for name in known if name not in (*names, *names.values(), "text")]
    return names | {name: name for name in rest}, True


def _named(name: str, known: list[str], columns: Mapping[str, str]) -> str | None:
    """The column of that name in any case, else the only one with a synonym of it."""
    lower = {column.lower(): column for column in known if column not in columns.values()}
    if name in lower:
        return lower[name]
    candidates = [lower[synonym] for synonym in SYNONYMS[name] if synonym in lower]
    if name == "doc_id" and len(candidates) > 1:
        what = f"the document's column may be any of {', '.join(candidates)}"
        raise DataBroken(what, remedy=f"columns={{'doc_id': '{candidates[0]}'}}")
    return candidates[0] if len(candidates) == 1 else None


def _is_long(
    rows: RawRows, names: dict[str, str], known: list[str], columns: Mapping[str, str]
) -> bool:
    """Whether each row is a value; a wide table may have fields called name and text as well."""
    if "value" in columns or "path" in columns:
        return True
    if "value" not in names:
        return False
    if "path" in names and {names[n].lower() for n in ("path", "value")} == {"path", "value"}:
        return True
    others = set(known) - set(names.values()) - {*RECORD, *DOCUMENT, *tables.RECORDS}
    if "path" not in names:
        return not others
    # A table of values names a document again for its next value, or a field in the next document.
    again = {
        name: len({as_text(row.get(names[name])) for _, row in rows.rows}) < len(rows.rows)
        for name in ("doc_id", "path")
    }
    return again["doc_id"] or (not others and (again["path"] or len(rows.rows) == 1))


def _document(row: Row, column: str, rows: RawRows, origin: str) -> str:
    name = tables.storable((as_text(row.get(column)) or "").strip())
    if not name:
        remedy = "a name of the document in every row"
        raise DataBroken(f"no {column}", where=rows.where(origin), remedy=remedy)
    return name


def _long(rows: RawRows, names: dict[str, str]) -> Iterator[Row]:
    path, value = names.get("path"), names.get("value")
    further = {n: c for n, c in names.items() if n not in (*SYNONYMS, "origin")}
    pointers: dict[Any, str | None] = {}
    for origin, row in rows.rows:
        base: Row = {"doc_id": _document(row, names["doc_id"], rows, origin), "origin": origin}
        for name, column in further.items():
            if (cell := row.get(column)) is not None:
                base[name] = _cell(name, cell, rows, origin)
        stated = as_text(row.get(path)) if path else None
        if stated not in pointers:
            pointers[stated] = tables.storable(pointer(stated))
        base["path"] = start = pointers[stated]
        cell = row.get(value)
        if cell is None and start is None:
            cell = row.get("text")
        if cell is None or isinstance(cell, str):
            base["value"] = tables.storable(cell)
            yield base
            continue
        for end, leaf in _leaves(cell, "", rows, origin):
            location = {"path": (start or "") + end} if end else {}
            yield base | location | {"value": leaf}


def _wide(rows: RawRows, names: dict[str, str]) -> Iterator[Row]:
    seen: dict[str, str] = {}
    further = {n: c for n, c in names.items() if n not in SYNONYMS}
    for origin, row in rows.rows:
        doc_id = _document(row, names["doc_id"], rows, origin)
        if doc_id in seen:
            what = f"two rows for document {doc_id!r}, the first at {seen[doc_id]}"
            raise DataBroken(what, where=rows.where(origin), remedy="keep one of them")
        seen[doc_id] = origin
        base: Row = {"doc_id": doc_id, "origin": origin}
        cells = ((name, row.get(column)) for name, column in further.items())
        base |= {n: _cell(n, cell, rows, origin) for n, cell in cells if cell is not None}
        count = 0
        for name, member in row.items():
            if name in names.values() or (rows.documents and name == "doc_id"):
                continue
            start = tables.storable(_member(name))
            # A column for the third item is blank where there are two.
            if member is None and "*" in pattern(start):
                continue
            for end, leaf in _leaves(member, "", rows, origin):
                count += 1
                below = f"#{start}{end}" if rows.documents else ""
                yield base | {
                    "path": start + end, "value": leaf, "origin": f"{origin}{below}"
                }  # fmt: skip
        if not count:
            yield base


def _leaves(
    value: Any, path: str, rows: RawRows, origin: str, depth: int = 0
) -> Iterator[tuple[str, str | None]]:
    """The values of an object or list, each at its pointer; what is empty has none."""
    if value is None or isinstance(value, str):
        yield path, tables.storable(value)
        return
    if hasattr(value, "tolist"):  # An array in a cell of a frame.
        value = value.tolist()
    if not isinstance(value, dict | list | tuple):
        yield path, as_text(value)
        return
    if depth > _DEEPEST:
        what = f"nested deeper than {_DEEPEST} levels"
        raise DataBroken(what, where=f"{rows.where(origin)}#{path[:80]}")
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for step, inner in pairs:
        below = f"{path}/{tables.storable(escape(str(step)))}"
        yield from _leaves(inner, below, rows, origin, depth + 1)


def _cell(name: str, cell: Any, rows: RawRows, origin: str) -> Any:
    """What a row says beside its value, as the dtype of its column; an own column is text."""
    dtype = _SCHEMA.get(name, pl.String) if name in (*RECORD, *DOCUMENT) else pl.String
    try:
        if isinstance(dtype, pl.List):
            return _several(cell)
        if isinstance(cell, dict | list | tuple):
            return json.dumps(cell, ensure_ascii=False, default=str)
        text = as_text(cell)
        if dtype == pl.String or text is None or not text.strip():
            value: Any = text or None
        else:
            value = float(text)
            whole = value.is_integer() and abs(value) < _MOST
            if not math.isfinite(value) or (dtype == pl.Int64 and not whole):
                raise ValueError
            value = int(value) if dtype == pl.Int64 else value
    except ValueError as error:
        what = f"{name} cannot be {as_text(cell)!r:.80}"
        raise DataBroken(what, where=rows.where(origin), remedy="a number") from error
    if value is not None and value not in _ALLOWED.get(name, (value,)):
        remedy = f"one of: {', '.join(_ALLOWED[name])}"
        raise DataBroken(f"unknown {name} {value!r}", where=rows.where(origin), remedy=remedy)
    return tables.storable(value)


def _several(cell: Any) -> list[str]:
    """Further right values: a list, a JSON list, or texts between ``|``."""
    if hasattr(cell, "tolist"):
        cell = cell.tolist()
    if isinstance(cell, str):
        try:
            listed = json.loads(cell)
        except (ValueError, RecursionError):
            listed = None
        cell = listed if isinstance(listed, list) else cell.split("|")
    items = cell if isinstance(cell, list | tuple) else [cell]
    return [tables.storable(as_text(item)) for item in items if item not in (None, "")]


def _frame(values: list[Row], names: dict[str, str]) -> pl.DataFrame:
    further = [name for name in names if name not in (*SYNONYMS, "origin")]
    schema = {
        name: _SCHEMA[name] if name in (*RECORD, *DOCUMENT) else pl.String
        for name in ("doc_id", "path", "value", *further, "origin")
    }
    columns = {name: [row.get(name) for row in values] for name in schema}
    return pl.DataFrame(columns, schema=schema)


def _listed(values: pl.DataFrame) -> pl.DataFrame:
    """Values at one path of a document, and single values where other documents have lists."""
    keyed = values.filter(pl.col("path").is_not_null()).select("doc_id", "path")
    paths = set(keyed["path"])
    twice = keyed.filter(keyed.is_duplicated())["path"]
    several = sorted({path for path in paths if f"{path}/0" in paths} | set(twice))
    if not several:
        return values
    number = pl.int_range(pl.len()).over("doc_id", "path")
    item_path = pl.format("{}/{}", "path", number)
    path = pl.when(pl.col("path").is_in(several)).then(item_path).otherwise("path")
    return values.with_columns(path.alias("path"))
