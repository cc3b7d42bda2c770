"""The system `rules`: reads the screenshot by OCR and the text by rules. It needs no key."""

from __future__ import annotations

import collections
import dataclasses
import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from formlab_arena import screen
from formlab_arena.actions import Action, Answer, Click, Scroll, Wait
from formlab_arena.instruction_text import InstructionText, LabelMention
from formlab_arena.matching import file_named, options_in, several
from formlab_arena.observation import Observation, Observe
from formlab_arena.rules_by_tree import RulesByTree
from formlab_arena.screen import MarkGroup, Screen, ScreenField, TickMark
from formlab_arena.screen_buttons import ACCEPT, CONFIRM, ONWARD, OTHER, WRONG, goes_on, is_button
from formlab_arena.screen_entry import Entry, actions_for, anew, chosen_in_list, shows, squashed
from formlab_arena.shapes import Box, middle
from formlab_arena.value_patterns import as_asked, in_control

if TYPE_CHECKING:
    from formlab_arena.page_reading import PageValues

_OPTIONAL = re.compile(r"\(\s*(?:optional|required)\s*\)|[*＊✱]", re.IGNORECASE)
_TRIES, _TURNS = 2, 20
_TALL = 60


@functools.cache
def _shared() -> Callable[[Path], Screen]:
    return screen.reader()


@dataclasses.dataclass(frozen=True)
class _Pressed:
    """A button that was pressed, the screen before, and whether its page was waited for."""

    screen: Screen
    button: str
    waited: bool = False


@dataclasses.dataclass(frozen=True)
class _Asked:
    """A field or group on the screen: the key it is remembered by, its label and mention."""

    key: str
    label: str
    mention: LabelMention | None


class Rules:
    """Fills in the values that the text names for the labels in, beside or above boxes.

    What was entered is remembered by label and compared with the next screenshot; what differs is
    entered once more. A form that is refused is mended where the page says so and sent again; the
    same refusal twice ends the episode, and nothing is sent again without a refusal. `read` makes a
    `Screen` of a screenshot; without it all agents share one reader. `values` are those of a page,
    in place of a text.
    """

    name = "rules"
    observes: Observe = "pixels"

    def __init__(
        self, read: Callable[[Path], Screen] | None = None, *, values: PageValues | None = None
    ) -> None:
        self._read, self._values = read, values
        self._by_tree: RulesByTree | None = None
        self._text: InstructionText | PageValues = values or InstructionText("")
        self._entries: dict[str, Entry] = {}
        self._used: set[int] = set()
        self._lines: set[str] = set()
        self._refusals: collections.Counter[tuple[str, str]] = collections.Counter()
        self._scrolled: Screen | None = None
        self._pressed: _Pressed | None = None
        self._scrolls = self._turns = self._looks = self._fields = 0
        self._sent = self._accepted = False

    def act(self, observation: Observation) -> list[Action]:
        """The actions that fill in the view; else a turn of the page or a scroll; else none."""
        # A page that is still empty has no names either, nor has one of which only boxes are shown.
        if self.observes == "tree" or any(element.name for element in observation.elements):
            self._by_tree = self._by_tree or RulesByTree(self._values)
        if self._by_tree:
            return self._by_tree.act(observation)
        self._looks += 1
        if observation.dialog:
            return [Answer()]
        if self._looks > 3 * self._fields + 20:
            return []
        now = (self._read or _shared())(observation.image)
        # A field that the window cuts off would move the page when it is clicked.
        whole = tuple(field for field in now.fields if field.box[3] < observation.size[1] - 2)
        now = dataclasses.replace(now, fields=whole)
        if self._values is None and self._text.text != observation.text:
            self._text = InstructionText(observation.text)
        pressed, self._pressed = self._pressed, None
        refused = pressed is not None and self._knows(now)
        if refused:
            named = self._named(now, pressed.screen, observation.messages)
            idle = any(
                m.startswith("Click") and m.endswith("nothing") for m in observation.messages
            )
            if not named and not pressed.waited and not idle:
                # What the browser says of a field takes its time to appear, as does the next page.
                self._pressed = dataclasses.replace(pressed, waited=True)
                return [Wait(0.7)]
            if not self._mends(now, named, pressed):
                return []
        self._lines |= {line.text for line in now.lines}
        if banner := self._banner(now):
            return banner
        asked = self._asked(now)
        if self._sent and not refused and not any(each.mention for each in asked.values()):
            return self._confirm(now)
        actions = self._texts(now.fields, asked, observation.files) + self._choices(now, asked)
        return actions or ([] if refused else self._onward(now, asked, observation.size))

    def _knows(self, now: Screen) -> bool:
        """Whether a screen is of the page that was there before a button was pressed."""
        lines = {line.text for line in now.lines}
        if len(lines & self._lines) >= 0.5 * max(1, len(lines)):
            return True
        self._used |= {entry.place for entry in self._entries.values()}
        self._entries, self._lines, self._scrolled, self._scrolls = {}, set(), None, 0
        self._refusals.clear()
        return False

    def _named(self, now: Screen, before: Screen, messages: Sequence[str]) -> set[tuple[str, str]]:
        """What the page or the browser says is wrong: the keys of fields, and the messages."""
        known = {line.text for line in before.lines}
        wrong = [line for line in now.lines if line.text not in known and WRONG.search(line.text)]
        asked = self._asked(now)
        named = {
            (_nearest(line.box, asked).key, squashed(line.text)[:40]) for line in wrong if asked
        }
        reports = {squashed(message.partition(":")[0]) for message in messages}
        return named | {(k.key, "") for k in asked.values() if squashed(k.label) in reports}

    def _mends(self, now: Screen, named: set[tuple[str, str]], pressed: _Pressed) -> bool:
        """Whether to go on after a refusal: what it names is forgotten, to be entered anew.

        The same refusal a second time ends it. Where no field is named, those that stayed empty
        are entered again, unless they were seen full before: then the form was sent.
        """
        if not named:
            empty = [
                k.key for box, k in self._asked(now).items() if self._is_blank(now, box, k.key)
            ]
            if not ONWARD.match(pressed.button) and any(self._entries[k].seen for k in empty):
                return False
            named = {(key, "") for key in empty}
        self._refusals.update(named)
        for key in self._entries.keys() & {key for key, _ in named}:
            self._entries[key].times = min(self._entries[key].times, _TRIES - 1)
        self._scrolled = None
        return bool(named) and all(self._refusals[each] < _TRIES for each in named)

    def _is_blank(self, now: Screen, box: Box, key: str) -> bool:
        text = next((field.text for field in now.fields if field.box == box), "?")
        return key in self._entries and not text.strip()

    def _banner(self, now: Screen) -> list[Action]:
        """A press of the button that takes away a banner about cookies, once."""
        if self._accepted or not any("cookie" in line.text.lower() for line in now.lines):
            return []
        buttons = [f for f in now.fields if len(f.text) < 30 and ACCEPT.match(f.text.strip())]
        self._accepted = bool(buttons)
        return [Click(*middle(buttons[0].box))] if buttons else []

    def _asked(self, now: Screen) -> dict[Box, _Asked]:
        """What each field, group and mark on the screen is called, and what the text says of it.

        A group has the box of its first mark, a mark alone that of its own.
        """
        names: dict[Box, list[str]] = {}
        for field in now.fields:
            inner = [field.text] if _is_name(field, self._entries.values()) else []
            if not is_button(field) and (kept := _plain_names([*field.labels, *inner])):
                names[field.box] = kept
        for group in now.groups:
            names[_around(group)] = _plain_names(group.labels)
            names |= {mark.box: _plain_names([mark.text]) for mark in group.marks}
        names = {box: some for box, some in names.items() if some}
        in_view: dict[Box, _Asked] = {}
        for (box, some), mention in zip(names.items(), self._mentions(names), strict=True):
            label = some[0]
            if mention is not None and mention.place < 0:
                label = next((name for name in some if self._text.about(name)), label)
            place = mention.place if mention else -1
            key = f"#{place}" if place >= 0 else squashed(label)
            in_view[box] = _Asked(key, label, mention)
        self._fields = max(self._fields, len(self._entries) + len(in_view))
        return in_view

    def _mentions(self, names: Mapping[Box, list[str]]) -> list[LabelMention | None]:
        if isinstance(self._text, InstructionText):
            return self._text.assign(list(names.values()), used=self._used)
        about = self._text.about
        return [next((m for n in some if (m := about(n))), None) for some in names.values()]

    def _texts(
        self, fields: Sequence[ScreenField], asked: Mapping[Box, _Asked], files: Sequence[str]
    ) -> list[Action]:
        actions: list[Action] = []
        for field in fields:
            if (each := asked.get(field.box)) is None or field.kind == "list":
                continue
            entry = self._entries.get(each.key)
            if entry is None:
                entry = self._entry(field, each, files)
            elif entry.kind == "list" or not self._to_repeat(field, entry, each.label):
                continue
            if entry is not None:
                self._entries[each.key] = entry
                actions += actions_for(field, entry)
        return actions

    def _to_repeat(self, field: ScreenField, entry: Entry, label: str) -> bool:
        """Whether a field shows clearly something else than was entered, for the first time."""
        # The text above a line to write on may be what was entered.
        above = [text for text in field.labels if _plain(text) != label]
        shown = [field.text] if field.text.strip() else above
        if entry.kind == "file" or any(shows(text, entry.value) for text in shown):
            entry.seen = True
            return False
        if entry.times >= _TRIES:
            return False
        entry.times += 1
        entry.value = anew(entry, field.text)
        return True

    def _entry(self, field: ScreenField, each: _Asked, files: Sequence[str]) -> Entry | None:
        label, mention = each.label, each.mention
        if field.kind == "file":
            value = file_named(label, mention.value if mention else "", files)
            return Entry(value, "file", place=mention.place if mention else -1) if value else None
        hint = f"{field.text} {label}"
        value = self._text.span(label, mention, hint=field.text)
        if value is None and mention:
            tall = field.box[3] - field.box[1] > _TALL
            value = mention.whole if tall else mention.value
        if not value:
            return None
        place = mention.place if mention else -1
        if field.kind in ("date", "time", "month", "datetime-local"):
            value = in_control(value, field.kind)
            return Entry(value, field.kind, place=place) if value else None
        return Entry(as_asked(value, hint), place=place)

    def _choices(self, now: Screen, asked: Mapping[Box, _Asked]) -> list[Action]:
        """From the bottom up: an answer may show further fields below itself."""
        choices: list[tuple[float, list[Action]]] = []
        for field in now.fields:
            each = asked.get(field.box)
            if field.kind != "list" or not each or not each.mention or not each.mention.value:
                continue
            entry = self._entries.get(each.key)
            if entry is None:
                entry = Entry(each.mention.value, "list", place=each.mention.place)
                self._entries[each.key] = entry
            elif not self._to_repeat(field, entry, each.label):
                continue
            choices.append((field.box[1], chosen_in_list(field, entry.value)))
        for group in now.groups:
            name = "/".join(mark.text for mark in group.marks)
            if self._entries.get(name) is None and (marks := self._to_tick(group, asked)):
                self._entries[name] = Entry(name, "ticks")
                choices += [(m.box[1], [Click(*middle(m.box))]) for m in marks if not m.ticked]
        choices.sort(key=lambda choice: -choice[0])
        return [action for _, todo in choices for action in todo]

    def _to_tick(self, group: MarkGroup, asked: Mapping[Box, _Asked]) -> list[TickMark]:
        texts = [_plain(mark.text) for mark in group.marks]
        whole = asked.get(_around(group))
        own = [each.mention if (each := asked.get(m.box)) else None for m in group.marks]
        if whole and (mention := whole.mention):
            chosen = several(mention.value, texts) or options_in(mention.whole, texts)[:1]
            if chosen:
                return [group.marks[number] for number in chosen]
            # A box to tick with the label at its left.
            if len(texts) == 1 and mention.place >= 0:
                return [] if mention.denies else list(group.marks)
        if any(mention and mention.plain for mention in own) or len(texts) == 1:
            pairs = zip(group.marks, own, strict=True)
            return [mark for mark, mention in pairs if mention and not mention.denies]
        named = options_in(self._text.text, texts)
        return [group.marks[named[0]]] if len(named) == 1 else []

    def _onward(
        self, now: Screen, asked: Mapping[Box, _Asked], size: tuple[int, int]
    ) -> list[Action]:
        """Press the button that goes on, below what was entered; scroll where there is none."""
        entered = [box[1] for box, each in asked.items() if each.key in self._entries]
        ended = self._scrolled is not None and not screen.differs(self._scrolled, now)
        buttons = [
            field
            for field in now.fields
            if is_button(field)
            and not OTHER.match(field.text.strip())
            and (ended or not entered or field.box[3] > max(entered))
        ]
        # Words that say so come before the looks of a button, and the lowest one last.
        buttons.sort(key=lambda f: (goes_on(f), f.box[1]))
        if buttons and (ended or goes_on(buttons[-1])):
            return self._press(now, buttons[-1])
        if ended and (self._scrolls or not asked):
            return []
        self._scrolls = self._scrolls + 1 if ended else 0
        self._scrolled = now
        if ended:
            # The page stands still: its form may lie in a pane of its own.
            x = sum(middle(box)[0] for box in asked) / len(asked)
            return [Scroll(0.5 * size[1], x=x, y=sum(middle(box)[1] for box in asked) / len(asked))]
        return [Scroll(0.7 * size[1])]

    def _press(self, now: Screen, button: ScreenField) -> list[Action]:
        if self._turns >= _TURNS:
            return []
        text = button.text.strip()
        self._pressed, self._turns = _Pressed(now, text), self._turns + 1
        self._sent = self._sent or not ONWARD.match(text)
        return [Click(*middle(button.box))]

    def _confirm(self, now: Screen) -> list[Action]:
        """After the form was sent: only what confirms it."""
        buttons = [f for f in now.fields if is_button(f) and CONFIRM.match(f.text.strip())]
        return self._press(now, buttons[-1]) if buttons else []


def _plain(label: str) -> str:
    return _OPTIONAL.sub("", label).strip(" :")


def _plain_names(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for text in texts if (name := _plain(text))))


def _around(group: MarkGroup) -> Box:
    """A box for the question of a group, apart from those of its marks."""
    x0, y0, x1, y1 = group.marks[0].box
    return (x0 - 1, y0 - 1, x1 + 1, y1 + 1)


def _nearest(box: Box, asked: Mapping[Box, _Asked]) -> _Asked:
    """What stands nearest to a message: above it, else beside it."""

    def away(other: Box) -> float:
        across = max(0.0, other[0] - box[2], box[0] - other[2])
        down = box[1] - other[3] if box[1] > other[3] - 8 else 30 + max(0.0, other[1] - box[3])
        return abs(down) + across

    return asked[min(asked, key=away)]


def _is_name(field: ScreenField, entries: Iterable[Entry]) -> bool:
    """Whether the text in a field may be its label, and is none of what was entered."""
    values = [entry.value for entry in entries]
    may_be = field.kind in ("", "list", "time")
    return may_be and not any(shows(field.text, value) for value in values)
