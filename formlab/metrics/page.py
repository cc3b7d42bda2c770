"""Word errors of a page by kind: omitted, inserted, substituted, or out of order.

The four shares sum to the word error rate of the page. None of them normalises.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from formlab.metrics._spec import SOME_GOLD, Metric, as_many

ERRORS = ("omitted", "inserted", "substituted", "order")
# From this similarity on, a word that is left over on one side is a reading of one left over on
# the other; words that were joined or cut apart are compared as they would stand joined.
_SAME_WORD = 0.7
# Joined or cut apart, words are told before those that take another's place, and more strictly.
_SAME_JOINED = 0.85
# From this similarity on, a word is a reading of the one whose place it takes.
_SAME_PLACE = 0.5
_JOINED = 4
# With more words left over than this, only equal words are looked for elsewhere.
_MOST = 1000


@dataclass(frozen=True)
class WordEdits:
    """The word errors between two texts.

    `counts` holds the edits of each of `ERRORS`, whose sum is the Levenshtein distance over
    words; `words` counts the gold text's; `inserted` are the places of the words of the
    prediction that are inserted.
    """

    counts: dict[str, int]
    words: int
    inserted: tuple[int, ...]


def word_edits(gold: str, pred: str) -> WordEdits:
    """The least edits that turn one text's words into the other's, each with its kind.

    A word that is lost in one place and found in another is out of order; of a replaced pair both
    words must be. One that is left over and was read otherwise, joined or cut apart is substituted,
    as is a replaced pair of two that are left over. What remains is omitted or inserted.

    Examples
    --------
    >>> word_edits("a b c d", "c d a b").counts
    {'omitted': 0, 'inserted': 0, 'substituted': 0, 'order': 4}
    >>> word_edits("date october 11", "dateoctober 11 thank you").counts
    {'omitted': 0, 'inserted': 2, 'substituted': 2, 'order': 0}
    """
    ours, theirs = gold.split(), pred.split()
    numbers: dict[str, int] = {}
    coded = [[numbers.setdefault(w, len(numbers)) for w in side] for side in (ours, theirs)]
    script = Levenshtein.editops(*coded).as_list()
    lost = [src for kind, src, _ in script if kind != "insert"]
    gained = [dest for kind, _, dest in script if kind != "delete"]
    moved = _equal(ours, lost), _equal(theirs, gained)
    common = Counter(ours[i] for i in lost) & Counter(theirs[i] for i in gained)
    return _counted(script, ours, theirs, *(_first(places, common) for places in moved))


def _equal(words: Sequence[str], places: Iterable[int]) -> dict[str, list[int]]:
    indices = defaultdict(list)
    for index in places:
        indices[words[index]].append(index)
    return indices


def _first(places: dict[str, list[int]], common: Counter) -> set[int]:
    return {index for word, count in common.items() for index in places[word][:count]}


def _counted(
    script: list, ours: list[str], theirs: list[str], lost: set[int], gained: set[int]
) -> WordEdits:
    """The edits counted, given which words stand elsewhere on the other side."""
    read = _read(script, ours, theirs, lost, gained)
    counts = dict.fromkeys(ERRORS, 0)
    inserted = []
    for kind, src, dest in script:
        gold = None if kind == "insert" else _state(src, lost, read[0])
        pred = None if kind == "delete" else _state(dest, gained, read[1])
        # Of a replaced pair, one word may be there all the same: the edit is the other's.
        states = [state for state in (gold, pred) if state not in (None, "order")]
        if not states:
            error = "order"
        elif "left" not in states or (gold, pred) == ("left", "left"):
            error = "substituted"
        else:
            error = "omitted" if gold == "left" else "inserted"
        if pred == "left" and error == "inserted":
            inserted.append(dest)
        counts[error] += 1
    return WordEdits(counts, len(ours), tuple(inserted))


def _state(index: int, moved: set[int], read: set[int]) -> str:
    return "order" if index in moved else "read" if index in read else "left"


def _read(
    script: list, ours: list[str], theirs: list[str], lost: set[int], gained: set[int]
) -> tuple[set[int], set[int]]:
    """The words of each side that are left over and were read otherwise, in place or elsewhere."""
    matched: tuple[set[int], set[int]] = (set(), set())
    left = (
        [src for kind, src, _ in script if kind != "insert" and src not in lost],
        [dest for kind, _, dest in script if kind != "delete" and dest not in gained],
    )
    few = max(map(len, left)) <= _MOST
    if few:
        _match((ours, theirs), left, matched, range(2, _JOINED + 1), _SAME_JOINED)
    free = set(left[0]) - matched[0], set(left[1]) - matched[1]
    for kind, src, dest in script:
        pair = kind == "replace" and src in free[0] and dest in free[1]
        if pair and Levenshtein.normalized_similarity(ours[src], theirs[dest]) >= _SAME_PLACE:
            matched[0].add(src)
            matched[1].add(dest)
    if few:
        _match((ours, theirs), left, matched, range(1, _JOINED + 1), _SAME_WORD)
    return matched


def _match(
    words: tuple[list[str], list[str]],
    left: tuple[list[int], list[int]],
    matched: tuple[set[int], set[int]],
    lengths: range,
    least: float,
) -> None:
    """Add to `matched` the words that stand, as so many words, among those left opposite."""
    for side, opposite in ((0, 1), (1, 0)):
        spans = _spans([at for at in left[opposite] if at not in matched[opposite]], lengths)
        texts = dict(enumerate("".join(words[opposite][i] for i in span) for span in spans))
        for index in sorted(left[side], key=lambda at: -len(words[side][at])):
            if index in matched[side]:
                continue
            best = process.extractOne(
                words[side][index], texts, scorer=Levenshtein.normalized_similarity,
                processor=None, score_cutoff=least,
            )  # fmt: skip
            if best is None:
                continue
            matched[side].add(index)
            matched[opposite].update(spans[best[2]])
            for number in list(texts):
                if not matched[opposite].isdisjoint(spans[number]):
                    del texts[number]


def _spans(places: list[int], lengths: range) -> list[tuple[int, ...]]:
    """Runs of adjacent places, of so many."""
    known = set(places)
    runs = (tuple(range(start, start + length)) for start in places for length in lengths)
    return [run for run in runs if known.issuperset(run)]


@lru_cache(maxsize=1)
def _all_edits(golds: tuple[str, ...], preds: tuple[str, ...]) -> list[WordEdits]:
    # The four metrics of the same pages ask one after the other.
    return [word_edits(gold, pred) for gold, pred in zip(golds, preds, strict=True)]


def _tallies(name: str) -> Callable[[Sequence[str], Sequence[str]], np.ndarray]:
    def tallies(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
        as_many(golds, preds)
        edits = _all_edits(tuple(golds), tuple(preds))
        pairs = [(edit.counts[name], edit.words) for edit in edits]
        return np.array(pairs, dtype=np.float64).reshape(len(edits), 2)

    return tallies


_TITLES = {
    "omitted": "words omitted", "inserted": "words inserted",
    "substituted": "words substituted", "order": "words out of order",
}  # fmt: skip
# As with WER, a text without gold words has no share, and its insertions count in a sum.
PAGE_METRICS = {
    f"words_{name}": Metric(
        name=f"words_{name}", title=title, direction="down", high=None,
        unit="edits per word of the gold text; omitted, inserted, substituted and order sum to WER",
        source="the edits of Levenshtein 1966 over words, told apart by formlab.metrics.page",
        tallies=_tallies(name), units=("page",), need=SOME_GOLD, tasks=("text",),
    )
    for name, title in _TITLES.items()
}  # fmt: skip
