"""Reports whose notebooks run one after another in one process.

A kernel for each of them would import the same libraries as often.
"""

import os
import warnings
from base64 import b64encode
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from io import StringIO
from unittest.mock import patch

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbclient import NotebookClient

from formlab.analysis import samples
from formlab.charts import theme
from formlab.cli import main


def execute(client, *, env):
    """Does what nbclient does: its notebook has what the cells show."""
    shell = InteractiveShell.instance()
    try:
        for cell in client.nb.cells:
            if cell.cell_type == "code":
                with chdir(client.resources["metadata"]["path"]), patch.dict(os.environ, env):
                    cell.outputs = outputs(shell, cell.source)
    finally:
        shell.reset()
        shell.restore_sys_module_state()
        InteractiveShell.clear_instance()


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
    """What each of these commands of formlab says, all of them in this process."""
    with pytest.MonkeyPatch.context() as changes, warnings.catch_warnings():
        # As the kernel of a report has it.
        changes.setenv(theme.REPORT_VARIABLE, "1")
        changes.setattr(NotebookClient, "execute", execute)
        # Several notebooks open the same samples.
        changes.setattr(samples, "_of_sample", remembering(samples._of_sample))
        warnings.simplefilter("ignore")
        theme.enable()
        try:
            return [printed([str(word) for word in command]) for command in commands]
        finally:
            changes.undo()
            theme.enable()


def printed(words):
    """What a command says, on standard output and on standard error."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(out), suppress(SystemExit):
        main(words, standalone_mode=False)
    return out.getvalue()
