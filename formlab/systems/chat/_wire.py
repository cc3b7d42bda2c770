"""Requests with an end: a time in all, a largest answer, and no host but the one they are for."""

from __future__ import annotations

import http.client
import io
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from formlab import resources
from formlab.errors import FormlabError, NotAvailable

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
    # Where the bytes of a response are written as they come, and what must not be among them.
    part: int | None = None
    secret: bytes = b""

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

    def came(self, data: bytes) -> bytes:
        """`data`, which is in the file of the request before anything else is done with it."""
        if self.part is not None:
            # As long as before, since the response has its length in its head.
            hidden = data.replace(self.secret, b"*" * len(self.secret)) if self.secret else data
            # On a full disk the store has an error to say, which this would hide.
            with suppress(OSError):
                os.write(self.part, hidden)
        return data


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
                pool._network_backend = _Timed(pool._network_backend, self._bounds)

    def __del__(self) -> None:
        # As the library's own client does, whose connections this one has.
        with suppress(Exception):
            self.close()

    def send(self, request: Any, **options: Any) -> Any:
        """The response, read to its end."""
        seconds = request.extensions["timeout"]["read"]
        self._bounds.until = None if seconds is None else time.monotonic() + seconds
        self._bounds.asked = request.url
        if self._bounds.part is not None:
            os.ftruncate(self._bounds.part, 0)
        return _whole(super().send(request, **options | {"stream": True}), request)

    @contextmanager
    def writing(self, part: Path | None, *, secret: str = "") -> Iterator[None]:
        """Meanwhile the bytes that come for this thread's requests are written into `part`.

        The file is left behind where the process is killed, or what was to be kept was not; `read`
        has the response in it.
        """
        if part is None:
            yield
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        try:
            handle = os.open(part, flags, 0o666)
        except OSError as error:
            what = f"answers cannot be kept: {error}"
            raise NotAvailable(what, where=part, remedy="another --out or store") from error
        self._bounds.part, self._bounds.secret = handle, secret.encode()
        left = False
        try:
            yield
        except FormlabError:
            left = True
            raise
        finally:
            self._bounds.part = None
            os.close(handle)
            if not left:
                part.unlink(missing_ok=True)


def read(part: Path) -> Any:
    """The response in a file of `Wire.writing`; None if there is none, or not all of it."""
    try:
        data = part.read_bytes()
        raw = http.client.HTTPResponse(_Bytes(data))
        raw.begin()
        body = httpx.ByteStream(raw.read())
        headers = [(n, v) for n, v in raw.getheaders() if n.lower() != "transfer-encoding"]
        return _whole(httpx.Response(raw.status, headers=headers, stream=body))
    except (OSError, ValueError, http.client.HTTPException, httpx.HTTPError, Refused):
        return None


class _Bytes(io.BytesIO):
    """What the standard library takes for the socket of a response."""

    def makefile(self, *_: Any) -> io.BytesIO:
        return self


def _whole(response: Any, request: Any = None) -> Any:
    """A response read to its end, unpacked."""
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
    content = b"".join(pieces)
    return httpx.Response(response.status_code, headers=headers, content=content, request=request)


class _Timed:
    """A network backend, or a connection of it, held to the bounds of its thread's request."""

    def __init__(self, inner: Any, bounds: Bounds) -> None:
        self._inner, self._bounds = inner, bounds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, *arguments: Any, timeout: float | None = None, **options: Any) -> _Timed:
        timeout = self._bounds.left(timeout)
        inner = self._inner.connect_tcp(*arguments, timeout=timeout, **options)
        return _Timed(inner, self._bounds)

    def start_tls(self, *arguments: Any, timeout: float | None = None, **options: Any) -> _Timed:
        timeout = self._bounds.left(timeout)
        inner = self._inner.start_tls(*arguments, timeout=timeout, **options)
        return _Timed(inner, self._bounds)

    def read(self, most: int, timeout: float | None = None) -> bytes:
        return self._bounds.came(self._inner.read(most, self._bounds.left(timeout)))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            self._inner.write(buffer[start : start + _PIECE], self._bounds.left(timeout))
