"""Pages as a whole: word errors by kind, and the structure score by rules; none normalises.

The four shares of word errors (omitted, inserted, substituted, out of order) sum to the word error
rate of the page. A word that is lost in one place and found in another is out of order; of a
replaced pair both words must be. One that is left over and was read otherwise, joined or cut apart
is substituted, as is a replaced pair of two that are left over; else it is omitted or inserted.

The structure score answers the paper's question by rules: 2 where every share of
`structure_shares` is at least 0.9, 0 where one is below 0.5, and 1 between; so 0 for a prediction
without a table or tag where the gold has tables.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, islice, zip_longest

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import LCSseq, Levenshtein

from formlab.benchmarks.fincriticaled import FACTS
from formlab.metrics.places import tokens
from formlab.text.markup import VOID, Flow, is_html, read

ERRORS = ("omitted", "inserted", "substituted", "order")
# Similarities from which on a word that is left over is a reading of one left over opposite, or of
# the one whose place it takes. Words that were joined or cut apart, so many at most, are compared
# as they would stand joined, before the others, and more strictly.
_SAME_WORD, _SAME_PLACE, _SAME_JOINED, _JOINED = 0.7, 0.5, 0.85, 4
# With more words left over than this, only equal words are looked for elsewhere.
_MOST = 1000
# What is known of the edited words of gold and prediction, by their places.
_LEFT, _READ = "left over", "misread"
_Texts, _States = tuple[list[str], list[str]], tuple[dict[int, str], dict[int, str]]
# Shares of structure from which on an aspect is kept, and below which it is lost.
KEPT, LOST = 0.9, 0.5
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)[^<>]*?(/?)>")
# HTML allows these to stay open.
_OPTIONAL = {"p", "li", "dt", "dd", "option", "tr", "td", "th", "thead", "tbody", "tfoot", "html"}
_OPTIONAL |= {"head", "body", "colgroup"}
_Table = list[list[str]]


# The four metrics of the same pages ask one after the other.
@lru_cache(maxsize=1024)
def word_edits(gold: str, pred: str) -> dict[str, int]:
    """The least edits of one text's words into the other's: how many of each of `ERRORS`."""
    words = gold.split(), pred.split()
    # Where each edit is in gold and prediction; a word that is inserted or deleted is in one.
    script = [
        (None if kind == "insert" else place, None if kind == "delete" else other)
        for kind, place, other in Levenshtein.editops(*words).as_list()
    ]
    edited = [[edit[side] for edit in script if edit[side] is not None] for side in (0, 1)]
    lost, gained = (Counter(map(words[side].__getitem__, edited[side])) for side in (0, 1))
    # Those of words that do not stand on the other side too, out of order.
    states: _States = ({}, {})
    for side, state in enumerate(states):
        common = lost & gained
        for place in edited[side]:
            word = words[side][place]
            if common[word] <= 0:
                state[place] = _LEFT
            common[word] -= 1
    # Words that are left over and were read otherwise, in place or elsewhere.
    _pair_left_over(words, states, range(2, _JOINED + 1), _SAME_JOINED)
    for place, other in script:
        if states[0].get(place) == states[1].get(other) == _LEFT:
            pair = words[0][place], words[1][other]
            if Levenshtein.normalized_similarity(*pair) >= _SAME_PLACE:
                states[0][place] = states[1][other] = _READ
    _pair_left_over(words, states, range(1, _JOINED + 1), _SAME_WORD)
    counts = dict.fromkeys(ERRORS, 0)
    for edit in script:
        # Of a replaced pair, one word may be there all the same: the edit is the other's.
        known = [state.get(place) for state, place in zip(states, edit, strict=True)]
        if known.count(_LEFT) == 1:
            error = "omitted" if known[0] == _LEFT else "inserted"
        else:
            error = "substituted" if any(known) else "order"
        counts[error] += 1
    return counts


def _pair_left_over(words: _Texts, states: _States, lengths: range, least: float) -> None:
    """Mark the words that stand, as so many words, among those left over opposite."""
    if max(map(len, states)) > _MOST:
        return
    for side, opposite in ((0, 1), (1, 0)):
        left = {place: None for place, state in states[opposite].items() if state == _LEFT}
        spans = [range(start, start + length) for start in left for length in lengths]
        spans = [span for span in spans if all(place in left for place in span)]
        texts = {n: "".join(words[opposite][i] for i in span) for n, span in enumerate(spans)}
        places = [place for place, state in states[side].items() if state == _LEFT]
        how = {"scorer": Levenshtein.normalized_similarity, "score_cutoff": least}
        for place in sorted(places, key=lambda place: -len(words[side][place])):
            if (best := process.extractOne(words[side][place], texts, **how)) is None:
                continue
            states[side][place] = _READ
            states[opposite].update(dict.fromkeys(spans[best[2]], _READ))
            texts = {n: t for n, t in texts.items() if not {*spans[n]} & {*spans[best[2]]}}


def word_tallies(golds: Sequence[str], preds: Sequence[str]) -> dict[str, np.ndarray]:
    """Tallies of shape (n, 2) of the metrics ``words_*`` of n pages."""
    edits = [word_edits(gold, pred) for gold, pred in zip(golds, preds, strict=True)]
    words = [len(gold.split()) for gold in golds]
    return {
        f"words_{name}": np.array([[counts[name] for counts in edits], words], dtype=float).T
        for name in ERRORS
    }


def structure_tallies(golds: Sequence[str], preds: Sequence[str]) -> np.ndarray:
    """The structure score of each page, 0, 1 or 2, out of 1."""
    shares = [structure_shares(*pair).values() for pair in zip(golds, preds, strict=True)]
    worst = np.array([min(of_page) for of_page in shares])
    return np.stack([(worst >= LOST) + (worst >= KEPT).astype(float), np.ones_like(worst)], axis=1)


def structure_shares(gold: str, pred: str) -> dict[str, float]:
    """The share of each aspect of a page that is kept, in [0, 1]."""
    pages = read(gold), read(pred)
    tables, others = map(_tables, pages)
    rows = sum(map(len, tables))
    few, many = sorted((len(tables), len(others)))
    widths, other_widths = ([max(map(len, t)) for t in page] for page in (tables, others))
    pairs = zip_longest(widths, other_widths[: len(widths)], fillvalue=0)
    # By words, not by blocks alone: a block that is cut in two has kept its place.
    words = [[tokens(unit.text) for unit in page.units] for page in pages]
    blocks = [["".join(block) for block in page[:20_000]] for page in words]
    words = [list(islice(chain.from_iterable(page), 50_000)) for page in words]
    orders = [LCSseq.similarity(*of) / max(len(of[0]), 1) for of in (blocks, words)]
    return {
        # Of the prediction's tags those closed in order, and of the gold's blocks those in order.
        "closed": _closed(pred),
        "order": max(orders),
        "tables": few / many if many else 1.0,
        # Of the gold tables' rows those with their cells side by side, and of their widths.
        "rows": _kept_rows(tables, others) / rows if rows else 1.0,
        "columns": sum(min(p) / max(p) for p in pairs) / len(tables) if tables else 1.0,
    }


def _closed(pred: str) -> float:
    tags = _TAG.findall(pred.lower()) if is_html(pred) else []
    stack: list[str] = []
    wrong = total = 0
    # How many of each are open: a stack is not searched for a tag that is not there.
    depth: Counter[str] = Counter()
    for end, name, self_closing in tags:
        # Tags of facts are none of the page's own.
        if name in VOID or self_closing or name in FACTS:
            continue
        total += 1
        if not end:
            stack.append(name)
            depth[name] += 1
            continue
        wrong += not depth[name]
        while depth[name] > 0:
            depth[last := stack.pop()] -= 1
            if last == name:
                break
            wrong += last not in _OPTIONAL
    wrong += sum(name not in _OPTIONAL for name in stack)
    return 1 - min(wrong, total) / total if total else 1.0


def _tables(flow: Flow) -> list[_Table]:
    cells: dict[int, dict[int, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
    for unit in flow.units:
        if unit.table >= 0:
            row = cells[unit.table][unit.row]
            row[unit.column] = row.get(unit.column, "") + "".join(tokens(unit.text))
    return [[list(row.values()) for row in table.values()] for table in cells.values()]


def _kept_rows(tables: list[_Table], others: list[_Table]) -> int:
    """Rows of the gold whose cells stand in one row of the prediction, at least half unchanged."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(chain.from_iterable(others)):
        for cell in set(row):
            places[cell].append(place)
    kept = 0
    for cells in map(set, chain.from_iterable(tables)):
        votes = Counter(place for cell in cells for place in places[cell][:200])
        kept += bool(votes) and max(votes.values()) * 2 >= len(cells)
    return kept
