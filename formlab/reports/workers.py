"""Build reports side by side: a process that dies takes no other report with it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import chdir
from functools import partial
from pathlib import Path

from formlab import files, workers
from formlab.errors import DataMissing, FormlabError
from formlab.reports.build_record import ReportResult, Summary
from formlab.reports.plan import BuildSettings, Job


def results(jobs: Sequence[Job], settings: BuildSettings) -> Iterator[ReportResult]:
    """The result of each job, as soon as it is there.

    Raises
    ------
    DataMissing
        If the worker of a cluster does not see a notebook, an evaluation or the folder of reports.
    """
    count = settings.workers
    if isinstance(count, int):
        count = min(count, len(jobs))
    # Workers that see this file have the same folder.
    with files.temporary(settings.out.resolve(), prefix=".seen.") as mark:
        build = partial(_build, mark, os.getcwd())
        for job, result in workers.each(build, jobs, workers=count):
            yield _failed(job, result.reason) if isinstance(result, workers.Lost) else result


def _build(mark: Path, folder: str, job: Job) -> ReportResult:
    """The result of one job; what keeps a report from being written at all is in it."""
    # papermill and the charts take seconds to import: only who builds pays for it.
    from formlab.reports.execute import run

    for path in (mark, *(Path(folder, path) for path in (job.notebook, *job.evaluations))):
        if not path.exists():
            raise DataMissing("no such file or folder", where=path)
    try:
        # The worker of a cluster has another folder, in which relative paths are not the same.
        with chdir(folder):
            return run(job)
    except (FormlabError, OSError, ValueError) as error:
        return _failed(job, f"{type(error).__name__}: {error}")


def _failed(job: Job, why: str) -> ReportResult:
    return ReportResult(
        job.name, job.notebook, "failed", error=why, summary=Summary(job.notebook.stem)
    )
