"""The rows of any table, JSON, folder, archive or frame, as they are written."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files
from formlab.errors import DataBroken, DataMissing
from formlab.files import local
from formlab.readers.door import FORMS, TABLES, Member, ending, is_json, kind, members, stem
from formlab.readers.rows import Batch, Row
from formlab.text.answers import arguments, is_flat

# What stands for a name where there is no file.
FRAME = "frame"
# Names under which services list what they have read, and names of a document.
WRAPPERS = ("predictions", "documents", "results", "result", "data", "response", "answers")
_IDS = {"doc_id", "id", "document", "document_id", "file", "filename", "file_name", "image"}
# How many rows, and files of documents, are read at once; how many rows may be above a header.
ROWS, _FILES, _ABOVE = 50_000, 1_000, 20
# A cell by its column and row; and how many may lie between the first and the last.
_CELL = re.compile(rb'<c r="([A-Z]{1,3})([0-9]{1,7})"')
_CELLS = 50_000_000
# What is read as blank: errors, and formulas that a library wrote without their values.
_BLANK = {
    "error cells (#N/A, #REF! …), read as blank": re.compile(
        rb'<c [^>]*\bt="e"|<table:table-cell[^>]*\bcalcext:value-type="error"'
    ),
    "formulas without a saved value, read as blank": re.compile(
        rb"(?:</f>|<f[^>]*/>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>"
    ),
}


def items(source: Any, notes: Counter[str] | None = None) -> Iterator[tuple[str, Row]]:
    """Origin and cells, as written, of each row of whatever it is."""
    for batch in batches(source, Counter() if notes is None else notes):
        yield from zip(batch.origins, batch.rows, strict=True)


def batches(source: Any, notes: Counter[str]) -> Iterator[Batch]:
    """The rows of a path, an address, a frame or mappings, many at a time."""
    if isinstance(source, str | Path):
        yield from _of_path(local(source), notes)
    elif isinstance(source, Mapping):
        yield _of_value({str(name): member for name, member in source.items()}, "object", FRAME, "")
    elif isinstance(source, pl.LazyFrame | pl.DataFrame):
        rows = source.lazy().collect().iter_rows(named=True)
        yield from _of_rows(enumerate(rows, start=1), f"{FRAME}, row ")
    else:
        if type(source).__module__.partition(".")[0] == "pandas":
            if not source.columns.is_unique:
                twice = source.columns[source.columns.duplicated()][0]
                raise DataBroken(f"two columns are called {twice!r}", remedy="rename one")
            if source.index.name not in (None, *source.columns):
                source = source.reset_index()
            # What is missing is NaN, NaT or NA by its dtype; all of them are null here.
            source = source.astype(object).where(source.notna(), None).to_dict("records")
        rows = list(source) if isinstance(source, Iterable) else [None]
        if not all(isinstance(row, Mapping) for row in rows):
            what = f"values cannot be read from {type(source).__name__}"
            raise DataBroken(what, remedy="a path, a polars or pandas frame, or a list of dicts")
        named = ({str(name): cell for name, cell in row.items()} for row in rows)
        yield from _of_rows(enumerate(named, start=1), f"{FRAME}, row ")


def columns_of(source: Any) -> list[str]:
    """The names of a source's columns, by its first rows."""
    return next((batch.names for batch in batches(source, Counter())), [])


def document_files(path: Path) -> list[Member]:
    """The files of a folder or archive with a document each: JSON, else texts; else its tables."""
    if path.is_dir():
        paths = (file for file in sorted(path.rglob("*")) if file.is_file())
        named = [Member.of(file, file.relative_to(path).as_posix()) for file in paths]
    else:
        named = list(members(path).values())
    named = [m for m in named if not any(s[:1] in ("", ".") for s in m.name.split("/"))]
    for endings in ((".json",), (".txt",), TABLES):
        if found := [member for member in named if ending(member.name) in endings]:
            return found
    remedy = "one JSON file a document, or a table"
    raise DataBroken("no JSON files in this folder", where=path, remedy=remedy)


def _of_rows(numbered: Iterable[tuple[int, Row]], place: str) -> Iterator[Batch]:
    """Rows with their numbers, in batches."""
    numbered = iter(numbered)
    while some := list(islice(numbered, ROWS)):
        yield Batch([f"{place}{number}" for number, _ in some], [row for _, row in some])


def _of_path(path: Path, notes: Counter[str]) -> Iterator[Batch]:
    # Not Path.exists(), which raises on names that no file can have.
    if not os.path.exists(path):
        raise DataMissing("no such file or folder", where=path, remedy="check the path")
    is_file = not path.is_dir() and kind(path) != "zip"
    found = [Member.of(path)] if is_file else document_files(path)
    if is_file or ending(found[0].name) in TABLES:
        if len(found) > 1:
            what = f"several tables: {', '.join(member.name for member in found[:5])}"
            raise DataBroken(what, where=path, remedy="one of them, or one JSON file a document")
        home = found[0].where.removesuffix(found[0].name)
        yield from (batch._replace(home=home) for batch in _of_file(found[0], notes))
        return
    names = [stem(member.name) for member in found]
    if path.is_dir() and ending(found[0].name) == ".json":
        texts = sum(stem(file) not in names for file in path.rglob("*.txt"))
        notes["files of text beside those of JSON, left out"] += texts
    if len(set(names)) < len(found):
        names = [Path(member.name).with_name(stem(member.name)).as_posix() for member in found]
    documents = zip(names, found, strict=True)
    while some := list(islice(documents, _FILES)):
        rows = [{"doc_id": name} | _document(member, notes) for name, member in some]
        yield Batch([member.name for _, member in some], rows, documents=True, home=f"{path}/")


def _of_file(member: Member, notes: Counter[str]) -> Iterator[Batch]:
    form = kind(member.name, member.head())
    if form == "workbook":
        yield from _table(_workbook(member, notes), member, ", row ", notes)
    elif form == "parquet":
        try:
            source = member.where if files.is_file(member.where) else io.BytesIO(member.read())
            frames = pl.scan_parquet(source, glob=False).collect_batches(maintain_order=True)
            rows = chain.from_iterable(frame.iter_rows(named=True) for frame in frames)
            yield from _of_rows(enumerate(rows, start=1), f"{member.name}, row ")
        except (pl.exceptions.PolarsError, OSError) as error:
            what = f"not a readable Parquet file: {str(error).splitlines()[0]}"
            raise DataBroken(what, where=member.where) from error
    elif form == "json":
        with member.text() as stream:
            value = _parsed(stream.read(), member.where)
        yield _of_value(value, member.name, stem(member.name), member.where)
    elif form == "lines":
        with member.text() as stream:
            yield from _of_rows(_lines(stream, member.where), f"{member.name}:")
    elif form == "delimited":
        with member.text() as stream:
            yield from _table(_delimited(stream, member), member, ":", notes)
    else:
        what = f"values cannot be read from {ending(member.name) or 'this file'}"
        remedy = f"a folder of JSON files, or one of: {', '.join(FORMS)}"
        raise DataBroken(what, where=member.where, remedy=remedy)


def _parsed(text: str, where: str, line: int = 1) -> Any:
    return files.parse_json(text, where=where, first_line=line, as_written=True, once=True)


def _document(member: Member, notes: Counter[str]) -> Row:
    """The members of a document's file; at ``/`` a text, or why it cannot be read."""
    try:
        with member.text() as stream:
            text = stream.read()
        if not is_json(text) or arguments(json.loads(text, parse_int=str)) is not None:
            return {"/": text}
        value = _parsed(text, member.where)
        if not isinstance(value, dict | list):
            raise DataBroken(f"a JSON object is expected, this is {type(value).__name__}")
        if not is_flat(value):
            raise DataBroken("nested too deep for a form")
    except DataBroken as error:
        notes[f"files that cannot be read: {error.what}"] += 1
        return {"/": f"cannot be read: {error.what}"}
    if isinstance(value, list) and all(isinstance(v, dict) and "value" in v for v in value):
        value = {"fields": value}
    return value if isinstance(value, dict) else {f"/{n}": item for n, item in enumerate(value)}


def _of_value(value: Any, name: str, document: str, where: str, below: str = "") -> Batch:
    """One JSON value: a list of rows, a document for each key, or one document."""
    known = value if isinstance(value, dict) else ()
    inside = [key for key in known if key.lower() in WRAPPERS or len(known) == 1]
    if len(inside) == 1:
        place, inner = f"{below}{inside[0]}/", value[inside[0]]
        if isinstance(inner, dict) and len(inner) == 1 and {*inner} <= {*WRAPPERS}:
            return _of_value(inner, name, document, where, place)
        if _are_documents(inside[0].lower(), inner):
            below, value = place, inner
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return Batch([f"{name}#/{below}{number}" for number in range(len(value))], value)
    if not isinstance(value, dict) or not value:
        what = "a list of objects or an object of documents is expected"
        remedy = 'such as {"scan_1": {"total": "9.00"}}'
        raise DataBroken(what, where=where or None, remedy=remedy)
    if not all(isinstance(inner, dict) for inner in value.values()):
        return Batch([name], [{"doc_id": document} | value], documents=True)
    rows = [{"doc_id": key} | row for key, row in value.items()]
    return Batch([f"{name}#/{below}{key}" for key in value], rows, documents=True)


def _are_documents(name: str, value: Any) -> bool:
    """Whether what is called so are objects of which each names its document, or is called so."""
    rows = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        return False
    if isinstance(value, dict):
        # Anything but documents may be the only field with parts.
        return name in WRAPPERS and len(rows) >= (1 if name == "documents" else 2)
    return all((_IDS if name in WRAPPERS else {"doc_id"}) & row.keys() for row in rows)


def _lines(stream: Any, where: str) -> Iterator[tuple[int, Row]]:
    """The objects of JSON lines; only newlines end one, as a value may hold U+2028 unescaped."""
    stream.reconfigure(newline="\n")
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        try:
            row, end = files.AS_WRITTEN.scan_once(line, 0)
        except (StopIteration, ValueError, RecursionError):
            end = 0
        # A closer look, whose error names the line.
        row = _parsed(line.removesuffix("\n"), where, number) if line[end:].strip() else row
        if not isinstance(row, dict):
            what = f"a JSON object is expected, this is a {type(row).__name__}"
            remedy = 'one object a line, such as {"doc_id": "1", "text": "…"}'
            raise DataBroken(what, where=f"{where}:{number}", remedy=remedy)
        yield number, row


def _delimited(stream: Any, member: Member) -> Iterator[tuple[int, list[Any]]]:
    """The rows of delimited text that are not blank, each with the line that it begins in."""
    # Spreadsheets of many countries write semicolons; a title may stand above the header.
    above, line = list(islice(stream, _ABOVE)), 1

    def fit(delimiter: str) -> tuple[bool, float, int, int]:
        """Whether the header names documents, the share of rows as wide, and what breaks ties."""
        rows = [cells for cells in csv.reader(above, delimiter=delimiter) if any(cells)] or [[]]
        title = _titles(rows)
        header, *below = rows[title:]
        has_id = len(header) > 1 and bool(_words(header) & _IDS)
        share = sum(len(cells) == len(header) > 1 for cells in below) / max(len(below), 1)
        return has_id, share, -title, len(header)

    try:
        with files.csv_cells(sys.maxsize):
            is_tabbed = ending(member.name) in (".tsv", ".tab")
            delimiter = "\t" if is_tabbed else max(",;\t|", key=fit)
            reader = csv.reader(chain(above, stream), delimiter=delimiter, strict=True)
            for cells in reader:
                if text := "".join(cells):
                    if "\0" in text:
                        raise csv.Error("a NUL byte: this is no text")
                    yield line, [cell or None for cell in cells]
                line = reader.line_num + 1
    except csv.Error as error:
        remedy = "quote what holds a quotation mark or the delimiter"
        remedy = "save the file as UTF-8" if "NUL" in str(error) else remedy
        where = f"{member.where}:{line}"
        raise DataBroken(f"not a table: {error}", where=where, remedy=remedy) from error


def _workbook(member: Member, notes: Counter[str]) -> Iterator[tuple[int, list[Any]]]:
    """The rows with anything in them of the sheet with the table, each after its number."""
    import python_calamine

    data = member.read()
    try:
        if zipfile.is_zipfile(io.BytesIO(data)):
            _check_workbook(data, member.where, notes)
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = [book.get_sheet_by_name(name) for name in book.sheet_names]
        if not (full := [sheet for sheet in sheets if sheet.start is not None]):
            what = "the workbook is empty"
            raise DataBroken(what, where=member.where, remedy="a header and rows")
        notes["sheets left out: only one is read"] += len(full) - 1
        sheet, starts = full[0], [[*map(_words, s.to_python(nrows=_ABOVE))] for s in full]
        if not any(len(cells) > 2 for cells in starts[0]):
            # A narrow cover: the table is on the first sheet with a column for the document.
            has_id = (any(len(c) > 1 and c & _IDS for c in start) for start in starts)
            sheet = next((sheet for sheet, has in zip(full, has_id, strict=True) if has), sheet)
        cells, merged = sheet.to_python(skip_empty_area=False), sheet.merged_cell_ranges or ()
    except (python_calamine.CalamineError, *files.UNPACKABLE) as error:
        raise DataBroken(f"not a readable workbook: {error}", where=member.where) from error
    for (top, left), (bottom, right) in merged:
        notes["merged cells, each read as its range's value"] += 1
        for row in cells[top : bottom + 1]:
            row[left : right + 1] = [cells[top][left]] * len(row[left : right + 1])
    for number, row in enumerate(cells, start=1):
        if any(cell != "" for cell in row):
            yield number, [None if cell == "" else cell for cell in row]


def _check_workbook(data: bytes, where: str, notes: Counter[str]) -> None:
    """`DataBroken` for a workbook that would fill memory: a cell far from the others is enough."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            inside = f"{where}#{info.filename}"
            files.check_unpacked(info.file_size, info.compress_size, where=inside)
            if not info.filename.startswith(("xl/worksheets/", "content.xml")):
                continue
            sheet = archive.read(info)
            notes.update({note: len(marks.findall(sheet)) for note, marks in _BLANK.items()})
            cells = set(_CELL.findall(sheet))
            across, down = 0, max((int(row) for _, row in cells), default=0)
            for letter in max((column.rjust(3) for column, _ in cells), default=b"").lstrip():
                across = across * 26 + letter - 64
            if across * down > _CELLS:
                what = f"cells in {down} rows and {across} columns"
                raise DataBroken(what, where=inside, remedy="delete the cells far from the table")


def _table(
    numbered: Iterator[tuple[int, list[Any]]], member: Member, mark: str, notes: Counter[str]
) -> Iterator[Batch]:
    """The rows under the header of a table, which lines of a title may stand above."""
    above, place = list(islice(numbered, _ABOVE)), f"{member.where}{mark}"
    if not above:
        return
    title = _titles([cells for _, cells in above])
    notes["rows above the header, left out as a title"] += title
    names = ["" if cell is None else str(cell).strip() for cell in above[title][1]]
    while names and not names[-1]:
        names.pop()
    notes["columns without a name, left out"] += names.count("")
    if twice := [name for name, n in Counter(names).items() if n > 1 and name]:
        what, where = f"two columns are called {twice[0]!r}", f"{place}{above[title][0]}"
        raise DataBroken(what, where=where, remedy="rename one: the first row names the columns")
    width = len(names)

    def rows() -> Iterator[tuple[int, Row]]:
        for number, cells in chain(above[title + 1 :], numbered):
            if any(cell is not None for cell in cells[width:]):
                what = f"{len(cells)} cells, and {width} in the header"
                remedy = "quote cells with a delimiter" if mark == ":" else "name each column"
                raise DataBroken(what, where=f"{place}{number}", remedy=remedy)
            if len(cells) < width:
                notes["rows shorter than their header"] += 1
                cells += [None] * (width - len(cells))
            row = dict(zip(names, cells, strict=False))
            row.pop("", None)
            yield number, row

    yield from _of_rows(rows(), f"{member.name}{mark}")


def _titles(rows: list[list[Any]]) -> int:
    """How many rows stand above the header: a single text, or two above a row that names more."""
    filled = [*map(_words, rows)]
    first = next((n for n, cells in enumerate(filled) if len(cells) > 1), 0)
    if len(filled[first]) == 2 and filled[first].isdisjoint(_IDS):
        wider = (n for n, cells in enumerate(filled) if len(cells) > 2 and cells & _IDS)
        return next(wider, first)
    return first


def _words(cells: list[Any]) -> set[str]:
    return {str(cell).strip().lower() for cell in cells if cell is not None} - {""}
