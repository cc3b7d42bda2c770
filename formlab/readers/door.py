"""The one door: the content of any file, and the rows of any table, JSON, folder or frame."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, TypeVar

import msgspec
import polars as pl

from formlab import files
from formlab.addresses import local
from formlab.errors import DataBroken, DataMissing
from formlab.readers import workbook
from formlab.readers.rows import Row
from formlab.tables import storable
from formlab.text.answers import arguments

if sys.version_info >= (3, 14):
    import zipfile

    from compression import zstd
else:
    from backports import zstd
    from backports.zstd import zipfile

T = TypeVar("T")
# Bytes of a head; rows of a table, and files of one document each, in a piece.
_HEAD, _ROWS, _FILES = 65_536, 50_000, 1_000
# What stands for a name where there is no file.
FRAME = "frame"
PACKED = (".gz", ".zst")
DELIMITED, JSON_LINES = (".csv", ".tsv", ".tab"), (".jsonl", ".ndjson")
TABLES = (*DELIMITED, *JSON_LINES, ".parquet", *workbook.ENDINGS)
KNOWN = (*TABLES, ".json", ".zip")
# A document a file, as a loop over a model saves them.
DOCUMENTS = (".json", ".txt")
# Names under which a service lists the documents that it has read.
WRAPPERS = ("predictions", "documents", "results", "result", "data", "response", "answers")
_IDS = {"doc_id", "id", "document", "document_id", "file", "filename", "file_name", "image"}
# How many rows may stand above a header.
_ABOVE = 20
_BROKEN = (*files.UNPACKABLE, zipfile.BadZipFile, zstd.ZstdError)


class Member(NamedTuple):
    """A file, or a member of an archive: its path in errors, its name in origins, its bytes."""

    where: str
    name: str
    open: Callable[[], BinaryIO]

    @classmethod
    def of(cls, path: Path) -> Member:
        """A file on disk."""
        return cls(str(path), path.name, partial(open_bytes, path))

    def read(self) -> bytes:
        """All of it."""
        with self.open() as stream, _unpacking(self.where):
            return stream.read()

    def text(self) -> str:
        """All of it as text, in UTF-16 if it begins so."""
        with self.lines() as stream:
            return stream.read()

    @contextmanager
    def lines(self) -> Iterator[TextIO]:
        """A stream of its text; `DataBroken` with the line that is no text."""
        with self.open() as stream, _unpacking(self.where):
            start = stream.read(2)
            stream.seek(0)
            encoding = "utf-16" if start in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
            try:
                yield io.TextIOWrapper(stream, encoding, newline="")
            except UnicodeDecodeError as error:
                raise _no_text(self.read(), encoding, self.where) from error


@contextmanager
def _unpacking(where: str) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError:
        raise
    except (OSError, EOFError, zstd.ZstdError) as error:
        raise DataBroken(f"cannot be unpacked: {error}", where=where) from error


def _no_text(data: bytes, encoding: str, where: str) -> DataBroken:
    try:
        data.decode(encoding)
        place = 0
    except UnicodeDecodeError as error:
        place = error.start
    line = data[:place].count(b"\n") + 1
    what = f"not {encoding} text: byte {data[place]:#04x}"
    return DataBroken(what, where=f"{where}:{line}", remedy="save the file as UTF-8")


class _Limited(io.RawIOBase):
    """What is unpacked from a file, up to a multiple of what it is packed in."""

    def __init__(self, stream: BinaryIO, packed: int, where: object) -> None:
        self.stream, self.packed, self.where, self.count = stream, packed, where, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, place: int, whence: int = 0) -> int:
        return self.stream.seek(place, whence)

    def readinto(self, buffer: Any) -> int:
        data = self.stream.read(len(buffer))
        self.count += len(data)
        files.check_unpacked(self.count, self.packed, where=self.where)
        buffer[: len(data)] = data
        return len(data)


def ending(path: str | Path) -> str:
    """The ending of a name in small letters, without that of what it is packed with.

    Examples
    --------
    >>> ending("a.JSON"), ending("a.csv.gz"), ending("a")
    ('.json', '.csv', '')
    """
    name = Path(str(path).lower())
    return (Path(name.stem) if name.suffix in PACKED else name).suffix


def stem(path: Path) -> str:
    """The name of a file without its endings."""
    return Path(path.stem).stem if path.suffix.lower() in PACKED else path.stem


def open_bytes(path: str | Path) -> BinaryIO:
    """The content of a file as a stream, unpacked if it is packed with gzip or zstd.

    `DataMissing` if it is no regular file.
    """
    path = Path(path)
    magic = files.read_bytes(path, 4)
    stream: Any = path.open("rb")
    if magic[:2] == b"\x1f\x8b":
        stream = gzip.GzipFile(fileobj=stream)
    elif magic == b"\x28\xb5\x2f\xfd":
        stream = zstd.ZstdFile(stream)
    else:
        return stream
    return io.BufferedReader(_Limited(stream, path.stat().st_size, path), 1 << 20)


def head(path: str | Path) -> bytes:
    """The first 64 kB of a file's content; empty of what is no file or cannot be unpacked."""
    try:
        with open_bytes(path) as stream:
            return stream.read(_HEAD)
    except (DataMissing, DataBroken, *_BROKEN):
        return b""


def read_bytes(path: str | Path) -> bytes:
    """The content of a file, unpacked."""
    return Member.of(Path(path)).read()


@contextmanager
def open_text(path: str | Path) -> Iterator[TextIO]:
    """The content of a file as a stream of text, line ends as they are."""
    with Member.of(Path(path)).lines() as stream:
        yield stream


def members(path: str | Path) -> dict[str, Member]:
    """The files in a zip archive by name, those packed with zstd too; the last of one name.

    `DataBroken` if it is no zip file or cut short; a member that unpacks to a multiple is one when
    it is opened.
    """
    path = Path(path)
    files.read_bytes(path, 1)
    try:
        with zipfile.ZipFile(path) as archive:
            infos = {info.filename: info for info in archive.infolist() if not info.is_dir()}
    except _BROKEN as error:
        remedy = "a whole copy of it: the list of members stands at a zip file's end"
        raise DataBroken(f"no zip file: {error}", where=path, remedy=remedy) from error
    return {
        name: Member(f"{path}#{name}", name, partial(_unzipped, path, info))
        for name, info in infos.items()
    }


def _unzipped(path: Path, info: Any) -> BinaryIO:
    where = f"{path}#{info.filename}"
    files.check_unpacked(info.file_size, info.compress_size, where=where)
    try:
        with zipfile.ZipFile(path) as archive:
            return io.BytesIO(archive.read(info))
    except _BROKEN as error:
        raise DataBroken(f"cannot be unpacked: {error}", where=where) from error


def decoded(data: bytes | str, kind: type[T], where: object) -> T:
    """JSON as a struct of msgspec, or any type that it knows; `DataBroken` says where it is not.

    Examples
    --------
    >>> decoded(b'{"a": [1]}', dict[str, list[int]], "a.json")
    {'a': [1]}
    >>> decoded(b'{"a": [null]}', dict[str, list[int]], "a.json")
    Traceback (most recent call last):
    ...
    formlab.errors.DataBroken: Expected `int`, got `null` - at `$[...][0]` (a.json)
    """
    try:
        try:
            return msgspec.json.decode(data, type=kind)
        except (msgspec.ValidationError, RecursionError):
            raise
        except (msgspec.DecodeError, UnicodeDecodeError):
            # Half of a surrogate pair, which Python reads, and NaN; other errors name their line.
            text = data if isinstance(data, str) else data.decode("utf-8-sig", "replace")
            return msgspec.convert(files.parse_json(text, where=str(where)), kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise DataBroken(str(error), where=where) from error


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
    if isinstance(value, datetime.time):
        # A spreadsheet that shows 14:05 keeps seconds as well.
        return value.isoformat("auto" if value.second or value.microsecond else "minutes")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=as_text)
    return as_text(value.item()) if hasattr(value, "item") else str(value)


def texts(values: Iterable[Any]) -> pl.Series:
    """Values as texts of a column; half of a surrogate pair is kept as its escape."""
    values = list(values)
    if not set(map(type, values)) <= {str, type(None)}:
        values = list(map(as_text, values))
    try:
        return pl.Series(values, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series(list(map(storable, values)), dtype=pl.String)


@dataclass
class Piece:
    """Some rows as read: a frame, or a dict each, and their origins within the folder `home`.

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
    def rows(self) -> list[Row]:
        """Each row as a dict."""
        return self.cells.to_dicts() if isinstance(self.cells, pl.DataFrame) else self.cells

    def column(self, name: str | None) -> pl.Series | list[Any]:
        """The cells of a column; null where there is none."""
        if isinstance(self.cells, pl.DataFrame):
            known = name in self.cells.columns
            return (
                self.cells[name]
                if known
                else pl.Series([None], dtype=pl.String).new_from_index(0, self.height)
            )
        return [row.get(name) for row in self.cells]

    def where(self, number: int) -> str:
        """The origin of the row of that number, from 0, as an error names it."""
        origin = self.origins[number]
        return str(self.home / origin) if self.home else origin


def items(source: Any, notes: Counter[str] | None = None) -> Iterator[tuple[str, Row, bool]]:
    """Origin and cells, as written, of each row of whatever it is; whether it is a document.

    Examples
    --------
    >>> list(items([{"doc_id": "a", "total": 9}]))
    [('frame, row 1', {'doc_id': 'a', 'total': 9}, False)]
    """
    for piece in pieces(source, Counter() if notes is None else notes):
        for origin, row in zip(piece.origins, piece.rows, strict=True):
            yield origin, row, piece.documents


def pieces(source: Any, notes: Counter[str]) -> Iterator[Piece]:
    """The rows of a path, an address, a frame or mappings in pieces, one at least.

    `DataMissing` or `DataBroken` if there is nothing, or nothing that can be read.
    """
    if isinstance(source, Piece):
        yield source
        return
    if isinstance(source, str | Path):
        yield from _of_path(local(source), notes)
        return
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if isinstance(source, pl.DataFrame):
        yield Piece(source, _numbered(f"{FRAME}, row ", source.height))
    elif type(source).__module__.partition(".")[0] == "pandas":
        yield _framed(_pandas(source))
    elif isinstance(source, Mapping):
        named = {str(name): member for name, member in source.items()}
        yield _of_value(named, None, "object", FRAME)
    else:
        rows = list(source) if isinstance(source, Iterable) else [None]
        if not all(isinstance(row, Mapping) for row in rows):
            what = f"values cannot be read from {type(source).__name__}"
            raise DataBroken(what, remedy="a path, a polars or pandas frame, or a list of dicts")
        yield _framed({str(name): cell for name, cell in row.items()} for row in rows)


def whole(source: Any, notes: Counter[str]) -> Piece:
    """The rows of a source as one piece."""
    several = list(pieces(source, notes))
    if len(several) == 1:
        return several[0]
    first = several[0]
    if isinstance(first.cells, pl.DataFrame):
        cells: Any = pl.concat([piece.cells for piece in several])
    else:
        cells = list(chain.from_iterable(piece.cells for piece in several))
    origins = pl.concat([piece.origins for piece in several])
    return Piece(cells, origins, first.home, first.documents)


def columns_of(source: Any) -> list[str]:
    """The names of a source's columns by its first rows; those of a document's members too."""
    return next(pieces(source, Counter())).names


def _numbered(before: str, numbers: int | Iterable[int], start: int = 1) -> pl.Series:
    numbers = range(start, start + numbers) if isinstance(numbers, int) else numbers
    return pl.Series([f"{before}{number}" for number in numbers], dtype=pl.String)


def _framed(rows: Iterable[Row]) -> Piece:
    rows = list(rows)
    return Piece(rows, _numbered(f"{FRAME}, row ", len(rows)))


def _pandas(frame: Any) -> Iterator[Row]:
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise DataBroken(f"two columns are called {twice!r}", remedy="rename one")
    if frame.index.name is not None and frame.index.name not in frame.columns:
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    # What is missing is NaN, NaT or NA by its dtype; all of them are null here.
    filled = frame.astype(object).where(frame.notna(), None)
    return (dict(zip(names, row, strict=True)) for row in filled.itertuples(index=False, name=None))


def kind(path: Path) -> str:
    """What a file holds by its first bytes, and by its ending where they do not tell.

    One of delimited, lines, json, parquet, workbook, zip, text; empty if none of them.

    Examples
    --------
    >>> kind(Path("absent.parquet"))
    'parquet'
    """
    start, end = head(path), ending(path)
    if start[:4] == b"PAR1" or end == ".parquet":
        return "parquet"
    if end in workbook.ENDINGS or workbook.is_one(start, path):
        return "workbook"
    if start[:4] == b"PK\x03\x04" or end == ".zip":
        return "zip"
    encoding = "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = start.decode(encoding, "replace").lstrip()
    first, newline, rest = text.partition("\n")
    if end in JSON_LINES:
        return "lines"
    if text[:1] in ("{", "[") and end not in DELIMITED:
        return "lines" if rest.strip() and first[:1] == "{" and _is_json(first) else "json"
    if end == ".json":
        return "json"
    if end in DELIMITED or (newline and "\0" not in text and any(map(first.count, ",;\t"))):
        return "delimited"
    return "text" if end == ".txt" else ""


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _of_path(path: Path, notes: Counter[str]) -> Iterator[Piece]:
    if not os.path.exists(path):
        raise DataMissing("no such file or folder", where=path, remedy="check the path")
    if path.is_dir():
        yield from _of_members(list(folder_files(path)), path, notes)
        return
    form, member = kind(path), Member.of(path)
    if form == "zip":
        inside = [each for name, each in members(path).items() if not _is_hidden(name)]
        yield from _of_members(inside, path, notes)
    elif form == "parquet":
        yield from _parquet(path)
    elif form in _READ:
        yield from _READ[form](member, path.parent, notes)
    else:
        raise DataBroken(
            f"values cannot be read from {ending(path) or 'this file'}", where=path,
            remedy=f"a folder of JSON files, or one of: {', '.join(KNOWN)}",
        )  # fmt: skip


def folder_files(folder: Path) -> Iterator[Member]:
    """The files in a folder in any depth, in order, but hidden ones."""
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if not _is_hidden(name) and file.is_file():
            yield Member(str(file), name, partial(open_bytes, file))


def _is_hidden(name: str) -> bool:
    return any(step.startswith((".", "__MACOSX")) for step in name.split("/"))


def document_files(named: Iterable[Member]) -> list[Member]:
    """Those with a document each: the JSON files; where there are none, the texts."""
    by_ending: dict[str, list[Member]] = {end: [] for end in DOCUMENTS}
    for member in named:
        by_ending.setdefault(ending(member.name), []).append(member)
    return by_ending[".json"] or by_ending[".txt"]


def _of_members(named: list[Member], home: Path, notes: Counter[str]) -> Iterator[Piece]:
    """A document for each JSON file, called by its name, by its path if need be; or a table."""
    documents = document_files(named)
    listed = [member for member in named if ending(member.name) in TABLES]
    if not documents and len(listed) == 1:
        (table,) = listed
        end = ending(table.name)
        form = "lines" if end in JSON_LINES else "delimited" if end in DELIMITED else "workbook"
        read = _parquet_member if end == ".parquet" else _READ[form]
        yield from read(table, home, notes)
        return
    if not documents:
        what = "no JSON files in this folder"
        if listed:
            what += f", and several tables: {', '.join(m.name for m in listed[:5])}"
        raise DataBroken(what, where=home, remedy="one JSON file a document, or a table")
    stems = {stem(Path(member.name)) for member in documents}
    is_plain = len(stems) == len(documents)
    for start in range(0, len(documents), _FILES):
        rows, origins = [], []
        for member in documents[start : start + _FILES]:
            path = Path(member.name)
            doc_id = stem(path) if is_plain else path.with_name(stem(path)).as_posix()
            rows.append({"doc_id": doc_id} | _document(member))
            origins.append(member.name)
        yield Piece(rows, texts(origins), home, documents=True)


def _document(member: Member) -> Row:
    """The members of a document's file; the text of what is more or less than JSON at ``/``."""
    data = member.read()
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = data.decode("utf-16" if wide else "utf-8-sig", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
        is_number = text.strip()[:1] in "{[" and not _fails(text)
        if not is_number:
            return {"/": text}
    if value is not None and arguments(value) is not None:
        return {"/": text}
    value = files.parse_json(text, where=member.where, as_written=True, once=True)
    if isinstance(value, list):
        return {f"/{index}": item for index, item in enumerate(value)}
    if not isinstance(value, dict):
        what = f"a JSON object is expected, this is {type(value).__name__}"
        raise DataBroken(what, where=member.where, remedy="one object of fields a file")
    return value


def _fails(text: str) -> bool:
    """Whether a text is no JSON, even with numbers of thousands of digits as texts."""
    try:
        files.parse_json(text, where="", as_written=True)
    except DataBroken:
        return True
    return False


def _json(member: Member, home: Path, notes: Counter[str]) -> Iterator[Piece]:
    text = member.text()
    value = files.parse_json(text, where=member.where, as_written=True, once=True)
    yield _of_value(value, home, member.name, stem(Path(member.name)))


def _of_value(value: Any, home: Path | None, name: str, document: str) -> Piece:
    """One JSON value: a list of rows, a document for each key, or one document."""
    where = str(home / name) if home else None
    if isinstance(value, dict):
        inside = [(key, inner) for key, inner in value.items() if key.lower() in WRAPPERS]
        if len(inside) == 1:
            key, inner = inside[0]
            if _are_documents(inner):
                return Piece(inner, _numbered(f"{name}#/{key}/", len(inner), 0), home)
            if (
                isinstance(inner, dict)
                and inner
                and all(isinstance(v, dict) for v in inner.values())
            ):
                value = inner
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return Piece(value, _numbered(f"{name}#/", len(value), 0), home)
    if not isinstance(value, dict) or not value:
        what = "a list of objects or an object of documents is expected"
        raise DataBroken(what, where=where, remedy='such as {"scan_1": {"total": "9.00"}}')
    if all(isinstance(document, dict) for document in value.values()):
        origins = texts(f"{name}#/{key}" for key in value)
        return Piece([{"doc_id": key} | row for key, row in value.items()], origins, home,
                     documents=True)  # fmt: skip
    return Piece([{"doc_id": document} | value], texts([name]), home, documents=True)


def _are_documents(rows: Any) -> bool:
    """Whether these are objects of which each names its document."""
    each = isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows)
    return bool(each) and all(_IDS & row.keys() for row in rows)


def _lines(member: Member, home: Path, notes: Counter[str]) -> Iterator[Piece]:
    """JSON lines, their numbers as they are written."""
    scan, start, count = files.AS_WRITTEN.scan_once, 1, 0
    # Only newlines end a line: a value may hold U+2028 or a form feed unescaped.
    with member.lines() as stream:
        stream.reconfigure(newline="\n")
        while lines := list(islice(stream, _ROWS)):
            numbered = [(n, text) for n, text in enumerate(lines, start) if text.strip()]
            rows = _objects(scan, [text for _, text in numbered])
            rows = rows or [_object(member.where, n, text) for n, text in numbered]
            numbers = (number for number, _ in numbered)
            yield Piece(rows, _numbered(f"{member.name}:", numbers), home)
            start, count = start + len(lines), count + len(rows)
    if not count:
        raise DataBroken("the file is empty", where=member.where, remedy="one JSON object a line")


def _objects(scan: Callable[[str, int], tuple[Any, int]], lines: list[str]) -> list[Row] | None:
    """The objects of lines; null if some need a closer look."""
    try:
        pairs = [scan(line, 0) for line in lines]
    except (StopIteration, ValueError, RecursionError):
        return None
    rest = {line[end:] for line, (_, end) in zip(lines, pairs, strict=True)}
    rows = [row for row, _ in pairs]
    return rows if rest <= {"\n", "\r\n", ""} and set(map(type, rows)) <= {dict} else None


def _object(where: str, number: int, line: str) -> Row:
    line = line.removesuffix("\n")
    value = files.parse_json(line, where=where, first_line=number, as_written=True, once=True)
    if not isinstance(value, dict):
        what = f"a JSON object is expected, this is a {type(value).__name__}"
        remedy = 'one object a line, such as {"doc_id": "1", "text": "…"}'
        raise DataBroken(what, where=f"{where}:{number}", remedy=remedy)
    return value


def _parquet(path: Path) -> Iterator[Piece]:
    """The table of a Parquet file in pieces."""
    start = 1
    try:
        lazy = pl.scan_parquet(path, glob=False)
        frame = pl.DataFrame(schema=lazy.collect_schema())
        for frame in lazy.collect_batches(chunk_size=_ROWS, maintain_order=True):
            yield Piece(frame, _numbered(f"{path.name}, row ", frame.height, start), path.parent)
            start += frame.height
        if start == 1:
            yield Piece(frame, _numbered("", 0), path.parent)
    except (pl.exceptions.PolarsError, OSError) as error:
        first = str(error).splitlines()[0]
        raise DataBroken(f"not a readable Parquet file: {first}", where=path) from error


def _parquet_member(member: Member, home: Path, notes: Counter[str]) -> Iterator[Piece]:
    try:
        frame = pl.read_parquet(io.BytesIO(member.read()))
    except (pl.exceptions.PolarsError, OSError) as error:
        first = str(error).splitlines()[0]
        raise DataBroken(f"not a readable Parquet file: {first}", where=member.where) from error
    yield Piece(frame, _numbered(f"{member.name}, row ", frame.height), home)


def _delimited(member: Member, home: Path, notes: Counter[str]) -> Iterator[Piece]:
    """The rows of delimited text that are not blank, each with the line that it begins in."""
    with member.lines() as stream:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        start = stream.read(_HEAD).lstrip("\ufeff \r\n").partition("\n")[0]
        stream.seek(0)
        # Spreadsheets of many countries write semicolons.
        is_tabbed = ending(member.name) in (".tsv", ".tab")
        delimiter = "\t" if is_tabbed else max(",;\t", key=start.count)
        reader = csv.reader(_checked(stream, member.where), delimiter=delimiter, strict=True)
        yield from _table(_numbered_rows(reader, member.where, size), member, home, notes)


def _numbered_rows(reader: Any, where: str, size: int) -> Iterator[tuple[int, list[str]]]:
    line = 1
    try:
        with files.csv_cells(size):
            for cells in reader:
                if any(cells):
                    yield line, cells
                line = reader.line_num + 1
    except csv.Error as error:
        remedy = "quote what holds a quotation mark or the delimiter"
        raise DataBroken(f"not a table: {error}", where=f"{where}:{line}", remedy=remedy) from error


def _checked(lines: Iterable[str], where: str) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if "\0" in line:
            raise DataBroken("a NUL byte: this is no text", where=f"{where}:{number}")
        yield line


def _workbook(member: Member, home: Path, notes: Counter[str]) -> Iterator[Piece]:
    yield from _table(iter(workbook.rows(member.read(), member.where, notes)), member, home, notes)


def _table(
    numbered: Iterator[tuple[int, list[Any]]], member: Member, home: Path, notes: Counter[str]
) -> Iterator[Piece]:
    """The rows under the header of a table, which lines of a title may stand above."""
    is_book = ending(member.name) in workbook.ENDINGS
    place = ", row " if is_book else ":"
    above = list(islice(numbered, _ABOVE))
    if not above:
        raise DataBroken(
            "the file is empty", where=member.where, remedy="a header and one row a value"
        )
    title = _titles([cells for _, cells in above])
    if title:
        notes["rows above the header, left out as a title"] += title
    header = Header.of(above[title][1], f"{member.where}{place}{above[title][0]}", notes)
    numbered, count = chain(above[title + 1 :], numbered), 0
    while some := list(islice(numbered, _ROWS)):
        for number, cells in some:
            if len(cells) != header.width:
                header.fit(cells, f"{member.where}{place}{number}", notes, is_book=is_book)
        columns = list(zip(*(cells for _, cells in some), strict=True))
        frame = {name: columns[index] for index, name in header.named}
        origins = _numbered(f"{member.name}{place}", [number for number, _ in some])
        count += len(some)
        yield Piece(_filled(frame, len(some), is_text=not is_book), origins, home)
    if not count:
        raise DataBroken("the file has no rows", where=member.where, remedy="one row a value")


def _filled(columns: dict[str, Any], height: int, *, is_text: bool) -> pl.DataFrame | list[Row]:
    if is_text:
        frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
        return frame.with_columns(pl.all().replace("", None)) if columns else frame
    filled = [[None if cell == "" else cell for cell in cells] for cells in columns.values()]
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*filled, strict=True)]


def _titles(rows: list[list[Any]]) -> int:
    """How many of the first rows stand above the header: one text, above rows of several."""
    filled = [{str(cell).strip() for cell in cells} - {""} for cells in rows]
    if max(map(len, filled)) < 2:
        return 0
    first = next(n for n, cells in enumerate(filled) if len(cells) > 1)
    # Lines such as "Date: | 2024-05-01" stand above a header that names the documents.
    if not _names_documents(filled[first]):
        for n, cells in enumerate(filled[first + 1 :], start=first + 1):
            if len(cells) > len(filled[first]) == 2 and _names_documents(cells):
                return n
    return first


def _names_documents(cells: set[str]) -> bool:
    return not _IDS.isdisjoint(cell.lower() for cell in cells)


class Header(NamedTuple):
    """How many columns a table has, and the place and name of each that has one."""

    width: int
    named: list[tuple[int, str]]

    @classmethod
    def of(cls, cells: list[Any], where: str, notes: Counter[str]) -> Header:
        """The columns of a header; `DataBroken` if two have one name."""
        header = [str(cell).strip() for cell in cells]
        while header and not header[-1]:
            header.pop()
        named = [(index, name) for index, name in enumerate(header) if name]
        notes["columns without a name, left out"] += len(header) - len(named)
        counts = Counter(name for _, name in named)
        if twice := [name for name, count in counts.items() if count > 1]:
            remedy = "rename one; the names of the columns stand in the first row of the table"
            raise DataBroken(f"two columns are called {twice[0]!r}", where=where, remedy=remedy)
        return cls(len(header), named)

    def fit(self, cells: list[Any], where: str, notes: Counter[str], *, is_book: bool) -> None:
        """Make a row as long as the header; `DataBroken` if cells beyond it are not blank."""
        if any(cell != "" for cell in cells[self.width :]):
            what = f"{len(cells)} cells, and {self.width} in the header"
            remedy = "quote cells that hold the delimiter"
            if is_book:
                remedy = "a name above each column, in one row above the values"
            raise DataBroken(what, where=where, remedy=remedy)
        notes["rows shorter than their header"] += len(cells) < self.width
        cells[self.width :] = [""] * (self.width - len(cells))


_READ: dict[str, Callable[[Member, Path, Counter[str]], Iterator[Piece]]] = {
    "delimited": _delimited, "lines": _lines, "json": _json, "workbook": _workbook,
}  # fmt: skip
