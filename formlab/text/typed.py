"""Strict parsers of typed values: one canonical value for many ways to write it, or None.

A parser reads the whole string or nothing ("12 apples" is no number), and only the digits 0-9.
dateutil, babel and price-parser guess one reading; here a date has all its readings, or none.
"""

from __future__ import annotations

import re
from datetime import date as Date  # noqa: N812 - the parser below is called `date`
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from formlab.text.normalise import LADDER_STEPS, normalise

# No amount or date on a form is longer; the bounds keep the cost low on hostile input.
_LONGEST = 64
_LONGEST_LIST = 10_000
# How many short texts are remembered, with what they were read as.
_KEPT = 1 << 14

_SIGNED = re.compile(
    r"(?P<open>\( ?)?(?P<sign>[-+] ?)?(?P<body>[0-9.,' ]*[0-9])"
    r"(?P<trail> ?-)?(?P<percent> ?%)?(?P<close> ?\))?"
)
_LEAD = "[1-9][0-9]{0,2}"
# Each has two groups, the whole part and the decimals.
_BODIES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"({_LEAD}(?:,[0-9]{{3}})+)(?:\.([0-9]+))?",
        rf"({_LEAD}(?:\.[0-9]{{3}})+),([0-9]+)",
        rf"({_LEAD}(?:\.[0-9]{{3}}){{2,}})()",
        rf"({_LEAD}(?:[ '][0-9]{{3}})+)(?:[.,]([0-9]+))?",
        r"([0-9]*)[.,]([0-9]+)",
        r"([0-9]+)()",
    )
)
_NO_DIGIT = str.maketrans("", "", ",.' ")

_CURRENCIES = {
    "$": "USD", "us$": "USD", "usd": "USD", "a$": "AUD", "aud": "AUD", "c$": "CAD", "ca$": "CAD",
    "cad": "CAD", "s$": "SGD", "sgd": "SGD", "hk$": "HKD", "hkd": "HKD", "€": "EUR", "eur": "EUR",
    "£": "GBP", "gbp": "GBP", "¥": "JPY", "jpy": "JPY", "cny": "CNY", "rmb": "CNY", "₹": "INR",
    "rs": "INR", "rs.": "INR", "inr": "INR", "rm": "MYR", "myr": "MYR", "₩": "KRW", "krw": "KRW",
    "chf": "CHF", "sek": "SEK", "nok": "NOK", "dkk": "DKK", "mxn": "MXN",
}  # fmt: skip
_ANY_CURRENCY = "|".join(re.escape(sign) for sign in sorted(_CURRENCIES, key=len, reverse=True))
_MONEY = re.compile(
    rf"(?P<head>[-+(]* ?)(?P<before>{_ANY_CURRENCY})? ?(?P<rest>[^%]*?) ?"
    rf"(?P<after>{_ANY_CURRENCY})?(?P<tail> ?[-)]*)"
)

MONTH_NAMES = (
    "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul",
    "august aug", "september sept sep", "october oct", "november nov", "december dec",
)  # fmt: skip
_MONTHS = {
    name: number for number, names in enumerate(MONTH_NAMES, start=1) for name in names.split()
}
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? )?"
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})\.?"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th|\.)?"
_YEAR = r"'?(?P<year>[0-9]{4}|[0-9]{2})"
_WRITTEN = (
    re.compile(rf"{_WEEKDAY}{_MONTH}[ -]?{_DAY}(?: ?, ?|[ -]){_YEAR}"),
    re.compile(rf"{_WEEKDAY}(?:the )?{_DAY}(?: of |[ -])?{_MONTH}(?: ?, ?|[ -])?{_YEAR}"),
)
_YEAR_FIRST = re.compile(
    r"(?P<year>[0-9]{4})(?:(?P<mark>[-/.])(?P<month>[0-9]{1,2})(?P=mark)(?P<day>[0-9]{1,2})"
    r"|(?P<month_2>[0-9]{2})(?P<day_2>[0-9]{2}))"
)
_NUMERIC = re.compile(rf"([0-9]{{1,2}}) ?([-/.]) ?([0-9]{{1,2}}) ?\2 ?{_YEAR}")

_ITEM = re.compile(r"""(?:"[^"]*"|'[^']*'(?=\s*(?:[,;|\n]|$))|[^,;|\n])+""")
_LONG_ITEM = re.compile(_ITEM.pattern.replace("|[^,;", "|[^;"))
_BULLET = re.compile(r"^(?:[-*•☑☒✓✔]|\[x\])\s+", re.IGNORECASE)
_BRACKETS = ("[]", "()", "{}")
_YES = ("yes", "y", "true", "on", "1", "x", "checked", "selected", "✓", "✔", "☑", "☒", "[x]", "(x)")
_NO = ("no", "n", "false", "off", "0", "unchecked", "unselected", "☐", "[]", "()")
_CHECKED = dict.fromkeys(_YES, True) | dict.fromkeys(_NO, False)

_INITIAL_DOT = re.compile(r"(?<=\b[^\W\d_])\.(?=[^\W\d_]\b)")
_WORD = re.compile(r"[^\W_]+")
_SHORT = {
    "street": "st", "avenue": "ave", "av": "ave", "road": "rd", "boulevard": "blvd",
    "drive": "dr", "lane": "ln", "court": "ct", "place": "pl", "square": "sq", "highway": "hwy",
    "parkway": "pkwy", "terrace": "ter", "circle": "cir", "suite": "ste", "apartment": "apt",
    "floor": "fl", "building": "bldg", "room": "rm", "north": "n", "south": "s", "east": "e",
    "west": "w", "northeast": "ne", "northwest": "nw", "southeast": "se", "southwest": "sw",
    "saint": "st", "mount": "mt", "jalan": "jln", "lorong": "lrg", "taman": "tmn",
}  # fmt: skip


class Money(NamedTuple):
    """An amount and its ISO 4217 currency, None where the text states none."""

    amount: Decimal
    currency: str | None


def _clean(text: str) -> str:
    # What is too long is no value, and the empty string is none either.
    return _plain(text) if len(text) <= _LONGEST else ""


# A text is tried as a number, as an amount and as a date, in the ladder and again for its cause.
@lru_cache(maxsize=_KEPT)
def _plain(text: str) -> str:
    return normalise(text, LADDER_STEPS)


def number(text: str) -> Decimal | None:
    """The number that `text` writes, or None.

    Thousands are grouped in threes by comma, dot, space or apostrophe. One comma with three
    digits behind it groups (1,234 is 1234; 0,234 is not grouped); one dot is always decimal.
    Brackets, a leading or a trailing minus negate, one of them at most; per cent divides by 100.

    Examples
    --------
    >>> [str(number(text)) for text in ("1,234.56", "1.234,56", "1 234,56", "(5.0)", "7-", "12%")]
    ['1234.56', '1234.56', '1234.56', '-5.0', '-7', '0.12']
    >>> number("12 apples"), number("1,23,4")
    (None, None)
    """
    return _number(_clean(text))


@lru_cache(maxsize=_KEPT)
def _number(cleaned: str) -> Decimal | None:
    match = _SIGNED.fullmatch(cleaned)
    if match is None or (match["open"] is None) != (match["close"] is None):
        return None
    if sum(match[mark] is not None for mark in ("open", "sign", "trail")) > 1:
        return None
    body = next((parts for pattern in _BODIES if (parts := pattern.fullmatch(match["body"]))), None)
    if body is None:
        return None
    negative = match["open"] or match["trail"] or (match["sign"] or "").startswith("-")
    whole, decimals = body[1].translate(_NO_DIGIT), body[2] or ""
    # Written out, not divided: arithmetic would round to 28 digits.
    exponent = -2 if match["percent"] else 0
    return Decimal(f"{'-' if negative else ''}{whole}.{decimals}E{exponent}")


def money(text: str) -> Money | None:
    """The amount and currency that `text` writes, or None.

    The amount is as `number` reads it, without per cent. The currency may stand on either side;
    a bare $ counts as US dollars, ¥ as yen, Rs as Indian rupees.

    Examples
    --------
    >>> money("($1,200.50)")
    Money(amount=Decimal('-1200.50'), currency='USD')
    >>> money("9,90 EUR").currency, money("3.50").currency, money("5 pears")
    ('EUR', None, None)
    """
    return _money(_clean(text))


@lru_cache(maxsize=_KEPT)
def _money(cleaned: str) -> Money | None:
    match = _MONEY.fullmatch(cleaned)
    amount = number(match["head"] + match["rest"] + match["tail"]) if match else None
    if match is None or amount is None:
        return None
    stated = {_CURRENCIES[sign] for sign in (match["before"], match["after"]) if sign}
    return Money(amount, next(iter(stated), None)) if len(stated) < 2 else None


def day_of(year: str, month: str | int, day: str) -> Date | None:
    """The date of these numbers, if there is one; years of two digits are 1969 to 2068."""
    full = int(year)
    if len(year) == 2:
        full += 2000 if full < 69 else 1900
    try:
        return Date(full, int(month), int(day))
    except ValueError:
        return None


def date_readings(text: str) -> tuple[Date | None, Date | None]:
    """The date that `text` is when read month first, and when read day first.

    Both are the same where the notation leaves no choice; see `date`.

    Examples
    --------
    >>> [str(day) for day in date_readings("7/1/22")]
    ['2022-07-01', '2022-01-07']
    """
    return _date_readings(_clean(text))


@lru_cache(maxsize=_KEPT)
def _date_readings(cleaned: str) -> tuple[Date | None, Date | None]:
    if match := _YEAR_FIRST.fullmatch(cleaned):
        month, day = match["month"] or match["month_2"], match["day"] or match["day_2"]
        return (day_of(match["year"], month, day),) * 2
    for pattern in _WRITTEN:
        if match := pattern.fullmatch(cleaned):
            return (day_of(match["year"], _MONTHS[match["month"]], match["day"]),) * 2
    if not (match := _NUMERIC.fullmatch(cleaned)):
        return None, None
    first, mark, second = match[1], match[2], match[3]
    month_first = day_of(match["year"], first, second)
    day_first = day_of(match["year"], second, first)
    # Dots mean day first wherever that is possible.
    return (day_first or month_first, day_first) if mark == "." else (month_first, day_first)


def date(text: str) -> frozenset[Date] | None:
    """Every date that `text` can mean, or None if it is no date.

    Read are year first (2022-07-01, 2022/7/1, 20220701), day and month with a written month
    (Jul 1, 2022; 1 July 2022; 01-JUL-22), d.m.y, and numbers between slashes or hyphens, which
    may put month or day first: two dates unless one is impossible or both are the same. A year of
    two digits below 69 is in the 2000s, else in the 1900s, as POSIX has it.

    Examples
    --------
    >>> [str(day) for day in sorted(date("7/1/22"))]
    ['2022-01-07', '2022-07-01']
    >>> date("July 1, 2022") == date("01.07.2022") == date("2022-07-01"), date("July 2022")
    (True, None)
    """
    readings = frozenset(date_readings(text)) - {None}
    return readings or None


def choices(text: str, *, commas: bool = True) -> frozenset[str] | None:
    """The set of options in a list-like string, or None if it is blank.

    Options stand between commas, semicolons, bars or line ends, in brackets and quotes or not,
    with bullets or not, in any order; a quoted option keeps its commas. Each is normalised.
    Without `commas` a comma separates only within square brackets, as in a JSON list.

    Examples
    --------
    >>> choices('["Tea", "Milk, cold"]') == choices("- “milk, cold”; tea")
    True
    >>> sorted(choices("Tea"))
    ['tea']
    """
    text = text.strip()
    if not text or len(text) > _LONGEST_LIST:
        return None
    commas = commas or text[0] + text[-1] == "[]"
    if text[0] + text[-1] in _BRACKETS:
        text = text[1:-1]
    options = set()
    for item in (_ITEM if commas else _LONG_ITEM).findall(normalise(text, ["quotes"])):
        option = _BULLET.sub("", item.strip())
        if len(option) > 1 and option[0] == option[-1] and option[0] in "'\"":
            option = option[1:-1]
        options.add(normalise(option, LADDER_STEPS))
    return frozenset(options - {""})


def checked(text: str) -> bool | None:
    """Whether a check box is ticked by `text` (yes, true, on, 1, x, ☑ …), or None.

    Examples
    --------
    >>> checked("X"), checked("false"), checked("maybe")
    (True, False, None)
    """
    return _CHECKED.get(_clean(text).replace(" ", ""))


def address(text: str) -> tuple[str, ...] | None:
    """The words and numbers of an address, street words shortened, or None if there are none.

    Case, punctuation and line breaks do not count; order does.

    Examples
    --------
    >>> address("12 North Main Street,\\nSuite 4") == address("12 N. Main St., Ste. 4")
    True
    """
    if len(text) > _LONGEST_LIST:
        return None
    cleaned = _INITIAL_DOT.sub("", normalise(text, LADDER_STEPS)).replace("'", "")
    return tuple(_SHORT.get(word, word) for word in _WORD.findall(cleaned)) or None
