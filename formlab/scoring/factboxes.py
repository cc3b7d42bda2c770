"""The boxes of the words that were read for a fact."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from formlab.tables import BOX

# Path, text and box of a word.
Word = tuple[str, str, tuple[float, float, float, float]]
# No figure goes on at either side of a place.
_WHOLE = r"(?:(?<![\d.,])|(?![\d.,]))%s(?:(?<![\d.,])|(?![\d.,]))"


class PageLines:
    """The words of one page by line, as one string a line in which every letter has its box."""

    def __init__(self, words: Iterable[Word]) -> None:
        self.lines: dict[str, str] = defaultdict(str)
        self.boxes: dict[str, list] = defaultdict(list)
        for path, text, box in words:
            line, packed = path.partition("/words/")[0], _packed(text)
            self.lines[line] += packed
            self.boxes[line] += [box] * len(packed)

    def places(self, text: str) -> list[tuple[float, ...]]:
        """The boxes of every place where `text` stands on one line, figures whole.

        Examples
        --------
        >>> page = PageLines([("/ocr/lines/0/words/0", "Sales", (0, 0, 5, 1)),
        ...                   ("/ocr/lines/0/words/1", "15", (6, 0, 8, 1))])
        >>> page.places("sales 15"), page.places("5")
        ([(0, 0, 8, 1)], [])
        """
        if not (target := _packed(text)):
            return []
        # Looked for ahead, so that places may overlap.
        whole, places = re.compile(f"(?={_WHOLE % re.escape(target)})"), []
        for path, line in self.lines.items():
            for start in (match.start() for match in whole.finditer(line)):
                x0, y0, x1, y1 = zip(*self.boxes[path][start : start + len(target)], strict=True)
                places.append((min(x0), min(y0), max(x1), max(y1)))
        return places


def _packed(text: str) -> str:
    return "".join(text.split()).lower()


def read_boxes(rows: Sequence[Mapping[str, Any]], words: Sequence[Word]) -> list[dict[str, float]]:
    """The predicted box of each case of one page, as columns of *cases*; empty if not known.

    Of several places of a text, the one closest to the gold box is taken; without a gold box, and
    for a value in a wrong row, a text is placed only where it stands once.

    `rows` have `pred`, `misplaced` and the gold box; `words` are path, text and box of the words
    that the system read, in reading order.
    """
    page, boxes = PageLines(words), []
    for row in rows:
        places = page.places(row["pred"] or "")
        if len(places) > 1 and row.get("x0") is not None and not row["misplaced"]:
            x, y = (row[f"{axis}0"] + row[f"{axis}1"] for axis in "xy")
            distances = [(b[0] + b[2] - x) ** 2 + (b[1] + b[3] - y) ** 2 for b in places]
            places = [places[distances.index(min(distances))]]
        names = (f"pred_{side}" for side in BOX)
        boxes.append(dict(zip(names, places[0], strict=True)) if len(places) == 1 else {})
    return boxes


def words_of(records: pl.DataFrame) -> dict[str, list[Word]]:
    """Path, text and box of the words on each page, from rows of *records*."""
    words = records.filter(pl.col("task") == "layout", pl.col("kind") == "word").drop_nulls(BOX)
    words = words.select("doc_id", "path", pl.col("value").fill_null(""), *BOX)
    by_document: dict[str, list[Word]] = defaultdict(list)
    for doc_id, path, text, *box in words.iter_rows():
        by_document[doc_id].append((path, text, tuple(box)))
    return dict(by_document)
