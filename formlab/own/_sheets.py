"""The rows of a workbook."""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from pathlib import Path

import polars as pl

from formlab import files
from formlab.errors import DataBroken
from formlab.own._cells import Header, Row, check_full

ENDINGS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
# A cell of a workbook by its column and row; and how many may lie between the first and the last.
_CELL = re.compile(rb'<c r="([A-Z]{1,3})([0-9]{1,7})"')
_CELLS = 50_000_000


def rows(path: Path, flaws: Counter[str]) -> tuple[pl.Series, list[Row]]:
    """The first sheet with rows, and their numbers; every cell of a merged range has its value."""
    import python_calamine

    files.read_bytes(path, 1)
    try:
        _check_workbook(path)
        book = python_calamine.CalamineWorkbook.from_path(path)
        sheets = [book.get_sheet_by_name(name) for name in book.sheet_names]
        full = [sheet for sheet in sheets if sheet.start is not None]
        if not full:
            raise DataBroken("the workbook is empty", where=path, remedy="a header and rows")
        flaws["sheets left out: only the first is read"] += len(full) - 1
        cells = full[0].to_python(skip_empty_area=False)
        merged = full[0].merged_cell_ranges or []
    except (python_calamine.CalamineError, *files.UNPACKABLE) as error:
        raise DataBroken(f"not a readable workbook: {error}", where=path) from error
    for (top, left), (bottom, right) in merged:
        flaws["merged cells, each read as its range's value"] += 1
        for row in cells[top : bottom + 1]:
            row[left : right + 1] = [cells[top][left]] * len(row[left : right + 1])
    numbered = [(n, row) for n, row in enumerate(cells, start=1) if any(c != "" for c in row)]
    header, result = None, []
    for number, row in numbered:
        if header is None:
            header = Header.of(row, f"{path}, row {number}", flaws)
            continue
        header.check(row, f"{path}, row {number}")
        flaws["rows shorter than their header"] += len(row) < header.width
        full = [*row, *[""] * (header.width - len(row))]
        result.append({n: None if full[i] == "" else full[i] for i, n in header.named})
    check_full(path, header, len(result))
    numbers = pl.Series([number for number, _ in numbered[1:]], dtype=pl.Int64)
    return numbers, result


def _check_workbook(path: Path) -> None:
    """`DataBroken` for a workbook that would fill memory: a cell far from the others is enough."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            where = f"{path}#{info.filename}"
            files.check_unpacked(info.file_size, info.compress_size, where=where)
            if not info.filename.startswith("xl/worksheets/"):
                continue
            cells = set(_CELL.findall(archive.read(info)))
            across, down = 0, max((int(row) for _, row in cells), default=0)
            for letter in max((column.rjust(3) for column, _ in cells), default=b"").lstrip():
                across = across * 26 + letter - 64
            if across * down > _CELLS:
                what = f"cells in {down} rows and {across} columns"
                raise DataBroken(what, where=where, remedy="delete the cells far from the table")
