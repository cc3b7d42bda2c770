"""A question is asked once: from the store if it is answered there, else from the model.

Made with sqlite3, as diskcache pickles and has locks that outlive a killed process.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from formlab.errors import DataBroken, NotAvailable
from formlab.files import convert, key_of, make_folder, storable
from formlab.systems.chat.answers import BAD, Answer
from formlab.systems.chat.client import FORMS, Client, Messages

_COLUMNS = [field.name for field in dataclasses.fields(Answer)]
_NAMES = ", ".join(_COLUMNS)
# An answer is on the disk when its statement ends, also through a power cut.
_SETUP = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    f"CREATE TABLE IF NOT EXISTS answers ({_NAMES}, saved DEFAULT CURRENT_TIMESTAMP)",
    "CREATE INDEX IF NOT EXISTS answers_by_key ON answers (key)",
)
# A store of before there were log-probabilities has no column of them.
_LATER = "ALTER TABLE answers ADD COLUMN logprobs TEXT"
_INSERT = f"INSERT INTO answers ({_NAMES}) VALUES ({', '.join('?' for _ in _COLUMNS)})"  # noqa: S608
_LATEST = f"SELECT {_NAMES} FROM answers WHERE key = ? ORDER BY rowid DESC LIMIT 1"  # noqa: S608
# The status of an answer by what its text is good for.
Status = Callable[[Answer], str]
# Seconds to wait for another program that has it locked: an answer that is paid for waits long.
_PATIENCE = 600.0


class AnswerStore:
    """Answers by key, in one SQLite file that runs can share; of one key, the latest counts.

    `DataBroken` if the file is there and is no store, or is damaged, `NotAvailable` if it cannot
    be written. While another program has it locked, it is waited for.

    >>> import tempfile
    >>> store = AnswerStore(Path(tempfile.mkdtemp()) / "answers.sqlite")
    >>> store.put(Answer("k", text="5", status="bad_json"))
    >>> store.put(Answer("k", text='{"a": 5}'))
    >>> store.get(["k"]).text
    '{"a": 5}'
    """

    def __init__(self, path: str | Path) -> None:
        self.path, self._lock = Path(path), threading.Lock()
        saved = f"sqlite3 {self.path.name} .recover | sqlite3 saved.sqlite"
        self._remedy = f"another --out or store, or what can be saved of this one: {saved}"
        make_folder(self.path.parent)
        options = {"timeout": _PATIENCE, "check_same_thread": False, "isolation_level": None}
        with self._errors():
            self._base = sqlite3.connect(self.path, **options)
        for statement in _SETUP:
            self._rows(statement)
        with suppress(NotAvailable):
            self._rows(_LATER)

    def __enter__(self) -> AnswerStore:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._base.close()

    def get(self, keys: Iterable[str]) -> Answer | None:
        """Of the latest answers of `keys` the first that has a text, else the first."""
        rows = [row for key in keys for row in self._rows(_LATEST, (key,))]
        error = {"where": f"{self.path}: answers", "remedy": self._remedy}
        answers = [convert(dict(zip(_COLUMNS, row, strict=True)), Answer, **error) for row in rows]
        return next((a for a in answers if a.text is not None), answers[0] if answers else None)

    def put(self, answer: Answer) -> None:
        """Keep an answer; it is on the disk when this returns."""
        self._rows(_INSERT, [storable(value) for value in dataclasses.astuple(answer)])

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._errors(), self._lock:
            return self._base.execute(statement, values).fetchall()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:  # Locked, read only, no room, no such table.
            what, remedy = f"answers cannot be kept: {error}", "another --out or store"
            raise NotAvailable(what, where=self.path, remedy=remedy) from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            what = f"not a store of answers, or damaged: {error}"
            raise DataBroken(what, where=self.path, remedy=self._remedy) from error


class Asker:
    """Asks one model, keeping every answer in a store before it counts. Threads may share it.

    The client's setting `form` says how JSON is asked for, one of `FORMS`, or ``auto``: the first
    that the server takes. ``retry=bad`` asks again what was answered with broken JSON, refused or
    cut short; an error of the API is asked again in any case.
    """

    def __init__(self, client: Client, store: AnswerStore) -> None:
        self.client, self.store = client, store
        self._again = ("api_error", *(BAD if client.settings["retry"] else ()))
        form = client.settings["form"]
        self._forms: tuple[str, ...] = FORMS if form == "auto" else (form,)
        # Of threads with the same question one asks, and the others wait for its answer.
        self._locks: dict[str, threading.Lock] = {}
        # The first form that was answered.
        self._first = len(FORMS)

    def answer(
        self, messages: Messages, schema: Any, *, status: Status, sample: int = 0, **about: str
    ) -> Answer:
        """The stored answer, or a new one that is stored before this returns.

        A `Page` in `messages` is drawn only if the model is asked; `status` judges an answer; each
        `sample` of a question has its own. `about` are the `task` and `doc_id` of the answer.
        `NotAvailable` if no call can succeed, `Stopped` if no further one may be made.
        """
        client, forms = self.client, ("text",) if schema is None else self._forms
        shape = _filled(messages, lambda page: page.shape)
        shape += [{"sample": sample}] if sample else []
        whole = {"address": client.address, "model": client.model, "options": client.options}
        whole |= {"messages": shape, "schema": schema}
        keys = {form: key_of(whole | {"form": form}) for form in forms}
        with self._locks.setdefault(keys[forms[0]], threading.Lock()):
            answer = self.store.get(keys.values())
            if answer is None or status(answer) in self._again:
                sent, attempts = _filled(messages, lambda page: page.url()), 0
                # A form that the server does not take is put in the next one.
                for form in forms[self._first % len(forms) :]:
                    answer = client.ask(client.body(sent, schema=schema, form=form))
                    attempts += answer.attempts
                    if answer.finish != "bad_request":
                        break
                answer = dataclasses.replace(answer, attempts=attempts, key=keys[form], **about)
                self.store.put(answer)
                if answer.text is not None:
                    # A page that fails under a schema does not show that the server takes none.
                    self._first = min(self._first, forms.index(form))
        return dataclasses.replace(answer, status=status(answer))


def _filled(messages: Messages, part: Callable[[Any], Any]) -> Messages:
    """Messages with what `part` makes of each page in place of the page."""
    return json.loads(json.dumps(messages, default=part))
