"""Sections of a report, from one heading of level 2 to the next, that have nothing to report."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence

import nbformat

from formlab.charts._output import clean
from formlab.charts.theme import MIME
from formlab.reports import _draw, sanitize

# What a cell with this tag shows stands right under the title, wherever the cell is.
SUMMARY_TAG = "summary"
SOURCES = MIME.format("sources")
_HEADING = re.compile(r"^##[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Empty:
    """A section in which nothing is shown but notes.

    It is not `listed` if all it has are sources, which stand in a block of their own.
    """

    heading: str
    note: str
    cells: Sequence[nbformat.NotebookNode]
    listed: bool = True


def empty(notebook: nbformat.NotebookNode) -> Iterator[Empty]:
    """The sections in which code shows notes alone, or nothing; a section of text is none."""
    for heading, cells in _sections(notebook):
        code = [cell for cell in cells if cell.cell_type == "code"]
        code = [cell for cell in code if SUMMARY_TAG not in cell.metadata.get("tags", [])]
        text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        if len(_HEADING.findall(text)) > 1 or (not code and _HEADING.sub("", text).strip()):
            continue
        notes = [_note(output) for cell in code for output in cell.outputs]
        if None not in notes:
            note = " ".join(dict.fromkeys(filter(None, notes)))
            heading = clean(sanitize.plain(heading), limit=200)
            listed = bool(note or not notes)
            yield Empty(heading, note or "Nothing to show.", cells, listed)


def _sections(notebook: nbformat.NotebookNode) -> Iterator[tuple[str, list[nbformat.NotebookNode]]]:
    heading, cells = "", []
    for cell in notebook.cells:
        found = _HEADING.search(cell.source) if cell.cell_type == "markdown" else None
        if found:
            if heading:
                yield heading, cells
            heading, cells = found[1], []
        cells.append(cell)
    if heading:
        yield heading, cells


def _note(output: nbformat.NotebookNode) -> str | None:
    """The text of a note, "" for sources; None for an output that has something to show."""
    if SOURCES in output.get("data", {}):
        return ""
    for kind, payload in _draw.payloads(output.get("data", {})):
        if kind == "caption" and payload.get("label") == "Note":
            return clean(payload.get("text", ""), limit=2_000)
    return None
