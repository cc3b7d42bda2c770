"""The one way to run many jobs: here, in processes of this machine, or on a Dask cluster."""

import copy
import json
import os
import platform
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from importlib import metadata
from itertools import islice
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from typing import Any, TypeVar

from formlab import registry, resources
from formlab.errors import NotAvailable

J = TypeVar("J")
R = TypeVar("R")
# Seconds for a scheduler to answer, and for its first worker to come.
ANSWER, WORKERS = 10.0, 60.0
# The result of a job that ended its process twice.
LOST = "its process was killed twice (out of memory?)"


def each(
    function: Callable[[J], R], jobs: Iterable[J], *, workers: int | str = 1, pool: Any = None
) -> Iterator[tuple[J, R | str]]:
    """Each job with its result, or `LOST`; `workers` are processes, or a Dask scheduler."""
    # `pool` is of `processes` that have begun; after a death new ones take their place.
    # Jobs are read a few at a time. To close the iterator, or this process, ends what still runs.
    if isinstance(workers, str):
        return _on_cluster(function, iter(jobs), workers)
    if workers > 1:
        submits = partial(_submits, function, [pool] if pool else [])
        return _completed(submits, iter(jobs), workers, 2 * workers, futures.BrokenExecutor)
    return ((job, function(job)) for job in jobs)


def begun(pool: Any, function: Callable[..., R], *given: Any) -> Callable[[], R | None]:
    """Begin a job in `pool`; what waits for its result, null if its process was killed."""
    future, death = pool.submit(function, *given), futures.BrokenExecutor
    return lambda: None if isinstance(future.exception(), death) else future.result()


def threads(
    function: Callable[[J], R], jobs: Any, *, workers: int, name: str, ended: Any = None
) -> Iterator[tuple[J, R]]:
    """Each job with its result, by threads of this process: for jobs that wait for servers."""
    pool = futures.ThreadPoolExecutor(max(1, workers), name)
    submit = nullcontext(partial(pool.submit, function))
    try:
        yield from _completed(lambda _: submit, iter(jobs), workers, 2 * max(1, workers))
    finally:
        if ended is not None:
            ended()  # It may make those that are under way hurry, which are waited for.
        pool.shutdown(cancel_futures=True)


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _completed(
    pool: Callable[[int], Any], jobs: Iterator[J], workers: int, width: int, death: Any = ()
) -> Iterator[tuple[J, Any]]:
    """Jobs with results, `width` under way at a time; after a `death` these one by one again."""
    running: dict[futures.Future, J] = {}
    dead: list[J] = []
    with pool(workers) as submit:
        while True:
            for job in islice(jobs, 0 if dead else width - len(running)):
                try:
                    running[submit(job)] = job
                except death:
                    dead.append(job)
                    break
            if not running:
                break
            for future in futures.wait(running, return_when=futures.FIRST_COMPLETED).done:
                job = running.pop(future)
                if death and isinstance(future.exception(), death):
                    dead.append(job)
                else:
                    yield job, future.result()
    if dead:
        again = ((job, LOST) for job in dead)
        yield from again if width == 1 else _completed(pool, iter(dead), 1, 1, death)
        yield from _completed(pool, jobs, workers, width, death)


@contextmanager
def _submits(function: Callable[[J], R], begun: list[Any], count: int) -> Iterator[Any]:
    with nullcontext(begun.pop()) if begun else processes(count, function) as pool:
        yield partial(pool.submit, _do, function)


@contextmanager
def processes(count: int, function: Callable[[J], R]) -> Iterator[futures.Executor]:
    """New processes of this machine with what `function` imports, until the context ends."""
    pipe, end = connection.Pipe(duplex=False)
    with futures.ProcessPoolExecutor(count, get_context("spawn"), _begin, (pipe, count)) as pool:
        try:
            # Each of them starts with a job.
            started = [pool.submit(callable, function) for _ in range(count)]
            if count == 1:
                started[0].result()  # Not even to start is no job's fault.
            yield pool
        except futures.BrokenExecutor as error:
            remedy = "functions of a file instead of a notebook's, or one worker"
            raise NotAvailable("worker processes die while they start", remedy=remedy) from error
        finally:
            end.close()


def _begin(pipe: connection.Connection, count: int) -> None:
    """Have this process end with its pool, or with the process that started it."""

    def watch() -> None:
        connection.wait([pipe, parent_process().sentinel])
        os._exit(1)

    # Libraries that this module does not import would start a thread for each processor.
    for name in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "NUMBA_NUM", "RAYON_NUM", "POLARS_MAX"):
        os.environ.setdefault(f"{name}_THREADS", str(max(1, cores() // count)))
    threading.Thread(target=watch, daemon=True).start()
    if registry.named():
        registry.entries()  # A job may have a function of a plug-in's file.


def _do(function: Callable[[J], R], job: J) -> R:
    """One job in a worker process; an error that cannot be sent is told by its text."""
    try:
        return function(job)
    except Exception as error:
        sent = RuntimeError("".join(traceback.format_exception(error)))
        with suppress(Exception):  # Of unusual arguments it could not be made anew there.
            sent = copy.copy(error)
        raise sent from error


def _on_cluster(function: Callable[[J], R], jobs: Iterator[J], address: str) -> Iterator[Any]:
    resources.need("scale")
    from distributed import Client, KilledWorker, WorkerPlugin

    versions, files = _versions(), registry.named()

    class PlugIns(WorkerPlugin):
        """Has each worker, also one that comes later, load the plug-in files of this process."""

        def setup(self, worker: Any) -> None:
            if _versions() != versions:
                what = f"worker {worker.address} has {_versions()} instead of {versions}"
                raise NotAvailable(what, remedy="the same versions here and on all workers")
            for file in files:
                registry.load(file)

    with ExitStack() as stack:
        try:
            is_file = address.endswith(".json")
            found = json.loads(Path(address).read_bytes())["address"] if is_file else address
            client = Client(found, timeout=ANSWER, set_as_default=False)
            stack.enter_context(client).wait_for_workers(1, timeout=WORKERS)
        except (OSError, ValueError, LookupError) as error:
            what = f"no Dask scheduler with workers answers at {address}"
            remedy = "dask scheduler, and on each machine dask worker ADDRESS --nthreads 1"
            raise NotAvailable(what, remedy=f"start one: {remedy}") from error
        client.register_plugin(PlugIns(), name="formlab")
        submit = partial(client.get_executor(pure=False).submit, _do, function)
        try:
            # Many at a time, so that workers that come later find some.
            yield from _completed(lambda _: nullcontext(submit), jobs, 0, 100, KilledWorker)
        except (futures.CancelledError, ModuleNotFoundError) as error:
            what = f"the scheduler at {address} is gone, or its workers lack a package: {error!r}"
            raise NotAvailable(what, remedy="the same environment on every worker") from error


def _versions() -> str:
    return f"formlab {metadata.version('formlab')} and Python {platform.python_version()}"
