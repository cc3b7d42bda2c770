"""Page images as sent to a model: resized, as data URLs, with boxes mapped back to the page."""

from __future__ import annotations

import base64
import dataclasses
import io
import threading
from pathlib import Path
from typing import Any

from PIL import Image

from formlab import files, pictures
from formlab.errors import DataBroken, DataMissing
from formlab.tables import BOX

# Formats that are sent unchanged if they are small enough.
_AS_IS = {"PNG": "image/png", "JPEG": "image/jpeg"}
_QUALITY = 92
# pdfium may be used by one thread at a time.
_PDFIUM = threading.Lock()
Size = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class PageImage:
    """One page of a document: where it is, its size in the document's units, its size as sent.

    `zoom` is how much larger than its own size a page of a PDF is drawn, 0 for an image; `place`
    the number of the page in its file.
    """

    path: Path
    number: int
    size: Size
    sent: tuple[int, int]
    sha256: str
    zoom: float = 0.0
    place: int = 1

    @property
    def shape(self) -> dict[str, Any]:
        """What stands for the page in the key of an answer, sizes as sent included."""
        return {
            "sha256": self.sha256, "page": self.number, "size": list(self.size),
            "sent": list(self.sent),
        }  # fmt: skip

    def located(self, box: Any, *, unit: str) -> dict[str, float]:
        """Columns of a model's box in the document's units; empty for what is no box on the page.

        Examples
        --------
        >>> page = PageImage(Path("a.png"), 1, (200.0, 100.0), (100, 50), "")
        >>> page.located([0, "500", 1000, 1000], unit="thousandths")
        {'x0': 0.0, 'y0': 50.0, 'x1': 200.0, 'y1': 100.0}
        >>> page.located([0, 25, 100, 50], unit="pixels")
        {'x0': 0.0, 'y0': 50.0, 'x1': 200.0, 'y1': 100.0}
        >>> page.located([0, "wide"], unit="pixels")
        {}
        """
        try:
            sides = [float(side) for side in box]
        except (TypeError, ValueError):
            return {}
        whole = (1000, 1000) if unit == "thousandths" else self.sent
        if len(sides) != 4 or not all(0 <= s <= 1.05 * whole[n % 2] for n, s in enumerate(sides)):
            return {}
        placed = [side / whole[n % 2] * self.size[n % 2] for n, side in enumerate(sides)]
        if placed[0] > placed[2] or placed[1] > placed[3]:
            return {}
        return dict(zip(BOX, placed, strict=True))

    def stated(self, box: list[float], *, unit: str) -> list[int]:
        """A box in the document's units as a model is to give it: the inverse of `located`.

        Examples
        --------
        >>> page = PageImage(Path("a.png"), 1, (200.0, 100.0), (100, 50), "")
        >>> page.stated([0, 50, 200, 100], unit="thousandths")
        [0, 500, 1000, 1000]
        """
        whole = (1000, 1000) if unit == "thousandths" else self.sent
        return [round(side / self.size[n % 2] * whole[n % 2]) for n, side in enumerate(box)]

    def image(self) -> Image.Image:
        """The page in the size it is sent in."""
        if not self.zoom:
            image = pictures.read_image(self.path, page=self.place)
            return image.resize(self.sent, Image.Resampling.LANCZOS)
        with _PDFIUM:
            image = pictures.read_image(self.path, page=self.place, zoom=self.zoom)
        return image.resize(self.sent) if image.size != self.sent else image

    def url(self) -> str:
        """The page as a data URL, in the size it is sent in."""
        as_is = not self.zoom and self.sent == self.size
        if as_is and (kind := _AS_IS.get(pictures.upright_format(self.path))):
            return _data_url(files.read_bytes(self.path), kind)
        stream = io.BytesIO()
        self.image().save(stream, "JPEG", quality=_QUALITY)
        return _data_url(stream.getvalue(), "image/jpeg")


def pages(
    paths: list[Path],
    *,
    limit: int,
    width: float | None = None,
) -> list[PageImage]:
    """All pages of images, PDFs and TIFFs in their order.

    `limit` is the longest side in pixels, 0 for none: a larger image is made smaller, a page of a
    PDF is drawn at it. `width` is the first page's in the document's units, where that is not the
    file's own. `DataMissing` or `DataBroken` if there is no page or one cannot be read.
    """
    if not paths:
        raise DataMissing("this document has no image")
    made: list[PageImage] = []
    for path in paths:
        is_pdf = files.read_bytes(path, 5) == b"%PDF-"
        sizes = _pdf_sizes(path) if is_pdf else pictures.image_sizes(path)
        unit = width / sizes[0].width if is_pdf and width else 1.0
        sha256 = files.sha256(path)
        for page, own in enumerate(sizes, start=1):
            across, down = own[:2]
            scale = limit / max(across, down) if limit else 1.0
            scale = scale if is_pdf else min(1.0, scale)
            sent = (max(1, round(across * scale)), max(1, round(down * scale)))
            size, zoom = (across * unit, down * unit), scale if is_pdf else 0.0
            made.append(PageImage(path, len(made) + 1, size, sent, sha256, zoom, page))
    return made


def _pdf_sizes(path: Path) -> list[pictures.PageSize]:
    import pypdfium2

    with _PDFIUM:
        try:
            with pypdfium2.PdfDocument(path) as document:
                sizes = [document.get_page_size(number) for number in range(len(document))]
        except pypdfium2.PdfiumError as error:
            raise DataBroken(f"not a readable PDF: {error}", where=path) from error
    if not sizes:
        raise DataMissing("this PDF has no page", where=path)
    # Such as one that is cut to a box outside of itself.
    if empty := [n for n, sides in enumerate(sizes, start=1) if not min(sides) > 0]:
        raise DataBroken(f"page {empty[0]} has no area", where=path)
    return [pictures.PageSize(*size, 72.0) for size in sizes]


def _data_url(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
