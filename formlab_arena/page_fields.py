"""The fields of a page, of its elements: what each holds, and what an answer is in its notation."""

import dataclasses
import datetime
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from formlab.text import Order, date_order
from formlab.text import values as typed
from formlab_arena import matching
from formlab_arena.actions import Action, Click, Fill, Press, Select, Type, Upload
from formlab_arena.observation import Element
from formlab_arena.value_patterns import as_asked, in_control, kind_asked_for

BUTTONS = ("button", "submit", "reset", "image", "link")
# How fields are named that are no fields of the page: ticks together, and one tick of a choice.
TOGETHER, APART = "ticks of ", "tick of "
TEXTS = frozenset({
    "text", "email", "tel", "url", "password", "search", "number", "range", "date", "time",
    "month", "week", "datetime-local", "color", "textarea", "textbox", "searchbox", "spinbutton",
    "slider",
})  # fmt: skip
_CONTROLS = TEXTS | {"file", "checkbox", "radio", "select", "listbox", "combobox"}
_ROLES = ("combobox", "listbox", "slider", "switch", "textbox", "spinbutton")
_ONE_OF = ("radio", "menuitemradio", "tab")
_NOTATIONS = ("date", "time", "datetime-local", "month", "week", "number", "color")
_SHORT_DATE = re.compile(r"\d{1,2}([-/. ])\d{1,2}\1\d{2,4}")


# What a field is to hold: the numbers of the marks to tick; the options to choose or the files to
# upload; or a text, in the notation of the control.
Content = frozenset[int] | tuple[str, ...] | str


@dataclasses.dataclass(frozen=True)
class PageField:
    """The elements that belong to one field of a page.

    `number` is its place on the page, and `address` that of the page.
    """

    name: str
    number: int
    elements: tuple[Element, ...]
    address: str = ""

    @property
    def first(self) -> Element:
        """The first element, the only one where the field is no choice."""
        return self.elements[0]

    @property
    def kind(self) -> str:
        """The kind of the elements."""
        return self.first.kind

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from fields of the same name on other pages."""
        return (self.address.partition("#")[0], self.name, self.first.label, *self.first.group)

    @property
    def label(self) -> str:
        """What is asked."""
        alone = self.first.option is None or len(self.elements) == 1
        label = self.first.label or (self.first.name if alone else "")
        return label or ("Signature" if self.kind == "canvas" else "")

    @property
    def names(self) -> list[str]:
        """What it may be called, likeliest first: also with its group, by its hint, in the form."""
        label, group = self.label, self.first.group[-1:]
        words = re.sub(r"[_\W]+", " ", self.first.field)
        around = [f"{each} {label}" for each in group if label]
        names = (label or self.first.hint.partition(";")[0], *around, words)
        return list(dict.fromkeys(filter(None, names)))

    @property
    def marks(self) -> tuple[Element, ...]:
        """What is ticked or chosen by a click."""
        marks = tuple(element for element in self.elements if element.checked is not None)
        return tuple(mark for mark in marks if mark.kind == "option") or marks

    @property
    def takes_text(self) -> bool:
        """Whether something is written into it."""
        return self.kind in TEXTS and not self.marks

    @property
    def asks(self) -> bool:
        """Whether it is a control of a form, and no tab, item of a menu or drawing."""
        return self.kind in _CONTROLS or self.first.role in _ROLES

    @property
    def is_widget(self) -> bool:
        """Whether a list opens where it is written into, or it needs the pointer."""
        suggests = "combobox" in (self.kind, self.first.role) and self.kind != "select"
        return suggests or self.kind == "canvas"

    @property
    def is_tick(self) -> bool:
        """Whether it is ticked or not, and no choice."""
        return len(self.elements) == 1 and self.kind == "checkbox"

    @property
    def is_covered(self) -> bool:
        """Whether something lies over all of it."""
        return all(element.covered for element in self.elements)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written, chosen or ticked."""
        return not self.content

    @property
    def message(self) -> str:
        """What the page says is wrong."""
        return next((e.message for e in self.elements if e.message), "")

    @property
    def required(self) -> bool:
        """Whether the page asks for an answer."""
        return any(element.required for element in self.elements)

    @property
    def content(self) -> str:
        """What it holds, as text."""
        if self.marks:
            return ", ".join(e.name or e.option or "true" for e in self.marks if e.checked)
        return self.first.value

    def holds(self, content: Content) -> bool:
        """Whether it holds this, and the page has no complaint."""
        if isinstance(content, frozenset):
            return not self.to_click(content)
        if self.kind == "file":
            return all(name in self.content for name in content)
        text = content if isinstance(content, str) else ", ".join(content)
        return same(self.content, text) and not self.first.message

    def to_click(self, ticked: Collection[int]) -> list[Element]:
        """The marks to click until those of these numbers are ticked."""
        marks = self.marks
        single = marks[0].kind in _ONE_OF or (marks[0].kind == "option" and not self.first.many)
        return [
            mark
            for number, mark in enumerate(marks)
            if mark.checked != (number in ticked) and (number in ticked or not single)
        ]

    def enter(self, content: Content, *, again: bool = False) -> list[Action]:
        """The actions that enter it; `again` those of a person, by mouse and keys."""
        at = self.first.id
        if isinstance(content, frozenset):
            return [Click(element=element.id) for element in self.to_click(content)]
        if self.kind == "file":
            return [Upload(at, tuple(content))]
        if isinstance(content, tuple):
            if not again or self.kind == "select" or (self.kind == "listbox" and not self.marks):
                return [Select(at, content)]
            if not self.takes_text:
                return [Click(element=at)]
            content = ", ".join(content)
        if again:
            return [Click(element=at), Press("Control+A", element=at), Type(content)]
        return [Fill(at, content)]

    def exactly(self, value: Any, others: Collection[Any] = ()) -> Content:
        """What the field holds where `value` is its answer; None leaves it empty."""
        values = value if isinstance(value, list) else [value]
        if self.kind == "file":
            return tuple(map(str, values))
        if self.marks and self.kind != "listbox":
            if self.marks[0].option is None and len(self.marks) == 1:
                yes = value if isinstance(value, bool) else typed.checked(str(value)) is not False
                return frozenset([0] if yes else [])
            return frozenset(at for at, _ in self.chosen(value) if at is not None)
        if self.kind in ("select", "listbox", "combobox") or self.first.role == "combobox":
            return self.options(value)
        return native(self.kind, f"{self.first.hint} {self.first.name}", value, others)

    def chosen(self, value: Any) -> list[tuple[int | None, Any]]:
        """The numbers of the marks that an answer means, by their labels or else their values."""
        values = value if isinstance(value, list) else [value]
        names, sent = ([mark.name for mark in self.marks], [m.option or "" for m in self.marks])
        either = ((matching.closest(text, names), matching.closest(text, sent)) for text in values)
        return [
            (at if at is not None else other, text)
            for (at, other), text in zip(either, values, strict=True)
        ]

    def options(self, value: Any) -> tuple[str, ...]:
        """The options that an answer means, by their texts; as given where there is none such."""
        values = value if isinstance(value, list) else [value]
        chosen = [(matching.closest(text, self.first.options), text) for text in values]
        return tuple(str(text) if at is None else self.first.options[at] for at, text in chosen)


def fields_of(elements: Iterable[Element], address: str = "") -> dict[str, PageField]:
    """The fields by name, in the order of the page.

    Examples
    --------
    >>> box = (0, 0, 9, 9)
    >>> ticks = [Element("food", o, "radio", "", False, (), box, name=o) for o in ("Rice", "Soup")]
    >>> [len(field.elements) for field in fields_of(ticks).values()]
    [2]
    """
    groups: dict[str, list[Element]] = {}
    for element in elements:
        # What is drawn on has no value, and so no name of a field.
        name = element.field or (f"canvas {element.id}" if element.kind == "canvas" else "")
        asks = element.kind not in BUTTONS or element.role in _ROLES
        if name and asks and not element.disabled:
            groups.setdefault(name, []).append(element)
    return {
        name: PageField(name, number, tuple(group), address)
        for number, (name, group) in enumerate(groups.items())
    }


def paired(values: Mapping[str, Any], fields: Mapping[str, PageField]) -> dict[str, PageField]:
    """The field of each answer, by its label or name, as `matching.pair` has them.

    A list may also be of ticks that only stand together, and a yes or no of one tick of a choice.
    """
    known: dict[str, PageField] = {}
    for kind, others in ((object, dict.values), (list, _together), (bool, _apart)):
        left = [
            key for key, value in values.items() if key not in known and isinstance(value, kind)
        ]
        taken = {field.name for field in known.values()}
        free = {name: field for name, field in fields.items() if name not in taken}
        more = {field.name: field for field in others(free)} if left else {}
        pairs = matching.pair(left, {name: (name, *field.names) for name, field in more.items()})
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
    if kind == "text" and day_of(text, others) and not _SHORT_DATE.fullmatch(text):
        return as_asked(text, hint, order=_order(text, others))
    if kind not in _NOTATIONS:
        return text
    return in_control(text, kind, order=_order(text, others)) or text


def _order(text: str, others: Collection[Any]) -> Order | None:
    return date_order([each for each in (text, *others) if isinstance(each, str)])


def day_of(text: str, others: Collection[Any] = ()) -> datetime.date | None:
    """The day that a text is; None if it is none."""
    days = typed.date(text)
    if days and len(days) > 1:
        first, second = typed.date_readings(text)
        return _date(second if _order(text, others) == "day" else first)
    return _date(min(days)) if days else None


def _date(day: Any) -> datetime.date:
    return datetime.date(day.year, day.month, day.day)


def asks_for_day(field: PageField) -> bool:
    """Whether a field asks for a day."""
    hint = f"{field.first.name} {field.first.hint}"
    return field.kind == "date" or kind_asked_for(hint) == "date"


def is_day(field: PageField, value: Any) -> bool:
    """Whether a day is asked for, and the answer is one."""
    return asks_for_day(field) and isinstance(value, str) and day_of(value) is not None
