"""The rows of any table, JSON, folder, archive or frame, as they are written."""

import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import chain, count, islice, zip_longest
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from formlab import files
from formlab.errors import DataBroken, DataMissing
from formlab.readers import ODD, Row, door
from formlab.readers.door import NAMES, Member, ending, kind, members, stem
from formlab.text.answers import WRAPPERS, arguments, by_name, is_flat, is_json, plain_name

FRAME = "frame"  # In place of a file's name.
ROWS, _FILES = 50_000, 1_000  # Rows and files of a batch.
# What a column of documents may be called, and a row of totals.
IDS, _TOTALS = {*NAMES["columns"]["doc_id"]}, {*NAMES["rows"]["total"]}
_ABOVE, _CELLS = 20, 50_000_000  # Rows that a header is sought in; cells that a sheet may span.
_CELL = re.compile(rb'<c r="([A-Z]{1,3})([0-9]{1,7})"')
_BLANK = re.compile(rb'<c [^>]*\bt="e"|(?:</f>|<f[^>]*/>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>')
_BLANKS = "error cells (#N/A, #REF! …) and formulas without a saved value, read as blank"
_TEXTS = msgspec.json.Decoder(dict[str, str])
_parsed = partial(files.parse_json, as_written=True)
Rows = Iterable[tuple[str, Any]]  # Cells or a row by name, after the origin.


@dataclass
class Batch:
    """Columns; rows that have not their names in that order are `odd`. Origins follow `home`."""

    origins: list[str]
    table: dict[str, list[Any]]
    odd: dict[int, Row] = field(default_factory=dict)
    documents: bool = False  # Whether each row is one.
    home: str = ""
    header: str = ""  # Where the names of a table stand.

    @property
    def names(self) -> list[str]:
        """The names of the columns, in the order in which rows have them."""
        return list(dict.fromkeys(chain(self.table, *self.odd.values())))

    def column(self, name: str | None) -> list[Any]:
        """The cells of a column, null where a row has none."""
        return self.table.get(name) or [row.get(name) for row in self.rows()]

    def rows(self, places: Iterable[int] | None = None) -> list[Row]:
        """The rows at those `places`, or all."""
        table, odd = self.table.items(), self.odd
        places = range(len(self.origins)) if places is None else places
        return [odd[n] if n in odd else {name: cells[n] for name, cells in table} for n in places]


def items(source: Any, notes: Counter[str] | None = None) -> Iterator[tuple[str, Row]]:
    """Origin and cells, as written, of each row of whatever it is."""
    for batch in batches(source, Counter() if notes is None else notes):
        yield from zip(batch.origins, batch.rows(), strict=True)


def columns_of(source: Any) -> list[str]:
    """The names of a source's columns, by its first rows."""
    return next((batch.names for batch in batches(source, Counter())), [])


def batches(source: Any, notes: Counter[str]) -> Iterator[Batch]:
    """The rows of a path, an address, a frame or mappings, many at a time."""
    if isinstance(source, Mapping):
        yield from _of_value({str(name): source[name] for name in source}, "object", FRAME)
    elif not isinstance(source, str | Path):
        yield from _of_frame(source, f"{FRAME}, row ")
    # Not Path.exists(), which raises on names that no file can have.
    elif not os.path.exists(path := files.local(source)):
        remedy = files.near(path) or "check the path"
        raise DataMissing("no such file or folder", where=path, remedy=remedy)
    elif not path.is_dir() and kind(path) != "zip":
        yield from _of_file(Member.of(path), notes)
    elif ending((found := door.document_files(path))[0].name) not in door.TABLES:
        yield from _of_documents(found, notes)
    elif len(found) > 1:
        what = f"several tables: {', '.join(member.name for member in found[:5])}"
        raise DataBroken(what, where=path, remedy="one of them, or one JSON file a document")
    else:
        yield from _of_file(found[0], notes)


def _batched(rows: Rows, home: str = "", **known: Any) -> Iterator[Batch]:
    """Objects as batches with the columns of the first one, and what else is `known`."""
    batch = names = None
    for origin, row in rows:
        if not isinstance(row, dict):
            what = f"values cannot be read from {type(row).__name__}"
            remedy = 'an object each, such as {"doc_id": "1", "text": "…"}'
            raise DataBroken(what, where=f"{home}{origin}", remedy=remedy)
        names = tuple(row) if names is None else names
        batch = batch or Batch([], {name: [] for name in names}, home=home, **known)
        if tuple(row) != names:
            batch.odd[len(batch.origins)] = row
        for name, cells in batch.table.items():
            cells.append(row.get(name))
        batch.origins.append(origin)
        if len(batch.origins) == (_FILES if batch.documents else ROWS):
            yield batch
            batch = None
    if batch:
        yield batch


def _of_frame(frame: Any, place: str, home: str = "") -> Iterator[Batch]:
    origins = (f"{place}{number}" for number in count(1))
    if isinstance(frame, pl.LazyFrame | pl.DataFrame):
        # The shorter floats are read as they are written: 88.2, not 88.19999694824219.
        frame = frame.lazy().with_columns(pl.col(pl.Float32).cast(pl.String).cast(float))
        for part in frame.collect_batches(chunk_size=ROWS, maintain_order=True):
            columns = part.to_dict(as_series=False)
            yield Batch(list(islice(origins, part.height)), columns, home=home)
        return
    if type(frame).__module__.partition(".")[0] == "pandas":
        if not frame.columns.is_unique:
            raise DataBroken("two columns of one name", where=FRAME, remedy="rename one")
        frame = frame.reset_index() if frame.index.name not in (None, *frame.columns) else frame
        short = dict.fromkeys(frame.select_dtypes("float32"), str)
        frame = frame.astype(short).astype(dict.fromkeys(short, float))
        # What is missing is NaN, NaT or NA by its dtype; all of them are null here.
        frame = frame.astype(object).where(frame.notna(), None).to_dict("records")
    rows = frame if isinstance(frame, Iterable) else [frame]
    rows = ({str(n): row[n] for n in row} if isinstance(row, Mapping) else row for row in rows)
    yield from _batched(zip(origins, rows, strict=False), home)


def _of_file(member: Member, notes: Counter[str]) -> Iterator[Batch]:
    where, name, *_ = member
    form, home = kind(name, member.read(2**16)), where.removesuffix(name)
    if form == "json":
        with member.text() as stream:
            value = _parsed(stream.read(), where=where)
        yield from _of_value(value, name, stem(name), home)
    elif form in ("delimited", "workbook"):
        rows = _delimited(member) if form == "delimited" else _workbook(member, notes)
        above = list(islice(rows, _ABOVE))
        title, _ = _header([cells for _, cells in above])
        notes["rows above the header, left out as a title"] += title
        for line, _ in above[title : title + 1]:
            yield from _batched(_tabled(chain(above[title:], rows), home, notes), home, header=line)
    elif form == "lines":
        yield from _batched(_lines(member), home)
    elif form == "parquet":
        try:
            source = where if files.is_file(where) else io.BytesIO(member.read())
            yield from _of_frame(pl.scan_parquet(source, glob=False), f"{name}, row ", home)
        except (pl.exceptions.PolarsError, OSError) as error:
            what = f"not a readable Parquet file: {str(error).splitlines()[0]}"
            raise DataBroken(what, where=where) from error
    else:
        what = f"values cannot be read from {ending(name) or 'this file'}"
        remedy = f"a folder of JSON files, or one of: {', '.join(door.FORMS)}"
        raise DataBroken(what, where=where, remedy=remedy)


def _lines(member: Member) -> Rows:
    with member.text() as stream:
        lines = (numbered for numbered in enumerate(stream, start=1) if not numbered[1].isspace())
        for number, line in lines:
            try:
                row = _TEXTS.decode(line)
            except ValueError:
                row = None
            # Texts have two quotation marks each: with more of them a name may be there twice.
            if row is None or line.count('"') != 4 * len(row):
                try:
                    row = files.AS_WRITTEN.decode(line)
                except (ValueError, RecursionError):
                    # Its error names the line.
                    row = _parsed(line.rstrip(), where=member.where, first_line=number)
            yield f"{member.name}:{number}", row


def _of_documents(found: Sequence[Member], notes: Counter[str]) -> Iterator[Batch]:
    names = [stem(member.name) for member in found]
    if len(found) > 1 == len(set(names)):
        # Files of one name in a folder each: that is called like the document.
        names = [Path(member.name).parent.as_posix() for member in found]
    elif len(set(names)) < len(found):
        names = [Path(member.name).with_name(stem(member.name)).as_posix() for member in found]
    named = zip(names, found, strict=True)
    rows = ((member.name, {"doc_id": name} | _document(member, notes)) for name, member in named)
    return _batched(rows, found[0].where.removesuffix(found[0].name), documents=True)


def _document(member: Member, notes: Counter[str]) -> Row:
    """The members of a document's file; at ``/`` a text, or why it cannot be read."""
    try:
        with member.text() as stream:
            text = stream.read()
        value = files.AS_WRITTEN.decode(text)
    except (json.JSONDecodeError, RecursionError):
        return {"/": text}
    except (DataBroken, ValueError) as error:
        problem = f"cannot be read: {getattr(error, 'what', error)}"
        notes[f"files that {problem}"] += 1
        return {"/": problem}
    if not isinstance(value, dict | list) or not is_flat(value) or arguments(value) is not None:
        return {"/": text}
    value = by_name(value)
    named = value if isinstance(value, dict) else {f"/{n}": item for n, item in enumerate(value)}
    return named or {"/": "{}"}  # An answer that holds nothing, as in any other file.


def _of_value(value: Any, name: str, document: str, home: str = "") -> Iterator[Batch]:
    """One JSON value: rows, a document for each key (of several, if they are lists), or one."""
    value, below = _inside(value)
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return _batched(((f"{name}#/{below}{n}", row) for n, row in enumerate(value)), home)
    if not isinstance(value, dict) or not value:
        what = "a list of objects or an object of documents is expected"
        raise DataBroken(what, where=home + name, remedy='{"scan_1": {"total": "9.00"}}')
    named = value
    if len(value) > 1 and all(isinstance(inner, list) for inner in value.values()):
        named = {key: by_name(inner) for key, inner in value.items()}
    elif len(value) > 1 and all(isinstance(of, str) and is_json(of) for of in value.values()):
        named = {key: {"/": text} for key, text in value.items()}
    rows = [(name, {"doc_id": document} | value)]
    if all(isinstance(inner, dict) for inner in named.values()):
        rows = ((f"{name}#/{below}{key}", {"doc_id": key} | row) for key, row in named.items())
    return _batched(rows, home, documents=True)


def _inside(value: Any, below: str = "") -> tuple[Any, str]:
    """The rows or documents within what stands around them, if anything does, and their place."""
    known = value if isinstance(value, dict) else ()
    around = [key for key in known if key.lower() in WRAPPERS or len(known) == 1]
    if len(around) != 1:
        return value, below
    inner, place = _inside(value[name := around[0]], f"{below}{name}/")
    is_wrapper, is_named = name.lower() in WRAPPERS, name.lower() == "documents"
    rows = list(inner.values()) if isinstance(inner, dict) else inner
    if not rows or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return value, below
    usual = IDS if is_wrapper else {"docid"}
    are_documents = all(not usual.isdisjoint(map(plain_name, row)) for row in rows)
    if isinstance(inner, dict):
        # Anything but documents may be the only field with parts.
        are_documents = is_named or (is_wrapper and len(rows) > 1)
    return (inner, place) if are_documents else (value, below)


def _header(rows: Sequence[Sequence[Any]]) -> tuple[int, set[str]]:
    """How many rows stand above the header as a title, and the names in it."""
    words = [{plain_name(str(cell).strip()) for cell in cells} - {""} for cells in rows] or [set()]
    title = next((n for n, names in enumerate(words) if len(names) > 1), 0)
    if len(words[title]) == 2 and words[title].isdisjoint(IDS):
        # Two cells may stand above a header that names more, such as the day of an export.
        title = next((n for n, names in enumerate(words) if len(names) > 2 and names & IDS), title)
    return title, words[title]


def _tabled(rows: Iterator[tuple[str, Any]], home: str, notes: Counter[str]) -> Rows:
    """Rows by the names in their header, which is the first, without rows of sums."""
    place, header = next(rows)
    # As pandas calls a column without a name.
    names = [re.sub("^Unnamed: [0-9]+$", "", str(cell).strip()) for cell in header]
    notes["columns without a name, left out"] += names.count("")
    if twice := [name for name in names if name and names.count(name) > 1]:
        what = f"two columns are called {twice[0]!r}"
        remedy = "one name in each column; for merged headings such as Applicant/Name"
        raise DataBroken(what, where=home + place, remedy=remedy)
    width, document = len(names), next((n for n in names if plain_name(n) in IDS), None)
    for origin, cells in rows:
        if len(cells) > width and {*cells[width:]} != {""}:
            what = f"{len(cells)} cells, and {width} in the header"
            remedy = "name each column, and quote cells with a delimiter"
            raise DataBroken(what, where=home + origin, remedy=remedy)
        notes["rows shorter than their header"] += len(cells) < width
        row = dict(zip_longest(names, cells, fillvalue=""))
        row.pop("", None)
        # One that is filled in all through may be a document of that name.
        if "" in row.values():
            if plain_name(str(row.get(document))) in _TOTALS:
                notes["rows of totals, left out"] += 1
                continue
            row = {name: None if cell == "" else cell for name, cell in row.items()}
        yield origin, row


def _delimited(member: Member) -> Rows:
    """The rows of delimited text with anything in them; an origin has the first line of each."""

    def fit(delimiter: str) -> tuple[bool, bool, float, int]:
        """Whether there is a header, with documents; the share of rows as wide; the width."""
        rows = [cells for cells in csv.reader(above, delimiter=delimiter) if any(cells)] or [[]]
        title, names = _header(rows)
        width, *widths = map(len, rows[title:])
        return width > 1, bool(names & IDS), widths.count(width) / max(len(widths), 1), width

    with member.text() as stream:
        # Spreadsheets of many countries write semicolons; a title may stand above the header.
        above = list(islice(stream, _ABOVE))
        delimiter = "\t" if ending(member.name) in (".tsv", ".tab") else max(",;\t|", key=fit)
        rows_of = partial(csv.reader, delimiter=delimiter)
        is_spaced = any(cell.startswith(' "') for cells in rows_of(above) for cell in cells)
        line, reader = 1, rows_of(chain(above, stream), skipinitialspace=is_spaced, strict=True)
        try:
            for cells in reader:
                if any(cells):
                    yield f"{member.name}:{line}", cells
                line = 1 + reader.line_num
        except csv.Error as error:
            where, remedy = f"{member.where}:{line}", "quote what holds a quotation mark"
            raise DataBroken(f"not a table: {error}", where=where, remedy=remedy) from error


def _workbook(member: Member, notes: Counter[str]) -> Rows:
    """The rows with anything in them of the sheet with the table."""
    from python_calamine import CalamineError, CalamineWorkbook, SheetVisibleEnum

    stream = io.BytesIO(member.read())
    # The older kind is no archive.
    for part in () if stream.read(2) == b"\xd0\xcf" else members(member.where, stream).values():
        data = part.read()
        if not part.name.startswith(("xl/worksheets/", "content.xml")):
            continue
        notes[_BLANKS] += len(_BLANK.findall(data))
        # A cell far from the others is enough to fill memory.
        cells = _CELL.findall(data)
        last = max((name.rjust(3, b"@") for name, _ in cells), default=b"")
        across = reduce(lambda n, letter: n * 26 + letter - 64, last, 0)
        if (down := max((int(row) for _, row in cells), default=0)) * across > _CELLS:
            what = f"cells in {down} rows and {across} columns"
            raise DataBroken(what, where=part.where, remedy="delete the cells far from the table")
    stream.seek(0)
    try:
        book, shown = CalamineWorkbook.from_filelike(stream), SheetVisibleEnum.Visible
        # A sheet that somebody has hidden is read where nothing else is there.
        named = sorted(book.sheets_metadata, key=lambda sheet: sheet.visible != shown)
        sheets = [book.get_sheet_by_name(sheet.name) for sheet in named]
        full = [sheet for sheet in sheets if sheet.start is not None] or sheets
        notes["sheets left out: only one is read"] += len(full) - 1
        # A cover has a name or two.
        named = ((sheet, _header(sheet.to_python(nrows=_ABOVE))[1]) for sheet in full)
        sheet = next((sheet for sheet, of in named if of & IDS or len(of) > 2), full[0])
        rows, merged = sheet.to_python(skip_empty_area=False), sheet.merged_cell_ranges or ()
    except (CalamineError, *ODD) as error:
        raise DataBroken(f"not a readable workbook: {error}", where=member.where) from error
    for (top, left), (bottom, right) in merged:
        for cells in rows[top : bottom + 1]:
            cells[left : right + 1] = [rows[top][left]] * len(cells[left : right + 1])
    for number, cells in enumerate(rows, start=1):
        if any(cell != "" for cell in cells):
            yield f"{member.name}, row {number}", cells
