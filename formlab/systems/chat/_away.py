"""Calls of a model by the workers of a cluster, within the limits of this process.

This process holds what must be one for all: the store of answers and the `Limits`. Its threads
take a question each, and wait until a call may start (calls in flight, `max_calls`, `max_cost`);
only then a worker makes it, once. What comes back, an answer, a refusal or a broken connection, is
counted, stored and, after the server's Retry-After, asked again here, as if the call had been made
here: the library for OpenAI's protocol sees only another transport (`Away`). So no lock is shared
between machines, and no worker that dies repeats a call that nobody counts.

A worker prepares the images: a request names the pages, with the hash of their files, and a worker
that sees other files or none gets them from here. A key is never sent: each worker takes
OPENAI_API_KEY from its own environment.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from typing import Any

from formlab.errors import FormlabError
from formlab.systems.chat._wire import Refused, Wire, httpx
from formlab.systems.chat.images import REFERENCE, PageImage

_OWN = ("authorization", "host", "content-length", "content-encoding", "transfer-encoding")
_SHORTEST_KEY = 8


def _with_pages(body: bytes) -> bytes:
    """A request with the pages that it names; `DataMissing` if they are not there as they were."""
    request = json.loads(body)
    for message in request["messages"]:
        parts = message["content"] if isinstance(message["content"], list) else ()
        for part in parts:
            url = part.get("image_url", {}).get("url", "")
            if url.startswith(REFERENCE):
                part["image_url"]["url"] = PageImage.referred(url).url()
    return json.dumps(request).encode()


def post(
    url: str, headers: list[tuple[str, str]], body: bytes, timeout: dict[str, Any]
) -> tuple[str, Any]:
    """On a worker: ``response`` with status, headers and content, else why there is none."""
    try:
        body = _with_pages(body)
    except (FormlabError, OSError) as error:
        return "unseen", str(error)
    key = os.environ.get("OPENAI_API_KEY") or "none"
    headers = [*headers, ("Authorization", f"Bearer {key}")]
    try:
        response = _client().post(
            url, content=body, headers=headers, timeout=httpx.Timeout(**timeout)
        )
        head = [(n, v) for n, v in response.headers.items() if n.lower() not in _OWN]
        return "response", (response.status_code, head, _clean(response.content, key))
    except Refused as error:
        return "refused", _clean(str(error).encode(), key).decode()
    except httpx.RequestError as error:
        kind = "timeout" if isinstance(error, httpx.TimeoutException) else "failed"
        return kind, _clean(f"{type(error).__name__}: {error}".encode(), key).decode()


@cache
def _client() -> Any:
    # Where a server leads to is for the process that asks.
    return Wire(follow_redirects=False)


def _clean(content: bytes, key: str) -> bytes:
    # A server may echo the key, which is another than the one of the process that asks.
    return content.replace(key.encode(), b"[key]") if len(key) >= _SHORTEST_KEY else content


class Away(httpx.BaseTransport):
    """Has `call`, as from `workers.calling`, make each request on a worker."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def handle_request(self, request: Any) -> Any:
        """The response that a worker got, or the error that it met."""
        headers = [(n, v) for n, v in request.headers.items() if n.lower() not in _OWN]
        url, body = str(request.url), request.read()
        kind, value = self._ask(url, headers, body, request.extensions["timeout"])
        if kind == "unseen":
            whole = _with_pages(body)
            kind, value = self._ask(url, headers, whole, request.extensions["timeout"])
        if kind == "response":
            status, head, content = value
            return httpx.Response(status, headers=head, content=content, request=request)
        if kind == "refused":
            raise Refused(value)
        error = httpx.ReadTimeout if kind == "timeout" else httpx.ConnectError
        raise error(value, request=request)

    def _ask(self, *arguments: Any) -> tuple[str, Any]:
        try:
            return self._call(post, *arguments)
        except ConnectionError as error:
            return "failed", str(error)
