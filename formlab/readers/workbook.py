"""The rows of a workbook."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from typing import Any

from formlab import files
from formlab.errors import DataBroken

ENDINGS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
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


def rows(data: bytes, where: str, notes: Counter[str]) -> list[tuple[int, list[Any]]]:
    """The rows with anything in them of the first sheet that has some, each after its number.

    Every cell of a merged range has the value of the range.
    """
    import python_calamine

    try:
        if zipfile.is_zipfile(io.BytesIO(data)):
            _check(data, where, notes)
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = [book.get_sheet_by_name(name) for name in book.sheet_names]
        full = [sheet for sheet in sheets if sheet.start is not None]
        if not full:
            raise DataBroken("the workbook is empty", where=where, remedy="a header and rows")
        notes["sheets left out: only the first is read"] += len(full) - 1
        cells = full[0].to_python(skip_empty_area=False)
        merged = full[0].merged_cell_ranges or []
    except (python_calamine.CalamineError, *files.UNPACKABLE) as error:
        raise DataBroken(f"not a readable workbook: {error}", where=where) from error
    for (top, left), (bottom, right) in merged:
        notes["merged cells, each read as its range's value"] += 1
        for row in cells[top : bottom + 1]:
            row[left : right + 1] = [cells[top][left]] * len(row[left : right + 1])
    filled = ([None if cell == "" else cell for cell in row] for row in cells)
    return [(n, row) for n, row in enumerate(filled, start=1) if any(c is not None for c in row)]


def _check(data: bytes, where: str, notes: Counter[str]) -> None:
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
                remedy = "delete the cells far from the table"
                raise DataBroken(what, where=inside, remedy=remedy)
