"""Where a system is worse than elsewhere: one row a weakness, each the slice that explains it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis.finding import KEYS, LABEL, OUTCOME, READER, asked, keys, origin
from formlab.analysis.intervals import drawn_parts, percentiles
from formlab.analysis.paired_tests import adjusted_p
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.bands import NUMBERS, of_values
from formlab.stats.exchange import Exchanged
from formlab.stats.sums import of_cases
from formlab.tables import USABLE, Settings

# Columns that say which field a value is of; others are looked at within each of their values too.
HEADS = ("field", "subtype", "kind")
# What is known of a value without looking at how it was read.
COLUMNS = (
    *HEADS, "task", "modality", "scope", "reference", "complexity", "modal", "template", "domain",
    "page", "nesting", "position", "vertical", "horizontal", "length", "box_height", "box_width",
    "year", "magnitude", "case", "index",
)  # fmt: skip
SLICES: dict[str, Any] = {
    "benchmark": pl.String, "split": pl.String, "system": pl.String, "metric": pl.String,
    "slice_by": pl.List(pl.String), "slice_value": pl.List(pl.String),
    "value": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "rest": pl.Float64,
    "difference": pl.Float64, "difference_low": pl.Float64, "difference_high": pl.Float64,
    "p": pl.Float64, "p_adjusted": pl.Float64, "excess": pl.Float64,
    "n_docs": pl.Int64, "n_cases": pl.Int64, "n_tested": pl.Int64,
    "shadows": pl.List(pl.String), "mode": pl.String, "settings": tables.SETTINGS,
}  # fmt: skip
# Columns that follow from the error: searching them would be circular.
_AFTERWARDS = ("outcome", "cause", "similarity", "status", "exact", "normalised", "typed", "fuzzy")
# A number is cut at so many places at most; another column has at most so many values.
_CUTS, _VALUES = 16, 200
# No more weaknesses than so many are looked for, one after the other.
_ROUNDS = 20
# A document is mostly wrong from this share on, if it has so many values.
_MOSTLY, _LEAST = 0.5, 5
# By so much a further column must make the losses likelier, as a logarithm: twenty times.
_EARNED = 3.0
# By so much a cut at another place must: more than by one loss alone.
_MOVED = 5.0
_AT_LEAST, _UNDER = "at least ", "under "


@dataclasses.dataclass(frozen=True)
class Slice:
    """Values that agree in each of some columns, or of which a number is on one side of a cut."""

    columns: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """As a sentence has it: ``kind is date and the year is 2016 or later``."""
        return " and ".join(map(_phrase, self.columns, self.values))


# How a sentence says that a number is at least so much, or less.
_PHRASES = {
    "year": ("the year is {} or later", "the year is before {}"),
    "magnitude": ("the amount is {} or more", "the amount is under {}"),
    "length": ("the value has {} characters or more", "the value has fewer than {} characters"),
    "index": ("the number of the item is {} or more", "the number of the item is under {}"),
}


def _phrase(column: str, value: str) -> str:
    for place, start in enumerate((_AT_LEAST, _UNDER)):
        if column in _PHRASES and value.startswith(start):
            return _PHRASES[column][place].format(value.removeprefix(start))
    if column == "case":
        return f"the value has {value}"
    if column in ("vertical", "horizontal"):
        return f"the value stands in the {value} third of the page"
    return f"{column.replace('_', ' ')} is {value}"


@dataclasses.dataclass
class Weakness:
    """A slice, or without one the documents that are mostly wrong, and how it was shown."""

    slice: Slice | None
    inside: np.ndarray
    p: float
    p_adjusted: float
    n_tested: int
    shadows: list[str]


class Values:
    """The gold's values of one evaluation: document, loss and columns of each, as numbers.

    A loss is 1 for a wrong value and 0 for a right one; of a metric it is what the value has less
    than its share. `codes` are ranks of a column's values from 0 on, -1 for none.
    """

    def __init__(self, table: pl.DataFrame, columns: dict[str, pl.Series], *, up: bool) -> None:
        self.table = table
        codes = table["doc_id"].rank("dense").cast(pl.Int64) - 1
        self.document = codes.to_numpy()
        self.count = int(self.document.max(initial=-1)) + 1
        self.hits, self.total = (table[name].cast(float).to_numpy() for name in ("hits", "total"))
        rate = float(ratio(np.array([self.hits.sum(), self.total.sum()])))
        self.is_count = bool((self.total == 1).all() and ((self.hits % 1) == 0).all())
        sign = -1 if up else 1
        self.loss = 1 - self.hits if self.is_count and up else sign * (
            self.hits - (0 if self.is_count else rate) * self.total
        )  # fmt: skip
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
        if len(words) + bool(series.null_count()) < 2 or (not is_number and len(words) > _VALUES):
            return
        rank = series.rank("dense").cast(pl.Int64) - 1
        self.codes[name] = rank.fill_null(-1).to_numpy()
        self.words[name] = words.to_list()
        self.ranks |= {(name, str(word)): at for at, word in enumerate(words)}
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
                    yield from ((name, self.cut(name, at, side)) for side in (_AT_LEAST, _UNDER))
                else:
                    yield name, str(words[at])

    def cut(self, name: str, at: int, side: str) -> str:
        """The value of a slice that ends at a rank; ranks of such values are kept."""
        value = f"{side}{_edge(*self.words[name][at - 1 : at + 1])}"
        self.ranks[name, value] = at
        return value

    def mask(self, name: str, value: str) -> np.ndarray:
        """Which values one column puts into a slice."""
        codes = self.codes[name]
        if name not in self.cuts:
            return codes == self.ranks[name, value]
        at = self.ranks[name, value]
        return codes >= at if value.startswith(_AT_LEAST) else (codes >= 0) & (codes < at)


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
        self, values: Values, heads: Sequence[str], depth: int, min_docs: int = 3, min_cases: int = 5
    ) -> None:
        self.values, self.heads = values, [name for name in heads if name in values.codes]
        self.depth, self.min_docs, self.min_cases = depth, min_docs, min_cases
        self.count = values.count

    def masks(self, active: np.ndarray) -> tuple[list[Slice], list[np.ndarray]]:
        """The slices with enough support, and the places of their values; the same ones once."""
        marks, count = np.random.default_rng(0).random(len(active)), int(active.sum())
        seen: set[float] = set()
        slices, places = [], []

        def add(columns: tuple[str, ...], words: tuple[str, ...], at: np.ndarray) -> bool:
            documents = np.bincount(self.values.document[at], minlength=1)
            enough = len(at) >= self.min_cases and np.count_nonzero(documents) >= self.min_docs
            mark = float(marks[at].sum())
            if enough and len(at) < count and mark not in seen:
                seen.add(mark)
                slices.append(Slice(columns, words))
                places.append(at)
            return enough

        singles = [
            (name, word, np.flatnonzero(self.values.mask(name, word) & active))
            for name, word in self.values.atoms()
        ]
        singles = [each for each in singles if add((each[0],), (each[1],), each[2])]
        level = [((name,), (word,), at) for name, word, at in singles]
        for _ in range(1, self.depth):
            deeper = []
            for columns, words, at in level:
                inside = np.zeros(len(active), dtype=bool)
                inside[at] = True
                beside = self._beside(columns)
                for name, word, other in singles:
                    if name in beside:
                        both = other[inside[other]]
                        if self.min_cases <= len(both) < min(len(at), len(other)):
                            deeper.append(((*columns, name), (*words, word), both))
            level = [each for each in deeper if add(*each)]
        return slices, places

    def _beside(self, columns: tuple[str, ...]) -> set[str]:
        """The columns that go with those before: with a head all that are none, else later ones."""
        order = list(self.values.codes)
        later = set(order[order.index(columns[-1]) + 1 :])
        if not self.heads:
            return later
        return later - set(self.heads) if columns[0] in self.heads else set()

    def weaknesses(self, alpha: float) -> list[Weakness]:
        """One after the other, each with its values taken away before the next is looked for."""
        active, found = np.ones(len(self.values.loss), dtype=bool), []
        before: list[str] = []
        for _ in range(_ROUNDS):
            weakness, significant = self._strongest(active, alpha)
            if found:
                left = set(significant)
                found[-1].shadows = [name for name in before if name not in left]
            if weakness is None:
                break
            found.append(weakness)
            before = [n for n in significant if weakness.slice is None or n != weakness.slice.name]
            active &= ~weakness.inside
        return found

    def _strongest(self, active: np.ndarray, alpha: float) -> tuple[Weakness | None, list[str]]:
        """The slice that explains most, or the documents, and the names of all that hold."""
        slices, places = self.masks(active)
        documents = self._documents(active)
        p = np.array([documents[0], *self._p(places, active)])
        adjusted, tested = adjusted_p(p), int((~np.isnan(p)).sum())
        holds = adjusted <= alpha
        if not self.values.sure[active].all() and holds[1:].any():
            sure = self.values.sure
            again = self._p([at[sure[at]] for at in places], active & sure)
            holds[1:] &= adjusted_p(again) <= alpha
        best = None
        if holds[1:].any():
            gains = np.array([self._gain(at, active) for at in places])
            gains -= _EARNED * np.array([len(each.columns) - 1 for each in slices])
            at = int(np.argmax(np.where(holds[1:], gains, -np.inf)))
            held = self._cut_best(slices[at], active)
            inside = active & np.logical_and.reduce(
                [self.values.mask(*pair) for pair in zip(held.columns, held.values, strict=True)]
            )
            best = Weakness(held, inside, p[at + 1], adjusted[at + 1], tested, [])
        names = [each.name for each, held in zip(slices, holds[1:], strict=True) if held]
        # Documents are told first unless the slice explains why they are wrong.
        if holds[0] and (best is None or self._documents(active & ~best.inside)[0] <= alpha):
            best = Weakness(None, documents[1], p[0], adjusted[0], tested, [])
        return best, names

    def _cut_best(self, held: Slice, active: np.ndarray) -> Slice:
        """The slice with its numbers cut where that explains most, of all places near by."""
        words = list(held.values)
        for place, name in enumerate(held.columns):
            cuts = self.values.cuts.get(name)
            if not cuts:
                continue
            pairs = zip(held.columns, words, strict=True)
            others = [self.values.mask(*pair) for n, pair in enumerate(pairs) if n != place]
            rest = np.logical_and.reduce([active, *others])
            before = self.values.ranks[name, words[place]]
            side = _AT_LEAST if words[place].startswith(_AT_LEAST) else _UNDER
            low = max((cut for cut in cuts if cut < before), default=0) + 1
            high = min((cut for cut in cuts if cut > before), default=len(self.values.words[name]))
            near = {at: self.values.cut(name, at, side) for at in range(low, high)}
            gains = {
                at: self._gain(np.flatnonzero(self.values.mask(name, near[at]) & rest), active)
                for at in sorted(near, key=lambda at: abs(at - before))[:_CUTS]
            }
            # One error by chance beside a cut is no reason to move it.
            best = max(gains, key=gains.get)
            if gains[best] > gains[before] + _MOVED:
                words[place] = near[best]
        return Slice(held.columns, tuple(words))

    def _gain(self, at: np.ndarray, active: np.ndarray) -> float:
        """The logarithm of how much likelier the losses are with a rate of its own for a slice."""
        loss = self.values.loss
        n, total = max(len(at), 1), int(active.sum())
        inside, whole = float(loss[at].sum()), float(loss[active].sum())
        if not self.values.is_count:
            away = inside / n - (whole - inside) / max(total - n, 1)
            return 0.5 * away**2 * n / max(float(loss[active].var()), 1e-12)

        def likelihood(wrong: float, of: float) -> float:
            parts = np.array([wrong, of - wrong])
            return float((parts * np.log(np.maximum(parts, 1e-12) / max(of, 1e-12))).sum())

        rest = likelihood(whole - inside, total - n)
        return likelihood(inside, n) + rest - likelihood(whole, total)

    def _p(self, places: Sequence[np.ndarray], active: np.ndarray) -> np.ndarray:
        values = self.values
        at = np.flatnonzero(active)
        test = Exchanged(values.document[at], values.loss[at], self.count, values.is_count)
        return test.p([(values.document[at], values.loss[at]) for at in places])

    def _documents(self, active: np.ndarray) -> tuple[float, np.ndarray]:
        """p of so many documents that are mostly wrong, and which values they hold."""
        document, loss = self.values.document[active], self.values.loss[active]
        none = np.zeros(len(active), dtype=bool)
        if not self.values.is_count or not len(loss):
            return np.nan, none
        sizes = np.bincount(document, minlength=self.count)
        wrong = np.bincount(document, weights=loss, minlength=self.count)
        bad = (sizes >= _LEAST) & (wrong >= _MOSTLY * sizes)
        p = Exchanged.spread_p(sizes[sizes >= _LEAST], int(loss.sum()), len(loss), bad.sum(), _MOSTLY)
        return p, bad[self.values.document] & active


def find_slices(
    evaluations: Evaluation | Sequence[Evaluation],
    *,
    metric: str = OUTCOME,
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
    are taken away, and the rest is tested again. What no longer holds then was its shadow. Values
    whose verdict depends on the reading rule are left out, and a slice must hold as well without
    those whose label may be wrong. So are documents that are mostly wrong, once they are told.

    Parameters
    ----------
    evaluations
        One, or several that are searched one by one.
    metric
        ``outcome``, the share of values right, or a metric of fields that is hits of a total.
    columns
        Of *cases* or *documents*, or of `COLUMNS`; if left out, all of these and a user's own, the
        latter and what follows from the gold within each kind and field as well.
        Columns that follow from the error, such as ``cause``, are refused.
    min_docs, min_cases
        The least support of a slice.
    alpha
        The chance that any slice is named where all values are alike, after Holm.
    resamples, level, seed
        Of the percentile intervals.

    Returns
    -------
    polars.DataFrame
        Ranked by `excess`, how many values are lost by not being as good as the rest. `shadows`
        held before the slice was taken away and not afterwards; `rest` is the share of the values
        that are in no weakness. A number is cut at its own values:
        ``at least 26``. A slice was picked for looking bad: expect its difference to be smaller on
        new documents.

    Raises
    ------
    UnknownName
        If a column or the metric is not known or not allowed.
    """
    if refused := [name for name in columns or () if name in _AFTERWARDS]:
        allowed = [name for name in columns or () if name not in _AFTERWARDS]
        raise UnknownName.of("column to search slices in", refused[0], allowed or COLUMNS)
    several = [evaluations] if isinstance(evaluations, Evaluation) else list(evaluations)
    rows = []
    for evaluation in several:
        values, heads = opened_values(evaluation, metric, columns)
        search = Search(values, heads, max_columns, min_docs, min_cases)
        settings = dataclasses.asdict(Settings(
            rules=f"columns<={max_columns}|docs>={min_docs}|cases>={min_cases}",
            interval=f"bootstrap,documents,n={resamples},level={level:g},seed={seed}",
            test=f"exchanged within documents,holm<={alpha:g}",
        ))  # fmt: skip
        base = {"metric": metric, "settings": settings, "mode": evaluation.mode}
        base |= origin(evaluation)
        draws = {"resamples": resamples, "level": level, "seed": seed}
        found = slice_rows(values, search.weaknesses(alpha), **draws)
        rows += [base | row for row in found if row["slice_by"]]
    return pl.DataFrame(rows, schema=SLICES).sort(
        pl.col("excess"), *(pl.col(name).list.join(" & ") for name in ("slice_by", "slice_value")),
        descending=[True, False, False],
    )  # fmt: skip


def opened_values(
    evaluation: Evaluation,
    metric: str = OUTCOME,
    columns: Sequence[str] | None = None,
    *,
    answered: bool = False,
) -> tuple[Values, Sequence[str]]:
    """The gold's values with the columns to look at, and within which of these to look deeper.

    With `answered` only those of documents that have a usable answer.
    """
    up = metric == OUTCOME or metrics.get(metric).direction == "up"
    if metric != OUTCOME:
        known = {OUTCOME} | {
            name
            for part in evaluation.parts()
            for name in part.scan("scores").filter(of_cases()).collect()["metric"].unique()
            if metrics.get(name).score is ratio
        }
        if metric not in known:
            raise UnknownName.of("metric of fields that is hits of a total", metric, sorted(known))
    names = [*COLUMNS, *evaluation.own] if columns is None else list(columns)
    pieces = [_piece(part, metric, names, answered=answered) for part in evaluation.parts()]
    table = pl.concat([table for table, _ in pieces])
    values = {name: pl.concat([of[name] for _, of in pieces]) for name in names}
    return Values(table, values, up=up), HEADS if columns is None else ()


def _piece(
    part: Evaluation, metric: str, names: Sequence[str], *, answered: bool
) -> tuple[pl.DataFrame, dict[str, pl.Series]]:
    cases = _of_gold(part)
    if answered:
        usable = pl.col("status").is_in(USABLE)
        documents = part.scan("cases").filter(usable).select("doc_id").collect()["doc_id"]
        known = pl.col("status").is_in([*USABLE, "missing"])
        cases = cases.filter(known, pl.col("doc_id").is_in(documents.implode()))
    if metric == OUTCOME:
        cases = cases.with_columns(hits=pl.col("outcome") == "match", total=1.0)
    else:
        key = ["doc_id", "path"]
        tallies = part.scan("scores").filter(of_cases(), pl.col("metric") == metric)
        tallies = tallies.select(*key, "hits", "total").collect().unique(key, keep="first")
        cases = cases.join(tallies, on=key, how="inner", maintain_order="left")
    table = cases.select(*KEYS, "cause", "outcome", "hits", "total", sure=pl.col("cause").ne_missing(LABEL))
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
        yield _row(values, weakness, elsewhere, resamples, level, seed)


def _row(
    values: Values, weakness: Weakness, elsewhere: np.ndarray, resamples: int, level: float,
    seed: int,
) -> dict[str, Any]:  # fmt: skip
    inside = weakness.inside
    sides = [
        np.stack([np.bincount(values.document[at], weights=x[at], minlength=values.count)
                  for x in (values.hits, values.total)], axis=1)
        for at in (inside, elsewhere)
    ]  # fmt: skip
    value, rest = (float(ratio(side.sum(axis=0))) for side in sides)
    low = high = least = most = float("nan")
    if resamples:
        drawn, others = map(ratio, drawn_parts(sides, resamples=resamples, seed=seed))
        (low, high), (least, most) = percentiles(drawn, level), percentiles(drawn - others, level)
    held = weakness.slice or Slice((), ())
    return {
        "slice_by": held.columns, "slice_value": held.values, "value": value, "rest": rest,
        "ci_low": low, "ci_high": high, "difference": value - rest, "difference_low": least,
        "difference_high": most, "p": weakness.p, "p_adjusted": weakness.p_adjusted,
        "excess": abs(value - rest) * inside.sum(), "n_cases": int(inside.sum()),
        "n_docs": len(np.unique(values.document[inside])), "n_tested": weakness.n_tested,
        "shadows": weakness.shadows,
    }  # fmt: skip


def slice_cases(
    evaluation: Evaluation, found: dict[str, Any], *, wrong: bool = True
) -> pl.DataFrame:
    """The cases of one slice, the wrong ones alone unless asked otherwise.

    Parameters
    ----------
    evaluation
        The one the slice was found in.
    found
        A row of `find_slices`.

    Returns
    -------
    polars.DataFrame
        The schema CASES, in the order of the evaluation.
    """

    def chosen(part: Evaluation) -> pl.DataFrame:
        cases = _of_gold(part)
        for name, value in zip(found["slice_by"], found["slice_value"], strict=True):
            column = _column(cases, part, name)
            if column.dtype.is_numeric() and value.startswith((_AT_LEAST, _UNDER)):
                edge = float(value.rpartition(" ")[2].replace(",", ""))
                cases = cases.filter(column >= edge if value.startswith(_AT_LEAST) else column < edge)
            else:
                cases = cases.filter(column.cast(pl.String) == value)
        return cases.filter(pl.col("outcome") != "match") if wrong else cases

    return evaluation.gathered(chosen)
