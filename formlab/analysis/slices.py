"""Where a system is worse than elsewhere: one row a weakness, each the slice that explains it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import tables
from formlab.analysis.finding import KEYS, LABEL, OUTCOME, READER, asked, origin
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.bands import NUMBERS, of_values
from formlab.stats.draws import by_document, drawn_parts, percentiles
from formlab.stats.exchange import Exchanged, spread_p
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
# What a sentence on a slice is made of.
_TOLD = ("kind", "gold", "pred", "cause", "outcome")
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
    start = next((start for start in (AT_LEAST, UNDER) if value.startswith(start)), "")
    if phrase := _PHRASES.get((column, start)):
        return phrase.format(value.removeprefix(start))
    return f"{column.replace('_', ' ')} is {value}"


def _is_inside(column: pl.Series, value: str) -> np.ndarray:
    """Which values of a column a slice holds."""
    if column.dtype.is_numeric() and value.startswith((AT_LEAST, UNDER)):
        edge = float(value.rpartition(" ")[2].replace(",", ""))
        inside = column >= edge if value.startswith(AT_LEAST) else column < edge
    else:
        inside = (column.cast(pl.String) if column.dtype.is_numeric() else column) == value
    return inside.fill_null(False).to_numpy()


def _edge(below: float, number: float) -> str:
    """The roundest number above the first and not above the second."""
    step = 10.0 ** math.floor(math.log10(max(abs(number), 1)))
    while step >= 1e-3 and not below < math.floor(number / step) * step:
        step /= 10
    edge = math.floor(number / step) * step if isinstance(number, float) else number
    return f"{edge:,.0f}" if isinstance(edge, float) and edge >= 1_000 else f"{edge:.12g}"


class Search:
    """All slices of the gold's values of one evaluation, tested at once.

    `table` has of each value `doc_id`, whether it is `right`, and `sure`, that its label is not in
    doubt; `columns` are numbers or words to slice by, `heads` those within whose values others are
    looked at (without any every pair is), `depth` is how many columns a slice has at most.
    """

    def __init__(
        self,
        table: pl.DataFrame,
        columns: Mapping[str, pl.Series],
        heads: Sequence[str],
        depth: int = 2,
        min_docs: int = 3,
        min_cases: int = 5,
    ) -> None:
        self.table, self.depth, self.min_docs, self.min_cases = table, depth, min_docs, min_cases
        self.document = (table["doc_id"].rank("dense").cast(pl.Int64) - 1).to_numpy()
        self.count = int(self.document.max(initial=-1)) + 1
        self.loss = (~table["right"]).cast(float).to_numpy()
        self.sure = table["sure"].to_numpy()
        self.columns: dict[str, pl.Series] = {}
        self.words: dict[str, list[Any]] = {}
        # Of each number the places in `words` where it is cut.
        self.cuts: dict[str, list[int]] = {}
        for name, column in columns.items():
            words = column.drop_nulls().unique().sort()
            is_number = column.dtype.is_numeric() and (name in NUMBERS or len(words) > _CUTS)
            several = len(words) + bool(column.null_count()) > 1
            if several and is_number:
                self.columns[name], self.words[name] = column, words.to_list()
                self.cuts[name] = _cut_places(name, column.drop_nulls().sort(), words)
            elif several and len(words) <= _WORDS:
                self.words[name] = words.cast(pl.String).to_list()
                # Categories are compared as numbers.
                self.columns[name] = column.cast(pl.String).cast(pl.Enum(self.words[name]))
        self.heads = [name for name in heads if name in self.columns]

    def atoms(self) -> Iterator[tuple[str, str]]:
        """Column and value of every slice by one column."""
        for name, words in self.words.items():
            if name in self.cuts:
                for at in self.cuts[name]:
                    yield from ((name, self.cut(name, at, prefix)) for prefix in (AT_LEAST, UNDER))
            else:
                yield from ((name, word) for word in words)

    def cut(self, name: str, at: int, prefix: str) -> str:
        """The value of a slice that ends before the number at a place."""
        return f"{prefix}{_edge(*self.words[name][at - 1 : at + 1])}"

    def slices(self, active: np.ndarray) -> list[tuple[Words, Words, np.ndarray]]:
        """Columns, values and places of the slices with enough support; the same ones once."""
        marks, total = np.random.default_rng(0).random(len(active)), int(active.sum())
        seen: set[float] = set()
        found = []

        def has_support(slice_: tuple[Words, Words, np.ndarray]) -> bool:
            at = slice_[2]
            enough = len(at) >= self.min_cases
            enough &= len(np.unique(self.document[at])) >= self.min_docs
            mark = float(marks[at].sum())
            if enough and len(at) < total and mark not in seen:
                seen.add(mark)
                found.append(slice_)
            return enough

        atoms = (
            ((name,), (value,), np.flatnonzero(_is_inside(self.columns[name], value) & active))
            for name, value in self.atoms()
        )
        level = singles = [*filter(has_support, atoms)]
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
            level = [*filter(has_support, deeper)]
        return found

    def _beside(self, columns: Words) -> set[str]:
        """The columns that go with those before: with a head all that are none, else later ones."""
        order = list(self.columns)
        later = set(order[order.index(columns[-1]) + 1 :])
        if not self.heads:
            return later
        return later - set(self.heads) if columns[0] in self.heads else set()

    def weaknesses(self, alpha: float) -> list[Weakness]:
        """One after the other, each with its values taken away before the next is looked for."""
        active, found = np.ones(len(self.loss), dtype=bool), []
        while len(found) < _ROUNDS and (weakness := self._strongest(active, alpha)):
            found.append(weakness)
            active &= ~weakness.inside
        return found

    def _strongest(self, active: np.ndarray, alpha: float) -> Weakness | None:
        """The slice that explains most, or the documents that are mostly wrong."""
        slices = self.slices(active)
        p_documents, of_documents = self._documents(active)
        p = np.array([p_documents, *self._p([at for *_, at in slices], active)])
        adjusted, tested = adjusted_p(p), int((~np.isnan(p)).sum())
        holds, best = adjusted <= alpha, None
        if not self.sure[active].all() and holds[1:].any():
            sure = self._p([at[self.sure[at]] for *_, at in slices], active & self.sure)
            holds[1:] &= adjusted_p(sure) <= alpha
        if holds[1:].any():
            gains = {
                number: self._gain(at, active) - _EARNED * (len(columns) - 1)
                for number, (columns, _, at) in enumerate(slices)
                if holds[number + 1]
            }
            number = max(gains, key=gains.get)
            columns, words, _ = slices[number]
            words = self._cut_best(columns, words, active)
            inside = self._inside(columns, words) & active
            best = Weakness(columns, words, inside, p[number + 1], adjusted[number + 1], tested)
        # Documents are told first unless the slice explains why they are wrong.
        first = holds[0] and of_documents.any()
        if first and (best is None or self._documents(active & ~best.inside)[0] <= alpha):
            return Weakness((), (), of_documents, p[0], adjusted[0], tested)
        return best

    def _inside(self, columns: Words, words: Words) -> np.ndarray:
        """Which values are in a slice."""
        pairs = zip(columns, words, strict=True)
        return np.logical_and.reduce([_is_inside(self.columns[n], value) for n, value in pairs])

    def _cut_best(self, columns: Words, words: Words, active: np.ndarray) -> Words:
        """The values of a slice with its numbers cut where that explains most, near by."""
        for place, name in enumerate(columns):
            if name not in self.cuts:
                continue
            prefix = AT_LEAST if words[place].startswith(AT_LEAST) else UNDER
            cuts, distinct = self.cuts[name], self.words[name]
            before = next(at for at in cuts if self.cut(name, at, prefix) == words[place])
            low = max((at for at in cuts if at < before), default=0) + 1
            high = min((at for at in cuts if at > before), default=len(distinct))
            near = sorted(range(low, high), key=lambda at: abs(at - before))[:_CUTS]
            tried = [
                (*words[:place], self.cut(name, at, prefix), *words[place + 1 :]) for at in near
            ]
            gains = [
                self._gain(np.flatnonzero(self._inside(columns, words) & active), active)
                for words in tried
            ]
            # One error by chance beside a cut is no reason to move it.
            best = int(np.argmax(gains))
            if gains[best] > gains[near.index(before)] + _MOVED:
                words = tried[best]
        return words

    def _gain(self, at: np.ndarray, active: np.ndarray) -> float:
        """The logarithm of how much likelier the losses are with a rate of its own for a slice."""

        def likelihood(wrong: float, of: float) -> float:
            parts = np.array([wrong, of - wrong])
            return float((parts * np.log(np.maximum(parts, 1e-12) / max(of, 1e-12))).sum())

        inside, lost, total = float(self.loss[at].sum()), self.loss[active].sum(), active.sum()
        rest = likelihood(lost - inside, total - len(at))
        return likelihood(inside, len(at)) + rest - likelihood(lost, total)

    def _p(self, places: Sequence[np.ndarray], active: np.ndarray) -> np.ndarray:
        test = Exchanged(self.document[active], self.loss[active], self.count)
        return test.p([(self.document[at], self.loss[at]) for at in places])

    def _documents(self, active: np.ndarray) -> tuple[float, np.ndarray]:
        """p of so many documents that are mostly wrong, and which values they hold."""
        document, loss = self.document[active], self.loss[active]
        if not len(loss):
            return np.nan, np.zeros(len(active), dtype=bool)
        sizes, wrong = by_document(document, [np.ones(len(loss)), loss], self.count).T
        bad = (sizes >= _LEAST) & (wrong >= _MOSTLY * sizes)
        sizes = sizes[sizes >= _LEAST].astype(int)
        p = spread_p(sizes, int(loss.sum()), len(loss), bad.sum(), _MOSTLY)
        return p, bad[self.document] & active

    def rows(
        self, found: Sequence[Weakness], *, resamples: int, level: float, seed: int
    ) -> Iterator[dict[str, Any]]:
        """Weaknesses with their shares, that of the values in none of them, and the difference."""
        elsewhere = ~np.logical_or.reduce([weakness.inside for weakness in found] or [[False]])
        for weakness in found:
            sides = [
                by_document(self.document[at], [1 - self.loss[at], at[at]], self.count)
                for at in (weakness.inside, elsewhere)
            ]
            value, rest = (float(ratio(side.sum(axis=0))) for side in sides)
            span = apart = (np.nan, np.nan)
            if resamples:
                drawn, others = map(ratio, drawn_parts(sides, resamples=resamples, seed=seed))
                span, apart = percentiles(drawn, level), percentiles(drawn - others, level)
            count = int(weakness.inside.sum())
            numbers = (value, *span, rest, value - rest, *apart, weakness.p, weakness.p_adjusted)
            yield {
                **dict(zip(_VALUES, (*numbers, abs(value - rest) * count), strict=True)),
                "slice_by": weakness.columns,
                "slice_value": weakness.values,
                "n_cases": count,
                "n_docs": len(np.unique(self.document[weakness.inside])),
                "n_tested": weakness.n_tested,
            }


def _cut_places(name: str, ordered: pl.Series, words: pl.Series) -> list[int]:
    """Where a number is cut: at each of its few values, or so that parts are about equal."""
    at = np.arange(1, len(words))
    if len(words) > _CUTS:
        numbers = ordered.to_numpy()
        at = np.searchsorted(words, numbers[np.arange(1, _CUTS) * len(numbers) // _CUTS])
    tens = np.searchsorted(words, [10.0**n for n in range(8)]) if name == "magnitude" else []
    return sorted({int(place) for place in (*at, *tens)} - {0, len(words)})


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
    settings = Settings(
        rules=f"columns<={max_columns}|docs>={min_docs}|cases>={min_cases}",
        interval=f"bootstrap,documents,n={resamples},level={level:g},seed={seed}",
        test=f"exchanged within documents,holm<={alpha:g}",
    )
    base = {"metric": OUTCOME, "settings": dataclasses.asdict(settings)}
    draws = {"resamples": resamples, "level": level, "seed": seed}
    rows = []
    for one in [evaluations] if isinstance(evaluations, Evaluation) else evaluations:
        search = search_of(one, columns, max_columns, min_docs, min_cases)
        found = search.rows(search.weaknesses(alpha), **draws)
        labels = base | origin(one) | {"mode": one.mode}
        rows += [row | labels for row in found if row["slice_by"]]
    names = (pl.col(name).list.join(" & ") for name in ("slice_by", "slice_value"))
    return pl.DataFrame(rows, schema=SLICES).sort(-pl.col("excess"), *names)


def search_of(
    evaluation: Evaluation,
    columns: Sequence[str] | None = None,
    *support: int,
    answered: bool = False,
) -> Search:
    """The search in the gold's values by some columns, or by all and within every kind and field.

    `support`: `depth`, `min_docs` and `min_cases` of `Search`. With `answered` only values of
    documents that have a usable answer.
    """
    names = [*COLUMNS, *_OF_GOLD, *evaluation.own] if columns is None else list(columns)
    sure, right = pl.col("cause").ne_missing(LABEL), pl.col("outcome") == "match"
    pieces = []
    for part in evaluation.parts():
        cases = _of_gold(part)
        if answered:
            usable = pl.col("status").is_in(USABLE)
            documents = part.scan("cases").filter(usable).select("doc_id").collect()["doc_id"]
            known = pl.col("status").is_in([*USABLE, "missing"])
            cases = cases.filter(known, pl.col("doc_id").is_in(documents.implode()))
        table = cases.select(*KEYS, *_TOLD, right=right, sure=sure)
        pieces.append((table, [_column(cases, part, name) for name in names]))
    table = pl.concat([table for table, _ in pieces])
    found = (pl.concat(several) for several in zip(*(of for _, of in pieces), strict=True))
    values = dict(zip(names, found, strict=False))
    return Search(table, values, HEADS if columns is None else (), *support)


def _column(cases: pl.DataFrame, part: Evaluation, name: str) -> pl.Series:
    values = of_values(cases, part.documents, name)
    return values if values.dtype.is_numeric() else values.cast(pl.String)


def _of_gold(part: Evaluation) -> pl.DataFrame:
    return asked(part).filter(pl.col("cause").ne_missing(READER))


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
            cases = cases.filter(_is_inside(_column(cases, part, name), value))
        return cases.filter(pl.col("outcome") != "match") if wrong else cases

    return evaluation.gathered(chosen)
