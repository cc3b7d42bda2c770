"""What calls cost: a table that the user edits."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import NamedTuple

from formlab import files
from formlab.errors import DataBroken

PRICES = Path(__file__).parent / "prices.csv"


class Price(NamedTuple):
    """Dollars for a million tokens that go in and come out."""

    input: float
    output: float

    def of(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        """The cost of a call; None where the server does not say its tokens.

        Examples
        --------
        >>> Price(2.0, 8.0).of(1_000_000, 500_000), Price(2.0, 8.0).of(None, 5)
        (6.0, None)
        """
        if tokens_in is None or tokens_out is None:
            return None
        return (tokens_in * self.input + tokens_out * self.output) / 1e6


def price_of(model: str, *, prices: str | Path = PRICES) -> Price | None:
    """The price of a model from a CSV file; None if it has none, which is not the same as free.

    `DataMissing` or `DataBroken` if the file is absent, or the price in it is none.

    Examples
    --------
    >>> price_of("a-model-of-my-own") is None
    True
    """
    rows = csv.DictReader(files.read_text(prices).splitlines())
    row = next((row for row in rows if row.get("model") == model), None)
    if row is None:
        return None
    try:
        price = Price(float(row["input"]), float(row["output"]))
    except (KeyError, TypeError, ValueError):
        price = Price(math.nan, math.nan)
    if not all(math.isfinite(side) and side >= 0 for side in price):
        raise DataBroken(
            f"no price of {model!r}: two numbers are expected, none below 0",
            where=f"{prices}:{rows.line_num}",
            remedy="columns model, input, output: dollars for a million tokens",
        )
    return price
