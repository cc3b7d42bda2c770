"""A user's own values, of gold or of answers, as one long table, whatever they are kept in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

import polars as pl

from formlab import tables
from formlab.errors import DataBroken, UnknownName
from formlab.own._beside import BLANK, DOCUMENT, RECORD, column_of
from formlab.own._cells import as_text, as_texts, texts
from formlab.own._rows import RawRows, read_rows
from formlab.text import answers
from formlab.trees import escape

# Other names of the three columns that make a table of values.
SYNONYMS = {
    "doc_id": ("document", "document_id", "doc", "id", "file", "filename", "file_name", "image"),
    "path": ("field", "key", "label", "name", "pointer"),
    "value": ("gold", "target", "expected", "truth", "prediction", "pred", "answer", "output",
              "text"),
}  # fmt: skip
_DEEPEST = 60


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
        A path, or an address that fsspec takes (``s3://…``): CSV, TSV, JSON lines, JSON, Parquet, a
        workbook (its first sheet) or a folder with one JSON file for each document, in any depth; a
        polars or pandas frame; a list of dicts; or a dict of documents.
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
    if not rows.height:
        raise DataBroken("no rows", where=rows.home, remedy="one row a value")

    def again(column: str) -> bool:
        return text_column(rows, column).n_unique() < rows.height

    values = values_of(rows, Roles.of(rows, rows.names, rows.height, again, columns or {}))
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
    >>> pointer("total"), pointer("/items/0"), pointer("/")
    ('/total', '/items/0', None)
    """
    path = (path or "").strip()
    return None if path in ("", "/") else path if path.startswith("/") else f"/{path}"


def _member(name: str) -> str:
    """The pointer of a column or member: a name, or a pointer already."""
    is_pointer = name.startswith("/") or any(step.isdecimal() for step in name.split("/")[1:])
    return str(pointer(name)) if is_pointer else f"/{escape(name)}"


class Roles(NamedTuple):
    """A table's own name of each column, and whether the table is long."""

    names: dict[str, str]
    is_long: bool

    @classmethod
    def of(
        cls, rows: RawRows, known: list[str], height: int, again: Callable[[str], bool],
        columns: Mapping[str, str],
    ) -> Roles:  # fmt: skip
        """The roles of the columns `known`, of a source of `height` rows that begins with `rows`.

        `again` tells whether a column has a value twice.
        """
        for name in columns.values():
            if name not in known:
                raise UnknownName.of("column", name, known)
        names = {name: column for name, column in columns.items() if name not in SYNONYMS}
        names |= {n: columns[n] if n in columns else _named(n, known, columns) for n in SYNONYMS}
        names = {name: column for name, column in names.items() if column is not None}
        if rows.documents:
            return cls({"doc_id": "doc_id"} | dict(columns), False)
        if "doc_id" not in names:
            what = f"no column for the document among {', '.join(known[:12])}"
            remedy = "columns={'doc_id': …}, --columns doc_id=…"
            raise DataBroken(what, where=rows.home, remedy=remedy)
        is_answer = "path" not in names and _holds_json(rows, names.get("value"))
        if not (is_answer or _is_long(names, known, columns, height, again)):
            return cls({"doc_id": names["doc_id"]} | dict(columns), False)
        # A row without a path may say `text` for its value, as in formlab's plainest file.
        rest = [name for name in known if name not in (*names, *names.values(), "text")]
        return cls(names | {name: name for name in rest}, True)


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


def _holds_json(rows: RawRows, column: str | None) -> bool:
    """Whether the first text of a column is an answer in JSON, whatever columns stand beside it."""
    cells = (cell for cell in rows.column(column) if isinstance(cell, str) and cell)
    return column is not None and answers.is_json(next(cells, ""))


def _is_long(
    names: dict[str, str], known: list[str], columns: Mapping[str, str], height: int,
    again: Callable[[str], bool],
) -> bool:  # fmt: skip
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
    return again(names["doc_id"]) or (not others and (height == 1 or again(names["path"])))


def values_of(rows: RawRows, roles: Roles) -> pl.DataFrame:
    """The values of some rows, with lists as the source has them; see `read_values`."""
    names, is_long = roles
    further = {n: tables.storable(n) for n in names if n not in (*SYNONYMS, "origin")}
    base = pl.DataFrame(
        {"doc_id": _documents(rows, names["doc_id"])}
        | {stored: column_of(name, rows, names[name]) for name, stored in further.items()}
        | {"origin": rows.origins}
    )
    values = _long(rows, names, base) if is_long else _wide(rows, names, base)
    return _answered(values.select("doc_id", "path", "value", *further.values(), "origin"))


def _answered(values: pl.DataFrame) -> pl.DataFrame:
    """The values with the fields of what is JSON as text, and without reasoning.

    A text in JSON that cannot be read stays: gold may be any text, and of answers
    `own.answers.of_values` says so.
    """
    text, is_page = pl.col("value"), pl.col("path").is_null()
    marked = text.str.contains(answers.MARKED) | (is_page & text.str.contains("{", literal=True))
    leaves: list[tuple[int, str | None, str | None, str]] = []
    for number in values.select(marked.fill_null(False).arg_true()).to_series():
        path, value = values["path"][number], values["value"][number]
        parsed = answers.plain(value) if path else answers.read(value)
        if not isinstance(parsed.value, str | None):
            below = fields(parsed.value)
            leaves += [(number, below_path, leaf, parsed.status) for below_path, leaf in below]
        elif parsed.changes and parsed.status != "bad_json":
            leaves.append((number, path, parsed.value, parsed.status))
    if not leaves:
        return values
    numbers, paths, texts_, statuses = map(list, zip(*leaves, strict=True))
    stated = values["status"] if "status" in values.columns else pl.lit(None, pl.String)
    values = values.with_columns(status=stated).with_row_index("number")
    read = values[numbers].with_columns(
        path=texts(paths), value=texts(texts_),
        status=pl.coalesce("status", pl.lit(pl.Series(statuses))),
    )  # fmt: skip
    rest = values.filter(~pl.col("number").is_in(numbers))
    return pl.concat([rest, read]).sort("number", maintain_order=True).drop("number")


def fields(value: Any) -> list[tuple[str | None, str | None]]:
    """The values of an answer at their pointers; one without any is a null without a path."""
    leaves = _leaves(value, "", RawRows([], pl.Series(["answer"])), 0)
    return [(path or None, leaf) for path, leaf in leaves if leaf is not None] or [(None, None)]


def text_column(rows: RawRows, column: str) -> pl.Series:
    """The cells of a column as text, whatever they are."""
    cells = rows.column(column)
    stated, nested = as_texts(cells)
    return texts(map(as_text, cells)) if nested else stated


def _documents(rows: RawRows, column: str) -> pl.Series:
    remedy = "a name of the document in every row"
    if as_texts(cells := rows.column(column))[1]:
        lists = (n for n, cell in enumerate(cells) if isinstance(cell, list | dict))
        if (number := next(lists, None)) is not None:
            what = f"{column} is no text but a list or an object"
            raise DataBroken(what, where=rows.where(number), remedy=remedy)
    names = text_column(rows, column).str.strip_chars(BLANK)
    bare = (names.is_null() | (names == "")).arg_true()
    if bare.len():
        raise DataBroken(f"no {column}", where=rows.where(bare[0]), remedy=remedy)
    return names


def _long(rows: RawRows, names: dict[str, str], base: pl.DataFrame) -> pl.DataFrame:
    """A value for each row, or for each leaf of what is nested there."""
    stripped = pl.col("path").str.strip_chars(BLANK)
    stated = text_column(rows, names["path"]) if "path" in names else None
    paths = pl.Series("path", [None], dtype=pl.String).new_from_index(0, rows.height)
    if stated is not None:
        is_pointer = stripped.str.starts_with("/")
        path = pl.when(is_pointer).then(stripped).otherwise(pl.lit("/") + stripped)
        paths = stated.alias("path").to_frame().select(pl.when(path != "/").then(path))["path"]
    cells = rows.column(names["value"])
    if paths.null_count() and "text" in rows.names:
        triples = zip(cells, paths, rows.column("text"), strict=True)
        cells = [text if cell is None and path is None else cell for cell, path, text in triples]
    value, nested = as_texts(cells)
    values = base.with_columns(paths.alias("path"), value.alias("value"))
    if not nested:
        return values
    inner, leaves = set(nested), []
    for number, text in enumerate(value):
        below = _leaves(cells[number], "", rows, number) if number in inner else [("", text)]
        leaves += [(number, end, leaf) for end, leaf in below]
    numbers, ends, stated = map(list, zip(*leaves, strict=True)) if leaves else ([], [], [])
    end = pl.lit(texts(ends))
    path = pl.when(end == "").then("path").otherwise(pl.col("path").fill_null("") + end)
    return values[numbers].with_columns(path.alias("path"), value=texts(stated))


def _wide(rows: RawRows, names: dict[str, str], base: pl.DataFrame) -> pl.DataFrame:
    """A value for each field of each row; a row without path and value for one without any."""
    if base["doc_id"].is_duplicated().any():
        seen: dict[str, int] = {}
        for number, doc_id in enumerate(base["doc_id"]):
            if doc_id in seen:
                raise twice(doc_id, rows.origins[seen[doc_id]], rows.where(number))
            seen[doc_id] = number
    # The pointer of each field; null for what is none.
    starts: dict[str, str | None] = dict.fromkeys(names.values())
    if rows.documents:
        starts["doc_id"] = None
    items: set[str] = set()
    numbers: list[int] = []
    paths: list[str | None] = []
    values: list[str | None] = []
    for number, row in enumerate(rows.dicts):
        before = len(numbers)
        for name, member in row.items():
            if name not in starts:
                starts[name] = start = "" if name == "/" else tables.storable(_member(name))
                items |= {start} if "*" in pattern(start) else set()
            start = starts[name]
            # A column for the third item is blank where there are two.
            if start is None or (member is None and start in items):
                continue
            if member is None or type(member) is str:
                numbers.append(number)
                paths.append(start)
                values.append(member)
                continue
            for end, leaf in _leaves(member, "", rows, number):
                numbers.append(number)
                paths.append(start + end)
                values.append(leaf)
        if len(numbers) == before:
            numbers.append(number)
            paths.append(None)
            values.append(None)
    result = base[numbers].with_columns(path=texts(paths).replace("", None), value=texts(values))
    if rows.documents:
        below = pl.concat_str("origin", pl.lit("#"), "path")
        result = result.with_columns(origin=pl.coalesce(below, "origin"))
    return result


def twice(doc_id: str, first: str, where: str) -> DataBroken:
    """The error for a document that has two rows of a wide table."""
    what = f"two rows for document {doc_id!r}, the first at {first}"
    return DataBroken(what, where=where, remedy="keep one of them")


def _leaves(
    value: Any, path: str, rows: RawRows, number: int, depth: int = 0
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
        raise DataBroken(what, where=f"{rows.where(number)}#{path[:80]}")
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for step, inner in pairs:
        below = f"{path}/{tables.storable(escape(str(step)))}"
        yield from _leaves(inner, below, rows, number, depth + 1)


def lists_of(values: pl.DataFrame) -> set[str]:
    """The paths that are lists: several values of a document, or single ones beside lists."""
    keyed = values.filter(pl.col("path").is_not_null()).select("doc_id", "path")
    return first_items(keyed["path"].unique()) | set(keyed.filter(keyed.is_duplicated())["path"])


def first_items(paths: pl.Series) -> set[str]:
    """The paths of which there is also a first item; items of lists stay what their document has.

    What one document has at a place says nothing of the item at that place in another.
    """
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
