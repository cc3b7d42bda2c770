"""The system `rules`: reads the screenshot by OCR and the text by rules. It needs no key."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from formlab_arena import screen
from formlab_arena.actions import Action, Click, Press, Scroll, Type
from formlab_arena.instruction_text import InstructionText, LabelMention
from formlab_arena.observation import Observation, Observe
from formlab_arena.option_matching import options_in
from formlab_arena.rules_by_tree import RulesByTree
from formlab_arena.screen import MarkGroup, Screen, ScreenField, TickMark
from formlab_arena.shapes import middle
from formlab_arena.value_patterns import as_asked

if TYPE_CHECKING:
    from formlab_arena.page_reading import PageValues

_CHOOSE = re.compile(r"\W*(?:please )?(?:choose|select|pick)\b(?! files?)|[-–—]{2,}", re.IGNORECASE)
_FILE = re.compile(r"choose ?files?|no ?files? ?(?:chosen|selected)|browse|upload", re.IGNORECASE)
_NATIVE_DATE = re.compile(r"(?:mm|dd)/(?:mm|dd)/yyyy", re.IGNORECASE)
_ONWARD = re.compile(r"(?:next|continue|proceed|forward)\b", re.IGNORECASE)
_SEND = re.compile(
    r"(?:submit|send|apply|register|sign up|place order|book|save|finish|done|confirm|complete)\b",
    re.IGNORECASE,
)
_OTHER_BUTTON = re.compile(r"(?:back|previous|cancel|reset|clear|close)\b", re.IGNORECASE)
_OPTIONAL = re.compile(r"\((?:optional|required)\)|\*", re.IGNORECASE)
# Letters of an option that are typed to find it in a list.
_LETTERS = 24
_FAILURES, _TURNS = 2, 20
_TALL = 60


@functools.cache
def _shared() -> Callable[[Path], Screen]:
    return screen.reader()


class Rules:
    """Fills in the values that the text names for the labels beside or above boxes.

    Fields are remembered by label, so that it neither types twice nor goes on for ever: a page
    that does not turn after a second try is given up. `read` makes a `Screen` of a screenshot;
    without it all agents share one reader. `values` are those of a page, in place of a text.
    """

    name = "rules"
    observes: Observe = "pixels"

    def __init__(
        self, read: Callable[[Path], Screen] | None = None, *, values: PageValues | None = None
    ) -> None:
        self._read, self._values = read, values
        self._by_tree: RulesByTree | None = None
        self._text: InstructionText | PageValues = values or InstructionText("")
        self._tried: set[str] = set()
        self._scrolled: Screen | None = None
        self._pressed: Screen | None = None
        self._failures = self._turns = 0

    def act(self, observation: Observation) -> list[Action]:
        """The actions that fill in the view; else a turn of the page or a scroll; else none."""
        # A page that is still empty has no names either, nor has one of which only boxes are shown.
        if self.observes == "tree" or any(element.name for element in observation.elements):
            self._by_tree = self._by_tree or RulesByTree(self._values)
        if self._by_tree:
            return self._by_tree.act(observation)
        now = (self._read or _shared())(observation.image)
        if self._values is None and self._text.text != observation.text:
            self._text = InstructionText(observation.text)
        if self._pressed is not None and not self._turned(now):
            return []
        actions = self._texts(now.fields, observation.files) + self._choices(now)
        return actions or self._onward(now, observation.size)

    def _turned(self, now: Screen) -> bool:
        """Whether to go on after a button was pressed: on a new page, or for a second try."""
        before, self._pressed, self._scrolled = self._pressed, None, None
        if screen.shares(before, now) < 0.5:
            self._tried, self._failures = set(), 0
            return True
        self._failures += 1
        empty = {self._label(f)[0] for f in now.fields if not f.text.strip()}
        self._tried -= empty
        return self._failures < _FAILURES

    def _label(self, field: ScreenField) -> tuple[str, LabelMention | None]:
        """The nearest line that the text mentions, with its mention; else the nearest line."""
        names = [name for text in field.labels if (name := _plain(text))]
        for name in names:
            if mention := self._text.about(name):
                return name, mention
        return (names[0] if names else ""), None

    def _texts(self, fields: Sequence[ScreenField], files: Sequence[str]) -> list[Action]:
        actions: list[Action] = []
        for field in fields:
            label, mention = self._label(field)
            if not label or label in self._tried or _is_button(field) or _is_list(field):
                continue
            if todo := self._typed(field, label, mention, files):
                self._tried.add(label)
                actions += todo
        return actions

    def _typed(
        self, field: ScreenField, label: str, mention: LabelMention | None, files: Sequence[str]
    ) -> list[Action]:
        x, y = middle(field.box)
        if _FILE.search(field.text):
            name = _file_of(label, mention, files)
            return [Click(field.box[0] + 40, y), Type(name)] if name else []
        hint = f"{field.text} {label}"
        value = self._text.span(label, mention, hint=field.text)
        if value is None and mention:
            tall = field.box[3] - field.box[1] > _TALL
            value = mention.whole if tall else mention.value
        if not value:
            return []
        value = as_asked(value, hint)
        if _NATIVE_DATE.search(field.text):
            # The browser's own date field takes keys, from its left part on.
            return [Click(field.box[0] + 14, y), *(Press(key) for key in value)]
        return [Click(x, y), Press("Control+A"), Type(value)]

    def _choices(self, now: Screen) -> list[Action]:
        """From the bottom up: an answer may show further fields below itself."""
        choices: list[tuple[float, list[Action]]] = []
        for field in now.fields:
            label, mention = self._label(field)
            if _is_list(field) and mention and mention.value and label not in self._tried:
                self._tried.add(label)
                letters = [Press(key) for key in mention.value[:_LETTERS] if key.isascii()]
                todo = [Click(*middle(field.box)), *letters, Press("Enter")]
                choices.append((field.box[1], todo))
        for group in now.groups:
            name = "/".join(mark.text for mark in group.marks)
            if name not in self._tried and (marks := self._to_tick(group)):
                self._tried.add(name)
                choices += [(m.box[1], [Click(*middle(m.box))]) for m in marks if not m.ticked]
        choices.sort(key=lambda choice: -choice[0])
        return [action for _, todo in choices for action in todo]

    def _to_tick(self, group: MarkGroup) -> list[TickMark]:
        texts = [_plain(mark.text) for mark in group.marks]
        for label in group.labels:
            if mention := self._text.about(_plain(label)):
                chosen = options_in(mention.value, texts) or options_in(mention.whole, texts)[:1]
                if chosen:
                    return [group.marks[number] for number in chosen]
        own = [self._text.about(text) for text in texts]
        if any(mention and mention.plain for mention in own) or len(texts) == 1:
            pairs = zip(group.marks, own, strict=True)
            return [mark for mark, mention in pairs if mention and not mention.denies]
        named = options_in(self._text.text, texts)
        return [group.marks[named[0]]] if len(named) == 1 else []

    def _onward(self, now: Screen, size: tuple[int, int]) -> list[Action]:
        """Press the lowest button that goes on; scroll down where there is none."""
        buttons = [f for f in now.fields if _is_button(f) and not _OTHER_BUTTON.match(f.text)]
        if buttons and self._turns < _TURNS:
            self._pressed, self._turns = now, self._turns + 1
            return [Click(*middle(buttons[-1].box))]
        if buttons or (self._scrolled is not None and not screen.differs(self._scrolled, now)):
            return []
        self._scrolled = now
        return [Scroll(0.7 * size[1])]


def _plain(label: str) -> str:
    return _OPTIONAL.sub("", label).strip(" :")


def _is_button(field: ScreenField) -> bool:
    text = field.text.strip()
    words = _ONWARD.match(text) or _SEND.match(text) or _OTHER_BUTTON.match(text)
    # A box with a label and a typed sentence in it is none, however the sentence begins.
    return words is not None and len(text) <= 30 and field.box[2] - field.box[0] < 420


def _is_list(field: ScreenField) -> bool:
    return _CHOOSE.match(field.text) is not None and not _FILE.search(field.text)


def _file_of(label: str, mention: LabelMention | None, files: Sequence[str]) -> str | None:
    """The file that the text names for a label; else the one named like it; else the only one."""
    if mention and (named := [name for name in files if name in mention.value]):
        return named[0]
    words = set(re.findall(r"[a-z]{3,}", label.lower()))
    like = [name for name in files if words & set(re.findall(r"[a-z]{3,}", name.lower()))]
    if len(like) == 1:
        return like[0]
    return files[0] if len(files) == 1 else None
