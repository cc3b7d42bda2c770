"""What is read of the files of a run: settings, results, events and right answers.

A log is written by our own recorder and by a person's browser, and may have been changed since.
"""

import re
from typing import Any, Literal

import msgspec

from formlab.errors import DataBroken
from formlab.files import Whole, convert

# The name of an episode is that of its folder in the run.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
Values = dict[str, str | bool | int | float | list[str] | None]
_Box = tuple[float, float, float, float]


class _Target(msgspec.Struct):
    """What an action was on."""

    field: str
    option: str | None
    kind: str


class _Control(_Target):
    value: str | bool | None
    checked: bool | None
    shown: str | None = None


class _ScreenControl(_Control, kw_only=True):
    box: _Box
    labels: list[_Box]
    options: list[str] | None
    values: list[str] | None = None
    name: str | None = None
    label: str | None = None
    group: list[str] | None = None


class _Usage(msgspec.Struct):
    """What a model's answer took."""

    attempts: Whole | None = None
    tokens_in: Whole | None = None
    tokens_out: Whole | None = None
    cost: float | None = None
    seconds: float | None = None


class _Action(msgspec.Struct):
    do: str
    options: list[str] | None = None
    names: list[str] = []


class _Typed(_Action, kw_only=True):
    text: str


class _Pressed(_Action, kw_only=True):
    key: str


class _Event(msgspec.Struct):
    step: Whole
    on: Whole | None = None
    asked: _Action = msgspec.field(default_factory=lambda: _Action(""))
    done: _Action | None = None
    at: tuple[float, float] | None = None
    hit: _Target | None = None
    target: _Target | None = None
    changed: list[tuple[str, str | None, str | bool | None, str | bool | None]] | None = None
    controls: list[_Control] = []
    answer: _Usage = msgspec.field(default_factory=_Usage)
    unusable: str = ""


class _Screen(msgspec.Struct):
    screen: Whole
    size: tuple[Whole, Whole]
    image: str | None
    controls: list[_ScreenControl]


class _Submission(msgspec.Struct):
    outcome: str
    values: dict[str, list[str]]


class _Account(msgspec.Struct):
    submissions: list[_Submission] = []
    validation: list[Any] = []


class _Result(msgspec.Struct):
    """The result of an episode; one on formlab's own forms has `form` and `answers`."""

    doc_id: str
    status: Literal["submitted", "unsent", "unfinished", "crashed"]
    error: str | None
    form: str = ""
    answers: Values | None = None
    account: _Account | None = None
    seconds: float | None = None
    text_kind: str | None = None


class _Page(msgspec.Struct):
    """What was read on the page that a form was filled in from."""

    fields: dict[str, dict[str, Any]]


class _Settings(msgspec.Struct):
    system: str
    seed: Any


def event(value: Any, *, where: str) -> dict[str, Any]:
    """An event of a log, checked; `DataBroken` if it is none."""
    is_screen = isinstance(value, dict) and "screen" in value
    convert(value, _Screen if is_screen else _Event, where=where)
    for name in ("asked", "done"):
        action = value.get(name)
        if action and action["do"] in ("Type", "Press"):
            kind = _Typed if action["do"] == "Type" else _Pressed
            convert(action, kind, where=f"{where}#/{name}")
    return value


def result(value: Any, *, where: str) -> dict[str, Any]:
    """The result of an episode, checked; `DataBroken` if it is none or names no folder."""
    convert(value, _Result, where=where)
    if not _NAME.fullmatch(value["doc_id"]):
        raise DataBroken(f"no name of an episode: {value['doc_id']!r:.80}", where=where)
    return value


def values(value: Any, *, where: object) -> dict[str, Any]:
    """The right answers of an episode, checked."""
    convert(value, Values, where=where)
    return value


def page(value: Any, *, where: object) -> dict[str, Any]:
    """What was read on a page, checked."""
    convert(value, _Page, where=where)
    return value


def settings(value: Any, *, where: object) -> dict[str, Any]:
    """The settings of a run, checked."""
    convert(value, _Settings, where=where, remedy="the run.json that formlab arena fill wrote")
    return value
