"""Writes the sample of arena tasks: two instances of three forms, in data/sample/arena."""

from pathlib import Path

import yaml

from formlab import files
from formlab_arena import form, make

TARGET = Path(__file__).parents[1] / "arena" / "instances.yaml"
CODES = ("A12", "B12", "E12")


def text() -> str:
    """The file's content."""
    made = [make(form(code), number) for code in CODES for number in (1, 2)]
    rows = [{"name": one.name, "text": one.text, "values": one.values} for one in made]
    return yaml.safe_dump(rows, sort_keys=False, allow_unicode=True, width=96)


if __name__ == "__main__":
    files.write_text(TARGET, text())
