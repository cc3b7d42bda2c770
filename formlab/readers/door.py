"""What is in a file: unpacked, of archives, as text, as structs; and values as text."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO

from formlab import files
from formlab.errors import DataBroken, FormlabError

if sys.version_info >= (3, 14):
    import zipfile

    from compression import zstd
else:
    from backports import zstd
    from backports.zstd import zipfile

LOOKED_AT = 20  # Files of a folder, or rows, to tell what they are.
_PACKED = re.compile(r"\.(gz|zst)$", re.IGNORECASE)
_UNPACK = {b"\x1f\x8b": gzip.open, b"\x28\xb5": zstd.open}
# Names of columns, endings of files and patterns, by table and formlab's own name.
NAMES = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
PATTERNS = {of: [*map(re.compile, p.values())] for of, p in NAMES.pop("patterns").items()}
NAMES = {t: {name: of.split() for name, of in names.items()} for t, names in NAMES.items()}
# What files hold by their endings, of those with a row a line first.
FORMS = {ending: form for form, endings in NAMES["forms"].items() for ending in endings}
TABLES = tuple(FORMS)[:-2]  # All but JSON and archives.
_BEGINS = {b"PAR1": "parquet", b"PK\x03\x04": "zip", b"\xd0\xcf\x11\xe0": "workbook"}
_OF_WORKBOOKS = (b"[Content_Types].xml", b"xl/workbook", b"xl/worksheets/")  # First parts.


class Member(NamedTuple):
    """A file, or a member of an archive: its path for errors, its name, and what opens it."""

    where: str
    name: str
    opened: Callable[[], BinaryIO]
    packed: int | None = None  # Its bytes, if they are packed.

    @classmethod
    def of(cls, path: str | Path, name: str | None = None) -> Member:
        """A file on disk."""
        unpack = _UNPACK.get(files.read_bytes(path, 2))
        size = os.path.getsize(path) if unpack else None
        return cls(str(path), name or Path(path).name, partial(unpack or open, path, "rb"), size)

    def read(self, count: int = -1) -> bytes:
        """The first `count` of its bytes, or all; `DataBroken` if damaged, or too many unpacked."""
        # A small file of another's can unpack to anything. Texts are packed to a hundredth at most.
        most = max(20_000_000, min(1_000_000_000, 500 * (self.packed or 0)))
        try:
            with self.opened() as stream:
                data = stream.read(most + 1 if count < 0 and self.packed is not None else count)
        except Exception as error:  # Each way of packing has errors of its own.
            raise DataBroken(f"cannot be unpacked: {error}", where=self.where) from error
        if self.packed is not None and len(data) > most:
            what = f"a member that unpacks from {self.packed} to {most} bytes"
            raise DataBroken(what, where=self.where)
        return data

    @contextmanager
    def text(self) -> Iterator[TextIO]:
        """Its text, UTF-16 if it begins so, line ends as they are; `DataBroken` if it is none."""
        with self.opened() if self.packed is None else io.BytesIO(self.read()) as stream:
            encoding = _encoding(stream.read(2))
            stream.seek(0)
            try:
                yield io.TextIOWrapper(stream, encoding, newline="")
            except UnicodeDecodeError:
                # The error of a stream counts from the start of a piece of it.
                files.decoded(self.read(), where=self.where, encodings=(encoding,))
                raise


def _encoding(start: bytes) -> str:
    # Some programs leave out the mark of UTF-16.
    unmarked = "utf-16-le" if start[1:2] == b"\0" else "utf-8-sig"
    return "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else unmarked


def members(path: str | Path, data: BinaryIO | None = None) -> dict[str, Member]:
    """The files in a zip archive by name, those packed with zstd too; the last of one name."""
    file = data or Member.of(path).where
    try:
        # Open as long as its members are: to read the list again for each takes its square.
        archive = zipfile.ZipFile(file)
    except Exception as error:
        raise DataBroken(f"no zip file: {error}", where=path, remedy="a whole copy") from error
    infos = (info for info in archive.infolist() if not info.is_dir())
    named = ((info.filename, partial(archive.open, info), info.compress_size) for info in infos)
    return {name: Member(f"{path}#{name}", name, *how) for name, *how in named}


def document_files(path: Path) -> list[Member]:
    """The files of a folder or archive with a document each: JSON, else texts; else its tables."""
    if path.is_dir():
        paths = (file for file in sorted(path.rglob("*")) if file.is_file())
        found = [Member.of(file, file.relative_to(path).as_posix()) for file in paths]
    else:
        found = list(members(path).values())
    found = [m for m in found if not any(s[:1] in ("", ".") for s in m.name.split("/"))]
    for endings in ((".json",), (".txt",), (".md",), TABLES):
        if named := [member for member in found if ending(member.name) in endings]:
            return named
    endings = sorted({ending(member.name) or member.name for member in found})
    what = f"no JSON files in this folder, but {' '.join(endings)[:80] or 'nothing'}"
    remedy = "a JSON file a document, or a table; formlab run … --images reads scans and PDFs"
    raise DataBroken(what, where=path, remedy=remedy)


def ending(path: str | Path) -> str:
    """The ending of a name in small letters, without that of what it is packed with."""
    return Path(_PACKED.sub("", str(path).lower())).suffix


def stem(path: str | Path) -> str:
    """The name of a file without its folders and endings."""
    return Path(_PACKED.sub("", str(path))).stem


def head(path: str | Path) -> bytes:
    """The first 64 kB of a file's content, unpacked; empty of what cannot be read."""
    with suppress(FormlabError, OSError):
        return Member.of(path).read(2**16)
    return b""


def marked(path: Path, endings: Iterable[str], mark: str, pattern: str = "**/*") -> list[Path]:
    """The files so ending of a folder, or one, if `mark` is at the start of one of the first."""
    below = sorted(path.glob(pattern)) if path.is_dir() else [path]
    found = [file for file in below if file.name[0] != "." and ending(file) in endings]
    return found if any(re.search(mark.encode(), head(f)) for f in found[:LOOKED_AT]) else []


def kind(name: str | Path, start: bytes | None = None) -> str:
    """What a file holds, a value of `FORMS`, by its first bytes or ending; empty if unknown."""
    start = head(name) if start is None else start
    form, found = FORMS.get(ending(name), ""), _BEGINS.get(start[:4])
    if found:
        is_workbook = form == "workbook" or any(part in start for part in _OF_WORKBOOKS)
        return "workbook" if found == "zip" and is_workbook else found
    text = start.decode(_encoding(start), "replace").lstrip()
    if text[:1] in ("{", "[") and form != "delimited":
        # Of one object that is written over several lines the first is its bracket alone.
        is_row = re.match(r"\{[ \t]*\S" if form == "lines" else r"\{.*\}[ \t\r]*\n\s*\{", text)
        return "lines" if is_row else "json"
    first, newline, _ = text.partition("\n")
    is_table = newline and "\0" not in text and any(map(first.count, ",;\t|"))
    # Some programs call any table a workbook.
    return "delimited" if is_table and form in ("", "workbook") else form


def written(path: str | Path) -> str:
    """The text of a file as a model or tool wrote it, perhaps cut inside a character."""
    return Member.of(path).read().decode("utf-8-sig", "replace")


def decoded(data: bytes | str, kind: type[files.T], where: object) -> files.T:
    """JSON as a struct of msgspec, or any type that it knows; `DataBroken` says where it is not."""
    text = data if isinstance(data, str) else data.decode("utf-8-sig", "replace")
    return files.parse_json(text, kind, where=str(where))


def as_text(value: Any) -> str | None:
    """A value as text: whole numbers without a point, dates as ISO 8601, null as null."""
    # What is missing in a frame (NaN, NaT) is not itself.
    if value is None or isinstance(value, str) or value != value:
        return value if isinstance(value, str) else None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        # As spreadsheets show it: the sum of 80.1 and 8.1 is 88.2.
        return format(value, ".0f" if value.is_integer() and abs(value) < 2**53 else ".15g")
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    if hasattr(value, "isoformat"):
        # A spreadsheet's date is a time at midnight, and its 14:05 has seconds.
        return re.sub("T00:00:00$|(?<=^..:..):00$", "", value.isoformat())
    return as_text(value.item()) if hasattr(value, "item") else str(value)


def at(value: Any, *names: str) -> Any:
    """The member of a member and so on, by names in camelCase or snake_case; None where none is."""
    for name in names:
        if value is not None:
            inner = value.get(name)
            value = value.get(re.sub("(?=[A-Z])", "_", name).lower()) if inner is None else inner
    return value
