"""Run one notebook as a report: strict parameters, a kernel of its own, nothing taken on trust."""

from __future__ import annotations

import ast
import dataclasses
import os
import platform
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

# jsonschema imports this to check one format of one schema, at 2.5 s for each process.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

import nbformat  # noqa: E402
import papermill  # noqa: E402
from papermill.exceptions import PapermillExecutionError  # noqa: E402
from traitlets.config import Config  # noqa: E402

from formlab import files  # noqa: E402
from formlab.charts._output import clean  # noqa: E402
from formlab.charts.theme import REPORT_VARIABLE  # noqa: E402
from formlab.errors import DataBroken, UnknownName  # noqa: E402
from formlab.reports import _draw, _inert  # noqa: E402
from formlab.reports.export import FAILED_ANCHOR, Facts, Failure, Summary, export  # noqa: E402

_KERNEL_START = "import sys; sys.modules['rfc3987_syntax'] = None"
_VERSIONS = ("formlab", "polars", "altair", "plotly", "papermill", "nbconvert")


@dataclasses.dataclass(frozen=True)
class Result:
    """How one report went.

    `html` and `ipynb` are the files written: a failed report leaves what it finished, with the
    error on top. They are None if nothing could be written. `seconds` is wall time.
    """

    name: str
    notebook: Path
    ok: bool
    html: Path | None
    ipynb: Path | None
    error: str | None
    seconds: float
    summary: Summary
    built: str


def parameters_of(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Name and default, as source, of each literal in the cell tagged ``parameters``.

    Read with `ast`: papermill's own inspection is line by line and misses annotations such as
    ``str | None`` and values that hold an equals sign.

    Examples
    --------
    >>> cell = nbformat.v4.new_code_cell("seed: int | None = 7  # of the bootstrap")
    >>> cell.metadata.tags = ["parameters"]
    >>> parameters_of(nbformat.v4.new_notebook(cells=[cell]))
    {'seed': '7'}
    """
    found: dict[str, str] = {}
    for cell in notebook.cells:
        if cell.cell_type != "code" or "parameters" not in cell.metadata.get("tags", []):
            continue
        for node in ast.parse(cell.source).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", 0)]
            value = getattr(node, "value", None)
            for target in targets:
                if isinstance(target, ast.Name) and value is not None:
                    found[target.id] = ast.unparse(value)
    return found


def read(notebook: str | Path) -> nbformat.NotebookNode:
    """A notebook file, in the current format.

    Raises
    ------
    DataMissing, DataBroken
        If it is absent or not a notebook.
    """
    text = files.read_text(notebook)
    try:
        return nbformat.reads(text, as_version=4)
    except Exception as error:  # nbformat raises kinds of many packages for a broken file
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataBroken(f"not a notebook: {first}", where=notebook) from error


def check(notebook: str | Path, parameters: Mapping[str, Any]) -> None:
    """Raise `UnknownName` if the notebook has no parameter of one of these names."""
    try:
        known = parameters_of(read(notebook))
    except SyntaxError as error:
        raise DataBroken(
            f"the parameters cell is not Python: {error.msg}", where=f"{notebook}:{error.lineno}"
        ) from error
    for name in parameters:
        if name not in known:
            raise UnknownName.of("parameter", name, known)


def slug(name: str) -> str:
    """A file name that is inert in a path, an address and a shell.

    Examples
    --------
    >>> slug("10 <scores>"), slug("../{x}"), slug("???")
    ('10-scores', 'x', 'report')
    """
    return re.sub(r"[^\w-]+", "-", name).strip("-_")[:80] or "report"


def run(
    notebook: str | Path,
    *,
    out: str | Path,
    parameters: Mapping[str, Any] | None = None,
    name: str | None = None,
    cwd: str | Path | None = None,
    timeout: int | None = None,
    index: str | None = None,
) -> Result:
    """Execute a notebook and export it as one HTML file beside its executed copy.

    Parameters
    ----------
    notebook
        The notebook; it is not changed.
    out
        Folder for ``<name>.html`` and ``<name>.ipynb``; made if absent.
    parameters
        Values for names of the cell tagged ``parameters``.
    name
        Stem of the files written; the notebook's own by default.
    cwd
        Working directory of the kernel; by default the notebook's own folder, as in JupyterLab.
    timeout
        Seconds that one cell may take; none by default.
    index
        Address of the index page, relative to the report.

    Raises
    ------
    UnknownName
        If a parameter is not one of the notebook's; nothing has started then.
    DataMissing, DataBroken
        If the notebook is absent or broken.

    Notes
    -----
    A notebook that fails raises nothing: see `Result.ok` and `Result.error`. A report counts as
    built only if every code cell with source says that it ran without exception and has an
    execution count. What papermill says of the whole is not trusted: after ``kill -9`` of a
    kernel it reads like success.
    """
    start = time.perf_counter()
    parameters = dict(parameters or {})
    notebook = Path(notebook)
    check(notebook, parameters)
    defaults = parameters_of(read(notebook))
    out = Path(out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    stem = slug(name or notebook.stem)
    executed, error = _execute(notebook, out / f"{stem}.part.ipynb", parameters, cwd, timeout)
    failure = _failure(executed, error)
    seconds = time.perf_counter() - start
    built = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    html = out / f"{stem}.html"
    made = _made(notebook.name, defaults, parameters, seconds=seconds, built=built)
    summary = export(
        executed, out=html, name=notebook.stem, made=made, failure=failure, index=index
    )
    return Result(
        stem, notebook, failure is None, html, out / f"{stem}.ipynb",
        failure.what if failure else None, seconds, summary, built,
    )  # fmt: skip


def _execute(
    notebook: Path,
    part: Path,
    parameters: dict[str, Any],
    cwd: str | Path | None,
    timeout: int | None,
) -> tuple[nbformat.NotebookNode, Exception | None]:
    """The notebook with the outputs it came to, and what stopped it."""
    error: Exception | None = None
    part.unlink(missing_ok=True)
    source = read(notebook)
    # An earlier run's outputs must not pass for this one's.
    for cell in source.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            cell.metadata.pop("papermill", None)
    with _report_environment(), TemporaryDirectory(prefix="formlab-") as sockets:
        try:
            papermill.execute_notebook(
                source,
                # papermill fills in {names} of paths.
                str(part).replace("{", "{{").replace("}", "}}"),
                parameters=parameters,
                cwd=str(cwd or notebook.resolve().parent),
                kernel_name=source.metadata.get("kernelspec", {}).get("name", "python3"),
                language="python",
                progress_bar=False,
                execution_timeout=timeout,
                config=_kernel_config(sockets),
                extra_arguments=[f"--IPKernelApp.exec_lines={_KERNEL_START}"],
            )
        except Exception as caught:  # whatever stops a notebook, its report says so
            error = caught
    executed = read(part) if part.is_file() and part.stat().st_size else source
    if part.is_file():
        part.replace(part.with_name(part.name.replace(".part.ipynb", ".ipynb")))
    return executed, error


def _kernel_config(folder: str) -> Config:
    """A kernel that talks through sockets in `folder`: no port is opened, no other user listens."""
    if os.name != "posix":
        return Config()
    return Config(KernelManager={"transport": "ipc", "ip": f"{folder}/kernel"})


@contextmanager
def _report_environment() -> Iterator[None]:
    before = os.environ.get(REPORT_VARIABLE)
    os.environ[REPORT_VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[REPORT_VARIABLE]
        else:
            os.environ[REPORT_VARIABLE] = before


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


def _made(
    file: str,
    defaults: Mapping[str, str],
    parameters: Mapping[str, Any],
    *,
    seconds: float,
    built: str,
) -> Facts:
    given = {name: repr(value) for name, value in parameters.items()}
    versions = [(name, metadata.version(name)) for name in _VERSIONS]
    return [
        ("Notebook", [("file", file), ("built", built), ("duration", f"{seconds:.1f} s")]),
        (
            "Parameters",
            [
                (name, given.get(name, default) + ("" if name in given else "  (default)"))
                for name, default in defaults.items()
            ],
        ),
        ("Versions", [("python", platform.python_version()), *versions]),
    ]
