"""Asks a question once: from the store if it is answered there, else from the model."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any

from formlab.cache import key_of
from formlab.errors import UnknownName
from formlab.systems.chat.answers import BAD, Answer
from formlab.systems.chat.client import FORMS, Client, Messages
from formlab.systems.chat.limits import Stopped
from formlab.systems.chat.store import AnswerStore


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
    images: str | None = None


class Asker:
    """Asks one model, keeping every answer in a store before it counts. Threads may share it.

    `form` says how JSON is asked for, one of `FORMS`, or ``auto``: the first that the server
    takes. ``retry="bad"`` asks again what was answered with broken JSON, refused or cut short; an
    error of the API is asked again in any case. ``may_ask=False`` takes what the store has,
    whatever it is, and calls nothing.
    """

    def __init__(
        self,
        client: Client,
        store: AnswerStore,
        *,
        form: str = "auto",
        retry: str = "",
        may_ask: bool = True,
    ) -> None:
        if form not in ("auto", *FORMS):
            raise UnknownName.of("way to ask for JSON", form, ("auto", *FORMS))
        if retry not in ("", "bad"):
            raise UnknownName.of("retry", retry, ("bad",))
        self.client, self.store, self.may_ask = client, store, may_ask
        self._again = ("api_error", *(BAD if retry else ()))
        self._forms: tuple[str, ...] = FORMS if form == "auto" else (form,)
        # Of threads with the same question one asks, and the others wait for its answer.
        self._locks: dict[str, threading.Lock] = {}
        # The first way to ask that was answered.
        self._first = len(FORMS)

    def answer(self, prompt: Prompt) -> Answer:
        """The stored answer, or a new one that is stored before this returns.

        `NotAvailable` if no call can succeed, `Stopped` if there is no answer and no further call
        may be made.
        """
        keys = self._keys(prompt)
        before = self.store.get(keys.values())
        with self._locks.setdefault(next(iter(keys.values())), threading.Lock()):
            answer = self.store.get(keys.values())
            status = prompt.status(answer) if answer else ""
            # One that came meanwhile counts, whatever it is.
            again = self.may_ask and answer == before and status in self._again
            if answer is None or again:
                if not self.may_ask:
                    raise Stopped("no answer yet")
                answer = self._ask(prompt, keys)
                status = prompt.status(answer)
            return dataclasses.replace(answer, status=status)

    def _keys(self, prompt: Prompt) -> dict[str, str]:
        """The key of an answer by the form in which it is asked for."""
        shape = {
            "address": self.client.address,
            "model": self.client.model,
            "options": self.client.options,
            "messages": prompt.shape,
            "schema": prompt.schema,
        }
        forms = self._forms if prompt.schema is not None else ("text",)
        return {form: key_of(shape | {"form": form}) for form in forms}

    def _ask(self, prompt: Prompt, keys: dict[str, str]) -> Answer:
        """A new answer, kept as soon as it is there, in the first form that the server takes."""
        about = {"task": prompt.task, "doc_id": prompt.doc_id, "images": prompt.images}
        messages, attempts, ways = prompt.messages(), 0, [*keys]

        def keep(answer: Answer) -> Answer:
            total = attempts + answer.attempts
            answer = dataclasses.replace(answer, attempts=total, key=keys[form], **about)
            self.store.put(answer)
            return answer

        for form in ways[self._first if self._first < len(ways) else 0 :]:
            schema = prompt.schema if form in FORMS[:2] else None
            answer = self.client.ask(messages, schema=schema, form=form, keep=keep)
            if answer.text is not None:
                if prompt.schema is not None:
                    # A page that fails under a schema does not show that the server takes none.
                    self._first = min(self._first, ways.index(form))
                return answer
            if answer.finish != "bad_request":
                break
            if form != ways[-1]:
                attempts += answer.attempts
        return keep(answer)
