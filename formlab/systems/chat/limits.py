"""What a run may spend at a server: calls in flight, calls in all, money."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_FIRST = 4
# No further call can succeed: a wrong key, a model or an address that is not there.
HOPELESS = (401, 403, 404)


class Stopped(Exception):
    """No further call may be made; the message says why."""


class Limits:
    """Lets calls through while the limits hold. Threads may share it.

    The first calls go four at a time, and each answer admits one more until the server refuses
    one: then half as many go at once, and it takes as many answers as there are calls in flight to
    admit one more. A call begins if `max_cost` holds even where it and all that are in flight cost
    the most that they may, which is never thought to be less than what any answer has cost. With
    `assume_cost` an answer of unknown cost counts as much.

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
        self, concurrency: int = 16, *, max_cost: float = math.inf, max_calls: float = math.inf,
        assume_cost: bool = False,
    ) -> None:  # fmt: skip
        self.concurrency, self.max_cost, self.max_calls = max(1, concurrency), max_cost, max_calls
        self.at_once = float(min(_FIRST, self.concurrency))
        self.assume_cost = assume_cost
        self.calls, self.cost = 0, 0.0
        self.stopped: str | None = None
        self._running, self._reserved, self._dearest = 0, 0.0, 0.0
        self._halved = 0.0
        self._changed = threading.Condition()

    @contextmanager
    def call(self, most: float = 0.0) -> Iterator[float]:
        """One call, when there is room for it; gives the moment at which it may be made.

        `most` is the most that it may cost. `Stopped` if a limit is reached or the run was stopped.
        """
        with self._changed:
            self._changed.wait_for(lambda: self.stopped or self._has_room(most))
            if reached := self.stopped or self._reached(most):
                self.stop(reached)
                raise Stopped(reached)
            most = max(most, self._dearest)
            self.calls += 1
            self._running += 1
            self._reserved += most
        try:
            yield time.monotonic()
        finally:
            with self._changed:
                self._running -= 1
                # Floats that were added and taken away again leave a rest.
                self._reserved = self._reserved - most if self._running else 0.0
                self._changed.notify_all()

    def _has_room(self, most: float) -> bool:
        # While a call is in flight it may turn out to cost less than the most.
        waits = self._running and not self._is_within(most)
        return self._running < int(self.at_once) and not waits

    def _is_within(self, most: float) -> bool:
        return self.cost + self._reserved + max(most, self._dearest) <= self.max_cost

    def _reached(self, most: float) -> str | None:
        if self.calls >= self.max_calls:
            return f"max_calls={self.max_calls} reached"
        if self._is_within(most):
            return None
        next_one = f"a call may cost {max(most, self._dearest):.4g}"
        return f"max_cost={self.max_cost:g} reached: {self.cost:.4g} are spent, and {next_one}"

    def answered(self, *, cost: float | None = None, most: float = 0.0) -> None:
        """A call was answered, at this cost where it is known; `most` as for `call`."""
        with self._changed:
            if cost is None and self.assume_cost:
                cost = max(most, self._dearest)
            step = 1 / self.at_once if self._halved else 1.0
            self.at_once = min(float(self.concurrency), self.at_once + step)
            if cost is not None:
                self.cost += cost
                self._dearest = max(self._dearest, cost)
            self._changed.notify_all()

    def overrun(self, since: float) -> None:
        """The server could not take the call that was made at `since`.

        Calls that were in flight together count as one reason to slow down.
        """
        with self._changed:
            if since >= self._halved:
                self._halved = time.monotonic()
                self.at_once = max(1.0, self.at_once / 2)

    def wait(self, seconds: float) -> None:
        """Return after so long, or once the run was stopped."""
        with self._changed:
            self._changed.wait_for(lambda: self.stopped, seconds)

    def stop(self, reason: str) -> None:
        """Let no call through any more."""
        with self._changed:
            self.stopped = self.stopped or reason
            self._changed.notify_all()
