"""Every answer of a model on disk before it counts: one SQLite file that runs can share.

An answer's status is the server's word; what its text is good for is judged where it is read.

Ours, over the standard library's sqlite3: diskcache pickles by default, is no longer maintained,
and has locks that outlive a killed process.
"""

from __future__ import annotations

import dataclasses
import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from formlab.errors import DataBroken, NotAvailable
from formlab.files import convert, storable
from formlab.systems.chat.answers import Answer

_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT, number INTEGER, saved REAL, model TEXT, task TEXT, doc_id TEXT, text TEXT,
    status TEXT, finish TEXT, error TEXT, attempts INTEGER, tokens_in INTEGER,
    tokens_out INTEGER, cost REAL, seconds REAL, images TEXT, PRIMARY KEY (key, number)
)"""
# A store of before there were log-probabilities has no column of them.
_LATER = "ALTER TABLE answers ADD COLUMN logprobs TEXT"
_COLUMNS = [field.name for field in dataclasses.fields(Answer)]
# The file is sound and cannot be written: read only, no room, no such place.
_UNWRITTEN = (
    sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
)  # fmt: skip
_NUMBER = "(SELECT coalesce(max(number), 0) + 1 FROM answers WHERE key = ?)"
_INSERT = (
    f"INSERT INTO answers ({', '.join(_COLUMNS)}, number, saved) "  # noqa: S608
    f"VALUES ({'?, ' * len(_COLUMNS)}{_NUMBER}, ?)"
)
# How often, and how many seconds each time, another program is waited for that has it locked.
_WAITS, _PATIENCE = 10, 60.0
_LATEST = f"SELECT {', '.join(_COLUMNS)} FROM answers WHERE key = ? ORDER BY number DESC LIMIT 1"  # noqa: S608


class AnswerStore:
    """Answers by key. Each one that is kept stays; of one key, the latest counts.

    `DataBroken` if the file is there and is no store, or is damaged, `NotAvailable` if it cannot
    be written. While another program has it locked, it is waited for.

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
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(
                self.path, timeout=_PATIENCE, check_same_thread=False, isolation_level=None
            )
        except (OSError, ValueError, sqlite3.Error) as error:
            raise self._unwritten(error) from error
        # An answer is on the disk when its statement ends, also through a power cut.
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", _TABLE):
            self._row(statement)
        columns = {row[1] for row in self._rows("PRAGMA table_info(answers)")}
        if "logprobs" not in columns:
            # Of two processes that open a new store one adds the column.
            with suppress(DataBroken):
                self._row(_LATER)
        if missing := {*_COLUMNS, "number", "saved"} - {*columns, "logprobs"}:
            raise self._damaged(f"no column {', '.join(sorted(missing))}")

    def __enter__(self) -> AnswerStore:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._base.close()

    def count(self, key: str | None = None) -> int:
        """How many answers are kept, of one key or of all, those asked for again included."""
        query = "SELECT count(*) FROM answers WHERE key = coalesce(?, key)"
        return int(self._row(query, (key,))[0])

    def get(self, keys: Sequence[str]) -> Answer | None:
        """Of the latest answers of `keys` the first that has a text, else the first."""
        rows = [self._row(_LATEST, (key,)) for key in keys]
        found = [dict(zip(_COLUMNS, row, strict=True)) for row in rows if row]
        where, remedy = f"{self.path}: answers", self._remedy()
        answers = [convert(row, Answer, where=where, remedy=remedy) for row in found]
        return next((a for a in answers if a.text is not None), answers[0] if answers else None)

    def put(self, answer: Answer) -> None:
        """Keep an answer; it is on the disk when this returns."""
        values = [storable(value) for value in dataclasses.astuple(answer)]
        self._row(_INSERT, (*values, answer.key, time.time()))

    def _row(self, statement: str, values: Sequence[Any] = ()) -> Any:
        rows = self._rows(statement, values)
        return rows[0] if rows else None

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """What a statement gives, however long another program has the store locked."""
        for _ in range(_WAITS):
            try:
                with self._lock:
                    return self._base.execute(statement, values).fetchall()
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                if code in _UNWRITTEN:
                    raise self._unwritten(error) from error
                if code not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                    raise self._damaged(error) from error
                # An answer that is paid for must not be lost for it.
                click.echo(f"waiting: another program has {self.path} locked", err=True)
        raise self._unwritten("another program has the file locked")

    def _unwritten(self, why: object) -> NotAvailable:
        remedy = "another --out or store"
        return NotAvailable(f"answers cannot be kept: {why}", where=self.path, remedy=remedy)

    def _damaged(self, why: object) -> DataBroken:
        what = f"not a store of answers, or damaged: {why}"
        return DataBroken(what, where=self.path, remedy=self._remedy())

    def _remedy(self) -> str:
        saved = f"sqlite3 {self.path.name} .recover | sqlite3 saved.sqlite"
        return f"another --out or store, or what can be saved of this one: {saved}"
