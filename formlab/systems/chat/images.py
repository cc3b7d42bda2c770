"""Pages as a model gets them: resized to a limit, as data URLs, with the way back to the page."""

from __future__ import annotations

import base64
import dataclasses
import io
import threading
from pathlib import Path
from typing import Any

from PIL import Image

from formlab import files
from formlab.errors import DataBroken, DataMissing
from formlab.tables import BOX

# Sent as they are if they are small enough.
_AS_IS = {"PNG": "image/png", "JPEG": "image/jpeg"}
_QUALITY = 92
# pdfium may be used by one thread at a time.
_PDFIUM = threading.Lock()


@dataclasses.dataclass(frozen=True)
class Page:
    """One page of a document: where it is, its size in the document's units, its size as sent."""

    path: Path
    number: int
    size: tuple[float, float]
    sent: tuple[int, int]
    sha256: str

    @property
    def shape(self) -> dict[str, Any]:
        """What of the page shapes an answer, and the mapping from sent pixels to the page's."""
        return {
            "sha256": self.sha256, "page": self.number, "size": list(self.size),
            "sent": list(self.sent),
        }  # fmt: skip

    def place(self, box: Any, *, unit: str) -> dict[str, float]:
        """The columns of a box in the document's units from one that a model gave, or none.

        Examples
        --------
        >>> page = Page(Path("a.png"), 1, (200.0, 100.0), (100, 50), "")
        >>> page.place([0, "500", 1000, 1000], unit="thousandths")
        {'x0': 0.0, 'y0': 50.0, 'x1': 200.0, 'y1': 100.0}
        >>> page.place([0, 25, 100, 50], unit="pixels")
        {'x0': 0.0, 'y0': 50.0, 'x1': 200.0, 'y1': 100.0}
        >>> page.place([0, "wide"], unit="pixels")
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

    def image(self) -> Image.Image:
        """The page in the size it is sent in."""
        if files.read_bytes_start(self.path, 5) == b"%PDF-":
            return _render(self.path, self.number, self.sent)
        return files.read_image(self.path).resize(self.sent, Image.Resampling.LANCZOS)

    def url(self) -> str:
        """The page as a data URL, in the size it is sent in."""
        own = (int(self.size[0]), int(self.size[1]))
        if files.read_bytes_start(self.path, 5) != b"%PDF-" and self.sent == own:
            with Image.open(self.path) as given:
                kind = _AS_IS.get(given.format or "")
            if kind:
                return _data_url(files.read_bytes(self.path), kind)
        stream = io.BytesIO()
        self.image().save(stream, "JPEG", quality=_QUALITY)
        return _data_url(stream.getvalue(), "image/jpeg")


def pages(paths: list[Path], *, limit: int, most: int, width: float | None = None) -> list[Page]:
    """The pages of images or of a PDF, the first `most` of them.

    Parameters
    ----------
    paths
        Images, one a page, or one PDF.
    limit
        Longest side in pixels; larger images are made smaller, PDF pages are drawn at it.
    most
        How many pages to send at most.
    width
        The first page's width in the document's units, where that is not the file's own.

    Raises
    ------
    DataMissing, DataBroken
        If there is no page or one cannot be read.
    """
    if not paths:
        raise DataMissing("this document has no image")
    if files.read_bytes_start(paths[0], 5) == b"%PDF-":
        return _pdf_pages(paths[0], limit, most, width)
    found = []
    for number, path in enumerate(paths[:most], start=1):
        size = files.image_size(path)
        scale = min(1.0, limit / max(size))
        found.append(_page(path, number, size, size, scale))
    return found


def _page(
    path: Path, number: int, size: tuple[float, float], own: tuple[float, float], scale: float
) -> Page:
    sent = (max(1, round(own[0] * scale)), max(1, round(own[1] * scale)))
    return Page(path, number, (float(size[0]), float(size[1])), sent, files.sha256(path))


def _pdf_pages(path: Path, limit: int, most: int, width: float | None) -> list[Page]:
    import pypdfium2

    with _PDFIUM:
        try:
            document = pypdfium2.PdfDocument(path)
            sizes = [document.get_page_size(n) for n in range(min(len(document), most))]
            document.close()
        except pypdfium2.PdfiumError as error:
            raise DataBroken(f"not a readable PDF: {error}", where=path) from error
    if not sizes:
        raise DataMissing("this PDF has no page", where=path)
    factor = width / sizes[0][0] if width else 1.0
    return [
        _page(path, n, (own[0] * factor, own[1] * factor), own, limit / max(own))
        for n, own in enumerate(sizes, start=1)
    ]


def _render(path: Path, number: int, sent: tuple[int, int]) -> Image.Image:
    import pypdfium2

    with _PDFIUM:
        document = pypdfium2.PdfDocument(path)
        page = document[number - 1]
        image = page.render(scale=max(sent) / max(page.get_size())).to_pil().convert("RGB")
        document.close()
    return image.resize(sent) if image.size != sent else image


def _data_url(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
