"""Folders that are replaced whole: written beside the old one, then swapped in by two renames.

What is read is the old folder or the new one, also after a kill.
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
_TABLE = "(documents|cases|scores|records|responses|tallies|columns)"
_OURS = re.compile(rf"(\w+/)*((manifest|source)\.json|{_TABLE}(/\d{{5,}})?\.parquet)")
# How long a reader waits for a folder that is between its two renames, in seconds.
_PATIENCE = 0.2


@contextmanager
def replacing(folder: str | Path) -> Iterator[Path]:
    """A new folder beside `folder`, which takes its place when the block ends well.

    Where others write to the same place meanwhile, the last one stands, and a note says so.
    `DataBroken` if `folder` holds files that formlab has not written, `NotAvailable` if something
    cannot be written there.
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
    return any(
        n[0] == "." and n.endswith((".part", ".old")) for n in path.relative_to(folder).parts
    )


def _swap(part: Path, folder: Path) -> None:
    is_done = False
    while not is_done:
        old = folder.with_name(files.part_name(folder.name, suffix=".old"))
        with suppress(FileNotFoundError):
            folder.rename(old)
        try:
            part.rename(folder)
            is_done = True
        except OSError:
            # Another writer, or a reader that put the old one back, was quicker.
            if not folder.is_dir():
                raise
        shutil.rmtree(old, ignore_errors=True)


def _state(folder: Path) -> tuple[int, int] | None:
    with suppress(OSError):
        state = (folder / MANIFEST).stat()
        return state.st_ino, state.st_mtime_ns
    return None


def _check_own(folder: Path) -> None:
    """`DataBroken` with the names of the files in `folder` that are not formlab's."""
    names = [
        Path(place, name).relative_to(folder).as_posix()
        for place, folders, files_ in os.walk(folder)
        for name in [*files_, *(name for name in folders if Path(place, name).is_symlink())]
    ]
    is_saved = (folder / MANIFEST).is_file()
    if strangers := sorted(n for n in names if not (is_saved and _OURS.fullmatch(n))):
        more = f" and {len(strangers) - 3} more" if len(strangers) > 3 else ""
        what = f"this folder has files that formlab has not written: {', '.join(strangers[:3])}"
        raise DataBroken(what + more, where=folder, remedy="another --out, or move them away")
