"""Mutations of what a JSON text holds."""

import json as library
import random

from tests.fuzz.text_mutations import DEEP, words

# Values as JSON writes them; the last are no JSON, or more than a reader has to take.
JSON_VALUES = (
    "null", "true", "false", "0", "-1", "1.5", "-0.0", "1e400", "-1e400", "1e19", "1e-400",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1" * 40, "1" * 5000,
    '""', '" "', '"x"', '"1"', '"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\\uffff"',
    '"\\u202e"', '"\\r"', '"\\n\\n"', '"\\u2028"', '"../../x"', '"/"', '"."', '"a\\u0000b"',
    '"http://[::1/x"', '"file:///x"', '"=1+1"', '"nan"', '"constructor"', '"__proto__"',
    "[]", "{}", "[[]]", "[{}]", "[null]", "[0]", '[""]', '["\\ud800"]', '["x", 1, null]', "[1, 2]",
    "[[1, 2], [3]]", '{"": ""}', '{"x": null}', '{"a": 1, "a": 2}', '{"\\ud800": 1}',
    '"' + "x" * 300 + '"', '"' + "y" * 70_000 + '"', "[" * 150 + "]" * 150,
    "[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP,
    "NaN", "Infinity", "-Infinity", "01", "0x1", "1.", "nul", "", "'x'", "[1,]", "{,}", '"\\x"',
    '"\\ud8"', '"a\nb"', '"a\x00b"', "/**/1",
)  # fmt: skip
_MARK = "\ue000raw\ue000"


def json(dice: random.Random, data: bytes) -> bytes:
    try:
        value = library.loads(data)
    except ValueError:
        return words(dice, data)
    changed, raw = _json_changed(dice, value)
    return lined(changed).replace(library.dumps(_MARK), raw).encode("utf-8", "surrogatepass")


def jsonl(dice: random.Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    chosen = dice.randrange(len(lines))
    changed = json(dice, lines[chosen]).replace(b"\n", b" ")
    return b"".join([*lines[:chosen], changed, b"\n", *lines[chosen + 1 :]])


def lined(value: object) -> str:
    """JSON with an item a line, so that a change of one leaves the lines of the others."""
    if isinstance(value, dict) and value:
        pairs = (f"{library.dumps(name)}: {_below(item)}" for name, item in value.items())
        return "{\n" + ",\n".join(pairs) + "\n}"
    return _below(value)


def _below(value: object) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(map(library.dumps, value)) + "\n]"
    if (
        isinstance(value, dict)
        and value
        and all(isinstance(v, dict | list) for v in value.values())
    ):
        return (
            "{\n"
            + ",\n".join(f"{library.dumps(k)}: {library.dumps(v)}" for k, v in value.items())
            + "\n}"
        )
    return library.dumps(value)


def _json_changed(dice: random.Random, value: object) -> tuple[object, str]:
    """The value with one node changed, and the text that stands for the mark in it."""
    places: list[tuple[object, object]] = []
    todo = [value]
    while todo:
        node = todo.pop()
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for name, item in items if isinstance(node, dict | list) else ():
            places.append((node, name))
            if isinstance(item, dict | list):
                todo.append(item)
    raw = dice.choice(JSON_VALUES)
    if not places or dice.random() < 0.03:
        return _MARK, raw
    # Places near the top are fewer, and matter more.
    place = dice.choice(places[:8] if dice.random() < 0.3 else places)
    return _at(dice, value, *place, raw)


def _at(dice, value, parent, name, raw):
    old = parent[name]
    what = dice.randrange(10)
    if what < 5:
        parent[name] = _MARK
    elif what == 5:
        del parent[name]
    elif what == 6:
        raw = library.dumps([old]) if dice.random() < 0.5 else library.dumps(str(old))
        parent[name] = _MARK
    elif isinstance(parent, list):
        if what == 7:
            parent.insert(dice.randrange(len(parent) + 1), old)
        elif what == 8:
            dice.shuffle(parent)
        else:
            parent.append(_MARK)
    elif what == 7:
        # The name a second time: which of the two counts is the reader's choice.
        raw = f"{library.dumps(old)}, {library.dumps(name)}: {raw or 0}"
        parent[name] = _MARK
    elif what == 8:
        renamed = dice.choice(("", "x", str(name).upper(), f"{name} ", "\ud800", "\x00", "n" * 300))
        parent[renamed] = parent.pop(name)
    else:
        parent[dice.choice(("", "x", "id", "doc_id", "\ud800"))] = _MARK
    return value, raw
