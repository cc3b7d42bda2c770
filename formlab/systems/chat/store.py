"""Every answer of a model on disk before it counts: one SQLite file that processes can share."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
import sqlite3
import threading
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from formlab.errors import DataBroken
from formlab.tables import storable

_TABLES = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT, number INTEGER, saved REAL, model TEXT, task TEXT, doc_id TEXT, text TEXT,
    status TEXT, finish TEXT, error TEXT, attempts INTEGER, tokens_in INTEGER,
    tokens_out INTEGER, cost REAL, seconds REAL, images TEXT, PRIMARY KEY (key, number)
);
CREATE TABLE IF NOT EXISTS claims (
    key TEXT PRIMARY KEY, owner TEXT, host TEXT, pid INTEGER, until REAL
);
"""


@dataclasses.dataclass(frozen=True)
class Answer:
    """What came back for one question; `key` is the hash of everything that shaped it.

    `finish` is why the model stopped, as the server says; `images` is the JSON of the pages that
    were sent: their files, sizes and sizes as sent. `text` is null if no call succeeded.
    """

    key: str
    model: str = ""
    task: str = ""
    doc_id: str = ""
    text: str | None = None
    status: str = "ok"
    finish: str | None = None
    error: str | None = None
    attempts: int = 1
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    seconds: float | None = None
    images: str | None = None


# The stores that are open in this process.
_OWNERS: set[str] = set()
_COLUMNS = [field.name for field in dataclasses.fields(Answer)]
_MARKS = ", ".join("?" for _ in _COLUMNS)
_NUMBER = "(SELECT coalesce(max(number), 0) + 1 FROM answers WHERE key = ?)"
_INSERT = (
    f"INSERT INTO answers ({', '.join(_COLUMNS)}, number, saved) "  # noqa: S608
    f"VALUES ({_MARKS}, {_NUMBER}, ?)"
)
_LATEST = f"SELECT {', '.join(_COLUMNS)} FROM answers WHERE key = ? ORDER BY number DESC"  # noqa: S608


@dataclasses.dataclass
class _Entry:
    """An answer that waits to be written."""

    answer: Answer
    claimed: str
    done: bool = False
    error: Exception | None = None


def key_of(shape: Any) -> str:
    """The hash of a JSON value, whatever the order of its keys.

    Examples
    --------
    >>> key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()


class Store:
    """Answers by key. Each one that is kept stays; of one key, the latest counts.

    Raises
    ------
    DataBroken
        If the file is there and is no store.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()) / "answers.sqlite")
    >>> store.put(Answer("k", text="5", status="bad_json"))
    >>> store.put(Answer("k", text='{"a": 5}'))
    >>> store.get(["k"]).text, store.count()
    ('{"a": 5}', 2)
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock, self._queueing = threading.Lock(), threading.Lock()
        self._queue: list[_Entry] = []
        self._owner = uuid.uuid4().hex
        _OWNERS.add(self._owner)
        try:
            self._base = _connected(self.path, "FULL")
            self._base.executescript(_TABLES)
            # A claim that a power cut loses costs one call at most: it need not wait for the disk.
            self._claims = _connected(self.path, "NORMAL")
        except sqlite3.DatabaseError as error:
            raise DataBroken(
                f"not a store of answers: {error}", where=self.path, remedy="another --out or store"
            ) from error

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        _OWNERS.discard(self._owner)
        with self._lock:
            self._base.close()
            self._claims.close()

    def count(self) -> int:
        """How many answers are kept, those asked for again included."""
        with self._lock:
            return int(self._base.execute("SELECT count(*) FROM answers").fetchone()[0])

    def get(self, keys: Sequence[str]) -> Answer | None:
        """The latest answer of the first of `keys` that has one."""
        with self._lock:
            return _found(self._base, keys)

    def put(self, answer: Answer, *, claimed: str | None = None) -> None:
        """Keep an answer; it is on the disk when this returns. The claim on `claimed` ends."""
        entry = _Entry(answer, claimed or answer.key)
        with self._queueing:
            self._queue.append(entry)
        # Waiting for the disk is what takes time: who gets the lock writes for all who wait.
        with self._lock:
            if not entry.done:
                with self._queueing:
                    batch, self._queue = self._queue, []
                self._write(batch)
        if entry.error is not None:
            raise entry.error

    def _write(self, batch: list[_Entry]) -> None:
        try:
            self._base.execute("BEGIN IMMEDIATE")
            for entry in batch:
                values = [storable(getattr(entry.answer, name)) for name in _COLUMNS]
                self._base.execute(_INSERT, (*values, entry.answer.key, time.time()))
                self._base.execute("DELETE FROM claims WHERE key = ?", (entry.claimed,))
            self._base.execute("COMMIT")
        except sqlite3.Error as error:
            if self._base.in_transaction:
                self._base.execute("ROLLBACK")
            for entry in batch:
                entry.error = error
        for entry in batch:
            entry.done = True

    def claim(self, keys: Sequence[str], *, seconds: float, seen: Answer | None) -> bool:
        """Whether the question is now ours to ask, for so many seconds.

        It is not while another thread or live process asks it, nor once there is another answer
        than `seen`, the one that was found before. A process on another machine cannot be seen to
        have died: its claim ends with its time.
        """
        with self._lock:
            self._claims.execute("BEGIN IMMEDIATE")
            try:
                row = self._claims.execute(
                    "SELECT owner, host, pid, until FROM claims WHERE key = ?", (keys[0],)
                ).fetchone()
                if _found(self._claims, keys) != seen or (row and self._is_held(*row)):
                    return False
                until = time.time() + seconds
                self._claims.execute(
                    "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?)",
                    (keys[0], self._owner, platform.node(), os.getpid(), until),
                )
                return True
            finally:
                self._claims.execute("COMMIT")

    def release(self, key: str) -> None:
        """Give up a claim of our own."""
        with self._lock:
            self._claims.execute(
                "DELETE FROM claims WHERE key = ? AND owner = ?", (key, self._owner)
            )

    def _is_held(self, owner: str, host: str, pid: int, until: float) -> bool:
        if until < time.time():
            return False
        if host != platform.node() or os.name != "posix":
            return True
        if pid == os.getpid():
            # In a container a killed run and the next one may have the same number.
            return owner in _OWNERS
        try:
            # Signal 0 only asks whether the process is there: one that was killed holds nothing.
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


def _connected(path: Path, synchronous: str) -> sqlite3.Connection:
    base = sqlite3.connect(path, timeout=60, check_same_thread=False, isolation_level=None)
    base.execute("PRAGMA journal_mode=WAL")
    base.execute(f"PRAGMA synchronous={synchronous}")
    return base


def _found(base: sqlite3.Connection, keys: Sequence[str]) -> Answer | None:
    for key in keys:
        row = base.execute(_LATEST, (key,)).fetchone()
        if row:
            return Answer(*row)
    return None
