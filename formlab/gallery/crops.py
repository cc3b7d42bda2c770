"""The part of a page that a case is on: cut around its boxes, as one small image."""

import base64
import functools
import hashlib
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from formlab import pictures
from formlab.charts.escaping import clean
from formlab.errors import DataBroken, FormlabError
from formlab.tables import BOX

Box = tuple[float, float, float, float]
Row = Mapping[str, Any]
DOCUMENT = ("benchmark", "split", "doc_id")
# The largest image, and that of a page which is there to be read as a whole.
MOST, READ = (480, 720), (620, 900)
# A smaller cut shows no neighbours, and a value without its label is hard to judge.
LEAST, MARGIN = (240, 84), (40, 28)
# A PDF measured in points, 72 to the inch, is drawn this much larger: small print is to be read.
SHARP, FINE = 2.0, 1_000


class PageSource(NamedTuple):
    """The page images of a document: one file with all pages, or a file for each.

    `width` is that of the first page of a PDF in the unit of the boxes.
    """

    root: Path
    pages: tuple[str | None, ...]
    width: int | None = None

    def read(self, page: int) -> tuple[Image.Image, float]:
        """A decoded page, from 1, and how many of its pixels are one pixel of the boxes."""
        name, number = self.pages[0], page
        if len(self.pages) > 1:
            name, number = dict(enumerate(self.pages, start=1)).get(page), 1
        if not name:
            raise DataBroken(f"no page {page}, the document has {len(self.pages)}")
        path = self.root / name
        try:
            zoom = SHARP if pictures.is_pdf(path) and (self.width or 0) < FINE else 1.0
            return pictures.read_image(path, page=number, width=self.width, zoom=zoom), zoom
        except ValueError as error:
            # A NUL in a path is a ValueError before it is a missing file.
            raise FormlabError(f"not a usable path: {error}") from error


def finite(values: Sequence[float | None]) -> Box | None:
    """Four coordinates as a box with its corners in order; None if any is null, NaN or infinite.

    >>> finite([5, 9, 1, 2]), finite([0, 0, None, 1]), finite([0, 0, float("inf"), 1])
    ((1.0, 2.0, 5.0, 9.0), None, None)
    """
    if any(value is None or not math.isfinite(value) for value in values):
        return None
    x0, y0, x1, y1 = (float(value) for value in values if value is not None)
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


def fractions(box: Box, place: Sequence[float]) -> list[float] | None:
    """`box` as left, top, width and height in shares of a place; None if it lies outside.

    >>> fractions((5, 0, 10, 40), (0, 0, 20, 20)), fractions((5, 0, 10, 4), (0, 9, 20, 20))
    ([0.25, 0.0, 0.25, 1.0], None)
    """
    (x0, y0, x1, y1), (left, top, right, bottom) = box, place
    if x1 < left or x0 > right or y1 < top or y0 > bottom:
        return None
    x0, x1 = (min(max((x - left) / (right - left), 0.0), 1.0) for x in (x0, x1))
    y0, y1 = (min(max((y - top) / (bottom - top), 0.0), 1.0) for y in (y0, y1))
    return [round(value, 5) for value in (x0, y0, x1 - x0, y1 - y0)]


def area(boxes: Sequence[Box], page: tuple[int, int]) -> tuple[int, ...]:
    """The corners of the part of a page around boxes, with a margin; without any the whole page.

    >>> area([(300, 300, 340, 312)], (1000, 1000)), area([], (1000, 800))
    ((200, 264, 440, 348), (0, 0, 1000, 800))
    """
    cuts = []
    for side, size in enumerate(page):
        low = max(min((box[side] for box in boxes), default=0.0), 0.0)
        high = min(max((box[side + 2] for box in boxes), default=size), float(size))
        length = min(size, max(LEAST[side], round(high - low + 2 * MARGIN[side])))
        start = min(max(round((low + high - length) / 2), 0), size - length)
        cuts.append((start, start + length))
    return tuple(corner for ends in zip(*cuts, strict=True) for corner in ends)


class Crops:
    """Cuts pages to images of at most so many pixels across and down, each kept once.

    `images` maps a key, the start of the SHA-256 of the image, to ``{src, width, height}``; with
    `whole` they are of whole pages, whatever the boxes.
    """

    def __init__(self, most: tuple[int, int], *, whole: bool = False) -> None:
        self.most, self.whole = most, whole
        self.images: dict[str, Row] = {}
        # One page is kept: cases come sorted by document, and a decoded page is megabytes.
        self._read = functools.lru_cache(maxsize=1)(PageSource.read)

    def crop(
        self, source: PageSource, page: int, boxes: Mapping[str, Box]
    ) -> tuple[str, dict[str, list[float]]]:
        """The key of the part of a page around boxes, and those in it as `fractions` of it."""
        image, zoom = self._read(source, page)
        width, height = (max(1, int(side / zoom)) for side in image.size)
        on_page = [box for box in boxes.values() if fractions(box, (0, 0, width, height))]
        place = area([] if self.whole else on_page, (width, height))
        cut = image.crop(tuple(round(end * zoom) for end in place))
        cut.thumbnail(self.most, Image.Resampling.LANCZOS)
        # Method 2 takes a third of the time of 4, and its files are as small.
        cut.save(stream := io.BytesIO(), "WEBP", method=2, quality=60)
        data = stream.getvalue()
        key = hashlib.sha256(data).hexdigest()[:16]
        address = f"data:image/webp;base64,{base64.b64encode(data).decode('ascii')}"
        self.images[key] = {"src": address, "width": cut.width, "height": cut.height}
        found = ((name, fractions(box, place)) for name, box in boxes.items())
        return key, {name: shares for name, shares in found if shares}

    def of_cases(
        self, cases: Sequence[Sequence[Row]], sources: Mapping[Any, PageSource], most: int
    ) -> list[dict[str, Any]]:
        """The picture of each case, a row for each of its answers: `sources` are by document.

        ``image`` is a key or None; ``boxes`` are of ``gold``, ``pred`` and ``pred2`` onwards, and
        ``why`` says what cannot be shown. At most so many have an image: the first.
        """
        shown = []
        for place, case in enumerate(cases):
            picture: dict[str, Any] = {"image": None, "boxes": {}, "why": None}
            source = sources.get(tuple(case[0][name] for name in DOCUMENT))
            if source and place < most:
                try:
                    picture = self._of_case(source, case)
                except FormlabError as error:
                    picture["why"] = f"{error.what}: {clean(source.pages[0], limit=200)}"
            elif source and most:
                picture["why"] = f"pictures are shown of {most:,} cases"
            shown.append(picture)
        return shown

    def _of_case(self, source: PageSource, answers: Sequence[Row]) -> dict[str, Any]:
        """The page of the gold, else of the first answer."""
        sides = [("gold", "gold", answers[0], ""), ("pred", "predicted", answers[0], "pred_")]
        for number, row in enumerate(answers[1:], start=2):
            sides.append((f"pred{number}", clean(row["system"], limit=80), row, "pred_"))
        boxes, titles, pages = dict[str, Box](), {}, {}
        for name, titles[name], row, side in sides:
            if box := finite([row[side + end] for end in BOX]):
                boxes[name] = box
                pages[name] = row[f"{side}page"] or row["page"] or row["pred_page"] or 1
        page = next(iter(pages.values()), answers[0]["page"] or answers[0]["pred_page"] or 1)
        near = {name: box for name, box in boxes.items() if pages[name] == page}
        key, shown = self.crop(source, page, near)
        hidden = [
            f"the {titles[name]} box {'lies off the page' if name in near else f'is on page {at}'}"
            for name, at in pages.items()
            if name not in shown
        ]
        return {"image": key, "boxes": shown, "why": "; ".join(hidden) or None}
