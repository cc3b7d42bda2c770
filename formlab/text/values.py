"""Strict parsers of typed values: one canonical value for many ways to write it, or None.

A parser reads the whole string or nothing ("12 apples" is no number). Digits of every script count,
as do currencies and months of 60 languages that babel knows (`local_words.json`). dateutil and
price-parser guess one reading; here a date has all its readings, or none.
"""

import json
import math
import re
import unicodedata
from contextlib import suppress
from datetime import date as Date  # noqa: N812 - the parser below is called `date`
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from formlab.text.normalise import LADDER_STEPS, WORDS, normalise

# No amount or date on a form is longer; the bounds keep the cost low on hostile input.
_LONGEST, _LONGEST_LIST = 64, 10_000
# Named in the settings of scores that compare values as parsed.
VALUE_RULE = "currency=where both name one|century=document,else either"
# What people and models write where there is no value; what stands around it, or alone for it.
NULL_WORDS = tuple(WORDS["nothing"].split("|"))
_NULL_SET, _NOTHING = {*NULL_WORDS, ""}, " ()[]{}<>\"'.…?_"

_LETTER, _DIGIT, _CENTS = map(re.compile, (r"[^\W\d_]", r"\d", "[.,][0-9]{2}$"))
_CLOCK = re.compile("[:z]|t0000")  # Without these no time stands in a date.
_ARABIC_SIGNS = {0x066A: "%", 0x066B: ".", 0x066C: ","}
_AMOUNT = {
    name: re.compile(form.replace("{percent}", WORDS["percent"]).replace("{sign}", WORDS["sign"]))
    for name, form in WORDS["amounts"].items()
}
_BODY, _GROUPING = re.compile("|".join(WORDS["numbers"])), str.maketrans("", "", ",.' ")
_CURRENCIES = {sign: code for code, signs in WORDS["currencies"].items() for sign in signs.split()}
_SCALES = {word: int(n) for n, words in WORDS["scales"].items() for word in words.split()}
_PERCENT = re.compile(WORDS["percent"])
_SCALE = re.compile(rf"(?<=[0-9]) ?({'|'.join(_SCALES)})(?!\w)\.?")

MONTHS = {name: n for n, of in enumerate(WORDS["months"], start=1) for name in of.split()}
_DATES = WORDS["dates"]
_PARTS = _DATES["parts"] | {"month": rf"(?P<month>{'|'.join(MONTHS)})\.?"}
_NUMERIC, _NUMBERED, _WORDED = (
    [re.compile(form % _PARTS) for form in _DATES[kind]]
    for kind in ("numeric", "numbered", "worded")
)
_WORDED += [re.compile(form % (_PARTS | _DATES["other_languages"])) for form in _DATES["worded"]]
_BOXED, _UNIX, _DAY_NAME, _MIDNIGHT, _TIME, _NO_DATE = map(re.compile, _DATES["marks"].values())

_ITEM, _LONG_ITEM, _BULLET, _BOX, _OPTION = map(re.compile, WORDS["choices"].values())
_STATES = {word: of == "ticked" for of in ("ticked", "unticked") for word in WORDS[of].split()}


class Moment(NamedTuple):
    """A month, or a date with hours, minutes and seconds; what is not stated of it is 0."""

    year: int
    month: int
    day: int = 0
    time: tuple[int, ...] = ()


# What a date of one order may be: more than one where its year has two digits.
Days = tuple[Date | Moment, ...]


class Money(NamedTuple):
    """An amount and its ISO 4217 currency: None if none is stated, several of a sign such as kr."""

    amount: Decimal
    currency: str | None


# A text is tried as a number, as an amount and as a date, in the ladder and for its cause.
_parser = lru_cache(maxsize=1 << 14)


@_parser
def _plain(text: str) -> str:
    # A text that is too long is read as an empty one.
    plain = normalise(text, LADDER_STEPS) if len(text) <= _LONGEST else ""
    if plain.isascii():
        return plain
    digits = (unicodedata.decimal(char, char) for char in plain)
    return "".join(map(str, digits)).translate(_ARABIC_SIGNS)


@_parser
def number(text: str) -> Decimal | None:
    """The number that `text` writes, or None.

    Thousands are grouped in threes by comma, dot, space or apostrophe, or as lakhs (1,20,000). One
    comma with three digits behind it groups (1,234 is 1234; 0,234 is not grouped); one dot is
    always decimal. Brackets, a leading or a trailing minus negate, one of them at most; per cent
    divides by 100. Exponents have a sign (1e-05, 5 × 10^3) or a point (1.2E5); fractions (3 1/2, ½)
    are in lowest terms.

    >>> [str(number(text)) for text in ("1,234.56", "1.234,56", "1 234,56", "(5.0)", "7-", "12%")]
    ['1234.56', '1234.56', '1234.56', '-5.0', '-7', '0.12']
    >>> number("12 apples"), number("1,23,4")
    (None, None)
    """
    cleaned = _plain(text)
    if match := _AMOUNT["fraction"].fullmatch(cleaned):
        minus, whole, sign, *numbers = match.groups()
        over, under = map(int, unicodedata.normalize("NFKC", sign).split("⁄") if sign else numbers)
        if not 0 < over < under or math.gcd(over, under) > 1:
            return None
        value = int(whole or 0) + Decimal(over) / under
        return -value if minus else value
    if power := _AMOUNT["times_ten"].search(cleaned):
        exponent = unicodedata.normalize("NFKC", power[1]).replace("−", "-")
        cleaned = f"{cleaned[: power.start()]}e{int(exponent):+}"
    match = _AMOUNT["signed"].fullmatch(cleaned)
    if not match or not (body := _BODY.fullmatch(match["body"])):
        return None
    # The whole part, and the decimals if there are any.
    whole, *decimals = (part for part in body.groups() if part is not None)
    minus = "-" if match["open"] or match["trail"] or (match["sign"] or "+")[0] != "+" else ""
    # Written out, not divided: arithmetic would round to 28 digits.
    exponent = int((match["power"] or "e0")[1:]) - (2 if match["percent"] or match["lead"] else 0)
    return Decimal(f"{minus}{whole.translate(_GROUPING)}.{''.join(decimals)}E{exponent}")


@_parser
def money(text: str) -> Money | None:
    """The amount and currency that `text` writes, or None.

    The amount is as `number` reads it, without per cent; words behind it multiply it (5 million, 2
    lakh, 45¢; k, m and b beside a currency alone). The currency may stand on either side, as
    a sign or a code; a bare $ counts as US dollars, Rs as Indian rupees. Where the currency's
    country has a decimal comma, one dot before three digits groups (Rp 60.000).

    >>> money("($1,200.50)")
    Money(amount=Decimal('-1200.50'), currency='USD')
    >>> money("9,90 EUR").currency, money("3.50").currency, money("5 pears")
    ('EUR', None, None)
    """
    cleaned = _plain(text)
    if (amount := number(text)) is not None:
        return None if _PERCENT.search(cleaned) else Money(amount, None)
    if scale := _SCALE.search(cleaned):
        cleaned = _SCALE.sub("", cleaned)
    if _AMOUNT["two_parts"].search(cleaned):
        return None
    plain = _AMOUNT["cheque"].sub("", cleaned) if "*" in cleaned else cleaned
    if not (match := _AMOUNT["money"].fullmatch(_AMOUNT["round"].sub("", plain))):
        return None
    rest, before = match["rest"], match["before"] or ""
    # "rs.5" ends its sign with a dot, "$.5" has decimals alone.
    rest = f".{rest}" if before.endswith(".") and not re.search(r"[\w/]\.$", before) else rest
    signs = [sign for sign in (before, match["after"]) if sign]
    known = _local()["currencies"] if signs else {}
    codes = {sign: known.get(sign) or known.get(sign.rstrip(".$"), "") for sign in signs}
    # Beside the code of a dollar or a peso a $ says nothing.
    if any(_AMOUNT["dollars"].fullmatch(known.get(s, "")) for s in signs if s != "$"):
        codes.pop("$", None)
    # R12 is a code, and 12 R may be a seat, where R 12.00 are rands.
    is_code = any(map(_AMOUNT["one_letter"].fullmatch, signs)) and not _CENTS.search(rest)
    stated = [code.split("/") for code in codes.values()] or [[]]
    currency = "/".join(code for code in stated[0] if all(code in of for of in stated)) or None
    if is_code or (signs and not currency):
        return None
    if currency and _AMOUNT["one_dot"].fullmatch(rest) and currency[:3] in _local()["commas"]:
        rest = rest.replace(".", "")
    amount = number(match["head"] + rest + match["tail"])
    # 5 m are metres, and $5 m are millions.
    if amount is None or (scale and scale[1] in "kmb" and not currency):
        return None
    # Words like "all" and "top" are codes in capitals alone.
    code = (currency or "$").lower()
    if code not in _CURRENCIES and code in cleaned and code.upper() not in text:
        return None
    return Money(amount.scaleb(_SCALES[scale[1]]) if scale else amount, currency)


@lru_cache(maxsize=1)
def _local() -> dict[str, Any]:
    """Months by name, currencies by sign or code, those with a decimal comma, and names of days."""
    words = json.loads(Path(__file__).with_name("local_words.json").read_text("utf-8"))
    return words | {name: {*words[name]} for name in ("commas", "days")}


def days_of(year: str, month: str | int, day: str | None) -> Days:
    """The dates of these numbers, if there are any, or their months where the day is not stated.

    A year of two digits is in either century, first in that of 1969 to 2068.
    """
    centuries = ("",) if len(year) == 4 else ("20", "19") if int(year) < 69 else ("19", "20")
    dates = []
    for century in centuries:
        with suppress(ValueError):
            dates.append(Date(int(century + year), int(month), int(day or 1)))
    return tuple(dates if day else (Moment(date.year, date.month) for date in dates))


def date(text: str) -> frozenset[Date] | None:
    """Every date that `text` can mean, or None if it is no date.

    Read are year first (2022-07-01, 20220701, 2022年7月1日), a written month (Jul 1, 2022;
    01-JUL-22; 1er juillet 2022), d.m.y, and numbers between slashes, hyphens or spaces, which may
    put month or day first: two dates unless one is impossible or both are the same. Midnight may
    follow. A year of two digits below 69 is in the 2000s, else in the 1900s, as POSIX has it;
    where dates are compared it may be in either.

    >>> [str(day) for day in sorted(date("7/1/22"))]
    ['2022-01-07', '2022-07-01']
    >>> date("July 1, 2022") == date("01.07.2022") == date("2022-07-01"), date("July 2022")
    (True, None)
    """
    return frozenset(date_readings(text)) - {None} or None


def date_readings(text: str) -> tuple[Date | None, Date | None]:
    """The date that `text` is when read month first, and when read day first; see `date`."""
    readings = possible_dates(text) or ((), ())
    return tuple(next((day for day in days if isinstance(day, Date)), None) for days in readings)


@_parser
def possible_dates(text: str) -> tuple[Days, ...]:
    """`date_readings` with both centuries, months without a day, and times; empty if no date."""
    readings = _read_date(_plain(text).removesuffix(".")) if _DIGIT.search(text) else ()
    return readings if any(readings) else ()


def _read_date(cleaned: str) -> tuple[Days, ...]:
    if _BOXED.fullmatch(cleaned):
        cleaned = cleaned.replace(" ", "").replace("|", "")
    has_clock = _CLOCK.search(cleaned)
    cleaned = _MIDNIGHT.sub("", _UNIX.sub(r" \2 \1", cleaned)) if has_clock else cleaned
    if match := has_clock and _TIME.search(cleaned):
        hour, minute, second = (int(match[n] or 0) for n in (1, 2, 3))
        time = hour % 12 + 12 * (match[4] == "p") if match[4] else hour, minute, second
        if not (before := cleaned[: match.start()]):
            return ((Moment(0, 0, time=time),),) * 2
        return tuple(
            tuple(Moment(d.year, d.month, d.day, time) for d in days if isinstance(d, Date))
            for days in _read_date(before)
        )
    if _NO_DATE.search(cleaned):
        return ()
    # Most dates are numbers alone.
    if match := next(filter(None, (form.fullmatch(cleaned) for form in _NUMERIC)), None):
        pairs = match.group(1, 3), match.group(3, 1)
        days = (days_of(match["year"], *pair) if int(pair[0]) <= 12 else () for pair in pairs)
        month_first, day_first = days
        # Dots mean day first wherever that is possible.
        return (day_first or month_first) if match[2] == "." else month_first, day_first
    # Without any letter there is no month's name.
    for pattern in _NUMBERED + (_WORDED if _LETTER.search(cleaned) else []):
        if match := pattern.fullmatch(cleaned):
            found, name = match.groupdict(), match["month"]
            month = name if name.isdigit() else MONTHS.get(name) or _local()["months"].get(name, 0)
            days = days_of(match["year"], month, found.get("day"))
            if days and (not found.get("weekday") or found["weekday"] in _local()["days"]):
                return days, days
    name = _DAY_NAME.search(cleaned)
    if name and (name[1] or name[2]) in _local()["days"]:
        return _read_date(cleaned[: name.start()] + cleaned[name.end() :])
    return ()


def choices(text: str, *, commas: bool = True) -> frozenset[str] | None:
    """The set of options in a list-like string, or None if it is blank.

    Options stand between commas (without `commas` only within square brackets, as in a JSON list),
    semicolons, bars or line ends, in brackets, quotes, bullets or not; quoted ones keep commas.

    >>> choices('["Tea", "Milk, cold"]') == choices("- “milk, cold”; tea")
    True
    >>> sorted(choices("Tea"))
    ['tea']
    """
    text = text.strip()
    if not text or len(text) > _LONGEST_LIST:
        return None
    brackets = text[0] + text[-1]
    form = _ITEM if commas or brackets == "[]" else _LONG_ITEM
    text = text[1:-1] if brackets in ("[]", "()", "{}") else text
    options = set()
    for item in form.findall(normalise(text, ["quotes"])):
        option = _BULLET.sub("", item.strip())
        if len(option) > 1 and option[0] == option[-1] and option[0] in "'\"":
            option = option[1:-1]
        options.add(normalise(option, LADDER_STEPS))
    return frozenset(options - {""})


@_parser
def checked(text: str) -> bool | None:
    """Whether a check box is ticked by `text` (yes, true, on, 1, x, ☑ …), or None.

    >>> checked("X"), checked("false"), checked("maybe")
    (True, False, None)
    """
    cleaned = _plain(text)
    # One of several options with their boxes, such as `☒ Yes ☐ No`.
    if len(options := _OPTION.findall(cleaned)) > 1:
        ticked = [word for mark, word in options if checked(mark)]
        return checked(ticked[0]) if len(ticked) == 1 else None
    cleaned = _BULLET.sub("", cleaned)
    word = cleaned.replace(" ", "").replace("_", "").removesuffix(".")
    # `no n` are two options, and no word for no.
    if word.isalpha() and len(word) < 4 and " " in cleaned:
        return None
    box = _BOX.fullmatch(word)
    return bool(box[1] or box[2]) if box else _STATES.get(word.removeprefix("/"))


@_parser
def is_null_word(text: str) -> bool:
    """Whether `text` says that there is no value (N/A, none, null, nil, a dash …)."""
    word = _plain(text)
    is_nothing = not _NULL_SET.isdisjoint((word, word.strip(_NOTHING)))
    return is_nothing and word != "" and checked(word) is None
