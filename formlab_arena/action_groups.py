"""Reads an episode's log: the screens, the groups of actions, and the final contents of the form.

A line is one group of actions at one location: a click and what was then typed or chosen there,
as in a model's line ``[x, y] value``.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from formlab import files
from formlab_arena import log_structure

TICKS = ("radio", "checkbox")
BUTTONS = ("button", "submit", "reset", "image")
# What a model's answer takes, as in *responses*.
USAGE = ("attempts", "tokens_in", "tokens_out", "cost", "seconds")
# The value of a line that removes a tick.
CLEARED = "unchecked"
_SELECT_ALL = ("Control+A", "Meta+A", "Control+a", "Meta+a")
Event = dict[str, Any]


@dataclasses.dataclass
class ActionGroup:
    """The actions at one location.

    `field`, `option` and `kind` are those of the control that was hit, None for none; `x` and `y`
    are pixels of the whole page, None where the keyboard alone moved to no known control; `page`
    is the number of the screen. `changed` are the fields' contents before and after.
    """

    step: int
    page: int
    x: float | None
    y: float | None
    field: str | None = None
    option: str | None = None
    kind: str | None = None
    text: str = ""
    typed: bool = False
    selected: bool = False
    cleared: bool = False
    by: str = "mouse"
    changed: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)

    @property
    def value(self) -> str:
        """The value it enters: as typed; of a list or a calendar, as then set."""
        own = [after for field, _, after in self.changed if field == self.field]
        if self.typed and not (self.kind == "select" and own):
            return self.text
        if self.kind in TICKS:
            return CLEARED if self.cleared else ""
        return own[-1] if own else self.text


@dataclasses.dataclass
class Episode:
    """The screens by number (events of the log), the lines, and each field's final content.

    `unusable` are the statuses of answers that no action could be read from, `codes` by field
    what was shown for what would be sent, and `usage` what a model's answers took.
    """

    screens: dict[int, Event]
    lines: list[ActionGroup]
    content: dict[str, str]
    unusable: list[str] = dataclasses.field(default_factory=list)
    codes: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    usage: dict[str, float | None] = dataclasses.field(default_factory=dict)


def usage_of(answers: Iterable[Mapping[str, Any]]) -> dict[str, float | None]:
    """Attempts, tokens, cost and seconds of a model's answers together, as they are logged.

    A sum is None where one of its parts is not known; nothing is in it without an answer.

    Examples
    --------
    >>> usage_of([{"tokens_in": 5, "cost": None}, {"tokens_in": 7, "cost": 0.5}])["tokens_in"]
    12
    """
    noted = [answer for answer in answers if USAGE[1] in answer]
    columns = {name: [answer.get(name) for answer in noted] for name in USAGE} if noted else {}
    return {name: None if None in values else sum(values) for name, values in columns.items()}


def read(file: Path) -> Episode:
    """The episode logged in a file; an empty one where nothing was logged.

    Raises
    ------
    DataBroken
        If a line of the log is no event; a last line cut short by a crash is left out.
    """
    return Reader().read(_events(file))


def _events(file: Path) -> Iterator[Event]:
    if not files.is_file(file):
        return
    for number, line in enumerate(files.read_text(file).split("\n")[:-1], start=1):
        value = files.parse_json(line, where=str(file), first_line=number)
        yield log_structure.event(value, where=f"{file}:{number}")


class Reader:
    """Goes through the events of one episode in order."""

    def __init__(self) -> None:
        self.screens: dict[int, Event] = {}
        self.lines: list[ActionGroup] = []
        self._open: ActionGroup | None = None
        self._focus: tuple[Any, ...] | None = None
        # The contents of each field's controls, by option: a tick as true or false.
        self._contents: dict[str, dict[str | None, Any]] = {}
        self._codes: dict[str, dict[str, str]] = {}

    def read(self, events: Iterator[Event]) -> Episode:
        """All of them."""
        unusable, answers = [], []
        for event in events:
            if "answer" in event:
                answers.append(event["answer"])
            if "unusable" in event:
                unusable.append(event["unusable"])
            if "controls" in event:
                self._see(event["controls"])
            if "screen" in event:
                self.screens[event["screen"]] = event
            elif "asked" in event and event.get("on"):
                self._act(event)
        self._close()
        content = {field: content_of(values) for field, values in self._contents.items()}
        return Episode(self.screens, self.lines, content, unusable, self._codes, usage_of(answers))

    def _see(self, controls: list[dict[str, Any]]) -> None:
        for control in controls:
            if is_field(control):
                value = control["checked" if control["kind"] in TICKS else "value"]
                self._contents.setdefault(control["field"], {})[control["option"]] = value
                if control.get("shown"):
                    codes = self._codes.setdefault(control["field"], {})
                    codes[control["value"]] = control["shown"]

    def _act(self, event: Event) -> None:
        action = event.get("done") or event["asked"]
        target = event.get("target")
        match action["do"]:
            case "Click" | "DoubleClick" | "RightClick" | "Check" | "Drag":
                self._click(event)
                target = event.get("hit")
            case "Fill" | "Select" | "Upload":
                self._click(event)
                if self._open and "refused" not in event:
                    texts = [action["text"]] if "text" in action else action.get("options")
                    self._open.text = ", ".join(texts or action.get("names", ()))
                    # What is chosen is what the field then holds.
                    self._open.typed, self._open.selected = action["do"] != "Select", False
            case "Focus" if target and self._owns(target["field"]):
                self._begin(event)
            case "Type":
                line = self._line(event)
                line.text = action["text"] if line.selected else line.text + action["text"]
                line.typed, line.selected = True, False
            case "Press":
                self._press(event, action["key"])
        self._focus = _key(target)
        self._change(event)

    def _click(self, event: Event) -> None:
        if not event.get("at"):
            # An element that was not there: the action had no place.
            return
        hit = event.get("hit")
        before = self._open
        if (
            before
            and hit
            and before.field == hit["field"] != ""
            and not (before.typed or before.changed or before.kind in TICKS)
        ):
            # A second click on the same field, as in its calendar, goes on with the first.
            before.kind = before.kind if hit["kind"] in BUTTONS else hit["kind"]
            return
        self._close()
        if hit and not is_field(hit) and hit["kind"] in BUTTONS and not self._owns(hit["field"]):
            return
        self._start(event, *event["at"], hit)

    def _start(
        self,
        event: Event,
        x: float | None,
        y: float | None,
        control: Event | None,
        by: str = "mouse",
    ) -> None:
        owned = control and self._owns(control["field"])
        keys = {key: control[key] for key in ("field", "option", "kind")} if owned else {}
        self._open = ActionGroup(event["step"], event["on"], x, y, by=by, **keys)

    def _owns(self, field: str) -> bool:
        return field in self._contents

    def _line(self, event: Event) -> ActionGroup:
        """The line that goes on; else a new one at what has the focus."""
        if self._open is None:
            self._begin(event)
        return self._open

    def _begin(self, event: Event) -> None:
        self._close()
        target = event.get("target")
        x = y = None
        for control in self.screens.get(event["on"], {}).get("controls", []):
            if target and _key(control) == _key(target):
                x0, y0, x1, y1 = control["box"]
                x, y = (x0 + x1) / 2, (y0 + y1) / 2
        self._start(event, x, y, target, by="keyboard")

    def _press(self, event: Event, key: str) -> None:
        target = event.get("target")
        moved = target and self._focus is not None and _key(target) != self._focus
        if moved and self._owns(target["field"]):
            self._begin(event)
            return
        line = self._line(event)
        if key in _SELECT_ALL:
            line.selected = True
        elif key in ("Backspace", "Delete"):
            line.text = "" if line.selected else line.text[:-1] if key == "Backspace" else line.text
            line.selected = False

    def _change(self, event: Event) -> None:
        before = {}
        for field, option, _, after in event.get("changed") or ():
            before.setdefault(field, content_of(self._contents.get(field, {})))
            self._contents.setdefault(field, {})[option] = after
            if self._open and after is False and (field, option) == (
                self._open.field, self._open.option,
            ):  # fmt: skip
                self._open.cleared = True
        for field, was in before.items():
            now = content_of(self._contents[field])
            if self._open and now != was:
                self._open.changed.append((field, was, now))

    def _close(self) -> None:
        line, self._open = self._open, None
        # The keyboard passes over fields on its way; only where it changed one is there a line.
        if line and (line.by == "mouse" or line.typed or line.changed):
            self.lines.append(line)


def _key(control: Mapping[str, Any] | None) -> tuple[Any, ...] | None:
    return None if control is None else (control["field"], control["option"], control["kind"])


def is_field(control: Mapping[str, Any]) -> bool:
    """Whether a control takes an answer: it belongs to a field and is no button."""
    return bool(control["field"]) and control["kind"] not in BUTTONS


def content_of(values: Mapping[str | None, Any]) -> str:
    """The content of one field, of all its controls.

    Examples
    --------
    >>> content_of({"Tea": True, "Jam": True, "Salt": False}), content_of({None: True})
    ('Tea, Jam', 'true')
    """
    ticks = {option: value for option, value in values.items() if isinstance(value, bool)}
    if list(ticks) == [None]:
        return str(ticks[None]).lower()
    if ticks:
        return ", ".join(str(option) for option, ticked in ticks.items() if ticked)
    return next((str(value) for value in values.values() if value), "")


def as_json(line: ActionGroup, paths: Mapping[str, str]) -> dict[str, Any]:
    """A line for the meta of a document, with paths in place of the names of fields."""
    return {
        "step": line.step, "page": line.page, "x": line.x, "y": line.y, "value": line.value,
        "by": line.by, "path": paths.get(line.field or ""), "option": line.option,
        "changed": [[paths.get(f, "/" + f), before, after] for f, before, after in line.changed],
    }  # fmt: skip


def dumps(value: Any) -> str:
    """JSON for a table."""
    return json.dumps(value, ensure_ascii=False)
