"""Run one notebook as a report, in a kernel of its own."""

import json
import os
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient
from papermill.parameterize import parameterize_notebook
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
_STOPPED = KeyboardInterrupt.__name__


def run(report: Report, out: Path, *, timeout: int | None, figures: bool) -> ReportResult:
    """Execute a notebook and write its page, its executed copy, its figures and its record.

    A notebook that fails raises nothing: see `ReportResult.ok` and `error`. One whose sample is not
    available here is skipped.
    """
    start, book = time.perf_counter(), report.notebook.path
    # Before it runs: what changes meanwhile is not what the report was made from.
    names, contents = ("benchmark", "split", "system"), record.evaluations_of(report)
    of = tuple(":".join(str(content.get(name)) for name in names) for content in contents)
    result = ReportResult(report.name, key=record.key(report, figures=figures), of=of)
    executed, error = _execute(report, timeout)
    seconds = time.perf_counter() - start
    kind, _, reason = error.partition(": ")
    if kind == NotAvailable.__name__ and not of:
        notes = [f"{report.name} is left out: {reason}"]
        return replace(result, status="skipped", seconds=round(seconds, 2), notes=notes)
    html, ipynb = (out / f"{report.name}.{ending}" for ending in ("html", "ipynb"))
    files.write_text(ipynb, text := nbformat.writes(executed))
    # As the file has it: its names are in the order of the alphabet.
    cells = page.read(nbformat.reads(text, as_version=4))
    shown = page.outputs(cells)
    if figures:
        save(shown, out / FOLDER / report.name)
    built = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    made = {"file": book.name, "sha256": files.sha256(book), "built": built}
    facts = {"Notebook": made | {"duration": f"{seconds:.1f} s"}} | record.facts(report)
    about = {"facts": facts, "error": error, "parts": record.parts(report)}
    summary = page.write(cells, out=html, name=book.stem, **about)
    notes = [f"figure {o.stem} was not drawn to a file: {o.problem}" for o in shown if o.problem]
    summary |= {"html": html, "ipynb": ipynb, "notes": notes, "built": built}
    summary |= {"status": "failed", "error": error} if error else {}
    result = replace(result, seconds=round(seconds, 2), **summary)
    record.write(result, out)
    return result


def _execute(report: Report, timeout: int | None) -> tuple[nbformat.NotebookNode, str]:
    """The notebook with the outputs it came to, and what stopped it; else an empty text."""
    book = nbformat.reads(files.read_text(report.notebook.path), as_version=4)
    kernel = book.metadata.get("kernelspec", {}).get("name", "python3")
    for cell in book.cells:
        if cell.cell_type == "code":
            # An earlier run's outputs do not pass for this one's.
            cell.outputs, cell.execution_count = [], None
        # papermill wants it of each cell, and the other of the notebook.
        cell.metadata.setdefault("tags", [])
    if report.parameters:
        book.metadata["papermill"] = {}
        book = parameterize_notebook(book, report.parameters, kernel_name=kernel, language="python")
    with TemporaryDirectory(prefix="formlab-") as sockets:
        # It talks through sockets in a folder: no port is opened, no other user listens.
        manager = {"transport": "ipc", "ip": f"{sockets}/kernel"} if os.name == "posix" else {}
        client = NotebookClient(
            book,
            kernel_name=kernel,
            resources={"metadata": {"path": str(report.notebook.path.resolve().parent)}},
            timeout=timeout,
            # A gallery's 30 MB take longer than four seconds, the default, on a busy machine.
            iopub_timeout=120,
            record_timing=False,
            config=Config(KernelManager=manager),
            extra_arguments=_KERNEL_OPTIONS,
        )
        told = {REPORT_VARIABLE: "1", LINKS_VARIABLE: json.dumps(report.links)}
        error = ""
        try:
            client.execute(env=os.environ | told)
        except Exception as caught:  # whatever stops a notebook, its report says so
            if isinstance(caught, AssertionError) or getattr(caught, "ename", "") == _STOPPED:
                raise KeyboardInterrupt from caught  # The client ends the kernel, and fails so.
            error = f"{type(caught).__name__}: {caught}"
    raised = (o for cell in book.cells for o in cell.get("outputs", ()) if o.output_type == "error")
    error = next((f"{output.ename}: {output.evalue}" for output in raised), error)
    return book, sanitize.plain(error, limit=600)
