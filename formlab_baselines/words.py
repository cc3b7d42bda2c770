"""The words of a document in runs, lines and cells: supplied OCR, the text of a PDF, else OCR."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from formlab import files, pictures, resources
from formlab.benchmarks import vrdu
from formlab.benchmarks.corpus import around, meta_of
from formlab.errors import DataMissing
from formlab.systems import ocr
from formlab.systems.pages import page_files
from formlab.tables import BOX
from formlab.text.markup import in_rows

# Settings of how a PDF is read: pages without a text are drawn so much larger for the OCR.
DEFAULTS = {"scale": 2.0, "pages": 5} | ocr.ENGINE
# A page with less text than this is a scan.
_LEAST_TEXT = 20
# A wider gap than this many heights of the word before it begins another cell.
_GAP = 0.75
# Edges of a column are this near each other, in widths of the page.
_EDGE = 0.01
# Height over width of a page of unknown size.
_LETTER = 11 / 8.5
Row = dict[str, Any]


class Run(NamedTuple):
    """A piece of text on a page (from 1), its corners in points or pixels from the top left."""

    text: str
    page: int
    x0: float
    y0: float
    x1: float
    y1: float
    score: float = 1.0

    @property
    def box(self) -> tuple[float, ...]:
        """Its corners."""
        return self[2:6]

    def holds(self, other: Run) -> bool:
        """Whether the centre of another is inside."""
        x, y = (other.x0 + other.x1) / 2, (other.y0 + other.y1) / 2
        return self.x0 <= x <= self.x1 and self.y0 <= y <= self.y1

    def is_below(self, other: Run) -> bool:
        """Whether it shares a part of the width with another, above or below."""
        return min(self.x1, other.x1) > max(self.x0, other.x0)

    def words(self) -> Iterator[Run]:
        """Its words, each as wide as its share of the letters."""
        step = (self.x1 - self.x0) / max(len(self.text), 1)
        for match in re.finditer(r"\S+", self.text):
            x0, x1 = self.x0 + step * match.start(), self.x0 + step * match.end()
            yield self._replace(text=match[0], x0=x0, x1=x1)


def merged(runs: Iterable[Run]) -> Run:
    """Runs of a page as one, as sure as the least sure of them."""
    texts, pages, x0, y0, x1, y1, scores = zip(*runs, strict=True)
    return Run(" ".join(texts), pages[0], min(x0), min(y0), max(x1), max(y1), min(scores))


class Sheet(NamedTuple):
    """The size of a page, in points or pixels, and its runs in reading order."""

    width: float
    height: float
    runs: list[Run]


def entity_row(path: str, name: str, run: Run, factor: float | None) -> Row:
    """The record of an entity, whose box is that of the run times `factor`; without it none."""
    row = {"task": "entity", "path": path, "kind": name, "value": run.text, "page": run.page}
    return row | {side: value * factor for side, value in zip(BOX, run.box, strict=True) if factor}


def zoom(sheets: list[Sheet], width: float | None) -> float:
    """The units of a document whose first page is so wide, to those of its sheets."""
    return width / sheets[0].width if sheets and width else 1.0


# Few documents are scans: the models are loaded at the first of them.
@cache
def _engine(settings: frozenset[tuple[str, Any]], threads: int) -> ocr.Engine:
    resources.need("ocr")
    return ocr.Engine(dict(settings), threads=threads)


def sheets(path: Path, settings: Row, threads: int) -> Iterator[Sheet]:
    """The pages of a PDF or an image; OCR reads those without a text."""

    def read(image: Any, number: int, scale: float) -> list[Run]:
        lines = _engine(frozenset((name, settings[name]) for name in ocr.ENGINE), threads)(image)
        return [Run(line.text, number, *around(np.array(line.corners) / scale)) for line in lines]

    if not pictures.is_pdf(path):
        image = pictures.read_image(path)
        yield Sheet(image.width, image.height, read(image, 1, 1.0))
        return
    with pictures.pdf(path) as document:
        scale = settings["scale"]
        for number in range(min(len(document), settings["pages"])):
            page = document[number]
            runs = _joined(list(_text_runs(page, number + 1)))
            if sum(len(run.text) for run in runs) < _LEAST_TEXT:
                runs = read(page.render(scale=scale).to_numpy(), number + 1, scale)
            runs.sort(key=lambda run: (round(run.y0), run.x0))
            yield Sheet(*page.get_size(), runs)


def _text_runs(page: Any, number: int) -> Iterator[Run]:
    turned, (width, height) = page.get_rotation(), page.get_size()
    text = page.get_textpage()
    for index in range(text.count_rects()):
        left, bottom, right, top = text.get_rect(index)
        value = " ".join(text.get_text_bounded(left, bottom, right, top).split())
        if not value:
            continue
        # The text's own coordinates are those of the page before it was turned.
        corners = {
            0: (left, height - top, right, height - bottom),
            90: (bottom, left, top, right),
            180: (width - right, bottom, width - left, top),
            270: (width - top, height - right, width - bottom, height - left),
        }[turned]
        yield Run(value, number, *corners)


def _joined(runs: list[Run]) -> list[Run]:
    """Runs of one row that stand no further apart than words do, as one."""
    lines: list[Run] = []
    for run in sorted(runs, key=lambda run: (round(run.y1), run.x0)):
        last = lines[-1] if lines else None
        if last and abs(last.y1 - run.y1) < 2 and -1 < run.x0 - last.x1 < 0.4 * (last.y1 - last.y0):
            top, bottom = min(last.y0, run.y0), max(last.y1, run.y1)
            lines[-1] = Run(f"{last.text} {run.text}", run.page, last.x0, top, run.x1, bottom)
        else:
            lines.append(run)
    return lines


@dataclass(eq=False)
class Cell:
    """Words of a line that stand close together, with corners in widths of the page."""

    words: list[Run]
    row: int
    left: Cell | None = None
    above: Cell | None = None
    first: Cell | None = None  # Of its line.
    head: Cell | None = None  # On top of its column, as far up as lines have the same columns.

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
        return merged(self.cell.words[self.start : self.stop])


@dataclass(frozen=True, eq=False)
class DocumentWords:
    """The cells of a document in reading order, and width and height of each page in its units."""

    cells: list[Cell]
    sizes: dict[int, tuple[float, float]]

    def ratio(self, page: int) -> float:
        """The height of a page over its width."""
        width, height = self.sizes.get(page, (1.0, _LETTER))
        return height / width

    def record(self, path: str, name: str, span: Span, confidence: float) -> Row:
        """The record of a predicted entity; without a box where the page's size is not known."""
        width, _ = self.sizes.get(span.cell.page, (None, None))
        return entity_row(path, name, span.run, width) | {"confidence": confidence}


def mask(text: str) -> str:
    """A text without case, its digits as 0: ``order # 000000`` of "Order # 204417"."""
    return re.sub(r"\d", "0", text.casefold())


def reader(settings: Row, threads: int) -> Callable[[Row, Path | None], DocumentWords]:
    """Reads a document's row, below a root: the supplied OCR, else text of the PDF, else OCR."""
    options = frozenset((name, settings.get(name, value)) for name, value in DEFAULTS.items())

    def read(document: Row, root: Path | None) -> DocumentWords:
        if supplied := vrdu.words(document, root):
            return _of_records(supplied)
        path = page_files(document, root)[0]
        if not path.is_file():
            raise DataMissing("the page of this document is not there", where=path)
        return _of_file(path, files.sha256(path), document["width"], options, threads)

    return read


# The splits of a data set share its documents.
@lru_cache(maxsize=512)
def _of_file(
    path: Path, _content: str, width: float | None, settings: frozenset, threads: int
) -> DocumentWords:
    found = list(sheets(path, dict(settings), threads))
    factor, words = zoom(found, width), []
    for sheet in found:
        for word in chain.from_iterable(run.words() for run in sheet.runs):
            words.append(Run(*word[:2], *(side / sheet.width for side in word.box)))
    sizes = {n: (s.width * factor, s.height * factor) for n, s in enumerate(found, start=1)}
    return DocumentWords(cells_of(words), sizes)


def _of_records(records: list[Row]) -> DocumentWords:
    words = [Run(row["value"], row["page"], *meta_of(row)["box"][1:]) for row in records]
    sizes = {
        word.page: (row["x0"] / word.x0, row["y0"] / word.y0)
        for row, word in zip(records, words, strict=True)
        if row.get("x0") is not None and min(word.box) > 0
    }
    ratio = DocumentWords([], sizes).ratio
    words = [w._replace(y0=w.y0 * ratio(w.page), y1=w.y1 * ratio(w.page)) for w in words]
    return DocumentWords(cells_of(words), sizes)


def cells_of(words: list[Run]) -> list[Cell]:
    """The cells of all pages, line by line, each from left to right."""
    cells: list[Cell] = []
    row = 0
    for page in sorted({word.page for word in words}):
        page_words = [word for word in words if word.page == page]
        lines: list[list[Cell]] = []
        for places in in_rows(np.array([word.box for word in page_words])):
            lines.append(_split([page_words[place] for place in places], row))
            row += 1
        in_table = [False, *map(_aligned, lines, lines[1:])]
        for place, line in enumerate(lines):
            before = [cell for earlier in reversed(lines[:place]) for cell in earlier]
            for left, cell in zip([None, *line], line, strict=False):
                overlapping = (o for o in before if min(cell.x1, o.x1) > max(cell.x0, o.x0))
                above = next(overlapping, None)
                cell.first, cell.left, cell.above, cell.head = line[0], left, above, above
                if above and in_table[place] and in_table[above.row - lines[0][0].row]:
                    cell.head = above.head
        cells += [cell for line in lines for cell in line]
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
