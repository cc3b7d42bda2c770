"""Calls of functions that wait for servers, by the workers of a Dask cluster."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

from formlab.errors import NotAvailable
from formlab.workers._cluster import ANSWER, WORKERS, _connected, _versions

# Calls that a worker process may have under way.
_WAITING = 256
_threads = ThreadPoolExecutor(_WAITING, thread_name_prefix="calls")


class Calls:
    """Calls functions on the workers in turn; threads may share it.

    A call is made once: that of a worker that dies fails with a `ConnectionError`, where Dask would
    do a job again, and a call that costs money would not be counted.
    """

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address, self._turn = client, address, itertools.count()
        self._workers: list[str] = []
        self._looked = 0.0
        own = _versions()
        for worker, theirs in client.run(_versions, on_error="return").items():
            if theirs != own:
                what = f"worker {worker} has {theirs} instead of {own}"
                raise NotAvailable(what, remedy="the same versions here and on all workers")

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What `function`, which is importable, returns on a worker."""
        worker = self._next()
        try:
            name = function.__module__, function.__name__
            results = self._client.run(_waiting, name, arguments, workers=[worker])
        except ImportError as error:
            remedy = "the same environment on every worker"
            raise NotAvailable(
                f"worker {worker} lacks a package: {error}", remedy=remedy
            ) from error
        except Exception as error:
            self._looked = 0.0
            if self._client.status != "running":
                raise NotAvailable(f"the scheduler at {self._address} is gone") from error
            raise ConnectionError(f"worker {worker}: {type(error).__name__}: {error}") from error
        return results[worker]

    def _next(self) -> str:
        end = time.monotonic() + WORKERS
        while not self._workers or time.monotonic() - self._looked > ANSWER:
            try:
                self._workers = sorted(self._client.nthreads())
            except (OSError, TimeoutError) as error:
                raise NotAvailable("the Dask scheduler does not answer any more") from error
            self._looked = time.monotonic()
            if not self._workers and self._looked > end:
                raise NotAvailable("the Dask scheduler has no workers", remedy="start some")
            if not self._workers:
                time.sleep(0.2)
        workers = self._workers
        return workers[next(self._turn) % len(workers)]


async def _waiting(name: tuple[str, str], arguments: tuple[Any, ...]) -> Any:
    return await asyncio.get_running_loop().run_in_executor(_threads, _call, name, arguments)


def _call(name: tuple[str, str], arguments: tuple[Any, ...]) -> Any:
    # Imported in this thread: the worker goes on answering its scheduler meanwhile.
    return getattr(import_module(name[0]), name[1])(*arguments)


@contextlib.contextmanager
def calls(address: str) -> Iterator[Calls]:
    """`Calls` by the workers of the scheduler at `address`."""
    with _connected(address) as client:
        yield Calls(client, address)
