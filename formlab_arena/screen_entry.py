"""How a value is entered in a field that is seen on a screenshot, and whether it stands there."""

import calendar
import dataclasses
import re

from rapidfuzz import fuzz

from formlab_arena.actions import Action, Click, Press, Type
from formlab_arena.screen import ScreenField
from formlab_arena.shapes import middle
from formlab_arena.value_patterns import in_control

# How much of the text in a field is that typed into it, in percent, in spite of errors of OCR.
_ALIKE = 60
# What the browser asks for in parts that take keys only.
_PARTS = ("date", "time", "month", "datetime-local")
# Letters of an option that are typed to find it in a list.
_LETTERS = 24


@dataclasses.dataclass
class Entry:
    """What was entered in a field, as what kind of field, how often, and whether it was seen."""

    value: str
    kind: str = ""
    times: int = 1
    place: int = -1
    seen: bool = False


def shows(text: str, value: str) -> bool:
    """Whether a text is that of a value, of which a field may show a part, read by OCR."""
    text, value = squashed(text), squashed(value)
    if re.fullmatch(r"\d{4}\d{4}(?:t?\d{4})?", value) or re.fullmatch(r"\d{6}|\d{4}", value):
        return len(re.findall(r"\d", text)) >= min(4, len(value))
    if _in_numbers(text) and len(text) + 2 < len(value) and not _in_numbers(value):
        # A field of numbers takes nothing else of "about 5" but its e.
        return False
    return bool(text) and fuzz.partial_ratio(text, value) >= _ALIKE


def anew(entry: Entry, shown: str) -> str:
    """The value to enter where a field shows something else, or nothing."""
    if entry.kind or not _in_numbers(shown):
        return entry.value
    # A field of numbers takes no words.
    return in_control(entry.value, "number") or entry.value


def _in_numbers(text: str) -> bool:
    """Whether a text has only what a field of numbers takes, or nothing."""
    return re.fullmatch(r"[\de.,+\s-]*", text.casefold()) is not None


def actions_for(field: ScreenField, entry: Entry) -> list[Action]:
    """A click into a field, and its value: by keys where the browser asks for its parts."""
    x, y = middle(field.box)
    if entry.kind == "file":
        return [Click(x, y), Type(entry.value)]
    if entry.kind not in _PARTS:
        return [Click(x, y), Press("Control+A"), Type(entry.value)]
    return [Click(field.box[0] + 14, y), *map(Press, _keys(entry, field.text))]


def chosen_in_list(field: ScreenField, value: str) -> list[Action]:
    """A click on a list, and the first letters of the option, in one go.

    A browser starts its search anew when the next letter comes more than a second later.
    """
    letters = "".join(key for key in value[:_LETTERS] if key.isascii())
    return [Click(*middle(field.box)), Type(letters), Press("Enter")]


def _keys(entry: Entry, shown: str) -> list[str]:
    """The keys for a date, month or time as ``2027-03-05T21:30``, in the order that is shown."""
    day, _, time = entry.value.rpartition("T") if "T" in entry.value else (entry.value, "", "")
    if entry.kind == "time":
        day, time = "", entry.value
    keys: list[str] = []
    if entry.kind == "month":
        year, month = day.split("-")[:2]
        return [*calendar.month_name[int(month)][:3], "ArrowRight", *year]
    if day:
        year, month, date = day.split("-")
        order = shown.strip()[:1].lower()
        parts = {"d": (date, month, year), "y": (year, month, date)}.get(order, (month, date, year))
        keys += "/".join(parts)
    if time:
        hour, minute = (int(part) for part in time.split(":")[:2])
        clock = f"{(hour - 1) % 12 + 1:02d}{minute:02d}{'P' if hour > 11 else 'A'}"
        keys += ["ArrowRight"] * bool(day) + list(clock)
    return keys


def squashed(text: str) -> str:
    """The letters and digits of a text.

    Examples
    --------
    >>> squashed("E-mail *")
    'email'
    """
    return re.sub(r"[\W_]+", "", text.casefold())
