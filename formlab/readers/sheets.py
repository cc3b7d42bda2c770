"""Tables under a header: delimited text and workbooks, as they are written."""

from __future__ import annotations

import csv
import io
import re
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator
from functools import reduce
from itertools import chain, islice
from pathlib import Path
from typing import Any

from formlab.errors import DataBroken
from formlab.readers.door import UNPACKABLE, Member, check_unpacked, ending
from formlab.text.answers import plain_name

# Names of columns, by table and formlab's own name; those that a column of documents may have.
NAMES = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
NAMES = {t: {name: of.split() for name, of in names.items()} for t, names in NAMES.items()}
IDS = {*NAMES["columns"]["doc_id"]}
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
# A row of cells after its number in the sheet, or that of its first line.
Numbered = Iterator[tuple[int, list[Any]]]


def tabular(
    member: Member, form: str, notes: Counter[str], count: int
) -> Iterator[tuple[list[str], list[dict[str, Any]]]]:
    """The origins and rows of a workbook or of delimited text, `count` at a time."""
    is_book = form == "workbook"
    numbered = _workbook(member, notes) if is_book else _delimited(member)
    mark = ", row " if is_book else ":"
    above = list(islice(numbered, _ABOVE))
    title = _titles([cells for _, cells in above])
    notes["rows above the header, left out as a title"] += title
    header = (str(cell).strip() for _, cells in above[title : title + 1] for cell in cells)
    # As pandas calls a column without a name.
    names = [re.sub("^Unnamed: [0-9]+$", "", name) for name in header]
    while names and not names[-1]:
        names.pop()
    notes["columns without a name, left out"] += names.count("")
    if twice := [name for name, n in Counter(names).items() if n > 1 and name]:
        where = f"{member.where}{mark}{above[title][0]}"
        remedy = "rename one: the first row names the columns"
        raise DataBroken(f"two columns are called {twice[0]!r}", where=where, remedy=remedy)
    numbered, width, is_named = chain(above[title + 1 :], numbered), len(names), all(names)

    def row(number: int, cells: list[Any]) -> dict[str, Any]:
        if len(cells) != width:
            if any(cell != "" for cell in cells[width:]):
                what = f"{len(cells)} cells, and {width} in the header"
                remedy = "name each column" if is_book else "quote cells with a delimiter"
                raise DataBroken(what, where=f"{member.where}{mark}{number}", remedy=remedy)
            notes["rows shorter than their header"] += len(cells) < width
            cells = [*cells[:width], *[""] * (width - len(cells))]
        if is_named and "" not in cells:
            return dict(zip(names, cells, strict=True))
        return {n: None if c == "" else c for n, c in zip(names, cells, strict=True) if n}

    places = [n for n, name in enumerate(names) if plain_name(name) in IDS][:1]

    def is_total(cells: list[Any]) -> bool:
        named = {plain_name(str(cells[n])) for n in places if n < len(cells)}
        return "" in cells and not named.isdisjoint(NAMES["rows"]["total"])

    while some := list(islice(numbered, count)):
        lines = [line for line in some if not is_total(line[1])]
        notes["rows of totals, left out"] += len(some) - len(lines)
        yield [f"{member.name}{mark}{n}" for n, _ in lines], [row(*line) for line in lines]


def _delimited(member: Member) -> Numbered:
    """The rows of delimited text with anything in them, each after the number of its first line."""

    def fit(delimiter: str) -> tuple[bool, float, int, int]:
        """Whether the header names documents, the share of rows as wide, and what breaks ties."""
        rows = [cells for cells in csv.reader(above, delimiter=delimiter) if any(cells)] or [[]]
        title = _titles(rows)
        width, below = len(rows[title]), rows[title + 1 :]
        share = sum(len(cells) == width > 1 for cells in below) / max(len(below), 1)
        return width > 1 and bool(_words(rows[title]) & IDS), share, -title, width

    with member.text() as stream:
        # Spreadsheets of many countries write semicolons; a title may stand above the header.
        above = list(islice(stream, _ABOVE))
        delimiter = "\t" if ending(member.name) in (".tsv", ".tab") else max(",;\t|", key=fit)
        first = chain.from_iterable(csv.reader(above, delimiter=delimiter))
        is_spaced = any(cell.startswith(' "') for cell in first)
        options: dict[str, Any] = {"skipinitialspace": is_spaced, "strict": True}
        line, reader = 1, csv.reader(chain(above, stream), delimiter=delimiter, **options)
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


def _workbook(member: Member, notes: Counter[str]) -> Numbered:
    """The rows with anything in them of the sheet with the table, each after its number."""
    import python_calamine

    data = member.read()
    try:
        if zipfile.is_zipfile(io.BytesIO(data)):
            _check_workbook(data, member.where, notes)
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        visible = python_calamine.SheetVisibleEnum.Visible
        # What somebody has hidden is read where nothing else is there.
        named = sorted(book.sheets_metadata, key=lambda sheet: sheet.visible != visible)
        sheets = [book.get_sheet_by_name(sheet.name) for sheet in named]
        if not (full := [sheet for sheet in sheets if sheet.start is not None]):
            what = "the workbook is empty"
            raise DataBroken(what, where=member.where, remedy="a header and rows")
        notes["sheets left out: only one is read"] += len(full) - 1
        sheet, starts = full[0], [[*map(_words, s.to_python(nrows=_ABOVE))] for s in full]
        if sum(len(cells) > 2 for cells in starts[0]) < 2:
            # A cover: the table is on the first sheet with a column for the document.
            has_id = (any(len(c) > 1 and c & IDS for c in start) for start in starts)
            sheet = next((sheet for sheet, has in zip(full, has_id, strict=True) if has), sheet)
        rows, merged = sheet.to_python(skip_empty_area=False), sheet.merged_cell_ranges or ()
    except (python_calamine.CalamineError, *UNPACKABLE, zipfile.BadZipFile) as error:
        raise DataBroken(f"not a readable workbook: {error}", where=member.where) from error
    for (top, left), (bottom, right) in merged:
        notes["merged cells, each read as its range's value"] += 1
        for cells in rows[top : bottom + 1]:
            cells[left : right + 1] = [rows[top][left]] * len(cells[left : right + 1])
    numbered = enumerate(rows, start=1)
    return ((n, cells) for n, cells in numbered if any(cell != "" for cell in cells))


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


def _titles(rows: list[list[Any]]) -> int:
    """How many rows stand above the header: a single text, or two above a row that names more."""
    filled = [*map(_words, rows)] or [set()]
    first = next((n for n, cells in enumerate(filled) if len(cells) > 1), 0)
    if len(filled[first]) == 2 and filled[first].isdisjoint(IDS):
        return next((n for n, cells in enumerate(filled) if len(cells) > 2 and cells & IDS), first)
    return first


def _words(cells: list[Any]) -> set[str]:
    return {plain_name(str(cell).strip()) for cell in cells} - {""}
