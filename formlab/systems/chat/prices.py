"""What calls cost: the prices of models, in a file that the user gives, with their date."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from formlab import files
from formlab.errors import DataBroken

# A table that users edit or replace.
PRICES = Path(__file__).parent / "prices.csv"
# What no call takes: sums of such counts still fit into a table.
_MOST_TOKENS = 2**48
_REMEDY = "columns model, input, output: for a million tokens; currency and date where known"


class Price(NamedTuple):
    """What a million tokens cost that go in and come out, and the date of these prices."""

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


def price_of(model: str, *, prices: str | Path = PRICES) -> Price | None:
    """The price of a model; None if the file has none, which is not the same as free.

    The file is a CSV table, or a YAML or JSON file with a list of such rows, or with an object of
    them by model: ``{"date": …, "currency": …, "models": {"m": {"input": 1, "output": 2}}}``. The
    currency is USD where none is named.

    Raises
    ------
    DataMissing, DataBroken
        If the file is absent or cannot be read, or the price is not two numbers from 0 up.

    Examples
    --------
    >>> price_of("a-model-of-my-own") is None
    True
    >>> str(Price(2.5, 10, "EUR", "2026-05-01"))
    '2.5 in, 10 out, EUR a million tokens, 2026-05-01'
    """
    rows = _rows(Path(prices))
    where, row = next((entry for entry in rows if entry[1].get("model") == model), ("", {}))
    if not row:
        return None
    try:
        sides = [float(row[side]) for side in ("input", "output")]
    except (KeyError, TypeError, ValueError, OverflowError):
        sides = [math.nan]
    if not all(math.isfinite(side) and side >= 0 for side in sides):
        what = f"no price of {model!r}: two numbers from 0 up are expected"
        raise DataBroken(what, where=where, remedy=_REMEDY)
    date = str(row["date"]) if row.get("date") else None
    return Price(*sides, currency=str(row.get("currency") or "USD"), date=date)


def usage_of(usage: Any, price: Price | None) -> dict[str, Any]:
    """The tokens of a call, where the server reports them, and their cost, where it is known."""
    usage = usage if isinstance(usage, dict) else {}
    counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
    tokens = [n if type(n) is int and 0 <= n < _MOST_TOKENS else None for n in counts]
    cost = price.of(*tokens) if price else None
    return {"tokens_in": tokens[0], "tokens_out": tokens[1], "cost": cost}


def _rows(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Where each price stands, and its row."""
    if file.suffix.lower() not in (".json", ".yaml", ".yml"):
        text = files.read_text(file)
        table = csv.DictReader(text.splitlines())
        with files.csv_cells(len(text)):
            rows = [(f"{file}:{table.line_num}", row) for row in table]
        yield from rows
        return
    if file.suffix.lower() == ".json":
        value = files.read_json(file, once=True)
    else:
        value = files.read_yaml(file, remedy=_REMEDY)
    general: Mapping[str, Any] = {}
    if isinstance(value, Mapping):
        general = {name: value[name] for name in ("currency", "date") if name in value}
        models = value.get("models", {k: v for k, v in value.items() if k not in general})
        if isinstance(models, Mapping):
            models = [
                {"model": name} | (dict(price) if isinstance(price, Mapping) else {})
                for name, price in models.items()
            ]
        value = models
    if not isinstance(value, list) or not all(isinstance(row, Mapping) for row in value):
        raise DataBroken("no list of prices", where=file, remedy=_REMEDY)
    yield from ((str(file), {**general, **row}) for row in value)
