"""Calls to a model at any endpoint that speaks OpenAI's protocol, and what a run may spend."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from formlab import files, resources
from formlab.errors import DataBroken, FormlabError, NotAvailable
from formlab.systems.chat.answers import Answer, token_spans
from formlab.systems.chat.settings import check
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
# Of a server, without a name, password or query that may hold a key.
_ADDRESS = re.compile(
    r"https?://(\[[\da-fA-F:.]+\]|[\w.-]{1,255})(:\d{1,5})?(/[\w./~%:+,=-]{0,999})?"
)
# The most bytes of an answer, once it is unpacked: a hundred times a long one with probabilities.
LARGEST = 32 * 1024**2
Messages = list[dict[str, Any]]


class Stopped(Exception):
    """No further call may be made; the message says why."""


class Refused(Exception):
    """What a server sent is not taken, and asking again would bring the same."""


class Client:
    """One model at one address, `base_url` or OPENAI_BASE_URL. Threads may share it.

    `settings` are those of `settings.SETTINGS`. Retries are the openai library's own, up to
    `attempts` calls: after broken connections, timeouts, 408, 409, 429 and 5xx, after as long as
    the server's Retry-After says, else 0.5 to 8 seconds. `timeout` are the seconds that an answer
    may take in all. Redirects and answers of over 32 MB are refused.

    `NotAvailable` if OpenAI's own address is meant and OPENAI_API_KEY is not set, or `max_cost` is
    given and the model has no price; `DataBroken` if a setting makes no sense (`settings.check`),
    the address is none, or holds a password or a query, `extra` is no JSON object, or several
    samples would be alike.
    """

    # A class of clients that call nothing needs none.
    needs_key = True

    def __init__(self, model: str, settings: dict[str, Any]) -> None:
        resources.need("chat")
        check(settings)
        self.settings = settings
        self.price = price_of(model, prices=settings["prices"]) if settings["prices"] else None
        self.limits = Limits(max_cost=settings["max_cost"], max_calls=settings["max_calls"])
        self.options = self._options(model, settings)
        base_url = settings["base_url"] or os.environ.get("OPENAI_BASE_URL") or None
        # A private server needs no key; the library needs some text.
        self._key = os.environ.get("OPENAI_API_KEY") or "none"
        if self._key == "none" and not base_url and self.needs_key:
            remedy = "set it, or name a server that needs none with --base-url"
            raise NotAvailable("no key for the model", where="OPENAI_API_KEY", remedy=remedy)
        if base_url and not _ADDRESS.fullmatch(base_url):
            what = "no address of a server, or one with a password or a query, which are logged"
            remedy = "http://host:8000/v1, and the key in OPENAI_API_KEY"
            raise DataBroken(what, where="base_url", remedy=remedy)
        # A thread's call: how many requests there were, and since when.
        self._call, self._timeout = threading.local(), settings["timeout"]
        # A client without anybody who refers to it closes its connections at once.
        this = weakref.proxy(self)
        hooks = {"request": [lambda _: this._begin()], "response": [lambda it: this._take(it)]}
        self._client = openai.OpenAI(
            api_key=self._key,
            base_url=base_url,
            timeout=self._timeout,
            max_retries=settings["attempts"] - 1,
            # Followed, a redirect might lead the pages to another host.
            http_client=openai.DefaultHttpxClient(event_hooks=hooks, follow_redirects=False),
        )
        self.model, self.address = model, str(self._client.base_url).rstrip("/")

    def __del__(self) -> None:
        # As the library's own HTTP client does, which this one replaces.
        with suppress(Exception):
            self._client.close()

    def _options(self, model: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Members of a request's body beside the model and the messages."""
        prices, is_limited = settings["prices"] or None, self.limits.max_cost < math.inf
        if is_limited and self.price is None:
            what = f"max_cost needs a price, and {model!r} has none"
            remedy = "a line for it in a file of prices, --set prices=FILE"
            raise NotAvailable(what, where=prices, remedy=remedy)
        extra = files.parse_json(settings["extra"], where="extra")
        if not isinstance(extra, dict):
            raise DataBroken("extra is not a JSON object", remedy='extra={"seed": 1}')
        options = {name: settings[name] for name in ("temperature", "max_tokens")} | extra
        if settings.get("logprobs"):
            options["logprobs"] = True
        if settings.get("samples", 1) > 1 and (options["temperature"] == 0 or "seed" in extra):
            remedy = "--set temperature=0.7, and no seed in extra"
            raise DataBroken("samples of one temperature 0 or seed are all alike", remedy=remedy)
        longest = options.get("max_completion_tokens") or options["max_tokens"]
        if is_limited and not isinstance(longest, int):
            raise NotAvailable("max_cost needs a limit of tokens", remedy="--set max_tokens=8192")
        return {name: value for name, value in options.items() if value is not None}

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
        text, pages = re.subn('"data:[^"]*"', '""', json.dumps(body))
        longest = body.get("max_completion_tokens") or body.get("max_tokens")
        return self.price.of(len(text) + _PAGE_TOKENS * pages, longest) or 0.0

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

    def _begin(self) -> None:
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
        try:
            text = response.read().decode("utf-8", "replace")
        finally:
            del response.iter_bytes  # It refers to the response, and to the client.
        if response.is_error and any(word in text for word in (_NO_MONEY, _NO_SCHEMA)):
            response.headers["x-should-retry"] = "false"

    def _without_key(self, text: str) -> str:
        """A server may echo the key; a short placeholder, as private servers take, is no secret."""
        return text.replace(self._key, "[key]") if len(self._key) >= _SHORTEST_KEY else text


class Price(NamedTuple):
    """What a million tokens cost that go in and come out, and the date of these prices.

    >>> str(Price(2.5, 10, "EUR", "2026-05-01"))
    '2.5 in, 10 out, EUR a million tokens, 2026-05-01'
    """

    input: float
    output: float
    currency: str = "USD"
    date: str | None = None

    def of(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        """The cost of a call; None where the server does not report its tokens."""
        if tokens_in is None or tokens_out is None:
            return None
        return (tokens_in * self.input + tokens_out * self.output) / 1e6

    def __str__(self) -> str:
        dated = f", {self.date}" if self.date else ""
        return f"{self.input:g} in, {self.output:g} out, {self.currency} a million tokens{dated}"


def price_of(model: str, *, prices: str | Path) -> Price | None:
    """The price of a model; None if the table has none, which is not the same as free.

    The table is a CSV file with columns model, input, output and, where known, currency (USD if
    left out) and date. `DataMissing` or `DataBroken` if the file is absent or cannot be read, or
    the price is not two numbers from 0 up.
    """
    table = csv.DictReader(files.read_text(Path(prices)).splitlines())
    row = next((row for row in table if row.get("model") == model), None)
    if row is None:
        return None
    try:
        sides = float(row["input"]), float(row["output"])
    except (KeyError, TypeError, ValueError):
        sides = (math.nan, math.nan)
    if not all(0 <= side < math.inf for side in sides):
        what = f"no price of {model!r}: two numbers from 0 up are expected"
        remedy = "columns model, input, output: for a million tokens; currency and date where known"
        raise DataBroken(what, where=f"{prices}:{table.line_num}", remedy=remedy)
    return Price(*sides, row.get("currency") or "USD", row.get("date") or None)


class Limits:
    """Lets calls through while the limits hold. Threads may share it.

    A call begins if `max_cost` holds even where it and all that are in flight cost the most that
    they may.

    >>> limits = Limits(max_calls=1)
    >>> with limits.call():
    ...     limits.count()
    ...     limits.count()
    Traceback (most recent call last):
    ...
    formlab.systems.chat.client.Stopped: max_calls=1 reached
    """

    def __init__(self, *, max_cost: float = math.inf, max_calls: float = math.inf) -> None:
        self.max_cost, self.max_calls = max_cost, max_calls
        self.calls, self.cost = 0, 0.0
        self.stopped: str | None = None
        # What each call in flight may cost.
        self._reserved: list[float] = []
        self._changed = threading.Condition()

    @contextmanager
    def call(self, most: float = 0.0) -> Iterator[None]:
        """One call with all of its attempts, when there is money for it: `most` at most.

        `Stopped` if a limit is reached or the run was stopped.
        """

        def is_within() -> bool:
            return self.cost + sum(self._reserved) + most <= self.max_cost

        with self._changed:
            # While a call is in flight it may turn out to cost less than the most.
            self._changed.wait_for(lambda: self.stopped or not self._reserved or is_within())
            if not is_within():
                spent = f"{self.cost:.4g} are spent, and a call may cost {most:.4g}"
                self.stop(f"max_cost={self.max_cost:g} reached: {spent}")
            if self.stopped:
                raise Stopped(self.stopped)
            self._reserved.append(most)
        try:
            yield
        finally:
            with self._changed:
                self._reserved.remove(most)
                self._changed.notify_all()

    def count(self) -> None:
        """One request more; `Stopped` if it may not be made."""
        with self._changed:
            if self.calls >= self.max_calls:
                self.stop(f"max_calls={self.max_calls:g} reached")
            if self.stopped:
                raise Stopped(self.stopped)
            self.calls += 1

    def answered(self, cost: float | None) -> None:
        """A call was answered at this cost; `NotAvailable` if `max_cost` needs it and it is None.

        That ends the run.
        """
        if cost is None and self.max_cost < math.inf:
            what = "the server does not say how many tokens an answer took"
            self.stop(what)
            raise NotAvailable(f"{what}: max_cost cannot hold", remedy="--set max_calls=N")
        with self._changed:
            self.cost += cost or 0.0

    def stop(self, reason: str) -> None:
        """Let no call through any more."""
        with self._changed:
            self.stopped = self.stopped or reason
            self._changed.notify_all()
