"""JSON as language models write it: in a code fence, between prose, unquoted, cut off."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import json_repair

# Repairing is plain Python, and takes the square of the length of some texts: with both bounds
# none takes a second. An answer is seldom a third as long, and needs some three steps a character.
LONGEST = 80_000
_STEPS = 300_000
# How many places in a text a complete JSON object is looked for.
_TRIES = 50
_SHOWN = 8
_FENCE = re.compile(r"```[ \t]*+[\w-]*+[ \t]*+\r?\n(.*?)(?:\n[ \t]*+```|\Z)", re.DOTALL)
# A brace straight after a brace is never JSON: models write lists of objects so.
_BRACED_LIST = re.compile(r"(:\s*)\{(?=\s*\{)")
# A key without quotes and without its colon.
_NO_COLON = re.compile(r"(\{\s*)([A-Za-z_]\w*)\s+(?=\")")
_CONTEXT = 60
Object = dict[str, Any]


@dataclass(frozen=True)
class Parsed:
    """The JSON object in a model's text, or None, with a status and the repairs made.

    `status` is `ok` if the text is one JSON object, `repaired` if one could be recovered, else
    `bad_json`; `changes` lists the repairs in words, or the reason for failing.
    """

    value: Object | None
    status: str
    changes: tuple[str, ...] = ()


def parse(text: str) -> Parsed:
    """Find the JSON object in a model's answer; never raises, whatever the text.

    Tried in this order: the text itself; the inside of a code fence; the largest complete object
    among other text; a repair of what starts at the first brace (keys without quotes, missing
    commas and braces). Numbers stay text, as they were written.

    Examples
    --------
    >>> parse('{"total": 9.50}')
    Parsed(value={'total': '9.50'}, status='ok', changes=())
    >>> parse('Here you are: {"total": 1} Anything else?').changes
    ('text around the JSON left out',)
    >>> parse('{"fields": {label: "Name"').value
    {'fields': {'label': 'Name'}}
    >>> parse("I cannot read this form.").status
    'bad_json'
    """
    value = _parsed(text.removeprefix("\ufeff"))
    if isinstance(value, dict):
        return Parsed(value, "ok")
    for inside in _fenced(text):
        if isinstance(value := _parsed(inside), dict):
            return Parsed(value, "repaired", ("code fence left out",))
    if (whole := _embedded(text)) is not None:
        return Parsed(whole, "repaired", ("text around the JSON left out",))
    return _repaired(text)


def _parsed(text: str, *, strict: bool = True) -> Any:
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=str, strict=strict)
    except (ValueError, RecursionError):
        return None


def _fenced(text: str) -> Iterator[str]:
    for index, match in enumerate(_FENCE.finditer(text)):
        if index == _TRIES:
            return
        yield match[1]


def _embedded(text: str) -> Object | None:
    """The largest complete object that starts at one of the first braces outside another."""
    decoder = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
    best, size, start = None, 0, text.find("{")
    for _ in range(_TRIES):
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            # What is inside a broken object is only a part of the answer.
            return best if best and size * 2 > len(text) else None
        if end - start > size and value:
            best, size = value, end - start
        start = text.find("{", end)
    return best


def _repaired(text: str) -> Parsed:
    inside = next(_fenced(text), text)
    start = inside.find("{")
    if start < 0:
        return Parsed(None, "bad_json", ("no JSON object",))
    inside = inside[start:]
    if isinstance(value := _parsed(inside, strict=False), dict):
        return Parsed(value, "repaired", ("control characters in strings kept",))
    listed, lists = _BRACED_LIST.subn(r"\1[", inside)
    listed, colons = _NO_COLON.subn(r'\1"\2": ', listed)
    try:
        value, log = repair(listed)
    except ValueError as error:
        return Parsed(None, "bad_json", (f"beyond repair: {error}"[:200],))
    if isinstance(value, list):
        # A stray closing brace makes the repair see several values; the answer is the largest.
        value = max((item for item in value if isinstance(item, dict)), key=len, default=None)
    if not isinstance(value, dict) or not value:
        return Parsed(None, "bad_json", ("no JSON object in it",))
    changes = ["text around the JSON left out"] if len(inside) < len(text.strip()) else []
    changes += [f"braces around a list of objects made brackets: {lists}"] if lists else []
    changes += [f"colons put after keys: {colons}"] if colons else []
    return Parsed(_texts(value), "repaired", (*changes, *_repairs(log)))


class _Counted(str):
    """A text that is read character by character, so many times at the most."""

    left = _STEPS

    def __getitem__(self, place: Any) -> str:
        self.left -= 1
        if self.left < 0:
            raise ValueError("too much of it is broken")
        return str.__getitem__(self, place)


def repair(text: str) -> tuple[Any, list[dict[str, str]]]:
    """What json_repair makes of broken JSON, and its log; `ValueError` if that would take long.

    Examples
    --------
    >>> repair('{"a": 1')[0]
    {'a': 1}
    >>> repair('{"a' * 100_000)
    Traceback (most recent call last):
    ...
    ValueError: 300000 characters of broken JSON are too many
    """
    if len(text) > LONGEST:
        raise ValueError(f"{len(text)} characters of broken JSON are too many")
    try:
        options = {"return_objects": True, "skip_json_loads": True, "logging": True}
        value, log = json_repair.repair_json(_Counted(text), **options)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return value, log


def _texts(value: Any) -> Any:
    """`value` with its numbers as text; booleans and null stay."""
    if isinstance(value, dict):
        return {str(key): _texts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_texts(item) for item in value]
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return value
    try:
        return str(value)
    except ValueError:
        # Python writes no integer of more than 4,300 digits.
        return "a number too long to write"


def _repairs(log: list[dict[str, str]]) -> Iterator[str]:
    """The repairs made: each kind once, with its count and where it was first needed."""
    kinds = Counter(entry["text"] for entry in log)
    first = {entry["text"]: entry["context"] for entry in reversed(log)}
    for kind, count in kinds.most_common(_SHOWN):
        near = " ".join(first[kind].split())[:_CONTEXT]
        yield f"{kind} ({count} times, first near: {near})"


def as_text(value: Any) -> str:
    """A JSON value as text: null is empty, a list or an object is its JSON.

    Examples
    --------
    >>> as_text(None), as_text(True), as_text(["Tea", "Milk"])
    ('', 'true', '["Tea", "Milk"]')
    """
    if isinstance(value, str):
        # Half of a surrogate pair is kept as its escape, as in the tables.
        text = value.encode("utf-8", "backslashreplace").decode()
        return value if text == value else text
    if value is None:
        return ""
    try:
        return as_text(json.dumps(value, ensure_ascii=False, default=str))
    except (ValueError, RecursionError):
        return ""


def as_texts(value: Any) -> list[str]:
    """A JSON value as a list of texts; one value is a list of one."""
    if value is None:
        return []
    return [as_text(item) for item in (value if isinstance(value, list) else [value])]
