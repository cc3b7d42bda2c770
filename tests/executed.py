"""Reports of a manifest, with notebooks that run one after another in this process.

`python -m tests.executed MANIFEST` builds them beside it and prints name, error and finding of
each. A kernel for each notebook would import the same libraries as often.
"""

import json
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path

import nbformat
import papermill
from ipykernel.jsonutil import encode_images
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from formlab import reports
from formlab.analysis import samples


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
    return [nbformat.v4.new_output("display_data", encode_images(dict(data))) for data in shown]


def remembering(function):
    """The function, called once for the same arguments, which may be mappings."""
    results = {}

    def call(*arguments):
        if (key := repr(arguments)) not in results:
            results[key] = function(*arguments)
        return results[key]

    return call


if __name__ == "__main__":
    manifest = Path(sys.argv[1])
    papermill.execute_notebook = execute
    # Several notebooks open the same samples.
    samples._of_sample = remembering(samples._of_sample)
    with redirect_stdout(sys.stderr):
        results = reports.build_manifest(manifest, out=manifest.parent, workers=1, figures=False)
    for result in results:
        print(json.dumps([result.notebook.stem, result.error, result.summary.finding]))
