"""The rows of a user's own table, from whatever file or frame it is in."""

from __future__ import annotations

import csv
import datetime
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files
from formlab.errors import DataBroken, DataMissing

Row = dict[str, Any]
# A cell of a workbook by its column and row; and how many may lie between the first and the last.
_CELL = re.compile(rb'<c r="([A-Z]{1,3})([0-9]{1,7})"')
_CELLS = 50_000_000
SHEETS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
DELIMITED = (".csv", ".tsv", ".tab")
JSON_LINES = (".jsonl", ".ndjson")
# What stands for a name where there is no file.
FRAME = "frame"
KNOWN = (*DELIMITED, *JSON_LINES, ".json", ".parquet", *SHEETS)


@dataclass
class RawRows:
    """Rows as read, each with its origin within `home`, the folder that origins are relative to.

    The rows of `documents` are whole documents, a member each field.
    """

    rows: list[tuple[str, Row]]
    home: Path | None = None
    documents: bool = False

    def where(self, origin: str) -> str:
        """The origin of a row as an error names it."""
        return str(self.home / origin) if self.home else origin


def read_rows(source: Any, flaws: Counter[str]) -> RawRows:
    """The rows of a file, a folder of JSON files, a frame, or of mappings; see `read_values`."""
    if isinstance(source, str | Path):
        return _of_path(Path(source), flaws)
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if isinstance(source, pl.DataFrame):
        return RawRows(_framed(source.iter_rows(named=True)))
    if type(source).__module__.partition(".")[0] == "pandas":
        return RawRows(_framed(_pandas(source)))
    if isinstance(source, Mapping):
        return _of_object({str(n): member for n, member in source.items()}, None, "object", FRAME)
    if isinstance(source, Iterable):
        rows = list(source)
        if all(isinstance(row, Mapping) for row in rows):
            return RawRows(_framed({str(name): cell for name, cell in row.items()} for row in rows))
    what = f"values cannot be read from {type(source).__name__}"
    raise DataBroken(what, remedy="a path, a polars or pandas frame, or a list of dicts")


def _framed(rows: Iterable[Row]) -> list[tuple[str, Row]]:
    return [(f"frame, row {number}", row) for number, row in enumerate(rows, start=1)]


def _pandas(frame: Any) -> Iterator[Row]:
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise DataBroken(f"two columns are called {twice!r}", remedy="rename one")
    if frame.index.name is not None and frame.index.name not in frame.columns:
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    # What is missing is NaN, NaT or NA by its dtype; all of them are null here.
    whole = frame.astype(object).where(frame.notna(), None)
    return (dict(zip(names, row, strict=True)) for row in whole.itertuples(index=False, name=None))


def _of_path(path: Path, flaws: Counter[str]) -> RawRows:
    if not path.exists():
        raise DataMissing("no such file or folder", where=path, remedy="check the path")
    if path.is_dir():
        return _of_folder(path)
    ending, name = path.suffix.lower(), path.name
    if ending in DELIMITED:
        return RawRows(_delimited(path, flaws), path.parent)
    if ending in JSON_LINES:
        lines = files.each_jsonl(path, as_written=True)
        return RawRows([(f"{name}:{number}", row) for number, row in lines], path.parent)
    if ending == ".parquet":
        rows = enumerate(files.read_parquet(path).iter_rows(named=True), start=1)
        return RawRows([(f"{name}, row {number}", row) for number, row in rows], path.parent)
    if ending in SHEETS:
        return RawRows(_sheet(path, flaws), path.parent)
    if ending == ".json":
        value = files.read_json(path, as_written=True)
        return _of_object(value, path.parent, name, path.stem)
    raise DataBroken(
        f"values cannot be read from {ending or 'this file'}", where=path,
        remedy=f"a folder of JSON files, or one of: {', '.join(KNOWN)}",
    )  # fmt: skip


def _of_object(value: Any, home: Path | None, name: str, stem: str) -> RawRows:
    """One JSON value: a list of rows, a document for each key, or one document."""
    where = str(home / name) if home else None
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return RawRows([(f"{name}#/{index}", row) for index, row in enumerate(value)], home)
    if not isinstance(value, dict) or not value:
        what = "a list of objects or an object of documents is expected"
        raise DataBroken(what, where=where, remedy='such as {"scan_1": {"total": "9.00"}}')
    if all(isinstance(document, dict) for document in value.values()):
        rows = [(f"{name}#/{key}", {"doc_id": key} | row) for key, row in value.items()]
        return RawRows(rows, home, documents=True)
    return RawRows([(name, {"doc_id": stem} | value)], home, documents=True)


def _of_folder(folder: Path) -> RawRows:
    """A document for each JSON file, in any depth, called by its name; by its path if need be."""
    paths = sorted(file for file in folder.rglob("*.json") if not file.name.startswith("."))
    if not paths:
        what = "no JSON files in this folder"
        raise DataBroken(what, where=folder, remedy="one JSON file a document, or a table")
    plain = len({file.stem for file in paths}) == len(paths)
    rows = []
    for file in paths:
        origin = file.relative_to(folder).as_posix()
        doc_id = file.stem if plain else origin.removesuffix(file.suffix)
        value = files.read_json(file, as_written=True)
        if not isinstance(value, dict | list):
            what = f"a JSON object is expected, this is {type(value).__name__}"
            raise DataBroken(what, where=file, remedy="one object of fields a file")
        fields = value if isinstance(value, dict) else dict(map(_numbered, enumerate(value)))
        rows.append((origin, {"doc_id": doc_id} | fields))
    return RawRows(rows, folder, documents=True)


def _numbered(item: tuple[int, Any]) -> tuple[str, Any]:
    return f"/{item[0]}", item[1]


def _delimited(path: Path, flaws: Counter[str]) -> list[tuple[str, Row]]:
    data = files.read_bytes(path)
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = files.read_text(path, encodings=("utf-16",) if wide else ("utf-8-sig",))
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataBroken("a NUL byte: this is no text", where=f"{path}:{line}")
    first = text.lstrip().partition("\n")[0]
    tabs = path.suffix.lower() in (".tsv", ".tab")
    # Spreadsheets of many countries write semicolons.
    delimiter = "\t" if tabs else max(",;\t", key=first.count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    numbered, line = [], 1
    try:
        with files.csv_cells(len(text)):
            for cells in lines:
                if any(cells):
                    numbered.append((line, cells))
                line = lines.line_num + 1
    except csv.Error as error:
        remedy = "quote what holds a quotation mark or the delimiter"
        raise DataBroken(f"not a table: {error}", where=f"{path}:{line}", remedy=remedy) from error
    return _tabular(numbered, path, flaws, mark=":")


def _tabular(
    numbered: list[tuple[int, list[Any]]], path: Path, flaws: Counter[str], *, mark: str
) -> list[tuple[str, Row]]:
    """The rows below a header, each with its number; what is blank is null."""
    if not numbered:
        raise DataBroken("the file is empty", where=path, remedy="a header and one row a value")
    (line, cells), *rest = numbered
    header = [str(cell).strip() for cell in cells]
    while header and not header[-1]:
        header.pop()
    named = [(index, name) for index, name in enumerate(header) if name]
    flaws["columns without a name, left out"] += len(header) - len(named)
    twice = [name for name, count in Counter(name for _, name in named).items() if count > 1]
    where = f"{path}{mark}{line}"
    if twice:
        raise DataBroken(f"two columns are called {twice[0]!r}", where=where, remedy="rename one")
    if not rest:
        raise DataBroken("the file has no rows", where=path, remedy="one row a value")
    rows = []
    for line, cells in rest:
        if len(cells) < len(header):
            flaws["rows shorter than their header"] += 1
            cells = [*cells, *[""] * (len(header) - len(cells))]
        elif any(cell != "" for cell in cells[len(header) :]):
            raise DataBroken(
                f"{len(cells)} cells, and {len(header)} in the header", where=f"{path}{mark}{line}",
                remedy="quote cells that hold the delimiter",
            )  # fmt: skip
        row = {name: None if cells[index] == "" else cells[index] for index, name in named}
        rows.append((f"{path.name}{mark}{line}", row))
    return rows


def _sheet(path: Path, flaws: Counter[str]) -> list[tuple[str, Row]]:
    """The first sheet with rows; every cell of a merged range has its value."""
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
    except (python_calamine.CalamineError, zipfile.BadZipFile, OSError, ValueError) as error:
        raise DataBroken(f"not a readable workbook: {error}", where=path) from error
    for (top, left), (bottom, right) in merged:
        flaws["merged cells, each read as its range's value"] += 1
        for row in cells[top : bottom + 1]:
            row[left : right + 1] = [cells[top][left]] * len(row[left : right + 1])
    numbered = [(n, row) for n, row in enumerate(cells, start=1) if any(c != "" for c in row)]
    return _tabular(numbered, path, flaws, mark=", row ")


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


def as_text(value: Any) -> str | None:
    """A value as text: whole numbers without a point, dates as ISO 8601, null as null.

    Examples
    --------
    >>> as_text(9.0), as_text(True), as_text(datetime.datetime(2024, 5, 1)), as_text("007")
    ('9', 'true', '2024-05-01', '007')
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value != value:
            return None
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime.datetime):
        # A spreadsheet's date is a time at midnight.
        midnight = value.time() == datetime.time() and value.tzinfo is None
        return (value.date() if midnight else value).isoformat()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if hasattr(value, "item"):  # A number of numpy.
        return as_text(value.item())
    return str(value)
