"""The order in which boxes on a page are read, and the page as text or as HTML with tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from statistics import median

import numpy as np


def rows(boxes: np.ndarray) -> list[list[int]]:
    """Places in `boxes`, shape (n, 4), by rows of text: top to bottom, each from left to right."""
    boxes = np.asarray(boxes, dtype=float).reshape(-1, 4)
    order = np.argsort((boxes[:, 1] + boxes[:, 3]) / 2, kind="stable")
    grouped: list[list[int]] = []
    tops, bottoms = boxes[:, 1].tolist(), boxes[:, 3].tolist()
    top = bottom = 0.0
    for index in order.tolist():
        y0, y1 = tops[index], bottoms[index]
        shared = min(bottom, y1) - max(top, y0)
        # Boxes share a row if they share half of the lower one's height.
        if grouped and shared >= 0.5 * max(min(bottom - top, y1 - y0), 1e-9):
            grouped[-1].append(index)
        else:
            grouped.append([index])
        # A row keeps the extent of its middle, so that skewed rows do not swallow the next.
        top = median(tops[member] for member in grouped[-1])
        bottom = median(bottoms[member] for member in grouped[-1])
    return [sorted(row, key=lambda index: boxes[index, 0]) for row in grouped]


def page_text(boxes: np.ndarray, texts: Sequence[str]) -> str:
    """The texts in reading order: a space between boxes of a row, a line break between rows."""
    return "\n".join(" ".join(texts[index] for index in row) for row in rows(boxes))


def page_html(boxes: np.ndarray, texts: Sequence[str]) -> str:
    """The page as HTML: consecutive rows of several boxes are a table, other rows paragraphs."""
    boxes = np.asarray(boxes, dtype=float).reshape(-1, 4)
    blocks: list[str] = []
    for several, run in groupby(rows(boxes), key=lambda row: len(row) > 1):
        members = list(run)
        if several and len(members) > 1:
            blocks += ["<table>", *_table(boxes, texts, members), "</table>"]
        else:
            lines = (" ".join(texts[index] for index in row) for row in members)
            blocks += [f"<p>{escape(line)}</p>" for line in lines]
    return "\n".join(blocks)


def _table(boxes: np.ndarray, texts: Sequence[str], members: list[list[int]]) -> list[str]:
    """Lines of a table with the columns of its longest row; a box goes to the nearest of them."""
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
