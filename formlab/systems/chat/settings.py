"""The settings of a model, what each may be, and the client that they make."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

from formlab import files
from formlab.errors import DataBroken, NotAvailable
from formlab.systems.chat.client import Client
from formlab.systems.chat.limits import PRICES, Limits, price_of
from formlab.systems.system import setting_text

# What shapes an answer, and therefore stands in a run's settings.
SHAPING: dict[str, Any] = {
    "temperature": 0.0,
    "max_tokens": 8192,
    "extra": "{}",
    "form": "auto",
    "pages": "image",
    "image_limit": 2048,
    "max_pages": 10,
    "boxes": "thousandths",
    "tasks": "",
    "shots": 0,
    "shots_seed": 0,
    "logprobs": False,
    "samples": 1,
}
# How the answers are got, which leaves them as they are.
RUNNING: dict[str, Any] = {
    "base_url": "",
    "prompt": "",
    "retry": "",
    "max_cost": math.inf,
    "max_calls": sys.maxsize,
    "concurrency": 16,
    "timeout": 120.0,
    "attempts": 6,
    "store": "",
    "prices": "",
}
# These are above 0; of the others, but for temperature, each number is a whole one from here up.
_ABOVE_ZERO = ("max_cost", "timeout")
_LEAST = dict.fromkeys(("temperature", "image_limit", "shots", "shots_seed", "max_calls"), 0)
_LEAST |= dict.fromkeys(("max_tokens", "max_pages", "samples", "concurrency", "attempts"), 1)
# The most that these may be, where it is not the largest number: no limit, and a month, which is
# the longest that a socket can be waited for on every system, with room.
_MOST = {"max_cost": math.inf, "max_calls": math.inf, "timeout": 2.6e6}


def check_numbers(settings: Mapping[str, Any]) -> None:
    """`DataBroken` with the name of a setting that is no number, or none that makes sense.

    Examples
    --------
    >>> check_numbers({"timeout": 0})
    Traceback (most recent call last):
    ...
    formlab.errors.DataBroken: timeout is 0: a number above 0 is expected. Try: timeout=120.0
    """
    defaults = SHAPING | RUNNING
    for name in (*_ABOVE_ZERO, *_LEAST):
        value, default = settings.get(name, defaults[name]), defaults[name]
        is_whole = isinstance(default, int) and value != math.inf
        is_number = isinstance(value, int if is_whole else int | float) and not isinstance(
            value, bool
        )
        # Nothing is more than a number that is none.
        enough = is_number and (value > 0 if name in _ABOVE_ZERO else value >= _LEAST[name])
        if not enough or value > _MOST.get(name, sys.float_info.max):
            least = "above 0" if name in _ABOVE_ZERO else f"from {_LEAST[name]} up"
            what = f"{name} is {str(value)[:40]}: {'a whole' if is_whole else 'a'} number {least}"
            raise DataBroken(f"{what} is expected", remedy=f"{name}={setting_text(default)}")


def client_of(
    model: str, settings: dict[str, Any], *, kind: Callable[..., Client] = Client
) -> Client:
    """A client of `model` with these settings.

    `NotAvailable` or `DataBroken` if a number makes no sense (`check_numbers`), if `max_cost` is
    given and the model has no price, if `extra` is no JSON object, or if several samples would be
    alike.
    """
    check_numbers(settings)
    prices, is_limited = settings["prices"] or PRICES, math.isfinite(settings["max_cost"])
    price = price_of(model, prices=prices)
    if is_limited and price is None:
        what = f"max_cost needs a price, and {model!r} has none"
        remedy = "a line for it in a file of your own, --set prices=FILE"
        raise NotAvailable(what, where=prices, remedy=remedy)
    extra = files.parse_json(settings["extra"], where="extra")
    if not isinstance(extra, dict):
        raise DataBroken("extra is not a JSON object", remedy='extra={"seed": 1}')
    asked = {name: settings[name] for name in ("temperature", "max_tokens")} | extra
    if settings.get("logprobs"):
        asked["logprobs"] = True
    if settings.get("samples", 1) > 1 and (asked["temperature"] == 0 or "seed" in extra):
        remedy = "--set temperature=0.7, and no seed in extra"
        raise DataBroken("samples of one temperature 0 or seed are all alike", remedy=remedy)
    longest = asked.get("max_completion_tokens") or asked["max_tokens"]
    if is_limited and not isinstance(longest, int):
        raise NotAvailable("max_cost needs a limit of tokens", remedy="--set max_tokens=8192")
    return kind(
        model,
        base_url=settings["base_url"] or None,
        attempts=settings["attempts"],
        options=asked,
        timeout=settings["timeout"],
        limits=Limits(max_cost=settings["max_cost"], max_calls=settings["max_calls"]),
        price=price,
    )
