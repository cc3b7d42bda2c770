"""Reports: notebooks run with strict parameters, one HTML page each, and an index of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from formlab import files
from formlab.errors import DataMissing, FormlabError, NotAvailable
from formlab.reports import plan, record
from formlab.reports.plan import BuildSettings, Job, Request
from formlab.reports.record import ReportResult, Summary
from formlab.show import progress
from formlab.workers import Lost, cores, each

__all__ = ["ReportResult", "build", "build_manifest"]


def build(
    notebooks: Sequence[str | Path] | None = None,
    *,
    out: str | Path,
    parameters: Mapping[str, Any] | None = None,
    evaluations: Sequence[str | Path] = (),
    workers: int | str | None = 1,
    timeout: int | None = None,
    figures: bool = True,
    force: bool = False,
    name: str = "",
) -> list[ReportResult]:
    """Run notebooks over evaluations, and write a page of each and an index of all in `out`.

    A report that stands as it was built, from the same notebook, parameters, data, formlab and
    libraries, is left as it is. A notebook that fails does not stop the others: its result has
    ``ok=False``, its page shows what it finished, and the next build tries it again. After
    ``kill -9`` every page is whole, and the next build does what was not done. A notebook whose
    sample cannot be had here, for want of a browser, is skipped; its result has a note.

    Parameters
    ----------
    notebooks
        Paths, or names of formlab's own; None takes formlab's own: all of them, or with
        `evaluations` those that are made for one (``formlab`` in a notebook's metadata).
    out
        Folder for the pages; made if absent.
    parameters
        Values for names of each notebook's cell tagged ``parameters``. Relative paths of
        evaluations and other inputs are seen from the current folder, or else from the notebook's
        own, in which its kernel works.
    evaluations
        Folders of evaluations. A notebook with the parameter ``evaluation`` runs once for each,
        and its report is called ``<notebook>--<folder>``; one with the parameter ``evaluations``
        runs once for all.
    workers
        Processes that run notebooks side by side; 1 runs them here, None takes a process for
        each processor. Or the address of a Dask scheduler: its workers must see the notebooks,
        the evaluations and `out` under the paths they have here.
    timeout
        Seconds that one cell may take.
    figures
        Save each figure in ``figures/<report>/``: charts as SVG and PNG, tables as CSV.
    force
        Build also what has not changed.
    name
        Of the report, if there is one alone; that of its notebook if left out.

    Returns
    -------
    list of ReportResult
        One for each report, in the order planned.

    Raises
    ------
    UnknownName
        If a notebook lacks one of the parameters, or none is made for an evaluation; nothing has
        started then.
    DataMissing, DataBroken
        If a notebook or an evaluation is absent or broken, or there is nothing to run.
    NotAvailable
        If every notebook was skipped, or the scheduler does not answer.

    Examples
    --------
    >>> build([], out="reports")
    Traceback (most recent call last):
    ...
    formlab.errors.DataMissing: there is no notebook to run. Try: name one, or formlab init DIR \
for formlab's own
    """
    folders = tuple(Path(folder) for folder in evaluations)
    own = notebooks is None
    books = plan.own_notebooks(evaluating=bool(folders)) if own else map(plan.find, notebooks)
    given, choosing = parameters or {}, own and bool(folders)
    requests = [
        Request(book, plan.paths_from(book.parent, given), folders, name, choosing)
        for book in books
    ]
    count = cores() if workers is None else workers
    return _build(requests, BuildSettings(Path(out), count, timeout, figures, force))


def build_manifest(path: str | Path, **changes: Any) -> list[ReportResult]:
    """Build the reports that a manifest (``reports.yml``) lists; see `reports.manifest.read`.

    Parameters
    ----------
    path
        The manifest.
    changes
        What takes precedence over the manifest: out, workers, timeout, figures, force.

    Raises
    ------
    DataMissing, DataBroken, UnknownName
        If the manifest is absent or wrong; the message names file and line.
    """
    from formlab.reports import manifest

    requests, settings = manifest.read(path)
    return _build(requests, BuildSettings(**{"workers": cores()} | settings | changes))


def _build(requests: Sequence[Request], settings: BuildSettings) -> list[ReportResult]:
    """Build what has changed, with progress on stderr, and write the index after each report."""
    jobs = plan.jobs(requests, settings)
    plan.check_used(requests, jobs)
    if not jobs:
        remedy = "name one, or formlab init DIR for formlab's own"
        raise DataMissing("there is no notebook to run", remedy=remedy)
    out = files.make_folder(settings.out)
    # What a build that was killed left half-written.
    _sweep(out)
    results: dict[str, ReportResult] = {}
    with progress("reports{task.fields[states]}") as bars:
        bar = bars.add_task("building", total=len(jobs), states="")
        # Those that link to other reports see them all.
        for last in (False, True):
            of = {found.name: found.of for found in record.every(out)} if last else {}
            links = {job.name: {n: of[n] for n in of if n != job.name} for job in jobs}
            due = [replace(job, links=links[job.name]) for job in jobs if job.last is last]
            for result in _results(due, settings):
                results[result.name] = result
                if result.status in ("built", "failed"):
                    _write_index(out)
                counts = Counter(result.status for result in results.values())
                states = "".join(f", {count} {status}" for status, count in counts.items())
                bars.update(bar, advance=1, states=states)
    if all(result.status == "skipped" for result in results.values()):
        notes = [note for result in results.values() for note in result.notes]
        raise NotAvailable(f"no report was built: {'; '.join(notes)}")
    # What a process wrote that was killed meanwhile.
    _sweep(out)
    if not (out / f"{plan.INDEX}.html").is_file():
        _write_index(out)
    return [results[job.name] for job in jobs]


def _results(jobs: Sequence[Job], settings: BuildSettings) -> Iterator[ReportResult]:
    """The result of each job, as soon as it is there; a process that dies takes no other with it.

    `DataMissing` if the worker of a cluster does not see a notebook, an evaluation or the folder.
    """
    found = {job.name: None if settings.force else record.unchanged(job) for job in jobs}
    yield from filter(None, found.values())
    changed = [job for job in jobs if found[job.name] is None]
    count = settings.workers
    count = min(count, len(changed)) if isinstance(count, int) else count
    # Workers that see this file have the same folder.
    with files.temporary(settings.out.resolve(), prefix=".seen.") as mark:
        work = partial(_result, mark, os.getcwd())
        for job, result in each(work, changed, workers=count) if changed else ():
            yield _failed(job, result.reason) if isinstance(result, Lost) else result


def _result(mark: Path, folder: str, job: Job) -> ReportResult:
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


def _failed(job: Job, reason: str) -> ReportResult:
    summary = Summary(job.notebook.stem)
    return ReportResult(job.name, job.notebook, "failed", error=reason, summary=summary)


def _sweep(out: Path) -> None:
    files.sweep([*out.glob("*.part.ipynb"), *out.rglob(".*.part")])


def _write_index(out: Path) -> None:
    # The page comes with the charts, which take a second to import.
    from formlab.reports import page

    page.write_index(out / f"{plan.INDEX}.html", reports=record.every(out))
