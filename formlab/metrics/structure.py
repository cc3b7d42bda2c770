"""Structure score of a page: 0, 1 or 2, computed by rules, with the reasons."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import LCSseq

from formlab.metrics._places import tokens
from formlab.metrics._spec import Metric
from formlab.text.flow import Flow, Unit, read
from formlab.text.markup import VOID, is_html

# Shares from which on an aspect is kept, and below which it is lost.
KEPT, LOST = 0.9, 0.5
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)[^<>]*?(/?)>")
# HTML allows these to stay open.
_OPTIONAL = frozenset([
    "p", "li", "dt", "dd", "option", "tr", "td", "th", "thead", "tbody", "tfoot", "html",
    "head", "body", "colgroup",
])  # fmt: skip
_FACTS = frozenset([
    "number", "date", "temporal", "monetaryunit", "reportingentity", "financialconcepts",
    "financialconcept",
])  # fmt: skip


class Structure(NamedTuple):
    """The score, what is not kept, and the share of each aspect that is, in [0, 1]."""

    score: int
    reasons: tuple[str, ...]
    shares: dict[str, float]


def structure(gold: str, pred: str) -> Structure:
    """The paper's structure question, answered by rules.

    Shares: `closed`, of the prediction's tags that are closed in order; `order`, of the gold's
    blocks that follow each other as they should; `tables`, fewer over more tables; `rows` and
    `columns`, of the gold tables' rows that are there with their cells side by side, and of their
    widths. The score is 2 where every share is at least 0.9, 0 where one is below 0.5 and 1
    between; 0 for a prediction without a table or tag where the gold has tables.

    Examples
    --------
    >>> page = "<table><tr><td>Cash<td>5<tr><td>Debt<td>7</table>"
    >>> structure(page, page).score
    2
    >>> structure(page, "<p>Cash 5</p><p>Debt 7</p>").reasons
    ('0 tables of 1', '0 of 2 table rows kept', 'columns kept: 0.00')
    """
    ours, theirs = read(gold), read(pred)
    if not theirs.units:
        return Structure(0, ("nothing predicted",), dict.fromkeys(_ASPECTS, 0.0))
    tables, others = _tables(ours), _tables(theirs)
    kept = _kept_rows(tables, others)
    rows = sum(map(len, tables))
    closed = _closed(pred)
    order = _order(ours.units, theirs.units)
    few, many = sorted((len(tables), len(others)))
    shares = {
        "closed": closed,
        "order": order,
        "tables": few / many if many else 1.0,
        "rows": kept / rows if rows else 1.0,
        "columns": _columns(tables, others),
    }
    reasons = {
        "closed": f"tags closed in order: {closed:.2f}",
        "order": f"blocks in their order: {order:.2f}",
        "tables": f"{len(others)} tables of {len(tables)}",
        "rows": f"{kept} of {rows} table rows kept",
        "columns": f"columns kept: {shares['columns']:.2f}",
    }
    lost = tuple(reasons[name] for name, share in shares.items() if share < KEPT)
    worst = min(shares.values())
    return Structure(2 if worst >= KEPT else int(worst >= LOST), lost, shares)


_ASPECTS = ("closed", "order", "tables", "rows", "columns")
Table = list[list[str]]


def _closed(pred: str) -> float:
    if not is_html(pred):
        return 1.0
    stack: list[str] = []
    depth: Counter[str] = Counter()
    wrong = total = 0
    for end, name, self_closing in _TAG.findall(pred.lower()):
        if name in VOID or self_closing or name in _FACTS:
            continue
        total += 1
        if not end:
            stack.append(name)
            depth[name] += 1
        elif not depth[name]:
            wrong += 1
        else:
            while True:
                depth[last := stack.pop()] -= 1
                if last == name:
                    break
                wrong += last not in _OPTIONAL
    wrong += sum(name not in _OPTIONAL for name in stack)
    return 1 - min(wrong, total) / total if total else 1.0


def _order(ours: Sequence[Unit], theirs: Sequence[Unit]) -> float:
    # By words, not by blocks: a block that is cut in two has kept its place.
    left, right = (["".join(tokens(u.text)) for u in units][:20_000] for units in (ours, theirs))
    words = [[w for u in units for w in tokens(u.text)][:50_000] for units in (ours, theirs)]
    blocks = LCSseq.similarity(left, right) / max(len(left), 1)
    return max(blocks, LCSseq.similarity(*words) / max(len(words[0]), 1))


def _tables(flow: Flow) -> list[Table]:
    cells: dict[int, dict[int, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
    for unit in flow.units:
        if unit.table >= 0:
            row = cells[unit.table][unit.row]
            row[unit.column] = row.get(unit.column, "") + "".join(tokens(unit.text))
    return [[list(row.values()) for row in table.values()] for table in cells.values()]


def _kept_rows(tables: list[Table], others: list[Table]) -> int:
    """Rows of the gold whose cells stand in one row of the prediction, at least half unchanged."""
    where: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for number, table in enumerate(others):
        for at, row in enumerate(table):
            for cell in row:
                where[cell].add((number, at))
    kept = 0
    for table in tables:
        for row in table:
            votes = Counter(
                position for cell in set(row) for position in list(where.get(cell, ()))[:200]
            )
            kept += bool(votes) and votes.most_common(1)[0][1] * 2 >= len(set(row))
    return kept


def _columns(tables: list[Table], others: list[Table]) -> float:
    if not tables:
        return 1.0
    widths = [max(map(len, table)) for table in tables]
    other_widths = [max(map(len, table)) for table in others] + [0] * len(tables)
    shares = [min(a, b) / max(a, b) for a, b in zip(widths, other_widths, strict=False)]
    return sum(shares) / len(shares)


def _scores(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    pairs = zip(golds, preds, strict=True)
    return np.array([(structure(gold, pred).score, 1) for gold, pred in pairs], dtype=float)


structure_score = Metric(
    name="structure_score", title="structure score", high=2.0, unit="points of 2, mean over pages",
    source="He et al., arXiv:2511.14998v1, appendix C, by rules",
    view="counts", tallies=_scores, units=("page",),
)  # fmt: skip
