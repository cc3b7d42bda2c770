"""A local proxy that lets a browser reach the servers that were allowed, and no other."""

import asyncio
import contextlib
import os
import urllib.parse
from collections.abc import Iterable
from typing import Any

# Refused addresses that are kept, characters of each, and bytes of a body.
MOST, LONGEST, LARGEST = 100, 300, 4 << 20
# Bodies sent to one address that wait for their answers.
_WAITING = 20
_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
# Servers that Chromium asks on its own account; what a page wants of them is noted all the same,
# since `refuse` is called with it.
_CHROMIUM = ("accounts.google.com", "clients.google.com", ".googleapis.com", ".gvt1.com")
# Headers of one hop, and those that would let a connection serve a second request.
_HOP = (b"connection:", b"proxy-connection:", b"proxy-authorization:", b"keep-alive:")


class Gate:
    """What a browser with this proxy can reach: `addresses`, each one server or a path of it.

    All of the browser's traffic comes here, also redirects, WebSockets, workers and new tabs.
    Of what is encrypted only the server is known, so of an https address the path is not checked,
    and a WebSocket may go only where a whole server is allowed. ``https://`` without a server
    allows all of them. What cannot come here (WebRTC's datagrams, WebTransport) reaches nothing.
    Bodies sent over plain http are kept, since the browser tells none that have files.
    """

    def __init__(self, addresses: Iterable[str]) -> None:
        self.allowed = [urllib.parse.urlsplit(address) for address in addresses]
        self.failure = ""
        self._refused: list[str] = []
        self._servers: dict[Any, str] = {}
        self._bodies: dict[tuple[str, str], list[bytes]] = {}

    def allows(self, url: str) -> bool:
        """Whether a page may ask for an address.

        Examples
        --------
        >>> gate = Gate(["http://127.0.0.1:8000/form"])
        >>> gate.allows("http://127.0.0.1:8000/form/2"), gate.allows("http://127.0.0.1:9/form")
        (True, False)
        """
        parts = _parts(url)
        if parts.scheme not in _PORTS:
            return parts.scheme in ("data", "blob", "about")
        return any(
            (not own.hostname and own.scheme == parts.scheme)
            or (
                _server(own) == _server(parts)
                and (own.scheme == "https" or (parts.path or "/").startswith(own.path or "/"))
            )
            for own in self.allowed
        )

    def body(self, method: str, url: str) -> bytes | None:
        """What was sent with a request, once; None if it is not known."""
        bodies = self._bodies.get((method, url.split("#")[0]))
        return bodies.pop(0) if bodies else None

    @property
    def blocked(self) -> list[str]:
        """What was refused: whole addresses, and servers of which no more is known."""
        known = {_server(_parts(url)) for url in self._refused}
        return [
            *self._refused,
            *(url for server, url in self._servers.items() if server not in known),
        ]

    def refuse(self, url: str) -> None:
        """Note an address that was refused, unless it is one of those that may be reached."""
        if self.allows(url):
            return
        if url[:LONGEST] not in self._refused and len(self._refused) < MOST:
            self._refused.append(url[:LONGEST])

    async def start(self, until: contextlib.AsyncExitStack) -> str:
        """Listen on the running loop until a stack is closed; the address for the browser."""
        listener = await asyncio.start_server(self._served, "127.0.0.1", 0, limit=1 << 20)
        until.callback(listener.close)
        host, port = listener.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}"

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream = None
        try:
            method, target, head = _parsed(await reader.readuntil(b"\r\n\r\n"))
            tunnel = method == "CONNECT"
            # A WebSocket that is not encrypted comes in a tunnel as well.
            url = f"https://{target.removesuffix(':443')}/" if tunnel else target
            server = _server(_parts(url))
            if tunnel and not self.allows(url):
                if len(self._servers) < MOST and not str(server[0]).endswith(_CHROMIUM):
                    self._servers[server] = url[:LONGEST]
                writer.write(b"HTTP/1.1 403 Refused\r\n\r\n")
                return
            if not tunnel and not self.allows(url):
                self.refuse(url)
                return
            try:
                source, upstream = await asyncio.open_connection(*server, limit=1 << 20)
            except OSError as error:
                # The browser learns only that there is no answer.
                known = (error.errno or 0) > 0
                why = os.strerror(error.errno) if known else error.strerror or str(error)
                self.failure = f"{server[0]}:{server[1]}: {why}"[:LONGEST]
                raise
            if tunnel:
                writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
                both = (_piped(reader, upstream), _piped(source, writer))
            else:
                upstream.write(head)
                await self._send_body(method, url, head, reader, upstream)
                both = (reader.read(), self._answer(source, writer))
            tasks = [asyncio.ensure_future(way) for way in both]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        # A server that is not there, a browser that went, or what is no request.
        except (OSError, ValueError, EOFError, asyncio.LimitOverrunError):
            pass
        finally:
            for end in filter(None, (writer, upstream)):
                end.close()

    async def _send_body(
        self, method: str, url: str, head: bytes, reader: asyncio.StreamReader,
        upstream: asyncio.StreamWriter,
    ) -> None:  # fmt: skip
        lengths = [line[15:] for line in head.lower().split(b"\r\n") if b"content-length:" in line]
        left, kept = int(lengths[0]) if lengths else 0, bytearray()
        while left > 0 and (data := await reader.read(min(left, 1 << 16))):
            left -= len(data)
            kept += data if len(kept) < LARGEST else b""
            upstream.write(data)
            await upstream.drain()
        if kept:
            bodies = self._bodies.setdefault((method, url), [])
            bodies[:] = [*bodies[-_WAITING:], bytes(kept)]

    async def _answer(self, source: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await source.readuntil(b"\r\n\r\n")
            writer.write(_once(head))
            # What begins with 1 announces the answer.
            if head[9:10] != b"1":
                break
        await _piped(source, writer)


def _parts(url: str) -> urllib.parse.SplitResult:
    """The parts of an address; of one that is none, or was cut in its server, they are empty."""
    try:
        parts = urllib.parse.urlsplit(url)
        _ = parts.port
    except ValueError:
        return urllib.parse.urlsplit("")
    return parts


def _server(parts: urllib.parse.SplitResult) -> tuple[str | None, int | None]:
    return parts.hostname, parts.port or _PORTS.get(parts.scheme)


def _parsed(head: bytes) -> tuple[str, str, bytes]:
    """Method, target and the request as its server wants it."""
    line, rest = head.split(b"\r\n", 1)
    method, target, version = line.decode("latin-1").split(" ")
    parts = urllib.parse.urlsplit(target)
    path = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
    return method, target, _once(f"{method} {path} {version}\r\n".encode("latin-1") + rest)


def _once(head: bytes) -> bytes:
    """The head of a request or an answer, for a connection that ends with it."""
    lines = [line for line in head[:-4].split(b"\r\n") if not line.lower().startswith(_HOP)]
    return b"\r\n".join([*lines, b"Connection: close", b"", b""])


async def _piped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
