"""JSON as models write it: fenced, with talk around it, unquoted, unclosed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import json_repair

# Repairing is plain Python at about half a megabyte a second; what is longer is not an answer.
LONGEST = 1_000_000
# How many places in a text a complete JSON object is looked for.
_TRIES = 50
_SHOWN = 8
_FENCE = re.compile(r"```[ \t]*[\w-]*[ \t]*\r?\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
# A brace straight after a brace is never JSON: models write lists of objects so.
_BRACED_LIST = re.compile(r"(:\s*)\{(?=\s*\{)")
# A key without quotes and without its colon.
_NO_COLON = re.compile(r"(\{\s*)([A-Za-z_]\w*)\s+(?=\")")
_CONTEXT = 60
Object = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """What a model's text holds: a JSON object or None, the status, and what had to be changed.

    `status` is `ok` where the text is one JSON object, `repaired` where it could be made into
    one, else `bad_json`; `changes` says in words what was done, or why nothing could be.
    """

    value: Object | None
    status: str
    changes: tuple[str, ...] = ()


def read(text: str) -> Reply:
    """The JSON object in what a model wrote; never raises, whatever the text.

    Tried in this order: the text itself; the inside of a code fence; the largest complete object
    among other text; a repair of what starts at the first brace (keys without quotes, missing
    commas and braces). Numbers stay text, as they were written.

    Examples
    --------
    >>> read('{"total": 9.50}')
    Reply(value={'total': '9.50'}, status='ok', changes=())
    >>> read('Here you are: {"total": 1} Anything else?').changes
    ('text around the JSON left out',)
    >>> read('{"fields": {label: "Name"').value
    {'fields': {'label': 'Name'}}
    >>> read("I cannot read this form.").status
    'bad_json'
    """
    found = _parsed(text.removeprefix("\ufeff"))
    if isinstance(found, dict):
        return Reply(found, "ok")
    for inside in _fenced(text):
        if isinstance(found := _parsed(inside), dict):
            return Reply(found, "repaired", ("code fence left out",))
    if (whole := _embedded(text)) is not None:
        return Reply(whole, "repaired", ("text around the JSON left out",))
    return _repaired(text)


def _parsed(text: str, *, strict: bool = True) -> Any:
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=str, strict=strict)
    except (ValueError, RecursionError):
        return None


def _fenced(text: str) -> Iterator[str]:
    for place, match in enumerate(_FENCE.finditer(text)):
        if place == _TRIES:
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


def _repaired(text: str) -> Reply:
    inside = next(_fenced(text), text)
    start = inside.find("{")
    if start < 0:
        return Reply(None, "bad_json", ("no JSON object",))
    inside = inside[start:]
    if len(inside) > LONGEST:
        why = f"broken JSON of {len(inside)} characters: too long to repair"
        return Reply(None, "bad_json", (why,))
    if isinstance(found := _parsed(inside, strict=False), dict):
        return Reply(found, "repaired", ("control characters in strings kept",))
    listed, lists = _BRACED_LIST.subn(r"\1[", inside)
    listed, colons = _NO_COLON.subn(r'\1"\2": ', listed)
    try:
        value, log = json_repair.repair_json(
            listed, return_objects=True, skip_json_loads=True, logging=True
        )
    except (ValueError, RecursionError) as error:
        return Reply(None, "bad_json", (f"beyond repair: {error}"[:200],))
    if isinstance(value, list):
        # A stray closing brace makes the repair see several values; the answer is the largest.
        value = max((item for item in value if isinstance(item, dict)), key=len, default=None)
    if not isinstance(value, dict) or not value:
        return Reply(None, "bad_json", ("no JSON object in it",))
    changes = ["text around the JSON left out"] if len(inside) < len(text.strip()) else []
    changes += [f"braces around a list of objects made brackets: {lists}"] if lists else []
    changes += [f"colons put after keys: {colons}"] if colons else []
    return Reply(_texts(value), "repaired", (*changes, *_said(log)))


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


def _said(log: list[dict[str, str]]) -> Iterator[str]:
    """What the repair did: each kind once, with its count and where it was first needed."""
    kinds = Counter(entry["text"] for entry in log)
    first = {entry["text"]: entry["context"] for entry in reversed(log)}
    for kind, count in kinds.most_common(_SHOWN):
        near = " ".join(first[kind].split())[:_CONTEXT]
        yield f"{kind} ({count} times, first near: {near})"
