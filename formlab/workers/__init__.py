"""The one way to run many things: here, in processes of this machine, or on a Dask cluster.

Only this module imports what starts processes and threads. Jobs are independent of each other;
results come as they are finished, so nothing may depend on their order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from formlab import resources
from formlab.errors import DataMissing
from formlab.workers._jobs import Begin, call, completed
from formlab.workers._processes import Crew, cores, in_processes, own_threads

__all__ = [
    "Crew", "Lost", "calling", "cores", "crew", "each", "own_threads", "seen", "shared", "threads",
]  # fmt: skip

J = TypeVar("J")
R = TypeVar("R")


@dataclass(frozen=True)
class Lost:
    """The result of a job that ended its process twice: killed, or out of memory."""

    reason: str


def each(
    function: Callable[..., R],
    jobs: Iterable[J],
    *,
    workers: int | Crew = 1,
    scheduler: str | None = None,
    begin: Begin | None = None,
    lost: Callable[[J, str], R] | None = None,
) -> Iterator[tuple[J, R]]:
    """Each job with its result, as soon as it is there.

    A process that dies is replaced, and its job is done again after the others, by itself; a job
    that ends its process twice is lost. Processes end with the one that started them, also after
    ``kill -9``. Closing the iterator, an error or Ctrl-C ends what still runs.

    Parameters
    ----------
    function
        Importable; called with a job, and with `begin` with ``(state, job)``. It may be called
        twice for a job, if its process dies.
    jobs
        Plain data, read a few at a time.
    workers
        Processes on this machine; 1 runs the jobs here, in their order. Those of a `crew` stay
        for the next jobs.
    scheduler
        Address of a Dask scheduler, or the file that it wrote, instead of `workers`. Workers work
        in this process's folder, where they see it, and know the plug-ins it was given.
    begin
        A factory and its arguments: each process calls it once and keeps the state it returns.
    lost
        Makes the result of a lost job from the job and the reason; by default `Lost`.

    Raises
    ------
    NotAvailable
        If the processes cannot start, Dask is not installed, the scheduler does not answer, or
        its workers have another version of formlab or Python.
    Exception
        The first error that `function` or `begin` raises.

    Examples
    --------
    >>> list(each(len, ["a", "bcd"]))
    [('a', 1), ('bcd', 3)]
    """
    lost = lost or (lambda _, reason: Lost(reason))
    if scheduler:
        resources.need("scale")
        from formlab.workers._cluster import on_cluster

        return on_cluster(function, jobs, scheduler, begin, lost)
    if isinstance(workers, Crew):
        return in_processes(function, jobs, workers, begin, lost)
    if workers > 1:
        return _by_crew(function, jobs, workers, begin, lost)
    return _here(function, jobs, begin)


def _by_crew(
    function: Callable[..., R], jobs: Iterable[J], workers: int, begin: Begin | None,
    lost: Callable[[J, str], R],
) -> Iterator[tuple[J, R]]:  # fmt: skip
    with crew(workers) as processes:
        yield from in_processes(function, jobs, processes, begin, lost)


@contextmanager
def crew(workers: int | Crew) -> Iterator[Crew]:
    """Processes that several calls of `each` share, started when they are first needed.

    Those of a crew that is there already, which stay.
    """
    if isinstance(workers, Crew):
        yield workers
        return
    processes = Crew(workers)
    try:
        yield processes
    finally:
        processes.close()


def _here(
    function: Callable[..., R], jobs: Iterable[J], begin: Begin | None
) -> Iterator[tuple[J, R]]:
    do = None
    for job in jobs:
        do = do or call(function, begin)
        yield job, do(job)


def threads(
    function: Callable[[J], R], jobs: Iterable[J], *, workers: int, name: str = "formlab",
    ended: Callable[[], None] = lambda: None,
) -> Iterator[tuple[J, R]]:  # fmt: skip
    """Each job with its result, by threads of this process: for jobs that wait for servers.

    Like `each`; `function` may be any. Once the iterator is closed, by an error too, no job is
    begun, and those under way are waited for; `ended` is called first, and may make them hurry.

    Examples
    --------
    >>> sorted(threads(len, ["a", "bcd"], workers=2))
    [('a', 1), ('bcd', 3)]
    """
    count = max(1, workers)
    pool = ThreadPoolExecutor(count, thread_name_prefix=name)
    try:
        # Two for each thread, so that none waits for the caller to take a result.
        submit = functools.partial(pool.submit, function)
        for job, future in completed(submit, jobs, width=lambda: 2 * count):
            yield job, future.result()
    finally:
        ended()
        pool.shutdown(cancel_futures=True)


@contextmanager
def calling(scheduler: str) -> Iterator[Callable[..., Any]]:
    """A function that calls another, importable one, on some worker of the cluster.

    For calls that wait for servers: threads may share it, and a worker has many under way. Each is
    made once; if its worker dies, it fails with a `ConnectionError`.

    Raises
    ------
    NotAvailable
        If Dask is not installed, the scheduler does not answer, it has no workers, or they have
        another version of formlab or Python.
    """
    resources.need("scale")
    from formlab.workers._calls import calls

    with calls(scheduler) as call_there:
        yield call_there


def seen(path: str | Path) -> Path:
    """`path`, if it is there; as `begin` of `each` it checks that workers see a file or folder.

    Raises
    ------
    DataMissing
        If it is not there; from the worker of a cluster it names the worker's host.
    """
    if not Path(path).exists():
        raise DataMissing("no such file or folder", where=path, remedy="check the path")
    return Path(path)


@contextmanager
def shared(folder: str | Path) -> Iterator[Path]:
    """A file made in `folder` for a while: workers that see it (`seen`) have the same folder."""
    from formlab import files

    with files.temporary(Path(folder), prefix=".seen.") as probe:
        yield probe
