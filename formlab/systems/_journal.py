"""A log of finished pages, one line each on disk at once: a killed run loses none of them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from formlab import files
from formlab.errors import DataBroken, NotAvailable


class Journal:
    """A file of JSON lines that is only ever appended to.

    A line cut short by a crash is dropped at the next start; every line before it stands.
    """

    def __init__(self, path: Path, *, wait: bool = False) -> None:
        self.path, self.wait = path, wait
        self.entries: list[dict[str, Any]] = []

    def __enter__(self) -> Journal:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = self.path.open("ab+")
        self._lock()
        try:
            self.entries, whole = entries(self.path)
        except BaseException:
            self._stream.close()
            raise
        self._stream.truncate(whole)
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def append(self, entry: dict[str, Any]) -> None:
        """Write one entry; it is on the disk when this returns."""
        self._stream.write((json.dumps(entry) + "\n").encode())
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self.entries.append(entry)

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # Windows has none: two runs into one folder are not kept apart.
            return
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | (0 if self.wait else fcntl.LOCK_NB))
        except OSError as error:
            self._stream.close()
            raise NotAvailable(
                "another run is writing to this folder",
                where=self.path.parent,
                remedy="wait for it, or choose another --out",
            ) from error


def entries(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The whole entries of a journal, and the length in bytes of what they take."""
    data = files.read_bytes(path)
    whole = data.rfind(b"\n") + 1
    values = []
    for number, line in enumerate(data[:whole].splitlines(), start=1):
        value = files.parse_json(line.decode(), where=str(path), first_line=number)
        if not isinstance(value, dict) or "doc_id" not in value:
            raise DataBroken(
                "not an entry of a run", where=f"{path}:{number}", remedy="delete that line"
            )
        values.append(value)
    return values, whole
