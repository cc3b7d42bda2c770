"""Where a system is worse than elsewhere: one row a weakness, each the slice that explains it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import tables
from formlab.analysis.finding import (
    KEYS,
    LABEL,
    OUTCOME,
    READER,
    asked,
    origin,
)
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.bands import NUMBERS, of_values
from formlab.stats.draws import by_document, drawn_parts, percentiles
from formlab.stats.exchange import Exchanged
from formlab.stats.tests import adjusted_p
from formlab.tables import USABLE, Settings

# A number is cut at so many places at most; another column has at most so many values.
_CUTS, _WORDS = 16, 200
# No more weaknesses than so many are looked for, one after the other.
_ROUNDS = 12
# A document is mostly wrong from this share on, if it has so many values.
_MOSTLY, _LEAST = 0.5, 5
# By so much a further column must make the losses likelier, as a logarithm: twenty times.
_EARNED = 3.0
# By so much a cut at another place must: more than by one loss alone.
_MOVED = 5.0
AT_LEAST, UNDER = "at least ", "under "
# How a sentence says that a number is at least so much, or less.
_PHRASES = {
    "year": ("the year is {} or later", "the year is before {}"),
    "magnitude": ("the amount is {} or more", "the amount is under {}"),
    "length": ("the value has {} characters or more", "the value has fewer than {} characters"),
    "index": ("the number of the item is {} or more", "the number of the item is under {}"),
}
Words = tuple[str, ...]
# Columns that say which field a value is of; others are looked at within each of their values too.
HEADS = ("field", "subtype", "kind")
# What is known of a value without looking at how it was read.
COLUMNS = (*HEADS, "task", "modality", "scope", "reference", "complexity", "modal")
COLUMNS += ("template", "domain", "page", "position")
# What follows from its gold and its box.
_OF_GOLD = ("nesting", "vertical", "horizontal", "length", "box_height", "box_width")
_OF_GOLD += ("year", "magnitude", "case", "index")
_VALUES = ("value", "ci_low", "ci_high", "rest", "difference", "difference_low")
_VALUES += ("difference_high", "p", "p_adjusted", "excess")
SLICES: dict[str, Any] = {
    **dict.fromkeys(("benchmark", "split", "system", "metric"), pl.String),
    **dict.fromkeys(("slice_by", "slice_value"), pl.List(pl.String)),
    **dict.fromkeys(_VALUES, pl.Float64),
    **dict.fromkeys(("n_docs", "n_cases", "n_tested"), pl.Int64),
    "mode": pl.String,
    "settings": tables.SETTINGS,
}
# Columns that follow from the error: searching them would be circular.
_AFTERWARDS = ("outcome", "cause", "similarity", "status", "exact", "normalised", "typed", "fuzzy")


@dataclasses.dataclass
class Weakness:
    """Values on which losses are more likely, and how it was shown.

    They agree in each of some columns, or a number of theirs is on one side of a cut; without
    columns they are those of the documents that are mostly wrong.
    """

    columns: Words
    values: Words
    inside: np.ndarray
    p: float
    p_adjusted: float
    n_tested: int

    @property
    def name(self) -> str:
        """As a sentence has it: ``kind is date and the year is 2016 or later``."""
        return " and ".join(map(_phrase, self.columns, self.values))


def _phrase(column: str, value: str) -> str:
    for place, start in enumerate((AT_LEAST, UNDER)):
        if column in _PHRASES and value.startswith(start):
            return _PHRASES[column][place].format(value.removeprefix(start))
    if column == "case":
        return f"the value has {value}"
    if column in ("vertical", "horizontal"):
        return f"the value stands in the {value} third of the page"
    return f"{'the ' * (column == 'field')}{column.replace('_', ' ')} is {value}"


class Values:
    """The gold's values of one evaluation: document, loss and columns of each, as numbers.

    A loss is 1 for a wrong value and 0 for a right one. `codes` are ranks of a column's values from
    0 on, -1 for none.
    """

    def __init__(self, table: pl.DataFrame, columns: dict[str, pl.Series]) -> None:
        self.table = table
        self.document = (table["doc_id"].rank("dense").cast(pl.Int64) - 1).to_numpy()
        self.count = int(self.document.max(initial=-1)) + 1
        self.loss = (~table["right"]).cast(float).to_numpy()
        self.sure = table["sure"].to_numpy()
        self.codes: dict[str, np.ndarray] = {}
        self.words: dict[str, list[Any]] = {}
        self.cuts: dict[str, list[int]] = {}
        self.ranks: dict[tuple[str, str], int] = {}
        for name, series in columns.items():
            self._add(name, series)

    def _add(self, name: str, series: pl.Series) -> None:
        words = series.drop_nulls().unique().sort()
        is_number = series.dtype.is_numeric() and (name in NUMBERS or len(words) > _CUTS)
        if len(words) + bool(series.null_count()) < 2 or (not is_number and len(words) > _WORDS):
            return
        self.codes[name] = (series.rank("dense").cast(pl.Int64) - 1).fill_null(-1).to_numpy()
        self.words[name] = words.to_list()
        self.ranks |= {(name, str(value)): at for at, value in enumerate(words)}
        if is_number:
            ranks = np.sort(self.codes[name][self.codes[name] >= 0])
            places = np.arange(1, _CUTS) * len(ranks) // _CUTS
            known = range(1, len(words)) if len(words) <= _CUTS else ranks[places]
            if name == "magnitude":
                known = [*known, *np.searchsorted(words.to_numpy(), [10.0**n for n in range(8)])]
            self.cuts[name] = sorted({int(at) for at in known} - {0, len(words)})

    def atoms(self) -> Iterator[tuple[str, str]]:
        """Column and value of every slice by one column."""
        for name, words in self.words.items():
            for at in self.cuts.get(name, range(len(words))):
                if name in self.cuts:
                    yield from ((name, self.cut(name, at, side)) for side in (AT_LEAST, UNDER))
                else:
                    yield name, str(words[at])

    def cut(self, name: str, at: int, side: str) -> str:
        """The value of a slice that ends at a rank; ranks of such values are kept."""
        value = f"{side}{_edge(*self.words[name][at - 1 : at + 1])}"
        self.ranks[name, value] = at
        return value

    def mask(self, name: str, value: str) -> np.ndarray:
        """Which values one column puts into a slice."""
        codes, at = self.codes[name], self.ranks[name, value]
        if name not in self.cuts:
            return codes == at
        return codes >= at if value.startswith(AT_LEAST) else (codes >= 0) & (codes < at)


def _edge(below: float, number: float) -> str:
    """The roundest number above the first and not above the second."""
    step = 10.0 ** math.floor(math.log10(max(abs(number), 1)))
    while step >= 1e-3 and not below < math.floor(number / step) * step:
        step /= 10
    edge = math.floor(number / step) * step if isinstance(number, float) else number
    return f"{edge:,.0f}" if isinstance(edge, float) and edge >= 1_000 else f"{edge:g}"


class Search:
    """All slices of some values: how many of each document's values they hold, tested at once."""

    def __init__(
        self,
        values: Values,
        heads: Sequence[str],
        depth: int,
        min_docs: int = 3,
        min_cases: int = 5,
    ) -> None:
        self.values, self.heads = values, [name for name in heads if name in values.codes]
        self.depth, self.min_docs, self.min_cases = depth, min_docs, min_cases

    def masks(self, active: np.ndarray) -> tuple[list[tuple[Words, Words]], list[np.ndarray]]:
        """The slices with enough support, and the places of their values; the same ones once."""
        marks, count = np.random.default_rng(0).random(len(active)), int(active.sum())
        seen: set[float] = set()
        slices, places = [], []

        def add(columns: Words, words: Words, at: np.ndarray) -> bool:
            enough = len(at) >= self.min_cases
            enough &= len(np.unique(self.values.document[at])) >= self.min_docs
            mark = float(marks[at].sum())
            if enough and len(at) < count and mark not in seen:
                seen.add(mark)
                slices.append((columns, words))
                places.append(at)
            return enough

        level = [
            ((name,), (value,), np.flatnonzero(self.values.mask(name, value) & active))
            for name, value in self.values.atoms()
        ]
        level = singles = [each for each in level if add(*each)]
        for _ in range(1, self.depth):
            deeper = []
            for columns, words, at in level:
                inside = np.zeros(len(active), dtype=bool)
                inside[at] = True
                beside = self._beside(columns)
                for (name,), (value,), other in singles:
                    if name in beside:
                        both = other[inside[other]]
                        if self.min_cases <= len(both) < min(len(at), len(other)):
                            deeper.append(((*columns, name), (*words, value), both))
            level = [each for each in deeper if add(*each)]
        return slices, places

    def _beside(self, columns: Words) -> set[str]:
        """The columns that go with those before: with a head all that are none, else later ones."""
        order = list(self.values.codes)
        later = set(order[order.index(columns[-1]) + 1 :])
        if not self.heads:
            return later
        return later - set(self.heads) if columns[0] in self.heads else set()

    def weaknesses(self, alpha: float) -> list[Weakness]:
        """One after the other, each with its values taken away before the next is looked for."""
        active, found = np.ones(len(self.values.loss), dtype=bool), []
        while len(found) < _ROUNDS and (weakness := self._strongest(active, alpha)):
            found.append(weakness)
            active &= ~weakness.inside
        return found

    def _strongest(self, active: np.ndarray, alpha: float) -> Weakness | None:
        """The slice that explains most, or the documents that are mostly wrong."""
        slices, places = self.masks(active)
        p_documents, of_documents = self._documents(active)
        p = np.array([p_documents, *self._p(places, active)])
        adjusted, tested = adjusted_p(p), int((~np.isnan(p)).sum())
        holds, sure, best = adjusted <= alpha, self.values.sure, None
        if not sure[active].all() and holds[1:].any():
            again = self._p([at[sure[at]] for at in places], active & sure)
            holds[1:] &= adjusted_p(again) <= alpha
        if holds[1:].any():
            gains = np.full(len(slices), -np.inf)
            whole = float(self.values.loss[active].sum()), int(active.sum())
            for at in np.flatnonzero(holds[1:]):
                earned = _EARNED * (len(slices[at][0]) - 1)
                gains[at] = self._gain(places[at], whole) - earned
            at = int(np.argmax(gains))
            columns, words = slices[at][0], self._cut_best(*slices[at], active, whole)
            inside = active & np.logical_and.reduce(
                [self.values.mask(*pair) for pair in zip(columns, words, strict=True)]
            )
            best = Weakness(columns, words, inside, p[at + 1], adjusted[at + 1], tested)
        # Documents are told first unless the slice explains why they are wrong.
        first = holds[0] and of_documents.any()
        if first and (best is None or self._documents(active & ~best.inside)[0] <= alpha):
            return Weakness((), (), of_documents, p[0], adjusted[0], tested)
        return best

    def _cut_best(
        self, columns: Words, words: Words, active: np.ndarray, whole: tuple[float, int]
    ) -> Words:
        """The values of a slice with its numbers cut where that explains most, near by."""
        words = list(words)
        for place, name in enumerate(columns):
            cuts = self.values.cuts.get(name)
            if not cuts:
                continue
            pairs = zip(columns, words, strict=True)
            others = [self.values.mask(*pair) for n, pair in enumerate(pairs) if n != place]
            rest = np.logical_and.reduce([active, *others])
            before = self.values.ranks[name, words[place]]
            side = AT_LEAST if words[place].startswith(AT_LEAST) else UNDER
            low = max((cut for cut in cuts if cut < before), default=0) + 1
            high = min((cut for cut in cuts if cut > before), default=len(self.values.words[name]))
            near = sorted(range(low, high), key=lambda at: abs(at - before))[:_CUTS]
            values = {at: self.values.cut(name, at, side) for at in near}
            gains = {
                at: self._gain(np.flatnonzero(self.values.mask(name, value) & rest), whole)
                for at, value in values.items()
            }
            # One error by chance beside a cut is no reason to move it.
            best = max(gains, key=gains.get)
            if gains[best] > gains[before] + _MOVED:
                words[place] = values[best]
        return tuple(words)

    def _gain(self, at: np.ndarray, whole: tuple[float, int]) -> float:
        """The logarithm of how much likelier the losses are with a rate of its own for a slice."""
        n, inside = max(len(at), 1), float(self.values.loss[at].sum())

        def likelihood(wrong: float, of: float) -> float:
            parts = np.array([wrong, of - wrong])
            return float((parts * np.log(np.maximum(parts, 1e-12) / max(of, 1e-12))).sum())

        rest = likelihood(whole[0] - inside, whole[1] - n)
        return likelihood(inside, n) + rest - likelihood(*whole)

    def _p(self, places: Sequence[np.ndarray], active: np.ndarray) -> np.ndarray:
        values, at = self.values, np.flatnonzero(active)
        test = Exchanged(values.document[at], values.loss[at], values.count)
        return test.p([(values.document[at], values.loss[at]) for at in places])

    def _documents(self, active: np.ndarray) -> tuple[float, np.ndarray]:
        """p of so many documents that are mostly wrong, and which values they hold."""
        document, loss = self.values.document[active], self.values.loss[active]
        if not len(loss):
            return np.nan, np.zeros(len(active), dtype=bool)
        sizes = np.bincount(document, minlength=self.values.count)
        wrong = np.bincount(document, weights=loss, minlength=self.values.count)
        bad = (sizes >= _LEAST) & (wrong >= _MOSTLY * sizes)
        sizes = sizes[sizes >= _LEAST]
        p = Exchanged.spread_p(sizes, int(loss.sum()), len(loss), bad.sum(), _MOSTLY)
        return p, bad[self.values.document] & active


def find_slices(
    evaluations: Evaluation | Sequence[Evaluation],
    *,
    columns: Sequence[str] | None = None,
    max_columns: int = 2,
    min_docs: int = 3,
    min_cases: int = 5,
    alpha: float = 0.05,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """The slices of values on which a system is worse than elsewhere, one for each weakness.

    Every conjunction of at most `max_columns` values with enough support is tested against the
    rest by `stats.exchange`. Of those that hold the one that explains most is taken, its values
    are taken away, and the rest is tested again. Values whose verdict depends on the reading rule
    are left out, and a slice must hold as well without those whose label may be wrong. Documents
    that are mostly wrong are left out once they are told.

    Returns a row for each slice, ranked by `excess`, how many values are lost by not being as good
    as the rest; `rest` is the share of the values that are in no weakness. A number is cut at its
    own values: ``at least 26``. A slice was picked for looking bad: expect its difference to be
    smaller on new documents.

    Raises `UnknownName` if a column is not known or not allowed.

    Parameters
    ----------
    evaluations
        One, or several that are searched one by one.
    columns
        Of *cases* or *documents*, bands, or what follows from the gold (``year``, ``index`` …).
        If left out all of these and a user's own, each within every kind and field as well.
        Columns that follow from the error, such as ``cause``, are refused.
    min_docs, min_cases
        The least support of a slice.
    alpha
        The chance that any slice is named where all values are alike, after Holm.
    resamples, level, seed
        Of the percentile intervals.
    """
    if refused := [name for name in columns or () if name in _AFTERWARDS]:
        allowed = [name for name in columns or () if name not in _AFTERWARDS]
        raise UnknownName.of("column to search slices in", refused[0], allowed or COLUMNS)
    several = [evaluations] if isinstance(evaluations, Evaluation) else list(evaluations)
    rows = []
    for evaluation in several:
        values, heads = opened_values(evaluation, columns)
        search = Search(values, heads, max_columns, min_docs, min_cases)
        settings = Settings(
            rules=f"columns<={max_columns}|docs>={min_docs}|cases>={min_cases}",
            interval=f"bootstrap,documents,n={resamples},level={level:g},seed={seed}",
            test=f"exchanged within documents,holm<={alpha:g}",
        )
        base = {"metric": OUTCOME, "mode": evaluation.mode}
        base["settings"] = dataclasses.asdict(settings)
        base |= origin(evaluation)
        draws = {"resamples": resamples, "level": level, "seed": seed}
        found = slice_rows(values, search.weaknesses(alpha), **draws)
        rows += [base | row for row in found if row["slice_by"]]
    names = (pl.col(name).list.join(" & ") for name in ("slice_by", "slice_value"))
    return pl.DataFrame(rows, schema=SLICES).sort(-pl.col("excess"), *names)


def opened_values(
    evaluation: Evaluation, columns: Sequence[str] | None = None, *, answered: bool = False
) -> tuple[Values, Sequence[str]]:
    """The gold's values with the columns to look at, and within which of these to look deeper.

    With `answered` only those of documents that have a usable answer.
    """
    names = [*COLUMNS, *_OF_GOLD, *evaluation.own] if columns is None else list(columns)
    pieces = [_piece(part, names, answered=answered) for part in evaluation.parts()]
    table = pl.concat([table for table, _ in pieces])
    values = {name: pl.concat([of[name] for _, of in pieces]) for name in names}
    return Values(table, values), HEADS if columns is None else ()


def _piece(
    part: Evaluation, names: Sequence[str], *, answered: bool
) -> tuple[pl.DataFrame, dict[str, pl.Series]]:
    cases = _of_gold(part)
    if answered:
        usable = pl.col("status").is_in(USABLE)
        documents = part.scan("cases").filter(usable).select("doc_id").collect()["doc_id"]
        known = pl.col("status").is_in([*USABLE, "missing"])
        cases = cases.filter(known, pl.col("doc_id").is_in(documents.implode()))
    sure, right = pl.col("cause").ne_missing(LABEL), pl.col("outcome") == "match"
    table = cases.select(*KEYS, "cause", "outcome", right=right, sure=sure)
    return table, {name: _column(cases, part, name) for name in names}


def _column(cases: pl.DataFrame, part: Evaluation, name: str) -> pl.Series:
    values = of_values(cases, part.documents, name)
    return values if values.dtype.is_numeric() else values.cast(pl.String)


def _of_gold(part: Evaluation) -> pl.DataFrame:
    return asked(part).filter(pl.col("cause").ne_missing(READER))


def slice_rows(
    values: Values, found: Sequence[Weakness], *, resamples: int, level: float, seed: int
) -> Iterator[dict[str, Any]]:
    """Weaknesses with their shares, that of the values in none of them, and the difference."""
    elsewhere = ~np.logical_or.reduce([weakness.inside for weakness in found] or [[False]])
    for weakness in found:
        inside, nan = weakness.inside, (float("nan"),) * 2
        sides = [
            by_document(values.document[at], [1 - loss, np.ones(len(loss))], values.count)
            for at, loss in ((at, values.loss[at]) for at in (inside, elsewhere))
        ]
        value, rest = (float(ratio(side.sum(axis=0))) for side in sides)
        span, apart = nan, nan
        if resamples:
            drawn, others = map(ratio, drawn_parts(sides, resamples=resamples, seed=seed))
            span, apart = percentiles(drawn, level), percentiles(drawn - others, level)
        row = {"slice_by": weakness.columns, "slice_value": weakness.values}
        numbers = (value, *span, rest, value - rest, *apart, weakness.p, weakness.p_adjusted)
        row |= dict(zip(_VALUES, numbers, strict=False))
        row |= {"excess": abs(value - rest) * inside.sum(), "n_cases": int(inside.sum())}
        row |= {"n_docs": len(np.unique(values.document[inside])), "n_tested": weakness.n_tested}
        yield row


def slice_cases(
    evaluation: Evaluation, found: dict[str, Any], *, wrong: bool = True
) -> pl.DataFrame:
    """The cases of one slice, the wrong ones alone unless asked otherwise.

    Returns the schema CASES, in the order of the evaluation.

    `evaluation`: the one the slice was found in; `found`: a row of `find_slices`.
    """

    def chosen(part: Evaluation) -> pl.DataFrame:
        cases = _of_gold(part)
        for name, value in zip(found["slice_by"], found["slice_value"], strict=True):
            column = _column(cases, part, name)
            if column.dtype.is_numeric() and value.startswith((AT_LEAST, UNDER)):
                edge = float(value.rpartition(" ")[2].replace(",", ""))
                cases = cases.filter(
                    column >= edge if value.startswith(AT_LEAST) else column < edge
                )
            else:
                cases = cases.filter(column.cast(pl.String) == value)
        return cases.filter(pl.col("outcome") != "match") if wrong else cases

    return evaluation.gathered(chosen)
