"""Calls to a model at any endpoint that speaks OpenAI's protocol, within what a run may spend."""

import csv
import json
import math
import os
import re
import threading
import time
import tomllib
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from formlab import files, resources
from formlab.errors import DataBroken, FormlabError, NotAvailable
from formlab.systems import setting_text
from formlab.systems.chat.answers import Answer, token_spans
from formlab.text.answers import arguments

openai = resources.optional("openai", extra="chat")

_TABLES = tomllib.loads(Path(__file__).with_name("settings.toml").read_text("utf-8"))
# The settings of a model: default, meaning, the bounds of a number and the choices of a word.
SETTINGS: dict[str, dict[str, Any]] = _TABLES["shaping"] | _TABLES["running"]
# Those that shape an answer, which stand in the settings of a run, and how it is got.
SHAPING, RUNNING = ({n: row["default"] for n, row in rows.items()} for rows in _TABLES.values())

# Ways to request JSON: a schema as OpenAI's servers take it, as llama.cpp's do, or the prompt.
FORMS = ("schema", "object", "prompt")
# The server rejects the request in this form; those over llama.cpp do so with an error 500.
_UNSUITED, _NO_SCHEMA = (400, 422), "response_format"
# No further call can succeed: a wrong key, a model or an address that is not there, no money.
_HOPELESS, _NO_MONEY = (401, 403, 404), "insufficient_quota"
_SHORTEST_KEY, _LONGEST_ERROR = 8, 500
# What no call takes: sums of such counts still fit into a table.
_MOST_TOKENS = 2**48
# More than models count of a page in any size that is sent, but for some cheap ones.
_PAGE_TOKENS = 10_000
# Of a server, without a name, password or query that may hold a key.
_URL = re.compile(r"https?://(\[[\da-fA-F:.]+\]|[\w.-]{1,255})(:\d{1,5})?(/[\w./~%:+,=-]{0,999})?")
# The most bytes of an answer, once it is unpacked: a hundred times a long one with probabilities.
LARGEST = 32 * 1024**2
Messages = list[dict[str, Any]]
_Amount = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Stopped(Exception):
    """No further call may be made; the message says why."""


class Refused(Exception):
    """What a server sent is not taken, and asking again would bring the same."""


class Price(msgspec.Struct, frozen=True):
    """What a million tokens cost that go in and come out, and the date of these prices."""

    input: _Amount
    output: _Amount
    currency: str = "USD"
    date: str = ""

    def of(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        """The cost of a call; None where the server does not report its tokens."""
        if tokens_in is None or tokens_out is None:
            return None
        return (tokens_in * self.input + tokens_out * self.output) / 1e6

    def __str__(self) -> str:
        sides = f"{self.input:g} in, {self.output:g} out"
        return f"{sides}, {self.currency} a million tokens, {self.date}".removesuffix(", ")


def price_of(model: str, *, prices: str | Path) -> Price:
    """The price of a model in a table; `NotAvailable` if it has none there.

    The table is a CSV file with columns model, input, output and, where known, currency (USD if
    left out) and date. `DataMissing` or `DataBroken` if it cannot be read, or has no such numbers.
    """
    table = csv.DictReader(files.read_text(Path(prices)).splitlines())
    remedy = "a row with model, input, output: for a million tokens; currency and date if known"
    for row in table:
        if row.get("model") == model:
            known = {name: row[name] for name in Price.__struct_fields__ if row.get(name)}
            try:
                return msgspec.convert(known, Price, strict=False)
            except msgspec.ValidationError as error:
                what, where = f"no price of {model!r}: {error}", f"{prices}:{table.line_num}"
                raise DataBroken(what, where=where, remedy=remedy) from error
    raise NotAvailable(f"no price of {model!r}", where=prices, remedy=remedy)


class Client:
    """One model at one address, `base_url` or OPENAI_BASE_URL. Threads may share it.

    `settings` are those of `SETTINGS`. Retries are the openai library's own: after broken
    connections, timeouts, 408, 409, 429 and 5xx, after as long as Retry-After says, else 0.5 to 8
    seconds. `timeout` bounds an answer in all; redirects and answers of over 32 MB are refused.

    `NotAvailable` if OpenAI's own address is meant and OPENAI_API_KEY is not set, or `max_cost` is
    given and the model has no price; `DataBroken` if a setting makes no sense, such as an address
    with a password, or several samples that would be alike.
    """

    # A class of clients that call nothing needs none.
    needs_key = True

    def __init__(self, model: str, settings: dict[str, Any]) -> None:
        resources.need("chat")
        for name, row in SETTINGS.items():
            default, choices = row["default"], row.get("choices")
            bounds = {bound: row[bound] for bound in ("ge", "gt", "le") if bound in row}
            number = Annotated[type(default), msgspec.Meta(**bounds)] if bounds else Any
            kind, remedy = Literal[tuple(choices)] if choices else number, setting_text(default)
            files.convert(settings.get(name, default), kind, where=name, remedy=f"{name}={remedy}")
        self.model, self.settings = model, settings
        self.price = price_of(model, prices=settings["prices"]) if settings["prices"] else None
        self.options = self._options()
        base_url = settings["base_url"] or os.environ.get("OPENAI_BASE_URL") or None
        # A private server needs no key; the library needs some text.
        self._key = os.environ.get("OPENAI_API_KEY") or "none"
        if self._key == "none" and not base_url and self.needs_key:
            remedy = "set it, or name a server that needs none with --base-url"
            raise NotAvailable("no key for the model", where="OPENAI_API_KEY", remedy=remedy)
        if base_url and not _URL.fullmatch(base_url):
            what = "no address of a server, or one with a password or a query, which are logged"
            remedy = "http://host:8000/v1, and the key in OPENAI_API_KEY"
            raise DataBroken(what, where="base_url", remedy=remedy)
        # Requests and money so far, why no more may be made, and what each in flight may cost.
        self.calls, self.cost, self.stopped, self._reserved = 0, 0.0, "", list[float]()
        self._changed = threading.Condition()
        # A thread's call: how many requests there were, and since when.
        self._call = threading.local()
        # A client that nobody refers to any more, its hooks included, is closed at once.
        this = weakref.proxy(self)
        hooks = {"request": [lambda _: this._begin()], "response": [lambda it: this._take(it)]}
        # Followed, a redirect might lead the pages to another host.
        http = openai.DefaultHttpxClient(event_hooks=hooks, follow_redirects=False)
        limits = {"timeout": settings["timeout"], "max_retries": settings["attempts"] - 1}
        where = {"base_url": base_url, "api_key": self._key}
        self._client = openai.OpenAI(http_client=http, **where, **limits)
        weakref.finalize(self, self._client.close)
        self.address = str(self._client.base_url).rstrip("/")

    def _options(self) -> dict[str, Any]:
        """Members of a request's body beside the model and the messages."""
        settings, remedy = self.settings, 'extra={"seed": 1}'
        extra = files.parse_json(settings["extra"], dict, where="extra", remedy=remedy)
        options = {name: settings[name] for name in ("temperature", "max_tokens")} | extra
        options |= {"logprobs": True} if settings["logprobs"] else {}
        if settings["samples"] > 1 and (options["temperature"] == 0 or "seed" in extra):
            remedy = "--set temperature=0.7, and no seed in extra"
            raise DataBroken("samples of one temperature 0 or seed are all alike", remedy=remedy)
        self._longest = options.get("max_completion_tokens") or options["max_tokens"]
        if settings["max_cost"] < math.inf:
            if self.price is None:
                raise NotAvailable("max_cost needs a price", remedy="--set prices=FILE")
            if not isinstance(self._longest, int):
                remedy = "--set max_tokens=8192"
                raise NotAvailable("max_cost needs a limit of tokens", remedy=remedy)
        return {name: value for name, value in options.items() if value is not None}

    def body(self, messages: Messages, *, schema: dict[str, Any] | None, form: str) -> Any:
        """The body of a request; with `schema`, in one of `FORMS`, the answer must follow it."""
        named = {"name": "answer", "strict": True, "schema": schema}
        formats = {"object": {"type": "json_object", "schema": schema}}
        formats["schema"] = {"type": "json_schema", "json_schema": named}
        shape = {"response_format": formats[form]} if form in formats else {}
        return {"model": self.model, "messages": messages} | self.options | shape

    def most(self, body: dict[str, Any]) -> float:
        """What a call may cost: a token a byte, `_PAGE_TOKENS` a page, the longest answer."""
        if self.price is None or math.isinf(self.settings["max_cost"]):
            return 0.0
        text, pages = re.subn('"data:[^"]*"', '""', json.dumps(body))
        return self.price.of(len(text) + _PAGE_TOKENS * pages, self._longest) or 0.0

    def ask(self, body: dict[str, Any]) -> Answer:
        """The answer to a request; of a call that failed, one without a text.

        A call begins if `max_cost` holds even where it and all in flight cost the `most` they may.
        The answer's `finish` is ``bad_request`` if it may be put in another way. `NotAvailable` if
        no call can succeed, `Stopped` if a limit is reached or the run was stopped.
        """
        most, answer, limit = self.most(body), Answer(), self.settings["max_cost"]

        def is_within() -> bool:
            return self.cost + sum(self._reserved) + most <= limit

        with self._changed:
            # What is in flight may turn out to cost less than the most.
            self._changed.wait_for(lambda: self.stopped or not self._reserved or is_within())
            if not is_within():
                self.stop(f"max_cost={limit:g} reached: a call may cost {most:.4g} more")
            if self.stopped:
                raise Stopped(self.stopped)
            self._reserved.append(most)
        try:
            answer = self._answer(body)
        finally:
            with self._changed:
                self._reserved.remove(most)
                self.cost += answer.cost or 0.0
                self._changed.notify_all()
        if answer.text is not None and answer.cost is None and limit < math.inf:
            self.stop("max_cost cannot hold: the server does not say how many tokens it took")
        return answer

    def stop(self, reason: str) -> None:
        """Let no call through any more."""
        with self._changed:
            self.stopped = self.stopped or reason
            self._changed.notify_all()

    def _answer(self, body: dict[str, Any]) -> Answer:
        call, call.attempts = self._call, 0
        try:
            # The plain method: the typed one walks through every message, pages included.
            text = self._client.post("/chat/completions", cast_to=str, body=body)
            return self.answer_of(json.loads(text), call.attempts, time.monotonic() - call.since)
        except (Stopped, FormlabError):
            raise
        except Exception as error:  # Whatever a server does fails this call alone.
            told = self._without_key(f"{type(error).__name__}: {error}")[:_LONGEST_ERROR]
            code = getattr(error, "status_code", None)
            whole = f"{error} {getattr(error, 'body', '')}"
            if code in _HOPELESS or _NO_MONEY in whole:
                what, where = (
                    f"the server refuses every call: {told}",
                    f"{self.model}, {self.address}",
                )
                remedy = "OPENAI_API_KEY, the name of the model, and --base-url"
                raise NotAvailable(what, where=where, remedy=remedy) from None
            finish = "bad_request" if code in _UNSUITED or _NO_SCHEMA in whole else None
            failed = {"status": "api_error", "error": told, "finish": finish}
            return Answer(model=self.model, attempts=call.attempts, **failed)

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
        counts = map(usage.get, ("prompt_tokens", "completion_tokens"))
        tokens = [n if type(n) is int and 0 <= n < _MOST_TOKENS else None for n in counts]
        about: dict[str, Any] = dict(zip(("tokens_in", "tokens_out"), tokens, strict=True))
        about |= {"cost": self.price.of(*tokens)} if self.price else {}
        about |= {"finish": finish[:40]} if isinstance(finish, str) else {}
        about |= {"status": "refused", "error": "refused by the model"} if refusal else {}
        about |= {"attempts": attempts, "seconds": seconds, "logprobs": token_spans(choice, text)}
        return Answer(model=self.model, text=text, **about)

    def _begin(self) -> None:
        """Count a request, if it may be made."""
        with self._changed:
            if self.calls >= self.settings["max_calls"]:
                self.stop(f"max_calls={self.settings['max_calls']:g} reached")
            if self.stopped:
                raise Stopped(self.stopped)
            self.calls += 1
        self._call.attempts += 1
        self._call.since = time.monotonic()

    def _take(self, response: Any) -> None:
        """Read a response whole, within its time and size; what is final is not asked again."""
        pieces, timeout = response.iter_bytes, self.settings["timeout"]
        until = self._call.since + timeout

        def bounded() -> Iterator[bytes]:
            size = 0
            for piece in pieces():
                size += len(piece)
                if size > LARGEST:
                    raise Refused(f"an answer of over {LARGEST // 1024**2} MB")
                if time.monotonic() > until:
                    raise Refused(f"an answer that takes over {timeout:g} seconds")
                yield piece

        response.iter_bytes = bounded
        text = response.read().decode("utf-8", "replace")
        if response.is_error and any(word in text for word in (_NO_MONEY, _NO_SCHEMA)):
            response.headers["x-should-retry"] = "false"

    def _without_key(self, text: str) -> str:
        """A server may echo the key; a short placeholder, as private servers take, is no secret."""
        return text.replace(self._key, "[key]") if len(self._key) >= _SHORTEST_KEY else text
