"""The search behind `slices`: fields as codes, their sums by document, and tests of many slices.

Of a field only the numbers of its values are kept, so that millions of fields fit into memory; the
fields of a slice are known by these. Documents stand in the order of their `doc_id`.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import scipy

from formlab.metrics import ratio

Names = tuple[str, ...]
# So many cells are counted in one array whatever the number of fields.
_CELLS = 1_000_000
_ROUNDING = 1e-12


@dataclasses.dataclass
class Fields:
    """Fields of the gold, those of a document together and the documents in order.

    Of each field the number of its document, hits and total, and whether its label is `sure`; of
    each column the numbers of its values in `words`, from 1 on, 0 where a field has none.
    """

    document: np.ndarray
    hits: np.ndarray
    total: np.ndarray
    sure: np.ndarray
    codes: dict[str, np.ndarray]
    words: dict[str, list[str]]
    # Documents without a field tell nothing of fields.
    count: int
    worse: int

    def __len__(self) -> int:
        return len(self.document)

    def sums(self, rows: np.ndarray, slot: np.ndarray) -> Sums:
        """The fields at `rows`, ascending, summed by `slot` and document."""
        narrow = slot.astype(np.uint16) if slot.max(initial=0) < 2**16 else slot
        ordered = np.argsort(narrow, kind="stable")
        rows, slot = rows[ordered], slot[ordered]
        document = self.document[rows]
        new = (np.diff(slot, prepend=-1) != 0) | (np.diff(document, prepend=-1) != 0)
        first = np.flatnonzero(new)
        numbers = np.diff(first, append=len(rows))
        hits, total = (
            np.add.reduceat(side[rows], first) if len(first) else np.zeros(0)
            for side in (self.hits, self.total)
        )
        return Sums(slot[first], document[first], hits, total, numbers, self.count)

    def whole(self, *, sure: bool = False) -> Sums:
        """All fields, or those with a sure label, as one slice."""
        rows = np.flatnonzero(self.sure) if sure else np.arange(len(self))
        return self.sums(rows, np.zeros(len(rows), dtype=np.int32))

    def values(self, names: Names, codes: Sequence[int]) -> list[str]:
        """The values that codes stand for."""
        return [self.words[name][code - 1] for name, code in zip(names, codes, strict=True)]

    def of(self, names: Names, codes: np.ndarray, *, sure: bool = False) -> Sums:
        """The fields of the slices with these codes, which ascend; with a sure label alone."""
        wanted, key = (self._key(names, side) for side in (codes.T, self.codes))
        at = np.minimum(np.searchsorted(wanted, key), len(wanted) - 1)
        rows = np.flatnonzero((wanted[at] == key) & (self.sure if sure else True))
        return self.sums(rows, at[rows])

    def _key(self, names: Names, codes: Sequence[np.ndarray] | Mapping[str, np.ndarray]) -> Any:
        """One number for the codes of several columns; it ascends as they do."""
        key = np.zeros((), dtype=np.int64)
        for place, name in enumerate(names):
            own = codes[name] if isinstance(codes, Mapping) else codes[place]
            key = key * (len(self.words[name]) + 1) + own
        return key


@dataclasses.dataclass
class Sums:
    """Fields of several slices summed by document: a row for each slice and document, in order.

    `slot` is the number of the slice; `count` documents have any field.
    """

    slot: np.ndarray
    document: np.ndarray
    hits: np.ndarray
    total: np.ndarray
    number: np.ndarray
    count: int

    @property
    def place(self) -> np.ndarray:
        """One number for slice and document."""
        return self.slot.astype(np.int64) * self.count + self.document

    def dense(self, slot: int) -> np.ndarray:
        """Hits, total and number of the fields of one slice, of every document: (documents, 3)."""
        begin, end = np.searchsorted(self.slot, (slot, slot + 1))
        sums = np.zeros((self.count, 3))
        parts = [each[begin:end] for each in (self.hits, self.total, self.number)]
        sums[self.document[begin:end]] = np.stack(parts, axis=1)
        return sums

    def over(self, values: np.ndarray, count: int) -> np.ndarray:
        """Values of the rows, one after the other, summed by slice: shape (count,)."""
        return np.bincount(self.slot, weights=values, minlength=count)


@dataclasses.dataclass
class Group:
    """The slices of some columns that hold enough fields: their values' codes, and their fields.

    `slot` is the number of the slice of each field at `rows`, which ascend.
    """

    names: Names
    codes: np.ndarray
    rows: np.ndarray
    slot: np.ndarray


@dataclasses.dataclass
class Tested:
    """Slices by the same columns: the codes of their values, shape (slices, columns), and p."""

    names: Names
    codes: np.ndarray
    p: np.ndarray

    def only(self, good: np.ndarray) -> Tested:
        """Those of the slices that are `good`."""
        return Tested(self.names, self.codes[good], self.p[good])


class Coder:
    """A column of text that comes in pieces, as numbers of its sorted values."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}
        self.parts: list[np.ndarray] = []

    def add(self, values: pl.Series, begin: int = 0) -> None:
        """The next piece; one that is missing before row `begin` has no values."""
        self._fill(begin)
        if values.null_count() == len(values):
            self.parts.append(np.zeros(len(values), dtype=np.int32))
            return
        words = values.unique().drop_nulls()
        codes = [self.known.setdefault(word, len(self.known) + 1) for word in words]
        # The last place is that of no value.
        place = values.cast(pl.Enum(words)).to_physical().fill_null(len(words))
        self.parts.append(np.array([*codes, 0], dtype=np.int32)[place.to_numpy()])

    def _fill(self, end: int) -> None:
        if missing := max(end - sum(map(len, self.parts)), 0):
            self.parts.append(np.zeros(missing, dtype=np.int32))

    def coded(self, least: int = 1, count: int = 0) -> tuple[np.ndarray, list[str]]:
        """Number of each of `count` values, from 1 on, 0 for none and those rarer than `least`."""
        self._fill(count)
        whole = np.concatenate([np.zeros(0, dtype=np.int32), *self.parts])
        counts = np.bincount(whole, minlength=len(self.known) + 1)
        words = sorted(word for word, number in self.known.items() if counts[number] >= least)
        kind = np.uint16 if len(words) < 2**16 else np.int32
        ranks = np.zeros(len(counts), dtype=kind)
        ranks[[self.known[word] for word in words]] = np.arange(1, len(words) + 1)
        return ranks[whole], words


def collected(
    pieces: Iterator[tuple[pl.DataFrame, Mapping[str, pl.Series]]], *, least: int, worse: int
) -> Fields:
    """The fields of all parts.

    A piece is a table ``doc_id hits total sure`` and the values of columns as text. Left out are
    values that fewer than `least` fields have, and columns in which all fields are alike.
    """
    documents, numbers = Coder(), []
    coders: dict[str, Coder] = {}
    count = 0
    for table, values in pieces:
        documents.add(table["doc_id"])
        numbers.append(table.select(pl.col("hits", "total").cast(pl.Float64), "sure"))
        for name, column in values.items():
            coders.setdefault(name, Coder()).add(column, count)
        count += table.height
    document, known = documents.coded()
    ordered = np.argsort(document, kind="stable")
    codes, words = {}, {}
    for name in list(coders):
        code, text = coders.pop(name).coded(least, count)
        if len(text) > 1 or (text and not code.all()):
            codes[name], words[name] = code[ordered], text
    sides = pl.concat(numbers)
    hits, total, sure = (sides[name].to_numpy()[ordered] for name in ("hits", "total", "sure"))
    number = document[ordered].astype(np.int32) - 1
    return Fields(number, hits, total, sure, codes, words, len(known), worse)


def grouped(fields: Fields, names: Names, min_cases: int, before: dict[Names, Group]) -> Group:
    """The slices by the values of `names`; `before` keeps the groups that others refine."""
    if not names:
        rows = np.arange(len(fields), dtype=np.int32)
        return Group((), np.zeros((1, 0), dtype=np.int32), rows, np.zeros(len(rows), np.int32))
    if names in before:
        return before[names]
    coarse = grouped(fields, names[:-1], min_cases, before)
    size = len(fields.words[names[-1]]) + 1
    code = fields.codes[names[-1]][coarse.rows]
    key, cells = coarse.slot.astype(np.int64) * size + code, len(coarse.codes) * size
    if cells <= len(key) + _CELLS:
        counts = np.bincount(key, minlength=cells)
        kept = np.flatnonzero((counts >= min_cases) & (np.arange(cells) % size > 0))
        number = np.full(cells, -1, dtype=np.int32)
        number[kept] = np.arange(len(kept))
        slot = number[key]
    else:
        distinct, counts = np.unique(key, return_counts=True)
        kept = distinct[(counts >= min_cases) & (distinct % size > 0)]
        slot = np.searchsorted(kept, key).astype(np.int32)
        slot[~np.isin(key, kept)] = -1
    rows = coarse.rows
    if (inside := slot >= 0).sum() < len(slot):
        rows, slot = rows[inside], slot[inside]
    codes = np.column_stack([coarse.codes[kept // size], kept % size]).astype(np.int32)
    group = Group(names, codes, rows, slot)
    # Slices of other first columns come no more.
    for other in [other for other in before if len(other) >= len(names)]:
        del before[other]
    before[names] = group
    return group


def search(fields: Fields, depth: int, min_docs: int, min_cases: int) -> Iterator[Tested]:
    """Every conjunction with enough support, tested against its rest; the same fields once."""
    marks = np.random.default_rng(0).integers(0, 2**63, len(fields), dtype=np.uint64)
    whole, before = fields.whole(), {}
    seen: set[int] = set()
    for size in range(1, depth + 1):
        for names in itertools.combinations(fields.codes, size):
            group = grouped(fields, names, min_cases, before)
            count = len(group.codes)
            if not count:
                continue
            inside = fields.sums(group.rows, group.slot)
            p, supported = score_test(
                inside, whole, np.zeros(count, dtype=np.int32), fields.worse, min_docs, min_cases
            )
            mark = np.zeros(count, dtype=np.uint64)
            np.add.at(mark, group.slot, marks[group.rows])
            new = []
            for slot in np.flatnonzero(supported):
                if mark[slot] not in seen:
                    seen.add(mark[slot])
                    new.append(slot)
            if new:
                yield Tested(names, group.codes[new], p[new])


def refined(fields: Fields, tested: Tested, alpha: float) -> np.ndarray:
    """Which conjunctions are worse, at `alpha`, than what is left of each one they refine."""
    good = np.ones(len(tested.p), dtype=bool)
    if len(tested.names) == 1 or not len(good):
        return good
    inside = fields.of(tested.names, tested.codes)
    for left_out in range(len(tested.names)):
        names = tuple(np.delete(tested.names, left_out).tolist())
        codes = np.delete(tested.codes, left_out, axis=1)
        parents, of = np.unique(codes, axis=0, return_inverse=True)
        # Equal to its parent, the p is undefined, and the conjunction says nothing more.
        p, _ = score_test(inside, fields.of(names, parents), of.ravel(), fields.worse)
        good &= p <= alpha
    return good


def sure(fields: Fields, tested: Tested, alpha: float) -> np.ndarray:
    """Which slices are worse as well without the fields whose label may be wrong."""
    good = np.ones(len(tested.p), dtype=bool)
    if fields.sure.all() or not len(good):
        return good
    inside = fields.of(tested.names, tested.codes, sure=True)
    of = np.zeros(len(good), dtype=np.int32)
    return score_test(inside, fields.whole(sure=True), of, fields.worse)[0] <= alpha


def score_test(
    inside: Sums, outer: Sums, of: np.ndarray, worse: int, min_docs: int = 0, min_cases: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """One-sided p of slices against the rest of `outer`, by documents: see `find_slices`.

    `of` is the number of the slice in `outer` that each one is inside of; `worse` is 1 where more
    is worse, else -1. p is NaN where a side has a total of 0. The second array says which slices
    and their rests have `min_docs` documents and `min_cases` fields.
    """
    count, wholes = len(of), len(of) and int(outer.slot[-1]) + 1
    hits, total, number = (
        inside.over(x, count) for x in (inside.hits, inside.total, inside.number)
    )
    around = [outer.over(x, wholes) for x in (outer.hits, outer.total, outer.number)]
    other_hits, other_total, other_number = (
        whole[of] - part for whole, part in zip(around, (hits, total, number), strict=True)
    )
    rate = ratio(np.stack(around[:2], axis=-1))
    # What a document adds to the difference is its gain inside, less that outside, each over the
    # total of its side; documents without a field inside are summed at once.
    gain = outer.hits - rate[outer.slot] * outer.total
    squares = outer.over(gain**2, wholes)
    place = of[inside.slot].astype(np.int64) * outer.count + inside.document
    if len(outer.slot) < wholes * outer.count:
        place = np.searchsorted(outer.place, place)
    own = inside.hits - rate[of][inside.slot] * inside.total
    with np.errstate(divide="ignore", invalid="ignore"):
        there, elsewhere = 1 / total, 1 / other_total
        moved = own * there[inside.slot] - (gain[place] - own) * elsewhere[inside.slot]
        rest = np.maximum(squares[of] - inside.over(gain[place] ** 2, count), 0)
        spread = np.sqrt(inside.over(moved**2, count) + rest * elsewhere**2)
        away = worse * (hits / total - other_hits / other_total)
        # What only rounding tells from 0 is 0.
        away = np.where(spread < _ROUNDING, 0.0, away / spread)
    away[(total == 0) | (other_total == 0)] = np.nan
    docs = np.bincount(inside.slot, minlength=count)
    alone = np.bincount(inside.slot[inside.number == outer.number[place]], minlength=count)
    other_docs = np.bincount(outer.slot, minlength=wholes)[of] - alone
    p = scipy.special.stdtr(np.maximum(np.minimum(docs, other_docs) - 1, 1), -away)
    enough = np.minimum(docs, other_docs) >= min_docs
    return p, enough & (np.minimum(number, other_number) >= min_cases)
