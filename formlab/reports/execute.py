"""Run one notebook as a report: strict parameters, a kernel of its own, nothing taken on trust."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import papermill
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

from formlab import files
from formlab.charts._output import clean
from formlab.charts.theme import REPORT_VARIABLE
from formlab.reports import _draw, _inert, figures, inputs, layouts, record
from formlab.reports.export import FAILED_ANCHOR, Facts, Failure, bundles, export, kinds_of
from formlab.reports.plan import INDEX, Job, shown
from formlab.reports.record import Result

# What the kernel is told of the other reports: a JSON object of name to title.
LINKS_VARIABLE = "FORMLAB_REPORTS"
_KERNEL_START = "import sys; sys.modules['rfc3987_syntax'] = None"


def run(job: Job) -> Result:
    """Execute a notebook and write its page, its executed copy, its figures and its record.

    A notebook that fails raises nothing: see `Result.ok` and `Result.error`. A report counts as
    built only if every code cell with source says that it ran without exception and has an
    execution count. What papermill says of the whole is not trusted: after ``kill -9`` of a
    kernel it reads like success.

    Raises
    ------
    DataMissing, DataBroken
        If the notebook is absent or broken.
    """
    start = time.perf_counter()
    # Before it runs: what changes meanwhile is not what the report was made from.
    key = job.key
    out = job.settings.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    with _environment(job):
        executed, error = _execute(job, out / f"{job.name}.part.ipynb")
    failure = _failure(executed, error)
    seconds = time.perf_counter() - start
    built = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    made = _made(job, seconds=seconds, built=built)
    html = out / f"{job.name}.html"
    shown_bundles = bundles(executed)
    frame = layouts.frame(kinds_of(shown_bundles), layout=job.settings.layout, out=out)
    found = figures.of(shown_bundles)
    beside = list(frame.beside)
    folder = f"{figures.FOLDER}/{job.name}"
    notes: list[str] = []
    with figures.opened(job.settings.figures) as (visit, missing):
        notes += missing
        if job.settings.figures:
            found, said = figures.save(found, out / folder, visit)
            notes += said
            beside += [f"{folder}/{one.stem}.{end}" for one in found if one for end in one.files]
        linked = job.settings.figures and job.settings.layout == "site"
        summary = export(
            executed, out=html, name=job.notebook.stem, made=made, failure=failure,
            index=f"{INDEX}.html", frame=frame, figures=found, beside=folder if linked else None,
            parts=inputs.part_runs(job.notebook.parent, job.parameters, job.defaults),
        )  # fmt: skip
        if visit is not None:
            picture = f"{record.THUMBNAILS}{job.name}.webp"
            notes += figures.thumbnail(html, out / picture, visit)
            beside += [picture] if (out / picture).is_file() else []
    said = failure.what if failure else None
    result = Result(
        job.name, job.notebook, "failed" if failure else "built", html, out / f"{job.name}.ipynb",
        said, time.perf_counter() - start, summary, built, tuple(notes),
    )  # fmt: skip
    record.write(result, out, key=key, beside=beside)
    return result


def _read(notebook: Path) -> nbformat.NotebookNode:
    return nbformat.reads(files.read_text(notebook), as_version=4)


def _execute(job: Job, part: Path) -> tuple[nbformat.NotebookNode, Exception | None]:
    """The notebook with the outputs it came to, and what stopped it."""
    error: Exception | None = None
    part.unlink(missing_ok=True)
    source = _read(job.notebook)
    # An earlier run's outputs must not pass for this one's.
    for cell in source.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            cell.metadata.pop("papermill", None)
    with TemporaryDirectory(prefix="formlab-") as sockets:
        try:
            papermill.execute_notebook(
                source,
                # papermill fills in {names} of paths.
                str(part).replace("{", "{{").replace("}", "}}"),
                parameters=job.parameters,
                cwd=str(job.notebook.resolve().parent),
                kernel_name=source.metadata.get("kernelspec", {}).get("name", "python3"),
                language="python",
                progress_bar=False,
                execution_timeout=job.settings.timeout,
                # A gallery of 20,000 cases is an output of 30 MB: four seconds, the default,
                # are not enough for it on a busy machine.
                iopub_timeout=120,
                config=_kernel_config(sockets),
                extra_arguments=[f"--IPKernelApp.exec_lines={_KERNEL_START}"],
            )
        except Exception as caught:  # whatever stops a notebook, its report says so
            error = caught
    executed = _read(part) if part.is_file() and part.stat().st_size else source
    # It holds the whole source once more, and where the maker's folder is.
    said = executed.metadata.get("papermill", {})
    said.pop("input_path", None)
    said.pop("output_path", None)
    files.write_text(part.with_name(f"{job.name}.ipynb"), nbformat.writes(executed))
    part.unlink(missing_ok=True)
    return executed, error


def _kernel_config(folder: str) -> Config:
    """A kernel that talks through sockets in `folder`: no port is opened, no other user listens."""
    if os.name != "posix":
        return Config()
    return Config(KernelManager={"transport": "ipc", "ip": f"{folder}/kernel"})


@contextmanager
def _environment(job: Job) -> Iterator[None]:
    """What the kernel's process is told, and nothing of it afterwards."""
    given = {REPORT_VARIABLE: "1", LINKS_VARIABLE: json.dumps(job.links)}
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _failure(notebook: nbformat.NotebookNode, error: Exception | None) -> Failure | None:
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                what = _inert.plain(f"{output.ename}: {output.evalue}")
                return Failure(clean(what, limit=600), _draw.failure(output), FAILED_ANCHOR)
    if error is not None and not isinstance(error, PapermillExecutionError):
        what = _inert.plain(f"{type(error).__name__}: {error}")
        return Failure(clean(what, limit=600))
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    undone = [
        cell
        for cell in cells
        if cell.metadata.get("papermill", {}).get("exception") is not False
        or cell.execution_count is None
    ]
    if undone or error is not None:
        return Failure(f"{len(undone)} of {len(cells)} code cells did not finish.")
    return None


def _made(job: Job, *, seconds: float, built: str) -> Facts:
    given = {name: repr(value) for name, value in job.parameters.items()}
    evaluations = [
        (f"Evaluation {folder.name}", inputs.facts(folder, shown(folder)))
        for folder in job.evaluations
    ]
    data = [] if evaluations else [("Sample", [("data/sample", f"sha256 {inputs.sample()}")])]
    return [
        ("Command", [("to build it again", job.command)]),
        (
            "Notebook",
            [
                ("file", job.notebook.name),
                ("sha256", files.sha256(job.notebook)),
                ("built", built),
                ("duration", f"{seconds:.1f} s"),
            ],
        ),
        (
            "Parameters",
            [
                (name, given.get(name, default) + ("" if name in given else "  (default)"))
                for name, default in job.defaults.items()
            ],
        ),
        *evaluations,
        *data,
        ("Versions", [*inputs.versions().items(), ("formlab's code", f"sha256 {inputs.code()}")]),
    ]
