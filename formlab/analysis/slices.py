"""Where a system is worse than elsewhere: one row a weakness, each the slice that explains it."""

import dataclasses
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import scipy

from formlab import tables
from formlab.analysis import finding
from formlab.analysis.comparability import of_gold
from formlab.analysis.finding import FEW_CASES, FEW_DOCS, OUTCOME
from formlab.analysis.summarise import interval_text
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.bands import NUMBERS, sliced
from formlab.stats.draws import by_document, estimate
from formlab.stats.tests import Exchanged, adjusted_p, spread_p
from formlab.tables import USABLE, Settings

AT_LEAST, UNDER = "at least ", "under "
# The names of bands of numbers, as `bands.band` and slices have them.
_NUMBER = r"(-?[\d,]+(?:\.\d+)?(?:e[-+]?\d+)?)"
_BAND = re.compile(rf"under {_NUMBER}|at least {_NUMBER}|{_NUMBER} and more|{_NUMBER}–{_NUMBER}")
_THIRD = "the value stands in the {} third of the page"
# How a sentence says that a column has a value, or a number is at least so much, or less.
_PHRASES = {
    ("case", ""): "the value has {}",
    ("field", ""): "the field is {}",
    ("vertical", ""): _THIRD,
    ("horizontal", ""): _THIRD,
    ("year", AT_LEAST): "the year is {} or later",
    ("year", UNDER): "the year is before {}",
    ("magnitude", AT_LEAST): "the amount is {} or more",
    ("magnitude", UNDER): "the amount is under {}",
    ("length", AT_LEAST): "the value has {} characters or more",
    ("length", UNDER): "the value has fewer than {} characters",
    ("index", AT_LEAST): "the number of the item is {} or more",
    ("index", UNDER): "the number of the item is under {}",
}
# Columns that say which field a value is of; others are looked at within each of their values too.
HEADS = ("field", "subtype", "kind")
# What is known of a value without looking at how it was read.
COLUMNS = (*HEADS, "task", "modality", "scope", "reference", "complexity", "modal")
COLUMNS += ("template", "domain", "page", "position")
# What follows from its gold and its box.
_OF_GOLD = ("nesting", "vertical", "horizontal", "length", "box_height", "box_width")
_OF_GOLD += ("year", "magnitude", "case", "index")
SLICES = tables.schema(
    "benchmark split system metric slice_by:texts slice_value:texts value:number ci_low:number "
    "ci_high:number rest:number difference:number difference_low:number difference_high:number "
    "p:number p_adjusted:number excess:number n_docs:int n_cases:int n_tested:int mode "
    "settings:settings"
)
TEST = "exchanged within documents"
# What a sentence on a slice is made of.
_TOLD = ("kind", "gold", "pred", "cause", "outcome")
# Columns that follow from the error: searching them would be circular.
_AFTERWARDS = ("outcome", "cause", "similarity", "status", "exact", "normalised", "typed", "fuzzy")
# A number is cut at so many places at most; another column has at most so many values.
_CUTS, _WORDS = 16, 200
# No more weaknesses than so many are looked for, one after the other.
_ROUNDS = 12
# A document is mostly wrong from this share on, if it has so many values.
_MOSTLY, _LEAST = 0.5, 5
# How much likelier a further column, another cut and a split must make the losses, as logarithms.
_EARNED, _MOVED, _SPLIT = 3.0, 5.0, 10.0
Words = tuple[str, ...]
# Columns, values and places of a slice.
Slice = tuple[Words, Words, np.ndarray]


class Weakness(NamedTuple):
    """Values of a slice on which losses are likelier; without columns those of bad documents."""

    columns: Words
    values: Words
    inside: np.ndarray
    p: float
    p_adjusted: float
    n_tested: int

    @property
    def name(self) -> str:
        """The slice as a sentence has it: ``kind is date and the year is 2016 or later``."""
        phrases = []
        for column, value in zip(self.columns, self.values, strict=True):
            start = next((start for start in (AT_LEAST, UNDER) if value.startswith(start)), "")
            plain = f"{column.replace('_', ' ')} is {start}{{}}"
            phrase, value = _PHRASES.get((column, start), plain), value.removeprefix(start)
            phrase = phrase.replace("characters", "character") if value == "1" else phrase
            phrases.append(phrase.format(value))
        return " and ".join(phrases)


class Search:
    """All slices of the gold's values of one evaluation, tested at once.

    `table` has `doc_id`, `right`, and `sure`, that a label is not in doubt; `columns` are numbers
    or words, `heads` those within whose values others are looked at, or without any all are.
    """

    def __init__(self, table: pl.DataFrame, columns: dict[str, pl.Series], heads: Words) -> None:
        self.table = table
        self.document = (table["doc_id"].rank("dense").cast(pl.Int64) - 1).to_numpy()
        self.count = int(self.document.max(initial=-1)) + 1
        self.loss, self.sure = (~table["right"]).cast(float).to_numpy(), table["sure"].to_numpy()
        # Of each column the values of its slices; of a number in order, and where it is cut.
        self.columns, self.values, self.numbers, self.cuts = {}, {}, {}, {}
        for name, column in columns.items():
            words = column.drop_nulls().unique().sort()
            if len(words) + bool(column.null_count()) < 2:
                continue
            if column.dtype.is_numeric():
                self.columns[name], self.numbers[name] = column, words.to_list()
                self.cuts[name] = _cut_places(name, column, words)
                cuts = itertools.product(self.cuts[name][1:-1], (AT_LEAST, UNDER))
                is_few = name not in NUMBERS and len(words) <= _CUTS
                self.values[name] = dict.fromkeys(words.cast(pl.String)) if is_few else {}
                self.values[name] |= {self._cut(name, *cut): cut for cut in cuts}
            elif len(words) <= _WORDS:
                self.values[name] = dict.fromkeys(words.cast(pl.String))
                self.columns[name] = column.cast(pl.String)
        self.heads = [name for name in heads if name in self.columns]

    def weaknesses(self, alpha: float) -> list[Weakness]:
        """One after the other, each with its values taken away before the next is looked for."""
        active, found = np.ones(len(self.loss), dtype=bool), []
        while len(found) < _ROUNDS and (weakness := self._strongest(active, alpha)):
            found.append(weakness)
            active &= ~weakness.inside
        return found

    def _strongest(self, active: np.ndarray, alpha: float) -> Weakness | None:
        """The slice that explains most, or the documents that are mostly wrong."""
        slices, best = self._slices(active), None
        places = [at for *_, at in slices]
        p_documents, of_documents = self._documents(active)
        p = np.array([p_documents, *Exchanged(self.document, self.loss, active).p(places)])
        if not self.sure[active].all():
            sure = Exchanged(self.document, self.loss, active & self.sure)
            p[1:] = np.maximum(p[1:], sure.p([at[self.sure[at]] for at in places]))
        adjusted, tested = adjusted_p(p), int((~np.isnan(p)).sum())
        shown = [(n, *slices[n - 1]) for n in np.flatnonzero(adjusted <= alpha) if n]
        gains = {n: self._gain(at, active) - _EARNED * (len(of) - 1) for n, of, _, at in shown}
        if gains:
            number = max(gains, key=gains.get)
            names, values, _ = slices[number - 1]
            whole = self._mask(names, self._cut_best(names, values, active), active)
            rate, gains = self.loss[whole].mean(), {number: _SPLIT}
            # A part by other columns that is much worse than the rest is told before its slice.
            for part, others, _, at in shown:
                if {*names}.isdisjoint(others) and whole[at].all() and self.loss[at].mean() > rate:
                    gains[part] = self._gain(at, whole)
            number = max(gains, key=gains.get)
            columns, values, _ = slices[number - 1]
            values = self._cut_best(columns, values, active)
            inside = self._mask(columns, values, active)
            best = Weakness(columns, values, inside, p[number], adjusted[number], tested)
        # Documents are told first unless the slice explains why they are wrong.
        left = active & ~best.inside if best else active
        if adjusted[0] <= alpha and of_documents.any() and self._documents(left)[0] <= alpha:
            return Weakness((), (), of_documents, p[0], adjusted[0], tested)
        return best

    def _slices(self, active: np.ndarray) -> list[Slice]:
        """The slices of one and two columns with enough support; those of the same values once."""
        atoms = (((name,), (value,)) for name in self.columns for value in self.values[name])
        masked = ((*of, np.flatnonzero(self._mask(*of, active))) for of in atoms)
        singles = [of for of in masked if self._is_supported(of)]
        found: dict[int, Slice] = {}
        for slice_ in (*singles, *filter(self._is_supported, self._pairs(singles))):
            if len(slice_[2]) < active.sum():
                found.setdefault(hash(slice_[2].tobytes()), slice_)
        return [*found.values()]

    def _is_supported(self, slice_: Slice) -> bool:
        documents = self.document[slice_[2]]
        return len(documents) >= FEW_CASES and len(np.unique(documents)) >= FEW_DOCS

    def _pairs(self, singles: Sequence[Slice]) -> Iterator[Slice]:
        """Every two slices by different columns; with heads only those that begin with one."""
        for place, (columns, values, at) in enumerate(singles, start=1):
            if self.heads and columns[0] not in self.heads:
                continue
            inside = np.zeros(len(self.loss), dtype=bool)
            inside[at] = True
            for name, value, other in singles[place:]:
                both = other[inside[other]]
                is_other = name != columns and name[0] not in self.heads
                if is_other and len(both) < min(len(at), len(other)):
                    yield columns + name, values + value, both

    def _mask(self, columns: Words, values: Words, active: np.ndarray) -> np.ndarray:
        masks = map(is_inside, map(self.columns.get, columns), values)
        return np.logical_and.reduce([active, *masks])

    def _cut(self, name: str, at: int, start: str) -> str:
        """The value of a slice that ends before the number at a place."""
        return f"{start}{_edge(*self.numbers[name][at - 1 : at + 1])}"

    def _cut_best(self, columns: Words, values: Words, active: np.ndarray) -> Words:
        """The values of a slice with its numbers cut where that explains most, near by."""
        for place, name in enumerate(columns):
            if not self.values[name][values[place]]:
                continue
            (at, start), cuts = self.values[name][values[place]], self.cuts[name]
            between = range(cuts[cuts.index(at) - 1] + 1, cuts[cuts.index(at) + 1])
            near = sorted(between, key=lambda cut: abs(cut - at))[:_CUTS]
            ends = (self._cut(name, cut, start) for cut in near)
            tried = [(*values[:place], end, *values[place + 1 :]) for end in ends]
            masks = (self._mask(columns, of, active) for of in tried)
            gains = [self._gain(np.flatnonzero(mask), active) for mask in masks]
            # One error by chance beside a cut is no reason to move it. The first is as it was.
            best = int(np.argmax(gains))
            values = tried[best] if gains[best] > gains[0] + _MOVED else values
        return values

    def _gain(self, at: np.ndarray, active: np.ndarray) -> float:
        """The logarithm of how much likelier the losses are with a rate of its own for a slice."""
        lost, of = self.loss[active].sum(), active.sum()
        inside, size = self.loss[at].sum(), len(at)
        # Losses and the rest of the slice, of all else, and of all together.
        parts = np.array([[inside, size], [lost - inside, of - size], [lost, of]])
        parts = np.column_stack([parts, parts[:, 1] - parts[:, 0]])
        return float((1, 1, -1) @ scipy.special.xlogy(parts, parts) @ (1, -1, 1))

    def _documents(self, active: np.ndarray) -> tuple[float, np.ndarray]:
        """p of so many documents that are mostly wrong, and which values they hold."""
        test, count = Exchanged(self.document, self.loss, active), int(active.sum())
        if not count:
            return np.nan, active
        large = test.sizes >= _LEAST
        bad = large & (test.losses >= _MOSTLY * test.sizes)
        p = spread_p(test.sizes[large], int(test.losses.sum()), count, bad.sum(), _MOSTLY)
        return p, bad[self.document] & active


def is_inside(values: pl.Series, name: str) -> pl.Series:
    """Whether each value has a name; a number may be in a band, such as ``5–9`` or ``under 26``."""
    numbers = _BAND.fullmatch(name) if values.dtype.is_numeric() else None
    if not numbers:
        # Tables write whole numbers without a dot, whatever their type.
        names = [name, f"{name}.0"] if values.dtype.is_float() else [name]
        return values.cast(pl.String).is_in(names).fill_null(False)
    under, *starts, last = (of and float(of.replace(",", "")) for of in numbers.groups())
    start = next((of for of in starts if of is not None), -math.inf)
    end = next((of for of in (under, last) if of is not None), math.inf)
    # A band of whole numbers ends with its last, another before the first of the next.
    has_last = last is not None and values.dtype.is_integer()
    return values.is_between(start, end, closed="both" if has_last else "left").fill_null(False)


def _edge(below: float, number: float) -> str:
    """The roundest number above the first and not above the second."""
    step = 10.0 ** math.floor(math.log10(max(abs(number), 1)))
    while step >= 1e-3 and not below < math.floor(number / step) * step:
        step /= 10
    edge = math.floor(number / step) * step if isinstance(number, float) else number
    return f"{edge:,.0f}" if isinstance(edge, float) and edge >= 1_000 else f"{edge:.12g}"


def _cut_places(name: str, column: pl.Series, numbers: pl.Series) -> list[int]:
    """Where sorted numbers are cut: at each of a few, or so that parts are about equal."""
    at, ordered = np.arange(len(numbers)), column.drop_nulls().sort()
    if len(numbers) > _CUTS:
        parts = ordered.gather(np.arange(1, _CUTS) * len(ordered) // _CUTS)
        at = np.searchsorted(numbers, parts)
    tens = np.searchsorted(numbers, [10.0**n for n in range(8)]) if name == "magnitude" else []
    return sorted({0, *map(int, at), *map(int, tens), len(numbers)})


def slice_rows(search: Search, found: Sequence[Weakness], **draws: Any) -> Iterator[dict[str, Any]]:
    """Weaknesses with their shares, that of the values in none of them, and the difference."""
    right = 1 - search.loss
    elsewhere = ~np.logical_or.reduce([weakness.inside for weakness in found] or [[False]])
    for weakness in found:
        inside = weakness.inside
        columns = [right * inside, inside, right * elsewhere, elsewhere]
        parts = by_document(search.document, columns, search.count)
        share = estimate(parts[:, :2], ratio, **draws)
        lead = estimate(parts, lambda of: ratio(of[..., :2]) - ratio(of[..., 2:]), **draws)
        row = weakness._asdict() | {"slice_by": weakness.columns, "slice_value": weakness.values}
        row |= zip(("value", "ci_low", "ci_high"), share, strict=True)
        row |= zip(("difference", "difference_low", "difference_high"), lead, strict=True)
        n_cases, n_docs = int(inside.sum()), len(np.unique(search.document[inside]))
        row |= {"rest": share[0] - lead[0], "excess": abs(lead[0]) * n_cases}
        yield row | {"n_cases": n_cases, "n_docs": n_docs}


def find_slices(
    evaluations: Evaluation | Sequence[Evaluation],
    *,
    columns: Sequence[str] | None = None,
    alpha: float = 0.05,
    **draws: Any,
) -> pl.DataFrame:
    """The slices of values on which a system is worse than elsewhere, one for each weakness.

    Every value of a column and every two of different columns, in at least 5 cases of 3 documents,
    are tested against the rest (`stats.tests.Exchanged`). The one that explains most is taken, its
    values are taken away, and the rest is tested again. Values whose verdict depends on the reading
    rule are left out, as are documents mostly wrong, and a slice must hold without doubtful labels.

    Returns a row for each slice of each evaluation, ranked by `excess`, how many values are lost by
    not being as good as the rest; `rest` is the share of the values that are in no weakness. A
    slice was picked for looking bad: expect its difference to be smaller on new documents.

    `columns`: of *cases* or *documents*, bands, or what follows from the gold (``year``, ``index``
    …); if left out all of these and a user's own, each within every kind and field as well.
    `alpha`: the chance that any slice is named by chance, after Holm; `draws`: as for `summarise`.

    Raises `UnknownName` if a column is not known or follows from the error, such as ``cause``.
    """
    if refused := [name for name in columns or () if name in _AFTERWARDS]:
        raise UnknownName.of("column to search slices in", refused[0], COLUMNS)
    rules, test = f"columns<=2|docs>={FEW_DOCS}|cases>={FEW_CASES}", f"{TEST},holm<={alpha:g}"
    settings = Settings(rules=rules, interval=interval_text(**draws), test=test)
    base = {"metric": OUTCOME, "settings": dataclasses.asdict(settings)}
    rows = []
    for one in [evaluations] if isinstance(evaluations, Evaluation) else evaluations:
        search = search_of(one, columns)
        found = slice_rows(search, search.weaknesses(alpha), **draws)
        labels = base | finding.origin(one) | {"mode": one.mode}
        rows += [row | labels for row in found if row["slice_by"]]
    names = pl.col("slice_by", "slice_value").list.join(" & ")
    return pl.DataFrame(rows, schema=SLICES).sort(-pl.col("excess"), names)


def search_of(
    evaluation: Evaluation, columns: Sequence[str] | None = None, *, answered: bool = False
) -> Search:
    """The `Search` by some columns, or by all and within every kind and field.

    With `answered` only in values of documents that have a usable answer.
    """
    names = [*COLUMNS, *_OF_GOLD, *evaluation.own] if columns is None else list(columns)
    sure, right = pl.col("cause").ne_missing(finding.LABEL), pl.col("outcome") == "match"
    pieces = []
    for part in evaluation.parts():
        cases = _of_gold(part, answered=answered)
        table = cases.select(*finding.KEYS, *_TOLD, right=right, sure=sure)
        pieces.append((table, *(_column(cases, part, name) for name in names)))
    table, *values = (pl.concat(piece) for piece in zip(*pieces, strict=True))
    found = dict(zip(names, values, strict=True))
    found |= {name: _numbers(found[name]) for name in evaluation.own if name in found}
    return Search(table, found, HEADS if columns is None else ())


def _numbers(values: pl.Series) -> pl.Series:
    """A user's own column, which is text, as numbers if all of it is written like them."""
    tried = (values.cast(kind, strict=False) for kind in (pl.Int64, pl.Float64))
    return next((of for of in tried if of.cast(pl.String).equals(values)), values)


def _column(cases: pl.DataFrame, part: Evaluation, name: str) -> pl.Series:
    values = sliced(cases, part.documents, name, as_is=True)
    return values if values.dtype.is_numeric() else values.cast(pl.String)


def _of_gold(part: Evaluation, *, answered: bool = False) -> pl.DataFrame:
    status, sound = pl.col("status"), pl.col("cause").ne_missing(finding.READER)
    usable = status.is_in(USABLE).any().over("doc_id") & status.is_in([*USABLE, "missing"])
    cases = part.scan("cases").filter(usable if answered else pl.lit(True))
    return cases.filter(finding.in_fields(), of_gold(), sound).collect()


def slice_cases(evaluation: Evaluation, found: finding.Row, *, wrong: bool = True) -> pl.DataFrame:
    """The cases of a slice, a row of `find_slices` of this evaluation, or only the wrong ones."""

    def chosen(part: Evaluation) -> pl.DataFrame:
        cases = _of_gold(part)
        for name, value in zip(found["slice_by"], found["slice_value"], strict=True):
            cases = cases.filter(is_inside(_numbers(_column(cases, part, name)), value))
        return cases.filter(pl.col("outcome") != "match") if wrong else cases

    return evaluation.gathered(chosen)
