"""The rows of a user's own table, from whatever file or frame it is in."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files
from formlab.addresses import local
from formlab.errors import DataBroken, DataMissing
from formlab.own import _sheets as sheets
from formlab.own._cells import Header, Row, check_full, texts
from formlab.own._delimited import blocks
from formlab.text.answers import arguments

# How many rows, and files of one document each, are in a piece.
_ROWS = 100_000
_FILES = 1_000
DELIMITED = (".csv", ".tsv", ".tab")
JSON_LINES = (".jsonl", ".ndjson")
# What stands for a name where there is no file.
FRAME = "frame"
# Names under which a service lists the documents that it has read.
_WRAPPERS = ("predictions", "documents", "results", "data", "response", "answers")
# A document a file, as a loop over a model saves them.
_TEXTS = (".json", ".txt")
KNOWN = (*DELIMITED, *JSON_LINES, ".json", ".parquet", *sheets.ENDINGS)


@dataclass
class RawRows:
    """Rows as read: a frame, or a dict each, and their origins within the folder `home`.

    The rows of `documents` are whole documents, a member each field.
    """

    cells: pl.DataFrame | list[Row]
    origins: pl.Series
    home: Path | None = None
    documents: bool = False

    @property
    def height(self) -> int:
        """How many rows there are."""
        return len(self.origins)

    @property
    def names(self) -> list[str]:
        """The names of the columns, in the order in which rows have them."""
        if isinstance(self.cells, pl.DataFrame):
            return self.cells.columns
        return list(dict.fromkeys(chain.from_iterable(self.cells)))

    @property
    def dicts(self) -> list[Row]:
        """Each row as a dict."""
        return self.cells.to_dicts() if isinstance(self.cells, pl.DataFrame) else self.cells

    @property
    def rows(self) -> list[tuple[str, Row]]:
        """Each row as a dict, after its origin."""
        return list(zip(self.origins.to_list(), self.dicts, strict=True))

    def column(self, name: str | None) -> pl.Series | list[Any]:
        """The cells of a column; null where there is none."""
        if isinstance(self.cells, list):
            return [row.get(name) for row in self.cells]
        if name in self.cells.columns:
            return self.cells[name]
        return pl.Series(name, [None], dtype=pl.String).new_from_index(0, self.height)

    def where(self, number: int) -> str:
        """The origin of the row of that number, from 0, as an error names it."""
        origin = self.origins[number]
        return str(self.home / origin) if self.home else origin


def located(source: Any) -> Any:
    """The local path of a path or address, see `addresses.local`; any other source as it is."""
    return local(source) if isinstance(source, str | Path) else source


def read_rows(source: Any, flaws: Counter[str]) -> RawRows:
    """The rows of a file, a folder of JSON files, a frame, or of mappings; see `read_values`."""
    several = list(each_rows(source, flaws, whole=True))
    if len(several) == 1:
        return several[0]
    cells = [rows.cells for rows in several]
    whole = pl.concat(cells) if isinstance(cells[0], pl.DataFrame) else list(chain(*cells))
    origins = pl.concat([rows.origins for rows in several])
    return RawRows(whole, origins, several[0].home, several[0].documents)


def each_rows(source: Any, flaws: Counter[str], *, whole: bool = False) -> Iterator[RawRows]:
    """The rows of a source in pieces, one at least; those of a large file need little memory.

    With `whole`, a file that can be read at once is.
    """
    if isinstance(source, RawRows):
        yield source
        return
    source = located(source)
    if isinstance(source, Path):
        yield from _of_path(source, flaws, whole=whole)
        return
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if isinstance(source, pl.DataFrame):
        yield RawRows(source, _numbered(f"{FRAME}, row ", source.height))
    elif type(source).__module__.partition(".")[0] == "pandas":
        yield _framed(_pandas(source))
    elif isinstance(source, Mapping):
        members = {str(name): member for name, member in source.items()}
        yield _of_object(members, None, "object", FRAME)
    else:
        rows = list(source) if isinstance(source, Iterable) else [None]
        if not all(isinstance(row, Mapping) for row in rows):
            what = f"values cannot be read from {type(source).__name__}"
            raise DataBroken(what, remedy="a path, a polars or pandas frame, or a list of dicts")
        yield _framed({str(name): cell for name, cell in row.items()} for row in rows)


def known_columns(source: Any) -> set[str]:
    """The names of a source's columns, of which a file with a header is not read further."""
    source = located(source)
    pieces = each_rows(source, Counter())
    if isinstance(source, Path) and source.suffix.lower() in (*DELIMITED, ".parquet"):
        return set(next(pieces).names)
    return {name for rows in pieces for name in rows.names}


def _numbered(before: str, count: int | pl.Series, start: int = 1) -> pl.Series:
    """The origins of rows with these numbers, or of so many from `start`."""
    numbers = pl.int_range(start, start + count, eager=True) if isinstance(count, int) else count
    return pl.select(pl.lit(before) + numbers.cast(pl.String)).to_series()


def _framed(rows: Iterable[Row]) -> RawRows:
    rows = list(rows)
    return RawRows(rows, _numbered(f"{FRAME}, row ", len(rows)))


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


def _of_path(path: Path, flaws: Counter[str], *, whole: bool) -> Iterator[RawRows]:
    if not os.path.exists(path):
        raise DataMissing("no such file or folder", where=path, remedy="check the path")
    ending, name = path.suffix.lower(), path.name
    if path.is_dir():
        yield from _of_folder(path)
    elif ending in DELIMITED:
        yield from _of_delimited(path, flaws)
    elif ending in JSON_LINES:
        yield from _of_lines(path)
    elif ending == ".parquet":
        start = 1
        for frame in [files.read_parquet(path)] if whole else _parquet(path):
            yield RawRows(frame, _numbered(f"{name}, row ", frame.height, start), path.parent)
            start += frame.height
    elif ending in sheets.ENDINGS:
        numbers, rows = sheets.rows(path, flaws)
        yield RawRows(rows, _numbered(f"{name}, row ", numbers), path.parent)
    elif ending == ".json":
        value = files.read_json(path, as_written=True, once=True)
        yield _of_object(value, path.parent, name, path.stem)
    else:
        raise DataBroken(
            f"values cannot be read from {ending or 'this file'}", where=path,
            remedy=f"a folder of JSON files, or one of: {', '.join(KNOWN)}",
        )  # fmt: skip


def _of_object(value: Any, home: Path | None, name: str, stem: str) -> RawRows:
    """One JSON value: a list of rows, a document for each key, or one document."""
    if isinstance(value, dict):
        lists = [(key, rows) for key, rows in value.items() if key.lower() in _WRAPPERS]
        if len(lists) == 1 and _are_documents(lists[0][1]):
            key, rows = lists[0]
            return RawRows(rows, _numbered(f"{name}#/{key}/", len(rows), 0), home)
    where = str(home / name) if home else None
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return RawRows(value, _numbered(f"{name}#/", len(value), 0), home)
    if not isinstance(value, dict) or not value:
        what = "a list of objects or an object of documents is expected"
        raise DataBroken(what, where=where, remedy='such as {"scan_1": {"total": "9.00"}}')
    if all(isinstance(document, dict) for document in value.values()):
        origins = texts(f"{name}#/{key}" for key in value)
        documents: list[Row] = [{"doc_id": key} | row for key, row in value.items()]
        return RawRows(documents, origins, home, documents=True)
    return RawRows([{"doc_id": stem} | value], texts([name]), home, documents=True)


def _are_documents(rows: Any) -> bool:
    """Whether these are objects of which each names its document."""
    each = isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows)
    return bool(each) and all({"doc_id", "id", "document", "file"} & row.keys() for row in rows)


def _of_folder(folder: Path) -> Iterator[RawRows]:
    """A document for each JSON file, in any depth, called by its name; by its path if need be."""
    paths = [file for file in answer_files(folder) if not file.name.startswith(".")]
    if not paths:
        what = "no JSON files in this folder"
        raise DataBroken(what, where=folder, remedy="one JSON file a document, or a table")
    plain = len({file.stem for file in paths}) == len(paths)
    for start in range(0, len(paths), _FILES):
        rows, origins = [], []
        for file in paths[start : start + _FILES]:
            origin = file.relative_to(folder).as_posix()
            doc_id = file.stem if plain else origin.removesuffix(file.suffix)
            text = files.read_bytes(file).decode("utf-8-sig", "replace")
            if _is_text(text):
                # What a model wrote is read with all such texts.
                value: Any = {"/": text}
            else:
                value = files.read_json(file, as_written=True, once=True)
            if not isinstance(value, dict | list):
                what = f"a JSON object is expected, this is {type(value).__name__}"
                raise DataBroken(what, where=file, remedy="one object of fields a file")
            if isinstance(value, list):
                value = {f"/{index}": item for index, item in enumerate(value)}
            rows.append({"doc_id": doc_id} | value)
            origins.append(origin)
        yield RawRows(rows, texts(origins), folder, documents=True)


def answer_files(folder: Path) -> list[Path]:
    """The JSON files of a folder in any depth, in order; where there are none, its texts."""
    named = sorted(file for file in folder.rglob("*") if file.is_file())
    endings = {ending: [f for f in named if f.suffix.lower() == ending] for ending in _TEXTS}
    return endings[".json"] or endings[".txt"]


def _is_text(text: str) -> bool:
    """Whether a file is more or less than JSON, or a tool call."""
    try:
        return arguments(json.loads(text)) is not None
    except (ValueError, RecursionError):
        return True


def _of_lines(path: Path) -> Iterator[RawRows]:
    """JSON lines, their numbers as they are written."""
    scan = json.JSONDecoder(parse_float=str, parse_int=str).scan_once
    files.read_bytes(path, 1)
    start, count = 1, 0
    try:
        # Only newlines end a line: a value may hold U+2028 or a form feed unescaped.
        with path.open(encoding="utf-8-sig", newline="\n") as stream:
            while lines := list(islice(stream, _ROWS)):
                numbered = [(n, text) for n, text in enumerate(lines, start) if text.strip()]
                rows = _objects(scan, [text for _, text in numbered])
                rows = rows or [_object(path, n, text.removesuffix("\n")) for n, text in numbered]
                numbers = pl.Series([number for number, _ in numbered], dtype=pl.Int64)
                yield RawRows(rows, _numbered(f"{path.name}:", numbers), path.parent)
                start += len(lines)
                count += len(rows)
    except UnicodeDecodeError:
        files.read_text(path)  # Its error names the line.
        raise
    if not count:
        raise DataBroken("the file is empty", where=path, remedy="one JSON object a line")


def _objects(scan: Callable[[str, int], tuple[Any, int]], lines: list[str]) -> list[Row] | None:
    """The objects of lines; null if some need a closer look."""
    try:
        pairs = [scan(line, 0) for line in lines]
    except (StopIteration, ValueError, RecursionError):
        return None
    rest = {line[end:] for line, (_, end) in zip(lines, pairs, strict=True)}
    rows = [row for row, _ in pairs]
    return rows if rest <= {"\n", "\r\n", ""} and set(map(type, rows)) <= {dict} else None


def _object(path: Path, number: int, line: str) -> Row:
    value = files.parse_json(line, where=str(path), first_line=number, as_written=True)
    if not isinstance(value, dict):
        what = f"a JSON object is expected, this is a {type(value).__name__}"
        remedy = 'one object a line, such as {"doc_id": "1", "text": "…"}'
        raise DataBroken(what, where=f"{path}:{number}", remedy=remedy)
    return value


def _parquet(path: Path) -> Iterator[pl.DataFrame]:
    """The table of a Parquet file in pieces."""
    files.read_bytes(path, 1)
    try:
        lazy = pl.scan_parquet(path, glob=False)
        frame = pl.DataFrame(schema=lazy.collect_schema())
        for frame in lazy.collect_batches(chunk_size=_ROWS, maintain_order=True):
            yield frame
        if frame.is_empty():
            yield frame
    except (pl.exceptions.PolarsError, OSError) as error:
        first = str(error).splitlines()[0]
        raise DataBroken(f"not a readable Parquet file: {first}", where=path) from error


def _of_delimited(path: Path, flaws: Counter[str]) -> Iterator[RawRows]:
    header: Header | None = None
    count = 0
    for block in blocks(path):
        if header is None and block.height:
            line, cells = block.row(0)
            header, block = Header.of(cells, f"{path}:{line}", flaws), block[1:]
        if header is None or block.is_empty():
            continue
        count += block.height
        counts = pl.col("cells").list.len()
        flaws["rows shorter than their header"] += block.filter(counts < header.width).height
        for line, cells in block.filter(counts > header.width).iter_rows():
            header.check(cells, f"{path}:{line}")
        cell = pl.col("cells").list
        cells = block.select(
            cell.get(index, null_on_oob=True).replace("", None).alias(name)
            for index, name in header.named
        )
        yield RawRows(cells, _numbered(f"{path.name}:", block["line"]), path.parent)
    check_full(path, header, count)
