"""Calls to a model at any endpoint that speaks OpenAI's protocol, until one is answered."""

from __future__ import annotations

import dataclasses
import email.utils
import os
import random
import time
from typing import Any
from urllib.parse import urlsplit

from formlab import resources
from formlab.errors import DataBroken, NotAvailable
from formlab.systems.chat._gate import Gate
from formlab.systems.chat.prices import Budget, Price

openai = resources.optional("openai", extra="chat")

# Ways to ask for JSON: the server holds the model to a schema as OpenAI's takes it, or as servers
# over llama.cpp do, or the prompt alone asks for it.
FORMS = ("schema", "object", "prompt")
# What is worth asking again, beside 5xx; of these, the ones that say the server has too much to do.
_AGAIN, _OVERRUN = (408, 409, 425, 429), (429, 503, 529)
# No further call can succeed: a wrong key, a model or an address that is not there.
_HOPELESS = (401, 403, 404)
_NO_QUOTA = "insufficient_quota"
_SHORTEST_KEY = 8
_LONGEST_ERROR = 500
# The server does not take the question as it is put.
_UNSUITED = (400, 422)
Messages = list[dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Reply:
    """What a call gave. `text` is null if none was answered, and then `error` says why.

    `finish` is why the model stopped (``bad_request`` if the server took the question for one),
    `refusal` what it said instead of an answer, `seconds` those of the answered call alone.
    """

    text: str | None = None
    finish: str | None = None
    refusal: str | None = None
    attempts: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    seconds: float | None = None
    error: str | None = None


class Unanswered(Exception):
    """A call that failed; whether it may be asked again, and the wait the server asks for."""

    def __init__(
        self, why: str, *, code: int | None = None, again: bool = True, after: float | None = None
    ) -> None:
        super().__init__(why)
        self.code, self.again, self.after = code, again, after


class Client:
    """One model at one address. Threads may share it.

    Parameters
    ----------
    model
        Its name at the server.
    base_url
        The address, ending in ``/v1``; OPENAI_BASE_URL if left out.
    options
        Further members of the request's body, such as `temperature`; null ones are left out.
    attempts
        How often a call is made at most before it counts as an error of the API.
    patience
        The longest wait, in seconds, that a server may ask for; it also bounds the back-off.
    timeout
        Seconds to wait for the server to say something.

    Raises
    ------
    NotAvailable, DataBroken
        If OpenAI's own address is meant and OPENAI_API_KEY is not set, or the address holds a
        password or a query.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        options: dict[str, Any] | None = None,
        attempts: int = 6,
        patience: float = 300.0,
        timeout: float = 120.0,
        first_wait: float = 0.5,
        gate: Gate | None = None,
        budget: Budget | None = None,
        price: Price | None = None,
    ) -> None:
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        key = os.environ.get("OPENAI_API_KEY")
        if not key and not base_url:
            raise NotAvailable(
                "no key for the model", where="OPENAI_API_KEY",
                remedy="set it, or name a server that needs none with --base-url",
            )  # fmt: skip
        _check_address(base_url or "")
        # A server of one's own asks for no key; the library asks for some text.
        self._key = key or "none"
        self._client = openai.OpenAI(
            api_key=self._key, base_url=base_url, timeout=timeout, max_retries=0
        )
        self.model, self.address = model, address(str(self._client.base_url))
        self.options = {k: v for k, v in (options or {}).items() if v is not None}
        self.attempts, self.patience, self.timeout = max(1, attempts), patience, timeout
        self.first_wait = first_wait
        self.gate, self.budget = gate or Gate(16), budget or Budget()
        self.price = price

    def __repr__(self) -> str:
        return f"Client({self.model!r}, {self.address!r})"

    def ask(
        self, messages: Messages, *, schema: dict[str, Any] | None = None, form: str = FORMS[0]
    ) -> Reply:
        """The answer to `messages`; with `schema`, the server holds the model to it.

        `form` is the way to say so, ``schema`` or ``object``.

        Raises
        ------
        NotAvailable
            If no call can succeed: the key is refused, or there is no such model or address.
        Stopped
            If a limit of money or calls is reached, or the run was stopped.
        """
        last = Unanswered("not asked")
        for attempt in range(1, self.attempts + 1):
            try:
                with self.gate.passing() as since, self.budget.call():
                    reply = self._once(self._body(messages, schema, form), since)
                return dataclasses.replace(reply, attempts=attempt)
            except Unanswered as failed:
                last = failed
            if not last.again or attempt == self.attempts:
                break
            self.gate.sleep(self._wait(attempt) if last.after is None else last.after)
        error = f"{last} (after {attempt} attempts)" if attempt > 1 else str(last)
        if last.code in _UNSUITED:
            # The caller may ask in another way.
            return Reply(attempts=attempt, error=error, finish="bad_request")
        return Reply(attempts=attempt, error=error)

    def _wait(self, attempt: int) -> float:
        """Seconds before the next attempt: twice as long each time, by chance up to half less."""
        longest = min(self.patience, self.first_wait * 2 ** (attempt - 1))
        return longest * (0.5 + random.random() / 2)

    def _once(self, body: dict[str, Any], since: float) -> Reply:
        start = time.perf_counter()
        try:
            # The plain method: the typed one walks through every message, pages included.
            done: Any = self._client.post("/chat/completions", cast_to=object, body=body)
            choice = done["choices"][0]
            text, refusal = choice["message"].get("content"), choice["message"].get("refusal")
        except Exception as error:  # Whatever a server does, it ends as this call's fate.
            raise self._failed(error, since) from None
        self.gate.succeeded()
        usage = done.get("usage") or {}
        given, made = (_count(usage, f"{part}_tokens") for part in ("prompt", "completion"))
        cost = self.price.of(given, made) if self.price else None
        self.budget.paid(cost)
        return Reply(
            text=self.clean(text) if isinstance(text, str) else "",
            finish=_word(choice.get("finish_reason")),
            refusal=self.clean(refusal) if isinstance(refusal, str) else None,
            tokens_in=given, tokens_out=made, cost=cost, seconds=time.perf_counter() - start,
        )  # fmt: skip

    def _body(self, messages: Messages, schema: dict[str, Any] | None, form: str) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model, "messages": messages} | self.options
        if schema is not None and form == "object":
            body["response_format"] = {"type": "json_object", "schema": schema}
        elif schema is not None:
            named = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body

    def _failed(self, error: Exception, since: float) -> Unanswered:
        why = self.clean(f"{type(error).__name__}: {error}")[:_LONGEST_ERROR]
        code = error.status_code if isinstance(error, openai.APIStatusError) else None
        if code is not None and code >= 500 and "response_format" in why:
            # Servers over llama.cpp call it an error of their own that they know no schema.
            code = _UNSUITED[0]
        if code in _HOPELESS or getattr(error, "code", None) == _NO_QUOTA:
            self.gate.stop(why)
            raise NotAvailable(
                f"the server refuses every call: {why}", where=f"{self.model} at {self.address}",
                remedy="OPENAI_API_KEY, the name of the model, and --base-url",
            ) from None  # fmt: skip
        after = retry_after(error.response.headers) if code else None  # type: ignore[attr-defined]
        if code in _OVERRUN or isinstance(error, openai.APIConnectionError):
            pause = after or 0.0
            self.gate.overrun(since, pause=pause if pause <= self.patience else 0.0)
        again = code is None or code in _AGAIN or code >= 500
        if after is not None and after > self.patience:
            why, again = f"{why} (asks to wait {after:.0f} s)", False
        return Unanswered(why, code=code, again=again, after=after)

    def clean(self, text: str) -> str:
        """`text` without the key: a server may say it back.

        A short stand-in for a key, as servers of one's own take, is no secret and stays.
        """
        if len(self._key) < _SHORTEST_KEY:
            return text
        return text.replace(self._key, "[key]")


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


def retry_after(headers: Any) -> float | None:
    """The seconds to wait that a server asks for, as a number or a date; None if it does not.

    Examples
    --------
    >>> retry_after({"retry-after": "7"}), retry_after({"retry-after-ms": "250"}), retry_after({})
    (7.0, 0.25, None)
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        given = headers.get(name)
        if given is None:
            continue
        try:
            seconds = float(given) / unit
        except ValueError:
            try:
                seconds = email.utils.parsedate_to_datetime(given).timestamp() - time.time()
            except (TypeError, ValueError, OverflowError):
                continue
        # A date that has passed, and nonsense such as NaN, asks for nothing.
        return seconds if seconds > 0 else 0.0
    return None


def _word(value: Any) -> str | None:
    return value[:40] if isinstance(value, str) else None


def _count(usage: Any, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and value >= 0 else None
