"""The HTTP client of the openai library, kept within the limits of a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from formlab import resources
from formlab.systems.chat.answers import completion_of
from formlab.systems.chat.limits import Limits
from formlab.systems.chat.prices import Price, usage_of

openai = resources.optional("openai", extra="chat")
# The server is overloaded.
_OVERRUN = (429, 503, 529)
Call = Callable[..., Any]


class Http(openai.DefaultHttpxClient):
    """Sends requests within `limits`; `last` describes a thread's last call.

    With `call`, as from `workers.calling`, the workers of a cluster send them (`_away`).

    The library decides by a response's status whether to repeat the request; `_status` corrects
    the statuses that would mislead it.
    """

    def __init__(self, limits: Limits, price: Price | None, call: Call | None = None) -> None:
        away = {}
        if call is not None:
            from formlab.systems.chat._away import Away

            away = {"transport": Away(call)}
        super().__init__(**away)
        self._limits, self._price, self.last = limits, price, threading.local()

    def __del__(self) -> None:
        # As the library's own client does, whose connections this one has.
        with suppress(Exception):
            self.close()

    def send(self, request: Any, **options: Any) -> Any:
        """The response, with its status corrected."""
        self.last.attempts = 1 + int(request.headers.get("x-stainless-retry-count", 0))
        with self._limits.call() as since:
            try:
                response = super().send(request, **options)
            except Exception:
                self._limits.overrun(since)
                raise
            self.last.seconds = time.monotonic() - since
            completion = _completion(response)
            response.status_code = _status(response, completion)
            if completion is not None:
                # Within the call: its cost counts before another call may take its place.
                self.last.usage = usage = usage_of(completion.get("usage"), self._price)
                self._limits.answered(cost=usage["cost"])
            elif response.status_code in _OVERRUN:
                self._limits.overrun(since)
        return response


def _completion(response: Any) -> dict[str, Any] | None:
    """What the server answered; None for a proxy's page, or a completion without an answer."""
    try:
        return completion_of(response.json()) if response.is_success else None
    except (ValueError, RecursionError):
        return None


def _status(response: Any, completion: dict[str, Any] | None) -> int:
    """The status by which the library repeats what may succeed later, and nothing else."""
    code: int = response.status_code
    if response.is_success:
        return code if completion is not None else 502
    if code >= 500 and "response_format" in response.text:
        # Servers over llama.cpp answer a schema they do not support with an error of their own.
        return 400
    return 403 if code == 429 and '"insufficient_quota"' in response.text else code
