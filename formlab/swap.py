"""Files and folders of a folder replaced together: all of them or none, also after a kill.

What is new is written into a hidden folder beside what it replaces. One rename of that folder
decides. What is left to be moved into place is moved by whoever reads or writes there next.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from formlab import files

try:
    import fcntl
except ImportError:  # Windows has none, and does not let an open file be removed.
    fcntl = None

# In a folder: what takes long to write and goes on after a kill.
UNFINISHED = ".unfinished"
# A folder that is whole, and in this what it replaces.
_WHOLE, _OLD = ".saved", ".old"


@contextmanager
def together(folder: Path, *, gone: Iterable[str] = ()) -> Iterator[Path]:
    """A new folder; what is in it takes its place in `folder`, all of it, when the block ends well.

    What stands in `folder` under a name of `gone`, and was not written now, is removed afterwards.
    `NotAvailable` if something cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with together(folder) as new:
    ...     _ = (new / "a.txt").write_text("1"), (new / "b.txt").write_text("1")
    >>> sorted(file.name for file in folder.iterdir())
    ['a.txt', 'b.txt']
    """
    files.make_folder(folder)
    with files.writing(folder):
        with _locked(folder):
            _finish(folder)
            files.sweep(folder.glob(".*.part"))
            part = folder / files.part_name("saved")
            part.mkdir()
        try:
            yield part
            with _locked(folder):
                _finish(folder)
                names = {path.name for path in part.iterdir()}
                part.rename(folder / _WHOLE)
                _finish(folder)
                for name in set(gone) - names:
                    files.remove(folder / name)
        finally:
            shutil.rmtree(part, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """A folder that no other process has locked; where the system has no locks, none is."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def settle(folder: Path) -> None:
    """Move into place what was saved in `folder`, if whoever saved it was killed at that.

    `NotAvailable` if nothing can be written there.
    """
    if (folder / _WHOLE).is_dir():
        with files.writing(folder), _locked(folder):
            _finish(folder)


def is_hidden(path: Path, folder: Path) -> bool:
    """Whether a file below `folder` belongs to what is being saved."""
    names = path.relative_to(folder).parts
    return any(name in (_WHOLE, UNFINISHED) or name.endswith(".part") for name in names)


def _finish(folder: Path) -> None:
    """Move all that is whole into its place; after a kill, what was not moved yet."""
    whole, old = folder / _WHOLE, folder / _WHOLE / _OLD
    if not whole.is_dir():  # Another process may have done it.
        return
    for new in sorted(whole.iterdir()):
        place = folder / new.name
        if new == old:
            continue
        # A file takes the place of a file at once; a folder has to be out of the way.
        if place.is_dir() or (new.is_dir() and os.path.lexists(place)):
            old.mkdir(exist_ok=True)
            place.rename(old / new.name)
        new.replace(place)
    shutil.rmtree(whole)
