"""Values with a pattern of their own in a text: addresses, dates, amounts, and chosen options."""

from __future__ import annotations

import re
from collections.abc import Sequence

from formlab.text import typed

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DAY = r"\d\d?(?:st|nd|rd|th)?"
PATTERNS = {
    "email": re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"),
    "url": re.compile(r"(?:https?://|www\.)[^\s\"“”<>]{1,300}[^\s\"“”<>.,;:)]"),
    "date": re.compile(
        rf"\b(?:\d{{4}}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{{2,4}}"
        rf"|{_DAY}(?: of)? {_MONTH},? \d{{4}}|{_MONTH} {_DAY},? \d{{4}})"
    ),
    "phone": re.compile(
        r"\+?\(?\d[\d ()/.-]{5,18}\d(?:,?\s*(?:x|ext\.?|extension)\s*\d{1,6})?", re.IGNORECASE
    ),
    "amount": re.compile(
        r"(?:[$€£¥] ?|\b[A-Z]{3} )?\b\d[\d,.]*\d\b(?: ?(?:[$€£¥]|[A-Z]{3}\b))?|\b\d\b"
    ),
}
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


def options_in(value: str, options: Sequence[str]) -> list[int]:
    """Which of the options a value names, longer ones before their own parts.

    Examples
    --------
    >>> options_in("Rail and Bus pass", ["Bus", "Bus pass", "Rail"])
    [1, 2]
    """
    left, chosen = value.lower(), []
    for number in sorted(range(len(options)), key=lambda n: -len(options[n])):
        option = options[number].strip().lower()
        pattern = rf"(?<!\w){re.escape(option)}(?!\w)"
        if option and (match := re.search(pattern, left)):
            left = left[: match.start()] + "\0" * len(match[0]) + left[match.end() :]
            chosen.append(number)
    return sorted(chosen)


def as_asked(value: str, hint: str) -> str:
    """A date in the notation of a hint such as ``DD/MM/YYYY``; other values as they are.

    Numbers lose the marks between their thousands, which few fields take.

    Examples
    --------
    >>> as_asked("5 March 2027", "YYYY-MM-DD"), as_asked("March 5, 2027", "dd.mm.yyyy")
    ('2027-03-05', '05.03.2027')
    >>> as_asked("1,334,000", ""), as_asked("43,100 USD", "")
    ('1334000', '43,100 USD')
    """
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", value):
        return value.replace(",", "")
    form = re.search(r"[dmy]{2,4}([-/. ])[dmy]{2}\1[dmy]{2,4}", hint, re.IGNORECASE)
    # Ordinals belong to prose and to no notation of dates.
    days = typed.date(re.sub(r"(?<=\d)(?:st|nd|rd|th)|\bof ", "", value)) if form else None
    if form is None or not days:
        return value
    day = min(days)
    parts = {"yyyy": f"{day.year:04d}", "yy": f"{day.year % 100:02d}"}
    parts |= {"mm": f"{day.month:02d}", "dd": f"{day.day:02d}"}
    return re.sub("yyyy|yy|mm|dd", lambda match: parts[match[0]], form[0].lower())
