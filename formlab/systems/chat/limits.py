"""What a run may spend at a server: calls in flight, calls in all, money."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_FIRST = 4


class Stopped(Exception):
    """No further call may be made; the message says why."""


class Limits:
    """Lets calls through while the limits hold. Threads may share it.

    The first calls go four at a time, and each answer admits one more until the server refuses
    one: then half as many go at once, and it takes as many answers as there are calls in flight to
    admit one more. Calls in flight are expected to cost what the calls before them did on average,
    so `max_cost` is passed by no more than the calls in flight.

    Examples
    --------
    >>> limits = Limits(max_calls=1)
    >>> with limits.call():
    ...     limits.answered(cost=0.25)
    >>> with limits.call():
    ...     pass
    Traceback (most recent call last):
    ...
    formlab.systems.chat.limits.Stopped: max_calls=1 reached
    """

    def __init__(
        self, concurrency: int = 16, *, max_cost: float = math.inf, max_calls: float = math.inf
    ) -> None:
        self.concurrency, self.max_cost, self.max_calls = max(1, concurrency), max_cost, max_calls
        self.at_once = float(min(_FIRST, self.concurrency))
        self.calls, self.cost = 0, 0.0
        self.stopped: str | None = None
        self._running = self._paid = 0
        self._halved = 0.0
        self._changed = threading.Condition()

    @contextmanager
    def call(self) -> Iterator[float]:
        """One call, when there is room for it; gives the moment at which it may be made.

        `Stopped` if a limit is reached or the run was stopped.
        """
        with self._changed:
            self._changed.wait_for(lambda: self.stopped or self._running < int(self.at_once))
            if reached := self.stopped or self._reached():
                self.stop(reached)
                raise Stopped(reached)
            self.calls += 1
            self._running += 1
        try:
            yield time.monotonic()
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def _reached(self) -> str | None:
        if self.calls >= self.max_calls:
            return f"max_calls={self.max_calls} reached"
        mean = self.cost / self._paid if self._paid else 0.0
        expected = self.cost + mean * (self._running + 1)
        return f"max_cost={self.max_cost:g} reached" if expected > self.max_cost else None

    def answered(self, *, cost: float | None = None) -> None:
        """A call was answered, at this cost where it is known."""
        with self._changed:
            step = 1 / self.at_once if self._halved else 1.0
            self.at_once = min(float(self.concurrency), self.at_once + step)
            if cost is not None:
                self.cost += cost
                self._paid += 1
            self._changed.notify_all()

    def overrun(self, since: float) -> None:
        """The server could not take the call that was made at `since`.

        Calls that were in flight together count as one reason to slow down.
        """
        with self._changed:
            if since >= self._halved:
                self._halved = time.monotonic()
                self.at_once = max(1.0, self.at_once / 2)

    def stop(self, reason: str) -> None:
        """Let no call through any more."""
        with self._changed:
            self.stopped = self.stopped or reason
            self._changed.notify_all()
