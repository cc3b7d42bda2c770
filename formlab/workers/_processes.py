"""Processes of this machine: one job at a time each, replaced when they die."""

from __future__ import annotations

import atexit
import contextlib
import copy
import ctypes
import itertools
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import connection, get_context, parent_process
from typing import Any, TypeVar

from formlab.errors import NotAvailable
from formlab.workers._jobs import KILLED, Begin, call

J = TypeVar("J")
R = TypeVar("R")
# Libraries that start a thread for each processor unless they are told otherwise.
THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS", "RAYON_NUM_THREADS",
)  # fmt: skip
# Seconds for a process to finish what it is told to end.
_GRACE = 10.0
_PR_SET_PDEATHSIG = 1


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def own_threads() -> int:
    """How many threads a job may use: in a worker process its share of the processors."""
    return int(os.environ.get(THREADS[0]) or cores())


class _Process:
    """A process that does one job at a time; it has died when its pipe ends."""

    def __init__(self, share: int) -> None:
        self.pipe, theirs = connection.Pipe()
        self._process = get_context("spawn").Process(target=_serve, args=(theirs,))
        with _environment({name: str(share) for name in THREADS}):
            self._process.start()
        theirs.close()
        self.started, self.job, self._task = False, None, None

    def begin(self, task: tuple[Callable[..., Any], Begin | None]) -> None:
        """Have it do jobs of this task from now on."""
        if task is not self._task:
            self.started, self._task = False, task
            self._send("task", task)

    def give(self, job: Any) -> None:
        self.job = job
        self._send("job", job)

    def _send(self, what: str, content: Any) -> None:
        with contextlib.suppress(OSError):  # It has died: that shows when it is listened to.
            self.pipe.send(what)
            self.pipe.send(content)

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


class Crew:
    """Processes that stay for the next jobs: only the first wait until they have started."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.idle: list[_Process] = []
        # multiprocessing would wait for these when an iterator is left half-read at exit.
        atexit.register(self.close)

    def begin(self, function: Callable[..., Any], begin: Begin | None) -> None:
        """Start all, and have them import what `function` needs while this process goes on."""
        self.idle += [self.process() for _ in range(self.workers - len(self.idle))]
        for process in self.idle:
            process.begin((function, begin))

    def process(self) -> _Process:
        """One that nothing is known of yet."""
        return _Process(max(1, cores() // self.workers))

    def close(self) -> None:
        """End them."""
        _ended(self.idle, [])
        self.idle.clear()
        atexit.unregister(self.close)


def in_processes(
    function: Callable[..., R], jobs: Iterable[J], crew: Crew, begin: Begin | None,
    lost: Callable[[J, str], R],
) -> Iterator[tuple[J, R]]:  # fmt: skip
    """As `workers.each`, by processes of this machine."""
    suspects: list[J] = []
    killers: list[J] = []

    def died_again(process: _Process) -> None:
        if not process.started:
            remedy = "functions of a file instead of a notebook's, or one worker"
            raise NotAvailable("worker processes die while they start", remedy=remedy)
        killers.append(process.job)

    task = function, begin
    yield from _answers(crew, task, iter(jobs), crew.workers, lambda p: suspects.append(p.job))
    yield from _answers(crew, task, iter(suspects), 1, died_again)
    for job in killers:
        yield job, lost(job, KILLED)


def _ended(idle: Iterable[_Process], busy: Iterable[_Process]) -> None:
    """End processes, whatever the busy ones do."""
    for process in (every := [*idle, *busy]):
        process.end(busy=process not in idle)
    for process in every:
        process.wait()


def _answers(
    crew: Crew, task: tuple[Callable[..., Any], Begin | None], jobs: Iterator[J], count: int,
    died: Callable[[_Process], None],
) -> Iterator[tuple[J, Any]]:  # fmt: skip
    """The results of jobs; a process that dies with its job is handed to `died`."""
    idle, busy = crew.idle, dict[Any, _Process]()

    def fill() -> None:
        for job in itertools.islice(jobs, count - len(busy)):
            process = idle.pop() if idle else crew.process()
            process.begin(task)
            busy[process.pipe] = process
            process.give(job)

    def end() -> None:
        _ended([], busy.values())

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


def _serve(pipe: connection.Connection) -> None:
    """What a worker process does: tasks and jobs come and results go, until the pipe ends."""
    _end_with_starter()
    # What is under way can clean up after itself.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    do: Callable[[Any], Any] | None = None
    try:
        while True:
            try:
                what = pipe.recv()
                content = pipe.recv()
            except EOFError:
                return
            except (AttributeError, ImportError):
                traceback.print_exc()
                os._exit(1)
            if what == "task":
                do = call(*content)
                pipe.send(("started", None))
            else:
                pipe.send(("result", do(content)))
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
    if sys.platform == "linux":
        # The kernel does it, whatever this process is busy with.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    starter = parent_process().sentinel

    def watch() -> None:
        connection.wait([starter])
        os._exit(1)

    if connection.wait([starter], timeout=0):
        os._exit(1)
    # On other systems.
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
