"""The system `rules` where it sees the elements of a page: it needs neither pixels nor OCR."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from formlab.text import Order, date_order
from formlab.text import values as typed
from formlab_arena.actions import Action
from formlab_arena.filler import Filler, Homes, in_dialog
from formlab_arena.instruction_text import InstructionText, LabelMention
from formlab_arena.matching import closest, file_named, options_in, several
from formlab_arena.observation import Element, Observation
from formlab_arena.page_fields import Content, PageField, asks_for_day
from formlab_arena.value_patterns import in_control

if TYPE_CHECKING:
    from formlab_arena.page_reading import PageValues

_AGAIN = re.compile(r"\b(?:confirm|repeat|re-?type|re-?enter|verify|again)\b", re.IGNORECASE)
_NUMERIC = re.compile(r"\b\d\d?[/-]\d\d?[/-]\d{2,4}\b")
# Fields for parts of a date, and how these are written.
_PARTS = {"day": ("%d",), "dd": ("%d",), "year": ("%Y",), "yyyy": ("%Y",), "yy": ("%y",)}
_PARTS |= dict.fromkeys(("month", "mm"), ("%B", "%b", "%m"))
# What the type of an input asks for, in the words of a label.
_ASKS = {"tel": "phone", "email": "email", "url": "url", "date": "date"}


class RulesByTree(Filler):
    """Fills in what the text names for the labels of a page's elements, and sends it once.

    `values` are those of a page, in place of a text.
    """

    def __init__(self, values: PageValues | None = None) -> None:
        super().__init__()
        self._values = values
        self._text: InstructionText | PageValues = values or InstructionText("")
        self._order: Order | None = None
        # The places in the text that fields have had, by field.
        self._places: dict[tuple[str, ...], int] = {}

    def act(self, observation: Observation) -> list[Action]:
        """The next actions; none after the form was sent, or when there is nothing left to do."""
        if self._values is None and self._text.text != observation.text:
            self._text = InstructionText(observation.text)
            self._order = date_order(_NUMERIC.findall(observation.text))
        return super().act(observation)

    def homes(self, fields: Mapping[str, PageField], observation: Observation) -> Homes:
        """The fields that the text names, and those that must be ticked or signed."""
        asked = [field for field in fields.values() if field.asks]
        free = [field for field in asked if not field.is_covered]
        asked = free if any(in_dialog(field.first) for field in free) else asked
        homes: list[tuple[PageField, Content]] = [
            (f, "signed") for f in fields.values() if f.kind == "canvas" and _is_signed(f)
        ]
        for field, mention in zip(asked, self._mentions(asked), strict=True):
            content = content_for(
                field, self._text, mention, files=observation.files, order=self._order
            )
            if content is not None:
                homes.append((field, content))
        return homes

    def answer(self, question: str) -> str:
        """What the text says about the question of a dialog."""
        mention = self._text.about(question.strip(" :?"))
        return mention.value if mention else ""

    def day(self, field: PageField, content: Content) -> datetime.date | None:
        """The day to choose in a calendar, where a field asks for one."""
        asked = isinstance(content, str) and asks_for_day(field)
        iso = in_control(content, "date", order=self._order) if asked else None
        return datetime.date.fromisoformat(iso) if iso else None

    def is_form(self, fields: Mapping[str, PageField], homes: Homes) -> bool:
        """Whether the page shows the form, also where the text names none of its fields."""
        return bool(homes) or any(field.asks for field in fields.values())

    def _mentions(self, fields: Sequence[PageField]) -> list[LabelMention | None]:
        """What the text says about each field."""
        about = self._text.about
        if not isinstance(self._text, InstructionText):
            return [next((m for name in f.names if (m := about(name))), None) for f in fields]
        keys = {field.key for field in fields}
        used = {place for key, place in self._places.items() if key not in keys}
        mentions = self._text.assign([field.names for field in fields], used=used)
        first = {_squeezed(f.label): m for f, m in zip(fields, mentions, strict=True)}
        for n, (field, mention) in enumerate(zip(fields, mentions, strict=True)):
            if mention and mention.place >= 0:
                self._places[field.key] = mention.place
            if mention is None and _AGAIN.search(field.label):
                # "Confirm password" asks for what "Password" asks for.
                mentions[n] = first.get(_squeezed(_AGAIN.sub("", field.label)))
            group = field.first.group[-1:]
            whole = about(group[0]) if group and len(field.label) < 7 else None
            if whole and (part := date_part(field, whole.value, self._order)):
                mentions[n] = LabelMention(part, denies=False, whole=part)
        self._answer_groups(fields, mentions)
        return mentions

    def _answer_groups(
        self, fields: Sequence[PageField], mentions: list[LabelMention | None]
    ) -> None:
        """Ticks with names of their own under a heading that the text answers as one choice."""
        groups: dict[tuple[str, ...], list[int]] = {}
        for n, field in enumerate(fields):
            if field.is_tick and field.first.group:
                groups.setdefault(field.first.group, []).append(n)
        for group, numbers in groups.items():
            mention = self._text.about(group[-1]) if len(numbers) > 1 else None
            names = [fields[n].label for n in numbers]
            for at in several(mention.whole, names) if mention else ():
                names[at] = ""
            for n, name in zip(numbers, names, strict=True) if "" in names else ():
                mentions[n] = LabelMention("no" if name else "yes", bool(name))


def date_part(field: PageField, value: str, order: Order | None = None) -> str:
    """The day, month or year of a date, as a field of that name has it; else empty.

    Examples
    --------
    >>> from formlab_arena.page_fields import fields_of
    >>> month = Element("m", None, "select", "", None, ("Feb", "Mar"), (0, 0, 9, 9), name="Month")
    >>> date_part(fields_of([month])["m"], "5 March 1990")
    'Mar'
    """
    name = field.label.casefold().strip(" *:.")
    iso = in_control(value, "date", order=order) if name in _PARTS else None
    if iso is None:
        return ""
    day, options = datetime.date.fromisoformat(iso), field.first.options
    texts = [f"{day:{form}}" for form in _PARTS[name]]
    return next((t for t in texts if closest(t, options) is not None), "" if options else texts[-1])


def content_for(
    field: PageField, text: InstructionText | PageValues, mention: LabelMention | None, *,
    files: Sequence[str] = (), order: Order | None = None,
) -> Content | None:  # fmt: skip
    """What a field is to hold, by what the text says about it; None where it says nothing.

    Parameters
    ----------
    field, text, mention
        The field, the instructions, and what they say about it.
    files
        The names of the files that can be uploaded.
    order
        That of day and month in the text.
    """
    first, value = field.first, mention.value if mention else ""
    if field.marks and field.kind != "listbox":
        return _ticked(field.marks, text, mention)
    if field.kind == "file":
        named = [name for name in files if first.many and name in value]
        likely = file_named(field.label, value, files) if mention or first.required else None
        names = named or ([likely] if likely else [])
        return tuple(names) if names and not first.value else None
    if field.takes_text:
        written = _written(field, text, mention, order)
        return None if "read-only" in first.hint else written
    if not first.options or not value:
        return (value,) if value else None
    near = [closest(value, first.options)]
    near = near if near != [None] else options_in(mention.whole, first.options)[:1]
    chosen = several(mention.whole, first.options) if first.many else near
    return tuple(first.options[at] for at in chosen) or None


def _written(
    field: PageField, text: InstructionText | PageValues, mention: LabelMention | None,
    order: Order | None,
) -> str | None:  # fmt: skip
    e = field.first
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


def _ticked(
    ticks: Sequence[Element], text: InstructionText | PageValues, mention: LabelMention | None
) -> frozenset[int] | None:
    """Which ticks are on; None where none is to be touched."""
    if len(ticks) > 1 or ticks[0].kind == "radio":
        return frozenset(_options(ticks, text, mention)) or None
    yes = typed.checked(mention.value) if mention else None
    if yes is None:
        # What must be ticked before a form is sent needs no word in the text.
        yes = not mention.denies if mention else ticks[0].required
    return frozenset([0] if yes else []) if mention or yes else None


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


def _is_signed(field: PageField) -> bool:
    first = field.first
    words = " ".join((first.name, first.label, first.field, first.hint, *first.group[-1:]))
    return first.required or re.search(r"sign|draw", words, re.IGNORECASE) is not None


def _squeezed(label: str) -> str:
    return re.sub(r"\W", "", label.casefold())
