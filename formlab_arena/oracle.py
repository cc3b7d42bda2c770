"""The agent that knows the right answers, on formlab's own forms and on any other page."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from formlab_arena import matching, page_fields
from formlab_arena.actions import (
    Action,
    Answer,
    Click,
    Drag,
    Press,
    Scroll,
    Tab,
    Wait,
)
from formlab_arena.observation import Element, Observation, Observe
from formlab_arena.own_oracle import own_actions
from formlab_arena.page_fields import Content, DatePicker, PageField
from formlab_arena.session import VIEWPORT

# How often a field is tried, and a page is sent; how many looks a calendar may take.
_TRIES, _CALENDAR = 3, 60
_SEND = re.compile(
    r"\b(submit|send|finish|complete|confirm|register|sign up|apply|order|book|place|pay|enrol\w*"
    r"|subscribe|save|join|request|hand in|report|absenden|senden|envoyer|enviar|invia)\b"
)
_NEXT = re.compile(r"\b(next|continue|proceed|forward|weiter|suivant|siguiente|avanti)\b")
_START = re.compile(r"\b(start|begin|apply|register|open( the)? form|fill (in|out))\b")
_NEVER = re.compile(
    r"\b(reset|clear|cancel|back|previous|prev|delete|remove|add|upload|browse|choose|search"
    r"|log ?in|sign in|log ?out|another|print|download|help|later|draft|close|menu|dismiss|edit"
    r"|show|hide|preview|zurück|retour)\b"
)
_COOKIES = re.compile(
    r"(reject|decline|deny|refuse|accept|allow|agree)( (to|all|the|only|non|necessary|essential"
    r"|optional|cookies?))+|got it|i agree|(only )?necessary( only)?"
)
_CLOSE = re.compile(r"(close|dismiss|no thanks|not now|skip|ok|okay|x|×|✕|✖)\b.{0,20}|[×✕✖]")
_LOSES = re.compile(r"\b(discard|leave|delete|reset|lose|lost|cancel|clear)\b", re.IGNORECASE)
# Where the strokes of a signature meet, as shares of its box.
_SIGNATURE = ((0.2, 0.7), (0.4, 0.3), (0.6, 0.7), (0.8, 0.4))
_PRESSED = ("button", "submit", "image", "link")


class Oracle:
    """Knows the right answers (`values`), by the names or the labels of fields.

    None is a field to leave alone. On formlab's own forms it uses the mouse and the keyboard like
    any other agent, so where it fails, the arena does. On any other page it uses the elements: it
    pairs the answers with the fields, fills in what does not hold its answer yet, each field at
    most three times, and sends the form. `note` says at the end which answers were left, and why.
    """

    name = "oracle"
    observes: Observe = "tree"

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values, self.note = values, dict[str, Any]()
        # The field of each answer, what it held at first and when last seen, and how often it was
        # tried; the answers that are in their fields.
        self._home, self._first, self._last = dict[str, str](), dict[str, str](), dict[str, str]()
        self._tries, self._right, self._loose = Counter[str](), set[str](), set[str]()
        # The answer whose suggestions are awaited, and the elements that were there before.
        self._asked: tuple[str, frozenset[str]] | None = None
        self._calendar: DatePicker | None = None
        # How often something was done: waiting, closing, sending a page.
        self._done = Counter[Any]()

    def act(self, observation: Observation) -> list[Action]:
        """The next actions; none after the form was sent, or when there is nothing left to do."""
        elements = observation.elements
        own = any(element.field in ("_next", "_submit") for element in elements)
        if own or (elements and not any(element.id for element in elements)):
            return own_actions(self.values, observation)
        if not self.values:
            return []
        if observation.dialog:
            return [self._answer(observation.dialog.text)]
        usable = [element for element in elements if not element.disabled]
        fields = page_fields.fields_of(usable)
        homes = self._homes(fields)
        self._compare(homes)
        page = (observation.address, *((f.name, f.kind) for f in fields.values()))
        actions = self._close(usable, homes) or self._uncover(page, homes, observation)
        actions = actions or self._choose(usable, fields)
        if not actions and self._done["sent", page]:
            actions = self._after(page, homes)
            if actions is None:
                return self._over()
        actions = actions or self._fill(homes, usable, observation)
        return actions or self._advance(page, homes, usable, observation)

    def _answer(self, text: str) -> Answer:
        value = next(
            (self.values[key] for key in matching.pair(list(self.values), {"": (text,)})), ""
        )
        if isinstance(value, bool):
            return Answer(accept=value)
        return Answer(accept=not _LOSES.search(text), text=page_fields.as_text(value))

    def _homes(self, fields: Mapping[str, PageField]) -> dict[str, PageField]:
        """The field of each answer on this page; once paired, a field keeps its answer."""
        known = {key: fields[name] for key, name in self._home.items() if name in fields}
        # Those of ticks that belong together by their place only are paired anew.
        keys = [key for key in self.values if key not in self._home or key in self._loose]
        taken = {field.name for field in known.values()}
        free = {name: field for name, field in fields.items() if name not in taken}
        new = page_fields.paired({key: self.values[key] for key in keys}, free)
        for key, field in new.items():
            self._first.setdefault(key, field.content)
            self._home[key] = field.name
            if field.name not in fields:
                self._loose.add(key)
        return known | new

    def _content(self, key: str, field: PageField) -> Content:
        return field.exactly(self.values[key], self.values.values())

    def _compare(self, homes: Mapping[str, PageField]) -> None:
        """Note which fields hold their answers, also one that the page itself has altered."""
        for key, field in homes.items():
            if self.values[key] is None:
                continue
            content = field.content
            settled = self._tries[key] and self._last.get(key) == content != self._first[key]
            settled = settled and not field.first.message
            settled = settled or (field.kind == "canvas" and self._done["drawn", key])
            if settled or field.holds(self._content(key, field)):
                self._right.add(key)
            else:
                self._right.discard(key)
            if self._tries[key]:
                self._last[key] = content

    def _fill(
        self, homes: Mapping[str, PageField], usable: Sequence[Element], observation: Observation
    ) -> list[Action]:
        """What fills in the fields, up to one that may show others or asks for a choice."""
        actions: list[Action] = []
        for key, field in sorted(homes.items(), key=lambda item: item[1].number):
            again = self._tries[key] > 0
            alone = again or field.shows_more
            if self.values[key] is None or key in self._right or self._tries[key] >= _TRIES:
                continue
            if actions and alone:
                break
            self._tries[key] += 1
            actions += self._enter(key, field, observation)
            if alone:
                if not field.marks and field.kind not in ("select", "file", "canvas"):
                    before = frozenset(element.id for element in usable)
                    self._asked, self._calendar = (key, before), None
                break
        return actions

    def _enter(self, key: str, field: PageField, observation: Observation) -> list[Action]:
        value = self.values[key]
        if field.kind == "canvas" and value:
            strokes = self._sign(field.first, observation)
            self._done["drawn", key] += len(strokes) > 1
            self._tries[key] -= len(strokes) == 1
            return strokes
        if self._tries[key] == 2 and page_fields.is_day(field, value):
            return [Click(element=field.first.id)]
        return field.enter(self._content(key, field), again=self._tries[key] > 1)

    def _sign(self, element: Element, observation: Observation) -> list[Action]:
        """Strokes over an element, which is scrolled to first."""
        is_seen = element.box[1] >= 0 and element.box[3] <= VIEWPORT[1]
        self._done["scrolled", element.id] += 1
        if not is_seen and self._done["scrolled", element.id] <= _TRIES:
            return [Scroll(0.0, element=element.id)]
        scale = observation.size[0] / VIEWPORT[0]
        x0, y0, x1, y1 = (side * scale for side in element.box)
        at = [(x0 + (x1 - x0) * x, y0 + (y1 - y0) * y) for x, y in _SIGNATURE]
        return [Drag(*start, *end) for start, end in itertools.pairwise(at)]

    def _choose(self, usable: Sequence[Element], fields: Mapping[str, PageField]) -> list[Action]:
        """A suggestion or a day of those that have come up for the last answer, if any has."""
        if self._asked is None:
            return []
        key, before = self._asked
        value, field = self.values[key], fields.get(self._home[key])
        if field and page_fields.is_day(field, value):
            if key in self._right:
                self._asked = None
                return []
            day = page_fields.day_of(value, self.values.values())
            self._calendar = self._calendar or DatePicker(day, before)
            self._done["calendar", key] += 1
            action = self._calendar.next(usable)
            if action and self._done["calendar", key] < _CALENDAR:
                return [action]
        new = [e for e in usable if e.id not in before and e.name and not e.checked]
        for text in value if isinstance(value, list) else [value]:
            chosen = matching.closest(text, [element.name for element in new])
            if chosen is not None:
                self._asked = None
                return [Click(element=new[chosen].id)]
        # Suggestions may come from a server.
        self._done["suggestions", key, self._tries[key]] += 1
        if self._done["suggestions", key, self._tries[key]] == 1 and key not in self._right:
            return [Wait(0.7)]
        self._asked = None
        return []

    def _close(self, usable: Sequence[Element], homes: Mapping[str, PageField]) -> list[Action]:
        """What closes a banner, or whatever else lies over all of the fields."""
        covered = bool(homes) and all(field.first.covered for field in homes.values())
        for element in usable:
            text = " ".join(matching.words(element.name)) or element.name.strip()
            closes = _COOKIES.fullmatch(text) or (covered and _CLOSE.fullmatch(text))
            if closes and element.kind in _PRESSED and not (element.field or element.covered):
                self._done["closed", text] += 1
                if self._done["closed", text] <= 2:
                    return [Click(element=element.id)]
        return []

    def _uncover(
        self, page: Any, homes: Mapping[str, PageField], observation: Observation
    ) -> list[Action]:
        """What makes a popup go that lies over an element, which is then tried again."""
        covered = [text for text in observation.refused if "covered by" in text]
        if not covered or self._done["uncovered"] == 2 * _TRIES:
            return []
        self._done["uncovered"] += 1
        ids = {match[1] for text in covered if (match := re.search(r"element='(\w+)'", text))}
        for key, field in homes.items():
            if field.first.id in ids:
                self._tries[key], self._asked = 0, None
        if self._done["sent", page] and not ids & {f.first.id for f in homes.values()}:
            self._done["sent", page] = self._done["after", page] = 0
        # One popup goes with its focus, another by a click beside it.
        if self._done["uncovered"] % 2 and ids:
            return [Press("Escape", element=sorted(ids)[0])]
        return [Click(2.0, 2.0)]

    def _after(self, page: Any, homes: Mapping[str, PageField]) -> list[Action] | None:
        """What is done on a page that was sent and is still there; None where it is over."""
        self._done["after", page] += 1
        if self._done["after", page] == 1:
            return [Wait(1.5)]
        if all(field.content in ("", self._first[key]) for key, field in homes.items()):
            return None
        wrong = any(element.message for f in homes.values() for element in f.elements)
        return [] if wrong and self._done["sent", page] < _TRIES else None

    def _advance(
        self, page: Any, homes: Mapping[str, PageField], usable: Sequence[Element],
        observation: Observation,
    ) -> list[Action]:  # fmt: skip
        """What sends the page, or shows the next one; waits for a form that is drawn late."""
        if not homes and not self._done["sent"]:
            self._done["late"] += 1
            if self._done["late"] <= _TRIES:
                return [Wait(1.5)]
        left = [key for key, value in self.values.items() if value is not None]
        left = [key for key in left if key not in self._home]
        button = _button(usable, homes, left=bool(left), sent=bool(self._done["sent"]))
        if self._done["sent", page] >= _TRIES or (button is None and not homes):
            tabs = [tab.number for tab in observation.tabs if not tab.active]
            if not homes and tabs and not self._done["sent"] and not self._done["tab"]:
                self._done["tab"] += 1
                return [Tab(tabs[0])]
            return self._over()
        self._done["sent"] += 1
        self._done["sent", page] += 1
        if button is not None:
            return [Click(element=button.id)]
        texts = [f for f in homes.values() if not f.shows_more and f.kind != "textarea"]
        return [Press("Enter", element=texts[-1].first.id)] if texts else self._over()

    def _over(self) -> list[Action]:
        wrong = {
            key: "not on the page"
            if key not in self._home
            else f"holds {self._last.get(key, '')!r}"
            for key, value in self.values.items()
            if value is not None and key not in self._right
        }
        self.note = {"left": wrong} if wrong else {}
        return []


def _button(
    usable: Sequence[Element], homes: Mapping[str, PageField], *, left: bool, sent: bool
) -> Element | None:
    """The button that sends the page or shows the next one: by its words, its type, its place."""
    places = {element.id: number for number, element in enumerate(usable)}
    last = max((places[element.id] for f in homes.values() for element in f.elements), default=-1)
    ranked = []
    for number, element in enumerate(usable):
        text = " ".join(matching.words(element.name))
        pressed = element.kind in _PRESSED or element.role in _PRESSED
        if element.field or not pressed or _NEVER.search(text) or element.kind == "reset":
            continue
        send, turn = bool(_SEND.search(text)), bool(_NEXT.search(text))
        link = "link" in (element.kind, element.role)
        opens = _START.search(text) or (send and not link)
        known = send or turn if homes or sent else opens
        if not known and (link or not homes or element.kind not in ("submit", "button")):
            continue
        sends = 2 * (element.kind in ("submit", "image")) + 2 * send
        score = sends + (5 if left else 1) * turn + (number > last) - 3 * link
        ranked.append((score, -abs(number - last), element))
    return max(ranked, key=lambda row: row[:2], default=(None,))[-1]
