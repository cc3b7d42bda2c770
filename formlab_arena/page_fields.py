"""The fields of a page, of its elements: what each holds, and what an answer is in its notation."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from formlab.text import date_order, typed
from formlab_arena import matching
from formlab_arena.actions import Action, Click, Select
from formlab_arena.observation import Element
from formlab_arena.value_patterns import as_asked, kind_asked_for

BUTTONS = ("button", "submit", "reset", "image", "link")
# How fields are named that are no fields of the page: ticks together, and one tick of a choice.
TOGETHER, APART = "ticks of ", "tick of "
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
        """What the field is called: its name, its label, and that with its group before it."""
        label = self.first.label or ("" if self.first.option else self.first.name)
        label = label or ("Signature" if self.kind == "canvas" else "")
        whole = [f"{self.first.group[-1]} {label}"] if self.first.group and label else []
        return tuple(dict.fromkeys((self.name, label, *whole)))

    @property
    def marks(self) -> tuple[Element, ...]:
        """What is ticked or chosen by a click."""
        marks = tuple(element for element in self.elements if element.checked is not None)
        return tuple(mark for mark in marks if mark.kind == "option") or marks

    @property
    def shows_more(self) -> bool:
        """Whether an answer may show other fields, is chosen from a list, or needs the pointer."""
        widget = self.kind == "canvas" or "combobox" in (self.kind, self.first.role)
        return bool(self.marks) or widget

    @property
    def content(self) -> str:
        """What it holds, as text."""
        if self.marks:
            return ", ".join(e.name or e.option or "true" for e in self.marks if e.checked)
        return self.first.value

    def holds(self, value: Any, text: str) -> bool:
        """Whether it holds an answer, `text` in its notation, and the page has no complaint."""
        if self.marks:
            return not self.to_click(value)
        if self.kind == "file":
            names = value if isinstance(value, list) else [value]
            return all(str(name) in self.content for name in names)
        if self.kind == "select":
            text = as_text(list(self.options(value)))
        return same(self.content, text) and not self.first.message

    def to_click(self, value: Any) -> list[Element]:
        """The marks that are to be ticked or unticked for an answer."""
        marks = self.marks
        if marks[0].option is None and len(marks) == 1:
            want = value if isinstance(value, bool) else matching.truth(str(value)) is not False
            return [] if marks[0].checked == want else [marks[0]]
        wanted = {at for at, _ in self.chosen(value) if at is not None}
        single = marks[0].kind in _ONE_OF or (marks[0].kind == "option" and not self.first.many)
        return [
            mark
            for number, mark in enumerate(marks)
            if mark.checked != (number in wanted) and (number in wanted or not single)
        ]

    def chosen(self, value: Any) -> list[tuple[int | None, Any]]:
        """The numbers of the marks that an answer means, by their labels or else their values."""
        values = value if isinstance(value, list) else [value]
        names, sent = ([mark.name for mark in self.marks], [m.option or "" for m in self.marks])
        either = ((matching.option(text, names), matching.option(text, sent)) for text in values)
        return [
            (at if at is not None else other, text)
            for (at, other), text in zip(either, values, strict=True)
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
        # What is drawn on has no value, and so no name of a field.
        name = element.field or (f"canvas {element.id}" if element.kind == "canvas" else "")
        if name and element.kind not in BUTTONS:
            groups.setdefault(name, []).append(element)
    return {
        name: PageField(name, number, tuple(group))
        for number, (name, group) in enumerate(groups.items())
    }


def paired(values: Mapping[str, Any], fields: Mapping[str, PageField]) -> dict[str, PageField]:
    """The field of each answer, by its label or name, as `matching.pair` has them.

    A list may also be of ticks that only stand together, and a yes or no of one tick of a choice.
    """
    pairs = matching.pair(list(values), {name: field.labels for name, field in fields.items()})
    known = {key: fields[name] for key, name in pairs.items()}
    for kind, others in ((list, _together), (bool, _apart)):
        left = [
            key for key, value in values.items() if key not in known and isinstance(value, kind)
        ]
        if left:
            taken = {field.name for field in known.values()}
            free = {name: field for name, field in fields.items() if name not in taken}
            more = {field.name: field for field in others(free)}
            pairs = matching.pair(left, {name: field.labels for name, field in more.items()})
            known |= {key: more[name] for key, name in pairs.items()}
    return known


def _together(fields: Mapping[str, PageField]) -> Iterable[PageField]:
    """Ticks without a name in common that stand in the same group."""
    groups: dict[tuple[str, ...], list[PageField]] = {}
    for field in fields.values():
        if field.kind == "checkbox" and len(field.elements) == 1 and field.first.group:
            groups.setdefault(field.first.group, []).append(field)
    for group, members in groups.items():
        marks = [f.first for f in members]
        marks = [dataclasses.replace(m, option=m.option or m.name, label=group[-1]) for m in marks]
        yield PageField(TOGETHER + group[-1], members[0].number, tuple(marks))


def _apart(fields: Mapping[str, PageField]) -> Iterable[PageField]:
    """Each tick of the choices that allow several."""
    for field in fields.values():
        if field.kind == "checkbox" and len(field.elements) > 1:
            for mark in field.elements:
                alone = dataclasses.replace(mark, option=None, label=mark.name)
                yield PageField(f"{APART}{field.name} {mark.name}", field.number, (alone,))


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
