"""Reports: notebooks run with strict parameters, one HTML file each, and an index of them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from formlab.errors import FormlabError, UnknownName
from formlab.reports import index
from formlab.reports.export import Summary, export
from formlab.reports.run import Result, check, run, slug

__all__ = ["Result", "build", "check", "export", "run"]


def build(
    notebooks: Sequence[str | Path],
    *,
    out: str | Path,
    parameters: Mapping[str, Any] | None = None,
    evaluations: Sequence[str | Path] = (),
    workers: int = 1,
    timeout: int | None = None,
) -> list[Result]:
    """Run each notebook, write its report and the index of all reports in `out`.

    A notebook that fails does not stop the others: its result has ``ok=False`` and its page shows
    what it finished. Every notebook gets all of `parameters`; its kernel works in the notebook's
    own folder.

    Parameters
    ----------
    evaluations
        Folders of evaluations. Each notebook runs once for each, with its path as the parameter
        ``evaluation``; the report is then called ``<notebook>--<folder>``.
    workers
        Processes that run notebooks side by side; 1 runs them here, one after another. On two
        cores a pool of 2 nearly halves the time of four notebooks and slows a single one down.
    timeout
        Seconds that one cell may take.

    Returns
    -------
    list of Result
        One for each notebook, in the order given.

    Raises
    ------
    UnknownName
        If a notebook lacks one of the parameters; nothing has started then.
    DataMissing, DataBroken
        If a notebook is absent or broken.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     build([], out=folder), sorted(path.name for path in Path(folder).iterdir())
    ([], ['index.html'])
    """
    runs = [
        (Path(notebook), dict(parameters or {}) | given, ending)
        for notebook in notebooks
        for given, ending in _variants(evaluations, Path(notebook).parent)
    ]
    for path, given, _ in runs:
        try:
            check(path, given)
        except UnknownName as error:
            raise UnknownName(error.what, where=path, remedy=error.remedy) from error
    paths = [path for path, _, _ in runs]
    names = _names([path.stem + ending for path, _, ending in runs])
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    index.clear(out, names)
    jobs = [
        (path, out, given, name, timeout)
        for (path, given, _), name in zip(runs, names, strict=True)
    ]
    results = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(_state(results, paths), total=len(jobs))
        for result in _each(jobs, workers):
            results.append(result)
            if result.html is not None:
                index.record(result, out)
            progress.update(task, advance=1, description=_state(results, paths))
    index.write(out)
    return results


def _state(results: list[Result], paths: list[Path]) -> str:
    failed = sum(not result.ok for result in results)
    running = escape(paths[len(results)].name) if len(results) < len(paths) else "index"
    ending = f", {failed} failed" if failed else ""
    return f"reports {len(results)}/{len(paths)}{ending} · {running}"


def _variants(evaluations: Sequence[str | Path], home: Path) -> list[tuple[dict[str, str], str]]:
    """The parameter of each evaluation, and how the names of its reports end."""
    # As seen from the notebook, whose kernel works there; an absolute path would tell a stranger
    # who opens the report how the maker's disk is laid out.
    return [
        ({"evaluation": os.path.relpath(folder, home)}, f"--{Path(folder).name}")
        for folder in evaluations
    ] or [({}, "")]


def _names(stems: list[str]) -> list[str]:
    """A file stem for each report, told apart by a number where two would be equal."""
    names: list[str] = []
    for wanted in stems:
        stem = name = slug(wanted)
        number = 2
        while name in names or name == "index":
            name, number = f"{stem}-{number}", number + 1
        names.append(name)
    return names


Job = tuple[Path, Path, dict[str, Any], str, int | None]


def _each(jobs: list[Job], workers: int) -> Any:
    """Results in the order of `jobs`, as they come."""
    if workers <= 1 or len(jobs) <= 1:
        yield from map(_one, jobs)
        return
    pool = ProcessPoolExecutor(
        max_workers=min(workers, len(jobs)),
        mp_context=get_context("spawn"),
        initializer=_leave_with,
        initargs=(os.getpid(),),
    )
    with pool:
        futures = [pool.submit(_one, job) for job in jobs]
        for job, future in zip(jobs, futures, strict=True):
            try:
                yield future.result()
            except BrokenProcessPool:
                # The pool is gone with the worker that died; what it had not done is done here.
                yield _one(job)


def _one(job: Job) -> Result:
    notebook, out, parameters, name, timeout = job
    try:
        return run(
            notebook,
            out=out,
            parameters=parameters,
            name=name,
            timeout=timeout,
            index=index.FILE,
        )
    except (FormlabError, OSError, ValueError) as error:
        said = f"{type(error).__name__}: {error}"
        return Result(name, notebook, False, None, None, said, 0.0, Summary(notebook.stem), "")


def _leave_with(parent: int) -> None:
    """End this worker once its parent is gone: after ``kill -9`` nobody else would."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
