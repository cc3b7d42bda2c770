"""Calls to a model at any endpoint that speaks OpenAI's protocol."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from formlab import resources
from formlab.errors import DataBroken, FormlabError, NotAvailable
from formlab.systems.chat.answers import Answer, completion_of
from formlab.systems.chat.confidence import token_spans
from formlab.systems.chat.limits import Limits, Stopped
from formlab.systems.chat.prices import Price, usage_of

openai = resources.optional("openai", extra="chat")

# Ways to request JSON: a schema as OpenAI's servers take it, a schema as those over llama.cpp do,
# or the prompt alone.
FORMS = ("schema", "object", "prompt")
# No further call can succeed: a wrong key, a model or an address that is not there.
_HOPELESS = (401, 403, 404)
# The server rejects the request in this form.
_UNSUITED = (400, 422)
_SHORTEST_KEY = 8
_LONGEST_ERROR = 500
Messages = list[dict[str, Any]]


class Client:
    """One model at one address, `base_url` or OPENAI_BASE_URL. Threads may share it.

    Retries are the openai library's own, up to `attempts` calls: after broken connections,
    timeouts, 408, 409, 429 and 5xx, when the Retry-After of up to two minutes that a server asks
    for is over, else after 0.5 to 8 seconds. `options` are further members of the request's body,
    null ones left out; `timeout` is in seconds. A client that is `offline` asks nothing, and needs
    no key. With `call`, as from `workers.calling`, the workers of a cluster make the calls.

    `NotAvailable` if OpenAI's own address is meant and OPENAI_API_KEY is not set, `DataBroken` if
    the address holds a password or a query.
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
        call: Callable[..., Any] | None = None,
    ) -> None:
        resources.need("chat")
        from formlab.systems.chat._http import Http

        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        key = os.environ.get("OPENAI_API_KEY")
        if not key and not base_url and not offline:
            raise NotAvailable(
                "no key for the model", where="OPENAI_API_KEY",
                remedy="set it, or name a server that needs none with --base-url",
            )  # fmt: skip
        _check_address(base_url or "")
        # A private server needs no key; the library needs some text.
        self._key = key or "none"
        self.limits, self.price = limits or Limits(), price
        self._http = Http(self.limits, price, call)
        self._client = openai.OpenAI(
            api_key=self._key, base_url=base_url, timeout=timeout,
            max_retries=max(1, attempts) - 1, http_client=self._http,
        )  # fmt: skip
        self.model, self.address = model, address(str(self._client.base_url))
        self.options = {k: v for k, v in (options or {}).items() if v is not None}

    def ask(
        self, messages: Messages, *, schema: dict[str, Any] | None = None, form: str = FORMS[0]
    ) -> Answer:
        """The answer to `messages`; with `schema`, the answer must follow it.

        `form` is the way to request it, ``schema`` or ``object``. A call that failed is an answer
        without a text; its `finish` is ``bad_request`` if it may be put in another way.

        `NotAvailable` if no call can succeed: the key is refused, or there is no such model or
        address. `Stopped` if a limit of money or calls is reached, or the run was stopped.
        """
        body = self.body(messages, schema=schema, form=form)
        try:
            # The plain method: the typed one walks through every message, pages included.
            reply: Any = self._client.post("/chat/completions", cast_to=object, body=body)
            last = self._http.last
            return self._answer(reply, last.usage, attempts=last.attempts, seconds=last.seconds)
        except (Stopped, FormlabError):
            raise
        except Exception as error:  # Whatever a server does fails this call alone.
            return self._failed(error)

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
        text = text if isinstance(text, str) else ""
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
        if code in _HOPELESS:
            self.limits.stop(reason)
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
    parts = urlsplit(url)
    if "@" in parts.netloc or parts.query:
        # The library writes every address to its log.
        raise DataBroken(
            "the address of the server holds a password or a query, and addresses are logged",
            where=address(url), remedy="the key in OPENAI_API_KEY and the bare address",
        )  # fmt: skip
