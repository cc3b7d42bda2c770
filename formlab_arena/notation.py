"""How models write actions: lines such as ``Click(120, 80)`` or BrowserGym's ``click('e5')``, JSON.

One table of names drives all of it, and the classes of `actions` say which members there are.
"""

import ast
import dataclasses
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from formlab.text.normalise import as_text
from formlab_arena.actions import (
    ACTIONS,
    Action,
    Back,
    Check,
    Click,
    Done,
    DoubleClick,
    Drag,
    Fill,
    Focus,
    Hover,
    Press,
    RightClick,
    Scroll,
    Select,
    Tab,
    Type,
    Upload,
    Wait,
)

# BrowserGym's names of actions and others that models use, in small letters alone: the action and
# the orders that its arguments may stand in.
_NAMES: dict[str, tuple[type[Action], tuple[str, ...]]] = {
    "click": (Click, ("element button modifiers", "x y button")),
    "dblclick": (DoubleClick, ("element button modifiers", "x y button")),
    "mouseclick": (Click, ("x y button",)), "leftclick": (Click, ("x y",)),
    "tap": (Click, ("x y",)), "mousedblclick": (DoubleClick, ("x y button",)),
    "mousemove": (Hover, ("x y",)),
    "draganddrop": (Drag, ("element to",)), "mousedraganddrop": (Drag, ("x y to_x to_y",)),
    "fill": (Fill, ("element text",)), "clear": (Fill, ("element",)),
    "selectoption": (Select, ("element options",)), "uncheck": (Check, ("element",)),
    "uploadfile": (Upload, ("element names",)), "mouseuploadfile": (Upload, ("x y names",)),
    "press": (Press, ("element key", "key")), "keyboardpress": (Press, ("key",)),
    "key": (Press, ("key",)), "hotkey": (Press, ("key",)), "presskey": (Press, ("key",)),
    "keyboardtype": (Type, ("text",)), "keyboardinserttext": (Type, ("text",)),
    "typetext": (Type, ("text",)), "write": (Type, ("text",)), "input": (Type, ("text",)),
    "scroll": (Scroll, ("dx dy", "dy")), "noop": (Wait, ("wait_ms",)), "goback": (Back, ("",)),
    "tabfocus": (Tab, ("number",)),
    "sendmsgtouser": (Done, ("text",)), "reportinfeasible": (Done, ("text",)),
}  # fmt: skip
_FIXED = {"clear": {"text": ""}, "uncheck": {"ticked": False}}
# Other names of an action's members; the last ones are what models confuse.
_ALSO = {
    "element": ("bid", "id", "ref", "element_id", "from_bid"), "to": ("to_bid",),
    "x": ("from_x",), "y": ("from_y",), "dx": ("delta_x",), "dy": ("delta_y", "y"),
    "text": ("value", "content", "reason"), "options": ("option", "value", "text"),
    "names": ("file", "files", "text"), "key": ("key_comb", "text"), "number": ("index",),
}  # fmt: skip
_JSON = {
    "float": {"type": ["number", "null"]}, "str": {"type": ["string", "null"]},
    "int": {"type": ["integer", "null"]}, "bool": {"type": ["boolean", "null"]},
    "tuple[str, ...]": {"type": ["array", "null"], "items": {"type": "string"}},
}  # fmt: skip
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_FARTHEST, _LONGEST_LINE, _LONGEST_NAME, _MOST = 100_000.0, 200_000, 200, 100
_CALL = re.compile(r"([A-Za-z_]{2,40})\((.*)\)", re.DOTALL)
_KEY = re.compile(r"[A-Za-z0-9+]{1,40}")


def members(kind: type[Action]) -> dict[str, str]:
    """The members of a kind of action and their types as they are written, without None."""
    return {f.name: str(f.type).removesuffix(" | None") for f in dataclasses.fields(kind)}


def schema(kinds: Iterable[str] = ACTIONS, only: Sequence[str] = ()) -> dict[str, Any]:
    """The JSON schema of an answer: a list of these kinds of action, with all or some members.

    Examples
    --------
    >>> schema(["Wait"])["properties"]["actions"]["items"]["required"]
    ['do', 'seconds']
    """
    types = {name: kind for do in kinds for name, kind in members(ACTIONS[do]).items()}
    properties = {"do": {"type": "string", "enum": list(kinds)}}
    properties |= {name: _JSON[types[name]] for name in only or types}
    return {
        "type": "object", "required": ["actions"], "additionalProperties": False,
        "properties": {"actions": {"type": "array", "items": {
            "type": "object", "properties": properties, "required": list(properties),
            "additionalProperties": False,
        }}},
    }  # fmt: skip


def made(
    name: str, arguments: Sequence[Any] = (), named: Mapping[str, Any] | None = None
) -> Action | None:
    """The action of a name, from its arguments in order and by name; None if it is not whole.

    Examples
    --------
    >>> made("click", ["e5"]), made("Click", [120, "80"]), made("scroll", [0, 200])
    (Click(element='e5'), Click(x=120.0, y=80.0), Scroll(dy=200.0))
    >>> made("Click", named={"x": 5}) is None, made("dance") is None
    (True, True)
    """
    word, kind, orders = _known(name)
    if kind is None:
        return None
    for order in orders:
        names = order.split()
        values = {
            **(named or {}),
            **dict(zip(names, arguments, strict=False)),
            **_FIXED.get(word, {}),
        }
        given = {key: value for key, value in values.items() if value is not None}
        if len(arguments) <= len(names) and (action := _whole(kind, given)):
            return action
    return None


def _known(name: str) -> tuple[str, type[Action] | None, tuple[str, ...]]:
    """A name in small letters, its kind of action, and the orders of its arguments."""
    word = re.sub(r"[^a-z]", "", name.lower())
    if name not in ACTIONS and word in _NAMES:
        return word, *_NAMES[word]
    kind = next((kind for own, kind in ACTIONS.items() if own.lower() == word), None)
    names = list(members(kind)) if kind else []
    elements = [name for name in names if name in ("element", "to")]
    return word, kind, (" ".join(names), " ".join(elements))


def _whole(kind: type[Action], values: dict[str, Any]) -> Action | None:
    """The action of raw values; None if a member that it needs is absent or of a wrong type."""
    button = values.get("button", "left")
    if values.get("modifiers") or button not in ("left", "right"):
        return None
    kind = RightClick if kind is Click and button == "right" else kind
    for pair in (values.get(key) for key in ("point", "coordinate", "position")):
        if isinstance(pair, list) and len(pair) == 2:
            values |= {"x": pair[0], "y": pair[1]}
    if kind is Wait and "wait_ms" in values:
        values["seconds"] = (_number(values["wait_ms"]) or 0.0) / 1000
    read = dict[str, Any]()
    for name, type_ in members(kind).items():
        key = next((key for key in (name, *_ALSO.get(name, ())) if key in values), None)
        if key is not None:
            read[name] = _value(name, type_, values.pop(key))
    if None in read.values():
        return None
    if read.get("element") or not {"x", "y"} <= read.keys():
        read = {name: value for name, value in read.items() if name not in ("x", "y")}
    return _placed(kind, read)


def _placed(kind: type[Action], read: dict[str, Any]) -> Action | None:
    """The action of its members; None if it names no place, or nothing to do there."""
    try:
        action = kind(**read)
    except TypeError:
        return None
    if isinstance(action, Click | Drag | Upload) and not (action.element or "x" in read):
        return None
    if isinstance(action, Drag) and not (action.to or {"to_x", "to_y"} <= read.keys()):
        return None
    if isinstance(action, Fill | Select | Check | Focus) and not action.element:
        return None
    lacks = any(getattr(action, name, None) in ("", ()) for name in ("key", "names", "options"))
    return None if lacks else action


def _value(name: str, type_: str, value: Any) -> Any:
    """A member of an action; None for a value of a wrong type."""
    if name in ("element", "to", "key"):
        return value.strip()[:_LONGEST_NAME] if isinstance(value, str) else None
    if type_ == "str":
        return as_text(value)
    if type_ == "bool":
        return _TRUTH.get(as_text(value).lower())
    if type_.startswith("tuple"):
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(as_text(item) for item in items[:_MOST])
    number = _number(value)
    return int(number) if type_ == "int" and number is not None else number


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and abs(number) <= _FARTHEST else None


def parse(text: str) -> tuple[list[Action], list[str]]:
    """The actions in a model's answer, one a line, and the lines that are none.

    Arguments are Python's literals, in order or by name; text and keys may stand without quotes.

    Examples
    --------
    >>> parse('Click(120, 80)\\nType("Ada (Berg)")\\nI am done.')
    ([Click(x=120.0, y=80.0), Type(text='Ada (Berg)')], ['I am done.'])
    >>> parse("fill('e5', 'Ada')\\nselect_option('e6', ['Tea', 'Milk'])")[0]
    [Fill(element='e5', text='Ada'), Select(element='e6', options=('Tea', 'Milk'))]
    """
    actions: list[Action] = []
    other = []
    for line in text.split("\n"):
        action = _of_line(line)
        if action is not None:
            actions.append(action)
        elif line.strip() and not re.fullmatch(r"\s*```\w*\s*", line):
            other.append(line)
    return actions, other


def dumps(action: Action) -> str:
    """The action as a line that `parse` reads.

    Examples
    --------
    >>> dumps(Fill("e5", "Ada"))
    "Fill(element='e5', text='Ada')"
    """
    return repr(action)


def _of_line(line: str) -> Action | None:
    match = _CALL.fullmatch(line.strip().strip("`").strip()) if len(line) < _LONGEST_LINE else None
    kind = _known(match[1])[1] if match else None
    if match is None or kind is None:
        return None
    name, inside = match[1], match[2].strip()
    if (kind is Press and _KEY.fullmatch(inside)) or (
        kind is Type and not re.match(r"['\"]|text\s*=", inside)
    ):
        return made(name, [inside])
    arguments, named = _literals(f"f({inside})")
    action = None if arguments is None else made(name, arguments, named)
    if action is None and kind is Type:
        # Quotes within quotes, as models write them.
        whole = len(inside) > 1 and inside[0] == inside[-1]
        return Type((inside[1:-1] if whole else inside).replace("\\n", "\n"))
    return action


def _literals(call: str) -> tuple[list[Any] | None, dict[str, Any]]:
    """The arguments of a call, by order and by name; None if there are others than literals."""
    # A backslash that begins no escape, as in C:\path, stands for itself.
    call = re.sub(r"\\(.)", lambda m: m[0] if m[1] in "\\'\"abfnrtvxuU" else f"\\{m[0]}", call)
    try:
        body = ast.parse(call, mode="eval").body
        if not isinstance(body, ast.Call):
            return None, {}
        named = {word.arg: _literal(word.value) for word in body.keywords if word.arg}
        return [_literal(node) for node in body.args], named
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None, {}


def _literal(node: ast.expr) -> Any:
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)
