"""The order in which boxes on a page are read, and the page as text or as HTML with tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from statistics import median

import numpy as np


def rows(boxes: np.ndarray, *, overlap: float = 0.5) -> list[list[int]]:
    """Places in `boxes`, shape (n, 4), by rows of text: top to bottom, each from left to right.

    A box joins the row above it where the two share at least `overlap` of the lower height.

    >>> rows(np.array([[50, 1, 60, 11], [0, 0, 40, 10], [0, 20, 40, 30]]))
    [[1, 0], [2]]
    """
    boxes = np.asarray(boxes, dtype=float).reshape(-1, 4)
    order = np.argsort((boxes[:, 1] + boxes[:, 3]) / 2, kind="stable")
    grouped: list[list[int]] = []
    tops, bottoms = boxes[:, 1].tolist(), boxes[:, 3].tolist()
    top = bottom = 0.0
    for index in order.tolist():
        y0, y1 = tops[index], bottoms[index]
        shared = min(bottom, y1) - max(top, y0)
        if grouped and shared >= overlap * max(min(bottom - top, y1 - y0), 1e-9):
            grouped[-1].append(index)
            # The row keeps the extent of its middle, so that skewed rows do not swallow the next.
            top = median(tops[member] for member in grouped[-1])
            bottom = median(bottoms[member] for member in grouped[-1])
        else:
            grouped.append([index])
            top, bottom = y0, y1
    return [sorted(row, key=lambda index: boxes[index, 0]) for row in grouped]


def page_text(boxes: np.ndarray, texts: Sequence[str]) -> str:
    """The texts in reading order: a space between boxes of a row, a line break between rows.

    >>> page_text(np.array([[50, 1, 60, 11], [0, 0, 40, 10], [0, 20, 40, 30]]), ["9", "Age", "x"])
    'Age 9\\nx'
    """
    return "\n".join(" ".join(texts[index] for index in row) for row in rows(boxes))


def page_html(boxes: np.ndarray, texts: Sequence[str]) -> str:
    """The page as HTML: consecutive rows of several boxes are a table, other rows paragraphs.

    The row with the most boxes gives a table its columns; each box goes to the column that it
    overlaps or is nearest to.

    >>> boxes = np.array([[0, 0, 40, 10], [50, 0, 60, 10], [0, 20, 40, 30], [52, 20, 60, 30]])
    >>> page_html(boxes, ["Age", "9", "Size", "<7"])
    '<table>\\n<tr><td>Age</td><td>9</td></tr>\\n<tr><td>Size</td><td>&lt;7</td></tr>\\n</table>'
    """
    boxes = np.asarray(boxes, dtype=float).reshape(-1, 4)
    blocks: list[str] = []
    for several, run in groupby(rows(boxes), key=lambda row: len(row) > 1):
        members = list(run)
        if several and len(members) > 1:
            blocks += ["<table>", *_table(boxes, texts, members), "</table>"]
        else:
            joined = (" ".join(texts[index] for index in row) for row in members)
            blocks += [f"<p>{escape(text)}</p>" for text in joined]
    return "\n".join(blocks)


def _table(boxes: np.ndarray, texts: Sequence[str], members: list[list[int]]) -> list[str]:
    left, right = boxes[max(members, key=len)][:, [0, 2]].T
    lines = []
    for row in members:
        cells: list[list[str]] = [[] for _ in left]
        for index in row:
            gaps = np.maximum(left, boxes[index, 0]) - np.minimum(right, boxes[index, 2])
            cells[int(gaps.argmin())].append(texts[index])
        columns = "".join(f"<td>{escape(' '.join(cell))}</td>" for cell in cells)
        lines.append(f"<tr>{columns}</tr>")
    return lines
