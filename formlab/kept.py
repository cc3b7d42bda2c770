"""What took long to compute, kept on disk by its content until there is no room: `Shelf`.

A value is a file of JSON, packed, with a checksum, and replaced as a whole. So processes need no
lock, nor do machines that share the folder, where SQLite is not safe; diskcache pickles. Nothing
that was paid for is kept here: the answers of models are in a store that drops none.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from formlab import files
from formlab.errors import FormlabError, NotAvailable
from formlab.files import cache_folder

# Folders of the cache: what engines read on pages, and the systems' runs over samples.
PAGES, RUNS = "ocr", "runs"
NO_CACHE = "FORMLAB_NO_CACHE"
GIGABYTES = 2.0
# Of the room, how much is free after a clean-up, and how much is written until the next.
_SLACK = 0.1
# Seconds after which another use makes an entry young again.
_YOUNG = 3600.0
_DAMAGED = (FormlabError, OSError, EOFError, zlib.error, ValueError, KeyError, TypeError)


def key_of(shape: Any) -> str:
    """The hash of a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()


class Reused(NamedTuple):
    """How many values this thread has taken from shelves, and the seconds that this saved."""

    count: int
    seconds: float


class _Here(threading.local):
    reused = Reused(0, 0.0)


_here = _Here()


def reused() -> Reused:
    """What this thread has taken so far: the difference of two calls is what happened between."""
    return _here.reused


@contextmanager
def bypassed(is_bypassed: bool = True) -> Iterator[None]:
    """Within this block nothing is taken from shelves and nothing put there.

    That holds for the processes started in it too, as with FORMLAB_NO_CACHE=1.

    Examples
    --------
    >>> with bypassed():
    ...     Shelf("ocr").get("a page", lambda: [1, 2])
    [1, 2]
    """
    before = os.environ.get(NO_CACHE)
    if is_bypassed:
        os.environ[NO_CACHE] = "1"
    try:
        yield
    finally:
        if is_bypassed and before is None:
            del os.environ[NO_CACHE]


@dataclass
class Shelf:
    """Values by key in the folder `name` of the cache; threads and processes may share it.

    Beyond so many `gigabytes` the values that were not used for the longest time are dropped. A
    damaged value is set aside and computed again, and stderr says so; so it does, once, where
    nothing can be written. Neither is an error.
    """

    name: str
    gigabytes: float = GIGABYTES
    _since: float = float("inf")
    _is_told: bool = False

    @property
    def folder(self) -> Path:
        """Where the values are."""
        return cache_folder() / self.name

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        """The value of `key`, else what `make` gives, which is kept.

        Key and value are JSON; the key has everything that shapes the value. What `make` gives
        goes through JSON as well, so a value that was kept is the same as a new one.
        """
        if os.environ.get(NO_CACHE):
            return json.loads(json.dumps(make()))
        digest, begin = key_of(key), time.perf_counter()
        file = self.folder / f"{digest}.json.gz"
        entry = self._read(file, digest)
        if entry is not None:
            saved = entry["seconds"] - (time.perf_counter() - begin)
            _here.reused = Reused(_here.reused.count + 1, _here.reused.seconds + saved)
            return entry["value"]
        begin = time.perf_counter()
        value = make()
        entry = {"key": digest, "seconds": time.perf_counter() - begin, "value": value}
        text = json.dumps(entry)
        self._write(file, text)
        return json.loads(text)["value"]

    def _read(self, file: Path, digest: str) -> dict[str, Any] | None:
        try:
            text = gzip.decompress(files.read_bytes(file)).decode()
            entry = files.parse_json(text, where=str(file))
            if entry["key"] != digest or not isinstance(entry["seconds"], float):
                raise ValueError("the entry of another key")
            _ = entry["value"]
        except _DAMAGED as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            with suppress(OSError):
                file.replace(file.with_suffix(".damaged"))
            _note(f"a damaged entry of the cache is made again: {file} ({error})")
            return None
        use(file)
        return entry

    def _write(self, file: Path, text: str) -> None:
        try:
            packed = gzip.compress(text.encode(), 5, mtime=0)
            with files.atomic(file) as temporary:
                temporary.write_bytes(packed)
        except NotAvailable as error:
            if not self._is_told:
                _note(f"nothing is kept in {self.folder}: {error}")
            self._is_told = True
            return
        self._since += len(packed)
        if self._since > _SLACK * self.gigabytes * 1e9:
            self._since = 0
            drop_oldest(self.folder, gigabytes=self.gigabytes)


def use(entry: Path) -> None:
    """Make an entry, a file or folder, one of those that are dropped last."""
    with suppress(OSError):
        if time.time() - entry.stat().st_mtime > _YOUNG:
            entry.touch()


def run_folder(name: str) -> Path:
    """The folder for the run of this name over a sample; a new one has older ones make room."""
    folder = cache_folder() / RUNS
    if not (folder / name).exists():
        drop_oldest(folder)
    use(folder / name)
    return folder / name


class Entry(NamedTuple):
    """A file or folder in a folder of the cache: when it was last used, and its size in bytes."""

    used: float
    size: int
    path: Path


def entries(folder: Path) -> list[Entry]:
    """What a folder of the cache has, the entry that was not used for the longest time first."""
    kept = []
    # Other processes may drop entries meanwhile.
    with suppress(FileNotFoundError):
        for path in folder.iterdir():
            with suppress(OSError):
                own, inner = path.stat(), path.rglob("*") if path.is_dir() else [path]
                size = sum(file.stat().st_size for file in inner if file.is_file())
                # What is being written is no entry yet.
                if path.suffix != ".part" or time.time() - own.st_mtime > _YOUNG:
                    kept.append(Entry(own.st_mtime, size, path))
    return sorted(kept)


def drop_oldest(folder: Path, *, gigabytes: float = GIGABYTES) -> int:
    """Drop entries until a folder has room again, if it has more than this; how many."""
    kept, most = entries(folder), gigabytes * 1e9
    size, count = sum(entry.size for entry in kept), 0
    if size <= most:
        return 0
    for entry in kept:
        if size <= (1 - _SLACK) * most:
            break
        _drop(entry.path)
        size, count = size - entry.size, count + 1
    return count


def clear(name: str) -> int:
    """Drop all entries of a folder of the cache; how many there were."""
    kept = entries(cache_folder() / name)
    for entry in kept:
        _drop(entry.path)
    return len(kept)


def _drop(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)
