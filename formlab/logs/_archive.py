"""Members of a zip file, those packed with zstd too, which zipfile reads from Python 3.14 on."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from formlab import files
from formlab.errors import DataBroken

if sys.version_info >= (3, 14):
    import zipfile

    from compression.zstd import ZstdError
else:
    from backports.zstd import ZstdError, zipfile


class Archive:
    """An open zip file whose members are JSON texts; a member written again is read as its last.

    Raises
    ------
    DataMissing, DataBroken
        If there is no such file, or it is no zip file or cut short.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        files.read_bytes(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            remedy = "a whole copy of the log: the list of members stands at a zip file's end"
            raise DataBroken(f"no zip file: {error}", where=path, remedy=remedy) from error
        self.names = list(dict.fromkeys(self._zip.namelist()))

    def json(self, name: str) -> Any:
        """The value of a member, numbers as Python has them."""
        where = f"{self.path}#{name}"
        try:
            info = self._zip.getinfo(name)
            files.check_unpacked(info.file_size, info.compress_size, where=where)
            data = self._zip.read(name)
        except (*files.UNPACKABLE, zipfile.BadZipFile, ZstdError) as error:
            raise DataBroken(f"cannot be unpacked: {error}", where=where) from error
        return files.parse_json(data.decode("utf-8", "replace"), where=where)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._zip.close()
