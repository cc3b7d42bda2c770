"""A log of finished pages, one line each on disk at once: a killed run loses none of them."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from formlab import files
from formlab.errors import DataBroken, NotAvailable

# The note that counts lines that are no entries.
BROKEN = "lines of the journal that cannot be read"


class Entry(msgspec.Struct):
    """What every entry of a journal has."""

    doc_id: str


class Journal:
    """A file of JSON lines that is only ever appended to.

    A line cut short by a crash is dropped at the next start; every line before it stands. Lines
    that cannot be read count as not there, and stderr names them. `NotAvailable` if another
    process has it open and is not to be waited for.
    """

    def __init__(self, path: Path, *, kind: type[Entry] = Entry, wait: bool = False) -> None:
        self.path, self.kind, self.wait = path, kind, wait
        self.entries: list[dict[str, Any]] = []

    def __enter__(self) -> Journal:
        files.make_folder(self.path.parent)
        if self.path.exists() and not files.is_file(self.path):
            raise DataBroken("no file of a journal", where=self.path, remedy="another --out")
        with files.writing(self.path), ExitStack() as stack:
            self._stream = stack.enter_context(self.path.open("ab+"))
            self._lock()
            self.entries, whole, _ = entries(self.path, self.kind)
            self._stream.truncate(whole)
            stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def append(self, entry: dict[str, Any]) -> None:
        """Write one entry; it is on the disk when this returns."""
        with files.writing(self.path):
            self._stream.write((json.dumps(entry) + "\n").encode())
            self._stream.flush()
            os.fsync(self._stream.fileno())
        self.entries.append(entry)

    def _lock(self) -> None:
        try:
            import fcntl

            fcntl.flock(self._stream, fcntl.LOCK_EX | (0 if self.wait else fcntl.LOCK_NB))
        except ImportError:  # Windows has none: two runs into one folder are not kept apart.
            return
        except OSError as error:
            what, remedy = "another run is writing to this folder", "wait for it, or another --out"
            raise NotAvailable(what, where=self.path.parent, remedy=remedy) from error


def entries(path: Path, kind: type[Entry] = Entry) -> tuple[list[dict[str, Any]], int, int]:
    """What a journal has: its entries, the bytes of its whole lines, how many of them are none.

    A line that is no entry is passed over, and stderr names it; what it was about is done again.
    """
    data = files.read_bytes(path)
    whole, values = data.rfind(b"\n") + 1, []
    lines = data[:whole].split(b"\n")[:-1]
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode("utf-8", "backslashreplace")
            value = files.parse_json(text, where=str(path), first_line=number)
            files.convert(value, kind, where=f"{path}:{number}")
            values.append(value)
        except DataBroken as error:
            print(f"note: passed over, no entry of a run: {error}", file=sys.stderr)
    return values, whole, len(lines) - len(values)
