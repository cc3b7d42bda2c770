"""Reports: notebooks run with strict parameters, one HTML page each, and an index of them."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

# jsonschema imports this to check one format of one schema, at 2.5 s for each process.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

from formlab.errors import DataBroken, UnknownName  # noqa: E402
from formlab.reports import index, plan, pool, record  # noqa: E402
from formlab.reports.plan import Job, Layout, Request, Settings  # noqa: E402
from formlab.reports.record import Result  # noqa: E402

__all__ = ["Result", "build", "build_manifest"]


def build(
    notebooks: Sequence[str | Path] | None = None,
    *,
    out: str | Path,
    parameters: Mapping[str, Any] | None = None,
    evaluations: Sequence[str | Path] = (),
    workers: int | None = 1,
    timeout: int | None = None,
    layout: Layout = "single",
    figures: bool = True,
    force: bool = False,
) -> list[Result]:
    """Run notebooks over evaluations, and write a page of each and an index of all in `out`.

    A report that stands as it was built, from the same notebook, parameters, data, formlab and
    libraries, is left as it is. A notebook that fails does not stop the others: its result has
    ``ok=False``, its page shows what it finished, and the next build tries it again. After
    ``kill -9`` every page is whole, and the next build does what was not done.

    Parameters
    ----------
    notebooks
        Paths, or names of formlab's own; None takes formlab's own: all of them, or with
        `evaluations` those that are made for one (``formlab`` in a notebook's metadata).
    out
        Folder for the pages; made if absent.
    parameters
        Values for names of each notebook's cell tagged ``parameters``. Its kernel works in the
        notebook's own folder.
    evaluations
        Folders of evaluations. A notebook with the parameter ``evaluation`` runs once for each,
        and its report is called ``<notebook>--<folder>``; one with the parameter ``evaluations``
        runs once for all.
    workers
        Processes that run notebooks side by side; 1 runs them here, None takes a process for
        each processor.
    timeout
        Seconds that one cell may take.
    layout
        ``single`` puts everything inside each page, ``site`` what pages share into ``assets/``.
    figures
        Save each figure in ``figures/<report>/`` as SVG, PNG and CSV, and a thumbnail of each
        page in ``thumbs/``.
    force
        Build also what has not changed.

    Returns
    -------
    list of Result
        One for each report, in the order planned.

    Raises
    ------
    UnknownName
        If a notebook lacks one of the parameters, or none is made for an evaluation; nothing has
        started then.
    DataMissing, DataBroken
        If a notebook or an evaluation is absent or broken.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     build([], out=folder), (Path(folder) / "index.html").is_file()
    ([], True)
    """
    folders = tuple(Path(folder) for folder in evaluations)
    choosing = notebooks is None and bool(folders)
    if notebooks is None:
        chosen = plan.own_notebooks(evaluating=choosing)
    else:
        chosen = [plan.find(name) for name in notebooks]
    requests = [
        Request(path, dict(parameters or {}), folders, choosing=choosing) for path in chosen
    ]
    settings = Settings(
        Path(out), layout, pool.cores() if workers is None else workers, timeout, figures, force
    )
    return _build(requests, settings)


def build_manifest(path: str | Path, **changes: Any) -> list[Result]:
    """Build the reports that a manifest (``reports.yml``) lists; see `reports.manifest.read`.

    Parameters
    ----------
    path
        The manifest.
    changes
        What takes precedence over the manifest: out, layout, workers, timeout, figures, force.

    Raises
    ------
    DataMissing, DataBroken, UnknownName
        If the manifest is absent or wrong; the message names file and line.
    """
    from formlab.reports import manifest

    requests, given = manifest.read(path)
    settings = {"workers": pool.cores()} | given | changes
    return _build(requests, Settings(**settings))


def _build(requests: Sequence[Request], settings: Settings) -> list[Result]:
    if settings.layout not in plan.LAYOUTS:
        raise UnknownName.of("layout", settings.layout, plan.LAYOUTS)
    jobs = plan.jobs(requests, settings)
    plan.check_used(requests, jobs)
    out = settings.out
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataBroken(f"no folder for reports: {error.strerror}", where=out) from error
    _sweep(out)
    found: dict[str, Result] = {}
    # Those that link to other reports see them all.
    for last in (False, True):
        part = [_linked(job) if last else job for job in jobs if job.last is last]
        for job in part:
            old = None if settings.force else record.unchanged(out, job.name, job.key)
            if old is not None:
                found[job.name] = record.result(old, job.notebook, out)
        _run([job for job in part if job.name not in found], found, settings, len(jobs))
    _write_index(found, settings)
    return [found[job.name] for job in jobs]


def _linked(job: Job) -> Job:
    others = {r.name: r.title for r in record.every(job.settings.out) if r.name != job.name}
    return dataclasses.replace(job, links=others)


def _run(jobs: list[Job], found: dict[str, Result], settings: Settings, total: int) -> None:
    if not jobs:
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(_state(found, total), total=total, completed=len(found))
        for result in pool.results(jobs, settings.workers):
            found[result.name] = result
            _write_index(found, settings)
            progress.update(task, advance=1, description=_state(found, total))


def _state(found: Mapping[str, Result], total: int) -> str:
    count = {
        status: sum(result.status == status for result in found.values())
        for status in ("built", "unchanged", "failed")
    }
    said = ", ".join(f"{number} {status}" for status, number in count.items() if number)
    return f"reports {len(found)}/{total}" + (f" · {said}" if said else "")


def _write_index(found: Mapping[str, Result], settings: Settings) -> None:
    same = [name for name, result in found.items() if result.status == "unchanged"]
    index.write(settings.out, layout=settings.layout, unchanged=same)


def _sweep(out: Path) -> None:
    """Remove what a build that was killed left half-written."""
    for part in [*out.glob("*.part.ipynb"), *out.rglob(".*.part")]:
        part.unlink(missing_ok=True)
