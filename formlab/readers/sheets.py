"""Tables under a header: delimited text and workbooks, as they are written."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from functools import reduce
from itertools import chain, islice
from typing import Any

from formlab.errors import DataBroken
from formlab.readers.door import UNPACKABLE, Member, check_unpacked, ending
from formlab.readers.rows import IDS, ROWS, Batch

# How many rows a title and the header are looked for in.
_ABOVE = 20
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


def delimited(stream: Any, member: Member, notes: Counter[str]) -> Iterator[Batch]:
    """The rows of delimited text that are not blank, under its header."""
    # Spreadsheets of many countries write semicolons; a title may stand above the header.
    above = list(islice(stream, _ABOVE))

    def fit(delimiter: str) -> tuple[bool, float, int, int]:
        """Whether the header names documents, the share of rows as wide, and what breaks ties."""
        rows = [cells for cells in csv.reader(above, delimiter=delimiter) if any(cells)] or [[]]
        title = _titles(rows)
        width, below = len(rows[title]), rows[title + 1 :]
        share = sum(len(cells) == width > 1 for cells in below) / max(len(below), 1)
        return width > 1 and bool(_words(rows[title]) & IDS), share, -title, width

    def rows() -> Iterator[tuple[int, list[Any]]]:
        """Each row that is not blank after the number of its first line."""
        line, reader = 1, csv.reader(chain(above, stream), delimiter=delimiter, strict=True)
        try:
            for cells in reader:
                if text := "".join(cells):
                    if "\0" in text:
                        raise csv.Error("a NUL byte: this is no text")
                    yield line, cells
                line = 1 + reader.line_num
        except csv.Error as error:
            remedy = "quote what holds a quotation mark or the delimiter"
            remedy = "save the file as UTF-8" if "NUL" in str(error) else remedy
            where = f"{member.where}:{line}"
            raise DataBroken(f"not a table: {error}", where=where, remedy=remedy) from error

    is_tabbed = ending(member.name) in (".tsv", ".tab")
    delimiter = "\t" if is_tabbed else max(",;\t|", key=fit)
    yield from _under(rows(), member, ":", notes)


def workbook(member: Member, notes: Counter[str]) -> Iterator[Batch]:
    """The rows of the sheet with the table, under its header."""
    yield from _under(_sheet(member, notes), member, ", row ", notes)


def _sheet(member: Member, notes: Counter[str]) -> Iterator[tuple[int, list[Any]]]:
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
            has_id = (any(len(c) > 1 and c & IDS for c in start) for start in starts)
            sheet = next((sheet for sheet, has in zip(full, has_id, strict=True) if has), sheet)
        cells, merged = sheet.to_python(skip_empty_area=False), sheet.merged_cell_ranges or ()
    except (python_calamine.CalamineError, *UNPACKABLE, zipfile.BadZipFile) as error:
        raise DataBroken(f"not a readable workbook: {error}", where=member.where) from error
    for (top, left), (bottom, right) in merged:
        notes["merged cells, each read as its range's value"] += 1
        for row in cells[top : bottom + 1]:
            row[left : right + 1] = [cells[top][left]] * len(row[left : right + 1])
    for number, row in enumerate(cells, start=1):
        if any(cell != "" for cell in row):
            yield number, row


def _check_workbook(data: bytes, where: str, notes: Counter[str]) -> None:
    """`DataBroken` for a workbook that would fill memory: a cell far from the others is enough."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            inside = f"{where}#{info.filename}"
            check_unpacked(info.file_size, info.compress_size, where=inside)
            if not info.filename.startswith(("xl/worksheets/", "content.xml")):
                continue
            sheet = archive.read(info)
            notes.update({note: len(marks.findall(sheet)) for note, marks in _BLANK.items()})
            cells = set(_CELL.findall(sheet))
            letters = max((column.rjust(3, b"@") for column, _ in cells), default=b"")
            across = reduce(lambda number, letter: number * 26 + letter - 64, letters, 0)
            down = max((int(row) for _, row in cells), default=0)
            if across * down > _CELLS:
                what = f"cells in {down} rows and {across} columns"
                raise DataBroken(what, where=inside, remedy="delete the cells far from the table")


def _header(
    above: list[tuple[int, list[Any]]], place: str, notes: Counter[str]
) -> tuple[list[str], int]:
    """The names of a table's columns, and how many of the rows above are a title."""
    title = _titles([cells for _, cells in above]) if above else 0
    notes["rows above the header, left out as a title"] += title
    names = [str(cell).strip() for _, cells in above[title : title + 1] for cell in cells]
    while names and not names[-1]:
        names.pop()
    notes["columns without a name, left out"] += names.count("")
    if twice := [name for name, n in Counter(names).items() if n > 1 and name]:
        what, where = f"two columns are called {twice[0]!r}", f"{place}{above[title][0]}"
        raise DataBroken(what, where=where, remedy="rename one: the first row names the columns")
    return names, title


def _under(
    numbered: Iterator[tuple[int, list[Any]]], member: Member, mark: str, notes: Counter[str]
) -> Iterator[Batch]:
    """The rows under the header of a table."""
    above = list(islice(numbered, _ABOVE))
    names, title = _header(above, f"{member.where}{mark}", notes)
    numbered = chain(above[title + 1 :], numbered)
    width = len(names)
    while some := list(islice(numbered, ROWS)):
        for number, cells in some if {len(cells) for _, cells in some} != {width} else ():
            if any(cell != "" for cell in cells[width:]):
                what = f"{len(cells)} cells, and {width} in the header"
                remedy = "quote cells with a delimiter" if mark == ":" else "name each column"
                raise DataBroken(what, where=f"{member.where}{mark}{number}", remedy=remedy)
            notes["rows shorter than their header"] += len(cells) < width
            cells[width:] = [""] * (width - len(cells))
        columns = zip(names, zip(*(cells for _, cells in some), strict=True), strict=True)
        found = {n: [None if c == "" else c for c in cells] for n, cells in columns if n}
        yield Batch([f"{member.name}{mark}{number}" for number, _ in some], found)


def _titles(rows: list[list[Any]]) -> int:
    """How many rows stand above the header: a single text, or two above a row that names more."""
    filled = [*map(_words, rows)]
    first = next((n for n, cells in enumerate(filled) if len(cells) > 1), 0)
    if len(filled[first]) == 2 and filled[first].isdisjoint(IDS):
        wider = (n for n, cells in enumerate(filled) if len(cells) > 2 and cells & IDS)
        return next(wider, first)
    return first


def _words(cells: list[Any]) -> set[str]:
    return {str(cell).strip().lower() for cell in cells} - {""}
