"""Values with a pattern of their own, addresses, dates, amounts, and the form controls ask for."""

import datetime
import re

from formlab.text import Order
from formlab.text import values as typed

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DAY = r"\d\d?(?:st|nd|rd|th)?"
PATTERNS = {
    "email": re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"),
    "url": re.compile(r"(?:https?://|www\.)[^\s\"“”<>]{1,300}[^\s\"“”<>.,;:)]"),
    "date": re.compile(
        rf"\b(?:\d{{4}}([-/.])\d\d?\1\d\d?|\d\d?([./-])\d\d?\2\d{{2,4}}"
        rf"|{_DAY}(?: of)? {_MONTH},? \d{{4}}|{_MONTH} {_DAY},? \d{{4}})"
    ),
    "phone": re.compile(
        r"\+?\(?\d[\d ()/.-]{5,18}\d(?:,?\s*(?:x|ext\.?|extension)\s*\d{1,6})?", re.IGNORECASE
    ),
    "amount": re.compile(
        r"(?:[$€£¥] ?|\b[A-Z]{3} )?\b\d[\d,.]*\d\b(?: ?(?:[$€£¥]|[A-Z]{3}\b))?|\b\d\b"
    ),
}
# A notation of dates, also in German.
_NOTATION = re.compile(
    r"(?<![a-z])(?:[dt]{1,2}|m{1,2}|(?:yy|jj){1,2})([-/. ])(?:[dt]{1,2}|m{1,2})"
    r"\1(?:[dt]{1,2}|(?:yy|jj){1,2})(?![a-z])",
    re.IGNORECASE,
)
# The words of labels that ask for such a span, whatever the text calls it.
_ASKS = {
    "email": re.compile(r"e-?mail", re.IGNORECASE),
    "url": re.compile(r"\b(?:web ?site|web ?page|url|link|home ?page)\b", re.IGNORECASE),
    "phone": re.compile(r"\b(?:tele)?phone|\bmobile\b|\bfax\b", re.IGNORECASE),
    "date": re.compile(
        r"\bdate\b|\bday\b|\bborn\b|birth|[dmy]{2,4}[-/. ][dmy]{2}[-/. ][dmy]{2,4}", re.IGNORECASE
    ),
    "amount": re.compile(
        r"\bamount|\bprice|\bcosts?\b|\bincome|\bsalary|\brent\b|\bfee\b|\btotal\b|[$€£¥]"
        r"|\b(?:USD|EUR|GBP)\b",
        re.IGNORECASE,
    ),
}


def kind_asked_for(label: str) -> str | None:
    """The kind of span that a label asks for, one of `PATTERNS`; None for any other value.

    Examples
    --------
    >>> kind_asked_for("Your e-mail"), kind_asked_for("Date of birth"), kind_asked_for("Hobbies")
    ('email', 'date', None)
    """
    return next((kind for kind, asks in _ASKS.items() if asks.search(label)), None)


def in_control(value: str, kind: str, *, hint: str = "", order: Order | None = None) -> str | None:
    """A value in the form that a control takes; None for what it cannot take.

    Parameters
    ----------
    value
        As the text has it.
    kind
        The type of the ``input``; others than those with a form of their own are texts.
    hint
        What the page says beside the control: a notation, ``0…10``, ``pattern …``.
    order
        That of day and month in numeric dates; the month first if unknown.

    Examples
    --------
    >>> in_control("5 March 2027", "date"), in_control("9.30 pm", "time")
    ('2027-03-05', '21:30')
    >>> in_control("12/05/2024", "date", order="day"), in_control("$1,200.50", "number")
    ('2024-05-12', '1200.50')
    >>> in_control("next week", "date"), in_control("May 2027", "month")
    (None, '2027-05')
    """
    if kind in ("number", "range"):
        return _number(value, hint)
    if kind == "time":
        return _time(value)
    if kind == "color":
        return _colour(value)
    if kind not in ("date", "datetime-local", "month", "week"):
        return as_asked(value, hint, order=order)
    iso = {
        "month": r"\d{4}-\d\d",
        "week": r"\d{4}-W\d\d",
        "datetime-local": r"\d{4}-\d\d-\d\dT\d\d:\d\d",
    }
    if kind in iso and (match := re.search(iso[kind], value)):
        return match[0]
    if kind == "week" and (
        match := re.search(r"\bw(?:eek|k)?\.? ?(\d\d?)\b", value, re.IGNORECASE)
    ):
        year = re.search(r"\b(?:19|20)\d\d\b", value)
        return f"{year[0]}-W{int(match[1]):02d}" if year else None
    day = _day(value, order)
    if day is None and kind == "month":
        month = re.search(
            rf"({_MONTH})\s*,?\s*(\d{{4}})|\b(\d\d?)[/.-](\d{{4}})\b", value, re.IGNORECASE
        )
        day = month and _day(
            f"1 {month[1]} {month[2]}" if month[1] else f"{month[4]}-{month[3]}-1", order
        )
    if day is None:
        return None
    if kind == "month":
        return f"{day:%Y-%m}"
    if kind == "week":
        return "{}-W{:02d}".format(*day.isocalendar())
    return f"{day}T{_time(value) or '00:00'}" if kind == "datetime-local" else str(day)


def _day(value: str, order: Order | None) -> datetime.date | None:
    plain = re.sub(r"(?<=\d)(?:st|nd|rd|th)\b|\bof ", "", value)
    match = PATTERNS["date"].search(plain)
    for text in (plain.strip(" ."), match[0] if match else ""):
        month_first, day_first = typed.date_readings(text)
        if day := (day_first or month_first) if order == "day" else (month_first or day_first):
            return day
    return None


def _time(value: str) -> str | None:
    if named := re.search(r"\b(noon|midday|midnight)\b", value, re.IGNORECASE):
        return "00:00" if named[1].lower() == "midnight" else "12:00"
    match = re.search(
        r"\b(\d\d?)(?:[:.h](\d\d))?\s*([ap])\.?m\b|\b(\d\d?)[:h](\d\d)\b", value, re.IGNORECASE
    )
    if not match:
        return None
    hour = int(match[1] or match[4])
    if match[3]:
        hour = hour % 12 + (12 if match[3].lower() == "p" else 0)
    minute = int(match[2] or match[5] or 0)
    return f"{hour:02d}:{minute:02d}" if hour < 24 and minute < 60 else None


def _number(value: str, hint: str) -> str | None:
    match = re.search(r"-?\d[\d,.' ]*\d|-?\d", value)
    number = typed.number(match[0]) if match else None
    if number is None:
        return None
    if bounds := re.search(r"(-?[\d.]*)…(-?[\d.]*)", hint):
        low, high = (typed.number(side) for side in bounds.groups())
        number = max(number, low) if low is not None else number
        number = min(number, high) if high is not None else number
    return f"{number:f}"


def _colour(value: str) -> str | None:
    from PIL import ImageColor

    try:
        return "#{:02x}{:02x}{:02x}".format(*ImageColor.getrgb(value.strip().replace(" ", ""))[:3])
    except ValueError:
        return None


def as_asked(value: str, hint: str, *, order: Order | None = None) -> str:
    """A date in the notation of a hint such as ``DD/MM/YYYY``; other values as they are.

    Numbers lose the marks between their thousands, which few fields take. Digits take the form
    of a ``pattern`` that consists of numbers of digits and what is between them.

    Examples
    --------
    >>> as_asked("5 March 2027", "YYYY-MM-DD"), as_asked("March 5, 2027", "TT.MM.JJJJ")
    ('2027-03-05', '05.03.2027')
    >>> as_asked("1,334,000", ""), as_asked("43,100 USD", "")
    ('1334000', '43,100 USD')
    >>> as_asked("(555) 010 2231", r"pattern \\d{3}-\\d{3}-\\d{4}")
    '555-010-2231'
    """
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", value):
        return value.replace(",", "")
    form = _NOTATION.search(hint)
    day = _day(value, order) if form else None
    if form is None or day is None:
        pattern = re.search(r"pattern (\S+)", hint)
        return _in_pattern(value, pattern[1]) if pattern else value
    parts = {"y": f"{day.year:04d}", "m": f"{day.month:02d}", "d": f"{day.day:02d}"}
    same = str.maketrans("tj", "dy")
    return re.sub(
        "[dtmyj]+", lambda part: parts[part[0][0].translate(same)][-max(2, len(part[0])) :],
        form[0].lower(),
    )  # fmt: skip


def _in_pattern(value: str, pattern: str) -> str:
    """The digits of a value in a pattern such as ``[0-9]{3}-[0-9]{4}``; else the value."""
    pieces = re.split(r"(?:\[0-9\]|\\d)\{(\d{1,2})\}", pattern.strip(";^$"))
    digits = re.sub(r"\D", "", value)
    sizes = [int(size) for size in pieces[1::2]]
    marks = [re.sub(r"\\(?=\W)", "", mark) for mark in pieces[::2]]
    plain = all(re.fullmatch(r"[-() ./+]*", mark) for mark in marks)
    if not sizes or not plain or len(digits) != sum(sizes):
        return value
    text, at = marks[0], 0
    for size, mark in zip(sizes, marks[1:], strict=True):
        text, at = text + digits[at : at + size] + mark, at + size
    return text
