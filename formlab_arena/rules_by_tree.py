"""The system `rules` where it sees the elements of a page: it needs neither pixels nor OCR."""

from __future__ import annotations

import collections
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from formlab.text.dates import Order, date_order
from formlab_arena.actions import Action, Answer, Click, Drag, Hover, Press, Wait
from formlab_arena.instruction_text import InstructionText, LabelMention
from formlab_arena.matching import closest, several
from formlab_arena.observation import Element, Observation
from formlab_arena.page_fields import PageField, fields_of
from formlab_arena.tree_fields import content_for, date_part

if TYPE_CHECKING:
    from formlab_arena.page_reading import PageValues

_PUSHED = {"button", "submit", "image", "a", "link"}
_ONWARD = re.compile(
    r"(?:(?:save|go|move)(?: and| &|,| on)* )?(?:next|continue|proceed|forward)\b|[>›»→]+$",
    re.IGNORECASE,
)
_SEND = re.compile(
    r"(?:(?:yes|ok(?:ay)?)\b[, ]*)?(?:submit|send|apply|register|sign up|place|order|book|save"
    r"|finish|done|confirm|complete|create|request|enrol+|join|pay|donate|subscribe)\b"
    r"(?!.*\b(?:another|again|new)\b)",
    re.IGNORECASE,
)
_START = re.compile(r"(?:start|begin|open|fill|apply|go to|get started|show)\b", re.IGNORECASE)
_OTHER = re.compile(
    r"\W*(?:(?:go )?back|prev(?:ious)?|cancel|reset|clear|close|search|log ?(?:in|out)"
    r"|sign (?:in|out)|add|remove|delete|edit|upload|browse|choose|select|help|print|download|skip"
    r"|share|show|hide|toggle|menu|copy|undo|redo|dismiss|decline|reject|draw|start over"
    r"|save (?:as )?(?:a )?draft|save for later|preview)\b|.*\b(?:another|draft)\b",
    re.IGNORECASE,
)
# Names of buttons that close what lies over a page: of anything, then of dialogs only.
_CLOSE = (
    r"accept|allow|agree|i agree|consent", r"ok(?:ay)?\b|got it|(?:i )?understand|understood",
    r"close|dismiss|[×✕✖xX]$",
)  # fmt: skip
_CLOSE_DIALOG = (
    r"yes|confirm|submit(?!.*another)|send", r"continue|proceed|enter\b|next|start",
    r"reject|decline|no\b|not now|maybe|later|skip|cancel",
)  # fmt: skip
_AGAIN = re.compile(r"\b(?:confirm|repeat|re-?type|re-?enter|verify|again)\b", re.IGNORECASE)
_NUMERIC = re.compile(r"\b\d\d?[/-]\d\d?[/-]\d{2,4}\b")
# Looks beyond the number of fields; tries at a field, mends of a page, presses, and waits.
_LOOKS, _TRIES, _MENDS, _PRESSES, _WAITS = 15, 3, 2, 25, 2
Key = tuple[str, ...]


class RulesByTree:
    """Fills in what the text names for the labels of a page's elements, and sends it once.

    `values` are those of a page, in place of a text.
    """

    def __init__(self, values: PageValues | None = None) -> None:
        self._values = values
        self._text: InstructionText | PageValues = values or InstructionText("")
        self._order: Order | None = None
        self._tries: collections.Counter[Key] = collections.Counter()
        # The places in the text that fields have had, by field; and the fields met so far.
        self._places: dict[Key, int] = {}
        self._seen: set[Key] = set()
        self._ids: set[str] = set()
        self._clicked: collections.Counter[str] = collections.Counter()
        self._looks = self._waits = self._mends = 0
        self._one_by_one = self._waited = False
        # What was written last, and what a list was opened for.
        self._written: list[str] = []
        self._sought, self._last = "", ""
        # The button that was pressed, whether it sends, and the fields that were empty then.
        self._pressed: tuple[Element, bool, dict[Key, bool]] | None = None

    def act(self, observation: Observation) -> list[Action]:
        """The actions that fill in the page; else the press of a button; else none."""
        if self._values is None and self._text.text != observation.text:
            self._text = InstructionText(observation.text)
            self._order = date_order(_NUMERIC.findall(observation.text))
        self._looks += 1
        every = fields_of(observation.elements, observation.address).values()
        fields = [field for field in every if field.asks]
        if self._looks > _LOOKS + len(self._seen | {field.key for field in fields}):
            return []
        if dialog := observation.dialog:
            asked = self._text.about(dialog.text.strip(" :?")) if dialog.kind == "prompt" else None
            return [Answer(True, asked.value if asked else "")]
        usable = [e for e in observation.elements if not e.disabled]
        fresh = [e for e in usable if self._ids and e.id not in self._ids]
        self._ids |= {e.id for e in usable}
        if before := self._suggested(usable, fresh) or self._closing(usable, fields):
            return before
        if any("no element" in reason for reason in observation.refused) and not self._one_by_one:
            # A page that is drawn anew at every key has other elements after each action.
            self._one_by_one, self._tries = True, collections.Counter()
        if self._pressed and not observation.refused and not self._goes_on(fields, usable):
            # What a slow server answers comes late.
            late = fields and not self._waited
            self._waited = True
            return [Wait(1.0)] if late else []
        self._pressed, self._waited = None, False
        self._seen |= {field.key for field in fields}
        if not fields and not self._clicked and (waiting := self._wait(3.0)):
            return waiting
        return (
            self._filled(fields, observation)
            or self._drawn(usable)
            or self._press(usable, fields)
            or ([] if fields else self._wait(2.0))
        )

    def _wait(self, seconds: float) -> list[Action]:
        self._waits += 1
        return [Wait(seconds)] if self._waits <= _WAITS else []

    def _suggested(self, usable: Sequence[Element], fresh: Sequence[Element]) -> list[Action]:
        """Choose, in a list that has opened, what was written or looked for."""
        sought, self._sought = self._sought, ""
        written, self._written = self._written, []
        options = [e for e in fresh if e.role == "option"]
        options = options or [e for e in usable if e.role == "option" and not e.covered]
        if sought and (at := closest(sought, [e.name for e in options])) is not None:
            return [] if options[at].checked else [Click(element=options[at].id)]
        plain = {text.casefold().strip() for text in (*written, sought)} - {""}
        same = [e for e in fresh if not e.field and e.name.casefold().strip() in plain]
        return [Click(element=e.id) for e in same if not _is_link(e)]

    def _closing(self, usable: Sequence[Element], fields: Sequence[PageField]) -> list[Action]:
        """Close what lies over the form: a banner with cookies, a window with news."""
        free = [field for field in fields if not field.is_covered]
        covered = len(free) < len(fields) or any(
            e.covered and _is_button(e) and _SEND.match(e.name) for e in usable
        )
        # A dialog may hold the form itself.
        inside = [_in_dialog(field.first) for field in free]
        mentions = self._mentions(free) if any(inside) else []
        if not covered or any(m for m, is_in in zip(mentions, inside, strict=False) if is_in):
            return []
        pushed = [e for e in usable if _is_button(e) and not e.covered]
        dialogs = [e for e in pushed if _in_dialog(e)]
        for pattern in (*_CLOSE, *(_CLOSE_DIALOG if dialogs else ())):
            for e in dialogs or pushed:
                named = re.match(rf"\W*(?:{pattern})", e.name, re.IGNORECASE)
                if named and self._clicked[e.id] < 2:
                    self._clicked[e.id] += 1
                    return [Click(element=e.id)]
        return []

    def _filled(self, fields: Sequence[PageField], observation: Observation) -> list[Action]:
        """The actions of all fields; a field that opens a list comes last and alone."""
        free = [field for field in fields if not field.is_covered] or list(fields)
        actions: list[Action] = []
        opening = []
        for field, mention in zip(free, self._mentions(free), strict=True):
            content = content_for(
                field, self._text, mention, files=observation.files, order=self._order
            )
            tries = self._tries[field.key]
            if content is None or field.holds(content) or tries >= _TRIES:
                continue
            again = tries > isinstance(content, str)
            text = content if isinstance(content, str) else ""
            if not field.takes_text and field.suggests and not field.first.options:
                text = ", ".join(content)
            todo = field.enter(content, again=again)
            if field.suggests:
                opening.append((field, todo, text))
                continue
            self._tries[field.key] += 1
            self._last = field.elements[-1].id
            self._written += [text] if text else []
            actions += todo
            if self._one_by_one:
                return actions
        if not actions and opening:
            field, todo, text = opening[0]
            self._tries[field.key] += 1
            self._last, self._sought = field.elements[-1].id, text
            return todo
        return actions

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

    def _drawn(self, usable: Sequence[Element]) -> list[Action]:
        """A line in a canvas that is to be signed."""
        for e in usable:
            words = " ".join((e.name, e.label, e.field, e.hint, *e.group[-1:]))
            signs = e.required or re.search(r"sign|draw", words, re.IGNORECASE) or self._mends
            if e.kind != "canvas" or e.covered or not signs or self._clicked[e.id] > 1:
                continue
            self._clicked[e.id] += 1
            if self._clicked[e.id] == 1:
                # It comes into view, and its box is known at the next look.
                return [Hover(element=e.id)]
            (x, y), dx, dy = e.middle, (e.box[2] - e.box[0]) / 4, (e.box[3] - e.box[1]) / 4
            return [Drag(x - dx, y + dy, x, y - dy), Drag(x, y - dy, x + dx, y + dy)]
        return []

    def _goes_on(self, fields: Sequence[PageField], usable: Sequence[Element]) -> bool:
        """Whether something is left to do after a button was pressed."""
        button, sends, before = self._pressed
        keys = {field.key for field in fields}
        if any(field.message for field in fields if field.key in before):
            wrong = [
                field for field in fields if field.message or (field.required and field.is_empty)
            ]
        else:
            # A form that is empty again was sent.
            emptied = any(f.is_empty and not before.get(f.key, True) for f in fields)
            missing = [f for f in fields if f.required and f.is_empty and before.get(f.key)]
            wrong = [] if emptied else missing
        if wrong:
            self._mends += 1
            for field in wrong:
                self._tries[field.key] = min(self._tries[field.key], 1)
            return self._mends <= _MENDS
        if not sends:
            # A button that does nothing is not pressed again.
            self._clicked[button.id] += 2 if keys == set(before) else 0
            return keys != set(before) or self._waited
        if new := keys - self._seen:
            pairs = zip(fields, self._mentions(fields), strict=True)
            return any(m and m.value and m.place >= 0 for f, m in pairs if f.key in new)
        asks = [e for e in usable if _is_button(e) and not _is_link(e) and _SEND.match(e.name)]
        return not fields and any(not self._clicked[e.id] for e in asks)

    def _press(self, usable: Sequence[Element], fields: Sequence[PageField]) -> list[Action]:
        """Press the button that sends the form, or that shows its next page."""
        ids = {e.id: n for n, e in enumerate(usable)}
        ends = [ids[f.elements[-1].id] for f in fields if f.elements[-1].id in ids]
        after = ids.get(self._last, max(ends, default=-1))
        buttons = [
            (rank, n < after, abs(n - after), n)
            for n, e in enumerate(usable)
            if _is_button(e) and not e.covered and self._clicked[e.id] <= _MENDS
            if (rank := _rank(e, has_fields=bool(fields), is_after=n > after)) is not None
        ]
        if sum(self._clicked.values()) > _PRESSES or (not buttons and self._last not in ids):
            return []
        # A form without a button is sent by Enter.
        button = usable[min(buttons)[-1] if buttons else ids[self._last]]
        self._clicked[button.id] += 1
        sends = bool(fields) and not _ONWARD.match(button.name)
        self._pressed = button, sends, {field.key: field.is_empty for field in fields}
        if buttons:
            return [Click(element=button.id)]
        return [Press("Enter", button.id)] if self._clicked[button.id] <= _MENDS else []


def _rank(e: Element, *, has_fields: bool, is_after: bool) -> int | None:
    """How likely a button goes on with the form, the likeliest 0; None for no such button."""
    name = e.name.strip()
    if _OTHER.match(name):
        return None
    if _SEND.match(name) or _ONWARD.match(name):
        return (0 if _SEND.match(name) else 1) + 3 * _is_link(e)
    if e.kind in ("submit", "image"):
        return 2
    if not has_fields:
        return 6 if _START.match(name) else None
    return 5 if is_after and e.kind == "button" else None


def _is_button(e: Element) -> bool:
    return e.kind in _PUSHED or e.role in ("button", "link")


def _in_dialog(e: Element) -> bool:
    return any(group.startswith("dialog") for group in e.group)


def _is_link(e: Element) -> bool:
    return e.kind in ("a", "link") and e.role != "button"


def _squeezed(label: str) -> str:
    return re.sub(r"\W", "", label.casefold())
