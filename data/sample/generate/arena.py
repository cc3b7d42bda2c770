"""Write the sample of arena tasks: two instances of three forms.

Run from the project's root: ``python -m data.sample.generate.arena --out DIR``.
"""

import sys
from pathlib import Path

import yaml

from data.sample.generate.command import run
from formlab import files
from formlab_arena import form, make

CODES = ("A12", "B12", "E12")


def write(out: Path) -> None:
    """Write the file below `out`."""
    tasks = [make(form(code), number) for code in CODES for number in (1, 2)]
    rows = [{"name": task.name, "text": task.text, "values": task.values} for task in tasks]
    text = yaml.safe_dump(rows, sort_keys=False, allow_unicode=True, width=96)
    files.write_text(out / "instances.yaml", text)


if __name__ == "__main__":
    sys.exit(run(write, __doc__))
