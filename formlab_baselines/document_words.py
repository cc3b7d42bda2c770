"""The words of a document in lines and cells: from the OCR that comes with it, else its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from formlab import resources
from formlab.benchmarks import vrdu
from formlab.benchmarks.meta import meta_of
from formlab.errors import DataMissing
from formlab.systems import ocr
from formlab.systems._runs import image_file
from formlab.tables import BOX
from formlab.text import layout
from formlab_baselines.pdf_rules import DEFAULTS, PageRuns, pages

# A wider gap than this many heights of the word before it begins another cell.
_GAP = 0.75
# Edges of a column are this near each other, in widths of the page.
_EDGE = 0.01
# Height over width of a page of unknown size.
_LETTER = 11 / 8.5


class Word(NamedTuple):
    """A word with its place: the page (from 1), and corners in widths of the page."""

    text: str
    page: int
    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(eq=False)
class Cell:
    """Words of a line that stand close together.

    `first` is the first cell of the line, `left` the one before it, `above` the nearest one above
    it, and `head` the one on top of its column, as far up as the lines have the same columns.
    """

    words: list[Word]
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
    def words(self) -> list[Word]:
        """The words themselves."""
        return self.cell.words[self.start : self.stop]

    @property
    def text(self) -> str:
        """The words with a space between them."""
        return " ".join(word.text for word in self.words)


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
        page, words = span.cell.page, span.words
        row = {"task": "entity", "path": path, "kind": name, "value": span.text, "page": page}
        row["confidence"] = confidence
        if page not in self.sizes:
            return row
        width, _ = self.sizes[page]
        corners = (
            words[0].x0, min(word.y0 for word in words),
            words[-1].x1, max(word.y1 for word in words),
        )  # fmt: skip
        return row | dict(zip(BOX, (side * width for side in corners), strict=True))


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
    options = (settings["text_score"], settings["scale"], settings["pages"], threads)

    def read(document: dict[str, Any], root: Path | None) -> DocumentWords:
        if supplied := vrdu.words(document, root):
            return _of_records(supplied)
        path = image_file(document, root)
        if not path.is_file():
            raise DataMissing("the page of this document is not there", where=path)
        return _of_file(path, path.stat().st_mtime_ns, document["width"], options)

    return read


@cache
def _engine(text_score: float, threads: int) -> Any:
    resources.need("ocr")
    return ocr.engine(text_score=text_score, threads=threads)


# The splits of a data set share its documents.
@lru_cache(maxsize=512)
def _of_file(path: Path, _changed: int, width: float | None, options: tuple) -> DocumentWords:
    text_score, scale, most, threads = options
    settings = {"scale": scale, "pages": most}
    sheets = list(pages(path, lambda image: _engine(text_score, threads)(image), settings))
    factor = (width or sheets[0].width) / sheets[0].width if sheets else 1.0
    words = [word for sheet in sheets for word in _of_runs(sheet)]
    sizes = {
        number: (sheet.width * factor, sheet.height * factor)
        for number, sheet in enumerate(sheets, start=1)
    }
    return DocumentWords(_cells(words), sizes)


def _of_records(records: list[dict[str, Any]]) -> DocumentWords:
    words, sizes = [], {}
    for record in records:
        page, (_, *corners) = record["page"], meta_of(record)["box"]
        if record.get("x0") is not None and min(corners) > 0:
            sizes[page] = (record["x0"] / corners[0], record["y0"] / corners[1])
        words.append((record["value"], page, corners))
    document = DocumentWords([], sizes)
    for place, (text, page, (x0, y0, x1, y1)) in enumerate(words):
        ratio = document.ratio(page)
        words[place] = Word(text, page, x0, y0 * ratio, x1, y1 * ratio)
    return DocumentWords(_cells(words), sizes)


def _of_runs(sheet: PageRuns) -> Iterator[Word]:
    """The words of a page; within a run each letter is as wide as the others."""
    for run in sheet.runs:
        step = (run.x1 - run.x0) / max(len(run.text), 1)
        for match in re.finditer(r"\S+", run.text):
            sides = (run.x0 + step * match.start(), run.y0, run.x0 + step * match.end(), run.y1)
            yield Word(match[0], run.page, *(side / sheet.width for side in sides))


def _cells(words: list[Word]) -> list[Cell]:
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
                cell.above = cell.head = above = _above(cell, rows[:place])
                if above and in_table[place] and in_table[above.row - rows[0][0].row]:
                    cell.head = above.head
        cells += [cell for line in rows for cell in line]
    return cells


def _split(line: list[Word], row: int) -> list[Cell]:
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


def _above(cell: Cell, rows: list[list[Cell]]) -> Cell | None:
    for line in reversed(rows):
        for other in line:
            if min(cell.x1, other.x1) > max(cell.x0, other.x0):
                return other
    return None
