"""Whether the figures of a page add up: errors found without gold, and what wrong figures cost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Any, NamedTuple

import polars as pl
from rapidfuzz.distance import Levenshtein

from formlab.analysis.finding import in_fields
from formlab.benchmarks.calculations import KnownSum, row_name
from formlab.benchmarks.fincriticaled import FACTS, fact_meta
from formlab.folders import Evaluation, Predictions
from formlab.tables import USABLE
from formlab.text.flow import Flow, read
from formlab.text.markup import written_events

_FIGURE = re.compile(
    r"[^\w(.−–-]{0,3}\s*(?P<open>\()?\s*(?P<minus>[-−–])?\s*[$€£¥]?\s*"
    r"(?P<digits>\d[\d,]*(?:\.\d+)?|\.\d+)\s*(?P<close>\))?"
)
_DASH = re.compile(r"[$€£¥]?\s*[-—–−]+\s*")
_TOTAL = re.compile(r"\btotals?\b", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")
# No statement has longer blocks; the bounds keep the cost low on hostile input.
_PARTS, _NEAR, _ROWS = 40, 8, 1_000
# A share of columns or rows in which a sum must hold, for it to be one and not chance.
_MOST = 0.6


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
        """The figure as it stands, less what its parts add up to; 0 if the sum holds."""
        return self.total.value - sum(cell.value * sign for cell, sign in self.parts)

    @property
    def suspects(self) -> list[tuple[Cell, Decimal]]:
        """The figures of which one wrong digit or sign would explain the difference.

        Beside each the value that would make the sum hold.
        """
        cells = [(self.total, -self.difference)]
        cells += [(cell, self.difference * sign) for cell, sign in self.parts]
        repaired = [(cell, cell.value + change) for cell, change in cells]
        return [(cell, value) for cell, value in repaired if _misread(cell.value, value)]


class _Row(NamedTuple):
    label: str
    cells: dict[int, Cell]


def sums(flow: Flow, known: Sequence[KnownSum] = ()) -> list[Sum]:
    """Every sum on a page, whether it holds or not, found from the figures and from what is known.

    A row is a sum of rows above it if it is their sum in most of its columns: in two of them, or
    in one if it is called a total. Then it should be in the others too. Likewise a last column of
    the columns before it, if it is in most rows. Differences of two rows count if they hold in two
    columns or more. What is in `known` is a sum wherever rows of these names stand in a table.

    Examples
    --------
    >>> page = read("Cash  20  31\\nBonds  5  6\\nTotal  25  87")
    >>> [(each.label, each.total.text, each.difference) for each in sums(page)]
    [('Total', '25', Decimal('0')), ('Total', '87', Decimal('50'))]
    >>> [str(value) for _, value in sums(page)[1].suspects]
    ['37', '81', '56']
    """
    return [each for rows in _tables(flow) for each in (*_down(rows, known), *_across(rows))]


def _tables(flow: Flow) -> Iterator[list[_Row]]:
    """The rows of each table, and those of all lines outside of tables together."""
    tables: dict[int, dict[int, list[int]]] = {}
    for number, unit in enumerate(flow.units):
        tables.setdefault(unit.table, {}).setdefault(unit.line, []).append(number)
    for table, lines in tables.items():
        rows = (_row(flow, numbers, ordered=table < 0) for numbers in lines.values())
        yield [row for row in rows if row.cells][:_ROWS]


def _row(flow: Flow, numbers: Sequence[int], *, ordered: bool) -> _Row:
    """The words and figures of a row; lines outside of tables have columns by order alone."""
    label: list[str] = []
    cells: dict[int, Cell] = {}
    last = -1
    for number in numbers:
        unit = flow.units[number]
        for text in _pieces(unit.text) if ordered else (unit.text,):
            # A share of something does not add up with amounts.
            if text.strip(" )") == "%":
                cells.pop(last, None)
                continue
            # A sign of currency in a cell of its own moves the figure; its right end stays.
            column = len(cells) if ordered else unit.column + unit.span - 1
            value = figure(text)
            if value is not None:
                cells[column], last = Cell(number, text, value), column
            elif not label and any(char.isalpha() for char in text):
                # What stands before the words of a row is its number.
                label, cells = [text], {}
    if not label and all(_YEAR.fullmatch(cell.text) for cell in cells.values()):
        cells = {}
    return _Row(" ".join(label), cells)


def _pieces(line: str) -> list[str]:
    """The words of a line, and the figures at its end, which a reader may set apart by a space."""
    words = line.split()
    first = len(words)
    while first and (figure(words[first - 1]) is not None or words[first - 1] in "$€£¥%"):
        first -= 1
    return [" ".join(words[:first]), *words[first:]] if first < len(words) else [line]


def figure(text: str) -> Decimal | None:
    """The value of a cell that holds one figure: brackets and a minus negate, a dash is 0.

    Examples
    --------
    >>> figure("$ (1,204)"), figure("—"), figure("12 %"), figure("Note 4")
    (Decimal('-1204'), Decimal('0'), None, None)
    """
    if _DASH.fullmatch(text):
        return Decimal(0)
    match = _FIGURE.fullmatch(text.strip())
    if match is None or len(match["digits"]) > 40:
        return None
    value = Decimal(match["digits"].replace(",", ""))
    return -value if match["open"] or match["minus"] else value


def _down(rows: Sequence[_Row], known: Sequence[KnownSum]) -> Iterator[Sum]:
    named = _named(rows, known)
    # Rows that are part of no sum yet, the last one at the end.
    loose: list[_Row] = []
    for row in rows:
        parts = named.get(id(row)) or _block(row, loose) or _two(row, loose)
        if parts:
            for column in sorted(row.cells):
                cells = [(part.cells[column], s) for part, s in parts if column in part.cells]
                if len(cells) >= 2:
                    yield Sum(row.label, row.cells[column], tuple(cells))
            summed = [id(part) for part, _ in parts]
            loose = [other for other in loose if id(other) not in summed]
        loose.append(row)


_Parts = list[tuple[_Row, int]]
# Of each column the figures that are summed.
_Values = dict[int, list[Decimal]]


def _named(rows: Sequence[_Row], known: Sequence[KnownSum]) -> dict[int, _Parts]:
    """Of the rows whose sum is known, the rows that they sum, where each name stands once."""
    by_name: dict[str, list[_Row]] = {}
    for row in rows if known else ():
        by_name.setdefault(row_name(row.label), []).append(row)
    only = {name: own[0] for name, own in by_name.items() if len(own) == 1}
    return {
        id(only[each.total]): [(only[name], sign) for name, sign in each.parts]
        for each in known
        if each.total in only and all(name in only for name, _ in each.parts)
    }


def _block(row: _Row, loose: Sequence[_Row]) -> _Parts | None:
    """The rows right above that `row` is the sum of."""
    least = 1 if _TOTAL.search(row.label) else 2
    best, size = 0, 0
    values: _Values = {column: [] for column in row.cells}
    for count, part in enumerate(reversed(loose[-_PARTS:]), start=1):
        _add(values, part)
        columns = _columns(row, values) if count > 1 else 0
        if columns >= least and columns > best:
            best, size = columns, count
    return [(part, 1) for part in loose[-size:]] if best else None


def _two(row: _Row, loose: Sequence[_Row]) -> _Parts | None:
    """Two of the last rows above that `row` is the sum or the difference of."""
    near = [part for part in loose[-_NEAR:] if len(part.cells.keys() & row.cells.keys()) >= 2]
    for later, earlier in combinations(reversed(near), 2):
        for sign in (-1, 1):
            values: _Values = {column: [] for column in row.cells}
            _add(values, earlier)
            _add(values, later, sign)
            if _columns(row, values, spare=1) >= 2:
                return [(earlier, 1), (later, sign)]
    return None


def _add(values: _Values, part: _Row, sign: int = 1) -> None:
    for column in values.keys() & part.cells.keys():
        values[column].append(part.cells[column].value * sign)


def _columns(row: _Row, values: _Values, *, spare: int | None = None) -> int:
    """How many totals of two digits or more add up; columns that are alike are one witness.

    0 if more columns are broken than `spare`, or than hold.
    """
    checked = {column: figures for column, figures in values.items() if len(figures) >= 2}
    holding = [
        row.cells[column].value for column, figures in checked.items()
        if sum(figures) == row.cells[column].value and sum(map(bool, figures)) >= 2
        and abs(row.cells[column].value) >= 10
    ]  # fmt: skip
    broken = len(checked) - len(holding)
    return len(set(holding)) if broken <= (len(holding) if spare is None else spare) else 0


def _across(rows: Sequence[_Row]) -> Iterator[Sum]:
    """The last cell of a row as the sum of those before it, if it is in most rows."""
    across = []
    for row in rows:
        *parts, last = (row.cells[column] for column in sorted(row.cells))
        if sum(cell.value != 0 for cell in parts) >= 2:
            across.append(Sum(row.label, last, tuple((cell, 1) for cell in parts)))
    holding = sum(each.difference == 0 for each in across)
    if holding >= max(3, _MOST * len(across)):
        yield from across


def _misread(value: Decimal, other: Decimal) -> bool:
    """Whether one wrong, lost or added digit, or the sign, makes one value of the other."""
    if value == -other:
        return True
    digits = (f"{abs(each):f}".replace(".", "") for each in (value, other))
    same_sign = (value < 0) == (other < 0)
    return same_sign and Levenshtein.distance(*digits, score_cutoff=1) == 1


def check_sums(
    pages: Predictions | Mapping[str, str], known: Sequence[KnownSum] = (), *, every: bool = False
) -> pl.DataFrame:
    """The sums on the pages that a system read: no gold is needed.

    Parameters
    ----------
    pages
        Whole pages as HTML, Markdown or text: what a system predicted for a document without a
        path, or texts by the name of their page.
    known
        Sums by the names of rows, as `formlab.benchmarks.calculations.known_sums` reads them from
        a filing and its calculation links; the filing may be of another quarter.
    every
        Also the sums that hold.

    Returns
    -------
    polars.DataFrame
        A row for each sum: `doc_id`; `label`, the words of its row; `total`, as printed; `parts`,
        how many figures it sums; `holds`; `difference`, the total less the sum of its parts;
        `effect`, the size of the difference as a share of the total, NaN for a total of 0;
        `suspects`, figures of which one wrong digit or sign explains the difference, with what
        they would have to be. A page on which no sum is found has one row with null in the place
        of a sum.

    Examples
    --------
    >>> from formlab import analysis, benchmarks
    >>> read_pages = Predictions.load(benchmarks.SAMPLES / "runs" / "fincriticaled-test-ocr")
    >>> table = check_sums(read_pages, every=True)
    >>> table["doc_id"].n_unique()
    10
    """
    if isinstance(pages, Predictions):
        whole = pl.col("path").is_null() & (pl.col("task") != "layout")
        read_pages = pages.records.filter(whole, pl.col("status").is_in(USABLE))
        texts = read_pages.select("doc_id", pl.col("value").fill_null("")).rows()
    else:
        texts = list(pages.items())
    rows: list[dict[str, Any]] = []
    for doc_id, text in texts:
        all_sums = sums(read(text), known)
        rows += [
            {"doc_id": doc_id} | _columns_of(each) for each in all_sums if every or each.difference
        ]
        if not all_sums:
            rows.append({"doc_id": doc_id})
    return pl.DataFrame(rows, schema=_SCHEMA)


_SCHEMA = {
    "doc_id": pl.String, "label": pl.String, "total": pl.String, "parts": pl.Int64,
    "holds": pl.Boolean, "difference": pl.Float64, "effect": pl.Float64,
    "suspects": pl.List(pl.String),
}  # fmt: skip


def _columns_of(each: Sum) -> dict[str, Any]:
    gap = each.difference
    return {
        "label": each.label, "total": each.total.text, "parts": len(each.parts), "holds": not gap,
        "difference": float(gap), "effect": _share(gap, each.total.value),
        "suspects": [f"{cell.text} → {value:,f}" for cell, value in each.suspects if gap],
    }  # fmt: skip


def _share(change: Decimal, total: Decimal) -> float:
    return float(abs(change / total)) if total else float("nan")


def material_errors(evaluation: Evaluation, known: Sequence[KnownSum] = ()) -> pl.DataFrame:
    """What each wrong figure would cost: its error as a share of the total that it is part of.

    Parameters
    ----------
    evaluation
        Of tagged facts (benchmark ``fincriticaled``), holding its corpus.
    known
        As for `check_sums`; the sums of the gold page itself are found without.

    Returns
    -------
    polars.DataFrame
        A row for each number that is wrong or missing: `doc_id`, `path`, `gold`, `pred`, `cause`;
        `total`, the figure at the top of the sums that it is part of, itself if it is one; and
        `effect`, the size of the error as a share of that total, 1 and more for an error as large
        as the total itself. A figure that is missing counts as 0. `effect` is NaN, and `total`
        null, for what is in no sum, and for what was read as no number.
    """
    return evaluation.gathered(lambda part: _effects(part, known))


def _effects(evaluation: Evaluation, known: Sequence[KnownSum]) -> pl.DataFrame:
    number = pl.col("kind") == "number", pl.col("outcome") != "match"
    wrong = evaluation.scan("cases").filter(in_fields(), *number).collect()
    columns = ["doc_id", "path", "gold", "pred", "cause"]
    rows = []
    for (doc_id,), cases in wrong.group_by("doc_id", maintain_order=True):
        tops = _tops(evaluation.corpus.records.filter(doc_id=doc_id), known)
        for case in cases.select(columns).iter_rows(named=True):
            top, effect = tops.get(case["path"]), float("nan")
            gold, pred = figure(case["gold"]), figure(case["pred"] or "0")
            if top and gold is not None and pred is not None:
                effect = _share(pred - gold, top.value)
            rows.append(case | {"total": top and top.text, "effect": effect})
    schema = dict.fromkeys([*columns, "total"], pl.String) | {"effect": pl.Float64}
    return pl.DataFrame(rows, schema=schema)


def _tops(gold: pl.DataFrame, known: Sequence[KnownSum]) -> dict[str, Cell]:
    """Of each fact in a sum of its page, the highest total above it."""
    markup = gold.filter(pl.col("path").is_null())["value"].first() or ""
    flow = Flow(written_events(markup), tags=FACTS)
    above: dict[int, Cell] = {}
    for each in sums(flow, known):
        for cell, _ in each.parts:
            above.setdefault(cell.unit, each.total)
    totals = {cell.unit: cell for cell in above.values()}
    tops: dict[str, Cell] = {}
    for fact in gold.filter(pl.col("path").is_not_null()).iter_rows(named=True):
        unit, _, _ = flow.marks.get(fact_meta(fact).mark, (-1, 0, 0))
        top, seen = totals.get(unit), {unit}
        while unit in above and above[unit].unit not in seen:
            top = above[unit]
            unit = top.unit
            seen.add(unit)
        if top:
            tops[fact["path"]] = top
    return tops
