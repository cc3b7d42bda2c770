"""What a model answered, in a text or a reply of a service: reasoning, fences and talk left out."""

import ast
import html
import json
import re
import tomllib
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import json_repair

from formlab.trees import DEEPEST, is_flat

# Repairing takes the square of the length of some texts: with both bounds none takes a second.
# An answer is seldom a third as long, and needs some three steps a character.
LONGEST, _STEPS = 80_000, 300_000
# How many broken places are passed, how far from the ends of a page its JSON is an answer, and how
# often one after another JSON is taken out of a string that it was put into.
_TRIES, _TALK, _NESTED = 50, 200, 4
MARKS = tomllib.loads(Path(__file__).with_name("marks.toml").read_text("utf-8"))
_CLOSING, _OPENING, _ENDS, _ANSWER = (
    re.compile("|".join(MARKS[name]).replace("%s", MARKS["mark"]), re.IGNORECASE | re.MULTILINE)
    for name in ("closing", "opening", "ends", "answer")
)
_CALL, _WITHIN, *_NAMED = (names.split() for names in MARKS["names"].values())
# What members are called, and what stands around an answer and beside it.
MEMBERS = {name: names.split() for name, names in MARKS["member"].items()}
WRAPPERS = MARKS["wrapper"]["lists"].split()
_wraps = lru_cache(maxsize=2**16)(re.compile(MARKS["wrapper"]["around"]).fullmatch)
_REMARKS = {*MARKS["wrapper"]["beside"].split()}
_SAID = {name for kind in ("confidence", "page", "box", "beside") for name in MEMBERS[kind]}
_STARTS, _BEGINS, _FENCE, _KEYED, _ESCAPED, _BEFORE, _PYTHON = (
    re.compile(form.replace("{start}", MARKS["json"]["start"])) for form in MARKS["json"].values()
)
_AROUND = "text around the JSON left out"
_as_written = partial(json.JSONDecoder, parse_int=str, parse_float=str, parse_constant=str)
_STRICT, DECODER = _as_written(), _as_written(strict=False)


@dataclass(frozen=True)
class Parsed:
    """An answer, its status (`ok`, `repaired`, else one without a value) and what was mended."""

    value: Any
    status: str
    changes: tuple[str, ...] = ()


def read(text: str) -> Parsed:
    """What a text answers: an object or a list of objects, else the text itself."""
    return parse(text, lists=True) if is_json(text) else plain(text)


def parse(text: str, *, lists: bool = False, calls: bool = True) -> Parsed:
    """The last complete JSON object behind a model's reasoning; else a repair of the last.

    Of a list the largest object is taken, or all with `lists`; of a tool call its arguments, but
    without `calls`. Numbers stay as they are written, and no text raises an error.
    """
    value, changes = _loaded(text.removeprefix("\ufeff")), []
    if not _is_answer(value) and value != {}:
        answer, changes = _behind_reasoning(text)
        if changes and not answer:
            return Parsed(None, "truncated", tuple(changes))
        value, mended = _found(answer)
        changes += mended
    if value is None or not is_flat(value):
        too_deep = [f"nested deeper than {DEEPEST} levels"]
        return Parsed(None, "bad_json", tuple(changes if value is None else too_deep))
    if calls and (reply := text_of(value)) is not None:
        return parse(reply, lists=lists)
    value = (calls and arguments(value)) or value
    if isinstance(value, list) and not (lists and len(value) > 1):
        value, changes = _largest(value), changes or [_AROUND]
    return Parsed(value, "repaired" if changes else "ok", tuple(changes))


def plain(text: str) -> Parsed:
    """The text of an answer that is no JSON, without reasoning and a fence around it."""
    answer, changes = _behind_reasoning(text)
    inside = answer.strip()
    if not inside:
        return Parsed(None, "truncated" if changes else "missing", (*changes, "an empty answer"))
    # Not one pattern for both fences: on a long run of spaces it takes the square of its length.
    if (opening := _FENCE.match(inside)) and inside.endswith("```", opening.end()):
        answer = inside[opening.end() : -3].rstrip(" \t").removesuffix("\n").removesuffix("\r")
        changes.append("code fence left out")
    return Parsed(answer, "repaired" if changes else "ok", tuple(changes))


def is_json(text: str) -> bool:
    """Whether a text is an answer in JSON, readable or not, and so no text of a page."""
    answer = _unescaped(_behind_reasoning(text)[0])
    keyed = _KEYED.search(answer)
    near = keyed and (keyed.start() <= _TALK or len(answer) - answer.rfind("}") <= _TALK)
    return bool(near or _BEGINS.match(answer))


def _behind_reasoning(text: str) -> tuple[str, list[str]]:
    """What follows the last closing mark of reasoning, up to an opening one left open."""
    ends = [closing.end() for closing in _CLOSING.finditer(text)]
    answer = text[ends[-1] :] if ends else text
    # Behind the start of JSON such marks may stand in its texts.
    inside = start.start() if (start := _STARTS.search(answer)) else len(answer)
    if opening := _OPENING.search(answer, 0, inside):
        answer = answer[: opening.start()]
    answer = _ENDS.sub("", answer)
    if marks := _ANSWER.findall(answer, 0, inside):
        closing = "}" if marks[-1][-1] == "{" else f"</{marks[-1][1:]}"
        behind = answer.partition(marks[-1])[2]
        answer = behind.rpartition(closing)[0] or behind
    return (text, []) if len(answer) == len(text) else (answer.strip(), ["reasoning left out"])


def _unescaped(text: str) -> str:
    """JSON before it was put into a JSON string, a log or HTML; any other text as it is."""
    for _ in range(_NESTED):
        escaped = _ESCAPED.search(text, 0, _TALK)
        if not escaped or _STARTS.search(text, 0, escaped.start()):
            break
        if escaped[0].endswith(";"):
            text = html.unescape(text)
            continue
        inside = text.strip()
        inside = inside[1:].removesuffix('"') if inside[0] == '"' else inside
        text = inside.replace('\\"', '"')
        with suppress(ValueError):
            text = json.loads(f'"{inside}"', strict=False)
    return text


def _found(answer: str) -> tuple[Any, list[str]]:
    """The last complete answer, else the last broken one repaired, and what was mended."""
    text = _unescaped(answer)
    changes = ["escapes of the JSON taken out"] if text != answer else []
    found, begin, end, broken = None, 0, 0, text.find("{")
    place, tries, is_open = 0, 0, False
    while tries < _TRIES and (start := _STARTS.search(text, place)):
        first = start.start()
        is_new = not is_open or _BEFORE.search(text, max(0, first - 80), first)
        try:
            value, place = DECODER.raw_decode(text, first)
        except (ValueError, RecursionError):
            tries, place = tries + 1, first + 1
            broken, is_open = (first, True) if is_new else (broken, is_open)
            continue
        is_remark = found and isinstance(value, dict) and _REMARKS.issuperset(value)
        if is_new and _is_answer(value) and not is_remark:
            found, begin, end, is_open = value, first, place, False
    if not found:
        found, mended = _repaired(text, broken) if broken >= 0 else (None, ["no JSON object"])
        changes += mended
    elif _FENCE.search(text, max(0, begin - 40), begin):
        changes.append("code fence left out")
    elif text[:begin].strip() or text[end:].strip():
        changes.append(_AROUND)
    elif not _loaded(text):
        changes.append("control characters in strings kept")
    return found, changes


def _repaired(text: str, start: int) -> tuple[Any, list[str]]:
    """The answer in broken JSON, null if there is none, and what was mended."""
    inside = re.split(r"\n[ \t]*+```", text[start:], maxsplit=1)[0]
    changes = [_AROUND] if len(inside) < len(text.strip()) else []
    listed = inside
    for row in MARKS["mended"]:
        listed, count = re.subn(row["text"], row["instead"], listed)
        changes += [f"{row['change']}: {count}"] if count else []
    try:
        value, log = repair(listed)
        # As text numbers need no bounds, of which Python has one.
        value = _loaded(json.dumps(value))
    except (ValueError, RecursionError) as error:
        return None, [f"beyond repair: {error}"[:200]]
    if isinstance(value, list):
        value = [item for item in value if isinstance(item, dict) and item]
        # A stray closing brace makes the repair see several values; the answer is the largest.
        value = value if inside[0] == "[" else _largest(value)
    if not _is_answer(value):
        return None, [*changes, "no JSON object in it"]
    return value, [*changes, *dict.fromkeys(entry["text"] for entry in log)] or ["mended"]


class _Counted(str):
    """A text that is read character by character, so many times at the most."""

    left = _STEPS

    def __getitem__(self, place: Any) -> str:
        self.left -= 1
        if self.left < 0:
            raise ValueError("too much of it is broken")
        return str.__getitem__(self, place)


def repair(text: str) -> tuple[Any, list[dict[str, str]]]:
    """What json_repair makes of broken JSON, and its log; `ValueError` if that would take long."""
    if len(text) > LONGEST:
        raise ValueError(f"{len(text)} characters of broken JSON are too many")
    options = {"return_objects": True, "skip_json_loads": True, "logging": True}
    try:
        return json_repair.repair_json(_Counted(text), **options)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _loaded(text: str) -> Any:
    try:
        return _STRICT.decode(text)
    except (ValueError, RecursionError):
        return None


def _largest(values: list[Any]) -> Any:
    return max(values, key=lambda value: len(str(value)), default=None)


def stated(text: str) -> Any:
    """The object or list of objects that all of a text is, in JSON or Python; else the text."""
    value = _loaded(text) if text.lstrip()[:1] in ("{", "[") else None
    if value is None and _PYTHON.match(text) and len(text) <= LONGEST:
        # As pandas writes an object into a table.
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            value = ast.literal_eval(text.strip())
            # Numbers written otherwise than Python does would be others.
            value = _loaded(json.dumps(value)) if repr(value) == text.strip() else None
    return value if _is_answer(value) and is_flat(value) else text


def _is_answer(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return bool(items) and all(isinstance(item, dict) and item for item in items)


def arguments(value: Any) -> Any:
    """The arguments of a tool call, the last of several; null if it is none."""
    value = value["tool_calls"] if isinstance(value, dict) and "tool_calls" in value else value
    if isinstance(value, list):
        calls = [arguments(call) for call in value]
        return calls[-1] if calls and None not in calls else None
    if not isinstance(value, dict):
        return None
    call = next((value[n] for n in _WITHIN if isinstance(value.get(n), dict)), value)
    name, given = (next((call[n] for n in names if n in call), None) for names in _NAMED)
    if not isinstance(name, str) or call.keys() - _CALL:
        return None
    return parse(given).value if isinstance(given, str) else given


@lru_cache(maxsize=2**16)
def plain_name(name: str) -> str:
    """A name in small letters, without spaces, hyphens and underscores."""
    return re.sub(r"[\s_-]+", "", name.casefold())


def unwrapped(row: dict[str, Any], beside: Collection[str] = ()) -> dict[str, Any]:
    """A row without the one object, or text in JSON, that stands around all of its answer."""
    names = {name: plain_name(name) for name in row if name not in beside}
    around = [name for name, plain in names.items() if _wraps(plain)]
    if len(around) != 1 or not _REMARKS.issuperset(names[n] for n in names if n not in around):
        return row
    inner = by_name(row[around[0]])
    inner = inner[0] if isinstance(inner, list) and len(inner) == 1 else inner
    if isinstance(inner, str) and is_json(inner):
        inner = {"/": inner}
    if not isinstance(inner, dict) or not inner:
        return row
    # There may be several around one another.
    return unwrapped({name: row[name] for name in row if name in beside} | inner, beside)


def form_in(answer: Any) -> Any:
    """The fields of an answer that is an object or a list, without what stands around them."""
    inner = unwrapped(answer) if isinstance(answer, dict) else by_name(answer)
    is_text = isinstance(inner, dict) and inner.keys() == {"/"}
    return form_in(parse(inner["/"], lists=True).value) if is_text else inner


def answer_in(text: str | None) -> Any:
    """What an object in JSON that a text is calls its answer, beside remarks; else the text."""
    value = read(text).value if text and is_json(text) else None
    named = [(plain_name(n), said) for n, said in value.items()] if isinstance(value, dict) else []
    match [(name, said) for name, said in named if name not in _REMARKS]:
        case [(name, str(answer))] if name == "value" or _wraps(name):
            return answer
    return text


def by_name(value: Any) -> Any:
    """A list of fields that say their names as an object of them; all else as it is."""
    if not isinstance(value, list) or not _is_answer(value):
        return value
    keys = [{plain_name(key): key for key in item} for item in value]
    shared = set.intersection(*map(set, keys))
    name, held = (next(filter(shared.__contains__, MEMBERS[n]), None) for n in ("name", "held"))
    if not name or not held:
        return value
    found: dict[str, Any] = {}
    for item, of in zip(value, keys, strict=True):
        said = {key: cell for key, cell in item.items() if key != of[name]}
        found.setdefault(str(item[of[name]]), []).append(said if value_in(said) else item[of[held]])
    return {key: cells if len(cells) > 1 else cells[0] for key, cells in found.items()}


def value_in(members: dict[str, Any]) -> str | None:
    """The member that is the value of an object which says more of it; null if it is none."""
    names = {plain_name(name): name for name in members}
    found = [name for name in MEMBERS["value"] if name in names]
    rest = names.keys() - set(found)
    if not found or not (rest <= _SAID or "confidence" in rest) or rest <= {"type", "kind"}:
        return None
    is_sure = found[0] == "value" or not rest.isdisjoint(MEMBERS["confidence"])
    return names[found[0]] if is_sure else None


def text_of(reply: Any) -> str | None:
    """What the last tool call of a reply is given, as JSON, or its text; None if it is no reply."""
    # Of OpenAI, Anthropic, Gemini and Ollama, and the messages of a chat, without reasoning.
    match reply:
        case (
            {"response": {"body": inner}}
            | {"result": {"message": inner}}
            | {"choices": [{"message": inner}, *_]}
            | {"candidates": [{"content": inner}, *_]}
            | {"message": {"role": _} as inner}
            | {"messages": [*_, {"role": "assistant"} as inner]}
            | {"response": {"candidates": _} as inner}
            | {"output": {"message": {"role": _} as inner}}
            | [{"generated_text": _} as inner]
        ):
            return text_of(inner)
        case {"object": "text_completion", "choices": [{"text": str(text)}, *_]}:
            return text
        case {"model": _, "response": str(text), "done": _}:
            return text
        case {"generated_text": str(text), **more} if not more:
            return text
        # A form may have fields called role and content.
        case {"role": "assistant"} if (call := arguments(reply)) is not None:
            return json.dumps(call)
        case (
            {"role": "assistant", "content": inner}
            | {"role": "model", "parts": inner}
            | {"object": "response", "output": inner}
        ):
            return inner if isinstance(inner, str) else _joined(inner or [])
    return None


def _joined(blocks: Any) -> str:
    """What the last call among the blocks of a message is given, else their texts."""
    texts = []
    for block in reversed(blocks) if isinstance(blocks, list) else ():
        match block:
            case {"type": "thinking"} | {"thought": True}:
                continue
            case _ if (call := arguments(block)) is not None:
                return json.dumps(call)
            case {"text": str(text)}:
                texts.append(text)
            case {"type": "message", "content": inner}:
                texts.append(_joined(inner))
    return "".join(reversed(texts))


def in_cells(row: Mapping[str, Any]) -> dict[str, str]:
    """The texts of the cells that are replies, by column."""
    cells = ((name, text_of(cell)) for name, cell in row.items() if isinstance(cell, Mapping))
    return {name: text for name, text in cells if text is not None}


def replaced(row: Mapping[str, Any], documents: Collection[str], column: str) -> Mapping[str, Any]:
    """A row with the text in place of each reply; a row that is one has it in `column`."""
    text, cells = text_of(row), in_cells(row)
    match row:
        case {"custom_id": _, "response": _, "error": _} | {"custom_id": _, "result": {"type": _}}:
            text = next(iter(cells.values()), None) if text is None else text
        case _ if text is None:
            return {**row, **cells}
    found = {name: cell for name, cell in row.items() if name in documents}
    # A request is named by its `custom_id` or `key`; ``id`` names a reply.
    request = row.get("custom_id", row.get("key"))
    found |= {} if found or request is None else {"doc_id": request}
    return found | ({column: text} if text is not None else {column: None, "status": "api_error"})
