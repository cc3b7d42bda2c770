"""Questions as batch files of OpenAI's protocol, and the results that come back for them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from formlab import files
from formlab.errors import DataBroken, DataMissing

URL = "/v1/chat/completions"
REQUESTS = "requests-*.jsonl"
# The most that OpenAI takes in one file.
MOST_REQUESTS, MOST_MEGABYTES = 50_000, 200


def name_of(key: str, number: int) -> str:
    """The custom_id of the question with this key after so many answers: letters and digits.

    Examples
    --------
    >>> name_of("ab12", 0)
    'ab12-0'
    """
    return f"{key[:40]}-{number}"


class BatchRequests:
    """Writes questions into files of a folder, all or none of them. Threads may share it.

    A file has at most so many `requests` and `megabytes`. `DataBroken` if the folder has batch
    files already: their questions would be paid for twice.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with BatchRequests(folder) as batch:
    ...     batch.add("k-0", {"model": "m"})
    >>> (folder / "requests-0001.jsonl").read_text().strip()
    '{"custom_id": "k-0", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m"}}'
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        requests: int = MOST_REQUESTS,
        megabytes: float = MOST_MEGABYTES,
    ) -> None:
        self.folder, self._requests, self._bytes = Path(folder), requests, int(megabytes * 1e6)
        if any(self.folder.glob(REQUESTS)):
            remedy = "another folder, or put its results into this one"
            raise DataBroken("this folder holds a batch", where=folder, remedy=remedy)
        self.names: set[str] = set()
        self.files = self._in_file = self._size = 0
        self._stack, self._lock = ExitStack(), threading.Lock()
        self._stream: BinaryIO | None = None

    def __enter__(self) -> BatchRequests:
        return self

    def __exit__(self, *error: Any) -> bool | None:
        if self._stream:
            self._stream.close()
        return self._stack.__exit__(*error)

    def add(self, name: str, body: dict[str, Any]) -> None:
        """Write a request; one of the same name is there already and stays the only one.

        `DataBroken` if it is larger than a file may be.
        """
        row = {"custom_id": name, "method": "POST", "url": URL, "body": body}
        line = json.dumps(row).encode() + b"\n"
        if len(line) > self._bytes:
            what = f"a request of {len(line) / 1e6:.1f} MB is too large for a batch"
            raise DataBroken(what, remedy="a smaller image_limit or max_pages")
        with self._lock:
            if name in self.names:
                return
            full = self._in_file >= self._requests or self._size + len(line) > self._bytes
            if self._stream is None or full:
                self._next()
            self._stream.write(line)
            self.names.add(name)
            self._in_file += 1
            self._size += len(line)

    def _next(self) -> None:
        if self._stream:
            self._stream.close()
        self.files += 1
        self._in_file = self._size = 0
        path = self.folder / REQUESTS.replace("*", f"{self.files:04}")
        self._stream = self._stack.enter_context(files.atomic(path)).open("wb")


class BatchResults:
    """The results of batches by the names of their questions, read when they are wanted.

    `source` is a file of results, or a folder that may hold requests as well. `lines` counts them,
    `unread` those that are no result. Of two results of one name the last counts.
    """

    def __init__(self, source: str | Path) -> None:
        source = Path(source)
        paths = sorted(source.glob("*.jsonl")) if source.is_dir() else [source]
        self._places: dict[str, tuple[Path, int]] = {}
        self.lines = self.unread = 0
        for path, start, line in _lines(paths):
            result = _result(line)
            if result is None:
                self.unread += 1
            elif "response" in result or "error" in result:
                self.lines += 1
                self._places[result["custom_id"]] = (path, start)
        if not self.lines:
            remedy = "the output and error files of the batch, downloaded"
            raise DataMissing("no results of a batch", where=source, remedy=remedy)

    def __len__(self) -> int:
        return len(self._places)

    def get(self, name: str) -> dict[str, Any] | None:
        """The result of that name."""
        if name not in self._places:
            return None
        path, start = self._places[name]
        with path.open("rb") as stream:
            stream.seek(start)
            return _result(stream.readline())


def _lines(paths: Iterable[Path]) -> Iterator[tuple[Path, int, bytes]]:
    for path in paths:
        files.read_bytes(path, 0)
        with path.open("rb") as stream:
            start = 0
            for line in stream:
                if line.strip():
                    yield path, start, line
                start += len(line)


def _result(line: bytes) -> dict[str, Any] | None:
    """The object of a line that names a question."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    named = isinstance(value, dict) and isinstance(value.get("custom_id"), str)
    return value if named else None
