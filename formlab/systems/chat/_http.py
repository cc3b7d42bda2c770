"""The openai library's HTTP client within the limits of a run; loaded with the library."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any

import openai

from formlab.systems.chat.limits import Limits

# What says that the server has too much to do.
_OVERRUN = (429, 503, 529)


class Http(openai.DefaultHttpxClient):
    """Sends requests while `limits` let it; `last` has what the thread's last one came to.

    The library repeats a request by its status and Retry-After, so a response gets the status of
    what it is worth (see `_status`).
    """

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self._limits, self.last = limits, threading.local()

    def __del__(self) -> None:
        # As the library's own client does, whose connections this one has.
        with suppress(Exception):
            self.close()

    def send(self, request: Any, **options: Any) -> Any:
        """The response, whose status tells the library whether to ask again."""
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
    """The status that makes the library repeat what may pass, and nothing else."""
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
