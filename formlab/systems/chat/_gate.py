"""How many calls may be in flight: as many as the server takes, and no more."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_FIRST = 4


class Stopped(Exception):
    """No further call may be made; the message says why."""


class Gate:
    """Lets calls pass: more at once while they succeed, half as many when the server is overrun.

    The first calls go four at a time, and each success admits one more until the server refuses
    one; from then on it takes as many successes as there are calls in flight.

    Examples
    --------
    >>> gate = Gate(16)
    >>> with gate.passing() as since:
    ...     gate.succeeded()
    >>> gate.limit
    5.0
    >>> gate.overrun(since, pause=0)
    >>> gate.limit
    2.5
    """

    def __init__(self, most: int) -> None:
        self.most = max(1, most)
        self.limit = float(min(_FIRST, self.most))
        self.stopped: str | None = None
        self._running = 0
        self._cut = 0.0
        self._until = 0.0
        self._free = threading.Condition()

    @contextmanager
    def passing(self) -> Iterator[float]:
        """Wait for a place, and hold it; gives the moment at which it was had."""
        self._enter()
        try:
            yield time.monotonic()
        finally:
            with self._free:
                self._running -= 1
                self._free.notify_all()

    def _enter(self) -> None:
        with self._free:
            while True:
                if self.stopped:
                    raise Stopped(self.stopped)
                pause = self._until - time.monotonic()
                if pause <= 0 and self._running < int(self.limit):
                    self._running += 1
                    return
                self._free.wait(pause if pause > 0 else None)

    def succeeded(self) -> None:
        """A call was answered."""
        with self._free:
            step = 1 / self.limit if self._cut else 1.0
            self.limit = min(float(self.most), self.limit + step)
            self._free.notify_all()

    def overrun(self, since: float, *, pause: float) -> None:
        """The server could not take the call that passed at `since`; nothing passes for a while.

        Calls that were in flight together count as one reason to slow down.
        """
        with self._free:
            now = time.monotonic()
            self._until = max(self._until, now + pause)
            if since >= self._cut:
                self._cut = now
                self.limit = max(1.0, self.limit / 2)

    def sleep(self, seconds: float) -> None:
        """Wait, unless everything is stopped meanwhile."""
        end = time.monotonic() + seconds
        with self._free:
            while not self.stopped and (left := end - time.monotonic()) > 0:
                self._free.wait(left)

    def stop(self, why: str) -> None:
        """Let nothing pass any more."""
        with self._free:
            self.stopped = self.stopped or why
            self._free.notify_all()
