"""The way through a page that is filled in by its elements: what is to be done next."""

import datetime
import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from formlab_arena import matching
from formlab_arena.actions import Action, Answer, Click, Drag, Press, Scroll, Tab, Wait
from formlab_arena.date_picker import DatePicker
from formlab_arena.observation import Element, Observation
from formlab_arena.page_fields import Content, PageField, as_text, fields_of

# How often a field is tried, and a page is sent; how often a late form is waited for; how many
# looks a calendar may take, and all.
_TRIES, _WAITS, _CALENDAR, _LOOKS = 3, 4, 60, 150
_SEND = re.compile(
    r"\b(submit|send|finish|done|complete|confirm|create|register|sign up|apply|order|book|place"
    r"|pay|donate|enrol\w*|subscribe|save|join|request|hand in|report|absenden|senden|envoyer"
    r"|enviar|invia)\b"
)
_NEXT = re.compile(r"\b(next|continue|proceed|forward|weiter|suivant|siguiente|avanti)\b")
_START = re.compile(r"\b(start|begin|apply|register|open( the)? form|fill (in|out)|get started)\b")
# Names of buttons that do something else: wherever the words stand, and where nothing is sent.
_NEVER = re.compile(r"\b(another|again|draft|later|reset|cancel|preview)\b")
_OTHER = re.compile(
    r"\b(clear|back|previous|prev|delete|remove|add|upload|browse|choose|search|log ?(in|out)"
    r"|sign (in|out)|print|download|help|close|menu|dismiss|edit|show|hide|toggle|skip|share|copy"
    r"|undo|redo|draw|start over|zurück|retour)\b"
)
_COOKIES = re.compile(
    r"(reject|decline|deny|refuse|accept|allow|agree)( (to|all|the|only|non|necessary|essential"
    r"|optional|cookies?))+|got it|i agree|(only )?necessary( only)?"
)
# Names of buttons that close what lies over a form; those of dialogs come last.
_CLOSE = (
    r"(accept|allow|agree|i agree|consent)\b.*", r"(ok|okay|(i )?understand|understood)\b.{0,20}",
    r"(close|dismiss|no thanks|not now|skip|x|×|✕|✖)\b.{0,20}|[×✕✖]",
)  # fmt: skip
_CLOSE_DIALOG = (
    r"(yes|confirm|submit(?!.*another)|send|continue|proceed|enter|next|start)\b.*",
    r"(reject|decline|no|maybe|later|cancel)\b.*",
)
_LOSES = re.compile(r"\b(discard|leave|delete|reset|lose|lost|cancel|clear)\b", re.IGNORECASE)
# Where the strokes of a signature meet, as shares of its box.
_SIGNATURE = ((0.2, 0.7), (0.4, 0.3), (0.6, 0.7), (0.8, 0.4))
_PRESSED = ("button", "submit", "image", "a", "link")
Homes = Sequence[tuple[PageField, Content]]
Key = tuple[str, ...]


class Filler:
    """Fills in the fields of a page, each at most three times, and sends it.

    A subclass knows what the fields are to hold.
    """

    def __init__(self) -> None:
        # What each field held at first and when last seen, how often it was tried, and which hold
        # what they should.
        self._first, self._last = dict[Key, str](), dict[Key, str]()
        self._tries, self._right = Counter[Key](), set[Key]()
        # What was entered last in each field; whether the last button turned the page.
        self._entered, self._turned = dict[Key, Content](), False
        # The field whose suggestions are awaited, the texts just written, and the elements that
        # were there before.
        self._asked: tuple[PageField, Content] | None = None
        self._written, self._before = set[str](), frozenset[str]()
        self._calendar: DatePicker | None = None
        # How often something was done: looking, waiting, closing, sending a page.
        self._done = Counter[Any]()

    def homes(self, fields: Mapping[str, PageField], observation: Observation) -> Homes:
        """The fields of the page that are to be filled in, with what they are to hold."""
        raise NotImplementedError

    def answer(self, question: str) -> Any:
        """The answer to a dialog; None if none is known."""
        raise NotImplementedError

    def day(self, field: PageField, content: Content) -> datetime.date | None:
        """The day to choose in a calendar, where a field asks for one."""
        raise NotImplementedError

    def is_form(self, fields: Mapping[str, PageField], homes: Homes) -> bool:  # noqa: ARG002
        """Whether the page shows the form."""
        return bool(homes)

    @property
    def left(self) -> bool:
        """Whether something is left for a later page."""
        return False

    def over(self) -> list[Action]:
        """No actions, at the end."""
        return []

    def act(self, observation: Observation) -> list[Action]:
        """The next actions; none after the form was sent, or when there is nothing left to do."""
        self._done["look"] += 1
        if dialog := observation.dialog:
            value = self.answer(dialog.text)
            accept = value if isinstance(value, bool) else not _LOSES.search(dialog.text)
            return [Answer(accept, "" if isinstance(value, bool) else as_text(value))]
        usable = [element for element in observation.elements if not element.disabled]
        fields = fields_of(usable, observation.address)
        homes = sorted(self.homes(fields, observation), key=lambda home: home[0].number)
        self._compare(homes)
        page = (observation.address, *((*f.key, f.kind) for f in fields.values()))
        if any("no element" in reason for reason in observation.refused):
            # A page that is drawn anew at every key has other elements after each action.
            if not self._done["one by one"]:
                self._tries.clear()
                self._entered.clear()
            self._done["one by one"] = 1
        actions = self._choose(usable) or self._close(usable, homes)
        actions = actions or self._uncover(page, homes, observation)
        if self._done["look"] > _LOOKS:
            return self.over()
        if not actions and self._done["sent", page]:
            after = self._after(page, homes)
            if after is None:
                return self.over()
            actions = after
        actions = actions or self._fill(homes, usable, observation)
        return actions or self._advance(page, fields, homes, usable, observation)

    def _compare(self, homes: Homes) -> None:
        """Note which fields hold what they should, also if the page itself has altered it."""
        for field, content in homes:
            key, held = field.key, field.content
            first = self._first.setdefault(key, held)
            settled = self._tries[key] and self._last.get(key) == held != first
            settled = settled and not field.first.message
            settled = settled or (field.kind == "canvas" and self._done["drawn", key])
            if settled or field.holds(content):
                self._right.add(key)
            else:
                self._right.discard(key)
            if self._tries[key]:
                self._last[key] = held

    def _fill(
        self, homes: Homes, usable: Sequence[Element], observation: Observation
    ) -> list[Action]:
        """What fills in the fields, up to one that opens a list or is tried again."""
        actions: list[Action] = []
        self._before, self._written = frozenset(element.id for element in usable), set()
        for field, content in homes:
            key, tries = field.key, self._tries[field.key]
            alone = tries > 0 or field.is_widget
            if key in self._right or tries >= _TRIES:
                continue
            if actions and alone:
                break
            self._tries[key] += 1
            actions += self._enter(field, content, observation)
            if isinstance(content, str):
                self._written.add(content.casefold().strip())
            if alone and not field.marks and field.kind not in ("select", "file", "canvas"):
                self._asked, self._calendar = (field, content), None
            if alone or self._done["one by one"]:
                break
        return actions

    def _enter(self, field: PageField, content: Content, observation: Observation) -> list[Action]:
        tries = self._tries[field.key]
        if field.kind == "canvas":
            strokes = self._sign(field.first, observation)
            self._done["drawn", field.key] += len(strokes) > 1
            self._tries[field.key] -= len(strokes) == 1
            return strokes
        again = self._entered.get(field.key) == content
        self._entered[field.key] = content
        if again and tries == 2 and self.day(field, content):
            return [Click(element=field.first.id)]
        return field.enter(content, again=again)

    def _sign(self, element: Element, observation: Observation) -> list[Action]:
        """Strokes over an element, which is scrolled to first."""
        scale, height = observation.scale, observation.size[1] / observation.scale
        is_seen = element.box[1] >= 0 and element.box[3] <= height
        self._done["scrolled", element.id] += 1
        if not is_seen and self._done["scrolled", element.id] <= _TRIES:
            return [Scroll(0.0, element=element.id)]
        x0, y0, x1, y1 = (side * scale for side in element.box)
        at = [(x0 + (x1 - x0) * x, y0 + (y1 - y0) * y) for x, y in _SIGNATURE]
        return [Drag(*start, *end) for start, end in itertools.pairwise(at)]

    def _choose(self, usable: Sequence[Element]) -> list[Action]:
        """A suggestion or a day of those that have come up for what was entered last, if any."""
        new = [e for e in usable if e.id not in self._before and e.name and not e.checked]
        if self._asked is None:
            written, self._written = self._written, set()
            same = [e for e in new if e.name.casefold().strip() in written]
            return [Click(element=e.id) for e in same if not (e.field or _is_link(e))][:1]
        field, content = self._asked
        if day := self.day(field, content):
            if field.key in self._right:
                self._asked = None
                return []
            self._calendar = self._calendar or DatePicker(day, self._before)
            self._done["calendar", field.key] += 1
            action = self._calendar.next(usable)
            if action and self._done["calendar", field.key] < _CALENDAR:
                return [action]
        for text in [content] if isinstance(content, str) else content:
            chosen = matching.closest(text, [element.name for element in new])
            if chosen is not None:
                self._asked = None
                return [Click(element=new[chosen].id)]
        # Suggestions may come from a server.
        waited = "suggestions", field.key, self._tries[field.key]
        self._done[waited] += 1
        if self._done[waited] == 1 and field.key not in self._right:
            return [Wait(0.7)]
        self._asked = None
        return []

    def _close(self, usable: Sequence[Element], homes: Homes) -> list[Action]:
        """What closes a banner, or whatever else lies over the fields."""
        free = [field for field, _ in homes if not field.is_covered]
        send = [e for e in usable if _is_button(e) and _SEND.match(e.name.casefold())]
        covered = len(free) < len(homes) or (send != [] and all(e.covered for e in send))
        pushed = [e for e in usable if _is_button(e) and not (e.field or e.covered)]
        dialogs = [e for e in pushed if in_dialog(e)]
        patterns = [(_COOKIES, pushed)]
        # A dialog may hold the form itself.
        if covered and not any(in_dialog(field.first) for field in free):
            several = (*_CLOSE, *(_CLOSE_DIALOG if dialogs and not free else ()))
            patterns += [(re.compile(each), dialogs or pushed) for each in several]
        for pattern, buttons in patterns:
            for element in buttons:
                text = " ".join(matching.words(element.name)) or element.name.strip()
                if pattern.fullmatch(text) and self._done["closed", text] < 2:
                    self._done["closed", text] += 1
                    return [Click(element=element.id)]
        return []

    def _uncover(self, page: Any, homes: Homes, observation: Observation) -> list[Action]:
        """What makes a popup go that lies over an element, which is then tried again."""
        covered = [text for text in observation.refused if "covered by" in text]
        if not covered or self._done["uncovered"] == 2 * _TRIES:
            return []
        self._done["uncovered"] += 1
        ids = {match[1] for text in covered if (match := re.search(r"element='(\w+)'", text))}
        for field, _ in homes:
            if field.first.id in ids:
                self._tries[field.key], self._asked = 0, None
        if self._done["sent", page] and not ids & {field.first.id for field, _ in homes}:
            self._done["sent", page] = self._done["after", page] = 0
        # One popup goes with its focus, another by a click beside it.
        if self._done["uncovered"] % 2 and ids:
            return [Press("Escape", element=sorted(ids)[0])]
        return [Click(2.0, 2.0)]

    def _after(self, page: Any, homes: Homes) -> list[Action] | None:
        """What is done on a page that was sent and is still there; None where it is over."""
        self._done["after", page] += 1
        if self._done["after", page] == 1:
            return [Wait(1.5)]
        if all(field.content in ("", self._first[field.key]) for field, _ in homes):
            return None
        wrong = any(field.message for field, _ in homes)
        return [] if wrong and self._done["sent", page] < _TRIES else None

    def _advance(
        self, page: Any, fields: Mapping[str, PageField], homes: Homes,
        usable: Sequence[Element], observation: Observation,
    ) -> list[Action]:  # fmt: skip
        """What sends the page, or shows the next one; waits for a form that is drawn late."""
        is_form = self.is_form(fields, homes)
        if not is_form and not self._done["sent"]:
            self._done["late"] += 1
            if self._done["late"] <= _WAITS:
                return [Wait(1.5)]
        asked = any(field.asks for field in fields.values())
        if self._done["sent"] and asked and not (homes or self._turned or self.left):
            return self.over()
        ends = [e for f, _ in homes for e in f.elements] or [
            e for f in fields.values() if is_form for e in f.elements
        ]
        button = _button(usable, ends, left=self.left, sent=bool(self._done["sent"]))
        if self._done["sent", page] >= _TRIES or (button is None and not homes):
            tabs = [tab.number for tab in observation.tabs if not tab.active]
            if not homes and tabs and not self._done["sent"] and not self._done["tab"]:
                self._done["tab"] += 1
                return [Tab(tabs[0])]
            return self.over()
        self._done["sent"] += 1
        self._done["sent", page] += 1
        if button is not None:
            self._turned = _NEXT.search(button.name.casefold()) is not None
            return [Click(element=button.id)]
        texts = [f for f, _ in homes if f.takes_text and f.kind != "textarea" and not f.is_widget]
        return [Press("Enter", element=texts[-1].first.id)] if texts else self.over()


def _button(
    usable: Sequence[Element], ends: Sequence[Element], *, left: bool, sent: bool
) -> Element | None:
    """The button that sends the page or shows the next one: by its words, its type, its place.

    `ends` are the elements of the form's fields.
    """
    places = {element.id: number for number, element in enumerate(usable)}
    last = max((places[element.id] for element in ends), default=-1)
    ranked = []
    for number, element in enumerate(usable):
        text = " ".join(matching.words(element.name))
        if element.field or not _is_button(element) or element.kind == "reset":
            continue
        send, turn = bool(_SEND.search(text)), bool(_NEXT.search(text))
        if _NEVER.search(text) or (_OTHER.search(text) and not _SEND.match(text)):
            continue
        link = _is_link(element)
        opens = _START.search(text) or (send and not link)
        known = send or turn if ends or sent else opens
        if not known and (link or not ends or element.kind not in ("submit", "button")):
            continue
        sends = 2 * (element.kind in ("submit", "image")) + 2 * send
        score = sends + (5 if left else 1) * turn + (number > last) - 3 * link
        ranked.append((score, -abs(number - last), element))
    return max(ranked, key=lambda row: row[:2], default=(None,))[-1]


def _is_button(element: Element) -> bool:
    return element.kind in _PRESSED or element.role in _PRESSED


def _is_link(element: Element) -> bool:
    return "link" in (element.kind, element.role) or (element.kind == "a" and not element.role)


def in_dialog(element: Element) -> bool:
    """Whether an element stands in a dialog of the page."""
    return any(group.startswith("dialog") for group in element.group)
