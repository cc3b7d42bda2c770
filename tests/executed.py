"""Notebooks run one after another in a process of their own, which imports what they need once.

`python -m tests.executed OUT` reads the files and their parameters as JSON from standard input, and
writes a page of each.
"""

import json
import os
import sys
from pathlib import Path

import nbformat
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from formlab.reports import page


def execute(file, parameters):
    """The notebook with what its cells show; a cell that fails ends the process with its error."""
    shell, book = InteractiveShell.instance(), nbformat.read(file, as_version=4)
    shell.reset()
    os.chdir(file.parent)
    for cell in (cell for cell in book.cells if cell.cell_type == "code"):
        with capture_output() as captured:
            ran = shell.run_cell(cell.source)
        ran.raise_error()
        if "parameters" in cell.metadata.get("tags", ()):
            shell.push(parameters)
        shown = [dict(output.data) for output in captured.outputs]
        if ran.result is not None:
            shown.append(shell.display_formatter.format(ran.result)[0])
        cell.outputs = [nbformat.v4.new_output("display_data", data) for data in shown]
    return book


if __name__ == "__main__":
    for name, parameters in json.load(sys.stdin).items():
        file = Path(name)
        summary = page.write(
            execute(file, parameters), out=Path(sys.argv[1], f"{file.stem}.html"), name=file.stem
        )
        print(json.dumps([file.stem, summary.finding]), flush=True)
