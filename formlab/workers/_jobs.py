"""What all ways of running jobs share."""

from __future__ import annotations

import itertools
import queue
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

J = TypeVar("J")
R = TypeVar("R")
# What `begin` of `each` is: a function, and what it is called with once in each process.
Begin = tuple[Callable[..., Any], tuple[Any, ...]]
# Why a job is lost.
KILLED = "its process was killed twice (out of memory?)"
# Seconds without a result after which `completed` calls `idle`.
_LOOK = 5.0


def call(function: Callable[..., R], begin: Begin | None) -> Callable[[Any], R]:
    """`function` of a job alone, with the state of this process."""
    if begin is None:
        return function
    factory, arguments = begin
    state = factory(*arguments)
    return lambda job: function(state, job)


def completed(
    submit: Callable[[J], Any], jobs: Iterable[J], *, width: Callable[[], int],
    idle: Callable[[], None] = lambda: None,
) -> Iterator[tuple[J, Any]]:  # fmt: skip
    """Each job with its future once that is done; only `width` jobs are submitted at a time."""
    waiting, done = iter(jobs), queue.SimpleQueue[Any]()
    running: dict[Any, J] = {}

    def fill() -> None:
        for job in itertools.islice(waiting, max(0, width() - len(running))):
            running[future := submit(job)] = job
            future.add_done_callback(done.put)

    fill()
    while running:
        try:
            future = done.get(timeout=_LOOK)
        except queue.Empty:
            idle()
            fill()
            continue
        job = running.pop(future)
        fill()
        yield job, future
