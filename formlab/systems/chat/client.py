"""Calls to a model at any endpoint that speaks OpenAI's protocol."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from formlab import resources
from formlab.errors import DataBroken, FormlabError, NotAvailable
from formlab.systems.chat.answers import Answer, token_spans
from formlab.systems.chat.limits import Limits, Price, Stopped
from formlab.text.answers import arguments

openai = resources.optional("openai", extra="chat")

# Ways to request JSON: a schema as OpenAI's servers take it, a schema as those over llama.cpp do,
# or the prompt alone.
FORMS = ("schema", "object", "prompt")
# The server rejects the request in this form; those over llama.cpp do so with an error 500.
_UNSUITED, _NO_SCHEMA = (400, 422), "response_format"
# No further call can succeed: a wrong key, a model or an address that is not there, no money.
_HOPELESS, _NO_MONEY = (401, 403, 404), "insufficient_quota"
_SHORTEST_KEY = 8
# What no call takes: sums of such counts still fit into a table.
_MOST_TOKENS = 2**48
# More than models count of a page in any size that is sent, but for some cheap ones.
_PAGE_TOKENS = 10_000
_LONGEST_ERROR = 500
_ADDRESS = "http://host:8000/v1"
# The most bytes of an answer, once it is unpacked: a hundred times a long one with probabilities.
LARGEST = 32 * 1024**2
Messages = list[dict[str, Any]]


class Refused(Exception):
    """What a server sent is not taken, and asking again would bring the same."""


class Client:
    """One model at one address, `base_url` or OPENAI_BASE_URL. Threads may share it.

    Retries are the openai library's own, up to `attempts` calls: after broken connections,
    timeouts, 408, 409, 429 and 5xx, after as long as the server's Retry-After says, else 0.5 to 8
    seconds. `options` are further members of the request's body, null ones left out; `timeout` are
    the seconds that an answer may take in all. Redirects and answers of over 32 MB are refused.

    `NotAvailable` if OpenAI's own address is meant and OPENAI_API_KEY is not set, `DataBroken` if
    the address is none, or holds a password or a query.
    """

    # A class of clients that call nothing needs none.
    needs_key = True

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        options: dict[str, Any] | None = None,
        attempts: int = 6,
        timeout: float = 120.0,
        limits: Limits | None = None,
        price: Price | None = None,
    ) -> None:
        resources.need("chat")
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        # A private server needs no key; the library needs some text.
        self._key = os.environ.get("OPENAI_API_KEY") or "none"
        if self._key == "none" and not base_url and self.needs_key:
            remedy = "set it, or name a server that needs none with --base-url"
            raise NotAvailable("no key for the model", where="OPENAI_API_KEY", remedy=remedy)
        if base_url:
            _check_address(base_url)
        self.limits, self.price = limits or Limits(), price
        self._timeout = timeout
        # A thread's call: how many requests there were, since when, and what came.
        self._call = threading.local()
        hooks = {"request": [self._begin], "response": [self._take]}
        try:
            self._client = openai.OpenAI(
                api_key=self._key,
                base_url=base_url,
                timeout=timeout,
                max_retries=max(0, attempts - 1),
                # Followed, a redirect might lead the pages to another host.
                http_client=openai.DefaultHttpxClient(event_hooks=hooks, follow_redirects=False),
            )
        except Exception as error:  # Of whatever library openai sends with.
            what = f"no address of a server: {error}"
            raise DataBroken(what, where=base_url, remedy=_ADDRESS) from None
        self.model, self.address = model, address(str(self._client.base_url))
        self.options = {k: v for k, v in (options or {}).items() if v is not None}

    def __del__(self) -> None:
        # As the library's own HTTP client does, which this one replaces.
        with suppress(Exception):
            self._client.close()

    def body(self, messages: Messages, *, schema: dict[str, Any] | None, form: str) -> Any:
        """The body of a request; with `schema`, in one of `FORMS`, the answer must follow it."""
        body: dict[str, Any] = {"model": self.model, "messages": messages} | self.options
        if form == "object":
            body["response_format"] = {"type": "json_object", "schema": schema}
        elif form == "schema":
            named = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body

    def most(self, body: dict[str, Any]) -> float:
        """What a call may cost: a token a byte, `_PAGE_TOKENS` a page, the longest answer."""
        if self.price is None or math.isinf(self.limits.max_cost):
            return 0.0
        texts, tokens = [json.dumps(body.get("response_format"))], 0
        for content in (message["content"] for message in body["messages"]):
            parts = content if isinstance(content, list) else [{"text": content}]
            texts += [part.get("text", "") for part in parts]
            tokens += _PAGE_TOKENS * sum("image_url" in part for part in parts)
        tokens += sum(len(text.encode("utf-8", "replace")) for text in texts)
        longest = body.get("max_completion_tokens") or body.get("max_tokens")
        return self.price.of(tokens, longest) or 0.0

    def ask(self, body: dict[str, Any]) -> Answer:
        """The answer to a request. A call that failed is an answer without a text.

        Its `finish` is ``bad_request`` if it may be put in another way. `NotAvailable` if no call
        can succeed: the key is refused, or there is no such model or address. `Stopped` if a limit
        of calls is reached, or the run was stopped.
        """
        self._call.attempts = 0
        try:
            # The plain method: the typed one walks through every message, pages included.
            text = self._client.post("/chat/completions", cast_to=str, body=body)
            seconds = time.monotonic() - self._call.since
            return self.answer_of(json.loads(text), self._call.attempts, seconds)
        except (Stopped, FormlabError):
            raise
        except Exception as error:  # Whatever a server does fails this call alone.
            told = self._without_key(f"{type(error).__name__}: {error}")[:_LONGEST_ERROR]
            whole = f"{error} {getattr(error, 'body', '')}"
            code, attempts = getattr(error, "status_code", None), self._call.attempts
            if code in _HOPELESS or _NO_MONEY in whole:
                what, where = f"the server refuses every call: {told}", self.address
                remedy = "OPENAI_API_KEY, the name of the model, and --base-url"
                raise NotAvailable(what, where=f"{self.model} at {where}", remedy=remedy) from None
            finish = "bad_request" if code in _UNSUITED or _NO_SCHEMA in whole else None
            told += f" (after {attempts} attempts)" if attempts > 1 else ""
            failed = {"status": "api_error", "error": told, "finish": finish}
            return Answer(model=self.model, attempts=attempts, **failed)

    def answer_of(
        self, completion: dict[str, Any], attempts: int = 1, seconds: float | None = None
    ) -> Answer:
        """The answer in a completion of OpenAI's protocol."""
        try:
            choice = completion["choices"][0]
            said, refusal = (choice["message"].get(name) for name in ("content", "refusal"))
        except (LookupError, TypeError, AttributeError):
            raise Refused("no completion") from None
        refusal = refusal if isinstance(refusal, str) else ""
        if called := arguments(choice["message"]):
            said = json.dumps(called)
        text = self._without_key(said if said and isinstance(said, str) else refusal)
        finish, usage = choice.get("finish_reason"), completion.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        counts = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
        tokens = [n if type(n) is int and 0 <= n < _MOST_TOKENS else None for n in counts]
        return Answer(
            model=self.model,
            text=text,
            logprobs=token_spans(choice, text),
            finish=finish[:40] if isinstance(finish, str) else None,
            status="refused" if refusal else "ok",
            error="refused by the model" if refusal else None,
            attempts=attempts,
            tokens_in=tokens[0],
            tokens_out=tokens[1],
            cost=self.price.of(*tokens) if self.price else None,
            seconds=seconds,
        )

    def _begin(self, _request: Any) -> None:
        self.limits.count()
        self._call.attempts += 1
        self._call.since = time.monotonic()

    def _take(self, response: Any) -> None:
        """Read a response whole, within its time and size; what is final is not asked again."""
        pieces = response.iter_bytes

        def bounded() -> Iterator[bytes]:
            size = 0
            for piece in pieces():
                size += len(piece)
                if size > LARGEST:
                    raise Refused(f"an answer of over {LARGEST // 1024**2} MB")
                if time.monotonic() > self._call.since + self._timeout:
                    raise Refused(f"an answer that takes over {self._timeout:g} seconds")
                yield piece

        response.iter_bytes = bounded
        text = response.read().decode("utf-8", "replace")
        if response.is_error and any(word in text for word in (_NO_MONEY, _NO_SCHEMA)):
            response.headers["x-should-retry"] = "false"

    def _without_key(self, text: str) -> str:
        """A server may echo the key; a short placeholder, as private servers take, is no secret."""
        return text.replace(self._key, "[key]") if len(self._key) >= _SHORTEST_KEY else text


def address(url: str) -> str:
    """Host and path of an endpoint, without a name, password or query that may hold a key.

    Examples
    --------
    >>> address("https://ada:secret@llm.example:8000/v1/?api-key=secret")
    'https://llm.example:8000/v1'
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}"


def _check_address(url: str) -> None:
    # The library writes every address to its log, and puts what it cannot read into its errors.
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        has_secret = "@" in (parts.netloc if is_address else url) or bool(parts.query)
        _ = parts.port
    except ValueError:
        is_address, has_secret = False, "@" in url
    if has_secret:
        what = "the address of the server holds a password or a query, and addresses are logged"
        remedy = "the key in OPENAI_API_KEY and the bare address"
        raise DataBroken(what, where=address(url) if is_address else None, remedy=remedy)
    if not is_address or not url.isprintable() or " " in url:
        raise DataBroken("no address of a server", where=url, remedy=_ADDRESS)
