"""A model as the judge of facts, asked as every model is: nothing twice, within its limits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from formlab.metrics.judge import parse
from formlab.systems.chat._options import RUNNING, SHAPING, client_of
from formlab.systems.chat.answers import content
from formlab.systems.chat.asker import Asker, Prompt
from formlab.systems.chat.client import Unanswered
from formlab.systems.chat.store import Answer, Store
from formlab.tables import USABLE


def judge_call(
    model: str, *, store: str | Path, settings: dict[str, Any] | None = None
) -> Callable[..., Answer]:
    """A caller of `model` for `formlab.systems.judge.ask` that asks nothing twice.

    Its answers are kept in `store`; retries, limits of money and calls, and the forms of JSON are
    those of `ChatSystem`. Threads may share it.

    Raises
    ------
    NotAvailable, DataBroken, UnknownName
        If there is no key for OpenAI's own address, `store` is no store, or a setting is wrong.
    """
    given = SHAPING | RUNNING | (settings or {})
    asker = Asker(client_of(model, given), Store(store), form=given["form"], retry=given["retry"])

    def call(said: list[dict[str, Any]], *, form: dict[str, Any]) -> Answer:
        answer = asker.answer(Prompt(said, lambda: said, form, _status, task="judge"))
        if answer.text is None:
            raise Unanswered(answer.error or "no answer")
        return answer

    return call


def _status(answer: Answer) -> str:
    found = content(answer, json=True)
    if found.status in USABLE or found.status == "bad_json":
        # What the released code takes for an answer is more lenient, and what counts here.
        return parse(answer.text or "")[1]
    return found.status
