"""Calls to a model at any endpoint that speaks OpenAI's protocol."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from formlab import resources
from formlab.errors import DataBroken, FormlabError, NotAvailable
from formlab.systems.chat.answers import Answer, completion_of
from formlab.systems.chat.confidence import token_spans
from formlab.systems.chat.limits import HOPELESS, Limits, Stopped
from formlab.systems.chat.prices import Price, usage_of
from formlab.text.answers import arguments

openai = resources.optional("openai", extra="chat")

# Ways to request JSON: a schema as OpenAI's servers take it, a schema as those over llama.cpp do,
# or the prompt alone.
FORMS = ("schema", "object", "prompt")
# The server rejects the request in this form.
_UNSUITED = (400, 422)
_SHORTEST_KEY = 8
# More than models count of a page in any size that is sent, but for some cheap ones.
_PAGE_TOKENS = 10_000
_LONGEST_ERROR = 500
Messages = list[dict[str, Any]]


class Client:
    """One model at one address, `base_url` or OPENAI_BASE_URL. Threads may share it.

    Retries are the openai library's own, up to `attempts` calls: after broken connections,
    timeouts, 408, 409, 429 and 5xx, when the Retry-After of up to two minutes that a server asks
    for is over, else after 0.5 to 8 seconds. `options` are further members of the request's body,
    null ones left out; `timeout` are the seconds that a call may take in all. Redirects to another
    host and answers of over 32 MB are refused. A client that is `offline` asks nothing, and needs
    no key.

    `NotAvailable` if OpenAI's own address is meant and OPENAI_API_KEY is not set, `DataBroken` if
    the address is none, or holds a password or a query.
    """

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
        offline: bool = False,
    ) -> None:
        resources.need("chat")
        from formlab.systems.chat._http import Http
        from formlab.systems.chat._wire import httpx

        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        key = os.environ.get("OPENAI_API_KEY")
        if not key and not base_url and not offline:
            raise NotAvailable(
                "no key for the model", where="OPENAI_API_KEY",
                remedy="set it, or name a server that needs none with --base-url",
            )  # fmt: skip
        if base_url:
            _check_address(base_url)
        # A private server needs no key; the library needs some text.
        self._key = key or "none"
        self.limits, self.price = limits or Limits(), price
        self._http = Http(self.limits, price)
        try:
            self._client = _patient(self.limits)(
                api_key=self._key, base_url=base_url, timeout=timeout,
                max_retries=max(1, attempts) - 1, http_client=self._http,
            )  # fmt: skip
        except httpx.InvalidURL as error:
            what = f"no address of a server: {error}"
            raise DataBroken(what, where=base_url, remedy="http://host:8000/v1") from None
        self.model, self.address = model, address(str(self._client.base_url))
        self.options = {k: v for k, v in (options or {}).items() if v is not None}

    def ask(
        self, messages: Messages, *, schema: dict[str, Any] | None = None, form: str = FORMS[0],
        keep: Callable[[Answer], Answer] = lambda answer: answer, part: Path | None = None,
    ) -> Answer:  # fmt: skip
        """The answer to `messages`; with `schema`, the answer must follow it.

        `form` is the way to request it, ``schema`` or ``object``. What a server answered is what
        `keep` makes of it, which is called as soon as it is there, before it counts. Its bytes are
        in the file `part` as they come, until it is kept; `arrived` reads it there. A call that
        failed is an answer without a text; its `finish` is ``bad_request`` if it may be put in
        another way.

        `NotAvailable` if no call can succeed: the key is refused, or there is no such model or
        address. `Stopped` if a limit of money or calls is reached, or the run was stopped.
        """
        body, last = self.body(messages, schema=schema, form=form), self._http.last
        last.most, last.usage, last.answer = self._most(body), {}, None

        def arrived(completion: dict[str, Any]) -> None:
            last.answer = keep(self._answer(
                completion, last.usage, attempts=last.attempts, seconds=last.seconds
            ))  # fmt: skip
            if part:
                part.unlink(missing_ok=True)

        last.keep = arrived
        secret = self._key if len(self._key) >= _SHORTEST_KEY else ""
        try:
            with self._http.writing(part, secret=secret):
                # The plain method: the typed one walks through every message, pages included.
                self._client.post("/chat/completions", cast_to=object, body=body)
        except (Stopped, FormlabError):
            raise
        except Exception as error:  # Whatever a server does fails this call alone.
            return self._failed(error)
        finally:
            last.keep = None
        answer: Answer = last.answer
        return answer

    def arrived(self, part: Path) -> Answer | None:
        """The answer in a `part` that was left behind, if all of it had come."""
        from formlab.systems.chat._http import completion_in
        from formlab.systems.chat._wire import read

        response = read(part)
        completion = response and completion_in(response)
        if completion is None:
            return None
        return self._answer(completion, usage_of(completion.get("usage"), self.price))

    def _most(self, body: dict[str, Any]) -> float:
        """What a call may cost: a token a byte, `_PAGE_TOKENS` a page, the longest answer."""
        if self.price is None or math.isinf(self.limits.max_cost):
            return 0.0
        contents = [message["content"] for message in body["messages"]]
        parts = [part for parts in contents if isinstance(parts, list) for part in parts]
        texts = [text for text in contents if isinstance(text, str)]
        texts += [part.get("text", "") for part in parts]
        texts.append(json.dumps(body.get("response_format")))
        tokens = sum(len(text.encode("utf-8", "replace")) for text in texts)
        tokens += _PAGE_TOKENS * sum("image_url" in part for part in parts)
        longest = body.get("max_completion_tokens") or body.get("max_tokens")
        return self.price.of(tokens, longest) or 0.0

    def body(
        self, messages: Messages, *, schema: dict[str, Any] | None = None, form: str = FORMS[0]
    ) -> dict[str, Any]:
        """The body of the request that `ask` makes."""
        body: dict[str, Any] = {"model": self.model, "messages": messages} | self.options
        if schema is not None and form == "object":
            body["response_format"] = {"type": "json_object", "schema": schema}
        elif schema is not None:
            named = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body

    def batched(self, result: dict[str, Any]) -> Answer:
        """The answer in a line of a batch's results; one without a text, and the reason, if none.

        Examples
        --------
        >>> client = Client("m", offline=True)
        >>> client.batched({"response": None, "error": {"code": "batch_expired"}}).error
        'batch_expired'
        """
        response = result.get("response")
        response = response if isinstance(response, dict) else {}
        body, code = response.get("body"), response.get("status_code")
        completion = completion_of(body) if code == 200 else None
        if completion is not None:
            return self._answer(completion, usage_of(completion.get("usage"), self.price))
        error = result.get("error") or (body.get("error") if isinstance(body, dict) else None)
        error = error if isinstance(error, dict) else {"message": error}
        names = [str(error[name]) for name in ("code", "message") if error.get(name)]
        reason = ": ".join(names) or "no answer in the results of the batch"
        return Answer(
            model=self.model, status="api_error", error=self.clean(reason)[:_LONGEST_ERROR],
            finish="bad_request" if code in _UNSUITED else None,
        )  # fmt: skip

    def _answer(
        self, completion: dict[str, Any], usage: dict[str, Any], *, attempts: int = 1,
        seconds: float | None = None,
    ) -> Answer:  # fmt: skip
        choice = completion["choices"][0]
        text, refusal = choice["message"].get("content"), choice["message"].get("refusal")
        called = arguments(choice["message"])
        text = json.dumps(called) if called else text if isinstance(text, str) else ""
        refusal = refusal if isinstance(refusal, str) else ""
        finish, text = choice.get("finish_reason"), self.clean(text or refusal)
        return Answer(
            model=self.model, text=text, logprobs=token_spans(choice, text),
            finish=finish[:40] if isinstance(finish, str) else None,
            status="refused" if refusal else "ok",
            error="refused by the model" if refusal else None,
            attempts=attempts, seconds=seconds, **usage,
        )  # fmt: skip

    def _failed(self, error: Exception) -> Answer:
        reason = self.clean(f"{type(error).__name__}: {error}")[:_LONGEST_ERROR]
        code = getattr(error, "status_code", None)
        if code in HOPELESS:
            raise NotAvailable(
                f"the server refuses every call: {reason}", where=f"{self.model} at {self.address}",
                remedy="OPENAI_API_KEY, the name of the model, and --base-url",
            ) from None  # fmt: skip
        attempts = getattr(self._http.last, "attempts", 1)
        return Answer(
            model=self.model, status="api_error", attempts=attempts,
            error=f"{reason} (after {attempts} attempts)" if attempts > 1 else reason,
            finish="bad_request" if code in _UNSUITED else None,
        )  # fmt: skip

    def clean(self, text: str) -> str:
        """`text` without the key: a server may echo it.

        A short placeholder, as private servers take, is no secret and stays.
        """
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
        known = parts.scheme in ("http", "https") and bool(parts.hostname)
        hidden = "@" in (parts.netloc if known else url) or bool(parts.query)
        _ = parts.port
    except ValueError:
        known, hidden = False, "@" in url
    if hidden:
        raise DataBroken(
            "the address of the server holds a password or a query, and addresses are logged",
            where=address(url) if known else None,
            remedy="the key in OPENAI_API_KEY and the bare address",
        )  # fmt: skip
    if not known or not url.isprintable() or " " in url:
        raise DataBroken("no address of a server", where=url, remedy="http://host:8000/v1")


def _patient(limits: Limits) -> type[openai.OpenAI]:
    """The library's client, which waits before it asks again until the run is stopped."""

    class Patient(openai.OpenAI):
        def _sleep_for_retry(
            self, *, retries_taken: int, max_retries: int, options: Any, response: Any
        ) -> None:
            headers = response.headers if response else None
            left = max_retries - retries_taken
            limits.wait(self._calculate_retry_timeout(left, options, headers))

    return Patient
