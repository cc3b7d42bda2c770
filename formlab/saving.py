"""Replacing a folder as a whole: what is read is the old one or the new one, also after a kill.

A new folder is written beside the old one and takes its place by two renames.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from formlab import files
from formlab.errors import DataBroken

MANIFEST = "manifest.json"
# What formlab writes into such a folder, in this format and in older ones.
_TABLE = r"(documents|cases|scores|records|responses|tallies|columns)"
_OURS = re.compile(
    rf"(\w+/\d+/)?((corpus|predictions)/)?(manifest\.json|source\.json|{_TABLE}\.parquet"
    rf"|{_TABLE}/\d{{5,}}\.parquet)|\.(unfinished|saved|[0-9a-f]+\.part)/.*"
)
# How long a reader waits for a folder that is between its two renames, in seconds.
_PATIENCE = 0.2


@contextmanager
def replacing(folder: str | Path) -> Iterator[Path]:
    """A new folder beside `folder`, which takes its place when the block ends well.

    Where others write to the same place meanwhile, the last one stands, and a note says so.

    Raises
    ------
    DataBroken
        If `folder` holds files that formlab has not written.
    NotAvailable
        If something cannot be written there.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp(), "e")
    >>> with replacing(folder) as new:
    ...     _ = (new / "manifest.json").write_text("{}")
    >>> [file.name for file in folder.iterdir()]
    ['manifest.json']
    """
    folder = Path(os.path.realpath(folder))
    files.make_folder(folder.parent)
    with files.writing(folder):
        if settled(folder).is_file():
            folder.mkdir()  # The error of the system.
        _check_own(folder)
        _sweep(folder)
        before = _state(folder)
        part = _beside(folder, "part")
        part.mkdir()
        try:
            yield part
            if _state(folder) != before:
                print(f"note: {folder}: was saved by others meanwhile, replaced", file=sys.stderr)
            _check_own(folder)
            _swap(part, folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def settled(folder: Path) -> Path:
    """`folder`; what a save that was killed between its two renames moved away is put back."""
    deadline = time.monotonic() + _PATIENCE
    while not folder.exists():
        old = sorted(_leftovers(folder, "old"), key=lambda path: path.stat().st_mtime_ns)
        if not old:
            break
        if time.monotonic() > deadline:
            with suppress(OSError):
                old[-1].rename(folder)
            break
        time.sleep(_PATIENCE / 10)
    return folder


def is_hidden(path: Path, folder: Path) -> bool:
    """Whether a file below `folder` belongs to what is being saved, or was replaced."""
    names = path.relative_to(folder).parts
    hidden = (".part", ".old", ".saved", ".unfinished")
    return any(name[0] == "." and name.endswith(hidden) for name in names)


def _swap(part: Path, folder: Path) -> None:
    while True:
        old = _beside(folder, "old")
        with suppress(FileNotFoundError):
            folder.rename(old)
        try:
            part.rename(folder)
        except OSError:
            # Another writer, or a reader that put the old one back, was quicker.
            if not folder.is_dir():
                raise
            shutil.rmtree(old, ignore_errors=True)
        else:
            # Also where another writer has moved the new one away already.
            shutil.rmtree(old, ignore_errors=True)
            return


def _beside(folder: Path, kind: str) -> Path:
    host = re.sub(r"[^\w-]", "-", socket.gethostname())[:40]
    return folder.with_name(f".{_stem(folder)}.{host}.{os.getpid()}.{secrets.token_hex(4)}.{kind}")


def _stem(folder: Path) -> str:
    """The name of a folder, cut so that more can stand beside it."""
    digest = hashlib.sha256(os.fsencode(folder.name)).hexdigest()[:12]
    return folder.name if len(os.fsencode(folder.name)) <= 120 else f"{folder.name[:30]}-{digest}"


def _leftovers(folder: Path, kind: str) -> list[Path]:
    name = re.compile(rf"\.{re.escape(_stem(folder))}\.[\w-]+\.\d+\.[0-9a-f]+\.{kind}")
    beside = folder.parent.iterdir() if folder.parent.is_dir() else ()
    return [path for path in beside if name.fullmatch(path.name)]


def _sweep(folder: Path) -> None:
    """Remove what processes of this machine that have ended left beside `folder`."""
    ours = _beside(folder, "part").name.rsplit(".", 4)[1]
    for path in [*_leftovers(folder, "part"), *_leftovers(folder, "old")]:
        *_, host, process, _, _ = path.name.rsplit(".", 4)
        if host == ours and not _is_running(int(process)):
            shutil.rmtree(path, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _state(folder: Path) -> tuple[int, int] | None:
    try:
        state = (folder / MANIFEST).stat()
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns


def _check_own(folder: Path) -> None:
    """`DataBroken` with the names of the files in `folder` that are not formlab's."""
    names = [
        Path(place, name).relative_to(folder).as_posix()
        for place, folders, files_ in os.walk(folder)
        for name in [*files_, *(name for name in folders if Path(place, name).is_symlink())]
    ]
    strangers = sorted(name for name in names if not _OURS.fullmatch(name))
    if not strangers and names and not (folder / MANIFEST).is_file():
        unfinished = any(name[0] == "." for name in names)
        strangers = [] if unfinished else sorted(names)
    if strangers:
        more = f" and {len(strangers) - 3} more" if len(strangers) > 3 else ""
        what = f"this folder has files that formlab has not written: {', '.join(strangers[:3])}"
        raise DataBroken(what + more, where=folder, remedy="another --out, or move them away")
