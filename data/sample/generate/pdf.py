"""A PDF page that knows where each text on it stands, and what of it is an entity."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pypdfium2
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

from formlab_experiments.forms.values import Span

WIDTH, HEIGHT = 612, 792
# A descender hangs about so far below the line, in shares of the size.
_DROP = 0.22


class Sheet:
    """One document of one page, drawn from the top; `annotations` are as VRDU writes them."""

    def __init__(self) -> None:
        self._data = io.BytesIO()
        self._canvas = Canvas(self._data, pagesize=(WIDTH, HEIGHT), invariant=1, pageCompression=1)
        self._lines: list[str] = []
        self._tokens: list[dict[str, Any]] = []
        self._length = 0
        self._flat: dict[str, list[list[Any]]] = {}
        self._items: list[tuple[list[str], list[list[Any]]]] = []

    def put(
        self, x: float, y: float, text: str, *, size: float = 9, bold: bool = False,
        spans: Sequence[Span] = (), item: dict[str, list[Any]] | None = None,
    ) -> None:  # fmt: skip
        """Write `text` with its left end at x and its top at y, in points from the top left.

        `spans` are the entities in it, or the parts of the line item that `item` collects.
        """
        font = "Helvetica-Bold" if bold else "Helvetica"
        self._canvas.setFont(font, size)
        self._canvas.drawString(x, HEIGHT - y - size, text)

        def placed(start: int, end: int) -> tuple[list[float], list[int]]:
            x0, x1 = (x + stringWidth(text[:place], font, size) for place in (start, end))
            box = [x0 / WIDTH, y / HEIGHT, x1 / WIDTH, (y + size * (1 + _DROP)) / HEIGHT]
            return [round(v, 6) for v in box], [self._length + start, self._length + end]

        start = 0
        for word in text.split(" "):
            box, place = placed(start, start + len(word))
            self._tokens.append({"text": word, "bbox": box, "segments": [place]})
            start += len(word) + 1
        for name, begin, end in spans:
            box, place = placed(begin, end)
            form = [text[begin:end], [0, *box], [place]]
            if item is None:
                self._flat.setdefault(name, []).append(form)
            else:
                item[name] = form
        self._lines.append(text)
        self._length += len(text) + 1

    def rule(self, y: float) -> None:
        """A thin line across the page."""
        self._canvas.setLineWidth(0.4)
        self._canvas.line(36, HEIGHT - y, WIDTH - 36, HEIGHT - y)

    def line_item(self, parts: dict[str, list[Any]]) -> None:
        """Annotate the collected parts as one line item."""
        self._items.append((list(parts), list(parts.values())))

    @property
    def annotations(self) -> list[Any]:
        """Flat entities with all their surface forms, then the line items."""
        flat = [[name, forms] for name, forms in self._flat.items()]
        return flat + [[names, [parts]] for names, parts in self._items]

    @property
    def ocr(self) -> dict[str, Any]:
        """The text in the order of drawing, and its words with boxes in page fractions."""
        page = {"page_id": 0, "width": WIDTH, "height": HEIGHT, "tokens": self._tokens}
        return {"text": "".join(f"{line}\n" for line in self._lines), "pages": [page]}

    def pdf(self) -> bytes:
        """The file; call it once, last."""
        self._canvas.showPage()
        self._canvas.save()
        return self._data.getvalue()


def photograph(pdf: bytes, seed: str) -> bytes:
    """The page as a grey scan with some noise: a PDF without a text layer."""
    with pypdfium2.PdfDocument(pdf) as document:
        page = document[0].render(scale=1.8, grayscale=True).to_numpy()
    noise = np.random.default_rng(list(seed.encode())).normal(0, 6, page.shape[:2])
    grey = np.clip(page.reshape(page.shape[:2]) + noise, 0, 255).astype(np.uint8)
    # Few grey levels keep the file small and the letters legible.
    image = Image.fromarray(grey // 64 * 85)
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(WIDTH, HEIGHT), invariant=1, pageCompression=1)
    canvas.drawImage(ImageReader(image), 0, 0, WIDTH, HEIGHT)
    canvas.showPage()
    canvas.save()
    return data.getvalue()
