"""The search for weak slices: every conjunction with enough support, tested by documents."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import stats

from formlab.analysis.intervals import BLOCK, by_document
from formlab.analysis.paired_tests import adjusted_p
from formlab.analysis.summarise import sliced
from formlab.folders import Evaluation
from formlab.metrics import ratio


@dataclass
class Scored:
    """Fields of the gold: hits and total of each, and the place of its document."""

    cases: pl.DataFrame
    place: np.ndarray
    parts: np.ndarray
    count: int
    worse: int

    def by_document(self, members: np.ndarray) -> np.ndarray:
        """Hits, total and number of the fields `members`, summed by document: (documents, 3)."""
        columns = [*self.parts[members].T, np.ones(len(members))]
        return by_document(self.place[members], columns, self.count)


@dataclass
class Slice:
    """A conjunction of (column, value), the fields it holds, and how its test went."""

    conditions: tuple[tuple[str, str], ...]
    members: np.ndarray
    p: float = float("nan")
    adjusted: float = float("nan")


# Of each column: the code of every field's value, -1 for none, and the values.
Codes = dict[str, tuple[np.ndarray, list[str]]]


def coded(scored: Scored, evaluation: Evaluation, columns: Sequence[str]) -> Codes:
    """The values of each column as codes; columns without any are left out."""
    codes = {}
    for name in columns:
        values = sliced(scored.cases, evaluation.documents, name).cast(pl.String)
        words = values.drop_nulls().unique().sort().to_list()
        if words:
            places = {word: place for place, word in enumerate(words)}
            code = values.replace_strict(places, default=-1, return_dtype=pl.Int64)
            codes[name] = code.fill_null(-1).to_numpy(), words
    return codes


def search(
    scored: Scored, codes: Codes, depth: int, min_docs: int, min_cases: int
) -> Iterator[Slice]:
    """Every conjunction with enough support, tested against its rest; the same fields once."""
    marks = np.random.default_rng(0).integers(0, 2**63, len(scored.place), dtype=np.uint64)
    whole = scored.by_document(np.arange(len(scored.place)))
    room = max(1, BLOCK // (10 * max(scored.count, 1)))
    seen: set[int] = set()
    for size in range(1, depth + 1):
        for names in itertools.combinations(codes, size):
            block, parts = [], []
            for each in _groups(codes, names, min_cases):
                mark = int(marks[each.members].sum(dtype=np.uint64))
                inside = scored.by_document(each.members)
                if mark in seen or not _supported(inside, whole - inside, min_docs, min_cases):
                    continue
                seen.add(mark)
                block.append(each)
                parts.append(inside)
                if len(block) == room:
                    yield from _with_p(block, parts, whole, scored.worse)
                    block, parts = [], []
            yield from _with_p(block, parts, whole, scored.worse)


def _groups(codes: Codes, names: tuple[str, ...], min_cases: int) -> Iterator[Slice]:
    """The conjunctions of one value of each of `names` that hold enough fields."""
    known = np.flatnonzero(np.all([codes[name][0] >= 0 for name in names], axis=0))
    sizes = [len(codes[name][1]) for name in names]
    key = np.ravel_multi_index([codes[name][0][known] for name in names], sizes)
    order = np.argsort(key, kind="stable")
    ends = [*np.flatnonzero(np.diff(key[order])) + 1, len(order)]
    for begin, end in itertools.pairwise([0, *ends]):
        if end - begin < min_cases:
            continue
        places = np.unravel_index(key[order[begin]], sizes)
        words = (codes[name][1][place] for name, place in zip(names, places, strict=True))
        yield Slice(tuple(zip(names, words, strict=True)), known[order[begin:end]])


def _supported(
    inside: np.ndarray, outside: np.ndarray, min_docs: int, min_cases: int
) -> np.bool | bool:
    held = inside[:, 2], outside[:, 2]
    return all((side > 0).sum() >= min_docs and side.sum() >= min_cases for side in held)


def _with_p(
    block: list[Slice], parts: list[np.ndarray], whole: np.ndarray, worse: int
) -> list[Slice]:
    if block:
        inside = np.stack(parts)
        for each, p in zip(block, score_test(inside, whole - inside, worse), strict=True):
            each.p = float(p)
    return block


def score_test(inside: np.ndarray, outside: np.ndarray, worse: int) -> np.ndarray:
    """One-sided p of slices against the rest, by documents: see `find_slices`.

    Sides have the shape (slices, documents, 3): hits, total and number of the fields; `worse` is 1
    where more is worse, else -1. NaN where a side has a total of 0.

    Examples
    --------
    >>> inside = np.array([[[0, 2, 2], [1, 2, 2], [0, 2, 2]]])
    >>> outside = np.array([[[2, 2, 2], [2, 2, 2], [1, 2, 2]]])
    >>> score_test(inside, outside, -1).round(3).tolist()
    [0.122]
    """
    rate = ratio((inside + outside).sum(axis=1)[:, :2])[:, None]
    moved = []
    for side in (inside, outside):
        total = side[..., 1].sum(axis=1, keepdims=True)
        gain = side[..., 0] - rate * side[..., 1]
        moved.append(np.divide(gain, total, out=np.full(gain.shape, np.nan), where=total != 0))
    each = worse * (moved[0] - moved[1])
    spread = np.sqrt((each**2).sum(axis=1))
    away = np.divide(each.sum(axis=1), spread, out=np.zeros(len(each)), where=spread != 0)
    documents = np.minimum(*((side[..., 2] > 0).sum(axis=1) for side in (inside, outside)))
    return stats.t.sf(away, np.maximum(documents - 1, 1))


def passed(tested: Sequence[Slice], alpha: float, correction: str) -> list[Slice]:
    """Those whose adjusted p is at most alpha, by the false-discovery control ``by`` or ``bh``."""
    adjusted = adjusted_p([each.p for each in tested], f"fdr_{correction}")
    for each, p in zip(tested, adjusted, strict=True):
        each.adjusted = float(p)
    return [each for each in tested if each.adjusted <= alpha]


def beats_parents(each: Slice, scored: Scored, codes: Codes, alpha: float) -> bool:
    """Whether a conjunction is worse than what is left of each one that it refines."""
    if len(each.conditions) == 1:
        return True
    inside = scored.by_document(each.members)
    for left_out in each.conditions:
        rest = [codes[n][0] == codes[n][1].index(v) for n, v in each.conditions if n != left_out[0]]
        parent = scored.by_document(np.flatnonzero(np.all(rest, axis=0)))
        # Equal to its parent, the p is undefined, and the conjunction says nothing more.
        if not score_test(inside[None], (parent - inside)[None], scored.worse)[0] <= alpha:
            return False
    return True
