"""Reports: notebooks run with strict parameters, one HTML page each, and an index of them."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import Any

from formlab import files
from formlab.errors import DataBroken, DataMissing, FormlabError, NotAvailable
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
    choosing = notebooks is None and bool(folders)
    if notebooks is None:
        chosen = plan.own_notebooks(evaluating=choosing)
    else:
        chosen = [plan.find(name) for name in notebooks]
    requests = [
        Request(path, plan.paths_from(path.parent, parameters or {}), folders, name, choosing)
        for path in chosen
    ]
    count = cores() if workers is None else workers
    settings = BuildSettings(Path(out), count, timeout, figures, force)
    return _build(requests, settings)


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
    jobs = plan.jobs(requests, settings)
    plan.check_used(requests, jobs)
    if not jobs:
        remedy = "name one, or formlab init DIR for formlab's own"
        raise DataMissing("there is no notebook to run", remedy=remedy)
    out = settings.out
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataBroken(f"no folder for reports: {error.strerror}", where=out) from error
    # What a build that was killed left half-written.
    _sweep(out)
    results: dict[str, ReportResult] = {}
    # Those that link to other reports see them all.
    for last in (False, True):
        of = {entry.name: entry.of for entry in record.every(out)} if last else {}
        changed = []
        for job in (job for job in jobs if job.last is last):
            others = {name: evaluations for name, evaluations in of.items() if name != job.name}
            linked = dataclasses.replace(job, links=others)
            old = None if settings.force else record.unchanged(out, job.name, linked.key)
            if old is None:
                changed.append(linked)
            else:
                results[job.name] = old.result(job.notebook, out)
        if changed:
            _run(changed, results, settings, len(jobs))
    if all(result.status == "skipped" for result in results.values()):
        notes = [note for result in results.values() for note in result.notes]
        raise NotAvailable(f"no report was built: {'; '.join(notes)}")
    # What a process wrote that was killed meanwhile.
    _sweep(out)
    if not (out / f"{plan.INDEX}.html").is_file():
        _write_index(out)
    return [results[job.name] for job in jobs]


def _run(
    jobs: list[Job], results: dict[str, ReportResult], settings: BuildSettings, total: int
) -> None:
    """Build what has changed, with progress on stderr; adds to `results`."""

    def states() -> str:
        counts = Counter(result.status for result in results.values())
        return "".join(f", {number} {status}" for status, number in counts.items())

    with progress("reports{task.fields[states]}") as bars:
        bar = bars.add_task("building", total=total, completed=len(results), states=states())
        for result in _results(jobs, settings):
            results[result.name] = result
            if result.status != "skipped":
                _write_index(settings.out)
            bars.update(bar, advance=1, states=states())


def _results(jobs: Sequence[Job], settings: BuildSettings) -> Iterator[ReportResult]:
    """The result of each job, as soon as it is there; a process that dies takes no other with it.

    `DataMissing` if the worker of a cluster does not see a notebook, an evaluation or the folder.
    """
    count = settings.workers
    count = min(count, len(jobs)) if isinstance(count, int) else count
    # Workers that see this file have the same folder.
    with files.temporary(settings.out.resolve(), prefix=".seen.") as mark:
        for job, result in each(partial(_result, mark, os.getcwd()), jobs, workers=count):
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


def _failed(job: Job, why: str) -> ReportResult:
    summary = Summary(job.notebook.stem)
    return ReportResult(job.name, job.notebook, "failed", error=why, summary=summary)


def _sweep(out: Path) -> None:
    files.sweep([*out.glob("*.part.ipynb"), *out.rglob(".*.part")])


def _write_index(out: Path) -> None:
    """Write the page that lists all reports of a folder."""
    # The page comes with the charts, which take a second to import.
    from formlab.reports import page

    entries = [(r, (out / f"{r.name}.html").stat().st_size) for r in record.every(out)]
    page.write_index(out / f"{plan.INDEX}.html", entries=entries)
