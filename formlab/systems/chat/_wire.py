"""Requests with an end: a time in all, a largest answer, and no host but the one they are for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from formlab import resources

openai = resources.optional("openai", extra="chat")
# The library that openai sends with, which has changed its name.
httpx = import_module(openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])
# The most bytes of an answer, once it is unpacked: a hundred times a long one with probabilities.
LARGEST = 32 * 1024**2
# Bytes that are handed to a connection at a time.
_PIECE = 65_536


class Refused(Exception):
    """What a server sent is not taken, and asking again would bring the same."""


class Bounds(threading.local):
    """What a thread's request is held to; no part of the client, which ends with its last use."""

    until: float | None = None
    asked: Any = None

    def check(self, request: Any) -> None:
        """`Refused` if a request, to which a server has led, is for another host."""
        asked, url = self.asked, request.url
        # From http to https is no other host.
        safer = (asked.scheme, url.scheme) == ("http", "https") and asked.port == url.port
        same = (asked.scheme, asked.host, asked.port) == (url.scheme, url.host, url.port)
        if not (same or (safer and asked.host == url.host)):
            place = f"{url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}"
            raise Refused(f"the server leads to another host, {place}, which is not asked")

    def left(self, timeout: float | None) -> float | None:
        """How long a step of the request may take."""
        if self.until is None:
            return timeout
        left = self.until - time.monotonic()
        if left <= 0:
            raise httpx.ReadTimeout("the call took too long in all")
        return left if timeout is None else min(timeout, left)


class Wire(openai.DefaultHttpxClient):
    """An HTTP client whose requests take no longer in all than their timeout. Threads may share it.

    `Refused` if a server leads to another host, which would get the pages, or answers with more
    than `LARGEST` bytes.
    """

    def __init__(self, **options: Any) -> None:
        self._bounds = Bounds()
        super().__init__(event_hooks={"request": [self._bounds.check]}, **options)
        # The libraries bound each wait for a byte, and their clients take no backend that bounds
        # all of them: a transport of one's own would not know of proxies.
        for transport in (self._transport, *self._mounts.values()):
            if pool := getattr(transport, "_pool", None):
                pool._network_backend = _Timed(pool._network_backend, self._bounds.left)

    def __del__(self) -> None:
        # As the library's own client does, whose connections this one has.
        with suppress(Exception):
            self.close()

    def send(self, request: Any, **options: Any) -> Any:
        """The response, read to its end."""
        seconds = request.extensions["timeout"]["read"]
        self._bounds.until = None if seconds is None else time.monotonic() + seconds
        self._bounds.asked = request.url
        response = super().send(request, **options | {"stream": True})
        pieces, size = [], 0
        try:
            for piece in response.iter_bytes(_PIECE):
                size += len(piece)
                if size > LARGEST:
                    raise Refused(f"an answer of over {LARGEST // 1024**2} MB")
                pieces.append(piece)
        finally:
            response.close()
        # It is unpacked already.
        packed = ("content-encoding", "transfer-encoding", "content-length")
        headers = [(n, v) for n, v in response.headers.items() if n.lower() not in packed]
        return httpx.Response(
            response.status_code, headers=headers, content=b"".join(pieces), request=request
        )


class _Timed:
    """A network backend, or a connection of it, with `left` to bound how long each step takes."""

    def __init__(self, inner: Any, left: Callable[[float | None], float | None]) -> None:
        self._inner, self._left = inner, left

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, *arguments: Any, timeout: float | None = None, **options: Any) -> _Timed:
        timeout = self._left(timeout)
        inner = self._inner.connect_tcp(*arguments, timeout=timeout, **options)
        return _Timed(inner, self._left)

    def start_tls(self, *arguments: Any, timeout: float | None = None, **options: Any) -> _Timed:
        timeout = self._left(timeout)
        inner = self._inner.start_tls(*arguments, timeout=timeout, **options)
        return _Timed(inner, self._left)

    def read(self, most: int, timeout: float | None = None) -> bytes:
        data: bytes = self._inner.read(most, self._left(timeout))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            self._inner.write(buffer[start : start + _PIECE], self._left(timeout))
