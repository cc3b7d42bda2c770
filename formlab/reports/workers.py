"""Build reports in processes side by side: one that dies takes no other with it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from formlab.errors import FormlabError
from formlab.reports.build_record import ReportResult, Summary
from formlab.reports.plan import Job


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def results(jobs: Sequence[Job], workers: int) -> Iterator[ReportResult]:
    """The result of each job, as soon as it is there."""
    if workers <= 1 or len(jobs) <= 1:
        yield from map(build, jobs)
        return
    lost = []
    with _processes(min(workers, len(jobs))) as processes:
        waiting = {processes.submit(build, job): job for job in jobs}
        for future in as_completed(waiting):
            try:
                yield future.result()
            except BrokenProcessPool:
                # The pool is gone with the worker that died, which may have had another job.
                lost.append(waiting[future])
    for job in lost:
        with _processes(1) as processes:
            try:
                yield processes.submit(build, job).result()
            except BrokenProcessPool:
                yield _failed(job, "the process that built it was killed, or ran out of memory")


def build(job: Job) -> ReportResult:
    """The result of one job; what keeps a report from being written at all is in it."""
    # papermill, nbconvert and the charts take seconds to import: only who builds pays for it.
    from formlab.reports.execute import run

    try:
        return run(job)
    except (FormlabError, OSError, ValueError) as error:
        return _failed(job, f"{type(error).__name__}: {error}")


def _failed(job: Job, why: str) -> ReportResult:
    return ReportResult(
        job.name, job.notebook, "failed", error=why, summary=Summary(job.notebook.stem)
    )


def _processes(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(
        workers, get_context("spawn"), initializer=_end_with, initargs=(os.getpid(),)
    )


def _end_with(parent: int) -> None:
    """End this worker once its parent is gone: after ``kill -9`` nobody else would."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
