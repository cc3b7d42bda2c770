"""Images and PDFs: their sizes without decoding, and their pages as they are shown."""

from __future__ import annotations

import math
import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from formlab.errors import DataBroken
from formlab.files import read_bytes

# What Pillow raises for files with broken headers: SyntaxError for a PNG, the lookups for a TIFF.
_UNREADABLE = (
    OSError, EOFError, ValueError, SyntaxError, TypeError, LookupError, struct.error,
    Image.DecompressionBombError,
)  # fmt: skip

# The number of EXIF's orientation, and how each turns an image.
_ORIENTATION = 0x0112
_TURNS = dict(enumerate((
    Image.Transpose.FLIP_LEFT_RIGHT, Image.Transpose.ROTATE_180, Image.Transpose.FLIP_TOP_BOTTOM,
    Image.Transpose.TRANSPOSE, Image.Transpose.ROTATE_270, Image.Transpose.TRANSVERSE,
    Image.Transpose.ROTATE_90,
), start=2))  # fmt: skip


def image_size(path: str | Path) -> tuple[int, int]:
    """Width and height in pixels of an image as it is shown, without decoding it."""
    with _image(path) as image:
        return _shown_size(image)


def _shown_size(image: Image.Image) -> tuple[int, int]:
    width, height = image.size
    return (height, width) if _orientation(image) in (5, 6, 7, 8) else (width, height)


def _orientation(image: Image.Image) -> int:
    """How the EXIF data of an image turns it, from 1 to 8; a TIFF is turned by Pillow."""
    if image.format == "TIFF":
        return 1
    try:
        with warnings.catch_warnings(action="ignore"):
            # Not that of a PNG, which decodes it: EXIF data behind the pixels is not looked at.
            return Image.Image.getexif(image).get(_ORIENTATION, 1)
    except _UNREADABLE:
        return 1


def _as_shown(image: Image.Image) -> Image.Image:
    """An image in RGB, turned as its EXIF data say, with all greys of 16 bits as 8."""
    turn = _TURNS.get(_orientation(image))
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        image = _as_grey(np.nan_to_num(np.asarray(image, np.float64)), image.mode)
    image = image.convert("RGB")
    return image if turn is None else image.transpose(turn)


def _as_grey(values: np.ndarray, mode: str) -> Image.Image:
    """Greys of 8 bits of the values of an image that has more than 256 of them."""
    low, high = min(0.0, values.min()), values.max()
    # White is what the mode has as its largest value, not what this page has.
    white = [255, 65535] if mode in ("I", "F") else [65535]
    high = next((each for each in white if high <= each), high)
    return Image.fromarray(np.round((values - low) * (255 / (high - low))).astype(np.uint8))


def upright_format(path: str | Path) -> str:
    """The format of an image whose pixels are shown as they are stored; of another, nothing."""
    with _image(path) as image:
        return image.format or "" if _orientation(image) == 1 else ""


class PageSize(NamedTuple):
    """Width and height of a page in pixels or points, and how many go to an inch; 0 if unknown."""

    width: float
    height: float
    dpi: float = 0.0


def image_sizes(path: str | Path) -> list[PageSize]:
    """The size of each page of an image, without decoding it: only a TIFF may have several."""
    sizes = []
    with _image(path) as image:
        for number in range(_frames(image)):
            image.seek(number)
            sizes.append(PageSize(*_shown_size(image), _dpi(image)))
    return sizes


def _dpi(image: Image.Image) -> float:
    try:
        dpi = float(image.info["dpi"][0])
    except (LookupError, TypeError, ValueError, ZeroDivisionError):
        return 0.0
    return dpi if math.isfinite(dpi) and dpi > 1 else 0.0


@contextmanager
def _image(path: str | Path) -> Iterator[Image.Image]:
    """An image that is decoded when its pixels are asked for."""
    read_bytes(path, 1)
    try:
        with Image.open(path) as image:
            yield image
    except _UNREADABLE as error:
        raise DataBroken(f"not a readable image: {error}", where=path) from error


def read_image(
    path: str | Path, *, page: int = 1, width: float | None = None, zoom: float = 1.0
) -> Image.Image:
    """The decoded image in RGB, turned as its EXIF data say; of a PDF or TIFF one page.

    Parameters
    ----------
    path
        An image or a PDF.
    page
        Of a PDF, which is drawn, or a TIFF with several pages, from 1; any other image is its own
        only page.
    width
        Of a PDF, how many pixels its first page is wide at `zoom` 1; its width in points if left
        out. The other pages are drawn at the same scale.
    zoom
        Of a PDF, how many times larger it is drawn.

    Raises
    ------
    DataMissing, DataBroken
        If there is no such file, image or page.
    """
    if read_bytes(path, 5) == b"%PDF-":
        return _pdf_page(path, page, width, zoom)
    with _image(path) as image:
        if (count := _frames(image)) > 1:
            if not 1 <= page <= count:
                raise DataBroken(f"no page {page}, the TIFF has {count}", where=path)
            image.seek(page - 1)
        return _as_shown(image)


def page_count(path: str | Path) -> int:
    """How many pages a file has: a PDF or TIFF may have several, any other image has one.

    Raises
    ------
    DataMissing, DataBroken
        If there is no such file, or it is neither.
    """
    if read_bytes(path, 5) != b"%PDF-":
        with _image(path) as image:
            return _frames(image)
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(path) as document:
            return len(document)
    except pypdfium2.PdfiumError as error:
        raise DataBroken(f"not a readable PDF: {error}", where=path) from error


def _frames(image: Image.Image) -> int:
    # The frames of an animation are no pages.
    return getattr(image, "n_frames", 1) if image.format == "TIFF" else 1


def _pdf_page(path: str | Path, number: int, width: float | None, zoom: float) -> Image.Image:
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(path) as document:
            count = len(document)
            if not 1 <= number <= count:
                raise DataBroken(f"no page {number}, the PDF has {count}", where=path)
            page = document[number - 1]
            scale = zoom * (width / document[0].get_width() if width else 1.0)
            across, down = (side * scale for side in page.get_size())
            if across * down > (Image.MAX_IMAGE_PIXELS or math.inf):
                what = f"page {number} would be {across:.0f} x {down:.0f} pixels"
                raise DataBroken(what, where=path)
            return page.render(scale=scale).to_pil().convert("RGB")
    except (pypdfium2.PdfiumError, ZeroDivisionError, ValueError) as error:
        raise DataBroken(f"not a readable PDF: {error}", where=path) from error
