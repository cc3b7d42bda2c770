"""The files that an agent may choose in a page: those of its own task and no other."""

from collections.abc import Sequence
from pathlib import Path

from formlab_arena.widgets import Refused


def inside(folder: Path, name: str) -> Path | None:
    """The file of this name in a folder; None for any other, also by link or ``..``.

    Examples
    --------
    >>> inside(Path("."), "../secret") is None
    True
    """
    try:
        path = (folder / name.strip()).resolve()
        return path if path.is_file() and path.parent == folder.resolve() else None
    # A NUL, half a surrogate pair, a name of a megabyte or a circle of links is no file either.
    except (OSError, RuntimeError, ValueError):
        return None


def paths(folder: Path, names: Sequence[str], *, several: bool) -> list[Path]:
    """The files of these names in a folder; `Refused` if one is not there, or too many are."""
    known = [path for name in names if (path := inside(folder, name))]
    if len(known) < len(names):
        raise Refused("no such file in the run's own folder")
    if len(known) > 1 and not several:
        raise Refused("the field takes one file")
    return known
