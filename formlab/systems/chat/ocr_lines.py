"""The lines that an OCR engine reads on pages: for models that are shown no images."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from formlab.systems import ocr
from formlab.systems._runs import DRAWING
from formlab.systems.chat.images import PageImage
from formlab.tables import BOX
from formlab.text.layout import rows as reading_order


class OcrLines:
    """The lines of text that OCR reads on pages, each page once (`ocr.Engine`). Threads may share.

    `unit` is that of the lines' sides: ``thousandths`` of the page or ``pixels`` of it as it would
    be sent; ``none`` for texts alone.
    """

    def __init__(self, *, unit: str) -> None:
        self.unit = unit
        self._engine = ocr.Engine()

    def text(self, page: PageImage) -> str:
        """The page as the JSON that a model gets."""
        lines = [
            text if self.unit == "none" else [text, *self._sides(box, page)]
            for text, box in self._lines(page)
        ]
        return json.dumps({"PAGE": page.number, "LINES": lines})

    def _sides(self, box: list[float], page: PageImage) -> list[int]:
        if self.unit == "pixels":
            return [round(side) for side in box]
        return [round(1000 * side / page.sent[n % 2]) for n, side in enumerate(box)]

    def _lines(self, page: PageImage) -> list[Any]:
        """Text and box, in pixels of the page as sent, of each line from top to bottom."""
        drawn = page.shape | {"place": page.place, "zoom": page.zoom, "drawing": DRAWING}
        result = self._engine(page.image, of=drawn, return_word_box=True)
        lines = [
            [row["value"], [row[side] for side in BOX]]
            for row in ocr.records(result)
            if row["kind"] == "line"
        ]
        order = reading_order(np.array([box for _, box in lines]))
        return [lines[number] for row in order for number in row]
