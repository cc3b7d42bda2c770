"""What calls cost: a table that the user edits, and the limits on money and calls."""

from __future__ import annotations

import csv
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from formlab import files
from formlab.errors import DataBroken
from formlab.systems.chat._gate import Stopped

PRICES = Path(__file__).parent / "prices.csv"
_REMEDY = "columns model, input, output: dollars for a million tokens"


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

    Raises
    ------
    DataMissing, DataBroken
        If the file is absent or a line has no price.

    Examples
    --------
    >>> price_of("a-model-of-my-own") is None
    True
    """
    rows = csv.DictReader(files.read_text(prices).splitlines())
    for row in rows:
        if row.get("model") != model:
            continue
        try:
            price = Price(float(row["input"]), float(row["output"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DataBroken(
                f"no price of {model!r}", where=f"{prices}:{rows.line_num}", remedy=_REMEDY
            ) from error
        if not all(math.isfinite(side) and side >= 0 for side in price):
            raise DataBroken(
                f"a price of {model!r} is negative or no number",
                where=f"{prices}:{rows.line_num}",
                remedy=_REMEDY,
            )
        return price
    return None


class Budget:
    """Counts calls and money of a run, and lets no call be made beyond either limit.

    Calls in flight are expected to cost what the calls before them did on average, so the limit
    of money can be passed by no more than the calls in flight.

    Examples
    --------
    >>> budget = Budget(max_calls=1)
    >>> with budget.call():
    ...     budget.paid(0.25)
    >>> with budget.call():
    ...     pass
    Traceback (most recent call last):
    ...
    formlab.systems.chat._gate.Stopped: max_calls=1 reached
    """

    def __init__(self, *, max_cost: float = math.inf, max_calls: int | None = None) -> None:
        self.max_cost, self.max_calls = max_cost, max_calls
        self.calls, self.cost = 0, 0.0
        self._paid, self._running = 0, 0
        self._lock = threading.Lock()

    @contextmanager
    def call(self) -> Iterator[None]:
        """One call to the server, counted; `Stopped` if none may be made any more."""
        with self._lock:
            if self.max_calls is not None and self.calls >= self.max_calls:
                raise Stopped(f"max_calls={self.max_calls} reached")
            mean = self.cost / self._paid if self._paid else 0.0
            if self.cost + mean * (self._running + 1) > self.max_cost:
                raise Stopped(f"max_cost={self.max_cost:g} reached")
            self.calls += 1
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1

    def paid(self, cost: float | None) -> None:
        """Add the cost of an answered call, where it is known."""
        if cost is not None:
            with self._lock:
                self.cost += cost
                self._paid += 1
