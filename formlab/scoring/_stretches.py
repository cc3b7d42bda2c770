"""Locate each of many values in a text: one stretch each, none of them shared.

Values and text are compared without white space, in lower case, dashes and quotes made one.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from rapidfuzz import fuzz
from rapidfuzz.distance import LCSseq, Levenshtein

from formlab import text
from formlab.metrics.assignment import assign
from formlab.text.marks import unmarked

# A value of fewer characters must stand there as it is, between the ends of words.
SHORT = 4
# From this similarity on (1 less the edits per character of the longer), a stretch is the value;
# shorter values resemble other words by chance, so that more is asked of them.
LEAST, LEAST_SHORT = 0.6, 0.75
_FEW = 8
# Values are looked for in turns: inside of words too?, as if taken stretches were not there?, and
# the least similarity. Pieces from all over a page resemble a value more easily than one stretch.
_SWEEPS = ((False, False, 0.85), (True, True, 0.9), (True, False, 0.0), (True, True, LEAST_SHORT))
# The share of a value's characters that words found one by one must make up.
_PIECES = 0.8
# Characters of a text, without white space, that are looked at; the rest is counted as cut.
MOST = 100_000
_TAKEN = "\0"

Near = Callable[[int, int, dict[int, int]], float]


def least(length: int) -> float:
    """The similarity that a value of so many characters must have with its stretch."""
    if length < SHORT:
        return 1.0
    return LEAST_SHORT if length < _FEW else LEAST


def squash(value: str) -> str:
    """`value` as it is compared.

    Examples
    --------
    >>> squash("Dr. O’Neill – 7")
    "dr.o'neill-7"
    """
    return "".join(_alike(value).split())


def _alike(value: str) -> str:
    plain = text.normalise(value.replace(_TAKEN, " "), ("dashes", "quotes"))
    # A few letters become two in lower case, which would shift all that follow.
    lower = plain.lower()
    if len(lower) == len(plain):
        return lower
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in plain)


class Text:
    """A page's text as values are looked for in it: marks and white space left out.

    `squashed` is what is searched; `first` and `last` tell which of its characters begin or end a
    word; `marks` counts the marks left out and `cut` the characters beyond `MOST`. The kinds of
    marks in `keep` are the page's own.
    """

    def __init__(self, raw: str, *, keep: Collection[str] = ()) -> None:
        clean = unmarked(raw, keep=keep)
        self.marks = clean.counts
        self._clean, self._places = clean.text, clean.places
        alike = _alike(clean.text)
        kept = np.flatnonzero(np.fromiter((not c.isspace() for c in alike), bool, len(alike)))
        self.cut = max(0, len(kept) - MOST)
        self._kept = kept[:MOST]
        self.squashed = "".join(alike[index] for index in self._kept)
        gap = np.diff(self._kept, prepend=-2) > 1
        self.first, self.last = gap, np.roll(gap, -1)

    def at(self, index: int) -> int:
        """Where a character of `squashed` stands in the text as it was given."""
        return int(self._places[self._kept[index]])

    def shown(self, places: np.ndarray) -> str:
        """The text of some characters of `squashed`: runs of it, joined by one space."""
        runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
        cuts = [self._clean[self._kept[run[0]] : self._kept[run[-1]] + 1] for run in runs]
        return " ".join(" ".join(cuts).split())


@dataclass(frozen=True)
class Stretch:
    """The characters of `Text.squashed` that are a value; the rest of its first and last word."""

    places: np.ndarray
    before: str
    after: str


class _View:
    """The part of a text that is still free: the taken characters hidden, or left out."""

    def __init__(self, page: Text, free: np.ndarray, *, closed: bool) -> None:
        self.index = np.flatnonzero(free) if closed else np.arange(len(free))
        self.free = free[self.index].copy()
        self.text = "".join(page.squashed[n] if free[n] else _TAKEN for n in self.index)
        taken = np.concatenate([[True], ~self.free, [True]])
        steps = np.concatenate([[2], np.diff(self.index), [2]]) > 1
        self.starts = page.first[self.index] | taken[:-2] | steps[:-1]
        self.ends = page.last[self.index] | taken[2:] | steps[1:]

    def take(self, start: int, end: int) -> None:
        self.free[start:end] = False
        self.text = self.text[:start] + _TAKEN * (end - start) + self.text[end:]
        self.ends[max(start - 1, 0) : start] = True
        self.starts[end : end + 1] = True

    def exact(self, value: str, *, inside: bool) -> list[tuple[int, int]]:
        """Where `value` stands, between ends of words unless `inside`."""
        spans, at = [], self.text.find(value)
        while at >= 0:
            end = at + len(value)
            strict = len(value) < SHORT
            if inside or (self._edge(at, strict) and self._edge(end, strict)):
                spans.append((at, end))
                at = self.text.find(value, end)
            else:
                at = self.text.find(value, at + 1)
        return spans

    def _edge(self, index: int, strict: bool) -> bool:
        if index in (0, len(self.text)) or self.starts[index] or self.ends[index - 1]:
            return True
        pair = self.text[index - 1 : index + 1]
        return not (pair.isalnum() if strict else _one_word(pair))

    def like(self, value: str, bar: float) -> tuple[tuple[int, int], float] | None:
        """The stretch of whole words that is most like `value`, and its similarity."""
        # The alignment ignores that lengths differ, so it is asked for somewhat less.
        found = fuzz.partial_ratio_alignment(value, self.text, score_cutoff=100 * (bar - 0.1))
        if found is None or found.dest_end <= found.dest_start:
            return None
        best, score = None, bar
        for start in {*self._near(self.starts, found.dest_start), found.dest_start}:
            for last in {*self._near(self.ends, found.dest_end - 1), found.dest_end - 1}:
                piece = self.text[start : last + 1]
                if piece and _TAKEN not in piece:
                    similarity = Levenshtein.normalized_similarity(value, piece, score_cutoff=score)
                    if similarity > score or (best is None and similarity >= score):
                        best, score = (start, last + 1), similarity
        return None if best is None else (best, score)

    @staticmethod
    def _near(edges: np.ndarray, index: int) -> list[int]:
        """The nearest edges of words before and after a place, two each way."""
        low = max(0, index - 60)
        near = low + np.flatnonzero(edges[low : index + 60])
        middle = int(np.searchsorted(near, index))
        return near[max(0, middle - 2) : middle + 2].tolist()


def find_stretches(
    values: Sequence[str],
    page: Text,
    near: Near,
    *,
    words: Mapping[int, Sequence[str]] | None = None,
    gold: Sequence[Stretch] | None = None,
    bar: float = 0.0,
) -> list[Stretch | None]:
    """One stretch of the page's text for each value, where it has one.

    The values that are most certain, by length and similarity, choose first. Equal values share
    their places by `near`. What is not found is looked for once more in what then is free, also
    as if the taken stretches were not there: lines of a field that stand apart. At last its words
    are looked for one by one, in their order.

    `values` are as from `squash`, not empty, and so are the `words` of value i; without them values
    are not looked for by word. `near` is the distance of value i from a place, given the places of
    others; see `_shared_out`. `gold` says where each value stands in the gold text, if there is
    one; `bar` is the least similarity, where it is higher than `least`.
    """
    free = np.ones(len(page.squashed), dtype=bool)
    cores: dict[int, np.ndarray] = {}
    for inside, closed, sure in _SWEEPS:
        view = _View(page, free, closed=closed)
        left = {n: value for n, value in enumerate(values) if n not in cores}
        assigned = _sweep(left, view, bar=max(bar, sure), inside=inside) if left else {}
        anchors = {n: int(span[0]) for n, span in cores.items()}
        for number, (start, end) in _shared_out(assigned, view, near, anchors).items():
            cores[number] = view.index[start:end]
            free[cores[number]] = False
        if closed:
            _pieces(words or {}, page, cores, free, share=max(sure, _PIECES))
    stretches: list[Stretch | None] = [None] * len(values)
    for number, core in cores.items():
        reference = gold[number] if gold else None
        stretches[number] = _whole(values[number], core, page, free, reference, bar)
    return stretches


def _sweep(
    values: dict[int, str], view: _View, *, bar: float, inside: bool
) -> dict[tuple[int, ...], list[tuple[int, int]]]:
    """The places that the fields of each value have together, the most certain first."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number, value in values.items():
        groups[value].append(number)
    heap: list[tuple[float, str, list[tuple[int, int]]]] = []
    assigned: dict[str, list[tuple[int, int]]] = defaultdict(list)

    def parted(value: str, span: tuple[int, int], similarity: float) -> bool:
        """Whether the stretch would be more like the value without others that stand in it."""
        rest = view.text[slice(*span)]
        for other in sorted(groups, key=len, reverse=True):
            if SHORT <= len(other) < len(value):
                rest = rest.replace(other, "")
        is_less = len(rest) < span[1] - span[0]
        return is_less and Levenshtein.normalized_similarity(value, rest) > similarity

    def offer(value: str) -> None:
        asked = max(bar, least(len(value)))
        if spans := view.exact(value, inside=inside and len(value) >= SHORT):
            heapq.heappush(heap, (-float(len(value)), value, spans))
        elif asked < 1 and (like := view.like(value, asked)) and not parted(value, *like):
            heapq.heappush(heap, (-len(value) * (2 * like[1] - 1), value, [like[0]]))

    for value in groups:
        offer(value)
    while heap:
        _, value, spans = heapq.heappop(heap)
        still = [span for span in spans if view.free[slice(*span)].all()]
        for span in still:
            view.take(*span)
        assigned[value] += still
        if not still or len(assigned[value]) < len(groups[value]):
            offer(value)
    return {tuple(groups[value]): spans for value, spans in assigned.items()}


def _shared_out(
    assigned: dict[tuple[int, ...], list[tuple[int, int]]],
    view: _View,
    near: Near,
    anchors: dict[int, int],
) -> dict[int, tuple[int, int]]:
    """Which field has which of the places its value has: those nearest to the field's neighbours.

    `near` is given the number of the field, a place, and the places of the fields that are known.
    """
    certain = {n: s[0] for n, s in assigned.items() if len(n) == len(s) == 1}
    chosen = {number: span for (number,), span in certain.items()}
    known = anchors | {n: int(view.index[span[0]]) for n, span in chosen.items()}
    for numbers, spans in assigned.items():
        if numbers not in certain:
            places = [int(view.index[span[0]]) for span in spans]
            cost = np.array([[near(n, at, known) for at in places] for n in numbers])
            for row, column in assign(-cost, least=None):
                chosen[numbers[row]] = spans[column]
                known[numbers[row]] = places[column]
    return chosen


def _pieces(
    words: Mapping[int, Sequence[str]],
    page: Text,
    cores: dict[int, np.ndarray],
    free: np.ndarray,
    *,
    share: float,
) -> None:
    """Add the values whose words stand free, each as it is and in their order, however apart."""
    for number in sorted(words, key=lambda n: -sum(map(len, words[n]))):
        parts = words[number]
        if number in cores or len(parts) < 2:
            continue
        starts = np.flatnonzero(page.first & free)
        spans = [(int(a), int(a) + int(np.argmax(page.last[a:])) + 1) for a in starts]
        spans = [(a, b) for a, b in spans if free[a:b].all()]
        blocks = LCSseq.opcodes(parts, [page.squashed[a:b] for a, b in spans])
        equal = [spans[b.dest_start : b.dest_end] for b in blocks if b.tag == "equal"]
        places = [place for span in chain(*equal) for place in range(*span)]
        if len(places) >= share * sum(map(len, parts)):
            cores[number] = np.array(places)
            free[places] = False


def _whole(
    value: str, core: np.ndarray, page: Text, free: np.ndarray, gold: Stretch | None, bar: float
) -> Stretch | None:
    """A stretch with the rest of the words it begins and ends in, where no other has that.

    Left out is what stands beside the value in the gold text too, as `RM` in `RM9.00`. None if a
    letter or figure cut off makes it another value.
    """
    first, last, bar = int(core[0]), int(core[-1]) + 1, max(bar, least(len(value)))
    start = int(np.flatnonzero(page.first[: first + 1])[-1])
    end = last + int(np.argmax(page.last[last - 1 :]))
    before, after = page.squashed[start:first], page.squashed[last:end]
    start = first if gold is not None and gold.before == before else start
    end = last if gold is not None and gold.after == after else end
    # No further than to what another value has.
    start = max([start, *(start + 1 + np.flatnonzero(~free[start:first]))])
    end = min([end, *(last + np.flatnonzero(~free[last:end]))])
    for low, high in ((start, end), (first, last)):
        places = np.concatenate([np.arange(low, first), core, np.arange(last, high)])
        shown = "".join(page.squashed[index] for index in places)
        if Levenshtein.normalized_similarity(value, shown) >= bar:
            cut = (
                page.squashed[start:low][-1:] + shown[:1],
                shown[-1:] + page.squashed[high:end][:1],
            )
            if not any(map(_one_word, cut)):
                return Stretch(places, before, after)
    return None


def _one_word(pair: str) -> bool:
    """Whether two characters that follow each other belong to one word or one number."""
    return len(pair) == 2 and (pair.isalpha() or pair.isdigit())
