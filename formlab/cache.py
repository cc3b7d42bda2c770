"""What took long to make, kept by its content: one file of JSON a key, the oldest dropped.

Nothing that was paid for is kept here: the answers of models are in a store that drops none.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from formlab import files, resources
from formlab.errors import DataBroken, DataMissing, NotAvailable

# Folders of the cache: what engines read on pages, and the systems' runs over samples.
PAGES, RUNS = "ocr", "runs"
NO_CACHE, GIGABYTES = "FORMLAB_NO_CACHE", 2.0
# How many values were taken, and the seconds that this saved: their difference is what a page took.
reused: ContextVar[tuple[int, float]] = ContextVar("reused", default=(0, 0.0))


def key_of(shape: Any) -> str:
    """The hash of a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()


@contextmanager
def bypassed(is_bypassed: bool = True) -> Iterator[None]:
    """Nothing is taken or kept meanwhile, nor in processes that start, as by FORMLAB_NO_CACHE=1."""
    before = os.environ.get(NO_CACHE, "")
    os.environ[NO_CACHE] = "1" if is_bypassed else before
    try:
        yield
    finally:
        os.environ[NO_CACHE] = before


def value(name: str, key: Any, make: Callable[[], Any]) -> Any:
    """The value of `key` in a folder of the cache, else what `make` gives, which is kept.

    Key and value are JSON; a damaged value is made again, and stderr says so.
    """
    if os.environ.get(NO_CACHE):
        return json.loads(json.dumps(make()))
    file, start = files.cache_folder() / name / f"{key_of(key)}.json", time.perf_counter()
    try:
        entry = files.read_json(file)
        taken, seconds = entry["value"], float(entry["seconds"])
        os.utime(file)
        count, saved = reused.get()
        reused.set((count + 1, saved + seconds - (time.perf_counter() - start)))
        return taken
    except DataMissing:
        pass
    except (DataBroken, OSError, KeyError, TypeError, ValueError) as error:
        _note(f"a damaged entry of the cache is made again: {file} ({error})")
    start, made = time.perf_counter(), make()
    text = json.dumps({"seconds": time.perf_counter() - start, "value": made})
    try:
        files.write_text(file, text)
        _clean_up(file.parent)
    except NotAvailable as error:
        _note(f"nothing is kept in {file.parent}: {error.what}")
    return json.loads(text)["value"]


def local(address: Any) -> Any:
    """A path, or what is at an address as fsspec takes it, such as ``s3://bucket/a.csv``.

    A file or folder behind an address is fetched into the cache folder, again once it has changed;
    ``http`` has files only. `DataMissing` if nothing can be fetched, `NotAvailable` if the extra
    ``scale``, or the library for this kind of address, is not installed. What is neither, such as a
    frame, stays as it is.

    >>> local("gold.csv").name, local("file:///data/gold.csv").name
    ('gold.csv', 'gold.csv')
    """
    if not isinstance(address, str | Path):
        return address
    # A Path has made one slash of two; one letter is a drive of Windows.
    parts = re.fullmatch(r"([a-z][a-z0-9+.]+):/{1,3}([^/].*)", str(address))
    if parts is None:
        return Path(address)
    protocol, rest = parts.groups()
    if protocol == "file":
        return Path("/", rest)
    resources.need("scale")
    import fsspec

    url = f"{protocol}://{rest}".rstrip("/")
    try:
        system, path = fsspec.url_to_fs(url)
        # A page of the web with links would count as a folder.
        is_folder = not protocol.startswith("http") and system.isdir(path)
        names = sorted(system.find(path)) if is_folder else [path]
        state = repr([url, *((name, system.ukey(name)) for name in names)])
        digest = hashlib.sha256(state.encode()).hexdigest()[:16]
        target = files.cache_folder() / "fetched" / digest / path.rpartition("/")[2]
        for name in names:
            file = target / name.removeprefix(path).lstrip("/")
            if ".." in file.parts or not file.is_relative_to(target):
                raise ValueError(f"a name that leads out of the folder: {name!r}")
            if not file.is_file():
                with files.atomic(file) as part:
                    system.get_file(name, str(part))
    except ImportError as error:
        raise NotAvailable(f"{protocol}:// needs a library: {error}", where=url) from error
    except Exception as error:  # Each kind of address has errors of its own.
        what = f"cannot be fetched: {type(error).__name__}: {error}"
        raise DataMissing(what, where=url, remedy="check the address and your access") from error
    return target


def run_folder(name: str) -> Path:
    """The folder for the run of this name over a sample; a new one has older ones make room."""
    folder = files.cache_folder() / RUNS
    if (folder / name).exists():
        os.utime(folder / name)
    else:
        drop_oldest(folder)
    return folder / name


def drop_oldest(folder: Path, *, gigabytes: float = GIGABYTES) -> int:
    """Drop the entries that were not used for the longest time, down to this size; how many."""
    entries = []
    for path in folder.glob("*"):
        with suppress(OSError):  # Other processes may drop it meanwhile.
            inner = [file for file in (path, *path.rglob("*")) if file.is_file()]
            entries.append((path.stat().st_mtime, sum(f.stat().st_size for f in inner), path))
    entries.sort(reverse=True)
    count = len(entries)
    while sum(size for _, size, _ in entries) > gigabytes * 1e9:
        with suppress(OSError):
            files.remove(entries.pop()[-1])
    return count - len(entries)


# Once in each process; and each note once.
_clean_up = functools.cache(drop_oldest)
_note = functools.cache(lambda text: print(f"note: {text}", file=sys.stderr))
