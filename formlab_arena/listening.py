"""The arena's server on a socket: slow, silent or many clients keep nobody else out."""

import contextlib
import io
import ipaddress
import socket
import threading
import time
from typing import Any

from flask import Flask
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from formlab.errors import NotAvailable

# Seconds within which a client must send something, and all of its request.
SILENCE, REQUEST = 10.0, 60.0
# Connections open at once; where one more comes, the oldest is closed.
MOST = 512
# In a request's environment: the address of this machine that the client came to.
LOCAL = "formlab.local_address"


class _Timed(io.RawIOBase):
    """What a client sends, with a limit on every wait and on all of them together."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._end = connection, time.monotonic() + REQUEST

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long")
        self._connection.settimeout(min(left, SILENCE))
        try:
            return self._connection.recv_into(buffer)
        finally:
            # The answer has its own time.
            self._connection.settimeout(SILENCE)


class _Handler(WSGIRequestHandler):
    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_Timed(self.connection))

    def make_environ(self) -> dict[str, Any]:
        try:
            environ = super().make_environ()
        except ValueError:  # The address in the request line is none.
            self.path = "/"
            environ = super().make_environ() | {"HTTP_HOST": ""}
        address = ipaddress.ip_address(self.connection.getsockname()[0].partition("%")[0])
        # A socket for both families shows IPv4 as ::ffff:192.0.2.1.
        return environ | {LOCAL: str(getattr(address, "ipv4_mapped", None) or address)}


class _Server(ThreadedWSGIServer):
    def __init__(self, *of: Any, **named: Any) -> None:
        self._open: dict[socket.socket, None] = {}
        self._lock = threading.Lock()
        super().__init__(*of, **named)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            if len(self._open) >= MOST:
                oldest = next(iter(self._open))
                del self._open[oldest]
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
            self._open[request] = None
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)


def listen(app: Flask, *, host: str = "127.0.0.1", port: int = 8000) -> ThreadedWSGIServer:
    """A server bound to an address, a thread for each connection; `serve_forever` starts it.

    Raises
    ------
    NotAvailable
        If the port is taken or the address is not this machine's.
    """
    try:
        return _Server(host, port, app, _Handler)
    # werkzeug ends the process where the port is taken; a name may be none that can be looked up.
    except (OSError, SystemExit, ValueError) as error:
        raise NotAvailable(
            "cannot listen", where=f"{host}:{port}",
            remedy="another --port (0 takes a free one), or an address of this machine as --host",
        ) from error  # fmt: skip


def address(host: str, port: int) -> str:
    """What to type into a browser for a server that listens on `host`.

    Examples
    --------
    >>> address("::1", 8000)
    'http://[::1]:8000'
    """
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not listened on
        host = socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
