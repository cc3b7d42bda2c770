"""Replacing a folder as a whole: what is read is the old one or the new one, also after a kill.

A new folder is written beside the old one and takes its place by two renames.
"""

from __future__ import annotations

import os
import re
import shutil
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
        files.sweep(files.parts_beside(folder))
        before = _state(folder)
        part = folder.with_name(files.part_name(folder.name))
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
        old = [path for path in files.parts_beside(folder) if path.suffix == ".old"]
        if not old:
            break
        if time.monotonic() > deadline:
            with suppress(OSError):
                max(old, key=lambda path: path.stat().st_mtime_ns).rename(folder)
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
        old = folder.with_name(files.part_name(folder.name, suffix=".old"))
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
    is_saved = (folder / MANIFEST).is_file() or any(name[0] == "." for name in names)
    strangers = sorted(name for name in names if not (is_saved and _OURS.fullmatch(name)))
    if strangers:
        more = f" and {len(strangers) - 3} more" if len(strangers) > 3 else ""
        what = f"this folder has files that formlab has not written: {', '.join(strangers[:3])}"
        raise DataBroken(what + more, where=folder, remedy="another --out, or move them away")
