"""The lines that an OCR engine reads on pages: for models that are shown no images."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np

from formlab import files
from formlab.systems import ocr
from formlab.systems.chat.images import PageImage
from formlab.tables import BOX
from formlab.text.layout import rows as reading_order


class OcrCache:
    """The lines of text of pages, each page read once and kept in `folder`. Threads may share it.

    `unit` is that of the lines' sides: ``thousandths`` of the page or ``pixels`` of it as it would
    be sent; ``none`` for texts alone.
    """

    def __init__(self, folder: str | Path, *, unit: str) -> None:
        self.folder, self.unit = Path(folder), unit
        self._engine: Any = None
        self._lock = threading.Lock()

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
        size = "x".join(map(str, page.sent))
        file = self.folder / f"{page.sha256[:24]}-{page.number}-{size}.json"
        with self._lock:
            if file.is_file():
                return files.read_json(file)
            self._engine = self._engine or ocr.engine(text_score=ocr.SYSTEM.defaults["text_score"])
            result = self._engine(np.asarray(page.image())[:, :, ::-1], return_word_box=True)
            lines = [
                [row["value"], [row[side] for side in BOX]]
                for row in ocr.records(result)
                if row["kind"] == "line"
            ]
            order = reading_order(np.array([box for _, box in lines]))
            lines = [lines[number] for row in order for number in row]
            files.write_json(file, lines)
            return lines
