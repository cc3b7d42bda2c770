"""The settings of a model in one table, and the client that they make."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from formlab import files
from formlab.errors import DataBroken, NotAvailable, UnknownName
from formlab.systems.chat.ask import BOXES, PAGES
from formlab.systems.chat.client import FORMS, Client
from formlab.systems.chat.limits import Limits, price_of
from formlab.systems.system import setting_text


class Setting(NamedTuple):
    """A setting of a model: its default, its meaning and, of a number, what it may be.

    A number is `least` at least, or above it, and finite unless its default is not; a word is one
    of `choices`, if any.
    """

    default: Any
    meaning: str
    least: float | None = None
    is_above: bool = False
    choices: tuple[str, ...] = ()


# What shapes an answer stands in the settings of a run; how it is got does not.
_SHAPING = {
    "temperature": Setting(0.0, "how much answers vary", 0),
    "max_tokens": Setting(8192, "the longest answer", 1),
    "extra": Setting("{}", "JSON for the body of each call; null in it takes a member out"),
    "form": Setting("auto", "how JSON is asked for", choices=("auto", *FORMS)),
    "pages": Setting("image", "how pages are shown, as text by OCR", choices=PAGES),
    "image_limit": Setting(2048, "the longest side of a page in pixels, 0 for no page", 0),
    "max_pages": Setting(10, "pages of a document that are sent", 1),
    "boxes": Setting("thousandths", "the unit of places on a page", choices=BOXES),
    "tasks": Setting("", "what is asked, names between commas; all if empty"),
    "shots": Setting(0, "examples before a question", 0),
    "shots_seed": Setting(0, "what draws the examples", 0),
    "logprobs": Setting(False, "confidence by the probability of tokens"),
    "samples": Setting(1, "how often a question is put; confidence by agreement", 1),
}
_RUNNING = {
    "base_url": Setting("", "the address of the server"),
    "prompt": Setting("", "a prompt's name, or a file, for the only task asked"),
    "retry": Setting("", "which answers are asked for again", choices=("", "bad")),
    "max_cost": Setting(math.inf, "the most to spend", 0, is_above=True),
    "max_calls": Setting(math.inf, "the most calls; 0 asks nothing", 0),
    "concurrency": Setting(16, "calls at a time", 1),
    "timeout": Setting(120.0, "seconds for an answer", 0, is_above=True),
    "attempts": Setting(6, "calls for one answer", 1),
    "store": Setting("", "a file of answers that runs may share"),
    "prices": Setting("", "a CSV file of prices"),
}
SETTINGS = _SHAPING | _RUNNING
SHAPING = {name: setting.default for name, setting in _SHAPING.items()}
RUNNING = {name: setting.default for name, setting in _RUNNING.items()}


def check(settings: Mapping[str, Any]) -> None:
    """`DataBroken` with the name of a setting that is no number, or none that makes sense.

    `UnknownName` if it is none of the words that it may be.

    Examples
    --------
    >>> check({"timeout": 0})
    Traceback (most recent call last):
    ...
    formlab.errors.DataBroken: timeout is 0: a number above 0 is expected. Try: timeout=120.0
    """
    for name, (default, _, least, is_above, choices) in SETTINGS.items():
        value = settings.get(name, default)
        if choices and value not in choices:
            raise UnknownName.of(name, value, filter(None, choices))
        is_number = isinstance(value, int if type(default) is int else int | float)
        if least is None or (
            (is_number and not isinstance(value, bool))
            and (value > least if is_above else value >= least)
            and (value < math.inf or default == math.inf)
        ):
            continue
        expected = f"a{' whole' * (type(default) is int)} number "
        expected += "above 0" if is_above else f"from {least} up"
        what = f"{name} is {str(value)[:40]}: {expected} is expected"
        raise DataBroken(what, remedy=f"{name}={setting_text(default)}")


def client_of(
    model: str, settings: dict[str, Any], *, kind: Callable[..., Client] = Client
) -> Client:
    """A client of `model` with these settings.

    `NotAvailable`, `DataBroken` or `UnknownName` if a setting makes no sense (`check`), if
    `max_cost` is given and the model has no price, if `extra` is no JSON object, or if several
    samples would be alike.
    """
    check(settings)
    prices, is_limited = settings["prices"], math.isfinite(settings["max_cost"])
    price = price_of(model, prices=prices) if prices else None
    if is_limited and price is None:
        what = f"max_cost needs a price, and {model!r} has none"
        remedy = "a line for it in a file of prices, --set prices=FILE"
        raise NotAvailable(what, where=prices or None, remedy=remedy)
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
    limits = Limits(max_cost=settings["max_cost"], max_calls=settings["max_calls"])
    connection = {name: settings[name] for name in ("attempts", "timeout")}
    base_url = settings["base_url"] or None
    return kind(model, base_url=base_url, options=options, limits=limits, price=price, **connection)
