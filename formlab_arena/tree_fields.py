"""Questions of a page by its elements, and what is to be done to enter a value in each."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from formlab.text import typed
from formlab.text.dates import Order
from formlab_arena.actions import Action, Click, Fill, Select, Upload
from formlab_arena.instruction_text import InstructionText, LabelMention
from formlab_arena.observation import Element
from formlab_arena.option_matching import closest, file_named, options_in, several
from formlab_arena.value_patterns import in_control

if TYPE_CHECKING:
    from formlab_arena.page_reading import PageValues

_TEXTS = frozenset({
    "text", "email", "tel", "url", "password", "search", "number", "range", "date", "time",
    "month", "week", "datetime-local", "color", "textarea", "textbox", "searchbox", "spinbutton",
    "slider",
})  # fmt: skip
_FIELDS = _TEXTS | {"file", "checkbox", "radio", "select", "listbox", "combobox"}
_ROLES = {"combobox", "listbox", "slider", "switch", "textbox", "spinbutton"}
# Fields for parts of a date, and how these are written.
_PARTS = {"day": ("%d",), "dd": ("%d",), "year": ("%Y",), "yyyy": ("%Y",), "yy": ("%y",)}
_PARTS |= dict.fromkeys(("month", "mm"), ("%B", "%b", "%m"))
# What the type of an input asks for, in the words of a label.
_ASKS = {"tel": "phone", "email": "email", "url": "url", "date": "date"}


@dataclasses.dataclass(frozen=True)
class TreeField:
    """A question of a page: its control, or the ticks of a choice."""

    elements: tuple[Element, ...]
    key: tuple[str, ...]

    @property
    def label(self) -> str:
        """What is asked."""
        return self.elements[0].label or self.elements[0].name

    @property
    def names(self) -> list[str]:
        """What it may be called, likeliest first."""
        first = self.elements[0]
        hint = first.hint.partition(";")[0]
        around = [f"{group} {self.label}" for group in first.group[-1:]]
        words = re.sub(r"[_\W]+", " ", first.field)
        return list(dict.fromkeys(filter(None, (self.label or hint, *around, words))))

    @property
    def suggests(self) -> bool:
        """Whether a list opens where it is written into."""
        return self.elements[0].role == "combobox" and self.elements[0].kind != "select"

    @property
    def is_tick(self) -> bool:
        """Whether it is ticked or not, and no choice."""
        return len(self.elements) == 1 and self.elements[0].kind == "checkbox"

    @property
    def is_covered(self) -> bool:
        """Whether something lies over all of it."""
        return all(element.covered for element in self.elements)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written, chosen or ticked."""
        ticks = [e.checked for e in self.elements if e.checked is not None]
        return not any(ticks) if ticks else not self.elements[0].value

    @property
    def message(self) -> str:
        """What the page says is wrong."""
        return next((e.message for e in self.elements if e.message), "")

    @property
    def required(self) -> bool:
        """Whether the page asks for an answer."""
        return any(element.required for element in self.elements)


def fields_of(elements: Sequence[Element], address: str = "") -> list[TreeField]:
    """The questions of a page in reading order.

    Examples
    --------
    >>> box = (0, 0, 9, 9)
    >>> ticks = [Element("food", o, "radio", "", False, (), box, name=o) for o in ("Rice", "Soup")]
    >>> [len(field.elements) for field in fields_of(ticks)]
    [2]
    """
    grouped: dict[str, list[Element]] = {}
    for element in elements:
        asks = element.kind in _FIELDS or element.role in _ROLES
        if element.field and asks and not element.disabled and element.role != "option":
            grouped.setdefault(element.field, []).append(element)
    return [
        TreeField(tuple(some), (address.partition("#")[0], name, some[0].label, *some[0].group))
        for name, some in grouped.items()
    ]


def date_part(field: TreeField, value: str, order: Order | None = None) -> str:
    """The day, month or year of a date, as a field of that name has it; else empty.

    Examples
    --------
    >>> month = Element("m", None, "select", "", None, ("Feb", "Mar"), (0, 0, 9, 9), name="Month")
    >>> date_part(fields_of([month])[0], "5 March 1990")
    'Mar'
    """
    name = field.label.casefold().strip(" *:.")
    iso = in_control(value, "date", order=order) if name in _PARTS else None
    if iso is None:
        return ""
    day, options = datetime.date.fromisoformat(iso), field.elements[0].options
    texts = [f"{day:{form}}" for form in _PARTS[name]]
    return next((t for t in texts if closest(t, options) is not None), "" if options else texts[-1])


@dataclasses.dataclass(frozen=True)
class Entry:
    """The actions that enter a value, and the text to look for in the list that they open."""

    actions: Sequence[Action] = ()
    text: str = ""


def entry(
    field: TreeField, text: InstructionText | PageValues, mention: LabelMention | None, *,
    files: Sequence[str] = (), tries: int = 0, order: Order | None = None,
) -> Entry:  # fmt: skip
    """What is left to do for a field; nothing where it has its value, or the text names none.

    Parameters
    ----------
    field, text, mention
        The question, the instructions, and what they say about it.
    files
        The names of the files that can be uploaded.
    tries
        How often it has been filled in already; another time another way is taken.
    order
        That of day and month in the text.
    """
    e, value = field.elements[0], mention.value if mention else ""
    if e.kind in ("radio", "checkbox") or e.role == "switch":
        return Entry([Click(element=tick.id) for tick in _ticks(field, text, mention)])
    if e.kind == "file":
        named = [name for name in files if e.many and name in value]
        likely = file_named(field.label, value, files) if mention or e.required else None
        names = named or ([likely] if likely else [])
        return Entry([Upload(e.id, tuple(names))] if names and not e.value else [])
    if e.options and (e.kind not in _TEXTS or e.kind == "listbox"):
        return Entry(_chosen(e, mention))
    if e.kind not in _TEXTS:
        if not value or _plain(value) == _plain(e.value):
            return Entry()
        return Entry([Click(element=e.id)], value) if tries else Entry([Select(e.id, (value,))])
    written = _written(field, text, mention, order)
    same = e.value == written if e.message else _plain(e.value) == _plain(written or "")
    if written is None or same or "read-only" in e.hint:
        return Entry()
    return Entry([Fill(e.id, written)], written)


def _written(
    field: TreeField, text: InstructionText | PageValues, mention: LabelMention | None,
    order: Order | None,
) -> str | None:  # fmt: skip
    e = field.elements[0]
    labelled = getattr(text, "labelled", True)
    if mention is None and labelled:
        return None
    asks = _ASKS.get(e.kind, "")
    value = text.span(field.label, mention, hint=f"{e.hint} {asks}")
    if value is None and mention:
        tall = e.kind in ("textarea", "textbox")
        value = mention.whole if tall else " ".join(mention.value.split())
    if not value:
        return None
    if e.options and (at := closest(value, e.options)) is not None:
        return e.options[at]
    kind = "number" if e.kind in ("spinbutton", "slider") else e.kind
    return in_control(value, kind, hint=f"{e.hint} {field.label} {field.message}", order=order)


def _ticks(
    field: TreeField, text: InstructionText | PageValues, mention: LabelMention | None
) -> list[Element]:
    """The ticks to press."""
    ticks = field.elements
    if len(ticks) == 1 and ticks[0].kind != "radio":
        yes = typed.checked(mention.value) if mention else None
        if yes is None:
            # What must be ticked before a form is sent needs no word in the text.
            yes = not mention.denies if mention else ticks[0].required
        return list(ticks) if bool(ticks[0].checked) != yes and (mention or yes) else []
    wanted = _options(ticks, text, mention)
    many = ticks[0].kind == "checkbox"
    return [
        tick
        for n, tick in enumerate(ticks)
        if (n in wanted and not tick.checked)
        or (many and wanted and n not in wanted and tick.checked)
    ]


def _options(
    ticks: Sequence[Element], text: InstructionText | PageValues, mention: LabelMention | None
) -> set[int]:
    """Which ticks of a choice the text means."""
    names, values = [e.name or e.option or "" for e in ticks], [e.option or "" for e in ticks]
    many = ticks[0].kind == "checkbox"
    if mention and mention.value:
        if many:
            return set(several(mention.whole, names) or several(mention.whole, values))
        at = closest(mention.value, names)
        at = closest(mention.value, values) if at is None else at
        return {at} if at is not None else set(options_in(mention.whole, names)[:1])
    own = [text.about(name) for name in names]
    if any(m and m.plain for m in own):
        named = {n for n, m in enumerate(own) if m and not m.denies}
        return named if many or len(named) == 1 else set()
    named = set() if getattr(text, "labelled", True) else set(options_in(text.text, names))
    return named if len(named) == 1 else set()


def _chosen(e: Element, mention: LabelMention | None) -> list[Action]:
    """Choose options of a list, native or not."""
    if not mention or not mention.value:
        return []
    if e.many:
        at = several(mention.whole, e.options)
    else:
        near = closest(mention.value, e.options)
        at = [near] if near is not None else options_in(mention.whole, e.options)[:1]
    texts = [e.options[n] for n in at]
    return [Select(e.id, tuple(texts))] if texts and e.value != ", ".join(texts) else []


def _plain(text: str) -> str:
    return "".join(re.findall(r"[^\W_]", text.casefold()))
