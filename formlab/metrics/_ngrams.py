"""N-grams of numbered words: their numbers, and how many two texts share."""

from __future__ import annotations

import numba
import numpy as np

from formlab.metrics._words import Words, empty_table


def longer(words: Words, grams: np.ndarray, size: int) -> np.ndarray:
    """Numbers of the n-grams of `size` words, at the place of each one's first word.

    Parameters
    ----------
    words
        The words.
    grams
        Numbers of the n-grams of `size` - 1 words (the words' own numbers for 1).
    size
        At least 2.

    Returns
    -------
    numpy.ndarray
        As long as `words.numbers`; -1 where too few words follow in the same text.
    """
    return _longer(words.numbers, words.offsets, grams, size, empty_table(len(grams)))


@numba.njit(cache=True, nogil=True)
def _longer(numbers, offsets, grams, size, table):
    mask = np.uint64(len(table) - 1)
    found = np.full(len(numbers), -1, dtype=np.int32)
    for text in range(len(offsets) - 1):
        for at in range(offsets[text], offsets[text + 1] - size + 1):
            # A gram is numbered by the place of its first occurrence, which also is the key.
            mix = np.uint64(grams[at]) * np.uint64(11400714819323198485)
            mix = (mix ^ np.uint64(numbers[at + size - 1])) * np.uint64(14029467366897019727)
            slot = (mix ^ (mix >> np.uint64(32))) & mask
            while True:
                first = table[slot]
                if first < 0:
                    first = at
                    table[slot] = at
                    break
                last, other = numbers[at + size - 1], numbers[first + size - 1]
                if grams[first] == grams[at] and other == last:
                    break
                slot = (slot + np.uint64(1)) & mask
            found[at] = first
    return found


@numba.njit(cache=True, nogil=True)
def shared(grams, offsets, size):
    """N-grams that the texts t and n + t of 2 n texts have in common, with multiplicity."""
    pairs = (len(offsets) - 1) // 2
    free = np.zeros(len(grams), dtype=np.int32)
    hits = np.zeros(pairs, dtype=np.int64)
    for pair in range(pairs):
        begin, end = offsets[pair], offsets[pair + 1] - size + 1
        for at in range(begin, end):
            free[grams[at]] += 1
        for at in range(offsets[pairs + pair], offsets[pairs + pair + 1] - size + 1):
            if free[grams[at]] > 0:
                free[grams[at]] -= 1
                hits[pair] += 1
        for at in range(begin, end):
            free[grams[at]] = 0
    return hits
