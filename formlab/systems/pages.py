"""The pages of a document as systems see them: drawn, measured, and with boxes there and back."""

import base64
import dataclasses
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from formlab import files, pictures
from formlab.benchmarks.corpus import page_images
from formlab.errors import DataMissing
from formlab.pictures import Size
from formlab.tables import BOX

# Pixels to a point of a PDF: print of 8 points is read well.
SHARP = 2.0
# Raised when a page is drawn in another way, so that no reading of the old picture is taken.
_DRAWING = 2


@dataclasses.dataclass(frozen=True)
class Page:
    """One page of a document, drawn when it is asked for.

    `number` counts the document's pages, `place` those of its file. `size` are its sides in the
    document's units, `sent` those of its picture in pixels; `scale` and `zoom` are the picture's
    pixels to a unit of the file's (a point of a PDF) and of the document's.
    """

    path: Path
    number: int
    size: Size
    sent: tuple[int, int]
    sha256: str
    scale: float = 1.0
    place: int = 1
    zoom: float = 1.0

    @property
    def shape(self) -> dict[str, Any]:
        """What stands for the page in the key of an answer, sizes as sent included."""
        sizes = {"size": list(self.size), "sent": list(self.sent)}
        return {"sha256": self.sha256, "page": self.number} | sizes

    @property
    def drawn(self) -> dict[str, Any]:
        """All that the picture depends on, as JSON: the file's content, and how it is drawn."""
        drawn = {"page": self.place, "sent": list(self.sent), "scale": self.scale}
        return {"sha256": self.sha256, "drawing": _DRAWING} | drawn

    def image(self) -> Image.Image:
        """The picture; `DataMissing` or `DataBroken` if it cannot be read."""
        image = pictures.read_image(self.path, page=self.place, zoom=self.scale)
        return image if image.size == self.sent else image.resize(self.sent)

    def url(self) -> str:
        """The picture as a data URL; a PNG or JPEG that is small enough is sent unchanged."""
        kind = pictures.upright_type(self.path) if self.sent == self.size else None
        if kind in ("image/png", "image/jpeg"):
            data = files.read_bytes(self.path)
        else:
            self.image().save(stream := io.BytesIO(), "JPEG", quality=92)
            kind, data = "image/jpeg", stream.getvalue()
        return f"data:{kind};base64,{base64.b64encode(data).decode()}"

    def located(self, box: Any, *, unit: str) -> dict[str, float]:
        """Columns of a model's box in the document's units; empty for what is no box on the page.

        >>> page = Page(Path("a.png"), 1, (200.0, 100.0), (100, 50), "")
        >>> page.located([0, "500", 1000, 1000], unit="thousandths")
        {'x0': 0.0, 'y0': 50.0, 'x1': 200.0, 'y1': 100.0}
        >>> page.located([0, "wide"], unit="pixels")
        {}
        """
        most = (1000, 1000) if unit == "thousandths" else self.sent
        try:
            shares = [float(side) / most[n % 2] for n, side in enumerate(box)]
        except (TypeError, ValueError):
            return {}
        if len(shares) != 4 or not all(0 <= share <= 1.05 for share in shares):
            return {}
        left, top, right, bottom = (share * self.size[n % 2] for n, share in enumerate(shares))
        is_box = left <= right and top <= bottom
        return dict(zip(BOX, (left, top, right, bottom), strict=True)) if is_box else {}

    def stated(self, box: Sequence[float], *, unit: str) -> list[int]:
        """A box in the document's units as a model is to give it: the inverse of `located`."""
        most = (1000, 1000) if unit == "thousandths" else self.sent
        return [round(side / self.size[n % 2] * most[n % 2]) for n, side in enumerate(box)]


def pages(
    paths: Sequence[Path], *, limit: int = 0, width: float | None = None, scale: float | None = None
) -> list[Page]:
    """All pages of images, PDFs and TIFFs in their order.

    `limit` is the longest side in pixels, 0 for none: a larger image is made smaller, a page of a
    PDF is drawn at it. With `scale` instead, each is drawn at so many pixels to a unit of the
    document's, a PDF measured in points at `SHARP` times as many. `width` is the first page's in
    the document's units, where that is not the file's own.
    """
    made: list[Page] = []
    for path in paths:
        is_pdf, sizes, sha256 = pictures.is_pdf(path), pictures.page_sizes(path), files.sha256(path)
        unit = width / sizes[0][0] if is_pdf and width else 1.0
        # What the engine of PDFs draws at a scale is larger by a part of a pixel.
        whole = math.ceil if is_pdf and scale is not None else round
        for place, (across, down) in enumerate(sizes, start=1):
            if scale is not None:
                ratio = scale * unit * (SHARP if is_pdf and not width else 1.0)
            else:
                ratio = limit / max(across, down) if limit else 1.0
                ratio = ratio if is_pdf else min(1.0, ratio)
            size = (across * unit, down * unit)
            sent = (max(1, whole(across * ratio)), max(1, whole(down * ratio)))
            drawn = {"scale": ratio, "zoom": ratio / unit, "place": place}
            made.append(Page(path, len(made) + 1, size, sent, sha256, **drawn))
    return made


def document_pages(document: dict[str, Any], root: Path | None, *, scale: float = 1) -> list[Page]:
    """The pages of a document as an engine reads them, `pages` of its files at a `scale`."""
    return pages(page_files(document, root), width=document.get("width"), scale=scale)


def page_files(document: dict[str, Any], root: Path | None) -> list[Path]:
    """The images of all pages of a document; `DataMissing` if it has none."""
    if document["image"] is None or root is None:
        raise DataMissing("this document has no image", where=document["doc_id"])
    return [root / name for name in page_images(document)]
