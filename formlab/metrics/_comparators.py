"""Comparators of values by type: as published for VRDU, and corrected.

A comparator reads a text as a key, each text once, and says of two keys whether they are the same.
"""

from __future__ import annotations

import datetime
import math
import operator
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

from formlab import text
from formlab.text.values import MONTH_NAMES, date_readings, day_of

# Published: addresses may differ in so many edits, prices by so much.
EDITS, CENT = 3, 0.01
_NOT_WORD = re.compile("[^0-9a-zA-Z]")
_NOT_DIGIT = re.compile("[^0-9]")
_NOT_PRICE = re.compile("[^0-9.]")
_NOT_DATE = re.compile(r"[^0-9a-zA-Z/\-,]")
_MONTH = {names.split()[0]: place for place, names in enumerate(MONTH_NAMES, start=1)}
_SHORT = {name[:3]: place for name, place in _MONTH.items()}
_MM, _DD = "(1[0-2]|0?[1-9])", "(3[01]|[12][0-9]|0?[1-9])"
_NUMERIC = re.compile(
    rf"{_MM}(?:/{_DD}(?:/([0-9]{{4}}|[0-9]{{2}}))?|-{_DD}-([0-9]{{4}}|[0-9]{{2}}))"
)
_SHORT_MONTH = re.compile(rf"({'|'.join(_SHORT)}){_DD}/([0-9]{{2}})", re.IGNORECASE)
_LONG_MONTH = re.compile(rf"({'|'.join(_MONTH)}){_DD},([0-9]{{4}})", re.IGNORECASE)
_YEAR_FIRST = re.compile(rf"([0-9]{{4}})/{_MM}/{_DD}")
_PLAIN_DATE = re.compile(r"([0-9]{1,2})([/-])([0-9]{1,2})\2([0-9]{4}|[0-9]{2})")
# What the strictest parser reads; a longer text is no date and no amount.
_LONGEST = 64
# The plainest amounts, which need no parser.
_PLAIN = re.compile(r"\$? ?(?:[0-9]+|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.[0-9]{1,2})?")
# How many values are known at once: values repeat.
_KNOWN = 2**17


def _itself(key: Hashable) -> tuple[Hashable, ...]:
    return (key,)


class Comparator(NamedTuple):
    """How values of one type are read, and when two of them are the same.

    `key` reads a value and which of day and month comes first, where that is known. Values that
    are the same have one of their `places` in common, so that not all pairs need be compared.
    """

    key: Callable[[str, str | None], Any]
    same: Callable[[Any, Any], bool] = operator.eq
    places: Callable[[Any], Iterable[Hashable]] = _itself


def squeeze(value: str) -> str:
    """`value` with each run of white space as one space, none at the ends."""
    return " ".join(value.split())


def _near(gold: str, pred: str) -> bool:
    return Levenshtein.distance(gold, pred, score_cutoff=EDITS) <= EDITS


def _anywhere(_key: str) -> tuple[Hashable, ...]:
    return ("",)


def _price(value: str, _order: str | None) -> float:
    try:
        return float(_NOT_PRICE.sub("", value))
    except ValueError:
        return float("nan")


def _signed_price(value: str, order: str | None) -> float:
    amount = None if _PLAIN.fullmatch(value) else text.money(value)
    return _price(value, order) if amount is None else float(amount.amount)


def _close(gold: float, pred: float) -> bool:
    # Two amounts too large for a float have no difference; they are not the same.
    return abs(gold - pred) <= CENT


def _cells(amount: float) -> Iterable[Hashable]:
    """Its cells of two grids, of which one holds any two amounts that are close."""
    wide = amount / (4 * CENT)
    return ((0, wide // 1), (1, (wide + 0.5) // 1)) if math.isfinite(amount) else ()


def published_date(value: str) -> datetime.date | None:
    """The date that the published evaluator reads in `value`; a missing year is 1900.

    Examples
    --------
    >>> [str(published_date(v)) for v in ("07/01/22", "Jul 1/22", "July 01, 2022", "2022-07-01")]
    ['2022-07-01', '2022-07-01', '2022-07-01', 'None']
    """
    if len(value) > 10 * _LONGEST:
        # White space and signs do not count, so a long text may still hold a date and no more.
        value = squeeze(value)
    kept = _NOT_DATE.sub("", value)
    if match := _NUMERIC.fullmatch(kept):
        month, day, year, other, late = match.groups()
        return day_of(year or late or "1900", month, day or other)
    if match := _YEAR_FIRST.fullmatch(kept):
        return day_of(match[1], int(match[2]), match[3])
    if match := _SHORT_MONTH.fullmatch(kept):
        return day_of(match[3], _SHORT[match[1].lower()], match[2])
    if match := _LONG_MONTH.fullmatch(kept):
        return day_of(match[3], _MONTH[match[1].lower()], match[2])
    return None


def _published_days(value: str, _order: str | None) -> tuple[Hashable, str]:
    day = published_date(value)
    # Day and month may be swapped, so only which two numbers they are counts.
    days = day and (day.year, frozenset((day.month, day.day)))
    return days, _NOT_WORD.sub("", value)


def _both_orders(value: str) -> tuple[datetime.date | None, datetime.date | None]:
    """The date that `value` is when read month first, and when read day first."""
    # Most dates look like this, and the full parser is slow.
    if match := _PLAIN_DATE.fullmatch(value):
        first, _, second, year = match.groups()
        return day_of(year, first, second), day_of(year, second, first)
    dates = date_readings(value)
    if dates != (None, None):
        return dates
    # What the published evaluator overlooks around a date does not make its order known.
    bare = _NOT_DATE.sub("", squeeze(value))
    return _both_orders(bare) if bare != value else (published_date(value),) * 2


_known_orders = lru_cache(_KNOWN)(_both_orders)


def _days(value: str, order: str | None) -> tuple[Hashable, str]:
    month_first, day_first = (_known_orders if len(value) < _LONGEST else _both_orders)(value)
    days = (month_first or day_first, day_first or month_first)
    if order is not None:
        days = (days[order != "month"],) * 2
    # What may be two dates is the same only as what may be the same two.
    return (days if days[0] else None), _NOT_WORD.sub("", value)


def _same_day(gold: tuple[Hashable, str], pred: tuple[Hashable, str]) -> bool:
    are_dates = gold[0] is not None and pred[0] is not None
    return gold[0] == pred[0] if are_dates else gold[1] == pred[1]


def _text(reduced: Callable[[str], str], **how: Any) -> Comparator:
    return Comparator(lambda value, _order: reduced(value), **how)


DEFAULT = "DefaultMatch"
PUBLISHED = {
    "DateMatch": Comparator(_published_days, _same_day, iter),
    "PriceMatch": Comparator(_price, _close, _cells),
    "AddressMatch": _text(squeeze, same=_near, places=_anywhere),
    "NumericalStringMatch": _text(lambda value: _NOT_DIGIT.sub("", value)),
    "NameMatch": _text(lambda value: "".join(value.split())),
    "GeneralStringMatch": _text(lambda value: _NOT_WORD.sub("", value)),
    DEFAULT: _text(squeeze),
}
FIXED = PUBLISHED | {
    "DateMatch": Comparator(_days, _same_day, iter),
    "PriceMatch": Comparator(_signed_price, _close, _cells),
}


def comparators(matches: Mapping[str, str], mode: str) -> Callable[[str], Comparator]:
    """The comparator of a name.

    `matches` has it by its published name; where it has none, or one that nobody knows, texts are
    compared, white space aside.
    """
    known = FIXED if mode == "fixed" else PUBLISHED
    return lambda name: known.get(matches.get(name, DEFAULT), known[DEFAULT])


def same_values(
    function: str,
    golds: Sequence[str],
    preds: Sequence[str],
    *,
    mode: str = "official",
    order: str | None = None,
) -> np.ndarray:
    """Which of n pairs of values are the same, shape (n,).

    `function` is a name as in VRDU's `meta.json`; an unknown one compares texts, white space
    aside. Mode ``fixed`` reads dates of all notations and keeps signs; `order` is then which of
    day and month comes first: if left out, 07/01/22 is the same only as what leaves that choice.

    Examples
    --------
    >>> golds, preds = ["$ 1,200.50", "(5.00)"], ["1200.50", "5.00"]
    >>> same_values("PriceMatch", golds, preds).tolist()
    [True, True]
    >>> same_values("PriceMatch", golds, preds, mode="fixed").tolist()
    [True, False]
    >>> days = (["07/01/22"], ["1 July 2022"])
    >>> [same_values("DateMatch", *days, mode="fixed", order=o).item() for o in (None, "month")]
    [False, True]
    """
    values = comparators({"": function}, mode)("")
    keys = ([values.key(value, order) for value in side] for side in (golds, preds))
    return np.array([values.same(*pair) for pair in zip(*keys, strict=True)], dtype=bool)
