"""Comparators of values by type: as published for VRDU, and corrected.

A value is read once into three numbers, so that any number of pairs compare as arrays. What is
compared as text is numbered: equal texts have equal numbers.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from formlab import text
from formlab.text.values import MONTH_NAMES, date_readings, day_of

# Published: addresses may differ in so many edits, prices by so much.
EDITS, CENT = 3, 0.01
NOT_WORD = re.compile("[^0-9a-zA-Z]")
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
_NONE = -1.0
# The plainest amounts, which need no parser.
_PLAIN = re.compile(r"\$? ?(?:[0-9]+|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.[0-9]{1,2})?")

Key = tuple[float, float, float]


class Codes:
    """Numbers texts, equal texts alike."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def __call__(self, value: str) -> float:
        return float(self._places.setdefault(value, len(self._places)))

    def texts(self) -> list[str]:
        """The texts, each at its number."""
        return list(self._places)


class Columns(NamedTuple):
    """The three numbers of the keys at some rows, gathered column by column as they are needed."""

    table: np.ndarray
    rows: np.ndarray | slice = slice(None)

    def __call__(self, column: int) -> np.ndarray:
        return self.table[column][self.rows]


def columns_of(keys: Sequence[Key]) -> np.ndarray:
    """Keys as a table of three rows, each of them contiguous."""
    return np.ascontiguousarray(np.asarray(keys, dtype=float).reshape(-1, 3).T)


class Comparator(NamedTuple):
    """One match function: reads a value, and tells for n pairs of keys which are the same.

    Where it is `ordered`, what a value means depends on which of day and month comes first.
    """

    read: Callable[..., Key]
    same: Callable[[Columns, Columns, Codes], np.ndarray]
    ordered: bool = False

    def key(self, value: str, codes: Codes, order: str | None = None) -> Key:
        """What `value` reads as."""
        return self.read(value, codes, order) if self.ordered else self.read(value, codes)


def _text(reduce: Callable[[str], str]) -> Callable[[str, Codes], Key]:
    return lambda value, codes: (codes(reduce(value)), 0.0, 0.0)


def _equal(gold: Columns, pred: Columns, _codes: Codes) -> np.ndarray:
    return gold(0) == pred(0)


def squeeze(value: str) -> str:
    """`value` with each run of white space as one space, none at the ends."""
    return " ".join(value.split())


def _near(gold: Columns, pred: Columns, codes: Codes) -> np.ndarray:
    pairs, places = np.unique(
        np.stack([gold(0), pred(0)], axis=1).astype(int), axis=0, return_inverse=True
    )
    texts = codes.texts()
    ours, theirs = ([texts[index] for index in side] for side in pairs.T)
    edits = process.cpdist(
        ours, theirs, scorer=Levenshtein.distance, score_cutoff=EDITS, dtype=np.int64, workers=1
    )
    return (edits <= EDITS)[places.reshape(-1)]


def _price(value: str, _codes: Codes) -> Key:
    return (_digits(value), 0.0, 0.0)


def _digits(value: str) -> float:
    try:
        return float(_NOT_PRICE.sub("", value))
    except ValueError:
        return np.nan


def _close(gold: Columns, pred: Columns, _codes: Codes) -> np.ndarray:
    # Two amounts too large for a float have no difference; they are not the same.
    with np.errstate(invalid="ignore"):
        return np.abs(gold(0) - pred(0)) <= CENT


def _signed_price(value: str, _codes: Codes) -> Key:
    amount = None if _PLAIN.fullmatch(value) else text.money(value)
    return (_digits(value) if amount is None else float(amount.amount), 0.0, 0.0)


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


def _published_date(value: str, codes: Codes) -> Key:
    day = published_date(value)
    plain = codes(NOT_WORD.sub("", value))
    if day is None:
        return (_NONE, 0.0, plain)
    # Day and month may be swapped, so only which two numbers they are counts.
    low, high = sorted((day.month, day.day))
    return (day.year * 10_000.0 + low * 100 + high, 0.0, plain)


def _same_published_date(gold: Columns, pred: Columns, _codes: Codes) -> np.ndarray:
    dates = (gold(0) != _NONE) & (pred(0) != _NONE)
    return np.where(dates, gold(0) == pred(0), gold(2) == pred(2))


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


def _any_date(value: str, codes: Codes, order: str | None) -> Key:
    month_first, day_first = _both_orders(value)
    first, other = month_first or day_first, day_first or month_first
    if order is not None:
        first = other = first if order == "month" else other
    days = (float(day.toordinal()) if day else _NONE for day in (first, other))
    return (*days, codes(NOT_WORD.sub("", value)))


def _same_any_date(gold: Columns, pred: Columns, _codes: Codes) -> np.ndarray:
    dates = (gold(0) != _NONE) & (pred(0) != _NONE)
    # What may be two dates is the same only as what may be the same two.
    return np.where(dates, (gold(0) == pred(0)) & (gold(1) == pred(1)), gold(2) == pred(2))


DEFAULT = "DefaultMatch"
PUBLISHED: dict[str, Comparator] = {
    "DateMatch": Comparator(_published_date, _same_published_date),
    "PriceMatch": Comparator(_price, _close),
    "AddressMatch": Comparator(_text(squeeze), _near),
    "NumericalStringMatch": Comparator(_text(lambda value: _NOT_DIGIT.sub("", value)), _equal),
    "NameMatch": Comparator(_text(lambda value: "".join(value.split())), _equal),
    "GeneralStringMatch": Comparator(_text(lambda value: NOT_WORD.sub("", value)), _equal),
    DEFAULT: Comparator(_text(squeeze), _equal),
}
FIXED: dict[str, Comparator] = PUBLISHED | {
    "DateMatch": Comparator(_any_date, _same_any_date, ordered=True),
    "PriceMatch": Comparator(_signed_price, _close),
}
MODES = {"official": PUBLISHED, "fixed": FIXED}


def same_values(
    function: str, golds: Sequence[str], preds: Sequence[str], *, mode: str = "official",
    order: str | None = None,
) -> np.ndarray:  # fmt: skip
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
    codes = Codes()
    match = MODES[mode].get(function, MODES[mode][DEFAULT])
    ours, theirs = (
        Columns(columns_of([match.key(value, codes, order) for value in side]))
        for side in (golds, preds)
    )
    return match.same(ours, theirs, codes)
