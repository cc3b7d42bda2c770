"""The agent that knows the right answers, on formlab's own forms and on any other page."""

import datetime
from collections.abc import Mapping
from typing import Any

from formlab_arena import matching, page_fields
from formlab_arena.actions import Action
from formlab_arena.filler import Filler, Homes
from formlab_arena.observation import Observation, Observe
from formlab_arena.own_oracle import own_actions
from formlab_arena.page_fields import Content, PageField


class Oracle(Filler):
    """Knows the right answers (`values`), by the names or the labels of fields.

    None is a field to leave alone. On formlab's own forms it uses the mouse and the keyboard like
    any other agent, so where it fails, the arena does. On any other page it uses the elements: it
    pairs the answers with the fields, fills in what does not hold its answer yet, each field at
    most three times, and sends the form. `note` says at the end which answers were left, and why.
    """

    name = "oracle"
    observes: Observe = "tree"

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__()
        self.values, self.note = values, dict[str, Any]()
        # The field of each answer; the answers of ticks that belong together by their place only.
        self._home, self._loose = dict[str, PageField](), set[str]()

    def act(self, observation: Observation) -> list[Action]:
        """The next actions; none after the form was sent, or when there is nothing left to do."""
        elements = observation.elements
        own = any(element.field in ("_next", "_submit") for element in elements)
        if own or (elements and not any(element.id for element in elements)):
            return own_actions(self.values, observation)
        return super().act(observation) if self.values else []

    def homes(self, fields: Mapping[str, PageField], observation: Observation) -> Homes:  # noqa: ARG002
        """The fields of this page with their answers; once paired, a field keeps its answer."""
        known = {key: fields[f.name] for key, f in self._home.items() if f.name in fields}
        # Those of ticks that belong together by their place only are paired anew.
        keys = [key for key in self.values if key not in self._home or key in self._loose]
        taken = {field.name for field in known.values()}
        free = {name: field for name, field in fields.items() if name not in taken}
        new = page_fields.paired({key: self.values[key] for key in keys}, free)
        self._loose |= {key for key, field in new.items() if field.name not in fields}
        self._home |= known | new
        return [
            (field, field.exactly(self.values[key], self.values.values()))
            for key, field in (known | new).items()
            if self.values[key] is not None and (self.values[key] or field.kind != "canvas")
        ]

    def answer(self, question: str) -> Any:
        """The answer whose label a dialog shows."""
        keys = matching.pair(list(self.values), {"": (question,)})
        return next((self.values[key] for key in keys), None)

    def day(self, field: PageField, content: Content) -> datetime.date | None:  # noqa: ARG002
        """The day to choose in a calendar, where a field asks for one."""
        value = next((self.values[k] for k, f in self._home.items() if f.key == field.key), None)
        is_day = page_fields.is_day(field, value)
        return page_fields.day_of(value, self.values.values()) if is_day else None

    @property
    def left(self) -> bool:
        """Whether an answer has had no field yet."""
        return any(
            value is not None and key not in self._home for key, value in self.values.items()
        )

    def over(self) -> list[Action]:
        """Note the answers that are in no field, and why."""
        wrong = {
            key: "not on the page"
            if key not in self._home
            else f"holds {self._last.get(self._home[key].key, '')!r}"
            for key, value in self.values.items()
            if value is not None
            and (key not in self._home or self._home[key].key not in self._right)
        }
        self.note = {"left": wrong} if wrong else {}
        return []
