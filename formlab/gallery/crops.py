"""The part of a page that a case is on: cut around its boxes, as one small image."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from formlab import files, pictures
from formlab.charts.escaping import clean
from formlab.errors import DataBroken, FormlabError

Box = tuple[float, float, float, float]
Row = Mapping[str, Any]
# An image is bounded; a smaller cut shows no neighbours, and a value without its label is hard to
# judge.
MOST, LEAST, MARGIN = (480, 720), (240, 84), (40, 28)
# A page without boxes is shown whole, all such pages of a gallery together in so many pixels.
PIXELS, WHOLE = 24_000_000, (80_000, 250_000)
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

    def location(self, page: int) -> tuple[Path, int]:
        """The file that a page, from 1, is in, and its number there."""
        if len(self.pages) < 2:
            return self.root / self.image, page
        if page > len(self.pages):
            raise DataBroken(f"no page {page}, the document has {len(self.pages)}")
        return self.root / (self.pages[page - 1] or self.image), 1


@dataclasses.dataclass(frozen=True)
class Crop:
    """An image's key in `Crops.images`, and the cut in page pixels: left, top, width, height."""

    key: str
    left: int
    top: int
    width: int
    height: int

    def fractions(self, box: Box) -> list[float] | None:
        """`box` as fractions of the crop: left, top, width, height; None if it lies outside."""
        corners = []
        for side, (start, length) in enumerate(((self.left, self.width), (self.top, self.height))):
            if box[side + 2] < start or box[side] > start + length:
                return None
            ends = ((box[at] - start) / length for at in (side, side + 2))
            corners.append([min(max(end, 0.0), 1.0) for end in ends])
        (x0, x1), (y0, y1) = corners
        return [round(value, 5) for value in (x0, y0, x1 - x0, y1 - y0)]


def finite(values: Sequence[float | None]) -> Box | None:
    """Four coordinates as a box with its corners in order; None if any is null, NaN or infinite.

    Examples
    --------
    >>> finite([5, 9, 1, 2]), finite([0, 0, None, 1]), finite([0, 0, float("inf"), 1])
    ((1.0, 2.0, 5.0, 9.0), None, None)
    """
    if any(value is None or not math.isfinite(value) for value in values):
        return None
    x0, y0, x1, y1 = (float(value) for value in values if value is not None)
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


def area(boxes: Sequence[Box], page: tuple[int, int]) -> tuple[int, int, int, int]:
    """The part of a page to show: the union of `boxes` with a margin, else the whole page.

    Examples
    --------
    >>> area([(300, 300, 340, 312)], (1000, 1000))
    (200, 264, 240, 84)
    >>> area([], (1000, 800))
    (0, 0, 1000, 800)
    """
    width, height = page
    inside = [b for b in boxes if b[0] <= width and b[1] <= height and b[2] >= 0 and b[3] >= 0]
    if not inside:
        return 0, 0, width, height
    cuts = []
    for side in (0, 1):
        size = page[side]
        low = max(min(box[side] for box in inside), 0.0)
        high = min(max(box[side + 2] for box in inside), float(size))
        length = min(size, max(LEAST[side], round(high - low + 2 * MARGIN[side])))
        cuts.append((min(max(round((low + high - length) / 2), 0), size - length), length))
    (left, across), (top, down) = cuts
    return left, top, across, down


class Crops:
    """Cuts pages, keeping each distinct image once.

    `pixels` bounds a page that is shown whole. `images` maps a key, the start of the SHA-256 of
    the image, to ``{src, width, height}``.
    """

    def __init__(self, pixels: int) -> None:
        self.pixels = pixels
        self.images: dict[str, dict[str, Any]] = {}
        self._page: tuple[Any, Any] = (None, None)

    def crop(self, source: PageSource, page: int = 1, boxes: Sequence[Box] = ()) -> Crop:
        """The crop of a page around `boxes`; the whole page if there are none."""
        # One page is kept: cases come sorted by document, and a decoded page is megabytes.
        if self._page[0] != (source, page):
            self._page = ((source, page), _read(source, page))
        if isinstance(self._page[1], FormlabError):
            raise self._page[1]
        image, zoom = self._page[1]
        width, height = (max(1, int(side / zoom)) for side in image.size)
        left, top, across, down = area(boxes, (width, height))
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
        return Crop(key, left, top, across, down)


def _read(source: PageSource, page: int) -> tuple[Image.Image, float] | FormlabError:
    """A decoded page, and how many of its pixels are one pixel of the boxes; or what is wrong."""
    try:
        path, number = source.location(page)
        pdf = files.read_bytes(path, 5) == b"%PDF-"
        zoom = SHARP if pdf and (source.width or 0) < FINE else 1.0
        return pictures.read_image(path, page=number, width=source.width, zoom=zoom), zoom
    except FormlabError as error:
        return error
    except ValueError as error:
        # A NUL in a path is a ValueError before it is a missing file.
        return FormlabError(f"not a usable path: {error}")


def document_key(row: Row) -> tuple[str, str, str]:
    """The key of a row's document."""
    return str(row["benchmark"]), str(row["split"]), str(row["doc_id"])


def pictures_of(
    rows: Sequence[Row],
    beside: Sequence[Sequence[Row]],
    sources: Mapping[tuple[str, str, str], PageSource],
    *,
    most: int,
    crop: bool,
) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """The picture of each row, and the images by key.

    A picture has ``image`` (a key, or None), ``boxes`` as fractions of it, of ``gold``, ``pred``
    and ``pred2`` onwards, and ``why`` if something cannot be shown. At most `most` rows have one.
    """
    placed = [_boxes(row, others) for row, others in zip(rows, beside, strict=True)]
    whole = [row for row, boxes in zip(rows, placed, strict=True) if not (crop and boxes)]
    pixels = PIXELS // max(1, len(set(map(document_key, whole))))
    # Pages that are asked for are there to be read.
    least, largest = WHOLE[0], WHOLE[1] * (1 if crop else 2)
    crops, drawn = Crops(min(largest, max(least, pixels))), []
    chosen = _spread(len(rows), most)
    for place, (row, others, boxes) in enumerate(zip(rows, beside, placed, strict=True)):
        # The page of the gold box, else of the first predicted one.
        page = next((p for p, _ in boxes.values()), row["page"] or row["pred_page"] or 1)
        picture: dict[str, Any] = {"image": None, "boxes": {}, "why": None}
        source = sources.get(document_key(row))
        if source is not None and place not in chosen:
            picture["why"] = f"pictures are shown of {len(chosen):,} cases"
        elif source is not None:
            near = {name: box for name, (at, box) in boxes.items() if at == page}
            try:
                cut = crops.crop(source, page, list(near.values()) if crop else ())
            except FormlabError as error:
                picture["why"] = f"{error.what}: {clean(source.image, limit=200)}"
            else:
                found = {name: cut.fractions(box) for name, box in near.items()}
                shown = {name: box for name, box in found.items() if box is not None}
                why = _why(boxes, shown, page, others)
                picture = {"image": cut.key, "boxes": shown, "why": why}
        drawn.append(picture)
    return drawn, crops.images


def _spread(count: int, most: int) -> set[int]:
    """So many of `count` places: those of the first page, and others evenly after them."""
    first = min(FIRST, most, count)
    more = min(most, count) - first
    return {*range(first), *(first + n * (count - first) // more for n in range(more))}


def _boxes(row: Row, beside: Sequence[Row]) -> dict[str, tuple[int, Box]]:
    """Page and box of the gold, ``pred``, and ``pred2`` onwards of further predictions."""
    sides = {"gold": (row, "", row["page"] or row["pred_page"])}
    for number, answer in enumerate([row, *beside], start=1):
        name = "pred" if number == 1 else f"pred{number}"
        sides[name] = (answer, "pred_", answer["pred_page"] or row["page"])
    return {
        name: (page or 1, box)
        for name, (answer, prefix, page) in sides.items()
        if (box := finite([answer[f"{prefix}{end}"] for end in ("x0", "y0", "x1", "y1")]))
    }


def _why(
    boxes: Mapping[str, tuple[int, Box]], shown: Mapping[str, Any], page: int, beside: Sequence[Row]
) -> str | None:
    """What the picture does not show of the boxes."""
    names = {"gold": "gold", "pred": "predicted"}
    names |= {f"pred{i}": clean(other["system"], limit=80) for i, other in enumerate(beside, 2)}
    away = [f"the {names[n]} box is on page {at}" for n, (at, _) in boxes.items() if at != page]
    outside = [names[n] for n, (at, _) in boxes.items() if at == page and n not in shown]
    lost = [f"the {' and '.join(outside)} box lies off the page"] if outside else []
    return "; ".join([*away, *lost]) or None
