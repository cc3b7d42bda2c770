"""Parsers of values by kind of field, and when two parsed values are equal."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from formlab.text.typed import Money, address, checked, choices, date_readings, money, number

_DIGIT = re.compile("[0-9]")
# 007 and 7 are one number and two codes; without a stated kind a code is assumed.
_CODE = re.compile(r"0[0-9]+")


def _same_money(ours: Money, theirs: Money) -> bool:
    # A form often prints the currency in its label, so a value may leave it out.
    alike = ours.currency == theirs.currency or None in (ours.currency, theirs.currency)
    return alike and ours.amount == theirs.amount


def _read_date(text: str) -> tuple[object, object] | None:
    readings = date_readings(text)
    return None if readings == (None, None) else readings


def _read_date_as(order: str) -> Callable[[str], tuple[object, object] | None]:
    def read(text: str) -> tuple[object, object] | None:
        month_first, day_first = date_readings(text)
        first, other = (month_first, day_first) if order == "month" else (day_first, month_first)
        only = first or other
        return None if only is None else (only, only)

    return read


def _same_date(ours: tuple[object, object], theirs: tuple[object, object]) -> bool:
    # 1/2/22 may be two dates: only another that may be the same two is surely equal.
    return _known(ours) == _known(theirs)


def _known(readings: tuple[object, object]) -> tuple[object, object]:
    month_first, day_first = readings
    return (month_first or day_first, day_first or month_first)


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


class Parser(NamedTuple):
    """How values of a kind are read, None being none of it, and when two readings are the same."""

    read: Callable[[str], Any]
    same: Callable[[Any, Any], bool]

    def __call__(self, gold: str, pred: str) -> bool:
        """Whether two texts are the same value."""
        ours, theirs = self.read(gold), self.read(pred)
        return ours is not None and theirs is not None and self.same(ours, theirs)


def _guess(date: Parser) -> Parser:
    """A number, an amount or a date, whichever both texts are."""
    guesses = (_NUMBER, _MONEY, date)

    def read(text: str) -> tuple[Any, ...] | None:
        if not _DIGIT.search(text) or _CODE.fullmatch(text.strip()):
            return None
        readings = tuple(guess.read(text) for guess in guesses)
        return None if readings == (None,) * len(readings) else readings

    def same(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
        return any(
            None not in (mine, yours) and guess.same(mine, yours)
            for guess, mine, yours in zip(guesses, ours, theirs, strict=True)
        )

    return Parser(read, same)


_NUMBER, _MONEY = Parser(number, operator.eq), Parser(money, _same_money)
_CHOICES = Parser(_read_choices, _same_choices)
_KINDS = {"number": _NUMBER, "money": _MONEY, "address": Parser(address, operator.eq)}
_KINDS |= dict.fromkeys(("choice", "checkbox", "radio", "dropdown"), _CHOICES)
# By which of day and month comes first; `either` lets any reading of a date count.
_DATES = {
    None: Parser(_read_date, _same_date),
    "day": Parser(_read_date_as("day"), _same_date),
    "month": Parser(_read_date_as("month"), _same_date),
    "either": Parser(_read_date, lambda ours, theirs: bool((set(ours) & set(theirs)) - {None})),
}
_GUESSES = {order: _guess(date) for order, date in _DATES.items()}


def parser_for(kind: str | None, order: str | None = None) -> Parser:
    """How values of `kind` are read; of any other kind and None, as what their digits say."""
    if kind == "date":
        return _DATES[order]
    return _KINDS.get(kind) or _GUESSES[order]


def swapped(gold: str, pred: str, kind: str | None) -> bool:
    """Whether two texts may be one date, if each may have day or month first."""
    return kind not in _KINDS and _DATES["either"](gold, pred)
