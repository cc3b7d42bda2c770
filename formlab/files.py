"""Reading and writing: every read error names its file and line, every write is atomic."""

import csv
import hashlib
import io
import json
import os
import platform
import re
import secrets
import shutil
import stat
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from functools import cache, lru_cache, partial
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, BinaryIO, TypeVar

import msgspec
import yaml

from formlab import resources
from formlab.errors import DataBroken, DataMissing, NotAvailable

T = TypeVar("T")
# An integer that a table can hold.
Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
LARGEST = 2**31  # The most bytes of a file that are read at once.
# The limit of `csv` itself is 128 KiB a cell.
csv.field_size_limit(LARGEST - 1)
# Tags such as !!bool before other words are followed without a look: all kinds of errors.
_NOT_YAML = (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError)
_HOST = f"{zlib.crc32(platform.node().encode()):08x}"
# The version of formlab that is installed.
version = cache(partial(metadata.version, "formlab"))
# To make one for a type takes as long as to read a line with it.
_decoder = lru_cache(maxsize=64)(msgspec.json.Decoder)
# False for names that no file can have, too.
is_file = os.path.isfile


def cache_folder() -> Path:
    """The cache folder: FORMLAB_CACHE, else formlab's folder in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("FORMLAB_CACHE") or Path(base) / "formlab")


def key_of(shape: Any) -> str:
    """The hash of a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()


def local(address: Any) -> Any:
    """A path; of an address such as ``s3://bucket/a.csv`` the file or folder, which is fetched."""
    if not isinstance(address, str | Path):  # A frame, for example.
        return address
    # A Path has made one slash of two; one letter is a drive of Windows.
    parts = re.fullmatch(r"([a-z][a-z0-9+.]+):/{1,3}([^/].*)", str(address))
    if parts is None or parts[1] == "file":
        return Path("/", parts[2]) if parts else Path(address)
    resources.need("scale")
    import fsspec

    url = f"{parts[1]}://{parts[2]}".rstrip("/")
    try:
        system, path = fsspec.url_to_fs(url)
        # A page of the web with links would count as a folder.
        is_folder = not url.startswith("http") and system.isdir(path)
        names = sorted(system.find(path)) if is_folder else [path]
        if odd := [name for name in names if ".." in name.split("/")]:
            raise ValueError(f"a name that leads out of the folder: {odd[0]!r}")
        # Once it has changed it is fetched again.
        state = key_of([url, *((name, str(system.ukey(name))) for name in names)])
        target = cache_folder() / "fetched" / state[:16] / path.rpartition("/")[2]
        if not target.exists():
            with TemporaryDirectory(dir=make_folder(target.parent)) as part:
                system.get(names, [f"{part}/new{name.removeprefix(path)}" for name in names])
                with suppress(OSError):  # Another process may have been quicker.
                    Path(part, "new").replace(target)
    except Exception as error:  # Each kind of address has errors of its own, and needs a library.
        what = f"cannot be fetched: {type(error).__name__}: {error}"
        raise DataMissing(what, where=url, remedy="check the address and your access") from error
    return target


def folder(path: str | Path, *, remedy: str) -> Path:
    """`path`, if it is a folder; else `DataMissing` with `remedy`."""
    if not Path(path).is_dir():
        raise DataMissing("no such folder", where=path, remedy=remedy)
    return Path(path)


def near(path: Path) -> str | None:
    """What stands where a path leads by a name like its own, of which it may be a slip."""
    names = os.listdir(path.parent) if os.path.isdir(path.parent) else ()
    found = get_close_matches(path.name[:100], names, 1, cutoff=2 / 3)
    return str(path.with_name(found[0])) if found else None


def _opened(path: str | Path) -> BinaryIO:
    """A regular file, open for reading; `DataMissing` for a pipe, a device, a folder or nothing."""
    try:
        # To open a pipe would wait for its writer.
        if stat.S_ISREG(os.stat(path).st_mode):
            return open(path, "rb", 0)
        what = "not a regular file"
    except FileNotFoundError:
        what = "no such file"
    except (OSError, ValueError) as error:
        what = f"cannot be read: {getattr(error, 'strerror', error)}"
    raise DataMissing(what, where=storable(str(path)), remedy="check the path")


def read_bytes(path: str | Path, count: int = -1) -> bytes:
    """The first `count` bytes of a file, else all of them, if these are at most `LARGEST`."""
    with _opened(path) as stream:
        if count < 0 and (size := os.fstat(stream.fileno()).st_size) > LARGEST:
            what = f"{size} bytes, at most {LARGEST} are read at once"
            raise DataBroken(what, where=path, remedy="cut it into smaller files")
        return stream.read(count)


def sha256(path: str | Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal; what stands as it did is not read again."""
    # Of what is not there, opening it says why.
    of = os.stat(path if os.path.exists(path) else os.devnull)
    return _sha256(path, of.st_ino, of.st_size, of.st_mtime_ns, of.st_ctime_ns)


@lru_cache(maxsize=2**14)
def _sha256(path: str | Path, *_: int) -> str:
    with _opened(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_text(path: str | Path, *, encodings: tuple[str, ...] = ("utf-8-sig",)) -> str:
    """The text of a file, in the first of `encodings` that reads it."""
    return decoded(read_bytes(path), where=path, encodings=encodings)


def decoded(data: bytes, *, where: object, encodings: Iterable[str]) -> str:
    """Bytes as text in the first of `encodings` that reads them; an error names the line."""
    for encoding in encodings:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            position = error.start
    where = f"{where}:{data[:position].count(10) + 1}"
    what = f"not {' or '.join(encodings).upper().removesuffix('-SIG')}: byte {data[position]:#04x}"
    raise DataBroken(what, where=where, remedy="save the file as UTF-8")


def storable(value: Any) -> Any:
    """`value` as UTF-8 can hold it: half of a surrogate pair, as in JSON, is kept as its escape."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {storable(name): storable(member) for name, member in value.items()}
    return list(map(storable, value)) if isinstance(value, list) else value


def convert(value: Any, kind: type[T], *, where: object, remedy: str | None = None) -> T:
    """A parsed value as a type that msgspec knows: a Struct, a dict, a list, …"""
    try:
        return msgspec.convert(value, kind)
    # Python's own errors are those of integers of thousands of digits.
    except (ValueError, OverflowError, RecursionError) as error:
        raise DataBroken(str(error), where=where, remedy=remedy) from error


def parse_json(
    text: str,
    kind: type[T] = object,
    *,
    where: str,
    first_line: int = 1,
    as_written: bool = False,
    once: bool = False,
    remedy: str | None = None,
) -> T:
    """The value of a JSON text, of a type as for `convert`; an error names `where` and the line."""
    place = where if "\n" in text.strip() else f"{where}:{first_line}"
    try:
        # Python reads half of a surrogate pair and NaN, and names the line of other errors.
        with suppress(msgspec.DecodeError, UnicodeError):
            if not (as_written or once):
                return _decoder(kind).decode(text)
        hook = _named_once if once else None  # Of a name given twice a value would be lost.
        decoder = AS_WRITTEN if as_written else json.JSONDecoder(object_pairs_hook=hook)
        return convert(decoder.decode(text), kind, where=place, remedy=remedy)
    except RecursionError:
        what = "nested too deep to be read"
    except json.JSONDecodeError as error:
        what = f"broken JSON, {error.msg.removesuffix(' at')} at column {error.colno}"
        place = f"{where}:{error.lineno + first_line - 1}"
    except ValueError as error:
        what = str(error)
    raise DataBroken(what, where=place, remedy="mend that line")


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"an object has the name {twice[:80]!r} twice")
    return members


# Reads numbers as they are written, and no name twice.
AS_WRITTEN = json.JSONDecoder(object_pairs_hook=_named_once, parse_float=str, parse_int=str)


def read_json(path: str | Path, kind: type[T] = object, **how: Any) -> T:
    """The value of a JSON file; `kind` and the rest as for `parse_json`."""
    return parse_json(read_text(path), kind, where=str(path), **how)


def each_jsonl(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and object of each line that is not blank, of which there must be one."""
    remedy = 'one object a line, such as {"doc_id": "1", "text": "…"}'
    # Not splitlines(): a value may hold U+2028 or a form feed, which JSON allows unescaped.
    lines = [line for line in enumerate(read_text(path).split("\n"), 1) if line[1].strip()]
    if not lines:
        raise DataBroken("the file is empty", where=path, remedy=remedy)
    for number, line in lines:
        how = {"where": str(path), "first_line": number, "remedy": remedy}
        yield number, parse_json(line, dict[str, Any], **how)


class _UniqueLoader(yaml.SafeLoader):
    """JSON's types and days, and each key once; YAML's own reader takes the last one silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if (name := (key.tag, str(key.value))) in seen:
                what = f"the key {key.value!r} twice"
                raise yaml.MarkedYAMLError(problem=what, problem_mark=key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


def read_yaml(path: str | Path, *, remedy: str) -> Any:
    """The value of a YAML file; `DataBroken` with its line and `remedy` if it is none."""
    return parse_yaml(read_text(path), where=path, remedy=remedy)


def parse_yaml(text: str, *, where: object, remedy: str) -> Any:
    """The value of a YAML text; errors as of `read_yaml`."""
    try:
        return _UniqueLoader(text).get_single_data()
    except _NOT_YAML as error:
        mark, problem = (getattr(error, name, None) for name in ("problem_mark", "problem"))
        what = f"not YAML: {problem}" if problem else "not YAML"
        where = f"{where}:{mark.line + 1}" if mark else where
        raise DataBroken(what, where=where, remedy=remedy) from error


def csv_rows(path: str | Path, text: str) -> list[tuple[int, list[str]]]:
    """The rows of a CSV file's text that are not empty, each with the number of its last line."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        return [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        where, remedy = f"{path}:{reader.line_num}", "mend that line; quote cells of several lines"
        raise DataBroken(f"not a readable CSV: {error}", where=where, remedy=remedy) from error


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Within it, `NotAvailable` with `path` if something cannot be written there."""
    # Tables cannot be written to such a place, nor can the record of an output name it.
    if (name := storable(str(path))) != str(path):
        raise NotAvailable("a name that is not UTF-8", where=name, remedy="another name")
    try:
        yield
    except Exception as error:
        # Polars tells in words what the system refused.
        if getattr(error, "errno", None) is None and "(os error " not in str(error):
            raise
        what = f"cannot write: {str(getattr(error, 'strerror', error)).partition(' (os ')[0]}"
        raise NotAvailable(what, where=path, remedy="another place, or make room there") from error


def make_folder(path: str | Path) -> Path:
    """`path`, a folder from now on; `NotAvailable` if there can be none."""
    with writing(path):
        Path(path).mkdir(parents=True, exist_ok=True)
    return Path(path)


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    shutil.rmtree(path, ignore_errors=True)  # A file stays.
    path.unlink(missing_ok=True)


def part_name(name: str, *, suffix: str = ".part") -> str:
    """A hidden name for what is written now: `sweep` leaves it as long as this process lives."""
    # A name may be as long as the system allows, and another may begin like it.
    stem = f".{name[:40]}.{zlib.crc32(os.fsencode(name)):08x}"
    return f"{stem}.{_HOST}-{os.getpid()}-{secrets.token_hex(4)}{suffix}"


def parts_beside(path: Path) -> list[Path]:
    """What has a `part_name` of `path` beside it."""
    stem = part_name(path.name).rpartition(f"{_HOST}-")[0]
    return [other for other in path.parent.glob(".*") if other.name.startswith(stem)]


def sweep(parts: Iterable[Path]) -> None:
    """Remove what processes of this machine that were killed left under a `part_name`."""
    for part in parts:
        made = re.search(rf"\.{_HOST}-(\d{{1,9}})-[0-9a-f]{{8}}\.(part|old)", part.name)
        if made and os.name != "nt":  # On Windows the signal would end the process.
            with suppress(OSError):
                try:
                    os.kill(int(made[1]), 0)
                except ProcessLookupError:
                    remove(part)


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well."""
    path = Path(path)
    make_folder(path.parent)
    part = path.parent / part_name(path.name)
    with writing(path):
        # Who may read it follows the umask.
        part.touch(exist_ok=False)
        try:
            yield part
            with part.open("rb") as stream:
                os.fsync(stream.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 text, atomically; a lone surrogate is written as its escape."""
    with atomic(path) as part:
        part.write_bytes(text.encode("utf-8", "backslashreplace"))


def write_json(path: str | Path, value: Any) -> None:
    """Write readable JSON, atomically."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n")


def write_jsonl(path: str | Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write one JSON object a line, atomically."""
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def write_parquet(path: str | Path, frame: Any, *, statistics: bool = True) -> None:
    """Write a table, atomically; with the range of each column, or without."""
    with atomic(path) as part:
        # The fastest level: tables of codes and short texts get no smaller by more. Groups of a
        # stated size do not follow the pieces that a frame was put together from.
        frame.write_parquet(part, statistics=statistics, compression_level=1, row_group_size=2**16)
