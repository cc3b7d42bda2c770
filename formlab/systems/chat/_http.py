"""The HTTP client of the openai library, kept within the limits of a run."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any

from formlab import resources
from formlab.systems.chat.limits import Limits

openai = resources.optional("openai", extra="chat")
# What says that the server has too much to do.
_OVERRUN = (429, 503, 529)


class Http(openai.DefaultHttpxClient):
    """Sends requests within `limits`; `last` has the attempts and seconds of a thread's last call.

    The library decides by the status of a response whether to repeat the request. `_status`
    corrects those that would mislead it.
    """

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self._limits, self.last = limits, threading.local()

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
        response.status_code = _status(response)
        if response.status_code in _OVERRUN:
            self._limits.overrun(since)
        return response


def _status(response: Any) -> int:
    """The status by which the library repeats what may succeed later, and nothing else."""
    code: int = response.status_code
    if code >= 500 and "response_format" in response.text:
        # Servers over llama.cpp call it an error of their own that they know no schema.
        return 400
    if code == 429 and '"insufficient_quota"' in response.text:
        return 403
    if response.is_success:
        try:
            _ = response.json()["choices"][0]["message"]["content"]
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            # A proxy's page, or a completion without an answer.
            return 502
    return code
