"""The system `rules` where it sees the elements of a page: it needs neither pixels nor OCR."""

from __future__ import annotations

import collections
import dataclasses
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from formlab.text import typed
from formlab.text.dates import date_order
from formlab_arena.actions import (
    Action,
    Answer,
    Click,
    Drag,
    Fill,
    Hover,
    Press,
    Select,
    Type,
    Upload,
    Wait,
)  # fmt: skip
from formlab_arena.instruction_text import InstructionText, LabelMention
from formlab_arena.observation import Element, Observation
from formlab_arena.option_matching import closest, file_named, options_in, several
from formlab_arena.value_patterns import in_control

if TYPE_CHECKING:
    from formlab_arena.page_reading import PageValues

_TEXTS = frozenset({
    "text", "email", "tel", "url", "password", "search", "number", "range", "date", "time",
    "month", "week", "datetime-local", "color", "textarea", "textbox", "searchbox", "spinbutton",
})  # fmt: skip
_FIELDS = _TEXTS | {"file", "checkbox", "radio", "select", "listbox", "combobox", "slider"}
_ROLES = {"combobox", "listbox", "slider", "switch", "textbox", "spinbutton"}
_PUSHED = {"button", "submit", "image", "a", "link"}
_ONWARD = re.compile(
    r"(?:(?:save|go|move)(?: and| &| on)* )?(?:next|continue|proceed|forward|weiter)\b|[>›»→]+$",
    re.IGNORECASE,
)
_SEND = re.compile(
    r"(?:(?:yes|ok(?:ay)?)\b[, ]*)?(?:submit|send|apply|register|sign up|place|order|book|save"
    r"|finish|done|confirm|complete|create|request|enrol+|join|pay|donate|subscribe)\b",
    re.IGNORECASE,
)
_START = re.compile(r"(?:start|begin|open|fill|apply|new|go to|get started|show)\b", re.IGNORECASE)
_OTHER = re.compile(
    r"\W*(?:(?:go )?back|prev(?:ious)?|cancel|reset|clear|close|search|log ?(?:in|out)"
    r"|sign (?:in|out)|add|remove|delete|edit|upload|browse|choose|select|help|print|download|skip"
    r"|share|show|hide|toggle|menu|copy|undo|redo|dismiss|decline|reject"
    r"|save (?:as )?(?:a )?draft|save for later)\b",
    re.IGNORECASE,
)
_CLOSE = (
    r"accept|allow|agree|i agree|consent",
    r"ok(?:ay)?\b|got it|(?:i )?understand|understood|fine\b",
    r"close|dismiss|[×✕✖xX]$", r"continue|proceed|start|enter\b|next",
    r"reject|decline|deny|refuse|only|necessary|no\b|not now|maybe|later|skip",
)  # fmt: skip
_AGAIN = re.compile(r"\b(?:confirm|repeat|re-?type|re-?enter|verify|again)\b", re.IGNORECASE)
_NUMERIC = re.compile(r"\b\d\d?[/-]\d\d?[/-]\d{2,4}\b")
# Looks beyond the number of fields, tries at a field, presses of buttons, and turns of a wizard.
_LOOKS, _TRIES, _MENDS, _PRESSES = 15, 3, 2, 25


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
        words = re.sub(r"[_\W]+", " ", first.field)
        around = [f"{group} {self.label}" for group in first.group[-1:]]
        return list(dict.fromkeys(filter(None, (self.label or hint, *around, words))))

    @property
    def hint(self) -> str:
        """All that the page says about its form."""
        first = self.elements[0]
        return f"{first.hint} {self.label} {first.message}"


def fields_of(elements: Sequence[Element], address: str = "") -> list[TreeField]:
    """The questions of a page in reading order."""
    grouped: dict[str, list[Element]] = {}
    for element in elements:
        asks = element.kind in _FIELDS or element.role in _ROLES
        if element.field and asks and not element.disabled and element.role != "option":
            grouped.setdefault(element.field, []).append(element)
    return [
        TreeField(tuple(some), (address.partition("#")[0], name, some[0].label, *some[0].group))
        for name, some in grouped.items()
    ]


class RulesByTree:
    """Fills in what the text names for the labels of a page's elements, and sends it once.

    `values` are those of a page, in place of a text.
    """

    def __init__(self, values: PageValues | None = None) -> None:
        self._values = values
        self._text: InstructionText | PageValues = values or InstructionText("")
        self._tries: collections.Counter[tuple[str, ...]] = collections.Counter()
        self._places: dict[tuple[str, ...], int] = {}
        self._seen: set[tuple[str, ...]] = set()
        self._ids: set[str] = set()
        self._looks = self._waits = self._presses = self._mends = 0
        self._open: list[str] = []
        self._pressed: tuple[str, set[tuple[str, ...]]] | None = None
        self._closed: collections.Counter[str] = collections.Counter()
        self._drawn: set[str] = set()
        self._last = ""

    def act(self, observation: Observation) -> list[Action]:
        """The actions that fill in the page; else the press of a button; else none."""
        if self._values is None and self._text.text != observation.text:
            self._text = InstructionText(observation.text)
        self._looks += 1
        fields = fields_of(observation.elements, observation.address)
        keys = {field.key for field in fields}
        if self._looks > _LOOKS + len(self._seen | keys):
            return []
        if observation.dialog:
            return [Answer(True, self._prompted(observation))]
        usable = [e for e in observation.elements if not e.disabled]
        new, self._ids = self._new(usable), self._ids | {e.id for e in usable}
        if chosen := self._suggested(usable, new):
            return chosen
        if closing := self._closing(usable, fields):
            return closing
        pressed = self._pressed and not observation.refused
        after = self._after_press(fields, keys, usable) if pressed else None
        if after is not None:
            return after
        self._pressed = None
        self._seen |= keys
        if not fields and not self._presses and self._waits < 2:
            self._waits += 1
            return [Wait(3.0)]
        return (
            self._filled(fields, observation)
            or self._drawing(usable)
            or self._press(usable, fields, keys)
        )

    def _new(self, usable: Sequence[Element]) -> list[Element]:
        return [e for e in usable if e.id not in self._ids] if self._ids else []

    def _prompted(self, observation: Observation) -> str:
        dialog = observation.dialog
        mention = self._text.about(dialog.text.strip(" :?")) if dialog.kind == "prompt" else None
        return mention.value if mention else ""

    def _closing(self, usable: Sequence[Element], fields: Sequence[TreeField]) -> list[Action]:
        """Close what lies over the form: a banner with cookies, a window with news."""
        free = [field for field in fields if not all(e.covered for e in field.elements)]
        pushed = [e for e in usable if _is_button(e) and not e.covered]
        over = [e for e in pushed if any(group.startswith("dialog") for group in e.group)]
        hidden = len(free) < len(fields) or any(e.covered for e in usable if _is_button(e))
        if not hidden or (free and any("dialog" in " ".join(f.elements[0].group) for f in free)):
            return []
        for pattern in _CLOSE:
            for e in over or pushed:
                named = re.match(rf"\W*(?:{pattern})", e.name, re.IGNORECASE)
                if named and self._closed[e.id] < 2:
                    self._closed[e.id] += 1
                    return [Click(element=e.id)]
        return []

    def _suggested(self, usable: Sequence[Element], new: Sequence[Element]) -> list[Action]:
        """Choose in the list that has opened what was typed or looked for."""
        wanted, self._open = self._open, []
        listed = [e for e in usable if e.role in ("option", "menuitem", "menuitemradio")]
        listed = [e for e in listed if e in new] or [e for e in listed if not e.covered]
        actions = []
        for value in wanted:
            at = closest(value, [e.name for e in listed])
            same = [e for e in new if not e.field and _plain(e.name) == _plain(value)]
            e = listed[at] if at is not None else same[0] if same else None
            if e is not None and not e.checked:
                actions.append(Click(element=e.id))
        return actions

    def _filled(self, fields: Sequence[TreeField], observation: Observation) -> list[Action]:
        """The actions of all fields; one that opens a list comes last and ends them."""
        free = [f for f in fields if not all(e.covered for e in f.elements)] or list(fields)
        actions: list[Action] = []
        opening: list[tuple[TreeField, list[Action], list[str]]] = []
        order = date_order(_NUMERIC.findall(getattr(self._text, "text", "")))
        for field, mention in zip(free, self._mentions(free), strict=True):
            if self._tries[field.key] >= _TRIES:
                continue
            todo, options = self._todo(field, mention, observation, order)
            if not todo:
                continue
            if options and field.elements[0].role == "combobox":
                opening.append((field, todo, options))
                continue
            self._tries[field.key] += 1
            self._open += options
            actions += todo
            self._last = field.elements[-1].id
        if not actions and opening:
            field, actions, self._open = opening[0]
            self._tries[field.key] += 1
            self._last = field.elements[-1].id
        return actions

    def _mentions(self, fields: Sequence[TreeField]) -> list[LabelMention | None]:
        if not isinstance(self._text, InstructionText):
            about = self._text.about
            return [next((m for n in f.names if (m := about(n))), None) for f in fields]
        keys = {field.key for field in fields}
        used = {place for key, place in self._places.items() if key not in keys}
        mentions = self._text.assign([field.names for field in fields], used=used)
        by_label = {
            re.sub(r"\W", "", f.label.lower()): m for f, m in zip(fields, mentions, strict=True)
        }
        for n, (field, mention) in enumerate(zip(fields, mentions, strict=True)):
            if mention and mention.place >= 0:
                self._places[field.key] = mention.place
            if mention is None and _AGAIN.search(field.label):
                # "Confirm password" asks for what "Password" asks for.
                mentions[n] = by_label.get(re.sub(r"\W", "", _AGAIN.sub("", field.label).lower()))
        return mentions

    def _todo(
        self, field: TreeField, mention: LabelMention | None, observation: Observation, order: str
    ) -> tuple[list[Action], list[str]]:
        """What is left to do for a field, and what is to be chosen in the list that it opens."""
        e = field.elements[0]
        value = mention.value if mention else ""
        if e.kind in ("radio", "checkbox") or e.role == "switch":
            return [Click(element=tick.id) for tick in self._ticks(field, mention)], []
        if e.kind == "file":
            names = [name for name in observation.files if e.many and name in value]
            only = file_named(field.label, value, observation.files)
            names = names or ([only] if only and (mention or e.required) else [])
            return ([Upload(e.id, tuple(names))] if names and not e.value else []), []
        if e.options and e.kind not in _TEXTS:
            return _chosen(e, mention), []
        if e.role == "combobox" and e.kind not in _TEXTS:
            if not value or _plain(value) == _plain(e.value):
                return [], []
            opened = self._tries[field.key] > 0
            return ([Click(element=e.id)], [value]) if opened else ([Select(e.id, (value,))], [])
        if (text := self._written(field, mention, order)) is None or "read-only" in e.hint:
            return [], []
        if _plain(e.value) == _plain(text) and (not e.message or self._tries[field.key]):
            return [], []
        typing = [Click(element=e.id), Press("Control+A"), Type(text)]
        return (typing if self._tries[field.key] else [Fill(e.id, text)]), [text]

    def _written(self, field: TreeField, mention: LabelMention | None, order: str) -> str | None:
        e = field.elements[0]
        if mention is None and getattr(self._text, "labelled", True):
            return None
        asks = {"tel": "phone"}.get(e.kind, e.kind if e.kind in ("email", "url", "date") else "")
        value = self._text.span(field.label, mention, hint=f"{e.hint} {asks}")
        if value is None and mention:
            tall = e.kind in ("textarea", "textbox")
            value = mention.whole if tall else " ".join(mention.value.split())
        kind = "number" if e.kind in ("spinbutton", "slider") else e.kind
        return in_control(value, kind, hint=field.hint, order=order) if value else None

    def _ticks(self, field: TreeField, mention: LabelMention | None) -> list[Element]:
        """The ticks to press."""
        ticks, names = field.elements, [e.name or e.option or "" for e in field.elements]
        single = len(ticks) == 1 and ticks[0].kind != "radio"
        if single:
            yes = typed.checked(mention.value) if mention else None
            if yes is None:
                # What must be ticked before a form is sent needs no word in the text.
                yes = not mention.denies if mention else ticks[0].required
            wanted = {0} if yes else set()
            return [ticks[0]] if bool(ticks[0].checked) != yes and (mention or yes) else []
        wanted = self._options(mention, names, ticks)
        return [
            e for n, e in enumerate(ticks)
            if (n in wanted and not e.checked)
            or (wanted and n not in wanted and e.checked and e.kind == "checkbox")
        ]  # fmt: skip

    def _options(
        self, mention: LabelMention | None, names: Sequence[str], ticks: Sequence[Element]
    ) -> set[int]:
        if mention and mention.value:
            values = [e.option or "" for e in ticks]
            if ticks[0].kind == "checkbox":
                return set(several(mention.whole, names) or several(mention.whole, values))
            at = closest(mention.value, names)
            at = closest(mention.value, values) if at is None else at
            return {at} if at is not None else set(options_in(mention.whole, names)[:1])
        own = [self._text.about(name) for name in names]
        if any(m and m.plain for m in own):
            named = {n for n, m in enumerate(own) if m and not m.denies}
            return named if ticks[0].kind == "checkbox" or len(named) == 1 else set()
        if getattr(self._text, "labelled", True):
            return set()
        named = options_in(self._text.text, names)
        return set(named) if len(named) == 1 else set()

    def _drawing(self, usable: Sequence[Element]) -> list[Action]:
        """A line in a canvas that is to be signed."""
        for e in usable:
            words = " ".join((e.name, e.label, e.field, e.hint, *e.group[-1:]))
            if e.kind != "canvas" or e.id in self._drawn or e.covered:
                continue
            if e.required or re.search(r"sign|draw", words, re.IGNORECASE) or self._mends:
                if e.id not in self._closed:
                    self._closed[e.id] += 1
                    return [Hover(element=e.id)]
                self._drawn.add(e.id)
                x0, y0, x1, y1 = e.box
                x, y, dx, dy = (
                    x0 + 0.2 * (x1 - x0),
                    y0 + 0.6 * (y1 - y0),
                    (x1 - x0) / 4,
                    (y1 - y0) / 4,
                )
                return [Drag(x, y, x + dx, y - dy), Drag(x + dx, y, x + 2 * dx, y + dy)]
        return []

    def _after_press(
        self, fields: Sequence[TreeField], keys: set[tuple[str, ...]], usable: Sequence[Element]
    ) -> list[Action] | None:
        """What to do after a button was pressed: None to go on with the page as it is now."""
        kind, before = self._pressed
        new = keys - self._seen
        if kind == "onward":
            if keys != before or self._mends >= _MENDS:
                return None if keys != before else []
        elif new and any(
            m and m.value and self._places.get(f.key, -1) == m.place and f.key in new
            for f, m in zip(fields, self._mentions(fields), strict=True)
        ):
            return None
        wrong = [f for f in fields if f.key in before and any(e.message for e in f.elements)]
        wrong += [f for f in fields if f.key in before and _is_missing(f)]
        asks = not fields and any(_is_button(e) and _SEND.match(e.name) for e in usable)
        if wrong and self._mends < _MENDS:
            self._mends += 1
            for field in wrong:
                self._tries[field.key] = min(self._tries[field.key], 1)
            return None
        if self._waits < 3 and not wrong:
            self._waits = 3
            return [Wait(1.0)]
        return None if asks and kind == "onward" else []

    def _press(
        self, usable: Sequence[Element], fields: Sequence[TreeField], keys: set[tuple[str, ...]]
    ) -> list[Action]:
        """Press the button that sends the form, or that shows its next page."""
        if self._presses >= _PRESSES:
            return []
        ids = [e.id for e in usable]
        after = ids.index(self._last) if self._last in ids else -1
        if after < 0 and fields:
            after = (
                ids.index(fields[-1].elements[-1].id) if fields[-1].elements[-1].id in ids else 0
            )
        buttons = [
            (rank, n < after, abs(n - after), n)
            for n, e in enumerate(usable)
            if _is_button(e) and (rank := _rank(e, bool(fields))) is not None
        ]
        if not buttons:
            return []
        e = usable[min(buttons)[-1]]
        kind = "onward" if _ONWARD.match(e.name) or not fields else "send"
        self._presses += 1
        self._pressed = kind, keys
        return [Click(element=e.id)]


def _rank(e: Element, fields: bool) -> int | None:
    """How likely a button goes on with the form; the lowest first, None for no such button."""
    name = e.name.strip()
    submits = e.kind in ("submit", "image")
    if _OTHER.match(name):
        return None
    if _SEND.match(name):
        return 0 if e.kind not in ("a", "link") else 3
    if _ONWARD.match(name):
        return 1 if e.kind not in ("a", "link") else 3
    if submits:
        return 2
    return 4 if not fields and _START.match(name) else None


def _is_button(e: Element) -> bool:
    return e.kind in _PUSHED or e.role in ("button", "link")


def _is_missing(field: TreeField) -> bool:
    ticks = [e.checked for e in field.elements if e.checked is not None]
    empty = not any(ticks) if ticks else not field.elements[0].value
    return empty and any(e.required for e in field.elements)


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
