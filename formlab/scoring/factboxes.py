"""The boxes of the words that were read for a fact."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from formlab.tables import BOX

Box = tuple[float, float, float, float]
_SPACE = re.compile(r"\s+")
_FIGURE = re.compile(r"[\d.,]")


class PageLines:
    """The words of one page by line, as one string a line in which every letter has its box."""

    def __init__(self, words: Iterable[tuple[str, str, Box]]) -> None:
        lines: dict[str, list[tuple[str, Box]]] = defaultdict(list)
        for path, text, box in words:
            lines[path.partition("/words/")[0]].append((_packed(text), box))
        self.lines = ["".join(text for text, _ in line) for line in lines.values()]
        self.boxes = [[box for text, box in line for _ in text] for line in lines.values()]

    def places(self, text: str) -> list[Box]:
        """The boxes of every place where `text` stands on one line, figures whole.

        Examples
        --------
        >>> page = PageLines([("/ocr/lines/0/words/0", "Sales", (0, 0, 5, 1)),
        ...                   ("/ocr/lines/0/words/1", "15", (6, 0, 8, 1))])
        >>> page.places("sales 15"), page.places("5")
        ([(0, 0, 8, 1)], [])
        """
        target, matches = _packed(text), []
        for line, boxes in zip(self.lines, self.boxes, strict=True):
            at = line.find(target) if target else -1
            while at >= 0:
                end = at + len(target)
                if not (_joined(line, at) or _joined(line, end)):
                    sides = list(zip(*boxes[at:end], strict=True))
                    matches.append((min(sides[0]), min(sides[1]), max(sides[2]), max(sides[3])))
                at = line.find(target, at + 1)
        return matches


def _packed(text: str) -> str:
    return _SPACE.sub("", text).lower()


def _joined(line: str, cut: int) -> bool:
    """Whether a cut before this letter goes through a figure."""
    inside = 0 < cut < len(line)
    return inside and bool(_FIGURE.match(line[cut - 1]) and _FIGURE.match(line[cut]))


def read_boxes(
    rows: Sequence[Mapping[str, Any]], words: Sequence[tuple[str, str, Box]]
) -> list[dict[str, float]]:
    """The predicted box of each case of one page, as columns of *cases*; empty if not known.

    Of several places of a text, the one closest to the gold box is taken; without a gold box, and
    for a value in a wrong row, a text is placed only where it stands once.

    `rows` have `pred`, `misplaced` and the gold box; `words` are path, text and box of the words
    that the system read, in reading order.
    """
    page = PageLines(words)
    names = [f"pred_{side}" for side in BOX]
    boxes = []
    for row in rows:
        places = page.places(row["pred"]) if row["pred"] else []
        known = row.get("x0") is not None and not row["misplaced"]
        if len(places) > 1 and known:
            places = [min(places, key=lambda box, row=row: _distance(box, row))]
        boxes.append(dict(zip(names, places[0], strict=True)) if len(places) == 1 else {})
    return boxes


def _distance(box: Box, row: Mapping[str, Any]) -> float:
    x, y = (box[0] + box[2] - row["x0"] - row["x1"], box[1] + box[3] - row["y0"] - row["y1"])
    return x * x + y * y


def words_of(records: pl.DataFrame) -> dict[str, list[tuple[str, str, Box]]]:
    """Path, text and box of the words on each page, from rows of *records*."""
    words = records.filter(pl.col("task") == "layout", pl.col("kind") == "word")
    by_document: dict[str, list[tuple[str, str, Box]]] = defaultdict(list)
    for doc_id, path, text, *box in (
        words.drop_nulls(BOX)
        .select("doc_id", "path", pl.col("value").fill_null(""), *BOX)
        .iter_rows()
    ):
        by_document[doc_id].append((path, text, tuple(box)))
    return dict(by_document)
