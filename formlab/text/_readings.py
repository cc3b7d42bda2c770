"""How values of each kind are read from a text, and when two readings are the same value."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from formlab.text.typed import Money, address, checked, choices, date_readings, money, number

_DIGIT = re.compile("[0-9]")
# 007 and 7 are one number and two codes; without a stated kind a code is assumed.
_CODE = re.compile(r"0[0-9]+")


def _same_money(one: Money, other: Money) -> bool:
    # A form often prints the currency in its label, so a value may leave it out.
    alike = one.currency == other.currency or None in (one.currency, other.currency)
    return alike and one.amount == other.amount


def _read_date(text: str) -> tuple[object, object] | None:
    readings = date_readings(text)
    return None if readings == (None, None) else readings


def _same_date(ours: tuple[object, object], theirs: tuple[object, object]) -> bool:
    if _ambiguous(ours) and _ambiguous(theirs):
        # Both written day and month in numbers: 1/2/22 and 2/1/22 share no reading.
        return ours == theirs
    return bool((set(ours) & set(theirs)) - {None})


def _ambiguous(readings: tuple[object, object]) -> bool:
    return None not in readings and readings[0] != readings[1]


def _read_choices(text: str) -> tuple[bool | None, frozenset[str] | None] | None:
    box, options = checked(text), choices(text)
    return None if box is options is None else (box, options)


def _same_choices(
    ours: tuple[bool | None, frozenset[str] | None],
    theirs: tuple[bool | None, frozenset[str] | None],
) -> bool:
    if ours[0] is not None and theirs[0] is not None:
        return ours[0] == theirs[0]
    return ours[1] is not None and ours[1] == theirs[1]


def _read_any(text: str) -> tuple[Any, ...] | None:
    if not _DIGIT.search(text) or _CODE.fullmatch(text.strip()):
        return None
    readings = tuple(reading.read(text) for reading in _GUESSES)
    return None if readings == (None,) * len(readings) else readings


def _same_any(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    return any(
        None not in (one, other) and reading.same(one, other)
        for reading, one, other in zip(_GUESSES, ours, theirs, strict=True)
    )


class Reading(NamedTuple):
    """How values of a kind are read, None being none of it, and when two readings are the same."""

    read: Callable[[str], Any]
    same: Callable[[Any, Any], bool]

    def __call__(self, gold: str, pred: str) -> bool:
        """Whether two texts are the same value."""
        one, other = self.read(gold), self.read(pred)
        return one is not None and other is not None and self.same(one, other)


_GUESSES = (
    Reading(number, operator.eq), Reading(money, _same_money), Reading(_read_date, _same_date),
)  # fmt: skip
_GUESS = Reading(_read_any, _same_any)
_CHOICES = Reading(_read_choices, _same_choices)
_KINDS = dict(zip(("number", "money", "date"), _GUESSES, strict=True))
_KINDS |= dict.fromkeys(("choice", "checkbox", "radio", "dropdown"), _CHOICES)
_KINDS |= {"address": Reading(address, operator.eq)}


def reading(kind: str | None) -> Reading:
    """How values of `kind` are read; of any other kind and None, as what their digits say."""
    return _KINDS.get(kind, _GUESS)
