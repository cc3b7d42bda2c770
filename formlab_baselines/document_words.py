"""The words of a document in lines and cells: from the OCR that comes with it, else its text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from formlab.benchmarks import vrdu
from formlab.benchmarks.meta import meta_of
from formlab.errors import DataMissing
from formlab.systems.pages import image_file
from formlab.text import layout
from formlab_baselines.keywords import Run
from formlab_baselines.page_spec import Rect, word_boxes
from formlab_baselines.pdf_rules import DEFAULTS, entity_row, pages, zoom

# A wider gap than this many heights of the word before it begins another cell.
_GAP = 0.75
# Edges of a column are this near each other, in widths of the page.
_EDGE = 0.01
# Height over width of a page of unknown size.
_LETTER = 11 / 8.5


@dataclass(eq=False)
class Cell:
    """Words of a line that stand close together, with corners in widths of the page.

    `first` is the first cell of the line, `left` the one before it, `above` the nearest one above
    it, and `head` the one on top of its column, as far up as the lines have the same columns.
    """

    words: list[Run]
    row: int
    left: Cell | None = None
    above: Cell | None = None
    first: Cell | None = None
    head: Cell | None = None

    def __post_init__(self) -> None:
        self.mask = mask(" ".join(word.text for word in self.words))
        self.page, self.x0, self.x1 = self.words[0].page, self.words[0].x0, self.words[-1].x1


class Span(NamedTuple):
    """Consecutive words of a cell."""

    cell: Cell
    start: int
    stop: int

    @property
    def run(self) -> Run:
        """The words as one."""
        texts, pages, x0, y0, x1, y1 = zip(*self.cell.words[self.start : self.stop], strict=True)
        return Run(" ".join(texts), pages[0], x0[0], min(y0), x1[-1], max(y1))


@dataclass(frozen=True, eq=False)
class DocumentWords:
    """The cells of a document in reading order.

    `sizes` are width and height of each page in the units of the document's boxes.
    """

    cells: list[Cell]
    sizes: dict[int, tuple[float, float]]

    def ratio(self, page: int) -> float:
        """The height of a page over its width."""
        width, height = self.sizes.get(page, (1.0, _LETTER))
        return height / width

    def record(self, path: str, name: str, span: Span, confidence: float) -> dict[str, Any]:
        """The record of a predicted entity; without a box where the page's size is not known."""
        width, _ = self.sizes.get(span.cell.page, (None, None))
        return entity_row(path, name, span.run, width) | {"confidence": confidence}


def mask(text: str) -> str:
    """A text without case, its digits as 0.

    Examples
    --------
    >>> mask("Order # 204417")
    'order # 000000'
    """
    return re.sub(r"\d", "0", text.casefold())


def reader(settings: dict[str, Any], threads: int) -> Callable[..., DocumentWords]:
    """Reads a document's row, below a root: the supplied OCR, else text of the PDF, else OCR."""
    settings = DEFAULTS | settings

    def read(document: dict[str, Any], root: Path | None) -> DocumentWords:
        if supplied := vrdu.words(document, root):
            return _of_records(supplied)
        path = image_file(document, root)
        if not path.is_file():
            raise DataMissing("the page of this document is not there", where=path)
        options = frozenset((name, settings[name]) for name in DEFAULTS)
        return _of_file(path, path.stat().st_mtime_ns, document["width"], options, threads)

    return read


# The splits of a data set share its documents.
@lru_cache(maxsize=512)
def _of_file(
    path: Path, _changed: int, width: float | None, settings: frozenset, threads: int
) -> DocumentWords:
    sheets = list(pages(path, dict(settings), threads))
    factor = zoom(sheets, width)
    words = [
        Run(text, run.page, *(side / sheet.width for side in sides))
        for sheet in sheets for run in sheet.runs
        for text, sides in word_boxes(run.text, Rect(*run[2:]))
    ]  # fmt: skip
    sizes = {n: (s.width * factor, s.height * factor) for n, s in enumerate(sheets, start=1)}
    return DocumentWords(_cells(words), sizes)


def _of_records(records: list[dict[str, Any]]) -> DocumentWords:
    words = [Run(row["value"], row["page"], *meta_of(row)["box"][1:]) for row in records]
    sizes = {
        word.page: (row["x0"] / word.x0, row["y0"] / word.y0)
        for row, word in zip(records, words, strict=True)
        if row.get("x0") is not None and min(word[2:]) > 0
    }
    ratio = DocumentWords([], sizes).ratio
    words = [w._replace(y0=w.y0 * ratio(w.page), y1=w.y1 * ratio(w.page)) for w in words]
    return DocumentWords(_cells(words), sizes)


def _cells(words: list[Run]) -> list[Cell]:
    cells: list[Cell] = []
    row = 0
    for page in sorted({word.page for word in words}):
        of_page = [word for word in words if word.page == page]
        rows: list[list[Cell]] = []
        for line in layout.rows(np.array([word[2:] for word in of_page])):
            rows.append(_split([of_page[place] for place in line], row))
            row += 1
        in_table = [False, *map(_aligned, rows, rows[1:])]
        for place, line in enumerate(rows):
            for number, cell in enumerate(line):
                cell.first, cell.left = line[0], line[number - 1] if number else None
                cell.above = cell.head = above = next(
                    (other for before in reversed(rows[:place]) for other in before
                     if min(cell.x1, other.x1) > max(cell.x0, other.x0)), None,
                )  # fmt: skip
                if above and in_table[place] and in_table[above.row - rows[0][0].row]:
                    cell.head = above.head
        cells += [cell for line in rows for cell in line]
    return cells


def _split(line: list[Run], row: int) -> list[Cell]:
    groups = [[line[0]]]
    for before, word in pairwise(line):
        if word.x0 - before.x1 > _GAP * (before.y1 - before.y0):
            groups.append([])
        groups[-1].append(word)
    return [Cell(group, row) for group in groups]


def _aligned(above: list[Cell], line: list[Cell]) -> bool:
    """Whether most cells of a line, and several, begin or end as cells of the line above do."""
    columns = sum(
        any(min(abs(cell.x0 - other.x0), abs(cell.x1 - other.x1)) < _EDGE for other in above)
        for cell in line
    )
    return columns > max(1, len(line) / 2)
