"""Submissions in SQLite: on disk before their receipt is confirmed."""

import contextlib
import datetime
import json
import sqlite3
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from formlab import files
from formlab.errors import DataBroken, NotAvailable
from formlab.files import storable

# How long one waits for another that writes, in seconds.
WAIT = 60
_TABLES = """
CREATE TABLE IF NOT EXISTS submissions (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, form TEXT NOT NULL,
  episode TEXT NOT NULL, received TEXT NOT NULL, answers TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS uploads (
  submission TEXT NOT NULL REFERENCES submissions(id), field TEXT NOT NULL, name TEXT NOT NULL,
  content BLOB NOT NULL, PRIMARY KEY (submission, field));
CREATE INDEX IF NOT EXISTS by_episode ON submissions (episode, number);
"""


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turn to a write-ahead log; SQLite does not wait by itself where another one does it too."""
    end = time.monotonic() + WAIT
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


class SubmissionStore:
    """The submissions of one server, in one file; safe to use from many threads.

    Examples
    --------
    >>> import tempfile
    >>> store = SubmissionStore(Path(tempfile.mkdtemp()) / "s.sqlite")
    >>> received = store.add("E12", "one", {"holder": "Ada Berg"}, {})
    >>> store.get(received)["answers"], store.latest("one")["id"] == received
    ({'holder': 'Ada Berg'}, True)
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as connection:
            _write_ahead(connection)
            connection.executescript(_TABLES)

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        # A connection for each call: SQLite's own lock then keeps threads and processes apart.
        try:
            with contextlib.closing(sqlite3.connect(self.path, timeout=WAIT)) as connection:
                connection.execute("PRAGMA synchronous=FULL")
                connection.row_factory = sqlite3.Row
                with connection:
                    yield connection
        except sqlite3.OperationalError as error:
            raise NotAvailable(
                f"submissions cannot be read or written: {error}", where=self.path,
                remedy="look whether the disk is full, or another program holds the file",
            ) from error  # fmt: skip
        except (sqlite3.DatabaseError, ValueError) as error:
            raise DataBroken(
                f"not a store of submissions, or a damaged one: {error}", where=self.path,
                remedy="name another file, or bring this one back from a copy",
            ) from error  # fmt: skip

    def add(
        self, form: str, episode: str, answers: Mapping[str, Any],
        uploads: Mapping[str, tuple[str, bytes]],
    ) -> str:  # fmt: skip
        """Store one submission and its files; its id, once both are on the disk."""
        identity = uuid.uuid4().hex
        now = datetime.datetime.now(datetime.UTC).isoformat()
        with self._open() as connection:
            connection.execute(
                "INSERT INTO submissions (id, form, episode, received, answers) "
                "VALUES (?, ?, ?, ?, ?)",
                (identity, form, storable(episode), now, json.dumps(dict(answers))),
            )
            connection.executemany(
                "INSERT INTO uploads VALUES (?, ?, ?, ?)",
                [
                    (identity, field, storable(name), data)
                    for field, (name, data) in uploads.items()
                ],
            )
        return identity

    def get(self, identity: str) -> dict[str, Any] | None:
        """One submission, or None."""
        return self._one("SELECT * FROM submissions WHERE id = ?", identity)

    def latest(self, episode: str) -> dict[str, Any] | None:
        """The last submission of an episode, or None."""
        query = "SELECT * FROM submissions WHERE episode = ? ORDER BY number DESC LIMIT 1"
        return self._one(query, storable(episode))

    def ids(self) -> list[str]:
        """The ids of all submissions, in the order received."""
        with self._open() as connection:
            return [row["id"] for row in connection.execute("SELECT id FROM submissions")]

    def _one(self, query: str, key: str) -> dict[str, Any] | None:
        with self._open() as connection:
            row = connection.execute(query, (key,)).fetchone()
        if row is None:
            return None
        where = f"{self.path}: submission {row['number']}"
        answers = files.convert(
            files.parse_json(row["answers"], where=where), dict[str, Any], where=where
        )
        return {**dict(row), "answers": answers}
