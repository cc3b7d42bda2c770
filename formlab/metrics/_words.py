"""The words of texts as each text metric defines them, and what two texts have in common."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import threading
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, count
from pathlib import Path
from types import ModuleType

import numpy as np

from formlab.metrics._spec import as_many

# Characters held at once; a longer pair makes a chunk of its own.
_CHUNK = 1 << 19
_ONE_AT_A_TIME = threading.Lock()
_ALPHANUMERIC = re.compile("[a-z0-9]+")
# What mteval-v13a may set apart from words: all ASCII punctuation but the apostrophe, and but
# one sign of a number alone.
_SIGNS = re.compile(r"[!-&(-/:-@\[-`{-~](?<![0-9][.,](?=[0-9]))[!-&(-/:-@\[-`{-~]*")
_DIGITS = frozenset("0123456789")
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
# Texts whose words are counted at once.
_MANY = 1 << 12
Numbers = Sequence[Sequence[int]]
Words = Callable[[list[str]], Iterable[list[str]]]


def alike_or_not(golds: Sequence[str], preds: Sequence[str]) -> tuple[list[int], list[int]]:
    """The pairs whose texts are equal, and the others, by their places."""
    as_many(golds, preds)
    places: tuple[list[int], list[int]] = ([], [])
    for row, (gold, pred) in enumerate(zip(golds, preds, strict=True)):
        places[gold != pred].append(row)
    return places


def lengths(texts: Sequence[str], words: Words) -> np.ndarray:
    """How many words each text has."""
    slices = (texts[start : start + _MANY] for start in range(0, len(texts), _MANY))
    counts = chain.from_iterable(map(len, words(some)) for some in slices)
    return np.fromiter(counts, dtype=np.int64, count=len(texts))


def chunks(
    golds: Sequence[str], preds: Sequence[str], words: Words, places: Sequence[int] | None = None
) -> Iterator[tuple[Sequence[int], Numbers, Numbers]]:
    """The words of gold and predicted texts as numbers, in chunks of bounded length.

    Equal words have equal numbers, and nothing else has; equal texts of a chunk are one array. In
    chunks, memory does not grow with the number of texts. Each chunk is of some of the `places`, or
    of all.
    """
    as_many(golds, preds)
    places = range(len(golds)) if places is None else places
    start, size = 0, 0
    for end, row in enumerate(places, start=1):
        size += len(golds[row]) + len(preds[row])
        if size >= _CHUNK or end == len(places):
            rows = places[start:end]
            texts = list(dict.fromkeys(side[row] for side in (golds, preds) for row in rows))
            number = defaultdict(count().__next__).__getitem__
            # Arrays, not lists: half a million lists keep the garbage collector busy.
            known = (array("l", map(number, found)) for found in words(texts))
            numbers = dict(zip(texts, known, strict=True))
            yield rows, *([numbers[side[row]] for row in rows] for side in (golds, preds))
            start, size = end, 0


def split(texts: list[str]) -> Iterator[list[str]]:
    """Words between white space."""
    return map(str.split, texts)


def alphanumeric(texts: list[str]) -> Iterator[list[str]]:
    """Runs of a to z and 0 to 9 in the lower-cased text: the words of ROUGE.

    Examples
    --------
    >>> list(alphanumeric(["To-be", "naïve"]))
    [['to', 'be'], ['na', 've']]
    """
    return (_ALPHANUMERIC.findall(text.lower()) for text in texts)


def stemmed(texts: list[str]) -> Iterator[list[str]]:
    """The Porter stems of the words of ROUGE."""
    return (list(map(_stem, words)) for words in alphanumeric(texts))


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    # ROUGE leaves words of three letters and fewer alone.
    return _stemmer().stem(word) if len(word) > 3 else word


@lru_cache(maxsize=1)
def _stemmer():
    with _ONE_AT_A_TIME:
        return (_porter if "nltk" in sys.modules else _porter_alone)().PorterStemmer()


def _porter() -> ModuleType:
    return importlib.import_module("nltk.stem.porter")


def _porter_alone() -> ModuleType:
    """The module without the rest of nltk, which takes more than a second to import."""
    folder = Path(importlib.util.find_spec("nltk").submodule_search_locations[0])
    try:
        # Empty packages stand in for the two that hold it meanwhile.
        for name, home in (("nltk", folder), ("nltk.stem", folder / "stem")):
            sys.modules[name] = ModuleType(name)
            sys.modules[name].__path__ = [str(home)]
        return _porter()
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "nltk"]:
            del sys.modules[name]


def mteval(texts: list[str]) -> Iterator[list[str]]:
    """The words of mteval-v13a, the default tokeniser of BLEU.

    Examples
    --------
    >>> list(mteval(["Pay $1,000.50, now."]))
    [['Pay', '$', '1,000.50', ',', 'now', '.']]
    """
    # All texts at once is faster; a line end is no part of any text here.
    whole = " \n ".join(["", *map(_mteval_clean, texts), ""])
    spaced = _SIGNS.sub(_spaced, whole)
    return map(str.split, spaced.split("\n")[1:-1])


def _spaced(signs: re.Match[str]) -> str:
    text, start, end = signs.string, signs.start(), signs.end()
    return _apart(signs[0], text[start - 1] in _DIGITS, text[end] in _DIGITS)


@lru_cache(maxsize=1 << 12)
def _apart(signs: str, after_digit: bool, before_digit: bool) -> str:
    """A run of signs with spaces around each that stands alone: the published substitutions.

    The one for a period or comma after a non-digit takes both characters at a time, so that of
    ".." before a digit only the first is set apart.
    """
    pieces, taken = [], False
    for number, sign in enumerate(signs, start=1):
        if sign in ".,":
            taken = not after_digit and not taken
            set_apart = taken or number < len(signs) or not before_digit
        else:
            taken, set_apart = False, sign != "-" or after_digit
        pieces.append(f" {sign} " if set_apart else sign)
        after_digit = False
    return "".join(pieces)


def _mteval_clean(text: str) -> str:
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in text:
        for entity, char in _ENTITIES:
            text = text.replace(entity, char)
    return text


def ngrams_in_common(golds: Numbers, preds: Numbers, longest: int = 1) -> np.ndarray:
    """N-grams that the texts of each pair share, with multiplicity; a column per order from 1.

    Examples
    --------
    >>> ngrams_in_common([[1, 2, 3, 2]], [[2, 3, 2, 2]], 2).tolist()
    [[3, 2]]
    """
    n = len(golds)
    lengths = np.array([len(words) for words in (*golds, *preds)], dtype=np.int64)
    words = np.fromiter(chain.from_iterable((*golds, *preds)), np.int64, lengths.sum())
    text = np.repeat(np.arange(2 * n), lengths)
    # Where each n-gram begins, and how many words its text has from there on.
    places, left = np.arange(len(words)), np.repeat(np.cumsum(lengths), lengths)
    left -= places
    # N-grams of one pair are numbered by those one word shorter and their last word.
    grams, different = text % max(n, 1), words.max(initial=0) + 1
    common = np.zeros((n, longest), dtype=np.int64)
    for size in range(1, longest + 1):
        places, grams = places[left[places] >= size], grams[left[places] >= size]
        keys = grams * different + words[places + size - 1]
        _, first, grams = np.unique(keys, return_index=True, return_inverse=True)
        ours = text[places] < n
        sides = (np.bincount(grams[side], minlength=len(first)) for side in (ours, ~ours))
        np.add.at(common[:, size - 1], text[places[first]] % max(n, 1), np.minimum(*sides))
    return common
