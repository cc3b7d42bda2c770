"""Build reports side by side: a process that dies takes no other report with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from formlab import workers
from formlab.errors import FormlabError
from formlab.reports.build_record import ReportResult, Summary
from formlab.reports.plan import BuildSettings, Job


def results(jobs: Sequence[Job], settings: BuildSettings) -> Iterator[ReportResult]:
    """The result of each job, as soon as it is there.

    Raises
    ------
    DataMissing
        If the worker of a cluster does not see a notebook, an evaluation or the folder of reports.
    """
    needed = {path for job in jobs for path in (job.notebook, *job.evaluations)}
    with workers.shared(settings.out) as probe:
        done = workers.each(
            _build, jobs, workers=min(settings.workers, len(jobs)), scheduler=settings.scheduler,
            begin=(_see, (probe, *sorted(needed))), lost=_failed,
        )  # fmt: skip
        yield from (result for _, result in done)


def _see(*paths: Path) -> None:
    for path in paths:
        workers.seen(path)


def _build(_: None, job: Job) -> ReportResult:
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
