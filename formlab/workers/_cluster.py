"""Jobs on a Dask cluster: imported only when a scheduler is named."""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import socket
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from formlab import registry, resources
from formlab.errors import DataMissing, NotAvailable
from formlab.workers._jobs import KILLED, Begin, call, completed
from formlab.workers._processes import THREADS

distributed = resources.optional("distributed", extra="scale")
J = TypeVar("J")
R = TypeVar("R")
# Seconds for a scheduler to answer, and for a first or another worker to come.
ANSWER = 10.0
WORKERS = 60.0
# Jobs for each worker at a time: one that it does, and one that waits.
_AHEAD = 2
_START = "dask scheduler, and on each machine dask worker ADDRESS --nthreads 1 --nworkers N"


@dataclass(frozen=True)
class _Beginning:
    """What a worker needs before its first job."""

    function: Callable[..., Any]
    begin: Begin | None
    versions: dict[str, str]
    folder: str
    # The content of each plug-in file by its path here.
    plugins: dict[str, bytes]
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    def start(self) -> Callable[[Any], Any]:
        """The function of a job alone, once this worker fits and knows the plug-ins."""
        if (own := _versions()) != self.versions:
            differ = [f"{n} {own[n]} instead of {v}" for n, v in self.versions.items()]
            what = f"worker {_name()} has {' and '.join(differ)}"
            raise NotAvailable(what, remedy="the same versions here and on all workers")
        threads = str(distributed.get_worker().state.nthreads)
        for name in THREADS:
            os.environ.setdefault(name, threads)
        for path, content in self.plugins.items():
            registry.load(_file(path, content))
        return call(self.function, self.begin)


@dataclass(frozen=True)
class _Job:
    """A job as it is; Dask would look into lists and dictionaries."""

    value: Any


# The calls of the last runs, by token: `begin` is called once in each process.
_CALLS: dict[str, Callable[[Any], Any]] = {}
_KEPT = 2
# A process does one job at a time, however many threads its worker has.
_ALONE = threading.Lock()


def on_cluster(
    function: Callable[..., R], jobs: Iterable[J], address: str, begin: Begin | None,
    lost: Callable[[J, str], R],
) -> Iterator[tuple[J, R]]:  # fmt: skip
    """As `workers.each`, by the workers of the scheduler at `address`."""
    plugins = {path: Path(path).read_bytes() for path in registry.named() if Path(path).is_file()}
    beginning = _Beginning(function, begin, _versions(), os.getcwd(), plugins)
    suspects: list[J] = []
    with _connected(address) as client:
        crew = _Crew(client)
        kept = client.submit(_same, beginning, pure=False)

        def submit(job: J) -> distributed.Future:
            return client.submit(_do, kept, _Job(job), pure=False)

        def result(future: distributed.Future) -> R:
            try:
                return future.result()
            except ModuleNotFoundError as error:
                remedy = "the same environment on every worker"
                raise NotAvailable(f"a worker lacks a package: {error}", remedy=remedy) from error
            except (CancelledError, OSError) as error:
                if client.status == "running":
                    raise
                raise NotAvailable(f"the scheduler at {address} is gone") from error

        for job, future in completed(submit, jobs, width=crew.width, idle=crew.check):
            try:
                yield job, result(future)
            except distributed.KilledWorker:
                suspects.append(job)
        # Not every job whose worker died has ended it.
        for job, future in completed(submit, suspects, width=lambda: 1, idle=crew.check):
            try:
                yield job, result(future)
            except distributed.KilledWorker:
                yield job, lost(job, KILLED)


@contextlib.contextmanager
def _connected(address: str) -> Iterator[distributed.Client]:
    # A worker that dies is no news: its jobs are done again.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    is_file = address.endswith(".json")
    where = {"scheduler_file": address} if is_file else {"address": address}
    try:
        if is_file:
            os.stat(address)  # Dask would wait for it without an end.
        client = distributed.Client(**where, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        what = f"no Dask scheduler answers at {address}"
        raise NotAvailable(what, remedy=f"start one: {_START}") from error
    try:
        yield client
    finally:
        # What is not begun is cancelled with the last client that wants it.
        client.close(timeout=ANSWER)


class _Crew:
    """The workers of a cluster: how many there are, and since when there is none."""

    def __init__(self, client: distributed.Client) -> None:
        self._client, self._count = client, 0
        self._seen = self._looked = time.monotonic()
        self._noted = False
        self._look()

    def width(self) -> int:
        """How many jobs may be under way."""
        if time.monotonic() - self._looked > ANSWER:
            self._look()
        return max(1, _AHEAD * self._count)

    def check(self) -> None:
        """Raise `NotAvailable` if the scheduler is gone, or there has long been no worker."""
        self._look()
        if time.monotonic() - self._seen > WORKERS:
            raise NotAvailable("the Dask scheduler has no workers", remedy=f"start some: {_START}")

    def _look(self) -> None:
        try:
            threads = self._client.nthreads()
        except (OSError, TimeoutError) as error:
            raise NotAvailable("the Dask scheduler does not answer any more") from error
        self._looked, self._count = time.monotonic(), len(threads)
        self._seen = self._looked if threads else self._seen
        if not self._noted and any(count > 1 for count in threads.values()):
            self._noted = True
            note = "workers with several threads do one job at a time; --nthreads 1 --nworkers N"
            print(f"note: {note} does several", file=sys.stderr)


def _same(beginning: _Beginning) -> _Beginning:
    return beginning


def _do(beginning: _Beginning, job: _Job) -> Any:
    """One job, on a worker."""
    with _ALONE, _working_in(beginning.folder):
        try:
            if beginning.token not in _CALLS:
                while len(_CALLS) >= _KEPT:
                    _CALLS.pop(next(iter(_CALLS)))
                _CALLS[beginning.token] = beginning.start()
            return _CALLS[beginning.token](job.value)
        except (DataMissing, FileNotFoundError) as error:
            what, where = "no such file or folder", getattr(error, "filename", None)
            if isinstance(error, DataMissing):
                what, where = error.what, error.where
            remedy = "a path that every worker sees, or an address such as s3://…"
            raise DataMissing(f"{what} on worker {_name()}", where=where, remedy=remedy) from error


@contextlib.contextmanager
def _working_in(folder: str) -> Iterator[None]:
    """In the client's folder, so that its paths mean the same; where it is not seen, as it is."""
    before = os.getcwd()
    with contextlib.suppress(OSError):
        os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _versions() -> dict[str, str]:
    return {
        "formlab": metadata.version("formlab"),
        "Python": ".".join(platform.python_version_tuple()[:2]),
    }


def _name() -> str:
    return f"{distributed.get_worker().address} on {socket.gethostname()}"


def _file(path: str, content: bytes) -> Path:
    """A plug-in file: the client's own where it is seen here, else a copy."""
    with contextlib.suppress(OSError):
        if Path(path).read_bytes() == content:
            return Path(path)
    copy = Path(tempfile.mkdtemp(prefix="formlab-plugin-"), Path(path).name)
    copy.write_bytes(content)
    return copy
