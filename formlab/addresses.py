"""Files and folders by their address: what is read where it lies, or fetched first."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import click

from formlab import resources
from formlab.errors import DataMissing, NotAvailable


class _Fetched(click.Path):
    """A path; of an address what is fetched from it."""

    def convert(self, *arguments: Any) -> Path:
        return local(super().convert(*arguments))


# The type of an option that takes an address, too.
fetched = _Fetched(path_type=Path)


def local(address: str | Path) -> Path:
    """A path, or what is at an address as fsspec takes it, such as ``s3://bucket/a.csv``.

    A file or folder behind an address is fetched into the cache folder, again once it has changed;
    ``http`` has files only.

    Raises
    ------
    DataMissing
        If nothing can be fetched there.
    NotAvailable
        If the extra ``scale``, or the library for this kind of address, is not installed.

    Examples
    --------
    >>> local("gold.csv").name, local("file:///data/gold.csv").name
    ('gold.csv', 'gold.csv')
    """
    # A Path has made one slash of two; one letter is a drive of Windows.
    parts = re.fullmatch(r"([a-z][a-z0-9+.]+):/{1,3}([^/].*)", str(address))
    if parts is None:
        return Path(address)
    if parts[1] == "file":
        return Path("/", parts[2])
    resources.need("scale")
    import fsspec

    # What reads pages and tables is not needed to list commands.
    from formlab.files import atomic, cache_folder

    url = f"{parts[1]}://{parts[2]}"
    try:
        system, path = fsspec.url_to_fs(url.rstrip("/"))
        # A page of the web with links would count as a folder.
        is_folder = not parts[1].startswith("http") and system.isdir(path)
        names = sorted(system.find(path)) if is_folder else [path]
        states = [(name, str(system.ukey(name))) for name in names]
        state = hashlib.sha256(f"{url} {states}".encode()).hexdigest()[:16]
        target = cache_folder() / "fetched" / state / path.rpartition("/")[2]
        for name in names:
            file = target / name.removeprefix(path).lstrip("/")
            if ".." in file.relative_to(target).parts:
                raise ValueError(f"a name that leads out of the folder: {name!r}")
            if not file.is_file():
                with atomic(file) as part:
                    system.get_file(name, str(part))
    except ImportError as error:
        raise NotAvailable(f"{parts[1]}:// needs a library: {error}", where=url) from error
    except Exception as error:  # Each kind of address has errors of its own.
        what = f"cannot be fetched: {type(error).__name__}: {error}"
        raise DataMissing(what, where=url, remedy="check the address and your access") from error
    return target
