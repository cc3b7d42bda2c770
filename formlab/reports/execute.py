"""Run one notebook as a report, in a kernel of its own, and check that every cell finished."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
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
from formlab.charts.escaping import clean
from formlab.charts.theme import REPORT_VARIABLE
from formlab.errors import NotAvailable
from formlab.reports import figures, page, record, sanitize
from formlab.reports.page import Facts, Failure
from formlab.reports.plan import INDEX, Job, typed
from formlab.reports.record import ReportResult

# The system ends a kernel at once with the process that started it: 1 is PR_SET_PDEATHSIG of
# Linux, 9 is SIGKILL. Elsewhere it ends itself within a second.
_KERNEL_START = (
    "import ctypes, sys; sys.platform == 'linux' and ctypes.CDLL(None).prctl(1, 9); import formlab"
)
# When it is told to end, it may say that it was interrupted, which is no error.
_KERNEL_OPTIONS = [f"--IPKernelApp.exec_lines={_KERNEL_START}", "--log-level=CRITICAL"]


def run(job: Job) -> ReportResult:
    """Execute a notebook and write its page, its executed copy, its figures and its record.

    A notebook that fails raises nothing: see `ReportResult.ok` and `error`. A report counts as
    built only if every code cell with source says that it ran without exception and has an
    execution count. What papermill says of the whole is not trusted: after ``kill -9`` of a
    kernel it reads like success. A notebook whose sample is not available here is skipped.
    """
    start = time.perf_counter()
    # Before it runs: what changes meanwhile is not what the report was made from.
    key, home = record.key(job), job.settings.out.resolve()
    result = ReportResult(job.name, job.notebook, key=key, of=job.of)
    with files.temporary(home, prefix=f".{job.name}.", suffix=".part.ipynb") as part:
        executed, error = _execute(job, part)
    failure = _failure(executed, error)
    if failure and failure.kind == NotAvailable.__name__ and job.of_sample:
        why = f"{job.name} is left out: {failure.what.partition(': ')[2]}"
        seconds = time.perf_counter() - start
        return replace(result, status="skipped", seconds=seconds, notes=(why,))
    html, ipynb = (home / f"{job.name}.{ending}" for ending in ("html", "ipynb"))
    files.write_text(ipynb, nbformat.writes(executed))
    cells, saved, notes = page.read(executed), [], []
    if job.settings.figures:
        folder = f"{figures.FOLDER}/{job.name}"
        drawn = [output.figure for output in page.outputs(cells) if output.figure]
        names, notes = figures.save(drawn, home / folder)
        saved = [f"{folder}/{name}" for name in names]
    evaluations = record.evaluations_of(job)
    built = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    seconds = round(time.perf_counter() - start, 2)
    summary = page.write(
        cells,
        out=html,
        name=job.notebook.stem,
        facts=_facts(job, evaluations, duration=f"{seconds:.1f} s", built=built),
        failure=failure,
        index=f"{INDEX}.html",
        parts=list(filter(None, map(record.part_run, evaluations))),
    )
    status, why = ("failed", failure.what) if failure else ("built", None)
    files_of = {"html": html, "ipynb": ipynb, "beside": tuple(saved), "notes": tuple(notes)}
    more = {"status": status, "error": why, "seconds": seconds, "summary": summary, "built": built}
    result = replace(result, **files_of, **more)
    record.write(result, home)
    return result


def _execute(job: Job, part: Path) -> tuple[nbformat.NotebookNode, Exception | None]:
    """The notebook with the outputs it came to, and what stopped it."""
    error: Exception | None = None
    source = nbformat.reads(files.read_text(job.notebook), as_version=4)
    # An earlier run's outputs must not pass for this one's.
    for cell in source.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            cell.metadata.pop("papermill", None)
    before = dict(os.environ)
    with TemporaryDirectory(prefix="formlab-") as sockets:
        # It talks through sockets in a folder: no port is opened, no other user listens.
        manager = {"transport": "ipc", "ip": f"{sockets}/kernel"} if os.name == "posix" else {}
        try:
            os.environ |= {REPORT_VARIABLE: "1", LINKS_VARIABLE: json.dumps(job.links)}
            papermill.execute_notebook(
                source,
                # papermill fills in {names} of paths.
                str(part).replace("{", "{{").replace("}", "}}"),
                parameters=job.parameters,
                cwd=str(job.notebook.resolve().parent),
                kernel_name=source.metadata.get("kernelspec", {}).get("name", "python3"),
                language="python",
                progress_bar=False,
                request_save_on_cell_execute=False,
                execution_timeout=job.settings.timeout,
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
    text = files.read_text(part)
    executed = nbformat.reads(text, as_version=4) if text else source
    # It holds the whole source once more, and where the maker's folder is.
    for name in ("input_path", "output_path"):
        executed.metadata.get("papermill", {}).pop(name, None)
    return executed, error


def _failure(notebook: nbformat.NotebookNode, error: Exception | None) -> Failure | None:
    """What stopped a notebook, or which of its cells did not finish."""
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        if output.output_type == "error":
            what = clean(sanitize.plain(f"{output.ename}: {output.evalue}"), limit=600)
            return Failure(what, page.traceback_of(output), output.ename)
    if error is not None and not isinstance(error, PapermillExecutionError):
        return Failure(clean(sanitize.plain(f"{type(error).__name__}: {error}"), limit=600))
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    done = sum(
        cell.metadata.get("papermill", {}).get("exception") is False
        and cell.execution_count is not None
        for cell in cells
    )
    if done < len(cells) or error is not None:
        return Failure(f"{len(cells) - done} of {len(cells)} code cells did not finish.")
    return None


def _facts(job: Job, evaluations: Sequence[Path], *, duration: str, built: str) -> Facts:
    """The block "How this was made"."""
    texts = {name: f"{default}  (default)" for name, default in job.defaults.items()}
    texts |= {name: repr(job.parameters[name]) for name in texts if name in job.parameters}
    notebook = {"file": job.notebook.name, "sha256": files.sha256(job.notebook)}
    notebook |= {"built": built, "duration": duration}
    data = [
        (f"Evaluation {manifest.parent.name}", record.facts(manifest, typed(manifest.parent)))
        for manifest in evaluations
    ]
    sample = [("data/sample", f"sha256 {record.sample()}"), *record.readings()]
    return [
        ("Command", [("to build it again", job.command)]),
        ("Notebook", list(notebook.items())),
        ("Parameters", list(texts.items())),
        *(data or [("Sample", sample)]),
        ("Versions", [*record.versions().items(), ("formlab's code", f"sha256 {record.code()}")]),
    ]
