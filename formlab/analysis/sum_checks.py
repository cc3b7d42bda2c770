"""Sum checks: figures of a page that do not add up, found without gold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Any, NamedTuple

import polars as pl
from rapidfuzz.distance import Levenshtein

from formlab.folders import Predictions
from formlab.tables import USABLE
from formlab.text.flow import Flow, read

_FIGURE = re.compile(
    r"[^\w(.−–-]{0,3}\s*(?P<open>\()?\s*(?P<minus>[-−–])?\s*[$€£¥]?\s*"
    r"(?P<digits>\d[\d,]*(?:\.\d+)?|\.\d+)\s*(?P<close>\))?"
)
_DASH = re.compile(r"[$€£¥]?\s*[-—–−]+\s*")
_TOTAL = re.compile(r"\btotals?\b", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")
# No statement has longer blocks; the bounds keep the cost low on hostile input.
_PARTS, _NEAR, _ROWS = 40, 8, 1_000
# The share of rows in which the last column must be a sum of the others, for it not to be chance.
_MOST = 0.6


_SUMS = {
    **dict.fromkeys(("doc_id", "label", "total"), pl.String),
    "parts": pl.Int64,
    "holds": pl.Boolean,
    **dict.fromkeys(("difference", "effect"), pl.Float64),
    "suspects": pl.List(pl.String),
}


class Cell(NamedTuple):
    """A figure of a page: the number of its unit in the page's `Flow`, its text and its value."""

    unit: int
    text: str
    value: Decimal


class Sum(NamedTuple):
    """A figure that others should add up to, with the sign of each."""

    label: str
    total: Cell
    parts: tuple[tuple[Cell, int], ...]

    @property
    def difference(self) -> Decimal:
        """The total as it stands less the sum of its parts."""
        return self.total.value - sum(cell.value * sign for cell, sign in self.parts)

    @property
    def suspects(self) -> list[tuple[Cell, Decimal]]:
        """Figures of which one wrong digit or sign explains the difference, with what they were."""
        changes = [(self.total, -1), *self.parts]
        repaired = [(cell, cell.value + self.difference * sign) for cell, sign in changes]
        return [(cell, value) for cell, value in repaired if _is_misread(cell.value, value)]


class _Row(NamedTuple):
    label: str
    cells: dict[int, Cell]


# The rows that a row sums, each with its sign.
_Parts = list[tuple[_Row, int]]


def sums(flow: Flow) -> list[Sum]:
    """Every sum on a page, whether it holds or not, found from the figures alone.

    A row is a sum of the rows above it if it is their sum in two columns, or in one if it is called
    a total; of two of them also their difference. The last column is a sum of the others if it is
    in most rows.
    """
    tables: dict[int, dict[int, list[int]]] = {}
    for number, unit in enumerate(flow.units):
        tables.setdefault(unit.table, {}).setdefault(unit.line, []).append(number)
    found: list[Sum] = []
    for table, lines in tables.items():
        # Lines outside of tables have columns by their order alone.
        read_rows = (_row(flow, numbers, ordered=table < 0) for numbers in lines.values())
        rows = [row for row in read_rows if row.cells][:_ROWS]
        found += [*_down(rows), *_across(rows)]
    return found


def _row(flow: Flow, numbers: Sequence[int], *, ordered: bool) -> _Row:
    label, cells, last = "", {}, -1
    for number in numbers:
        unit = flow.units[number]
        for text in _pieces(unit.text) if ordered else (unit.text,):
            # A share of something does not add up with amounts.
            if text.strip(" )") == "%":
                cells.pop(last, None)
                continue
            value = figure(text)
            if value is not None:
                # A sign of currency in a cell of its own moves the figure; its right end stays.
                last = len(cells) if ordered else unit.column + unit.span - 1
                cells[last] = Cell(number, text, value)
            elif not label and any(char.isalpha() for char in text):
                # A figure before the words of a row is its number.
                label, cells = text, {}
    only_years = not label and all(_YEAR.fullmatch(cell.text) for cell in cells.values())
    return _Row(label, {} if only_years else cells)


def _pieces(line: str) -> list[str]:
    """The words of a line, and the figures at its end, which a reader may set apart by a space."""
    words = line.split()
    first = len(words)
    while first and (figure(words[first - 1]) is not None or words[first - 1] in "$€£¥%"):
        first -= 1
    return [" ".join(words[:first]), *words[first:]] if first < len(words) else [line]


def figure(text: str) -> Decimal | None:
    """The value of a cell that holds one figure: brackets and a minus negate, a dash is 0."""
    if _DASH.fullmatch(text):
        return Decimal(0)
    match = _FIGURE.fullmatch(text.strip())
    if match is None or len(match["digits"]) > 40:
        return None
    value = Decimal(match["digits"].replace(",", ""))
    return -value if match["open"] or match["minus"] else value


def _down(rows: Sequence[_Row]) -> Iterator[Sum]:
    """Rows that are sums of rows above them."""
    # Rows that are part of no sum yet, the last one at the end.
    loose: list[_Row] = []
    for row in rows:
        parts = _found(row, loose)
        for column in sorted(row.cells) if parts else ():
            cells = tuple((part.cells[column], s) for part, s in parts if column in part.cells)
            if len(cells) >= 2:
                yield Sum(row.label, row.cells[column], cells)
        summed = {id(part) for part, _ in parts}
        loose = [*(other for other in loose if id(other) not in summed), row]


def _found(row: _Row, loose: Sequence[_Row]) -> _Parts:
    """The rows above that `row` is the sum of: a block right above, or two near it."""
    most, best = (0 if _TOTAL.search(row.label) else 1), []
    for size in range(2, min(len(loose), _PARTS) + 1):
        block = [(part, 1) for part in loose[-size:]]
        witnesses, holding, broken = _agreement(row, block)
        if broken <= holding and witnesses > most:
            most, best = witnesses, block
    if best:
        return best
    near = [part for part in loose[-_NEAR:] if len(part.cells.keys() & row.cells.keys()) >= 2]
    for later, earlier in combinations(reversed(near), 2):
        for sign in (-1, 1):
            witnesses, _, broken = _agreement(row, pair := [(earlier, 1), (later, sign)])
            if broken <= 1 and witnesses >= 2:
                return pair
    return []


def _agreement(row: _Row, parts: _Parts) -> tuple[int, int, int]:
    """How many different totals of two digits add up, in how many columns, and in how many none."""
    totals, broken = [], 0
    for column, cell in row.cells.items():
        added = [part.cells[column].value * sign for part, sign in parts if column in part.cells]
        if len(added) >= 2:
            several = abs(cell.value) >= 10 and sum(map(bool, added)) >= 2
            holds = several and sum(added) == cell.value
            totals += [cell.value] * holds
            broken += not holds
    return len(set(totals)), len(totals), broken


def _across(rows: Sequence[_Row]) -> list[Sum]:
    """The last cell of each row as the sum of those before it, if it is in most rows."""
    across = []
    for row in rows:
        *parts, last = (row.cells[column] for column in sorted(row.cells))
        if sum(cell.value != 0 for cell in parts) >= 2:
            across.append(Sum(row.label, last, tuple((cell, 1) for cell in parts)))
    holding = sum(found.difference == 0 for found in across)
    return across if holding >= max(3, _MOST * len(across)) else []


def _is_misread(value: Decimal, other: Decimal) -> bool:
    """Whether one wrong, lost or added digit, or the sign, makes one value of the other."""
    digits = (f"{abs(number):f}".replace(".", "") for number in (value, other))
    same_sign = (value < 0) == (other < 0)
    return value == -other or (same_sign and Levenshtein.distance(*digits, score_cutoff=1) == 1)


def check_sums(pages: Predictions | Mapping[str, str]) -> pl.DataFrame:
    """The sums on the pages that a system read, whether they hold or not: no gold is needed.

    Returns a row for each sum: `doc_id`; `label`, the words of its row; `total`, as printed;
    `parts`, how many figures it sums; `holds`; `difference`, the total less the sum of its parts;
    `effect`, its size as a share of the total, NaN for a total of 0; `suspects`, figures of which
    one wrong digit or sign explains the difference, with what they would have to be. A page on
    which no sum is found has one row of nulls.

    `pages`: whole pages as HTML, Markdown or text: what a system predicted, or texts by the name of
    their page.

    Examples
    --------
    >>> table = check_sums({"p1": "Cash  20\\nBonds  5\\nTotal  25"})
    >>> table.select("doc_id", "label", "total", "holds").rows()
    [('p1', 'Total', '25', True)]
    """
    if isinstance(pages, Predictions):
        whole = pl.col("path").is_null() & (pl.col("task") != "layout")
        read_pages = pages.records.filter(whole, pl.col("status").is_in(USABLE))
        pages = dict(read_pages.select("doc_id", pl.col("value").fill_null("")).iter_rows())
    rows: list[dict[str, Any]] = []
    for doc_id, text in pages.items():
        found = sums(read(text))
        rows += [] if found else [{"doc_id": doc_id}]
        for entry in found:
            gap, total = entry.difference, entry.total
            suspects = [f"{cell.text} → {value:,f}" for cell, value in entry.suspects if gap]
            row = {"doc_id": doc_id, "label": entry.label, "total": total.text}
            row |= {"parts": len(entry.parts), "holds": not gap, "difference": float(gap)}
            effect = float(abs(gap / total.value)) if total.value else float("nan")
            rows.append(row | {"effect": effect, "suspects": suspects})
    return pl.DataFrame(rows, schema=_SUMS)
