"""Reports: notebooks run with strict parameters, one HTML page each, and an index of them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from formlab import files
from formlab.errors import DataBroken, DataMissing, NotAvailable, UnknownName
from formlab.reports import build_record, index, plan
from formlab.reports.build_record import ReportResult
from formlab.reports.plan import BuildSettings, Job, Layout, Request
from formlab.reports.workers import results as built
from formlab.show import progress
from formlab.workers import cores

__all__ = ["ReportResult", "build", "build_manifest"]


def build(
    notebooks: Sequence[str | Path] | None = None,
    *,
    out: str | Path,
    parameters: Mapping[str, Any] | None = None,
    evaluations: Sequence[str | Path] = (),
    workers: int | str | None = 1,
    timeout: int | None = None,
    layout: Layout = "single",
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
    layout
        ``single`` puts everything inside each page, ``site`` what pages share into ``assets/``.
    figures
        Save each figure in ``figures/<report>/`` as SVG, PNG and CSV, and a thumbnail of each
        page in ``thumbs/``.
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
    settings = BuildSettings(Path(out), layout, count, timeout, figures, force)
    return _build(requests, settings)


def build_manifest(path: str | Path, **changes: Any) -> list[ReportResult]:
    """Build the reports that a manifest (``reports.yml``) lists; see `reports.manifest.read`.

    Parameters
    ----------
    path
        The manifest.
    changes
        What takes precedence over the manifest: out, layout, workers, timeout, figures,
        force.

    Raises
    ------
    DataMissing, DataBroken, UnknownName
        If the manifest is absent or wrong; the message names file and line.
    """
    from formlab.reports import manifest

    requests, settings = manifest.read(path)
    return _build(requests, BuildSettings(**{"workers": cores()} | settings | changes))


def _build(requests: Sequence[Request], settings: BuildSettings) -> list[ReportResult]:
    if settings.layout not in plan.LAYOUTS:
        raise UnknownName.of("layout", settings.layout, plan.LAYOUTS)
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
        of = {record.name: record.of for record in build_record.every(out)} if last else {}
        changed = []
        for job in (job for job in jobs if job.last is last):
            others = {name: held for name, held in of.items() if name != job.name}
            linked = dataclasses.replace(job, links=others)
            old = None if settings.force else build_record.unchanged(out, job.name, linked.key)
            if old is None:
                changed.append(linked)
            else:
                results[job.name] = build_record.result(old, job.notebook, out)
        _run(changed, results, settings, len(jobs))
    if all(result.status == "skipped" for result in results.values()):
        notes = [note for result in results.values() for note in result.notes]
        raise NotAvailable(f"no report was built: {'; '.join(notes)}")
    # What a process wrote that was killed meanwhile.
    _sweep(out)
    _write_index(results, settings)
    return [results[job.name] for job in jobs]


def _run(
    jobs: list[Job], results: dict[str, ReportResult], settings: BuildSettings, total: int
) -> None:
    """Build what has changed, with progress on stderr; adds to `results`."""
    if not jobs:
        return

    def states() -> str:
        counts = Counter(result.status for result in results.values())
        return "".join(f", {number} {status}" for status, number in counts.items())

    with progress("reports{task.fields[states]}") as bars:
        bar = bars.add_task("building", total=total, completed=len(results), states=states())
        for result in built(jobs, settings):
            results[result.name] = result
            if result.status != "skipped":
                _write_index(results, settings)
            bars.update(bar, advance=1, states=states())


def _sweep(out: Path) -> None:
    files.sweep([*out.glob("*.part.ipynb"), *out.rglob(".*.part")])


def _write_index(results: Mapping[str, ReportResult], settings: BuildSettings) -> None:
    index.write(settings.out, layout=settings.layout, built=results)
