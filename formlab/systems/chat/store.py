"""A question is asked once: from the store if it is answered there, else from the model.

Every answer is on disk before it counts, in one SQLite file that runs can share. An answer's status
is the server's word; what its text is good for is judged where it is read. Made with sqlite3, as
diskcache pickles and has locks that outlive a killed process.
"""

from __future__ import annotations

import dataclasses
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from formlab.errors import DataBroken, NotAvailable
from formlab.files import convert, key_of, storable
from formlab.systems.chat.answers import BAD, Answer
from formlab.systems.chat.client import FORMS, Client, Messages

_TYPES = {"str": "TEXT", "int": "INTEGER", "float": "REAL"}
_COLUMNS = {field.name: _TYPES[field.type.split()[0]] for field in dataclasses.fields(Answer)}
_NAMES = ", ".join(_COLUMNS)
_LISTED = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
# An answer is on the disk when its statement ends, also through a power cut.
_SETUP = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "CREATE TABLE IF NOT EXISTS answers "
    f"({_LISTED}, number INTEGER, saved REAL, PRIMARY KEY (key, number))",
)
# A store of before there were log-probabilities has no column of them.
_LATER = "ALTER TABLE answers ADD COLUMN logprobs TEXT"
_NUMBER = "(SELECT coalesce(max(number), 0) + 1 FROM answers WHERE key = ?)"
_INSERT = f"INSERT INTO answers ({_NAMES}, number, saved) "
_INSERT += f"VALUES ({'?, ' * len(_COLUMNS)}{_NUMBER}, ?)"
_LATEST = f"SELECT {_NAMES} FROM answers WHERE key = ? ORDER BY number DESC LIMIT 1"  # noqa: S608
_UNKEPT, _ELSEWHERE = "answers cannot be kept", "another --out or store"
# Seconds to wait for another program that has it locked: an answer that is paid for waits long.
_PATIENCE = 600.0


class AnswerStore:
    """Answers by key. Each one that is kept stays; of one key, the latest counts.

    `DataBroken` if the file is there and is no store, or is damaged, `NotAvailable` if it cannot
    be written. While another program has it locked, it is waited for.

    >>> import tempfile
    >>> store = AnswerStore(Path(tempfile.mkdtemp()) / "answers.sqlite")
    >>> store.put(Answer("k", text="5", status="bad_json"))
    >>> store.put(Answer("k", text='{"a": 5}'))
    >>> store.get(["k"]).text, store.count()
    ('{"a": 5}', 2)
    """

    def __init__(self, path: str | Path) -> None:
        self.path, self._lock = Path(path), threading.Lock()
        options = {"timeout": _PATIENCE, "check_same_thread": False, "isolation_level": None}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(self.path, **options)
        except (OSError, ValueError, sqlite3.Error) as error:
            raise NotAvailable(f"{_UNKEPT}: {error}", where=self.path, remedy=_ELSEWHERE) from error
        for statement in _SETUP:
            self._rows(statement)
        with suppress(NotAvailable):
            self._rows(_LATER)
        self._rows(f"SELECT {_NAMES}, number, saved FROM answers LIMIT 0")  # noqa: S608

    def __enter__(self) -> AnswerStore:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._base.close()

    def count(self) -> int:
        """How many answers are kept, those asked for again included."""
        return int(self._rows("SELECT count(*) FROM answers")[0][0])

    def get(self, keys: Sequence[str]) -> Answer | None:
        """Of the latest answers of `keys` the first that has a text, else the first."""
        rows = [row for key in keys for row in self._rows(_LATEST, (key,))]
        error = {"where": f"{self.path}: answers", "remedy": self._remedy()}
        answers = [convert(dict(zip(_COLUMNS, row, strict=True)), Answer, **error) for row in rows]
        return next((a for a in answers if a.text is not None), answers[0] if answers else None)

    def put(self, answer: Answer) -> None:
        """Keep an answer; it is on the disk when this returns."""
        values = [storable(value) for value in dataclasses.astuple(answer)]
        self._rows(_INSERT, (*values, answer.key, time.time()))

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            with self._lock:
                return self._base.execute(statement, values).fetchall()
        except sqlite3.OperationalError as error:  # Locked, read only, no room, no such table.
            raise NotAvailable(f"{_UNKEPT}: {error}", where=self.path, remedy=_ELSEWHERE) from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            what = f"not a store of answers, or damaged: {error}"
            raise DataBroken(what, where=self.path, remedy=self._remedy()) from error

    def _remedy(self) -> str:
        saved = f"sqlite3 {self.path.name} .recover | sqlite3 saved.sqlite"
        return f"{_ELSEWHERE}, or what can be saved of this one: {saved}"


@dataclasses.dataclass(frozen=True)
class Prompt:
    """A question as it is sent, and what its key is made from.

    `shape` is the JSON of all that shapes the answer, each page as its hash and size; `messages`
    makes what is sent, pages included, only when it is needed. `status` judges an answer.
    """

    shape: Any
    messages: Callable[[], Messages]
    schema: dict[str, Any] | None
    status: Callable[[Answer], str]
    task: str = ""
    doc_id: str = ""


class Asker:
    """Asks one model, keeping every answer in a store before it counts. Threads may share it.

    The client's setting `form` says how JSON is asked for, one of `FORMS`, or ``auto``: the first
    that the server takes. ``retry=bad`` asks again what was answered with broken JSON, refused or
    cut short; an error of the API is asked again in any case.
    """

    def __init__(self, client: Client, store: AnswerStore) -> None:
        self.client, self.store = client, store
        form, retry = client.settings["form"], client.settings["retry"]
        self._again = ("api_error", *(BAD if retry else ()))
        self._forms: tuple[str, ...] = FORMS if form == "auto" else (form,)
        # Of threads with the same question one asks, and the others wait for its answer.
        self._locks: dict[str, threading.Lock] = {}
        # The first form that was answered.
        self._first = len(FORMS)

    def answer(self, prompt: Prompt) -> Answer:
        """The stored answer, or a new one that is stored before this returns.

        `NotAvailable` if no call can succeed, `Stopped` if there is no answer and no further call
        may be made.
        """
        shape = {"address": self.client.address, "model": self.client.model}
        shape |= {"options": self.client.options, "messages": prompt.shape, "schema": prompt.schema}
        forms = ("text",) if prompt.schema is None else self._forms
        keys = {form: key_of(shape | {"form": form}) for form in forms}
        before = self.store.get(keys.values())
        with self._locks.setdefault(keys[forms[0]], threading.Lock()):
            answer = self.store.get(keys.values())
            # One that came meanwhile counts, whatever it is.
            if answer is None or (answer == before and prompt.status(answer) in self._again):
                answer = self._ask(prompt, keys)
            return dataclasses.replace(answer, status=prompt.status(answer))

    def _ask(self, prompt: Prompt, keys: dict[str, str]) -> Answer:
        """A new answer, kept as soon as it is there, in the first form that the server takes."""
        about = {"task": prompt.task, "doc_id": prompt.doc_id}
        messages, limits, attempts = prompt.messages(), self.client.limits, 0
        for number, form in [*enumerate(keys)][self._first % len(keys) :]:
            body = self.client.body(messages, schema=prompt.schema, form=form)
            with limits.call(self.client.most(body)):
                answer = self.client.ask(body)
                attempts += answer.attempts
                answer = dataclasses.replace(answer, attempts=attempts, key=keys[form], **about)
                if answer.finish == "bad_request" and number + 1 < len(keys):
                    continue
                self.store.put(answer)
                if answer.text is not None:
                    # A page that fails under a schema does not show that the server takes none.
                    self._first = min(self._first, number)
                    limits.answered(answer.cost)
                break
        return answer
