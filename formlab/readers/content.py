"""The content of files: unpacked, of archives, as text, as structs, and values as text."""

from __future__ import annotations

import datetime
import gzip
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, TypeVar

import msgspec

from formlab import files
from formlab.errors import DataBroken, DataMissing

if sys.version_info >= (3, 14):
    import zipfile

    from compression import zstd
else:
    from backports import zstd
    from backports.zstd import zipfile

T = TypeVar("T")
_HEAD = 65_536
_PACKED = (".gz", ".zst")
WIDE = (b"\xff\xfe", b"\xfe\xff")
_BROKEN = (*files.UNPACKABLE, zipfile.BadZipFile, zstd.ZstdError)


class Member(NamedTuple):
    """A file, or a member of an archive: its path for errors, its name, what opens its bytes."""

    where: str
    name: str
    open: Callable[[], BinaryIO]

    @classmethod
    def of(cls, path: Path, name: str | None = None) -> Member:
        """A file on disk."""
        return cls(str(path), name or path.name, partial(_open, path))

    def read(self) -> bytes:
        """All of it."""
        with self.open() as stream:
            return stream.read()

    @contextmanager
    def text(self) -> Iterator[TextIO]:
        """Its text, line ends as they are; `DataBroken` where it is none or cannot be unpacked."""
        try:
            with self.open() as stream:
                encoding = "utf-16" if stream.peek(2)[:2] in WIDE else "utf-8-sig"
                yield io.TextIOWrapper(stream, encoding, newline="")
        except UnicodeDecodeError:
            place, data = 0, self.read()
            try:
                data.decode(encoding)
            except UnicodeDecodeError as error:
                place = error.start
            line = data[:place].count(b"\n") + 1
            what = f"not {encoding} text: byte {data[place]:#04x}"
            remedy = "save the file as UTF-8"
            raise DataBroken(what, where=f"{self.where}:{line}", remedy=remedy) from None
        except (EOFError, gzip.BadGzipFile, zstd.ZstdError) as error:
            raise DataBroken(f"cannot be unpacked: {error}", where=self.where) from error


class _Unpacked(io.RawIOBase):
    """What is unpacked from a file, up to a multiple of what it is packed in."""

    def __init__(self, stream: Any, path: Path) -> None:
        self.stream, self.path, self.count = stream, path, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.stream.read(len(buffer))
        self.count += len(data)
        files.check_unpacked(self.count, self.path.stat().st_size, where=self.path)
        buffer[: len(data)] = data
        return len(data)


def _open(path: Path) -> BinaryIO:
    magic = files.read_bytes(path, 4)
    unpack = {b"\x1f\x8b": gzip.open, b"\x28\xb5": zstd.open}.get(magic[:2])
    return io.BufferedReader(_Unpacked(unpack(path), path), 2**20) if unpack else path.open("rb")


def ending(path: str | Path) -> str:
    """The ending of a name in small letters, without that of what it is packed with.

    Examples
    --------
    >>> ending("a.JSON"), ending("a.csv.gz"), ending("a")
    ('.json', '.csv', '')
    """
    return Path(_unpacked(str(path).lower())).suffix


def stem(path: str | Path) -> str:
    """The name of a file without its folders and endings."""
    return Path(_unpacked(str(path))).stem


def _unpacked(name: str) -> str:
    return name[: name.rindex(".")] if name.lower().endswith(_PACKED) else name


def head(path: str | Path) -> bytes:
    """The first 64 kB of a file's content, unpacked; empty of what is no file."""
    try:
        with _open(Path(path)) as stream:
            return stream.read(_HEAD)
    except (DataMissing, DataBroken, *_BROKEN):
        return b""


def read_bytes(path: str | Path) -> bytes:
    """The content of a file, unpacked from gzip or zstd."""
    try:
        return Member.of(Path(path)).read()
    except (EOFError, OSError, zstd.ZstdError) as error:
        raise DataBroken(f"cannot be unpacked: {error}", where=path) from error


def written(path: str | Path) -> str:
    """The text of a file as a model or tool wrote it, perhaps cut inside a character."""
    return read_bytes(path).decode("utf-8-sig", "replace")


@contextmanager
def open_text(path: str | Path) -> Iterator[TextIO]:
    """The content of a file as a stream of text, UTF-16 if it begins so, line ends as they are."""
    with Member.of(Path(path)).text() as stream:
        yield stream


def members(path: str | Path) -> dict[str, Member]:
    """The files in a zip archive by name, those packed with zstd too; the last of one name.

    `DataBroken` if it is no zip file or cut short, and when a member is opened that is damaged or
    unpacks to far more than it is packed in.
    """
    path = Path(path)
    files.read_bytes(path, 1)
    try:
        # Open as long as its members are: to read the list again for each takes its square.
        archive = zipfile.ZipFile(path)
    except _BROKEN as error:
        remedy = "a whole copy of it: the list of members stands at a zip file's end"
        raise DataBroken(f"no zip file: {error}", where=path, remedy=remedy) from error
    infos = {info.filename: info for info in archive.infolist() if not info.is_dir()}
    return {
        name: Member(f"{path}#{name}", name, partial(_unzipped, archive, info, f"{path}#{name}"))
        for name, info in infos.items()
    }


def _unzipped(archive: Any, info: Any, where: str) -> BinaryIO:
    files.check_unpacked(info.file_size, info.compress_size, where=where)
    try:
        return io.BufferedReader(io.BytesIO(archive.read(info)))
    except _BROKEN as error:
        raise DataBroken(f"cannot be unpacked: {error}", where=where) from error


def decoded(data: bytes | str, kind: type[T], where: object) -> T:
    """JSON as a struct of msgspec, or any type that it knows; `DataBroken` says where it is not.

    Examples
    --------
    >>> decoded(b'{"a": [null]}', dict[str, list[int]], "a.json")
    Traceback (most recent call last):
    ...
    formlab.errors.DataBroken: Expected `int`, got `null` - at `$[...][0]` (a.json)
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise DataBroken(str(error), where=where) from error
    except (msgspec.DecodeError, UnicodeError):
        # Python reads half of a surrogate pair and NaN, and names the line of other errors.
        text = data if isinstance(data, str) else data.decode("utf-8-sig", "replace")
        value = files.parse_json(text, where=str(where))
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
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
        # A spreadsheet's date is a time at midnight, and its 14:05 has seconds.
        midnight = value.time() == datetime.time() and value.tzinfo is None
        return (value.date() if midnight else value).isoformat()
    if isinstance(value, datetime.time):
        return value.isoformat("auto" if value.second or value.microsecond else "minutes")
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return as_text(value.item()) if hasattr(value, "item") else str(value)


def number(value: Any, part: float = 1) -> float | None:
    """A number, a text of one or a truth value, divided by `part`; null for all else.

    >>> number("7"), number(95, 100), number(True), number("n/a"), number("1e999")
    (7.0, 0.95, 1.0, None, None)
    """
    try:
        found = float(value) / part
    except (TypeError, ValueError, OverflowError):
        return None
    # No page, width or score is larger.
    return found if abs(found) < 2.0**53 else None
