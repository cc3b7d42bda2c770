"""The fields of a page, of its elements: what each holds, and what an answer is in its notation."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from formlab.text import date_order, typed
from formlab_arena import matching
from formlab_arena.actions import Action, Click, Select
from formlab_arena.observation import Element
from formlab_arena.value_patterns import as_asked, kind_asked_for

BUTTONS = ("button", "submit", "reset", "image", "link")
_ONE_OF = ("radio", "menuitemradio", "tab")
_SHORT_DATE = re.compile(r"\d{1,2}([-/. ])\d{1,2}\1\d{2,4}")
_CLOCK = re.compile(r"(\d{1,2})[:.h](\d{2})(?::\d{2})?\s*([ap])?\.?m?\.?", re.IGNORECASE)
_MONTH = re.compile(r"\b([A-Z][a-z]{2})[a-z]*\.? (\d{4})\b")
_LATER = re.compile(r"\bnext\b|^[›»>→]$", re.IGNORECASE)
_EARLIER = re.compile(r"\bprev(ious)?\b|^[‹«<←]$", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class PageField:
    """The elements that belong to one field of a page; `number` is its place on the page."""

    name: str
    number: int
    elements: tuple[Element, ...]

    @property
    def first(self) -> Element:
        """The first element, the only one where the field is no choice."""
        return self.elements[0]

    @property
    def kind(self) -> str:
        """The kind of the elements."""
        return self.first.kind

    @property
    def labels(self) -> tuple[str, ...]:
        """What the field is called: its name, and its label."""
        single = self.first.option is None
        return tuple(dict.fromkeys((self.name, *([self.first.name] if single else []))))

    @property
    def ticks(self) -> bool:
        """Whether it is answered by ticking."""
        return self.first.checked is not None

    @property
    def shows_more(self) -> bool:
        """Whether an answer may show or hide other fields, or has to be chosen from a list."""
        return self.ticks or self.kind in ("select", "combobox") or self.first.role == "combobox"

    @property
    def content(self) -> str:
        """What it holds, as text."""
        if self.ticks:
            return ", ".join(e.option or "true" for e in self.elements if e.checked)
        return self.first.value

    def holds(self, value: Any, text: str) -> bool:
        """Whether it holds an answer, `text` in its notation, and the page has no complaint."""
        if self.ticks:
            return not self.to_click(value)
        if self.kind == "file":
            names = value if isinstance(value, list) else [value]
            return all(str(name) in self.content for name in names)
        return same(self.content, text) and not self.first.message

    def to_click(self, value: Any) -> list[Element]:
        """The marks that are to be ticked or unticked for an answer."""
        if self.first.option is None and len(self.elements) == 1:
            want = value if isinstance(value, bool) else matching.truth(str(value)) is not False
            return [] if self.first.checked == want else [self.first]
        values = value if isinstance(value, list) else [value]
        wanted = set()
        for names in ([e.name for e in self.elements], [e.option or "" for e in self.elements]):
            wanted = wanted or {matching.option(text, names) for text in values} - {None}
        single = self.kind in _ONE_OF or (self.first.role == "option" and len(values) == 1)
        return [
            element
            for number, element in enumerate(self.elements)
            if element.checked != (number in wanted) and (number in wanted or not single)
        ]

    def options(self, value: Any) -> tuple[str, ...]:
        """The options that an answer means, by their texts; as given where there is none such."""
        values = value if isinstance(value, list) else [value]
        chosen = [(matching.option(text, self.first.options), text) for text in values]
        return tuple(str(text) if at is None else self.first.options[at] for at, text in chosen)


def fields_of(elements: Iterable[Element]) -> dict[str, PageField]:
    """The fields by name, in the order of the page."""
    groups: dict[str, list[Element]] = {}
    for element in elements:
        if element.field and element.kind not in BUTTONS:
            groups.setdefault(element.field, []).append(element)
    return {
        name: PageField(name, number, tuple(group))
        for number, (name, group) in enumerate(groups.items())
    }


def same(text: str, other: str) -> bool:
    """Whether two texts are equal but for case, spaces and marks.

    Examples
    --------
    >>> same("(555) 123-4567", "5551234567"), same("2", "3")
    (True, False)
    """
    plain, wanted = (re.sub(r"[\W_]+", "", each).casefold() for each in (text, other))
    return plain == wanted and (plain != "" or text.strip() == other.strip())


def as_text(value: Any) -> str:
    """An answer as a text for a field that takes text."""
    if isinstance(value, bool):
        return "Yes" if value else "No"
    return ", ".join(value) if isinstance(value, list) else str(value or "")


def native(kind: str, hint: str, value: Any, others: Collection[Any] = ()) -> str:
    """An answer in the notation of a control of a kind, with a hint such as ``DD/MM/YYYY``.

    Whether 3/5/2027 begins with the day is seen from the `others`.

    Examples
    --------
    >>> native("date", "", "5 July 2027"), native("time", "", "2:30 pm")
    ('2027-07-05', '14:30')
    >>> native("date", "", "5/7/2027", ["31/1/2027"]), native("text", "dd/mm/yyyy", "2027-07-05")
    ('2027-07-05', '05/07/2027')
    """
    text = as_text(value)
    day, clock = day_of(text, others), _CLOCK.search(text)
    time = ""
    if clock:
        hour = int(clock[1]) % 12 + 12 * (clock[3] in ("p", "P")) if clock[3] else int(clock[1])
        time = f"{hour:02d}:{clock[2]}"
    match kind:
        case "date" if day:
            return day.isoformat()
        case "time" if time:
            return time
        case "datetime-local" if time and (day := day_of(text[: clock.start()].rstrip("T, "))):
            return f"{day.isoformat()}T{time}"
        case "month" if (month := day_of(f"1 {text}")) and not re.match(r"\d{4}-", text):
            return f"{month:%Y-%m}"
        case "number":
            return as_asked(text, "")
        case "text" if day and not _SHORT_DATE.fullmatch(text):
            return as_asked(text, hint)
    return text


def day_of(text: str, others: Collection[Any] = ()) -> datetime.date | None:
    """The day that a text is; None if it is none."""
    days = typed.date(text)
    if days and len(days) > 1:
        order = date_order([each for each in (text, *others) if isinstance(each, str)])
        first, second = typed.date_readings(text)
        return _date(second if order == "day" else first)
    return _date(min(days)) if days else None


def _date(day: Any) -> datetime.date:
    return datetime.date(day.year, day.month, day.day)


def is_day(field: PageField, value: Any) -> bool:
    """Whether a day is asked for, and the answer is one."""
    hint = f"{field.first.name} {field.first.hint}"
    asked = field.kind == "date" or kind_asked_for(hint) == "date"
    return asked and isinstance(value, str) and day_of(value) is not None


class DatePicker:
    """Goes to a day in a calendar that a page has opened: by lists, arrows, and the day itself."""

    def __init__(self, day: datetime.date, before: Collection[str]) -> None:
        self.day, self.before = day, before
        self._turned, self._chosen = 0, set[str]()

    def next(self, elements: Sequence[Element]) -> Action | None:
        """The next action, of the elements that are there now; None where there is no way on."""
        new = [element for element in elements if element.id not in self.before]
        for element in new:
            if element.kind == "select" and (text := self._listed(element)):
                self._chosen.add(element.name + text)
                return Select(element.id, (text,))
            if day_of(element.name) == self.day:
                return Click(element=element.id)
        if months := self._months(new):
            arrow = _LATER if months > 0 else _EARLIER
            for element in new:
                if arrow.search(element.name.strip()) and element.kind != "select":
                    self._turned += 1 if months > 0 else -1
                    return Click(element=element.id)
        # The last days of the month before stand in front of the first.
        named = [e for e in new if e.name.strip() == str(self.day.day)]
        late = self.day.day > 20
        return Click(element=named[-1 if late else 0].id) if named else None

    def _listed(self, element: Element) -> str | None:
        months = [text for text in element.options if text[:3] == f"{self.day:%b}"]
        years = [text for text in element.options if text.strip() == str(self.day.year)]
        text = (months or years or [None])[0]
        return text if text and element.name + text not in self._chosen else None

    def _months(self, new: Sequence[Element]) -> int:
        """How many months there are to go, from the one that is shown or else from today."""
        if self._chosen:
            return 0
        today = datetime.date.today()
        shown = next((match for e in new if (match := _MONTH.search(e.name))), None)
        first = day_of(f"1 {shown[0]}") if shown else None
        turned = 0 if first else self._turned
        year, month = ((first or today).year, (first or today).month)
        return (self.day.year - year) * 12 + self.day.month - month - turned
