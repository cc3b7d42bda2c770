"""Reports: notebooks run with strict parameters, one HTML page each, and an index of them."""

import itertools
from collections.abc import Mapping, Sequence
from contextlib import chdir
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from formlab import files
from formlab.errors import FormlabError, NotAvailable
from formlab.reports import plan, record
from formlab.reports.record import ReportResult
from formlab.show import progress
from formlab.workers import LOST, cores, each

__all__ = ["ReportResult", "build", "build_manifest"]


def build(
    notebooks: Sequence[str | Path | plan.Request] | None = None,
    *,
    out: str | Path,
    parameters: Mapping[str, Any] | None = None,
    evaluations: Sequence[str | Path] = (),
    workers: int | str | None = 1,
    timeout: int | None = None,
    figures: bool = True,
    force: bool = False,
) -> list[ReportResult]:
    """Run notebooks over evaluations, and write a page of each and an index of all in `out`.

    A report made from the same notebook, parameters, data, formlab and libraries is left as it is.
    A notebook that fails does not stop the others: its result has ``ok=False``, its page shows
    what it finished, and the next build tries it again. After ``kill -9`` every page is whole, and
    the next build does what was not done. A notebook whose sample cannot be had here, for want of
    a browser, is skipped; its result has a note.

    Parameters
    ----------
    notebooks
        Paths, or names of formlab's own; None takes all of these, or with `evaluations` those that
        are made for one (``formlab`` in a notebook's metadata). A request has parameters and
        evaluations of its own.
    out
        Folder for the pages; made if absent.
    parameters
        Values for names of each notebook's cell tagged ``parameters``; relative paths are seen from
        the current folder, or else from the notebook's own, in which its kernel works.
    evaluations
        Folders of evaluations. A notebook with the parameter ``evaluation`` runs once for each, as
        ``<notebook>--<folder>``; one with ``evaluations`` once for all, or once for each corpus.
    workers
        Processes that run notebooks side by side: 1 runs them here, None takes one for each
        processor; or the address of a Dask scheduler, whose workers see all files under the same
        paths.
    timeout
        Seconds that one cell may take.
    figures
        Whether ``figures/<report>/`` gets charts as SVG and PNG, and tables as CSV.
    force
        Whether what has not changed is built as well.

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
    folders, given = list(map(str, evaluations)), dict(parameters or {})
    books, over = list(notebooks or ()), folders
    if notebooks is None:
        own = plan.own_notebooks().values()
        books, over = [book.path for book in own if book.takes or not folders], None
    requests = [
        book if isinstance(book, plan.Request) else plan.Request(str(book), over, given)
        for book in books
    ]
    reports, out = plan.reports(requests, folders), files.make_folder(Path(out).absolute())
    index = out / f"{plan.INDEX}.html"
    work, results = partial(_run, out, timeout, figures), {}
    with progress("reports") as bars:
        bar = bars.add_task("building", total=len(reports))
        # Those that link to other reports come last and see them all.
        for is_last, group in itertools.groupby(reports, lambda report: report.notebook.last):
            there, changed = record.every(out), []
            for report in group:
                others = {name: found.of for name, found in there.items() if name != report.name}
                report = replace(report, links=others if is_last else {})
                found = None if force else there.get(report.name)
                if found and found.ok and found.key == record.key(report, figures=figures):
                    results[report.name] = replace(found, status="unchanged")
                else:
                    changed.append(report)
                    # A build that is killed now leaves none that is out of date.
                    index.unlink(missing_ok=True)
            bars.update(bar, completed=len(results))
            count = cores() if workers is None else workers
            count = min(count, len(changed)) if isinstance(count, int) else count
            for report, result in each(work, changed, workers=count) if changed else ():
                # A process that dies takes no other report with it.
                results[report.name] = _failed(report, LOST) if result is LOST else result
                bars.update(bar, advance=1)
    # What processes that were killed left, in this build too.
    files.sweep(out.rglob(".*.part"))
    if all(result.status == "skipped" for result in results.values()):
        notes = [note for result in results.values() for note in result.notes]
        raise NotAvailable(f"no report was built: {'; '.join(notes)}")
    if not index.is_file():
        # The page comes with the charts, which take a second to import.
        from formlab.reports import page

        shown = page.rendered("reports.html.j2", reports=list(record.every(out).values()))
        files.write_text(index, shown)
    return [results[report.name] for report in reports]


def build_manifest(path: str | Path, **changes: Any) -> list[ReportResult]:
    """Build the reports that a manifest (``reports.yml``) lists; see `plan.Manifest`.

    `changes` take precedence over it: out, workers (by default one for each processor), timeout,
    figures, force. `DataMissing`, `DataBroken` or `UnknownName` if the manifest is absent or wrong;
    the message names the file and the place in it.
    """
    content = plan.Manifest.read(path)
    out = Path(changes.pop("out", Path(path).parent / content.out)).absolute()
    settings = {"workers": None, "timeout": content.timeout, "figures": content.figures} | changes
    with chdir(Path(path).parent):
        return build(content.reports, out=out, evaluations=content.evaluations, **settings)


def _run(out: Path, timeout: int | None, figures: bool, report: plan.Report) -> ReportResult:
    # The kernel's client and the charts take seconds to import: only who builds pays for it.
    from formlab.reports.execute import run

    try:
        return run(report, out, timeout=timeout, figures=figures)
    except (FormlabError, OSError, ValueError) as error:
        return _failed(report, f"{type(error).__name__}: {error}")


def _failed(report: plan.Report, error: str) -> ReportResult:
    return ReportResult(report.name, "failed", error=error, title=report.name)
