"""Texts as arrays of code points, cut into words, the words numbered: what `text` counts with.

A number stands for a word exactly, not by a hash: equal numbers mean equal code points.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numba
import numpy as np

# Code points held at once; a longer pair makes a chunk of its own.
_CHUNK = 1 << 19


def _kinds(part: Callable[[str], bool], size: int) -> np.ndarray:
    """What each code point is: 0 a gap, 1 part of a word (2, set later, a word of its own)."""
    # The last entry stands for every code point beyond the table.
    return np.array([part(chr(code)) for code in range(size)], dtype=np.uint8)


# The highest white space is U+3000, so the entry after it is part of a word.
_SPLIT = _kinds(lambda char: not char.isspace(), 0x3002)
_ALPHANUMERIC = _kinds(lambda char: char.isascii() and char.isalnum(), 0x81)
_PUNCTUATION = np.array([chr(code) in '!"#$%&()*+/:;<=>?@[\\]^_`{|}~' for code in range(128)])


class Words(NamedTuple):
    """The numbered words of texts: text t has `numbers[offsets[t]:offsets[t + 1]]`.

    `firsts` holds the start and end in `codes` of one occurrence of each number, shape (d, 2).
    """

    numbers: np.ndarray
    offsets: np.ndarray
    codes: np.ndarray
    firsts: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """Words in each text."""
        return np.diff(self.offsets)


def chunks(
    golds: Sequence[str], preds: Sequence[str]
) -> Iterator[tuple[slice, list[str], list[str]]]:
    """The pairs in runs of bounded length, so that memory does not grow with their number."""
    if len(golds) != len(preds):
        raise ValueError(f"{len(golds)} gold and {len(preds)} predicted texts: must be as many")
    start, held = 0, 0
    ours: list[str] = []
    theirs: list[str] = []
    for row, (gold, pred) in enumerate(zip(golds, preds, strict=True)):
        ours.append(gold)
        theirs.append(pred)
        held += len(gold) + len(pred)
        if held >= _CHUNK or row == len(golds) - 1:
            yield slice(start, row + 1), ours, theirs
            start, held, ours, theirs = row + 1, 0, [], []


def _encode(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    # A lone surrogate, which models do write, is a code point like any other here.
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
    return codes, offsets


def split(texts: list[str]) -> Words:
    """Words between white space, as `str.split` finds them.

    Examples
    --------
    >>> split(["to be", "be"]).numbers.tolist()
    [0, 1, 1]
    """
    codes, offsets = _encode(texts)
    return _numbered(codes, offsets, _SPLIT[np.minimum(codes, len(_SPLIT) - 1)])


def alphanumeric(texts: list[str]) -> Words:
    """Runs of a to z and 0 to 9 in the lower-cased text: the words of ROUGE.

    Examples
    --------
    >>> alphanumeric(["To-be", "naïve"]).counts.tolist()
    [2, 2]
    """
    codes, offsets = _encode([text.lower() for text in texts])
    return _numbered(codes, offsets, _ALPHANUMERIC[np.minimum(codes, len(_ALPHANUMERIC) - 1)])


def stemmed(words: Words) -> Words:
    """The same words, numbered by their Porter stem."""
    known: dict[str, int] = {}
    numbers = np.empty(len(words.firsts), dtype=np.int32)
    for number, (start, end) in enumerate(words.firsts.tolist()):
        stem = _stem(words.codes[start:end].tobytes().decode("utf-32-le"))
        numbers[number] = known.setdefault(stem, len(known))
    return words._replace(numbers=numbers[words.numbers])


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    # ROUGE leaves words of three letters and less alone.
    return _stemmer().stem(word) if len(word) > 3 else word


@lru_cache(maxsize=1)
def _stemmer():
    # Importing nltk takes a second, which only the stemmed metrics need to pay.
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()


def mteval(texts: list[str]) -> Words:
    """The words of mteval-v13a, the default tokeniser of BLEU.

    Examples
    --------
    >>> mteval(["Pay $1,000.50, now."]).counts.tolist()
    [6]
    """
    codes, offsets = _encode([_mteval_clean(text) for text in texts])
    kinds = _SPLIT[np.minimum(codes, len(_SPLIT) - 1)]
    _mteval_kinds(codes, offsets, kinds, _PUNCTUATION)
    return _numbered(codes, offsets, kinds)


def _mteval_clean(text: str) -> str:
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in text:
        for entity, char in (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")):
            text = text.replace(entity, char)
    return text


@numba.njit(cache=True, nogil=True)
def _mteval_kinds(codes, offsets, kinds, punctuation):
    """Mark in `kinds` what stands alone: the outcome of the tokeniser's four substitutions.

    Those only ever insert spaces. The one for a period or comma behind a non-digit takes both
    characters at a time, so of ".." only the first is split off by it.
    """
    for text in range(len(offsets) - 1):
        begin, end = offsets[text], offsets[text + 1]
        taken = False
        digit_before = False
        for at in range(begin, end):
            code = codes[at]
            alone = False
            if code == 44 or code == 46:
                taken = not digit_before and not taken
                alone = taken or at + 1 == end or not (48 <= codes[at + 1] <= 57)
            else:
                taken = False
                alone = (code == 45 and digit_before) or (code < 128 and punctuation[code])
            if alone:
                kinds[at] = 2
            digit_before = 48 <= code <= 57


def _numbered(codes: np.ndarray, offsets: np.ndarray, kinds: np.ndarray) -> Words:
    starts, ends, bounds = _cut(kinds, offsets)
    numbers, firsts = _number(codes, starts, ends, empty_table(len(starts)))
    return Words(numbers, bounds, codes, firsts)


def empty_table(entries: int) -> np.ndarray:
    """An empty hash table, less than half full with `entries` entries."""
    return np.full(1 << (2 * entries).bit_length(), -1, dtype=np.int32)


@numba.njit(cache=True, nogil=True)
def _cut(kinds, offsets):
    """Start and end of each word, and where in them each text begins."""
    starts = np.empty(len(kinds), dtype=np.int32)
    ends = np.empty(len(kinds), dtype=np.int32)
    bounds = np.zeros(len(offsets), dtype=np.int64)
    found = 0
    for text in range(len(offsets) - 1):
        inside = False
        for at in range(offsets[text], offsets[text + 1]):
            kind = kinds[at]
            if inside and kind == 1:
                ends[found - 1] = at + 1
            elif kind != 0:
                starts[found] = at
                ends[found] = at + 1
                found += 1
            inside = kind == 1
        bounds[text + 1] = found
    return starts[:found], ends[:found], bounds


@numba.njit(cache=True, nogil=True)
def _number(codes, starts, ends, table):
    """A number for each word, equal for equal words, from 0 in order of appearance."""
    mask = np.uint64(len(table) - 1)
    firsts = np.empty((len(starts), 2), dtype=np.int32)
    numbers = np.empty(len(starts), dtype=np.int32)
    known = 0
    for word in range(len(starts)):
        start, end = starts[word], ends[word]
        mix = np.uint64(14695981039346656037)
        for at in range(start, end):
            mix = (mix ^ np.uint64(codes[at])) * np.uint64(1099511628211)
        slot = (mix ^ (mix >> np.uint64(32))) & mask
        while True:
            number = table[slot]
            if number < 0:
                number = known
                table[slot] = number
                firsts[number, 0], firsts[number, 1] = start, end
                known += 1
                break
            same = firsts[number, 1] - firsts[number, 0] == end - start
            at = 0
            while same and at < end - start:
                same = codes[firsts[number, 0] + at] == codes[start + at]
                at += 1
            if same:
                break
            slot = (slot + np.uint64(1)) & mask
        numbers[word] = number
    return numbers, firsts[:known].copy()


def sequences(words: Words, *, most: int = sys.maxunicode + 1) -> list[str] | list[list[int]]:
    """Each text as a sequence with one item per word, for the distances of rapidfuzz.

    A string with one character per word is what rapidfuzz reads fastest; with more than `most`
    different words, characters do not suffice and lists of numbers are given.
    """
    bounds = words.offsets.tolist()
    if len(words.firsts) > most:
        every = words.numbers.tolist()
    else:
        data = words.numbers.astype(np.uint32).tobytes()
        every = data.decode("utf-32-le", "surrogatepass")
    return [every[bounds[text] : bounds[text + 1]] for text in range(len(bounds) - 1)]
