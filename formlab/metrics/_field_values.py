"""Compare typed values with the gold values of fields, for many forms at once."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from formlab import text
from formlab.metrics._forms import DESCRIPTION, GoldField, TargetValue
from formlab.tables import LADDER


class Pairs:
    """Each of the first things of a group with each of its second ones, group after group.

    `first` and `second` number them through all groups; the pairs of one group are those from
    one of `offsets` to the next, row by row a matrix.
    """

    def __init__(self, firsts: Sequence[int], seconds: Sequence[int]) -> None:
        ours, theirs = (np.asarray(n, dtype=np.int64) for n in (firsts, seconds))
        self.offsets = _bounds(ours * theirs)
        wide = np.repeat(theirs, ours)
        self.first = np.repeat(np.arange(len(wide)), wide)
        # The place in its own row, moved on to where the seconds of its group start.
        start = np.repeat(_bounds(theirs)[:-1], ours) - _bounds(wide)[:-1]
        self.second = np.arange(self.offsets[-1]) + np.repeat(start, wide)


def _bounds(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)])


def match_values(
    pairs: Pairs, values: Sequence[str], items: Sequence[tuple[GoldField, TargetValue]],
    *, exact: bool, threshold: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Whether the line of each pair types its value, and how alike they are from `threshold` on."""
    if not len(pairs.first):
        return np.zeros(0, dtype=bool), np.zeros(0)
    texts: dict[str, int] = {}
    kinds: dict[tuple[str, str | None], int] = {}
    lines = np.array([texts.setdefault(value, len(texts)) for value in values], dtype=np.int64)
    rights: list[int] = []
    counts, codes = [], []
    for want, item in items:
        ways = dict.fromkeys((item.value, *want.rights))
        rights += [texts.setdefault(way, len(texts)) for way in ways]
        counts.append(len(ways))
        # A single option of a multiple choice is no list.
        kind = "dropdown" if want.kind == "choice" else want.kind
        # As published, a value must be written as it is; which dates are alike pairs lines only.
        order = "either" if exact else want.order
        codes.append(kinds.setdefault((kind, order), len(kinds)))
    many = np.array(counts, dtype=np.int64)[pairs.second]
    starts = _bounds(many)[:-1]
    way = np.arange(many.sum()) + np.repeat(_bounds(np.array(counts))[pairs.second] - starts, many)
    golds, preds = np.array(rights, dtype=np.int64)[way], np.repeat(lines[pairs.first], many)
    kind = np.repeat(np.array(codes, dtype=np.int64)[pairs.second], many)
    # Forms repeat options, names of files and the like: what is the same is compared once.
    keys = (golds * len(texts) + preds) * len(kinds) + kind
    _, first, back = np.unique(keys, return_index=True, return_inverse=True)
    names, ways = list(kinds), list(texts)
    sides = ([ways[n] for n in side[first].tolist()] for side in (golds, preds))
    read_as, orders = zip(*(names[code] for code in kind[first].tolist()), strict=True)
    judged = text.ladders(*sides, read_as, threshold=threshold, orders=orders)
    rungs, close = judged.select(LADDER).to_numpy(), judged["similarity"].to_numpy()
    best = np.logical_or.reduceat(rungs[back], starts)
    alike = np.where(best[:, 3], np.maximum.reduceat(close[back], starts), 0.0)
    long = np.array([want.kind == DESCRIPTION for want, _ in items], dtype=bool)[pairs.second]
    # Of a description the paper asks for likeness, not for the same words.
    return best[:, 0 if exact else 2] | (best[:, 3] & long), alike


def field_found(want: GoldField, readable: str, *, inside: bool) -> bool:
    """Whether every value of a field stands in an output; see `found_in`."""
    if len(want.items) > 1:
        return all(_stands((item.value,), readable, inside=inside) for item in want.items)
    return _stands((want.value, *want.accepted), readable, inside=inside)


def found_in(values: Sequence[str], output: str, *, inside: bool) -> bool:
    """Whether one of `values` stands in `output`: anywhere at all, or by itself.

    By itself, white space, case, dashes and quotes do not count.

    Examples
    --------
    >>> found_in(["9"], "[10,20] 19", inside=True), found_in(["9"], "[10,20] 19", inside=False)
    (True, False)
    """
    return _stands(values, output if inside else text.normalise(output), inside=inside)


def _stands(values: Sequence[str], readable: str, *, inside: bool) -> bool:
    if inside:
        return any(value.strip() and value in readable for value in values)
    keys = filter(None, map(text.normalise, values))
    # Looked up as a plain text first: that is much faster than the pattern, and mostly says no.
    return any(
        key in readable and re.search(rf"(?<!\w){re.escape(key)}(?!\w)", readable) for key in keys
    )
