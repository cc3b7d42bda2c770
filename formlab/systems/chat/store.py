"""Every answer of a model on disk before it counts: one SQLite file that processes can share.

Ours, over the standard library's sqlite3: diskcache pickles by default, is no longer maintained,
and has locks that outlive a killed process.
"""

from __future__ import annotations

import dataclasses
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from formlab.errors import DataBroken
from formlab.systems.chat.answers import Answer
from formlab.systems.chat.limits import Stopped
from formlab.tables import storable

_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT, number INTEGER, saved REAL, model TEXT, task TEXT, doc_id TEXT, text TEXT,
    status TEXT, finish TEXT, error TEXT, attempts INTEGER, tokens_in INTEGER,
    tokens_out INTEGER, cost REAL, seconds REAL, images TEXT, PRIMARY KEY (key, number)
)"""
# A store of before there were log-probabilities has no column of them.
_LATER = "ALTER TABLE answers ADD COLUMN logprobs TEXT"
_COLUMNS = [field.name for field in dataclasses.fields(Answer)]
_NUMBER = "(SELECT coalesce(max(number), 0) + 1 FROM answers WHERE key = ?)"
_INSERT = (
    f"INSERT INTO answers ({', '.join(_COLUMNS)}, number, saved) "  # noqa: S608
    f"VALUES ({'?, ' * len(_COLUMNS)}{_NUMBER}, ?)"
)
_LATEST = f"SELECT {', '.join(_COLUMNS)} FROM answers WHERE key = ? ORDER BY number DESC"  # noqa: S608


class AnswerStore:
    """Answers by key. Each one that is kept stays; of one key, the latest counts.

    `DataBroken` if the file is there and is no store.

    Examples
    --------
    >>> import tempfile
    >>> store = AnswerStore(Path(tempfile.mkdtemp()) / "answers.sqlite")
    >>> store.put(Answer("k", text="5", status="bad_json"))
    >>> store.put(Answer("k", text='{"a": 5}'))
    >>> store.get(["k"]).text, store.count()
    ('{"a": 5}', 2)
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        try:
            self._base = sqlite3.connect(
                self.path, timeout=60, check_same_thread=False, isolation_level=None
            )
            # An answer is on the disk when its statement ends, also through a power cut.
            for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", _TABLE):
                self._base.execute(statement)
            # Of two processes that open a new store one adds the column.
            with suppress(sqlite3.OperationalError):
                self._base.execute(_LATER)
        except sqlite3.DatabaseError as error:
            raise DataBroken(
                f"not a store of answers: {error}", where=self.path, remedy="another --out or store"
            ) from error

    def __enter__(self) -> AnswerStore:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._base.close()

    def count(self, key: str | None = None) -> int:
        """How many answers are kept, of one key or of all, those asked for again included."""
        query = "SELECT count(*) FROM answers WHERE key = coalesce(?, key)"
        with self._lock:
            return int(self._base.execute(query, (key,)).fetchone()[0])

    def get(self, keys: Sequence[str]) -> Answer | None:
        """Of the latest answers of `keys` the first that has a text, else the first."""
        with self._lock:
            rows = [self._base.execute(_LATEST, (key,)).fetchone() for key in keys]
        answers = [Answer(*row) for row in rows if row]
        return next((a for a in answers if a.text is not None), answers[0] if answers else None)

    def put(self, answer: Answer) -> None:
        """Keep an answer; it is on the disk when this returns."""
        values = [storable(value) for value in dataclasses.astuple(answer)]
        with self._lock:
            self._base.execute(_INSERT, (*values, answer.key, time.time()))

    @contextmanager
    def claim(self, key: str, *, stopped: Callable[[], str | None]) -> Iterator[None]:
        """Waits until no other thread or process asks this question, and keeps them waiting.

        The claim of a process that died is void: its lock died with it. `Stopped` if the run is
        `stopped` meanwhile.
        """
        from filelock import FileLock, Timeout

        file = self.path.with_name(f"{self.path.name}.{key[:32]}.lock")
        try:
            lock = FileLock(file).acquire(cancel_check=lambda: bool(stopped()))
        except Timeout:
            raise Stopped(stopped() or "") from None
        with lock:
            try:
                yield
            finally:
                with suppress(OSError):
                    file.unlink()
