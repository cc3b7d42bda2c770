"""Run one notebook as a report, in a kernel of its own, and check that every cell finished."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import papermill
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

from formlab import files
from formlab.charts._shared import LINKS_VARIABLE
from formlab.charts.theme import REPORT_VARIABLE
from formlab.errors import NotAvailable
from formlab.reports import page, record, sanitize
from formlab.reports.figures import FOLDER, save
from formlab.reports.plan import Report
from formlab.reports.record import ReportResult

# The system ends a kernel at once with the process that started it: 1 is PR_SET_PDEATHSIG of
# Linux, 9 is SIGKILL. Elsewhere it ends itself within a second.
_KERNEL_START = (
    "import ctypes, sys; sys.platform == 'linux' and ctypes.CDLL(None).prctl(1, 9); import formlab"
)
# When it is told to end, it may say that it was interrupted, which is no error.
_KERNEL_OPTIONS = [f"--IPKernelApp.exec_lines={_KERNEL_START}", "--log-level=CRITICAL"]


def run(report: Report, out: Path, *, timeout: int | None, figures: bool) -> ReportResult:
    """Execute a notebook and write its page, its executed copy, its figures and its record.

    A notebook that fails raises nothing: see `ReportResult.ok` and `error`. A report counts as
    built only if every code cell with source says that it ran without exception and has an
    execution count. What papermill says of the whole is not trusted: after ``kill -9`` of a
    kernel it reads like success. A notebook whose sample is not available here is skipped.
    """
    start = time.perf_counter()
    # Before it runs: what changes meanwhile is not what the report was made from.
    key = record.key(report, figures=figures)
    with files.temporary(out, prefix=f".{report.name}.", suffix=".part.ipynb") as part:
        executed, error = _execute(report, part, timeout)
    failure, seconds = _failure(executed, error), time.perf_counter() - start
    result = ReportResult(report.name, key=key, of=report.of, seconds=round(seconds, 2))
    kind, _, reason = failure.partition(": ")
    if kind == NotAvailable.__name__ and not report.of:
        return replace(result, status="skipped", notes=[f"{report.name} is left out: {reason}"])
    html, ipynb = (out / f"{report.name}.{ending}" for ending in ("html", "ipynb"))
    files.write_text(ipynb, nbformat.writes(executed))
    cells = page.read(executed)
    shown = page.outputs(cells)
    if figures:
        save(shown, out / FOLDER / report.name)
    notes = [f"figure {o.stem} was not drawn to a file: {o.problem}" for o in shown if o.problem]
    built = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    book = report.notebook.path
    notebook = {"file": book.name, "sha256": files.sha256(book), "built": built}
    notebook["duration"] = f"{seconds:.1f} s"
    summary = page.write(
        cells,
        out=html,
        name=book.stem,
        facts={"Notebook": notebook} | record.facts(report),
        error=failure,
        parts=record.parts(report),
    )
    failed = {"status": "failed", "error": failure} if failure else {}
    made = {"html": html, "ipynb": ipynb, "notes": notes, "built": built}
    result = replace(result, **made, **summary, **failed)
    record.write(result, out)
    return result


def _execute(
    report: Report, part: Path, timeout: int | None
) -> tuple[nbformat.NotebookNode, Exception | None]:
    """The notebook with the outputs it came to, and what stopped it."""
    error: Exception | None = None
    source = nbformat.reads(files.read_text(report.notebook.path), as_version=4)
    before = dict(os.environ)
    with TemporaryDirectory(prefix="formlab-") as sockets:
        # It talks through sockets in a folder: no port is opened, no other user listens.
        manager = {"transport": "ipc", "ip": f"{sockets}/kernel"} if os.name == "posix" else {}
        try:
            os.environ |= {REPORT_VARIABLE: "1", LINKS_VARIABLE: json.dumps(report.links)}
            papermill.execute_notebook(
                source,
                # papermill fills in {names} of paths.
                str(part).replace("{", "{{").replace("}", "}}"),
                parameters=report.parameters,
                cwd=str(report.notebook.path.resolve().parent),
                kernel_name=source.metadata.get("kernelspec", {}).get("name", "python3"),
                language="python",
                progress_bar=False,
                request_save_on_cell_execute=False,
                execution_timeout=timeout,
                # A gallery's 30 MB take longer than four seconds, the default, on a busy machine.
                iopub_timeout=120,
                config=Config(KernelManager=manager),
                extra_arguments=_KERNEL_OPTIONS,
            )
        except Exception as caught:  # whatever stops a notebook, its report says so
            error = caught
        finally:
            os.environ.clear()
            os.environ.update(before)
    # papermill begins with a copy without outputs: an earlier run's do not pass for this one's.
    text = files.read_text(part)
    executed = nbformat.reads(text, as_version=4) if text else nbformat.v4.new_notebook()
    # It holds the whole source once more, and where the maker's folder is.
    for name in ("input_path", "output_path"):
        executed.metadata.get("papermill", {}).pop(name, None)
    return executed, error


def _failure(notebook: nbformat.NotebookNode, error: Exception | None) -> str:
    """What stopped a notebook, or how many of its cells did not finish; else empty."""
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        if output.output_type == "error":
            return sanitize.plain(f"{output.ename}: {output.evalue}", limit=600)
    if error is not None and not isinstance(error, PapermillExecutionError):
        return sanitize.plain(f"{type(error).__name__}: {error}", limit=600)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    done = sum(
        cell.metadata.get("papermill", {}).get("exception") is False
        and cell.execution_count is not None
        for cell in cells
    )
    incomplete = done < len(cells) or error is not None
    return f"{len(cells) - done} of {len(cells)} code cells did not finish." if incomplete else ""
