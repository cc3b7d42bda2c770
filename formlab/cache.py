"""What took long to make, kept by its content: one file of JSON a key, the oldest dropped.

Nothing that was paid for is kept here: the answers of models are in a store that drops none.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from formlab import files, resources
from formlab.errors import DataMissing, FormlabError, NotAvailable

# How many values were taken, and the seconds that this saved: their difference is what a page took.
reused: ContextVar[tuple[int, float]] = ContextVar("reused", default=(0, 0.0))


def key_of(shape: Any) -> str:
    """The hash of a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()


def value(name: str, key: Any, make: Callable[[], Any]) -> Any:
    """The JSON value of `key` in a folder of the cache, else what `make` gives, which is kept."""
    if os.environ.get("FORMLAB_NO_CACHE"):
        return json.loads(json.dumps(make()))
    file, start = files.cache_folder() / name / f"{key_of(key)}.json", time.perf_counter()
    # What is damaged is made again.
    with suppress(FormlabError, OSError):
        seconds, found = files.read_json(file, tuple[float, Any])
        os.utime(file)
        count, saved = reused.get()
        reused.set((count + 1, saved + seconds - (time.perf_counter() - start)))
        return found
    start, made = time.perf_counter(), make()
    text = json.dumps([time.perf_counter() - start, made])
    with suppress(NotAvailable):  # A cache to which nothing can be written is none.
        files.write_text(file, text)
        drop_oldest(file.parent)
    return json.loads(text)[1]


def local(address: Any) -> Any:
    """A path; of an address such as ``s3://bucket/a.csv`` the file or folder, once it is fetched.

    >>> local("gold.csv").name, local("file:///data/gold.csv").name
    ('gold.csv', 'gold.csv')
    """
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
        target = files.cache_folder() / "fetched" / state[:16] / path.rpartition("/")[2]
        if not target.exists():
            with TemporaryDirectory(dir=files.make_folder(target.parent)) as part:
                system.get(names, [f"{part}/new{name.removeprefix(path)}" for name in names])
                with suppress(OSError):  # Another process may have been quicker.
                    Path(part, "new").replace(target)
    except Exception as error:  # Each kind of address has errors of its own, and needs a library.
        what = f"cannot be fetched: {type(error).__name__}: {error}"
        raise DataMissing(what, where=url, remedy="check the address and your access") from error
    return target


def run_folder(name: str) -> Path:
    """The folder for the run of this name over a sample; a new one has older ones make room."""
    folder = files.cache_folder() / "runs" / name
    if folder.exists():
        os.utime(folder)
    else:
        drop_oldest(folder.parent)
    return folder


@functools.cache
def drop_oldest(folder: Path, gigabytes: float = 2.0) -> None:
    """Drop the entries not used for the longest time, down to this size; once in each process."""
    left = gigabytes * 1e9
    with suppress(OSError):  # Other processes may drop them meanwhile.
        for path in sorted(folder.glob("*"), key=lambda path: path.stat().st_mtime, reverse=True):
            left -= sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file())
            if left < 0:
                files.remove(path)
