"""Reports whose notebooks run one after another in one process.

A kernel for each of them would import the same libraries as often.
"""

import json
import os
import subprocess
import sys
from base64 import b64encode
from contextlib import chdir, redirect_stdout, suppress
from io import StringIO
from pathlib import Path

import nbformat
import papermill
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from formlab.analysis import samples
from formlab.charts import theme
from formlab.cli import main


def execute(book, out, *, parameters, cwd, **_):
    """Does what papermill does: the notebook with what its cells show, written to `out`."""
    shell = InteractiveShell.instance()
    try:
        for number, cell in enumerate(book.cells, start=1):
            if cell.cell_type == "code":
                with chdir(cwd):
                    cell.outputs = outputs(shell, cell.source)
                cell.execution_count, cell.metadata["papermill"] = number, {"exception": False}
            if "parameters" in cell.metadata.get("tags", ()):
                shell.push(parameters)
    finally:
        shell.reset()
        shell.restore_sys_module_state()
        InteractiveShell.clear_instance()
    nbformat.write(book, out)


def outputs(shell, source):
    """What a cell displays; the error of one that fails is raised."""
    with capture_output() as captured:
        ran = shell.run_cell(source)
        ran.raise_error()
    shown = [output.data for output in captured.outputs]
    if ran.result is not None:
        shown.append(shell.display_formatter.format(ran.result)[0])
    for data in shown:
        data |= {k: b64encode(v).decode() for k, v in data.items() if isinstance(v, bytes)}
    return [nbformat.v4.new_output("display_data", data) for data in shown]


def remembering(function):
    """The function, called once for the same arguments, which may be mappings."""
    results = {}

    def call(*arguments):
        if (key := repr(arguments)) not in results:
            results[key] = function(*arguments)
        return results[key]

    return call


def run(*commands):
    """What each of these commands of formlab prints, all of them in one new process."""
    words = json.dumps([[str(word) for word in command] for command in commands])
    ran = subprocess.run(
        # After formlab jsonschema is imported two seconds faster.
        [sys.executable, "-c", "import formlab, tests.executed as it; it.print_all()", words],
        # As the kernel of a report has it.
        env=os.environ | {"FORMLAB_REPORT": "1", "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def print_all():
    # Several notebooks open the same samples.
    samples._of_sample = remembering(samples._of_sample)
    print(json.dumps([printed(words) for words in json.loads(sys.argv[1])]))


def here(*commands):
    """What each of these commands prints, in this process, which has imported what they need."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(theme.REPORT_VARIABLE, "1")
        try:
            theme.enable()
            return [printed([str(word) for word in command]) for command in commands]
        finally:
            patch.undo()
            theme.enable()


def printed(words):
    """What a command prints; its notebooks have no kernel."""
    kernels, papermill.execute_notebook = papermill.execute_notebook, execute
    try:
        with redirect_stdout(StringIO()) as out, suppress(SystemExit):
            main(words, standalone_mode=False)
    finally:
        papermill.execute_notebook = kernels
    return out.getvalue()
