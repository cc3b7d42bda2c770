"""The HTTP client of the openai library, kept within the limits of a run."""

from __future__ import annotations

import math
import threading
import time
from typing import Any

from formlab.errors import NotAvailable
from formlab.systems.chat._wire import Wire
from formlab.systems.chat.answers import completion_of
from formlab.systems.chat.limits import HOPELESS, Limits
from formlab.systems.chat.prices import Price, usage_of

# The server is overloaded.
_OVERRUN = (429, 503, 529)


class Http(Wire):
    """Sends requests within `limits`; `last` describes a thread's last call.

    Before a request, ``last.most`` is the most that it may cost, and ``last.keep`` is called with
    what the server answered, before that counts or anything else happens.

    The library decides by a response's status whether to repeat the request; `_status` corrects
    the statuses that would mislead it.
    """

    def __init__(self, limits: Limits, price: Price | None) -> None:
        super().__init__()
        self._limits, self._price, self.last = limits, price, threading.local()

    def send(self, request: Any, **options: Any) -> Any:
        """The response, with its status corrected."""
        last, limits = self.last, self._limits
        last.attempts = 1 + int(request.headers.get("x-stainless-retry-count", 0))
        with limits.call(last.most) as since:
            try:
                response = super().send(request, **options)
            except Exception:
                limits.overrun(since)
                raise
            last.seconds = time.monotonic() - since
            completion = completion_in(response)
            response.status_code = _status(response, completion)
            if completion is not None:
                last.usage = usage_of(completion.get("usage"), self._price)
                last.keep(completion)
                # Within the call: its cost counts before another call may take its place.
                self._count(last.usage["cost"], last.most)
            elif response.status_code in _OVERRUN:
                limits.overrun(since)
            elif response.status_code in HOPELESS:
                # Within the call as well: none may begin in its place.
                limits.stop(f"the server refuses every call: {response.status_code}")
        return response

    def _count(self, cost: float | None, most: float) -> None:
        limits = self._limits
        if cost is None and math.isfinite(limits.max_cost) and not limits.assume_cost:
            what = "the server does not say how many tokens an answer took: max_cost cannot hold"
            limits.stop(what)
            raise NotAvailable(what, remedy="--set assume_cost=on, or --set max_calls=N")
        limits.answered(cost=cost, most=most)


def completion_in(response: Any) -> dict[str, Any] | None:
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
