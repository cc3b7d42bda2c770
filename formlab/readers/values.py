"""Values, of gold or of answers, as one long table, whatever they are kept in."""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files, tables
from formlab.benchmarks.corpus import around, number
from formlab.errors import DataBroken, UnknownName
from formlab.readers import Row
from formlab.readers.door import LOOKED_AT, NAMES, PATTERNS, as_text
from formlab.readers.sources import Batch, batches
from formlab.text import answers
from formlab.trees import DOTTED, escape, leaves, pattern, pointer

RECORD, DOCUMENT = NAMES["beside"]["record"], NAMES["beside"]["document"]
_DTYPES = {n: (tables.DOCUMENTS | tables.RECORDS)[n] for n in (*RECORD, *DOCUMENT)}
_ALLOWED = {"status": tables.STATUSES, "task": tables.TASKS}
_COLUMNS, _KEYS = NAMES["columns"], {"path", "value"}
_CONFIDENCE, _MARKS = PATTERNS["cells"]
_PLAIN = {type(None), int, float, bool, str}
_ENOUGH = 200  # Values of a field that are read to infer its type.
_SAID = ("confidence", "page", "box")
# Writes a table to a file that is read again in a moment.
store = partial(pl.DataFrame.write_parquet, compression="lz4", statistics=False, mkdir=True)
_BARE = dict.fromkeys(("status", "kind", "task"), pl.String)  # Columns of all rows of values.


def pieces(source: Any, columns: Mapping[str, str], notes: Counter[str]) -> Iterator[pl.DataFrame]:
    """The values of a source, some at a time, lists as they are.

    They are a long table: doc_id, path, value, what rows say beside it, columns of the user's own,
    origin. Values are text as it is written, such as "007"; an empty cell is null, and so is the
    path of a page's text and of the one row of a document without values. `notes` count what is
    odd. `DataMissing`, `DataBroken` or `UnknownName` if the source cannot be read.
    """
    layout, first_rows = None, dict[str, str]()
    requests = {*_COLUMNS["doc_id"]} - {"id"}
    for batch in batches(source, notes):
        named = {*columns.values(), *(n for n in batch.names if answers.plain_name(n) in requests)}
        place = "/" if batch.documents else "response"
        first = batch.rows(range(len(batch.origins))[:LOOKED_AT])
        if first != [answers.replaced(row, named, place) for row in first]:
            rows = (answers.replaced(row, named, place) for row in batch.rows())
            batch.table, batch.odd = {}, dict(enumerate(rows))
        names, is_long = layout = layout or layout_of(batch, columns)
        yield _values_of(batch, names, None if is_long else first_rows)
    if layout is None:
        where = source if isinstance(source, str) or hasattr(source, "name") else None
        raise DataBroken("no rows", where=where, remedy="a row for each value, below a header")


def layout_of(batch: Batch, columns: Mapping[str, str]) -> tuple[dict[str, str], bool]:
    """A table's own name of each column that formlab knows, and whether each row is a value."""
    known, names = batch.names, dict(columns)
    where = batch.home + (batch.header or batch.origins[0])
    for name, column in columns.items():
        if column not in known:
            raise UnknownName.of("column", column, known)
        # A wide table's own column that is no field is named as itself.
        if name not in (usual := [*_COLUMNS, *RECORD, *DOCUMENT, "system", column]):
            raise UnknownName.of("name for a column", name, usual)
    if batch.documents:
        return {"doc_id": "doc_id", **columns}, False
    free = {answers.plain_name(n): n for n in known if n not in columns.values()}
    for name in _COLUMNS.keys() - columns:
        usual, further = ([n for n in NAMES[t][name] if n in free] for t in ("columns", "further"))
        if len(usual := usual or further) == 1 or answers.plain_name(name) in usual:
            names[name] = free[usual[0]]
        elif name == "doc_id":
            several = [free[column] for column in usual]
            what = "several columns may name" if several else "no column names"
            what += f" the document, among {', '.join(several or known)[:400]}"
            row = "a row of names above, with doc_id, or " * (not several and bool(batch.header))
            raise DataBroken(what, where=where, remedy=row + _naming(name, several))
    fields = {*known} - {*names.values(), *_DTYPES, *tables.RECORDS}
    is_long = bool(_KEYS & columns.keys())
    if not is_long and names.keys() >= _KEYS:
        # A wide table may have fields called name and text among others.
        is_long = not fields or {names[name].lower() for name in _KEYS} == _KEYS
        is_long |= len({*map(as_text, batch.column(names["doc_id"]))}) < len(batch.origins)
    elif not is_long and "value" in names:
        # Texts of pages; or answers as JSON or behind reasoning, beside columns of the user's own.
        said = [text for text in batch.column(names["value"])[:100] if text and type(text) is str]
        is_long = not fields or any(answers.is_json(t) or answers.plain(t).changes for t in said)
    if is_long and "value" not in names:
        remedy = _naming("value", sorted(fields))
        raise DataBroken("no column for the values", where=where, remedy=remedy)
    return names if is_long else {"doc_id": names["doc_id"], **columns}, is_long


def _naming(name: str, columns: Sequence[str]) -> str:
    """The option that names what a table lacks: the column that is called most like it."""
    return f"--columns {name}={[*get_close_matches(name, columns, 1, 0.3), *columns, '…'][0]:.40}"


def _values_of(batch: Batch, names: Mapping[str, str], first_rows: Row | None) -> pl.DataFrame:
    """The values of a batch; where a row is a document `first_rows` has the origins so far."""
    beside = {name: column for name, column in names.items() if name not in _COLUMNS}
    if is_long := first_rows is None:
        # A row without a path may say `text` for its value, as in formlab's plainest file.
        used = {*names, *names.values(), "text", "origin"}
        beside |= {name: name for name in batch.names if name not in used}
    plain, places = pl.DataFrame(), range(len(batch.origins))
    if is_long and not beside:
        plain, places = _plain(batch, names)
    none, found = dict.fromkeys(("doc_id", "path", "value", *beside)), list[Row]()
    for at, row in zip(places, batch.rows(places), strict=True):
        where, count = batch.home + (origin := batch.origins[at]), len(found)
        doc_id = (as_text(row.get(names["doc_id"])) or "").strip()
        if not doc_id:
            raise DataBroken(f"no {names['doc_id']}", where=where, remedy="a name in every row")
        if not is_long and (first := first_rows.setdefault(doc_id, origin)) != origin:
            what = f"document {doc_id!r} is given twice, first at {first}"
            remedy = "keep one; if rows are line items: columns such as items/0/name"
            if len(lacking := _KEYS.difference(batch.names)) == 1:
                rest = [name for name in batch.names if name not in (names["doc_id"], *_KEYS)]
                remedy = f"keep one; if each is a value: {_naming(*lacking, rest)}"
            raise DataBroken(what, where=where, remedy=remedy)
        stated = ((name, _stated(name, row.get(column), where)) for name, column in beside.items())
        said = {name: cell for name, cell in stated if cell is not None}
        base = none | {"doc_id": doc_id, "origin": origin, "/at": at}
        field, cell = pointer(as_text(row.get(names.get("path")))), row.get(names.get("value"))
        # A page may have its text beside the values of fields.
        alone = field or "", row.get("text") if cell is None and not field else cell
        for place, cell in [alone] if is_long else _wide(row, names):
            try:
                for path, value, more in values_in(cell, place):
                    source = f"{origin}#{path}" if batch.documents and place else origin
                    of_path = {"path": path, "value": value, "origin": source}
                    found.append(base | of_path | more | said)
            except RecursionError as error:
                raise DataBroken(str(error), where=f"{where}#{place[:80]}") from None
        if len(found) == count:
            found.append(base | said)
    if found:
        others = as_frame(tables.columns_of(found, {}), _DTYPES | {"/at": pl.UInt32})
        plain = pl.concat([plain, others], how="diagonal").sort("/at", maintain_order=True)
    return plain.drop("/at").with_columns(pl.col("path").replace("", None))


def _plain(batch: Batch, names: Mapping[str, str]) -> tuple[pl.DataFrame, list[int]]:
    """The rows of plain texts alone as values, each with its place `at`; the places of others."""
    columns = {name: batch.column(names.get(name)) for name in ("doc_id", "path", "value")}
    columns["value"] = [cell if type(cell) in _PLAIN else None for cell in columns["value"]]
    rows = as_frame(columns | {"origin": batch.origins}, {}).with_row_index("/at")
    path = by_text(rows["path"], lambda path: pointer(path) or "")
    rows = rows.with_columns(by_text(rows["doc_id"], str.strip), path)
    # Comparison with a null is null, and so is no plain row.
    is_plain = (pl.col("doc_id") != "") & ~pl.col("value").str.contains(_MARKS.pattern)
    others = rows.select(~(is_plain & (pl.col("path") >= "")).fill_null(value=False)).to_series()
    return rows.filter(~others), others.arg_true().to_list()


def _stated(name: str, cell: Any, where: str) -> Any:
    """What a row says beside its value, as its column holds it; an own column is text."""
    dtype, allowed, text = _DTYPES.get(name, pl.String), _ALLOWED.get(name), as_text(cell)
    if isinstance(dtype, pl.List):
        # Further right values: a list, a JSON list as text, or texts between `|`.
        with suppress(ValueError, RecursionError, TypeError):
            cell = parsed if isinstance(parsed := json.loads(cell), list) else cell
        several = leaves(cell.split("|") if isinstance(cell, str) else cell)
        return [files.storable(as_text(i)) for _, i in several if i not in (None, "")] or None
    if dtype == pl.String and not allowed:
        return files.storable(text) or None
    if not (text := (text or "").strip()):
        return None
    stated = number(text) if not allowed else text if text in allowed else None
    if stated is None or (dtype == pl.Int64 and stated % 1):
        remedy = f"one of: {', '.join(allowed)}" if allowed else "a number"
        raise DataBroken(f"{name} cannot be {text!r:.80}", where=where, remedy=remedy)
    return stated


def _wide(row: Row, names: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Paths and values of a row that is a document; with how sure one is, if a column says so."""
    beside = {"doc_id", *names.values()}
    row = answers.unwrapped(row, beside)
    members = {name: _member(name) for name in row if name not in beside}
    known = {name.removesuffix(".value") for name in row}
    sure = {subject: row[name] for name, (_, subject) in members.items() if subject in known}
    for name, (path, subject) in members.items():
        cell, stated = row[name], name.removesuffix(".value")
        # A column for the third item is blank where there are two.
        if subject in known or (cell is None and "*" in pattern(path)):
            continue
        yield path, {"value": cell, "confidence": sure[stated]} if stated in sure else cell


@lru_cache(maxsize=2**16)
def _member(name: str) -> tuple[str, str | None]:
    """The pointer of a column, and the column of which it is the confidence."""
    is_pointer = name.startswith("/") or any(step.isdecimal() for step in name.split("/")[1:])
    subject = _CONFIDENCE.fullmatch(name)
    path = (pointer(name) or "") if is_pointer or DOTTED.fullmatch(name) else f"/{escape(name)}"
    return path, subject and (subject[1] or subject[2])


def values_in(cell: Any, path: str) -> Iterator[tuple[str, Any, Row]]:
    """The values in a cell: the path of each, empty for a page's text, and what is said of it."""
    if path and _is_marked(cell):
        # An object or its list as text in a cell, as tables have line items.
        cell = answers.stated(cell)
    elif isinstance(cell, dict) and not path:
        cell = answers.unwrapped(cell)
    for place, leaf, said in values_of(cell, path, {}):
        if not _is_marked(leaf):
            yield place, leaf, said
            continue
        # A text without a model's reasoning, or the fields of JSON in it; broken JSON stays.
        parsed = answers.plain(leaf) if place else answers.read(leaf)
        status = {"status": parsed.status}
        if isinstance(parsed.value, str | None):
            value = leaf if parsed.status == "bad_json" else parsed.value
            yield (place, value, said | status) if parsed.changes else (place, leaf, said)
        elif (form := answers.form_in(parsed.value)) is None:
            yield place, leaf, {"status": "bad_json"}
        else:
            below = [found for found in values_of(form, "", {}) if as_text(found[1]) is not None]
            yield from ((*found, stated | status) for *found, stated in below or [("", None, {})])


def _is_marked(cell: Any) -> bool:
    """Whether a cell is a text that may hold JSON, or a model's reasoning."""
    return isinstance(cell, str) and _MARKS.search(cell) is not None


def values_of(cell: Any, path: str, said: Row) -> Iterator[tuple[str, Any, Row]]:
    """The values in a cell; an object of a value and its confidence, page or box is one value."""
    for place, leaf in leaves(cell, path, answers.value_in):
        if not isinstance(leaf, dict):
            yield place, leaf, said
            continue
        members = {answers.plain_name(name): member for name, member in leaf.items()}
        stated = {name: members[n] for name in _SAID for n in answers.MEMBERS[name] if n in members}
        corners = around(stated.pop("box", ())) or ()  # Four numbers, eight, or points.
        stated = {name: number(text) for name, text in stated.items()}
        stated |= zip(tables.BOX, corners, strict=False)
        yield from values_of(leaf[answers.value_in(leaf)], place, stated)


class Stored:
    """Values in files of `folder`; their documents in order, systems and paths of `lists`."""

    def __init__(self, read: Iterator[Any], folder: Path, *, sampled: bool = False) -> None:
        self.folder, self.samples, documents = folder, None, []
        self.none, self.systems, self.lists = pl.DataFrame(schema=_BARE), set[str](), list[str]()
        for turn, values in enumerate(read):
            store(values, folder / "read" / f"{turn:06}.parquet")
            self.none = pl.concat([self.none, values.clear()], how="diagonal")
            self.samples = samples(values, self.samples) if sampled else None
            if "system" in values.columns:
                self.systems |= {*values["system"].drop_nulls()}
            documents.append(values.group_by("doc_id", maintain_order=True).agg(n=pl.count("path")))
        counts = pl.concat(documents).group_by("doc_id", maintain_order=True)
        self.documents = counts.agg(pl.sum("n"))

    def cut(self, places: pl.DataFrame) -> list[str]:
        """Move values to the `batch` of their documents, by their `name`; all their paths."""
        # A user's own columns may be called name and batch, and no column begins with a slash.
        places = places.select("doc_id", pl.col("name", "batch").name.prefix("/"))
        for turn, file in enumerate(sorted(self.folder.glob("read/*"))):
            values = pl.read_parquet(file, glob=False)
            placed = values.join(places, on="doc_id", how="left", maintain_order="left")
            placed = placed.with_columns(doc_id="/name").drop("/name")
            parts = placed.partition_by("/batch", as_dict=True, include_key=False)
            for (place,), part in parts.items():
                store(part, self.folder / f"{place}" / f"{turn:06}.parquet")
            file.unlink()
        most = Counter[str]()  # How often a path comes in one document.
        for place in places["/batch"].unique().sort():
            rows = self.rows(place, columns=["doc_id", "path", "kind"]).drop_nulls("path")
            # What is read where it stands on the page has paths of its own.
            rows = rows.filter(~pl.col("kind").is_in(["word", "line"]).fill_null(value=False))
            counts = rows.group_by("doc_id", "path").len().group_by("path").agg(pl.max("len"))
            most |= Counter(dict(counts.iter_rows()))
        # A path is a list if it comes again, or has a first item and is itself no item.
        lists = {path for path, count in most.items() if count > 1}
        lists |= {p for p in most if f"{p}/0" in most and not re.search("/[0-9]+$", p)}
        self.lists = sorted(lists)
        return [f"{p}/{n}" if p in lists else p for p in most for n in range(most[p])]

    def rows(self, number: int, lists: Collection[str] = (), columns: Any = "*") -> pl.DataFrame:
        """Some columns of a batch, the values at the paths of `lists` as their items."""
        paths = sorted(self.folder.glob(f"{number}/*"))
        parts = (pl.scan_parquet(path, glob=False) for path in paths)
        found = pl.concat([self.none.lazy(), *parts], how="diagonal").select(columns).collect()
        item = pl.format("{}/{}", "path", pl.int_range(pl.len()).over("doc_id", "path"))
        path = pl.when(pl.col("path").is_in(sorted(lists))).then(item).otherwise("path")
        return found.with_columns(path=path) if lists else found


def samples(values: pl.DataFrame, before: pl.DataFrame | None = None) -> pl.DataFrame:
    """The first different values at each path, as many as types need, after those `before`."""
    values = values.select("path", "value").filter(pl.col("path").is_not_null())
    values = (values if before is None else pl.concat([before, values])).unique(maintain_order=True)
    return values.filter(pl.col("value").is_not_null().cum_sum().over("path") <= _ENOUGH)


def by_text(texts: pl.Series, made: Callable[[str], str | None]) -> pl.Expr:
    """What is made of each text of a column, once of those that are the same; null of null."""
    known = texts.drop_nulls().unique()
    all_made = [*map(made, known)]
    return pl.col(texts.name).replace_strict(known, all_made, default=None, return_dtype=pl.String)


def as_frame(columns: Mapping[str, Sequence[Any]], dtypes: Mapping[str, Any]) -> pl.DataFrame:
    """Columns as a table, text but for `dtypes`; half of a surrogate pair is kept as its escape."""
    made = {}
    for name, cells in columns.items():
        column, dtype = files.storable(name), dtypes.get(name, pl.String)
        try:
            made[column] = pl.Series(cells, dtype=dtype, strict=dtype == pl.String)
        except (TypeError, ValueError):  # Not all are texts, or one has half a pair.
            texts = [files.storable(as_text(cell)) for cell in cells]
            made[column] = pl.Series(texts, dtype=dtype, strict=dtype.is_nested())
    return pl.DataFrame(made)
