"""Reading and writing: every read error names its file and line, every write is atomic."""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import json
import lzma
import os
import re
import secrets
import shutil
import stat
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from formlab.errors import DataBroken, DataMissing, NotAvailable

try:
    import fcntl
except ImportError:  # Windows has none, and does not let an open file be removed.
    fcntl = None

# What a member of a damaged archive raises.
UNPACKABLE = (
    LookupError, OSError, EOFError, ValueError, RuntimeError, NotImplementedError,
    zipfile.BadZipFile, zlib.error, lzma.LZMAError,
)  # fmt: skip

# How many rows of a Parquet file stand together.
_ROW_GROUP = 2**18
_T = TypeVar("_T")
# The most bytes of a file that are read at once, and how deep JSON may be nested.
LARGEST, DEEPEST = 2**31, 200
# There is no room, or only to read.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
# Not to wait for whoever writes into a pipe; elsewhere, not to read lines as text.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
_STEPS = bytes.maketrans(b"[{]}", b"\1\1\xff\xff")


@cache
def version() -> str:
    """The installed version of formlab.

    Examples
    --------
    >>> version().count(".")
    2
    """
    return metadata.version("formlab")


def cache_folder() -> Path:
    """The cache folder: FORMLAB_CACHE, else formlab's folder in the user's cache."""
    chosen = os.environ.get("FORMLAB_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(chosen) if chosen else Path(base) / "formlab"


def folder(path: str | Path, *, remedy: str) -> Path:
    """`path`, if it is a folder; else `DataMissing` with `remedy`."""
    path = Path(path)
    if not path.is_dir():
        raise DataMissing("no such folder", where=path, remedy=remedy)
    return path


def read_text(path: str | Path, *, encodings: tuple[str, ...] = ("utf-8-sig",)) -> str:
    """The text of a file, in the first of `encodings` that reads it."""
    data, position = read_bytes(path), 0
    for encoding in encodings:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            position = error.start
    line = data[:position].count(b"\n") + 1
    raise DataBroken(
        f"not {' or '.join(encodings)} text: byte {data[position]:#04x}",
        where=f"{path}:{line}",
        remedy="save the file as UTF-8",
    )


def read_bytes(path: str | Path, count: int = -1) -> bytes:
    """The first `count` bytes of a file, else all of them.

    Raises
    ------
    DataMissing, DataBroken
        If there is no such file, it is no regular one, or has more bytes than `LARGEST`.
    """

    def read(handle: int, state: os.stat_result) -> bytes:
        if count >= 0:
            return os.read(handle, count)
        if state.st_size > LARGEST:
            what = f"{state.st_size} bytes, at most {LARGEST} are read at once"
            raise DataBroken(what, where=path, remedy="cut it into smaller files")
        most = max(state.st_size + 1, 1 << 16)
        first = os.read(handle, most)
        if len(first) == state.st_size:
            return first
        # A file may be longer than it says, as those of the kernel are.
        return b"".join([first, *iter(lambda: os.read(handle, most), b"")])

    return opened(path, read)


def opened(path: str | Path, use: Callable[[int, os.stat_result], _T]) -> _T:
    """What `use` makes of a regular file that is open for reading.

    It gets the system's number of it and its state: an object takes longer to set up than a small
    file to be read. `DataMissing` for a pipe, a device, a folder or nothing.
    """
    try:
        handle = os.open(path, _READ)
        try:
            if not stat.S_ISREG((state := os.fstat(handle)).st_mode):
                what = "a folder" if stat.S_ISDIR(state.st_mode) else "not a regular file"
                raise DataMissing(what, where=path, remedy="check the path")
            return use(handle, state)
        finally:
            os.close(handle)
    except FileNotFoundError as error:
        raise DataMissing("no such file", where=path, remedy="check the path") from error
    except OSError as error:
        raise DataMissing(f"cannot be read: {error.strerror}", where=path) from error
    # A name with a zero character, or with half a character.
    except ValueError as error:
        raise DataMissing(f"no name of a file: {error}", where=repr(str(path))[:200]) from error


def is_file(path: str | Path) -> bool:
    """Whether there is a regular file; False for names that no file can have, too.

    Examples
    --------
    >>> is_file("x" * 10_000), is_file("a\\0b"), is_file(__file__)
    (False, False, True)
    """
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def parse_json(
    text: str, *, where: str, first_line: int = 1, as_written: bool = False, once: bool = False
) -> Any:
    """The value of a JSON text; an error names `where`, line and column.

    With `as_written`, a number is the text that it is written as: 9.00 stays. With `once`, an
    object that has a name twice, of which one value would be lost, is an error too.

    Examples
    --------
    >>> parse_json('{"a": }', where="x.json")
    Traceback (most recent call last):
    ...
    formlab.errors.DataBroken: broken JSON, Expecting value at column 7 (x.json:1). Try: mend that \
line
    """
    kept: dict[str, Any] = {"parse_float": str, "parse_int": str} if as_written else {}
    kept |= {"object_pairs_hook": _named_once} if once else {}
    check_depth(text, where, first_line)
    try:
        return json.loads(text, **kept)
    except json.JSONDecodeError as error:
        raise DataBroken(
            f"broken JSON, {error.msg} at column {error.colno}",
            where=f"{where}:{error.lineno + first_line - 1}",
            remedy="mend that line",
        ) from error
    except _TwiceError as error:
        line = "" if "\n" in text.strip() else f":{first_line}"
        raise DataBroken(str(error), where=f"{where}{line}", remedy="keep one of them") from error
    except ValueError as error:
        # Python reads no integer of more than some thousand digits.
        long = re.search(rf"\d{{{sys.get_int_max_str_digits() + 1}}}", text)
        line = text.count("\n", 0, long.start() if long else 0) + first_line
        what = f"broken JSON: an integer of more than {sys.get_int_max_str_digits()} digits"
        raise DataBroken(what, where=f"{where}:{line}", remedy="mend that line") from error


class _TwiceError(ValueError):
    """An object has a name twice."""


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = next(name for name, n in Counter(name for name, _ in pairs).items() if n > 1)
        raise _TwiceError(f"an object has the name {twice[:80]!r} twice")
    return members


# Reads numbers as they are written, and no name twice.
AS_WRITTEN = json.JSONDecoder(object_pairs_hook=_named_once, parse_float=str, parse_int=str)


def check_depth(text: str, where: str, first_line: int) -> None:
    """`DataBroken` if lists and objects stand in more than `DEEPEST` others."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    # Every other piece between quotation marks is a text, in which brackets mean nothing.
    plain = text.encode("utf-8", "replace").replace(rb"\\", b"").replace(rb"\"", b"")
    pieces = plain.split(b'"')[::2]
    steps = np.frombuffer(b"".join(pieces).translate(_STEPS, _NO_BRACKETS), np.int8)
    depth = np.cumsum(steps, dtype=np.int32)
    if len(depth) and depth.max() > DEEPEST:
        what = f"nested more than {DEEPEST} deep"
        raise DataBroken(what, where=f"{where}:{first_line}", remedy="mend that line")


def read_json(path: str | Path, *, as_written: bool = False, once: bool = False) -> Any:
    """The value of a JSON file; `as_written` and `once` as for `parse_json`."""
    return parse_json(read_text(path), where=str(path), as_written=as_written, once=once)


def each_jsonl(
    path: str | Path, *, as_written: bool = False
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and object of each line that is not blank; `as_written` as for `parse_json`.

    Raises
    ------
    DataBroken
        At the first line that is not a JSON object, and for a file without any.
    """
    count = 0
    # Not splitlines(): a value may hold U+2028 or a form feed, which JSON allows unescaped.
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        value = parse_json(line, where=str(path), first_line=number, as_written=as_written)
        if not isinstance(value, dict):
            kind = type(value).__name__
            what = f"a JSON object is expected, this is a {kind}"
            remedy = 'one object a line, such as {"doc_id": "1", "text": "…"}'
            raise DataBroken(what, where=f"{path}:{number}", remedy=remedy)
        count += 1
        yield number, value
    if not count:
        raise DataBroken("the file is empty", where=path, remedy="one JSON object a line")


def csv_rows(path: str | Path, text: str) -> list[tuple[int, list[str]]]:
    """The rows of a CSV file's text that are not empty, each with the number of its last line.

    Examples
    --------
    >>> csv_rows("a.csv", "id,text\\n\\n1,two\\n2,\\"a\\nb\\"")
    [(1, ['id', 'text']), (3, ['1', 'two']), (5, ['2', 'a\\nb'])]
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        with csv_cells(len(text)):
            return [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        where, remedy = f"{path}:{reader.line_num}", "mend that line; quote cells of several lines"
        raise DataBroken(f"not a readable CSV: {error}", where=where, remedy=remedy) from error


@contextmanager
def csv_cells(size: int) -> Iterator[None]:
    """Within it, ``csv`` reads cells of up to ``size`` characters; its own limit is 128 KiB."""
    limit = csv.field_size_limit(max(size, 1))
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def read_parquet(path: str | Path, only: pl.Expr | None = None) -> pl.DataFrame:
    """The table of a Parquet file, or the rows of it for which `only` is true."""
    read_bytes(path, 1)
    try:
        if only is not None:
            return pl.scan_parquet(path, glob=False).filter(only).collect()
        return pl.read_parquet(path, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        first = str(error).splitlines()[0]
        raise DataBroken(f"not a readable Parquet file: {first}", where=path) from error


def parquet_columns(path: str | Path) -> dict[str, Any]:
    """The columns of a Parquet file with their types; polars' errors if it is none."""
    # `read_parquet_schema` takes a name with brackets for a pattern.
    return dict(pl.scan_parquet(path, glob=False).collect_schema())


def check_unpacked(size: int, packed: int, *, where: object) -> None:
    """`DataBroken` if a member of an archive unpacks to far more bytes than it is packed in.

    A small file of another's can unpack to anything. Texts are packed to a hundredth at most.

    Examples
    --------
    >>> check_unpacked(3_000_000_000, 3_000_000, where="a.zip#b")
    Traceback (most recent call last):
    ...
    formlab.errors.DataBroken: a member that unpacks from 3000000 to 3000000000 bytes (a.zip#b)
    """
    if size > max(20_000_000, min(1_000_000_000, 500 * packed)):
        raise DataBroken(f"a member that unpacks from {packed} to {size} bytes", where=where)


def sha256(path: str | Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""

    def digest(handle: int, _: os.stat_result) -> str:
        with open(handle, "rb", buffering=0, closefd=False) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    return opened(path, digest)


def sha256_once(path: str | Path) -> str:
    """The same; a file that stands as it did is not read again by this process."""
    state = opened(path, lambda _, state: state)
    return _hashed(path, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


@lru_cache(maxsize=2**14)
def _hashed(path: str | Path, *_: int) -> str:
    return sha256(path)


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Within it, `NotAvailable` with `path` if something cannot be written there."""
    # Tables cannot be written to such a place, nor can the record of an output name it.
    if (name := os.fsencode(path)) != name.decode("utf-8", "replace").encode():
        shown = name.decode("utf-8", "backslashreplace")
        raise NotAvailable("a name that is not UTF-8", where=shown, remedy="another name")
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        # Polars tells in words what the system refused.
        told = re.search(r"\(os error (\d+)\)", str(error))
        code, name = getattr(error, "errno", None), getattr(error, "filename", None)
        if code is None and told and int(told[1]) in _FULL:
            code = int(told[1])
        # Whoever reads another file meanwhile has an error of that.
        if code is None or (isinstance(name, str) and not _is_at(name, Path(path))):
            raise
        what, remedy = f"cannot write: {os.strerror(code)}", "make room there, or another place"
        raise NotAvailable(what, where=path, remedy=remedy) from error


def _is_at(name: str, path: Path) -> bool:
    """Whether a file is at or below `path`, above it, or about to take its place."""
    return (
        Path(name).is_relative_to(path)
        or path.is_relative_to(name)
        or name.endswith((".part", ".old"))
    )


def make_folder(path: str | Path) -> Path:
    """`path`, a folder from now on; `NotAvailable` if there can be none."""
    with writing(path):
        Path(path).mkdir(parents=True, exist_ok=True)
    return Path(path)


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """A file or folder that no other process has locked; it is `BlockingIOError` not to `wait`.

    The system lets go of the lock with the process, however that ends. Where the file system has
    no locks, nor Windows for folders, nothing is locked.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise
        except OSError:
            pass
        yield
    finally:
        os.close(handle)


@contextmanager
def temporary(folder: Path, *, prefix: str, suffix: str = ".part") -> Iterator[Path]:
    """A file in `folder` until the block ends; `sweep` leaves it as long as its process lives."""
    part = folder / f"{prefix}{secrets.token_hex(8)}{suffix}"
    with writing(folder):
        part.touch(exist_ok=False)
    try:
        with locked(part):
            yield part
    finally:
        part.unlink(missing_ok=True)


def sweep(parts: Iterable[Path]) -> None:
    """Remove what processes that were killed left of `temporary` files and folders."""
    for part in parts:
        with suppress(OSError), locked(part, wait=False):  # A living process has locked it.
            remove(part)


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well.

    A reader sees the old file or the new one, never half of one; who may read it follows the
    umask. `NotAvailable` if it cannot be written.
    """
    path = Path(path)
    make_folder(path.parent)
    with writing(path), temporary(path.parent, prefix=f".{path.name[:40]}.") as part:
        yield part
        with part.open("rb") as stream:
            os.fsync(stream.fileno())
        part.replace(path)


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 text, atomically; a lone surrogate is written as its escape."""
    with atomic(path) as temporary:
        temporary.write_bytes(text.encode("utf-8", "backslashreplace"))


def write_json(path: str | Path, value: Any) -> None:
    """Write readable JSON, atomically."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n")


def write_parquet(path: str | Path, frame: pl.DataFrame, *, statistics: bool = True) -> None:
    """Write a table as Parquet, atomically; with the range of each column, or without."""
    with atomic(path) as temporary:
        # The fastest level: tables of codes and short texts get no smaller by more. Groups of a
        # stated size do not follow the pieces that a frame was put together from.
        frame.write_parquet(
            temporary, compression_level=1, statistics=statistics, row_group_size=_ROW_GROUP
        )


def write_jsonl(path: str | Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write one JSON object a line, atomically."""
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
