"""Random draws and swaps of documents: each is keyed by what is drawn, not by its turn.

The numbers are those of splitmix64 (G. L. Steele, D. Lea and C. H. Flood, OOPSLA 2014), so that
they are the same in every process and on every machine. In numpy, since loading compiled functions
takes longer than the draws of a hundred thousand documents.
"""

from __future__ import annotations

import numpy as np

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS, _LAST = (np.uint64(30), np.uint64(27)), np.uint64(31)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
# How many numbers are made at a time: they stay in a fast memory.
_PIECE = 1 << 13


def _mixed(x: np.ndarray) -> np.ndarray:
    """Random numbers of `x`, in its place."""
    upper = np.empty_like(x)
    for shift, factor in zip(_SHIFTS, _FACTORS, strict=True):
        x ^= np.right_shift(x, shift, out=upper)
        x *= factor
    x ^= np.right_shift(x, _LAST, out=upper)
    return x


def _streams(seed: int, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Where the numbers of each key begin; `first` and `second` are broadcast."""
    key = _mixed(np.array(seed, dtype=np.int64).astype(np.uint64)[None] + _STEP)
    for part in (first, second):
        key = _mixed(key ^ (part.astype(np.uint64) + _STEP))
    return key


def _rows(out: np.ndarray, first: int) -> np.ndarray:
    return np.arange(first, first + len(out), dtype=np.int64)


def fill_draws(out: np.ndarray, seed: int, first: int, block: int, numbers: np.ndarray) -> None:
    """How often each document of a block is in each draw from number `first` on.

    `out` has the shape (draws, documents); `numbers` says how many documents of the block are in
    each draw.
    """
    size = np.uint64(out.shape[1])
    states = _streams(seed, _rows(out, first), np.array([block]))
    most = int(numbers[: len(out)].max(initial=0))
    steps = np.arange(1, most // 2 + 2, dtype=np.uint64) * _STEP
    if most <= _PIECE // 4 and (numbers[: len(out)] == most).all():
        _fill_small(out, states, steps, most)
        return
    random, places = np.empty_like(steps), np.empty(2 * len(steps), dtype=np.uint64)
    for row, state in enumerate(states[:, None]):  # An array of one may overflow.
        # Two places of each random number.
        number = int(numbers[row])
        half = number - number // 2
        drawn = _mixed(np.add(steps[:half], state, out=random[:half]))
        own = places[:number]
        np.right_shift(drawn, _HALF, out=own[:half])
        np.bitwise_and(drawn[: number // 2], _LOW, out=own[half:])
        own *= size
        own >>= _HALF
        out[row] = np.bincount(own.view(np.int64), minlength=out.shape[1])


def _fill_small(out: np.ndarray, states: np.ndarray, steps: np.ndarray, number: int) -> None:
    """As `fill_draws`, several draws at a time of equally many documents each, which are few."""
    half, size = number - number // 2, np.uint64(out.shape[1])
    several = max(1, _PIECE // max(number, 1))
    for begin in range(0, len(out), several):
        part = out[begin : begin + several]
        drawn = _mixed(states[begin : begin + several, None] + steps[:half])
        places = np.concatenate([drawn >> _HALF, drawn[:, : number // 2] & _LOW], axis=1)
        places *= size
        places >>= _HALF
        places += np.arange(len(part), dtype=np.uint64)[:, None] * size
        counts = np.bincount(places.view(np.int64).ravel(), minlength=part.size)
        part[:] = counts.reshape(part.shape)


def fill_blocks(out: np.ndarray, seed: int, first: int, count: int, size: int) -> None:
    """How many of the documents of each draw are in each block of `size`, of `count` in all."""
    states = _streams(seed, _rows(out, first), np.array([-1]))
    steps = np.arange(1, _PIECE + 1, dtype=np.uint64) * _STEP
    for row, state in enumerate(states[:, None]):
        for begin in range(0, count, _PIECE):
            random = _mixed(steps[: count - begin] + state)
            state += steps[-1:]
            places = ((random >> _HALF) * np.uint64(count)) >> _HALF
            blocks = (places // np.uint64(size)).view(np.int64)
            out[row] += np.bincount(blocks, minlength=out.shape[1])


def fill_swaps(out: np.ndarray, seed: int, first: int, begin: int) -> None:
    """Zeros and ones for the documents from number `begin`, a multiple of 64, on."""
    words = np.arange((out.shape[1] + 63) // 64) + begin // 64
    bits = _streams(seed, _rows(out, first)[:, None], words).astype("<u8").view(np.uint8)
    out[:] = np.unpackbits(bits, axis=1, bitorder="little", count=out.shape[1])
