"""Pairs what people write with the fields and the options of a page."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np
from rapidfuzz import fuzz
from scipy.optimize import linear_sum_assignment

# Below this two labels are not the same: “First name” and “Last name” have 71.
_LIKE = 80.0
# The same text as written; the same words. No sum of likenesses counts as much.
_SAME, _EQUAL = 1e8, 1e5
# A label with more words around it.
_WITHIN = 90.0
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORDS = re.compile(r"[^\W_]+")
_YES = ("yes", "true", "on", "1", "checked", "i agree")
_NO = ("no", "false", "off", "0", "unchecked")


@functools.lru_cache(maxsize=8192)
def words(label: str) -> tuple[str, ...]:
    """The words of a label or of a name such as ``firstName``.

    Examples
    --------
    >>> words("E-mail address: *"), words("guest[firstName]")
    (('e', 'mail', 'address'), ('guest', 'first', 'name'))
    """
    plain = unicodedata.normalize("NFKC", label[:300])
    return tuple(word.casefold() for word in _WORDS.findall(_CAMEL.sub(" ", plain)))


@functools.lru_cache(maxsize=65536)
def likeness(first: str, second: str) -> float:
    """How alike two labels are: 0 to 100, more for equal words and most for the same text.

    Examples
    --------
    >>> likeness("Email", "Your e-mail address") > 80 > likeness("First name", "Last name")
    True
    """
    if first == second:
        return _SAME
    short, long = sorted((words(first), words(second)), key=lambda label: len("".join(label)))
    if not short:
        return 0.0
    letters = "".join(short)
    if letters == "".join(long):
        return _EQUAL
    within = set(short) <= set(long) or re.search(rf"\b{' ?'.join(letters)}\b", " ".join(long))
    return max(fuzz.ratio(letters, "".join(long)), _WITHIN if within else 0.0)


def pair(keys: Sequence[str], fields: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The field of each key, by the names and labels of each field: the best pairs overall.

    No field is paired twice. A key that is as like a second field as the one it would have is
    left out, unless its text or its words are the same: then it has the first.

    Examples
    --------
    >>> fields = {"q1": ("First name",), "q2": ("Last name", "surname"), "q3": ("Phone",)}
    >>> pair(["Last name *", "first_name", "Town"], fields)
    {'Last name *': 'q2', 'first_name': 'q1'}
    >>> pair(["Name"], fields)
    {}
    """
    names = list(fields)
    if not keys or not names:
        return {}
    scores = np.array(
        [[max([likeness(key, label) for label in fields[name]], default=0.0) for name in names]
         for key in keys]
    )  # fmt: skip
    scores[scores < _LIKE] = 0
    rows, columns = linear_sum_assignment(-scores)
    matched = scores[rows, columns] > 0
    free = sorted(set(range(len(names))) - set(columns[matched].tolist()))
    return {
        keys[row]: names[column]
        for row, column in zip(rows[matched].tolist(), columns[matched].tolist(), strict=True)
        if scores[row, column] >= _EQUAL or not (scores[row, free] >= scores[row, column]).any()
    }


def option(value: str | bool, options: Sequence[str]) -> int | None:
    """Which option is meant by a value: the same text, the same words, or the only likeness.

    Yes and no choose what says so.

    Examples
    --------
    >>> option("C", ["C++", "C"]), option("medium", ["Small (S)", "Medium (M)"]), option("X", ["Y"])
    (1, 1, None)
    >>> option(True, ["No, thanks", "Yes"])
    1
    """
    if isinstance(value, bool):
        known = [option(word, options) for word in (_YES if value else _NO)]
        return next((number for number in known if number is not None), None)
    plain = [text.strip().casefold() for text in options]
    if value in options:
        return list(options).index(value)
    if value.strip().casefold() in plain:
        return plain.index(value.strip().casefold())
    chosen = pair([value], {str(number): (text,) for number, text in enumerate(options)})
    return int(chosen[value]) if chosen else None


def truth(value: str) -> bool | None:
    """Whether a text says yes or no; None for any other.

    Examples
    --------
    >>> truth("Yes"), truth("off"), truth("Oslo")
    (True, False, None)
    """
    plain = value.strip().casefold()
    return True if plain in _YES else False if plain in _NO else None
