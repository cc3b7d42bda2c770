import json

import pytest

from formlab.systems.chat import Answer
from formlab_arena.actions import Click, Type
from formlab_arena.replies import PIXELS, read


def reply(text, **more):
    return read(Answer("k", text=text, **more))


JSON_CLICK, JSON_TYPE = '{"do": "Click", "x": 5, "y": 7}', '{"do": "Type", "text": "Ada"}'


@pytest.mark.parametrize(
    "text",
    [
        "Click(5, 7)\nType(Ada)",
        "First I click:\nClick(5, 7)\nType('Ada')\nThat is all.",
        f"[{JSON_CLICK}, {JSON_TYPE}]",
        f'```json\n[{{"action": "left_click", "coordinate": [5, 7]}}, {JSON_TYPE}]\n```',
        '{"actions": ["Click(5, 7)", "Type(\\"Ada\\")"]}',
        f'```json\n{{"actions": [{{"do": "click", "x": "5", "y": 7}}, {JSON_TYPE}]}}\n```',
        f'{{"actions": [{JSON_CLICK}, {JSON_TYPE}',
        f'{{"actions": [{JSON_CLICK}, {{"do": "Dance"}}, "", {JSON_TYPE}]}}',
    ],
)
def test_answers_in_other_forms_are_read_and_marked(text):
    replied = reply(text)
    assert (replied.actions, replied.status) == ((Click(5, 7), Type("Ada")), "repaired")


def test_schema_of_pixels_stays_as_stored_answers_were_asked_with():
    side, text = {"type": ["number", "null"]}, {"type": ["string", "null"]}
    kinds = ["Click", "DoubleClick", "RightClick", "Type", "Press", "Scroll"]
    members = {
        "do": {"type": "string", "enum": kinds},
        "x": side, "y": side, "text": text, "key": text, "dy": side,
    }  # fmt: skip
    item = {
        "type": "object", "properties": members, "required": list(members),
        "additionalProperties": False,
    }  # fmt: skip
    wanted = {
        "type": "object", "required": ["actions"], "additionalProperties": False,
        "properties": {"actions": {"type": "array", "items": item}},
    }  # fmt: skip
    assert json.dumps(PIXELS) == json.dumps(wanted)


@pytest.mark.parametrize(
    ("text", "more", "status"),
    [
        ("<html><script>alert(1)</script></html>", {}, "bad_json"),
        ("I would click on the name.", {}, "bad_json"),
        ("I'm sorry, but I can't help with that.", {}, "refused"),
        ("Click(1, 2)", {"finish": "length"}, "truncated"),
        (None, {"error": "500"}, "api_error"),
        ("", {}, "bad_json"),
        ('{"actions": [{"do": "Click", "x": "left"}]}', {}, "bad_json"),
        ('{"actions": [{"do": "Click", "x": 1e999, "y": NaN}]}', {}, "bad_json"),
        ('{"actions": [{"do": "Scroll", "dy": 1e300}]}', {}, "bad_json"),
        ('{"actions": 5}', {}, "bad_json"),
        ('{"weather": "fine"}', {}, "bad_json"),
        ("\0\x1b[2J\ud800" * 1000, {}, "bad_json"),
        ("[" * 100_000, {}, "bad_json"),
    ],
)
def test_what_holds_no_action_has_its_status(text, more, status):
    replied = reply(text, **more)
    assert (replied.actions, replied.status) == ((), status)
