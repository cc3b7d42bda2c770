"""What a run may spend at a server: calls in all, and money by the prices of a table."""

from __future__ import annotations

import csv
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from formlab import files
from formlab.errors import DataBroken, NotAvailable


class Stopped(Exception):
    """No further call may be made; the message says why."""


class Price(NamedTuple):
    """What a million tokens cost that go in and come out, and the date of these prices.

    Examples
    --------
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
    they may, which is never thought to be less than what any answer has cost.

    Examples
    --------
    >>> limits = Limits(max_calls=1)
    >>> with limits.call():
    ...     limits.count()
    ...     limits.count()
    Traceback (most recent call last):
    ...
    formlab.systems.chat.limits.Stopped: max_calls=1 reached
    """

    def __init__(self, *, max_cost: float = math.inf, max_calls: float = math.inf) -> None:
        self.max_cost, self.max_calls = max_cost, max_calls
        self.calls, self.cost = 0, 0.0
        self.stopped: str | None = None
        # What each call in flight may cost, and the dearest answer so far.
        self._reserved: list[float] = []
        self._dearest = 0.0
        self._changed = threading.Condition()

    @contextmanager
    def call(self, most: float = 0.0) -> Iterator[None]:
        """One call with all of its attempts, when there is money for it: `most` at most.

        `Stopped` if a limit is reached or the run was stopped.
        """

        def is_within() -> bool:
            return self.cost + sum(self._reserved) + max(most, self._dearest) <= self.max_cost

        with self._changed:
            # While a call is in flight it may turn out to cost less than the most.
            self._changed.wait_for(lambda: self.stopped or not self._reserved or is_within())
            most = max(most, self._dearest)
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
            self._dearest = max(self._dearest, cost or 0.0)

    def stop(self, reason: str) -> None:
        """Let no call through any more."""
        with self._changed:
            self.stopped = self.stopped or reason
            self._changed.notify_all()
