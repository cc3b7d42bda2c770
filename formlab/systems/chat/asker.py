"""Asks a question once: from the store if it is answered there, else from the model."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from formlab.cache import key_of
from formlab.errors import UnknownName
from formlab.systems.chat.answers import BAD, Answer
from formlab.systems.chat.batch import BatchRequests, BatchResults, name_of
from formlab.systems.chat.client import FORMS, Client, Messages
from formlab.systems.chat.limits import Stopped
from formlab.systems.chat.store import AnswerStore

IN_BATCH = "in a batch that is not answered yet"


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

    With `requests`, a question goes into a batch instead of being asked; what came back for it is
    taken into the store from `results`, each result once.
    """

    def __init__(
        self,
        client: Client,
        store: AnswerStore,
        *,
        form: str = "auto",
        retry: str = "",
        may_ask: bool = True,
        requests: BatchRequests | None = None,
        results: BatchResults | None = None,
    ) -> None:
        if form not in ("auto", *FORMS):
            raise UnknownName.of("way to ask for JSON", form, ("auto", *FORMS))
        if retry not in ("", "bad"):
            raise UnknownName.of("retry", retry, ("bad",))
        self.client, self.store, self.may_ask = client, store, may_ask
        self._again = ("api_error", *(BAD if retry else ()))
        self._forms: tuple[str, ...] = FORMS if form == "auto" else (form,)
        self.requests, self._results = requests, results
        # Of two threads with the same question one takes its result.
        self._lock = threading.Lock()
        # The first way to ask that was answered.
        self._first: int | None = None

    def answer(self, prompt: Prompt) -> Answer:
        """The stored answer, or a new one that is stored before this returns.

        `NotAvailable` if no call can succeed, `Stopped` if there is no answer and no further call
        may be made.
        """
        keys = self._keys(prompt)
        if self._results is not None:
            with self._lock:
                self._take(self._results, prompt, keys)
        stored = self._stored(prompt, keys)
        if stored is not None and not (self.may_ask and stored.status in self._again):
            return stored
        if not self.may_ask:
            raise Stopped("no answer yet")
        if self.requests is not None:
            return self._written(self.requests, prompt, keys)
        with self.store.claim(keys[0], stopped=lambda: self.client.limits.stopped):
            newer = self._stored(prompt, keys)
            if newer is not None and newer != stored:
                # Another thread or process has asked meanwhile.
                return newer
            return _judged(self._left_behind(prompt, keys) or self._ask(prompt, keys), prompt)

    def _stored(self, prompt: Prompt, keys: list[str]) -> Answer | None:
        stored = self.store.get(keys)
        return stored and _judged(stored, prompt)

    def _take(self, results: BatchResults, prompt: Prompt, keys: list[str]) -> None:
        """Store what came back for a question, unless it has been answered since it was put."""
        for key in keys:
            stored, count = self.store.get([key]), self.store.count(key)
            numbers = range(count, -1 if stored is None or stored.text is None else count - 1, -1)
            candidates = (results.get(name_of(key, number)) for number in numbers)
            result = next((result for result in candidates if result is not None), None)
            answer = result and _full(self.client.batched(result), prompt, key)
            if answer and answer != stored:
                self.store.put(answer)

    def _written(self, requests: BatchRequests, prompt: Prompt, keys: list[str]) -> Answer:
        """Put a question into the batch, in the first form that the server has not refused."""
        forms = self._forms if prompt.schema is not None else ("prompt",)
        before = [self.store.get([key]) for key in keys]
        left = [n for n, a in enumerate(before) if a is None or a.finish != "bad_request"]
        if not left:
            return before[0]
        form, key = forms[left[0]], keys[left[0]]
        with self.client.limits.call():
            schema = None if form == "prompt" else prompt.schema
            body = self.client.body(prompt.messages(), schema=schema, form=form)
            requests.add(name_of(key, self.store.count(key)), body)
        raise Stopped(IN_BATCH)

    def _keys(self, prompt: Prompt) -> list[str]:
        shape = {
            "address": self.client.address, "model": self.client.model,
            "options": self.client.options, "messages": prompt.shape, "schema": prompt.schema,
        }  # fmt: skip
        forms = self._forms if prompt.schema is not None else ("text",)
        return [key_of(shape | {"form": form}) for form in forms]

    def _left_behind(self, prompt: Prompt, keys: list[str]) -> Answer | None:
        """An answer that had come, and was not yet kept, when its process was killed."""
        for key in keys:
            if not (part := self.store.part(key)).exists():
                continue
            answer = self.client.arrived(part)
            if answer is not None:
                answer = self._kept(answer, prompt, key, attempts=0)
            part.unlink(missing_ok=True)
            if answer is not None:
                return answer
        return None

    def _ask(self, prompt: Prompt, keys: list[str]) -> Answer:
        """A new answer, kept as soon as it is there, in the first form that the server takes."""
        messages, attempts = prompt.messages(), 0
        forms = self._forms if prompt.schema is not None else ("prompt",)
        start = (self._first or 0) if prompt.schema is not None else 0
        for way in range(start, len(forms)):
            schema = None if forms[way] == "prompt" else prompt.schema
            keep = partial(self._kept, prompt=prompt, key=keys[way], attempts=attempts)
            part = self.store.part(keys[way])
            answer = self.client.ask(messages, schema=schema, form=forms[way], keep=keep, part=part)
            if answer.text is not None:
                if prompt.schema is not None:
                    # A page that fails under a schema does not show that the server takes none.
                    self._first = way if self._first is None else min(self._first, way)
                return answer
            attempts += answer.attempts
            if answer.finish != "bad_request":
                break
        return self._kept(dataclasses.replace(answer, attempts=0), prompt, keys[way], attempts)

    def _kept(self, answer: Answer, prompt: Prompt, key: str, attempts: int) -> Answer:
        answer = dataclasses.replace(answer, attempts=attempts + answer.attempts)
        answer = _full(answer, prompt, key)
        self.store.put(answer)
        return answer


def _full(answer: Answer, prompt: Prompt, key: str) -> Answer:
    return dataclasses.replace(
        answer, key=key, task=prompt.task, doc_id=prompt.doc_id, images=prompt.images
    )


def _judged(answer: Answer, prompt: Prompt) -> Answer:
    return dataclasses.replace(answer, status=prompt.status(answer))
