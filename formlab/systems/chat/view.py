"""How pages are shown to a model: as images, or as the lines that an OCR engine reads on them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from formlab.errors import DataBroken, FormlabError
from formlab.systems import ocr
from formlab.systems.chat.ask import Row
from formlab.systems.pages import Page, page_files, pages
from formlab.tables import BOX
from formlab.text.layout import rows as reading_order


@dataclasses.dataclass(frozen=True)
class PageView:
    """How pages are shown: longest side in pixels, number of pages at most, and the unit of boxes.

    With ``limit=0`` no page is shown; with `ocr`, the lines that it reads stand for the image.
    """

    limit: int = 2048
    most: int = 10
    boxes: str = "thousandths"
    ocr: OcrLines | None = None

    def pages(self, document: Row, root: Path | None) -> list[Page]:
        """All pages of a document; none where no page is shown, or its own text stands for them."""
        if not self.limit:
            return []
        paths, width = page_files(document, root), document["width"]
        with _readable(paths[0]):
            return pages(paths, limit=self.limit, width=width)

    def in_key(self, page: Page) -> Row:
        """What stands for a page in the key of an answer."""
        return self._part(page, lambda: page.shape)

    def in_call(self, page: Page) -> Row:
        """What stands for a page in the message to the model."""
        return self._part(page, page.url)

    def _part(self, page: Page, url: Callable[[], Any]) -> Row:
        with _readable(page.path):
            if self.ocr:
                return {"type": "text", "text": self.ocr.text(page)}
            return {"type": "image_url", "image_url": {"url": url()}}


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """`DataBroken` for whatever a library says of a page: it must not end the run of the others."""
    try:
        yield
    except FormlabError:
        raise
    except Exception as error:
        what = f"not a readable page: {type(error).__name__}: {error}"
        raise DataBroken(what, where=path) from error


class OcrLines:
    """The lines of text that OCR reads on pages, each page once (`ocr.Engine`). Threads may share.

    `unit` is that of the lines' sides: ``thousandths`` of the page or ``pixels`` of it as it would
    be sent; ``none`` for texts alone.
    """

    def __init__(self, *, unit: str) -> None:
        self.unit = unit
        self._engine = ocr.Engine()

    def text(self, page: Page) -> str:
        """The page as the JSON that a model gets, its lines from top to bottom."""
        found = ocr.records(self._engine(page.image, of=page.drawn, return_word_box=True))
        lines = [row for row in found if row["kind"] == "line"]
        boxes = np.array([[row[side] for side in BOX] for row in lines]).reshape(-1, 4)
        sides = 1000 * boxes / (page.sent * 2) if self.unit == "thousandths" else boxes
        shown: list[Any] = []
        for number in (number for row in reading_order(boxes) for number in row):
            text = lines[number]["value"]
            place = [round(side) for side in sides[number].tolist()]
            shown.append(text if self.unit == "none" else [text, *place])
        return json.dumps({"PAGE": page.number, "LINES": shown})
