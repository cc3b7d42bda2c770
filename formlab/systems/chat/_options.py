"""A model's settings: those that shape its answers, and those that say how to get them."""

from __future__ import annotations

import math
import sys
from typing import Any

from formlab import files
from formlab.errors import DataBroken, NotAvailable
from formlab.systems.chat.client import Client
from formlab.systems.chat.limits import Limits
from formlab.systems.chat.prices import PRICES, price_of

# What shapes an answer, and therefore stands in a run's settings.
SHAPING: dict[str, Any] = {
    "temperature": 0.0, "max_tokens": 8192, "extra": "{}", "form": "auto", "pages": "image",
    "image_limit": 2048, "max_pages": 10, "boxes": "thousandths", "tasks": "",
}  # fmt: skip
# How the answers are got, which leaves them as they are.
RUNNING: dict[str, Any] = {
    "base_url": "", "prompts": "", "retry": "", "max_cost": math.inf, "max_calls": sys.maxsize,
    "concurrency": 16, "timeout": 120.0, "attempts": 6, "store": "", "prices": str(PRICES),
}  # fmt: skip


def client_of(model: str, settings: dict[str, Any]) -> Client:
    """A client of `model` with these settings.

    `NotAvailable` or `DataBroken` if `max_cost` is given and the model has no price, or `extra` is
    no JSON object.
    """
    price = price_of(model, prices=settings["prices"])
    if math.isfinite(settings["max_cost"]) and price is None:
        raise NotAvailable(
            f"max_cost needs a price, and {model!r} has none", where=settings["prices"],
            remedy="a line for it in a file of your own, prices=FILE",
        )  # fmt: skip
    extra = files.parse_json(settings["extra"], where="extra")
    if not isinstance(extra, dict):
        raise DataBroken("extra is not a JSON object", remedy='extra={"seed": 1}')
    limits = Limits(
        settings["concurrency"], max_cost=settings["max_cost"], max_calls=settings["max_calls"]
    )
    return Client(
        model, base_url=settings["base_url"] or None, attempts=settings["attempts"],
        options={name: settings[name] for name in ("temperature", "max_tokens")} | extra,
        timeout=settings["timeout"], limits=limits, price=price,
    )  # fmt: skip
