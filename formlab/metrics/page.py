"""Word errors of a page by kind: omitted, inserted, substituted, or out of order.

The four shares sum to the word error rate of the page. None of them normalises. Tested in
`tests/metrics/test_page.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from formlab.metrics.metric import SOME_GOLD, as_many, family

ERRORS = ("omitted", "inserted", "substituted", "order")
# From this similarity on, a word that is left over on one side is a reading of one left over on
# the other; words that were joined or cut apart are compared as they would stand joined.
_SAME_WORD = 0.7
# Joined or cut apart, words are told before those that take another's place, and more strictly.
_SAME_JOINED, _JOINED = 0.85, 4
# From this similarity on, a word is a reading of the one whose place it takes.
_SAME_PLACE = 0.5
# With more words left over than this, only equal words are looked for elsewhere.
_MOST = 1000
# What is known of the edited words of gold and prediction, by their places.
_LEFT, _MOVED, _READ = "left over", "elsewhere", "misread"
_Words = tuple[list[str], list[str]]
_States = tuple[dict[int, str], dict[int, str]]


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


# The four metrics of the same pages ask one after the other.
@lru_cache(maxsize=1024)
def word_edits(gold: str, pred: str) -> WordEdits:
    """The least edits that turn one text's words into the other's, each with its kind.

    A word that is lost in one place and found in another is out of order; of a replaced pair both
    words must be. One that is left over and was read otherwise, joined or cut apart is substituted,
    as is a replaced pair of two that are left over. What remains is omitted or inserted.

    >>> word_edits("a b c d", "c d a b").counts
    {'omitted': 0, 'inserted': 0, 'substituted': 0, 'order': 4}
    >>> word_edits("date october 11", "dateoctober 11 thank you").counts
    {'omitted': 0, 'inserted': 2, 'substituted': 2, 'order': 0}
    """
    words = gold.split(), pred.split()
    script = Levenshtein.editops(*words).as_list()
    edited = (
        [place for kind, place, _ in script if kind != "insert"],
        [place for kind, _, place in script if kind != "delete"],
    )
    lost, gained = (
        Counter(side[n] for n in places) for side, places in zip(words, edited, strict=True)
    )
    states: _States = ({}, {})
    for side, places, state in zip(words, edited, states, strict=True):
        common = lost & gained
        for place in places:
            state[place] = _MOVED if common[side[place]] > 0 else _LEFT
            common[side[place]] -= 1
    _find_misread(script, words, states)
    counts, inserted = dict.fromkeys(ERRORS, 0), []
    for kind, place, other in script:
        ours = None if kind == "insert" else states[0][place]
        theirs = None if kind == "delete" else states[1][other]
        # Of a replaced pair, one word may be there all the same: the edit is the other's.
        known = [state for state in (ours, theirs) if state not in (None, _MOVED)]
        if not known:
            error = "order"
        elif _LEFT not in known or ours == theirs == _LEFT:
            error = "substituted"
        else:
            error = "omitted" if ours == _LEFT else "inserted"
        if error == "inserted":
            inserted.append(other)
        counts[error] += 1
    return WordEdits(counts, len(words[0]), tuple(inserted))


def _find_misread(script: list, words: _Words, states: _States) -> None:
    """Mark the words that are left over and were read otherwise, in place or elsewhere."""
    few = max(list(state.values()).count(_LEFT) for state in states) <= _MOST
    if few:
        _pair_left_over(words, states, range(2, _JOINED + 1), _SAME_JOINED)
    for kind, place, other in script:
        if kind == "replace" and states[0][place] == states[1][other] == _LEFT:
            pair = words[0][place], words[1][other]
            if Levenshtein.normalized_similarity(*pair) >= _SAME_PLACE:
                states[0][place] = states[1][other] = _READ
    if few:
        _pair_left_over(words, states, range(1, _JOINED + 1), _SAME_WORD)


def _pair_left_over(words: _Words, states: _States, lengths: range, least: float) -> None:
    """Mark the words that stand, as so many words, among those left over opposite."""
    for side, opposite in ((0, 1), (1, 0)):
        left = {place: None for place, state in states[opposite].items() if state == _LEFT}
        spans = [range(start, start + length) for start in left for length in lengths]
        spans = [span for span in spans if all(place in left for place in span)]
        texts = {n: "".join(words[opposite][i] for i in span) for n, span in enumerate(spans)}
        places = [place for place, state in states[side].items() if state == _LEFT]
        for place in sorted(places, key=lambda place: -len(words[side][place])):
            scorer = Levenshtein.normalized_similarity
            word = words[side][place]
            best = process.extractOne(word, texts, scorer=scorer, score_cutoff=least)
            if best is None:
                continue
            states[side][place] = _READ
            states[opposite].update(dict.fromkeys(spans[best[2]], _READ))
            texts = {n: t for n, t in texts.items() if not {*spans[n]} & {*spans[best[2]]}}


def word_tallies(golds: Sequence[str], preds: Sequence[str]) -> dict[str, np.ndarray]:
    """Tallies of shape (n, 2) of the metrics ``words_*`` of n pages."""
    as_many(golds, preds)
    edits = [word_edits(gold, pred) for gold, pred in zip(golds, preds, strict=True)]
    return {
        f"words_{name}": np.array(
            [(edit.counts[name], edit.words) for edit in edits], dtype=float
        ).reshape(-1, 2)
        for name in ERRORS
    }


# As with WER, a text without gold words has no share, and its insertions count in a sum.
METRICS = family(
    ("words_omitted", "words omitted"),
    ("words_inserted", "words inserted"),
    ("words_substituted", "words substituted"),
    ("words_order", "words out of order"),
    counts=word_tallies,
    unit="edits per word of the gold text; omitted, inserted, substituted and order sum to WER",
    source="the edits of Levenshtein 1966 over words, told apart by formlab.metrics.page",
    direction="down",
    high=None,
    view="text",
    units=("page",),
    need=SOME_GOLD,
)
