"""The one way to run many things: here, in processes of this machine, or on a Dask cluster.

Only this module imports what starts processes and threads. Jobs are independent of each other;
results come as they are finished, so nothing may depend on their order.
"""

from __future__ import annotations

import atexit
import contextlib
import copy
import ctypes
import functools
import itertools
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from typing import Any, TypeVar

from formlab.errors import NotAvailable

__all__ = ["Lost", "cores", "each", "own_threads", "threads"]

J = TypeVar("J")
R = TypeVar("R")
# What `begin` of `each` is: a function, and what it is called with once in each process.
Begin = tuple[Callable[..., Any], tuple[Any, ...]]

# Libraries that start a thread for each processor unless they are told otherwise.
_THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS", "RAYON_NUM_THREADS",
)  # fmt: skip
# Seconds for a process to finish what it is told to end.
_GRACE = 10.0
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Lost:
    """The result of a job that ended its process twice: killed, or out of memory."""

    reason: str


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def own_threads() -> int:
    """How many threads a job may use: in a worker process its share of the processors."""
    return int(os.environ.get(_THREADS[0]) or cores())


def each(
    function: Callable[..., R],
    jobs: Iterable[J],
    *,
    workers: int = 1,
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
        Processes on this machine; 1 runs the jobs here, in their order.
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
        return _on_cluster(function, jobs, scheduler, begin, lost)
    if workers > 1:
        return _in_processes(function, jobs, workers, begin, lost)
    return _here(function, jobs, begin)


def threads(
    function: Callable[[J], R], jobs: Iterable[J], *, workers: int, name: str = "formlab"
) -> Iterator[tuple[J, R]]:
    """Each job with its result, by threads of this process: for jobs that wait for servers.

    Like `each`; `function` may be any. Once the iterator is closed, by an error too, no job is
    begun, and those under way are waited for.

    Examples
    --------
    >>> sorted(threads(len, ["a", "bcd"], workers=2))
    [('a', 1), ('bcd', 3)]
    """
    waiting, done = iter(jobs), queue.SimpleQueue[Future[R]]()
    running: dict[Future[R], J] = {}
    pool = ThreadPoolExecutor(max(1, workers), thread_name_prefix=name)

    def fill() -> None:
        # Two for each thread, so that none waits for the caller to take a result.
        for job in itertools.islice(waiting, max(0, 2 * max(1, workers) - len(running))):
            future = pool.submit(function, job)
            running[future] = job
            future.add_done_callback(done.put)

    try:
        fill()
        while running:
            future = done.get()
            job = running.pop(future)
            fill()
            yield job, future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def end_with_parent() -> None:
    """Have the kernel end this process at once when the one that started it ends (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _call(function: Callable[..., R], begin: Begin | None) -> Callable[[Any], R]:
    """`function` of a job alone, with the state of this process."""
    if begin is None:
        return function
    factory, arguments = begin
    state = factory(*arguments)
    return lambda job: function(state, job)


def _here(
    function: Callable[..., R], jobs: Iterable[J], begin: Begin | None
) -> Iterator[tuple[J, R]]:
    call = None
    for job in jobs:
        call = call or _call(function, begin)
        yield job, call(job)


class _Process:
    """A process that does one job at a time; it has died when its pipe ends."""

    def __init__(self, function: Callable[..., Any], begin: Begin | None, share: int) -> None:
        self.pipe, theirs = connection.Pipe()
        task = (theirs, function, begin)
        self._process = get_context("spawn").Process(target=_serve, args=task)
        with _environment({name: str(share) for name in _THREADS}):
            self._process.start()
        theirs.close()
        self.started, self.job = False, None

    def give(self, job: Any) -> None:
        self.job = job
        with contextlib.suppress(OSError):  # It has died: that shows when it is listened to.
            self.pipe.send(job)

    def end(self, *, busy: bool) -> None:
        """Let it end, or have it leave what it does."""
        self.pipe.close()
        if busy:
            self._process.terminate()

    def wait(self) -> None:
        self._process.join(_GRACE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _in_processes(
    function: Callable[..., R], jobs: Iterable[J], workers: int, begin: Begin | None,
    lost: Callable[[J, str], R],
) -> Iterator[tuple[J, R]]:  # fmt: skip
    suspects: list[J] = []
    killers: list[J] = []

    def died_again(process: _Process) -> None:
        if not process.started:
            remedy = "functions of a file instead of a notebook's, or one worker"
            raise NotAvailable("worker processes die while they start", remedy=remedy)
        killers.append(process.job)

    start = functools.partial(_Process, function, begin, max(1, cores() // workers))
    yield from _answers(start, iter(jobs), workers, lambda process: suspects.append(process.job))
    yield from _answers(start, iter(suspects), 1, died_again)
    for job in killers:
        yield job, lost(job, "its process was killed twice (out of memory?)")


def _answers(
    start: Callable[[], _Process], jobs: Iterator[J], count: int,
    died: Callable[[_Process], None],
) -> Iterator[tuple[J, Any]]:  # fmt: skip
    """The results of jobs; a process that dies with its job is handed to `died`."""
    idle: list[_Process] = []
    busy: dict[Any, _Process] = {}

    def fill() -> None:
        for job in itertools.islice(jobs, count - len(busy)):
            process = idle.pop() if idle else start()
            busy[process.pipe] = process
            process.give(job)

    def end() -> None:
        for process in (every := [*idle, *busy.values()]):
            process.end(busy=process not in idle)
        for process in every:
            process.wait()

    # multiprocessing would wait for these processes when an iterator is left half-read at exit.
    atexit.register(end)
    try:
        fill()
        while busy:
            finished = []
            for pipe in connection.wait(list(busy)):
                process = busy[pipe]
                try:
                    answer, value = pipe.recv()
                except (EOFError, OSError):
                    busy.pop(pipe).wait()
                    died(process)
                    continue
                if answer == "started":
                    process.started = True
                    continue
                idle.append(busy.pop(pipe))
                if answer == "error":
                    raise value
                finished.append((process.job, value))
            fill()
            yield from finished
    finally:
        end()
        atexit.unregister(end)


def _serve(pipe: connection.Connection, function: Callable[..., Any], begin: Begin | None) -> None:
    """What a worker process does: jobs come and results go, until the pipe ends."""
    _end_with_starter()
    # What is under way can clean up after itself.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        call = _call(function, begin)
        pipe.send(("started", None))
        while True:
            try:
                job = pipe.recv()
            except EOFError:
                return
            pipe.send(("result", call(job)))
    except Exception as error:
        with contextlib.suppress(OSError):
            _send_error(pipe, error)


def _send_error(pipe: connection.Connection, error: Exception) -> None:
    error.add_note("".join(["In a worker process:\n", *traceback.format_exception(error)]))
    try:
        copy.copy(error)  # Fails like the other side would, for an error of unusual arguments.
        pipe.send(("error", error))
    except OSError:
        raise
    except Exception:
        pipe.send(("error", RuntimeError("".join(traceback.format_exception(error)))))


def _end_with_starter() -> None:
    """End this worker at once when the process that started it has ended."""
    end_with_parent()
    starter = parent_process().sentinel

    def watch() -> None:
        connection.wait([starter])
        os._exit(1)

    if connection.wait([starter], timeout=0):
        os._exit(1)
    # Where the kernel does not do it; a watcher costs nothing elsewhere.
    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Within it, environment variables that processes started now inherit; the user's stay."""
    new = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        for name in new:
            os.environ.pop(name, None)


def _on_cluster(
    function: Callable[..., R], jobs: Iterable[J], address: str, begin: Begin | None,
    lost: Callable[[J, str], R],
) -> Iterator[tuple[J, R]]:  # fmt: skip
    raise NotImplementedError
