"""Random draws and swaps of documents, compiled: each is keyed by what is drawn, not by its turn.

The numbers are those of splitmix64 (G. L. Steele, D. Lea and C. H. Flood, OOPSLA 2014), so that
they are the same in every process and on every machine.
"""

from __future__ import annotations

import numba
import numpy as np

_STEP = np.uint64(0x9E3779B97F4A7C15)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@numba.njit(cache=True, inline="always")
def _mixed(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@numba.njit(cache=True)
def _stream(seed, first, second):
    """Where the numbers of a key begin."""
    key = _mixed(np.uint64(seed) + _STEP)
    key = _mixed(key ^ (np.uint64(first) + _STEP))
    return _mixed(key ^ (np.uint64(second) + _STEP))


@numba.njit(cache=True)
def _count(counts, state, number):
    """`number` draws of the places of `counts`, two of each random number."""
    size = np.uint64(len(counts))
    for _ in range(number // 2):
        state += _STEP
        random = _mixed(state)
        counts[((random >> _HALF) * size) >> _HALF] += 1
        counts[((random & _LOW) * size) >> _HALF] += 1
    if number % 2:
        counts[((_mixed(state + _STEP) >> _HALF) * size) >> _HALF] += 1


@numba.njit(cache=True)
def fill_draws(out, seed, first, block, numbers):
    """How often each document of a block is in each draw from number `first` on.

    `out` has the shape (draws, documents); `numbers` says how many documents of the block are in
    each draw.
    """
    counts = np.empty(out.shape[1], dtype=np.uint16)
    for row in range(out.shape[0]):
        counts[:] = 0
        _count(counts, _stream(seed, first + row, block), numbers[row])
        for at in range(out.shape[1]):
            out[row, at] = counts[at]


@numba.njit(cache=True)
def fill_blocks(out, seed, first, count, size):
    """How many of the documents of each draw are in each block of `size`, of `count` in all."""
    for row in range(out.shape[0]):
        state = _stream(seed, first + row, -1)
        for _ in range(count):
            state += _STEP
            out[row, (((_mixed(state) >> _HALF) * np.uint64(count)) >> _HALF) // size] += 1


@numba.njit(cache=True)
def fill_swaps(out, seed, first, begin):
    """Zeros and ones for the documents from number `begin`, a multiple of 64, on."""
    for row in range(out.shape[0]):
        for word in range((out.shape[1] + 63) // 64):
            bits = _stream(seed, first + row, begin // 64 + word)
            for at in range(word * 64, min(word * 64 + 64, out.shape[1])):
                out[row, at] = bits & np.uint64(1)
                bits >>= np.uint64(1)
