"""The part of a page that a case is on: cut around its boxes, as one small image."""

from __future__ import annotations

import base64
import functools
import hashlib
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from PIL import Image

from formlab import pictures
from formlab.charts.escaping import clean
from formlab.errors import DataBroken, FormlabError
from formlab.tables import BOX

Box = tuple[float, float, float, float]
Row = Mapping[str, Any]
# An image is bounded; a smaller cut shows no neighbours, and a value without its label is hard to
# judge.
MOST, LEAST, MARGIN = (480, 720), (240, 84), (40, 28)
# So many pixels has a page that is shown whole; one that is asked for is there to be read.
WHOLE, READ = 250_000, 500_000
QUALITY = 60
# Cases on the first page of a gallery.
FIRST = 24
# A PDF measured in points, 72 to the inch, is drawn this much larger: small print is to be read.
SHARP, FINE = 2.0, 1_000


class PageSource(NamedTuple):
    """The page images of a document: one file with all pages, or a file for each.

    `width` is that of the first page in the unit of the boxes; it matters of a PDF alone.
    """

    root: Path
    image: str
    width: int | None = None
    pages: tuple[str | None, ...] = ()

    def read(self, page: int) -> tuple[Image.Image, float]:
        """A decoded page, from 1, and how many of its pixels are one pixel of the boxes."""
        path, number = self.root / self.image, page
        if len(self.pages) > 1:
            if page > len(self.pages):
                raise DataBroken(f"no page {page}, the document has {len(self.pages)}")
            path, number = self.root / (self.pages[page - 1] or self.image), 1
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


def area(boxes: Sequence[Box], page: tuple[int, int]) -> tuple[int, int, int, int]:
    """The part of a page to show, as left, top, width and height: the union of `boxes` with a
    margin, else the whole page.

    >>> area([(300, 300, 340, 312)], (1000, 1000))
    (200, 264, 240, 84)
    >>> area([], (1000, 800))
    (0, 0, 1000, 800)
    """
    inside = [box for box in boxes if _within(box, (0, 0, *page))]
    if not inside:
        return 0, 0, *page
    cuts = []
    for side, size in enumerate(page):
        low = max(min(box[side] for box in inside), 0.0)
        high = min(max(box[side + 2] for box in inside), float(size))
        length = min(size, max(LEAST[side], round(high - low + 2 * MARGIN[side])))
        cuts.append((min(max(round((low + high - length) / 2), 0), size - length), length))
    (left, across), (top, down) = cuts
    return left, top, across, down


def _within(box: Box, place: tuple[int, int, int, int]) -> list[float] | None:
    """`box` as fractions of an area: left, top, width, height; None if it lies outside."""
    corners = []
    for side in (0, 1):
        start, length = place[side], place[side + 2]
        if box[side + 2] < start or box[side] > start + length:
            return None
        ends = ((box[end] - start) / length for end in (side, side + 2))
        corners.append([min(max(end, 0.0), 1.0) for end in ends])
    (x0, x1), (y0, y1) = corners
    return [round(value, 5) for value in (x0, y0, x1 - x0, y1 - y0)]


class Crops:
    """Cuts pages, keeping each distinct image once.

    `pixels` bounds a page that is shown whole. `images` maps a key, the start of the SHA-256 of
    the image, to ``{src, width, height}``.
    """

    def __init__(self, pixels: int) -> None:
        self.pixels = pixels
        self.images: dict[str, dict[str, Any]] = {}
        # One page is kept: cases come sorted by document, and a decoded page is megabytes.
        self._read = functools.lru_cache(maxsize=1)(PageSource.read)

    def crop(
        self,
        source: PageSource,
        page: int = 1,
        boxes: Mapping[str, Box] = MappingProxyType({}),
        *,
        whole: bool = False,
    ) -> tuple[str, dict[str, list[float]]]:
        """The key of the part of a page around `boxes`, and those in it as fractions of it."""
        image, zoom = self._read(source, page)
        width, height = (max(1, int(side / zoom)) for side in image.size)
        place = area([] if whole else list(boxes.values()), (width, height))
        left, top, across, down = place
        ends = (left * zoom, top * zoom, (left + across) * zoom, (top + down) * zoom)
        cut = image.crop(tuple(map(round, ends)))
        bound = MOST
        if (across, down) == (width, height):
            shrink = min(1.0, math.sqrt(self.pixels / (cut.width * cut.height)))
            bound = (max(1, int(cut.width * shrink)), max(1, int(cut.height * shrink)))
        cut.thumbnail(bound, Image.Resampling.LANCZOS)
        stream = io.BytesIO()
        # Method 2 takes a third of the time of 4, and its files are as small.
        cut.save(stream, "WEBP", method=2, quality=QUALITY)
        data = stream.getvalue()
        key = hashlib.sha256(data).hexdigest()[:16]
        address = f"data:image/webp;base64,{base64.b64encode(data).decode('ascii')}"
        self.images[key] = {"src": address, "width": cut.width, "height": cut.height}
        found = ((name, _within(box, place)) for name, box in boxes.items())
        return key, {name: shares for name, shares in found if shares}


def pictures_of(
    answers: Sequence[Sequence[Row]],
    sources: Sequence[PageSource | None],
    *,
    most: int,
    crop: bool,
) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """The picture of each case, a row for each of its answers, and the images by key.

    A picture has ``image`` (a key, or None), ``boxes`` as fractions of it, of ``gold``, ``pred``
    and ``pred2`` onwards, and ``why`` if something cannot be shown. At most `most` cases have one:
    those of the first page, and others evenly after them.
    """
    count = len(answers)
    first, more = min(FIRST, most, count), min(most, count) - min(FIRST, most, count)
    chosen = {*range(first), *(first + n * (count - first) // more for n in range(more))}
    crops, shown = Crops(WHOLE if crop else READ), []
    for at, (rows, source) in enumerate(zip(answers, sources, strict=True)):
        picture: dict[str, Any] = {"image": None, "boxes": {}, "why": None}
        if source and at in chosen:
            try:
                picture = _picture(crops, source, rows, crop=crop)
            except FormlabError as error:
                picture["why"] = f"{error.what}: {clean(source.image, limit=200)}"
        elif source and most:
            picture["why"] = f"pictures are shown of {len(chosen):,} cases"
        shown.append(picture)
    return shown, crops.images


def _picture(
    crops: Crops, source: PageSource, answers: Sequence[Row], *, crop: bool
) -> dict[str, Any]:
    """What a page shows of the boxes of a case: the page of the gold, else of the first answer."""
    first = answers[0]
    boxes: dict[str, tuple[int, Box]] = {}
    titles = {"gold": "gold", "pred": "predicted"}
    if box := finite([first[end] for end in BOX]):
        boxes["gold"] = (first["page"] or first["pred_page"] or 1, box)
    for number, row in enumerate(answers, start=1):
        name = "pred" if number == 1 else f"pred{number}"
        titles.setdefault(name, clean(row["system"], limit=80))
        if box := finite([row[f"pred_{end}"] for end in BOX]):
            boxes[name] = (row["pred_page"] or first["page"] or 1, box)
    page = next((at for at, _ in boxes.values()), first["page"] or first["pred_page"] or 1)
    near = {name: box for name, (at, box) in boxes.items() if at == page}
    key, shown = crops.crop(source, page, near, whole=not crop)
    why = [
        f"the {titles[name]} box is on page {at}" for name, (at, _) in boxes.items() if at != page
    ]
    if outside := [titles[name] for name in near if name not in shown]:
        why.append(f"the {' and '.join(outside)} box lies off the page")
    return {"image": key, "boxes": shown, "why": "; ".join(why) or None}
