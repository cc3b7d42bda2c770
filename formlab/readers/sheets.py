"""Tables under a header: delimited text and workbooks, as they are written."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import reduce
from itertools import chain, islice
from pathlib import Path
from typing import Any

from formlab.errors import DataBroken
from formlab.readers.door import UNPACKABLE, Member, ending, members, zipfile
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
    blank, width = dict.fromkeys(filter(None, names)), len(names)
    documents = next((name for name in names if plain_name(name) in IDS), None)

    def row(number: int, cells: list[Any]) -> dict[str, Any]:
        if len(cells) > width and any(cell != "" for cell in cells[width:]):
            what = f"{len(cells)} cells, and {width} in the header"
            remedy = "name each column" if is_book else "quote cells with a delimiter"
            raise DataBroken(what, where=f"{member.where}{mark}{number}", remedy=remedy)
        notes["rows shorter than their header"] += len(cells) < width
        filled = zip(names, cells, strict=False)
        return blank | {name: cell for name, cell in filled if cell != "" and name}

    def is_total(found: dict[str, Any]) -> bool:
        has_blank = None in found.values()
        return has_blank and plain_name(str(found.get(documents))) in NAMES["rows"]["total"]

    numbered = chain(above[title + 1 :], numbered)
    while rows := [(number, row(number, cells)) for number, cells in islice(numbered, count)]:
        kept = [(number, found) for number, found in rows if not is_total(found)]
        notes["rows of totals, left out"] += len(rows) - len(kept)
        yield [f"{member.name}{mark}{number}" for number, _ in kept], [found for _, found in kept]


def _delimited(member: Member) -> Numbered:
    """The rows of delimited text with anything in them, each after the number of its first line."""

    def fit(delimiter: str) -> tuple[bool, bool, float, int]:
        """Whether there is a header, with documents; the share of rows as wide; the width."""
        rows = [cells for cells in csv.reader(above, delimiter=delimiter) if any(cells)] or [[]]
        header, *below = rows[_titles(rows) :]
        share = sum(len(cells) == len(header) for cells in below) / max(len(below), 1)
        return len(header) > 1, bool(_words(header) & IDS), share, len(header)

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
                if any(cells):
                    yield line, cells
                line = 1 + reader.line_num
        except csv.Error as error:
            where, remedy = f"{member.where}:{line}", "quote what holds a quotation mark"
            raise DataBroken(f"not a table: {error}", where=where, remedy=remedy) from error


def _workbook(member: Member, notes: Counter[str]) -> Numbered:
    """The rows with anything in them of the sheet with the table, each after its number."""
    import python_calamine

    stream = io.BytesIO(member.read())
    try:
        if zipfile.is_zipfile(stream):
            for part in members(member.where, stream).values():
                _check_part(part, notes)
        stream.seek(0)
        book = python_calamine.CalamineWorkbook.from_filelike(stream)
        # What somebody has hidden is read where nothing else is there.
        visible = python_calamine.SheetVisibleEnum.Visible
        named = sorted(book.sheets_metadata, key=lambda sheet: sheet.visible != visible)
        sheets = [book.get_sheet_by_name(sheet.name) for sheet in named]
        if not (full := [sheet for sheet in sheets if sheet.start is not None]):
            what = "the workbook is empty"
            raise DataBroken(what, where=member.where, remedy="a header and rows")
        notes["sheets left out: only one is read"] += len(full) - 1
        # The first may be a cover.
        sheet = next(filter(_is_table, full), full[0])
        rows, merged = sheet.to_python(skip_empty_area=False), sheet.merged_cell_ranges or ()
    except (python_calamine.CalamineError, *UNPACKABLE) as error:
        raise DataBroken(f"not a readable workbook: {error}", where=member.where) from error
    for (top, left), (bottom, right) in merged:
        notes["merged cells, each read as its range's value"] += 1
        for cells in rows[top : bottom + 1]:
            cells[left : right + 1] = [rows[top][left]] * len(cells[left : right + 1])
    numbered = enumerate(rows, start=1)
    return ((n, cells) for n, cells in numbered if any(cell != "" for cell in cells))


def _is_table(sheet: Any) -> bool:
    """Whether the first rows of a sheet name documents, or two of them have several columns."""
    rows = [*map(_words, sheet.to_python(nrows=_ABOVE))]
    has_header = any(len(words) > 1 and words & IDS for words in rows)
    return has_header or sum(len(words) > 2 for words in rows) > 1


def _check_part(part: Member, notes: Counter[str]) -> None:
    """Count what is odd in a part of a workbook; `DataBroken` if it would fill memory."""
    data = part.read()
    if part.name.startswith(("xl/worksheets/", "content.xml")):
        notes.update({note: len(marks.findall(data)) for note, marks in _BLANK.items()})
        cells = _CELL.findall(data)
        # A cell far from the others is enough.
        columns, down = {name for name, _ in cells}, max((int(row) for _, row in cells), default=0)
        numbers = (reduce(lambda n, letter: n * 26 + letter - 64, name, 0) for name in columns)
        if down * (across := max(numbers, default=0)) > _CELLS:
            what = f"cells in {down} rows and {across} columns"
            raise DataBroken(what, where=part.where, remedy="delete the cells far from the table")


def _titles(rows: list[list[Any]]) -> int:
    """How many rows stand above the header: a single text, or two above a row that names more."""
    filled = [*map(_words, rows)] or [set()]
    first = next((n for n, words in enumerate(filled) if len(words) > 1), 0)
    if len(filled[first]) == 2 and filled[first].isdisjoint(IDS):
        return next((n for n, words in enumerate(filled) if len(words) > 2 and words & IDS), first)
    return first


def _words(cells: list[Any]) -> set[str]:
    return {plain_name(str(cell).strip()) for cell in cells} - {""}
