"""Files by their address: what is read where it lies, or fetched first."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import click

from formlab import resources
from formlab.errors import DataMissing, NotAvailable
from formlab.files import atomic
from formlab.known_files import cache_folder


class _Fetched(click.Path):
    """A path; of an address the file fetched from it."""

    def convert(self, *arguments: Any) -> Path:
        return local(super().convert(*arguments))


# The type of an option that takes an address, too.
fetched = _Fetched(path_type=Path)


def local(address: str | Path) -> Path:
    """The local file of a path, or of a file's address as fsspec takes it: ``s3://bucket/a.csv``.

    What is behind an address is fetched into the cache folder, again once it has changed.

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

    url = f"{parts[1]}://{parts[2]}"
    try:
        system, path = fsspec.url_to_fs(url)
        state = hashlib.sha256(f"{url} {system.ukey(path)}".encode()).hexdigest()[:16]
        file = cache_folder() / "fetched" / state / path.rpartition("/")[2]
        if not file.is_file():
            with atomic(file) as part:
                system.get_file(path, str(part))
    except ImportError as error:
        raise NotAvailable(f"{parts[1]}:// needs a library: {error}", where=url) from error
    except Exception as error:  # Each kind of address has errors of its own.
        what = f"cannot be fetched: {type(error).__name__}: {error}"
        raise DataMissing(what, where=url, remedy="check the address and your access") from error
    return file
