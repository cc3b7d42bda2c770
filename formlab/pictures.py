"""Images and PDFs: their sizes without decoding, and their pages as they are shown."""

import math
import struct
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import ExifTags, Image

from formlab.errors import DataBroken
from formlab.files import read_bytes

# What Pillow raises for files with broken headers: SyntaxError for a PNG, the lookups for a TIFF.
_UNREADABLE = (OSError, EOFError, ValueError, SyntaxError, TypeError, LookupError, struct.error)
_UNREADABLE += (Image.DecompressionBombError,)
# pdfium may be used by one thread at a time.
_PDFIUM = threading.Lock()
# How EXIF's orientations from 2 to 8 turn an image.
_TURNS = "FLIP_LEFT_RIGHT ROTATE_180 FLIP_TOP_BOTTOM TRANSPOSE ROTATE_270 TRANSVERSE ROTATE_90"
_TURNS = {n: Image.Transpose[turn] for n, turn in enumerate(_TURNS.split(), start=2)}
Size = tuple[float, float]


def image_size(path: str | Path) -> tuple[int, int]:
    """Width and height in pixels of an image as it is shown, without decoding it."""
    with _image(path) as image:
        return _shown_size(image)


def page_sizes(path: str | Path) -> list[Size]:
    """The sides of each page: of a PDF in points, of an image in pixels without decoding it.

    A PDF or TIFF may have several, any other image has one. `DataMissing` or `DataBroken` if there
    is no such file, it is neither, or has no page or one without an area.
    """
    if is_pdf(path):
        with pdf(path) as document:
            sizes = [document.get_page_size(number) for number in range(len(document))]
    else:
        with _image(path) as image:
            sizes = [_shown_size(image, number) for number in range(_frames(image))]
    # Such as one that is cut to a box outside of itself.
    if not sizes or not all(min(sides) > 0 for sides in sizes):
        raise DataBroken("no page, or one without an area", where=path)
    return sizes


def upright_type(path: str | Path) -> str | None:
    """The media type of an image whose pixels are shown as they are stored; else None."""
    if is_pdf(path):
        return None
    with _image(path) as image:
        return image.get_format_mimetype() if _orientation(image) == 1 else None


def is_pdf(path: str | Path) -> bool:
    """Whether a file begins as a PDF does."""
    return read_bytes(path, 5) == b"%PDF-"


def read_image(
    path: str | Path, *, page: int = 1, width: float | None = None, zoom: float = 1.0
) -> Image.Image:
    """The decoded image in RGB, turned as its EXIF data say; of a PDF or TIFF one page.

    Pages of a PDF, which are drawn, and of a TIFF are counted from 1; any other image is its own
    only page. The first page of a PDF is `width` pixels wide at `zoom` 1, its width in points if
    that is left out, and the other pages are drawn at the same scale. `DataMissing` or `DataBroken`
    if there is no such file, image or page.
    """
    if is_pdf(path):
        with pdf(path) as document:
            if not 1 <= page <= len(document):
                raise DataBroken(f"no page {page}, the PDF has {len(document)}", where=path)
            drawn = document[page - 1]
            scale = zoom * (width / document[0].get_width() if width else 1.0)
            across, down = (side * scale for side in drawn.get_size())
            if across * down > (Image.MAX_IMAGE_PIXELS or math.inf):
                what = f"page {page} would be {across:.0f} x {down:.0f} pixels"
                raise DataBroken(what, where=path)
            return drawn.render(scale=scale).to_pil().convert("RGB")
    with _image(path) as image:
        if (count := _frames(image)) > 1:
            if not 1 <= page <= count:
                raise DataBroken(f"no page {page}, the TIFF has {count}", where=path)
            image.seek(page - 1)
        turn = _TURNS.get(_orientation(image))
        if image.mode[0] in "IF":
            # Greys that Pillow would cut off at 255: white is that of the mode, not of this page.
            values = np.nan_to_num(np.asarray(image, np.float64))
            white = 255 if image.mode in ("I", "F") and values.max() <= 255 else 65535
            image = Image.fromarray(np.round(255 * values / white).clip(0, 255).astype(np.uint8))
        image = image.convert("RGB")
        return image if turn is None else image.transpose(turn)


@contextmanager
def _image(path: str | Path) -> Iterator[Image.Image]:
    """An image that is decoded when its pixels are asked for."""
    read_bytes(path, 1)
    try:
        with Image.open(path) as image:
            yield image
    except _UNREADABLE as error:
        raise DataBroken(f"not a readable image: {error}", where=path) from error


def _shown_size(image: Image.Image, frame: int = 0) -> tuple[int, int]:
    image.seek(frame)
    return image.size[::-1] if _orientation(image) in (5, 6, 7, 8) else image.size


def _orientation(image: Image.Image) -> int:
    """How the EXIF data of an image turns it, from 1 to 8; a TIFF is turned by Pillow."""
    if image.format == "TIFF":
        return 1
    try:
        with warnings.catch_warnings(action="ignore"):
            # Not that of a PNG, which decodes it: EXIF data behind the pixels is not looked at.
            return Image.Image.getexif(image).get(ExifTags.Base.Orientation, 1)
    except _UNREADABLE:
        return 1


def _frames(image: Image.Image) -> int:
    # The frames of an animation are no pages.
    return getattr(image, "n_frames", 1) if image.format == "TIFF" else 1


@contextmanager
def pdf(path: str | Path) -> Iterator[Any]:
    """An opened PDF, which no other thread reads meanwhile; `DataBroken` if it is none."""
    import pypdfium2

    try:
        with _PDFIUM, pypdfium2.PdfDocument(path) as document:
            yield document
    except (pypdfium2.PdfiumError, ZeroDivisionError, ValueError) as error:
        raise DataBroken(f"not a readable PDF: {error}", where=path) from error
