"""Structure score of a page: 0, 1 or 2, computed by rules. Tested in `tests/metrics/`."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain, islice, zip_longest

import numpy as np
from rapidfuzz.distance import LCSseq

from formlab.metrics.places import tokens
from formlab.text.markup import VOID, Flow, Unit, is_html, read

# Shares from which on an aspect is kept, and below which it is lost.
KEPT, LOST = 0.9, 0.5
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)[^<>]*?(/?)>")
# HTML allows these to stay open; tags of facts are none of the page's own.
_OPTIONAL = {"p", "li", "dt", "dd", "option", "tr", "td", "th", "thead", "tbody", "tfoot", "html"}
_OPTIONAL |= {"head", "body", "colgroup"}
_FACTS = {"number", "date", "temporal", "monetaryunit", "reportingentity", "financialconcepts"}
_FACTS |= {"financialconcept"}
_Table = list[list[str]]


def structure(gold: str, pred: str) -> int:
    """The paper's structure question, answered by rules.

    2 where every one of `structure_shares` is at least 0.9, 0 where one is below 0.5 and 1
    between; so 0 for a prediction without a table or tag where the gold has tables.

    >>> page = "<table><tr><td>Cash<td>5<tr><td>Debt<td>7</table>"
    >>> structure(page, page), structure(page, "<p>Cash 5</p><p>Debt 7</p>")
    (2, 0)
    """
    worst = min(structure_shares(gold, pred).values())
    return 2 if worst >= KEPT else int(worst >= LOST)


def structure_shares(gold: str, pred: str) -> dict[str, float]:
    """The share of each aspect of a page that is kept, in [0, 1]; 0 if nothing is predicted.

    `closed`, of the prediction's tags that are closed in order; `order`, of the gold's blocks that
    follow each other as they should; `tables`, fewer over more tables; `rows` and `columns`, of the
    gold tables' rows that are there with their cells side by side, and of their widths.
    """
    gold_page, pred_page = read(gold), read(pred)
    if not pred_page.units:
        return dict.fromkeys(("closed", "order", "tables", "rows", "columns"), 0.0)
    tables, others = _tables(gold_page), _tables(pred_page)
    rows = sum(map(len, tables))
    few, many = sorted((len(tables), len(others)))
    return {
        "closed": _closed(pred),
        "order": _order(gold_page.units, pred_page.units),
        "tables": few / many if many else 1.0,
        "rows": _kept_rows(tables, others) / rows if rows else 1.0,
        "columns": _columns(tables, others),
    }


def _closed(pred: str) -> float:
    if not is_html(pred):
        return 1.0
    stack: list[str] = []
    wrong = total = 0
    # How many of each are open: a stack is not searched for a tag that is not there.
    depth: Counter[str] = Counter()
    for end, name, self_closing in _TAG.findall(pred.lower()):
        if name in VOID or self_closing or name in _FACTS:
            continue
        total += 1
        if not end:
            stack.append(name)
            depth[name] += 1
            continue
        wrong += not depth[name]
        while depth[name] > 0:
            depth[last := stack.pop()] -= 1
            if last == name:
                break
            wrong += last not in _OPTIONAL
    wrong += sum(name not in _OPTIONAL for name in stack)
    return 1 - min(wrong, total) / total if total else 1.0


def _order(golds: Sequence[Unit], preds: Sequence[Unit]) -> float:
    # By words, not by blocks alone: a block that is cut in two has kept its place.
    words = [[tokens(unit.text) for unit in units] for units in (golds, preds)]
    blocks = [["".join(block) for block in page[:20_000]] for page in words]
    words = [list(islice(chain.from_iterable(page), 50_000)) for page in words]
    return max(LCSseq.similarity(*pages) / max(len(pages[0]), 1) for pages in (blocks, words))


def _tables(flow: Flow) -> list[_Table]:
    cells: dict[int, dict[int, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
    for unit in flow.units:
        if unit.table >= 0:
            row = cells[unit.table][unit.row]
            row[unit.column] = row.get(unit.column, "") + "".join(tokens(unit.text))
    return [[list(row.values()) for row in table.values()] for table in cells.values()]


def _kept_rows(tables: list[_Table], others: list[_Table]) -> int:
    """Rows of the gold whose cells stand in one row of the prediction, at least half unchanged."""
    places: dict[str, dict[tuple[int, int], None]] = defaultdict(dict)
    for number, table in enumerate(others):
        for at, row in enumerate(table):
            for cell in row:
                places[cell][number, at] = None
    kept = 0
    for row in chain.from_iterable(tables):
        cells = set(row)
        votes = Counter(place for cell in cells for place in islice(places.get(cell, ()), 200))
        kept += bool(votes) and max(votes.values()) * 2 >= len(cells)
    return kept


def _columns(tables: list[_Table], others: list[_Table]) -> float:
    widths, other_widths = ([max(map(len, t)) for t in page] for page in (tables, others))
    pairs = zip_longest(widths, other_widths[: len(widths)], fillvalue=0)
    return sum(min(pair) / max(pair) for pair in pairs) / len(tables) if tables else 1.0


def structure_tallies(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """The structure score of each page, out of 1."""
    pairs = zip(golds, preds, strict=True)
    return np.array([(structure(gold, pred), 1) for gold, pred in pairs], dtype=float)
