"""Values, of gold or of answers, as one long table, whatever they are kept in."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from formlab import tables
from formlab.errors import DataBroken, UnknownName
from formlab.readers.door import WRAPPERS, as_text, chunks, home_of, rows_of
from formlab.readers.rows import Row
from formlab.text import answers
from formlab.trees import escape

# Other names of the three columns that make a table of values.
SYNONYMS = {
    "doc_id": ("document", "document_id", "doc", "id", "file", "filename", "file_name", "image"),
    "path": ("field", "key", "label", "name", "pointer"),
    "value": ("gold", "target", "expected", "truth", "prediction", "pred", "answer", "output",
              "text"),
}  # fmt: skip
# What a row may say beside its value: of the record, then of its document.
PLACE = ("confidence", "page", *tables.BOX)
RECORD = (*PLACE, "kind", "accepted", "status", "modality", "subtype", "task", "scope",
          "reference", "complexity", "modal")  # fmt: skip
DOCUMENT = ("image", "width", "height", "template", "domain", "context")
_SCHEMA = tables.DOCUMENTS | tables.RECORDS
_ALLOWED = {"status": tables.STATUSES, "task": tables.TASKS}
# How many rows are read at once, how deep they may be nested, and what is no page and no width.
_ROWS, _DEEPEST, _MOST = 50_000, 60, 2.0**53
# `items[0].price`, `$.vendor.name`.
_DOTTED = re.compile(r"(?:\$\.?)?[^\W\d][\w-]*(?:\.[\w-]+|\.?\[(?:\d+|\*)\])+")
_STEPS = re.compile(r"[\w*-]+")
_BESIDE = re.compile(r"(.+?)[ _.-]?(?:confidence|conf)", re.IGNORECASE)
# What services call a value, and what they say of it in the same object.
_VALUES = ("value", "content", "text")
_SAID = {
    "confidence": ("confidence", "conf", "score", "probability"),
    "page": ("page", "page_number", "pageNumber"),
    "box": ("box", "bbox", "bounding_box", "boundingBox", "polygon"),
}
_OF_VALUE = {*chain.from_iterable(_SAID.values()), "type", "kind"}
# Around an answer: names that may hold all of it, and what may stand beside these.
_AROUND = {*WRAPPERS, "fields", "output", "prediction", "answer", "json"}
_CALL = {"model", "usage", "status", "created", "finish_reason", "error", "latency", "seconds",
         "cost", "confidence", "system", "tokens", "request_id"}  # fmt: skip


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
        workbook (its first sheet), a folder or a zip archive with one JSON file for each document,
        in any depth; a polars or pandas frame; a list of dicts; or a dict of documents.
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
        return "/" + "/".join(_STEPS.findall(path))
    return None if path in ("", "/") else path if path.startswith("/") else f"/{path}"


def _member(name: str) -> str:
    """The pointer of a column or member: a name, or a pointer already."""
    is_pointer = name.startswith("/") or any(step.isdecimal() for step in name.split("/")[1:])
    is_pointer = is_pointer or _DOTTED.fullmatch(name) is not None
    return tables.storable((pointer(name) or "") if is_pointer else f"/{escape(name)}")


class Batch(NamedTuple):
    """Some rows of a source, and where they stand in the folder `home`."""

    cells: list[Row] | dict[str, list[Any]]
    origins: list[str]
    home: Path | None
    documents: bool

    @property
    def names(self) -> list[str]:
        """The names of the columns, in the order in which rows have them."""
        return list(dict.fromkeys(
            chain.from_iterable(self.cells) if isinstance(self.cells, list) else self.cells
        ))  # fmt: skip

    def column(self, name: str | None) -> list[Any]:
        """The cells of a column; null where there is none."""
        if isinstance(self.cells, dict):
            return self.cells.get(name) or [None] * len(self.origins)
        return [row.get(name) for row in self.cells]

    def where(self, number: int) -> str:
        """The place of a row, from 0, as an error names it."""
        return str(self.home / self.origins[number]) if self.home else self.origins[number]


def batches(source: Any, notes: Counter[str]) -> Iterator[Batch]:
    """The rows of a source, some at a time; `DataBroken` if it has none."""
    count, home = 0, home_of(source)
    for origins, cells, documents in chunks(source, notes):
        for start in range(0, len(origins), _ROWS):
            some, part = slice(start, start + _ROWS), cells
            if len(origins) > _ROWS:
                is_list = isinstance(cells, list)
                part = cells[some] if is_list else {n: c[some] for n, c in cells.items()}
            yield Batch(part, origins[some], home, documents)
            count += 1
    if not count:
        raise DataBroken("no rows", where=home, remedy="one row a value")


def pieces(
    source: Any, columns: Mapping[str, str], notes: Counter[str], whole: Collection[str] = ()
) -> Iterator[pl.DataFrame]:
    """The values of a source, some at a time, lists as the source has them; see `read_values`.

    Objects at the paths `whole` stay one value, their JSON.
    """
    layout, seen = None, pl.DataFrame(schema={"doc_id": pl.String, "origin": pl.String})
    for batch in batches(source, notes):
        layout = layout or Layout.of(batch, columns)
        documents = _documents(batch, layout.names["doc_id"])
        if not layout.is_long:
            seen = _checked(seen, documents, batch, layout.names["doc_id"])
        yield layout.values(batch, documents, whole)


class Layout(NamedTuple):
    """A table's own name of each column, and whether each row is a value."""

    names: dict[str, str]
    is_long: bool

    @classmethod
    def of(cls, batch: Batch, columns: Mapping[str, str]) -> Layout:
        """The layout of a source that begins with these rows."""
        known = batch.names
        for name in columns.values():
            if name not in known:
                raise UnknownName.of("column", name, known)
        if batch.documents:
            return cls({"doc_id": "doc_id"} | dict(columns), is_long=False)
        names = {name: column for name, column in columns.items() if name not in SYNONYMS}
        names |= {n: columns.get(n) or _named(n, known, columns) for n in SYNONYMS}
        names = {name: column for name, column in names.items() if column}
        if "doc_id" not in names:
            what = f"no column for the document among {', '.join(known[:12])}"
            nearest = get_close_matches("doc_id", known, 1) or known[:1]
            remedy = f"--columns doc_id={nearest[0] if nearest else '…'}"
            raise DataBroken(what, where=batch.home, remedy=remedy)
        others = [name for name in known if name not in names.values()]
        if "path" not in names and _holds_json(batch, names.get("value")):
            is_long = True
        else:
            is_long = _is_long(batch, names, others, columns)
        if not is_long:
            return cls({"doc_id": names["doc_id"]} | dict(columns), is_long=False)
        # A row without a path may say `text` for its value, as in formlab's plainest file.
        rest = {name: name for name in others if name not in (*names, "text")}
        return cls(names | rest, is_long=True)

    def values(
        self, batch: Batch, documents: list[str], whole: Collection[str] = ()
    ) -> pl.DataFrame:
        """The values of some rows, of these documents."""
        further = [name for name in self.names if name not in (*SYNONYMS, "origin")]
        base = pl.DataFrame(
            {"doc_id": texts(documents)}
            | {tables.storable(n): _column(n, batch, self.names[n]) for n in further}
            | {"origin": texts(batch.origins)}
        )
        if self.is_long:
            paths, cells = _long(batch, self.names)
            if set(map(type, cells)) <= {str, type(None)}:
                given = base.with_columns(path=texts(paths).replace("", None), value=texts(cells))
                return _answered(_ordered(given))
            found: Cells = zip(range(len(cells)), paths, cells, repeat(None))
        else:
            found = _wide(batch, self.names)
        found = _leaves_of(found, batch, frozenset(whole), is_long=self.is_long)
        return _answered(_placed(found, base, batch))


def _named(name: str, known: list[str], columns: Mapping[str, str]) -> str | None:
    """The column of that name in any case, else the only one with a synonym of it."""
    lower = {column.lower(): column for column in known if column not in columns.values()}
    found = [lower[synonym] for synonym in SYNONYMS[name] if synonym in lower]
    if name in lower:
        return lower[name]
    if name == "doc_id" and len(found) > 1:
        what = f"the document's column may be any of {', '.join(found)}"
        raise DataBroken(what, remedy=f"--columns doc_id={found[0]}")
    return found[0] if len(found) == 1 else None


def _holds_json(batch: Batch, column: str | None) -> bool:
    """Whether the first text of a column is an answer in JSON, whatever columns stand beside it."""
    cells = (cell for cell in batch.column(column) if isinstance(cell, str) and cell)
    return column is not None and answers.is_json(next(cells, ""))


def _is_long(
    batch: Batch, names: dict[str, str], others: list[str], columns: Mapping[str, str]
) -> bool:
    """Whether each row is a value; a wide table may have fields called name and text as well."""
    fields = [n for n in others if n not in {*RECORD, *DOCUMENT, *tables.RECORDS}]

    def again(name: str) -> bool:
        return len(set(map(as_text, batch.column(names[name])))) < len(batch.origins)

    if "value" in columns or "path" in columns:
        is_long = True
    elif "value" in names and "path" in names:
        both = {names[name].lower() for name in ("path", "value")} == {"path", "value"}
        # A table of values names a document again for its next value, or a field in the next one.
        is_long = both or again("doc_id") or (
            not fields and (len(batch.origins) == 1 or again("path"))
        )  # fmt: skip
    else:
        is_long = "value" in names and not fields
        lacks = "value" if "path" in names else "path"
        if not is_long and fields and {"path", "value"} & names.keys() and again("doc_id"):
            raise _lacking(lacks, fields, [*names.values(), *others], batch)
    if is_long and "value" not in names:
        raise _lacking("value", fields, [*names.values(), *others], batch)
    return is_long


def _lacking(name: str, candidates: list[str], known: list[str], batch: Batch) -> DataBroken:
    """The error for a table of values in which a column is called otherwise."""
    nearest = get_close_matches(name, candidates, 1, 0.3) or candidates or ["…"]
    what = f"no column `{name}` (columns: {', '.join(known[:12])})"
    return DataBroken(what, where=batch.home, remedy=f"--columns {name}={nearest[0]}")


def _checked(seen: pl.DataFrame, documents: list[str], batch: Batch, column: str) -> pl.DataFrame:
    """The documents so far and their places; `DataBroken` if one has two rows of a wide table."""
    new = pl.DataFrame({"doc_id": texts(documents), "origin": texts(batch.origins)})
    seen = pl.concat([seen, new])
    if not (again := seen["doc_id"].is_duplicated()).any():
        return seen
    doc_id = seen["doc_id"].filter(again)[0]
    first, second = seen.filter(pl.col("doc_id") == doc_id)["origin"].head(2)
    remedy, rest = "keep one of them", [name for name in batch.names if name != column]
    if len(rest) == 2:
        remedy += f"; or if each row is a value: --columns path={rest[0]},value={rest[1]}"
    what = f"two rows for document {doc_id!r}, the first at {first}"
    where = str(batch.home / second) if batch.home else second
    raise DataBroken(what, where=where, remedy=remedy)


def texts(values: list[Any]) -> pl.Series:
    """Values as texts of a column; half of a surrogate pair is kept as its escape."""
    if not set(map(type, values)) <= {str, type(None)}:
        values = list(map(as_text, values))
    try:
        return pl.Series(values, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series(list(map(tables.storable, values)), dtype=pl.String)


def _documents(batch: Batch, column: str) -> list[str]:
    cells = batch.column(column)
    names = [cell.strip() if type(cell) is str else (as_text(cell) or "").strip() for cell in cells]
    is_odd = "" in names or not {*map(type, cells)}.isdisjoint((dict, list, tuple))
    for number, (name, cell) in enumerate(zip(names, cells, strict=True)) if is_odd else ():
        if not name or isinstance(cell, dict | list | tuple):
            what = f"{column} is no text but a list or an object" if name else f"no {column}"
            remedy = "a name of the document in every row"
            raise DataBroken(what, where=batch.where(number), remedy=remedy)
    return names


def _column(name: str, batch: Batch, column: str) -> pl.Series:
    """What rows say beside their values, as the dtype of its column; an own column is text."""
    dtype = _SCHEMA.get(name, pl.String) if name in (*RECORD, *DOCUMENT) else pl.String
    cells = batch.column(column)
    if dtype == pl.String and name not in _ALLOWED:
        return texts([cell if cell != "" else None for cell in cells])
    if isinstance(dtype, pl.List):
        return pl.Series([None if cell is None else _several(cell) for cell in cells], dtype=dtype)
    known: dict[Any, Any] = {}
    for number, cell in enumerate(cells):
        text = (as_text(cell) or "").strip()
        if text not in known:
            known[text] = _typed(name, text, dtype, batch, number)
        cells[number] = known[text]
    return pl.Series(cells, dtype=dtype)


def _typed(name: str, text: str, dtype: Any, batch: Batch, number: int) -> Any:
    if not text or text in _ALLOWED.get(name, ()):
        return text or None
    if name in _ALLOWED:
        remedy = f"one of: {', '.join(_ALLOWED[name])}"
        raise DataBroken(f"unknown {name} {text!r}", where=batch.where(number), remedy=remedy)
    value = _number(text)
    if value is None or (dtype == pl.Int64 and not (value.is_integer() and abs(value) < _MOST)):
        what = f"{name} cannot be {text!r:.80}"
        raise DataBroken(what, where=batch.where(number), remedy="a number")
    return int(value) if dtype == pl.Int64 else value


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


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
    return [tables.storable(as_text(item)) for item in found if item not in (None, "")]


# The number of a row, the path of a cell ("" for that of a page), the cell, its confidence.
Cells = Iterator[tuple[int, str, Any, Any]]


def _long(batch: Batch, names: Mapping[str, str]) -> tuple[list[str], list[Any]]:
    """The path and the cell of each row."""
    stated = list(map(as_text, batch.column(names.get("path"))))
    pointers = {path: pointer(path) or "" for path in set(stated)}
    paths, cells = [pointers[path] for path in stated], batch.column(names["value"])
    if "" in pointers.values() and None in cells:
        both = zip(cells, paths, batch.column("text"), strict=True)
        cells = [text if cell is None and not path else cell for cell, path, text in both]
    return paths, cells


def _wide(batch: Batch, names: Mapping[str, str]) -> Cells:
    """The cells of each row; one without path and value for a row without any."""
    beside = {*names.values()} | ({"doc_id"} if batch.documents else set())
    # Of each name its pointer, whether that is of an item of a list, and its confidence's name.
    known: dict[str, tuple[str, bool]] = {}
    for number, row in enumerate(rows_of(batch.cells)):
        count, row = 0, _unwrapped(row, beside)
        sure = {m[1]: n for n in row if (m := _BESIDE.fullmatch(n)) and m[1] in row}
        for name, cell in row.items():
            if name in beside or (sure and name in sure.values()):
                continue
            if name not in known:
                start = _member(name)
                known[name] = start, "*" in pattern(start)
            start, is_item = known[name]
            # A column for the third item is blank where there are two.
            if cell is not None or not is_item:
                yield number, start, cell, row[sure[name]] if name in sure else None
                count += 1
        if not count:
            yield number, "", None, None


def _unwrapped(row: Row, beside: Collection[str]) -> Row:
    """A row without the one object, or text in JSON, that stands around all of its answer."""
    rest = {name: cell for name, cell in row.items() if name not in beside}
    around = [name for name in rest if name.lower() in _AROUND]
    if len(around) != 1 or not rest.keys() <= _CALL | {around[0]}:
        return row
    inner = rest[around[0]]
    if isinstance(inner, list) and len(inner) == 1:
        inner = inner[0]
    kept = {name: cell for name, cell in row.items() if name not in rest}
    if isinstance(inner, dict) and inner:
        return kept | inner
    is_json = isinstance(inner, str) and answers.is_json(inner)
    return kept | {"/": inner} if is_json else row


def _leaves_of(
    cells: Cells, batch: Batch, whole: Collection[str], *, is_long: bool
) -> tuple[list[Any], ...]:
    """The values in cells: numbers of rows, paths, texts, and what objects say beside these."""
    found: list[tuple[int, str | None, str | None, Row | None]] = []
    for number, path, cell, confidence in cells:
        beside = None if confidence is None else {"confidence": confidence}
        if cell is None or type(cell) is str or path in whole:
            found.append((number, path or None, as_text(cell), beside))
            continue
        try:
            below = leaves(cell, path)
            found += [(number, end or None, leaf, said or beside) for end, leaf, said in below]
        except RecursionError:
            what = f"nested deeper than {_DEEPEST} levels"
            raise DataBroken(what, where=f"{batch.where(number)}#{path[:80]}") from None
    # A document of empty lists alone is there.
    bare = set() if is_long else set(range(len(batch.origins))) - {number for number, *_ in found}
    if bare:
        found = sorted([*found, *((n, None, None, None) for n in bare)], key=lambda each: each[0])
    return tuple(map(list, zip(*found, strict=True))) or ([], [], [], [])


def leaves(
    value: Any, path: str = "", depth: int = 0
) -> Iterator[tuple[str, str | None, Row | None]]:
    """The values of an object or list, each at its pointer, and what is said beside it.

    An object of a value and its confidence, page or box is one value.

    Examples
    --------
    >>> list(leaves({"total": {"value": 9, "confidence": 0.5}, "paid": [True]}))
    [('/total', '9', {'confidence': 0.5}), ('/paid/0', 'true', None)]
    """
    if hasattr(value, "tolist"):  # An array in a cell of a frame.
        value = value.tolist()
    if not isinstance(value, dict | list | tuple):
        yield path, tables.storable(as_text(value)), None
        return
    if depth > _DEEPEST:
        raise RecursionError
    if isinstance(value, dict) and (name := _value_of(value)):
        for end, leaf, beside in leaves(value[name], path, depth + 1):
            yield end, leaf, beside or _said(value)
        return
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for step, inner in pairs:
        below = f"{path}/{tables.storable(escape(str(step)))}"
        yield from leaves(inner, below, depth + 1)


def _value_of(members: Row) -> str | None:
    """The member that is the value of an object which says more of it; null if it is none."""
    found = [name for name in _VALUES if name in members]
    rest = members.keys() - set(found)
    is_sure = not rest.isdisjoint(_SAID["confidence"])
    is_value = bool(found) and rest and rest <= _OF_VALUE and not rest <= {"type", "kind"}
    return found[0] if is_value and (is_sure or found[0] == "value") else None


def _said(members: Row) -> Row:
    """The confidence, page and box of a value, as far as they are numbers."""
    stated = {key: members[n] for key, names in _SAID.items() for n in names if n in members}
    beside = {"confidence": stated.get("confidence"), "page": stated.get("page")}
    return beside | dict(zip(tables.BOX, box(stated.get("box")) or (), strict=False))


def box(value: Any) -> tuple[float, float, float, float] | None:
    """The box around corners: of four numbers, of eight, or of points.

    Examples
    --------
    >>> box([1, 2, 3, 4]), box([[1, 2], [5, 2], [5, 9], [1, 9]]), box("x")
    ((1.0, 2.0, 3.0, 4.0), (1.0, 2.0, 5.0, 9.0), None)
    """
    if isinstance(value, list) and any(isinstance(point, list | dict) for point in value):
        points = [list(p.values()) if isinstance(p, dict) else p for p in value]
        value = list(chain.from_iterable(p for p in points if isinstance(p, list)))
    numbers = [_number(part) for part in value] if isinstance(value, list) else []
    if len(numbers) < 4 or len(numbers) % 2 or None in numbers:
        return None
    across, down = numbers[::2], numbers[1::2]
    return min(across), min(down), max(across), max(down)


def _placed(found: tuple[list[Any], ...], base: pl.DataFrame, batch: Batch) -> pl.DataFrame:
    """The values beside what their rows say."""
    numbers, paths, values, said = found
    is_all = len(numbers) == base.height and numbers == list(range(base.height))
    frame = (base if is_all else base[numbers]).with_columns(path=texts(paths), value=texts(values))
    if any(said):
        more = {n: [s and s.get(n) for s in said] for n in PLACE}
        for name, cells in more.items():
            if any(cell is not None for cell in cells):
                cells = [_number(cell) for cell in cells]
                stated = pl.Series(cells, dtype=pl.Float64).cast(tables.RECORDS[name], strict=False)
                known = [pl.col(name)] if name in frame.columns else []
                frame = frame.with_columns(pl.coalesce(*known, pl.lit(stated)).alias(name))
    if batch.documents:
        below = pl.concat_str("origin", pl.lit("#"), "path")
        frame = frame.with_columns(origin=pl.coalesce(below, "origin"))
    return _ordered(frame)


def _ordered(frame: pl.DataFrame) -> pl.DataFrame:
    first = ("doc_id", "path", "value")
    return frame.select(*first, pl.exclude(*first, "origin"), "origin")


def _answered(values: pl.DataFrame) -> pl.DataFrame:
    """The values with the fields of what is JSON as text, and without reasoning.

    A text in JSON that cannot be read stays: gold may be any text, and of answers
    `answers.of_values` says so.
    """
    text, is_page = pl.col("value"), pl.col("path").is_null()
    marked = text.str.contains(answers.MARKED) | (is_page & text.str.contains("{", literal=True))
    found: list[tuple[int, str | None, str | None, str, Row | None]] = []
    for number in values.select(marked.fill_null(False).arg_true()).to_series():
        path, value = values["path"][number], values["value"][number]
        parsed = answers.plain(value) if path else answers.read(value)
        if not isinstance(parsed.value, str | None):
            inner = _unwrapped(parsed.value, ()) if isinstance(parsed.value, dict) else parsed.value
            below = [each for each in leaves(inner) if each[1] is not None]
            below = below or [("", None, None)]
            found += [(number, p or None, leaf, parsed.status, more) for p, leaf, more in below]
        elif parsed.changes and parsed.status != "bad_json":
            found.append((number, path, parsed.value, parsed.status, None))
    if not found:
        return values
    numbers, paths, leaf_values, statuses, said = map(list, zip(*found, strict=True))
    stated = values["status"] if "status" in values.columns else pl.lit(None, pl.String)
    values = values.with_columns(status=stated).with_row_index("number")
    own = Batch([], [], None, documents=False)
    read = _placed((numbers, paths, leaf_values, said), values.drop("path", "value"), own)
    read = read.with_columns(status=pl.coalesce("status", pl.lit(pl.Series(statuses))))
    rest = values.filter(~pl.col("number").is_in(numbers))
    both = pl.concat([rest, read], how="diagonal_relaxed")
    return both.sort("number", maintain_order=True).drop("number")


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
