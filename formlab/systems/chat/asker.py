"""Asks a question once: from the store if it is answered there, else from the model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from formlab.errors import UnknownName
from formlab.systems.chat._gate import Stopped
from formlab.systems.chat.answers import BAD
from formlab.systems.chat.client import FORMS, Client, Messages, Reply
from formlab.systems.chat.store import Answer, Store, key_of

RETRIES = ("", "bad")
_POLL = 0.2


@dataclasses.dataclass(frozen=True)
class Prompt:
    """A question as it is sent, and what it is known by.

    `shape` is the JSON of all that shapes the answer, each page as its hash and size; `messages`
    makes what is sent, pages included, only when it is needed. `status` tells an answer's status.
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

    Parameters
    ----------
    client, store
        What answers, and where answers are kept.
    form
        How JSON is asked for, one of `FORMS`; or ``auto``: the first of them that the server takes.
    retry
        ``bad`` to ask again what was answered with broken JSON, refused or cut short. What was
        never answered, for an error of the API, is asked again in any case.
    may_ask
        False to take what the store has, whatever it is, and call nothing.

    Raises
    ------
    UnknownName
        If `form` or `retry` is none of these.
    """

    def __init__(
        self,
        client: Client,
        store: Store,
        *,
        form: str = "auto",
        retry: str = "",
        may_ask: bool = True,
    ) -> None:
        if form not in ("auto", *FORMS):
            raise UnknownName.of("way to ask for JSON", form, ("auto", *FORMS))
        if retry not in RETRIES:
            raise UnknownName.of("retry", retry, ("bad",))
        self.client, self.store, self.retry, self.may_ask = client, store, retry, may_ask
        self.forms: tuple[str, ...] = FORMS if form == "auto" else (form,)
        # The first way to ask that was ever answered.
        self._first: int | None = None

    def answer(self, prompt: Prompt) -> Answer:
        """The stored answer, or a new one that is stored before this returns.

        Raises
        ------
        NotAvailable
            If no call can succeed.
        Stopped
            If there is no answer and no further call may be made.
        """
        keys = self._keys(prompt)
        seen = self.store.get(keys)
        if seen is not None and not (self.may_ask and self._again(seen)):
            return seen
        if not self.may_ask:
            raise Stopped("no answer yet")
        while not self._claimed(keys, seen):
            newer = self.store.get(keys)
            if newer is not None and newer != seen:
                return newer
            self.client.gate.sleep(_POLL)
            if self.client.gate.stopped:
                raise Stopped(self.client.gate.stopped)
        try:
            answer = self._ask(prompt, keys)
            self.store.put(answer, claimed=keys[0])
        except BaseException as error:
            self.store.release(keys[0])
            if isinstance(error, Stopped):
                self.client.gate.stop(str(error))
            raise
        return answer

    def _claimed(self, keys: list[str], seen: Answer | None) -> bool:
        return self.store.claim(keys, seconds=60 + 2 * self.client.timeout, seen=seen)

    def _again(self, answer: Answer) -> bool:
        return answer.status == "api_error" or (self.retry == "bad" and answer.status in BAD)

    def _keys(self, prompt: Prompt) -> list[str]:
        shape = {
            "address": self.client.address, "model": self.client.model,
            "options": self.client.options, "messages": prompt.shape, "schema": prompt.schema,
        }  # fmt: skip
        forms = self.forms if prompt.schema is not None else ("text",)
        return [key_of(shape | {"form": form}) for form in forms]

    def _ask(self, prompt: Prompt, keys: list[str]) -> Answer:
        messages = prompt.messages()
        if prompt.schema is None:
            return self._kept(prompt, keys[0], self.client.ask(messages))
        reply, attempts, place = Reply(), 0, 0
        for place in range(self._first or 0, len(self.forms)):
            form = self.forms[place]
            held = None if form == "prompt" else prompt.schema
            reply = self.client.ask(messages, schema=held, form=form)
            attempts += reply.attempts
            if reply.finish != "bad_request":
                break
        if reply.text is not None:
            # One page that a schema does not suit says nothing of the server.
            self._first = place if self._first is None else min(self._first, place)
        return self._kept(prompt, keys[place], dataclasses.replace(reply, attempts=attempts))

    def _kept(self, prompt: Prompt, key: str, reply: Reply) -> Answer:
        same = ("finish", "attempts", "tokens_in", "tokens_out", "cost", "seconds", "error")
        answer = Answer(
            key, self.client.model, prompt.task, prompt.doc_id, images=prompt.images,
            text=reply.text or reply.refusal if reply.refusal else reply.text,
            **{name: getattr(reply, name) for name in same},
        )  # fmt: skip
        if reply.refusal:
            answer = dataclasses.replace(answer, status="refused", error="refused by the model")
        return dataclasses.replace(answer, status=prompt.status(answer))
