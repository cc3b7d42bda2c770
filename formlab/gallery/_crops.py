"""Read the pages that cases are on, and keep each as one image: whole, or cut around its boxes."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from formlab import files, pictures
from formlab.errors import DataBroken, FormlabError

Box = tuple[float, float, float, float]
Area = tuple[int, int, int, int]
WIDTH = 400
PAGE_PIXELS = 1_500_000
# A crop smaller than this shows no neighbours, and a value without its label is hard to judge.
LEAST = (240, 84)
QUALITY = 70
# In shades of grey a scan is coded without loss; what takes more bytes a pixel so is a photograph.
GREYS, PHOTOGRAPH, LOW_QUALITY = 4, 0.06, 30
# A PDF measured in points, 72 to the inch, is drawn this much larger: small print is to be read.
SHARP, FINE = 2.0, 1_000


class PageSource(NamedTuple):
    """A page, from 1, of a document: of one file, or of several, its `pages`.

    `width` is that of the first page in the unit of the boxes; it matters of a PDF alone. `root`
    is the folder that the files are in, where it is another than that of the `Crops`.
    """

    image: str
    page: int = 1
    width: int | None = None
    pages: tuple[str | None, ...] = ()
    root: Path | None = None

    @property
    def location(self) -> tuple[str, int]:
        """The file that the page is in, and its number there."""
        if len(self.pages) < 2:
            return self.image, self.page
        if self.page > len(self.pages):
            raise DataBroken(f"no page {self.page}, the document has {len(self.pages)}")
        return self.pages[self.page - 1] or self.image, 1


class _DecodedPage(NamedTuple):
    """A decoded page, and how many of its pixels are one pixel of the boxes."""

    image: Image.Image
    zoom: float

    @property
    def size(self) -> tuple[int, int]:
        width, height = (max(1, int(side / self.zoom)) for side in self.image.size)
        return width, height


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


def area(boxes: Sequence[Box], page: tuple[int, int]) -> Area:
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
    x0, y0 = (min(box[side] for box in inside) for side in (0, 1))
    x1, y1 = (max(box[side] for box in inside) for side in (2, 3))
    left, across = _span(x0, x1, width, LEAST[0], margin=24)
    top, down = _span(y0, y1, height, LEAST[1], margin=18)
    return left, top, across, down


def _span(low: float, high: float, size: int, least: int, *, margin: int) -> tuple[int, int]:
    low, high = max(low, 0.0), min(high, float(size))
    length = min(size, max(least, round(high - low + 2 * margin)))
    start = round((low + high - length) / 2)
    return min(max(start, 0), size - length), length


def cut_pixels(cut: Area) -> int:
    """How many pixels the image of a cut has at the most, once bounded.

    Examples
    --------
    >>> cut_pixels((0, 0, 240, 84)), cut_pixels((0, 0, 800, 200))
    (20160, 40000)
    """
    shrink = min(1.0, WIDTH / cut[2], 2 * WIDTH / cut[3])
    return round(cut[2] * shrink * cut[3] * shrink)


class Crops:
    """Cuts pages, keeping each distinct image once.

    Parameters
    ----------
    root
        The folder that image paths are relative to.
    pixels
        A whole page is shrunk to at most so many, unless its call says otherwise.
    grey
        Whole pages are kept in four shades of grey.

    `images` maps a key, the start of the SHA-256 of the image, to ``{src, width, height}``.
    """

    def __init__(self, root: Path, *, pixels: int = PAGE_PIXELS, grey: bool = False) -> None:
        self.root = root
        self.grey = grey
        self.pixels = pixels
        self.images: dict[str, dict[str, object]] = {}
        self._page: tuple[PageSource, _DecodedPage | FormlabError] | None = None
        self._cut: dict[tuple[PageSource, Area, int | None], str] = {}

    def size(self, source: PageSource) -> tuple[int, int]:
        """Width and height of a page in the unit of its boxes."""
        return self._open(source).size

    def crop(
        self, source: PageSource, boxes: Sequence[Box], *, whole: bool = False,
        pixels: int | None = None,
    ) -> Crop:  # fmt: skip
        """The crop of a page around `boxes`; the whole page if there are none or if `whole`."""
        page = self._open(source)
        extent = area([] if whole else boxes, page.size)
        most = (pixels or self.pixels) if extent == (0, 0, *page.size) else None
        known = (source, extent, most)
        if known not in self._cut:
            self._cut[known] = self._keep(page, extent, most)
        return Crop(self._cut[known], *extent)

    def _open(self, source: PageSource) -> _DecodedPage:
        # One page is kept: cases come sorted by document, and a decoded page is megabytes.
        if self._page is None or self._page[0] != source:
            self._page = (source, self._read(source))
        page = self._page[1]
        if isinstance(page, FormlabError):
            raise page
        return page

    def _read(self, source: PageSource) -> _DecodedPage | FormlabError:
        try:
            name, number = source.location
            path = (source.root or self.root) / name
            pdf = files.read_bytes(path, 5) == b"%PDF-"
            zoom = SHARP if pdf and (source.width or 0) < FINE else 1.0
            image = pictures.read_image(path, page=number, width=source.width, zoom=zoom)
            return _DecodedPage(image, zoom)
        except FormlabError as error:
            return error
        except ValueError as error:
            # A NUL in a path is a ValueError before it is a missing file.
            return FormlabError(f"not a usable path: {error}")

    def _keep(self, page: _DecodedPage, extent: Area, most: int | None) -> str:
        left, top, width, height = (round(side * page.zoom) for side in extent)
        cut = page.image.crop((left, top, left + width, top + height))
        # Tall cuts are bounded as well: a column of a long receipt is not worth 4,000 pixels.
        bound = (WIDTH, 2 * WIDTH)
        if most is not None:
            shrink = min(1.0, math.sqrt(most / (cut.width * cut.height)))
            bound = (max(1, int(cut.width * shrink)), max(1, int(cut.height * shrink)))
        cut.thumbnail(bound, Image.Resampling.LANCZOS)
        data = _greys(cut) if self.grey and most is not None else _webp(cut, quality=QUALITY)
        key = hashlib.sha256(data).hexdigest()[:16]
        source = f"data:image/webp;base64,{base64.b64encode(data).decode('ascii')}"
        self.images[key] = {"src": source, "width": cut.width, "height": cut.height}
        return key


def _webp(image: Image.Image, *, method: int = 2, **how: Any) -> bytes:
    stream = io.BytesIO()
    # Method 2 takes a third of the time of 4, and its files are as small.
    image.save(stream, "WEBP", method=method, **how)
    return stream.getvalue()


def _greys(image: Image.Image) -> bytes:
    step = 255 / (GREYS - 1)
    grey = image.convert("L").point([round(round(value / step) * step) for value in range(256)])
    # Of lossless files method 0 takes half the time of 2, and they are a fourteenth larger.
    data = _webp(grey, lossless=True, quality=50, method=0)
    if len(data) > PHOTOGRAPH * image.width * image.height:
        return _webp(image, quality=LOW_QUALITY)
    return data
