import json
import random
from pathlib import Path

import yaml

from formlab_arena.actions import (
    ACTIONS,
    Answer,
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
    as_json,
)
from formlab_arena.notation import dumps, made, parse

# Names and orders of arguments are those of BrowserGym's action space.
BROWSERGYM = yaml.safe_load(Path(__file__).with_name("browsergym.yml").read_text("utf-8"))


def test_browsergyms_notation_is_read():
    for line, own in BROWSERGYM.items():
        (action,), other = parse(f"```\n{line}\n```")
        assert ([action], other) == parse(own), line


def test_hostile_answer_costs_no_crash():
    text = "\0\x1b[2J\ud800 Click(" + "9" * 100_000 + ", 1)\nfill(" + "(" * 100_000
    text += "\nClick(" + "-" * 50_000 + "1, 2)\nClick(" + "[" * 500 + "]" * 500 + ")"
    text += "\nfill(*e5)\nfill(**{})\nfill('\\ud800', '\\u12')\nClick(1, 2" + ")" * 1000
    actions, other = parse(text)
    assert actions == []
    assert len(other) == 8


def some(draw):
    """One action of each kind, with random members."""
    letters = "aZ9 '\"\\\n\r\t\0\x1b\u2028é字`(){}[],=#"
    text = "".join(draw.choices(letters, k=draw.randrange(12)))
    place = {"x": draw.random() * 999, "y": draw.randrange(999)}
    place = draw.choice([place, {"element": "f1.e5"}])
    end = draw.choice([{"to": "e6"}, {"to_x": 1.5, "to_y": -2}])
    number = draw.uniform(-900, 900)
    kinds = [kind(**place) for kind in (Click, DoubleClick, RightClick, Hover)]
    return [
        *kinds, Drag(**place, **end), Type(text), Fill("e5", text), Select("e5", (text, "b")),
        Check("e5", ticked=draw.random() < 0.5), Focus("e5"), Upload(**place, names=(text, "b")),
        Press("Control+A", draw.choice(["", "e5"])), Scroll(number, dx=number, **place),
        Wait(abs(number)), Back(), Tab(draw.randrange(9)), Answer(draw.random() < 0.5, text),
        Done(text),
    ]  # fmt: skip


def test_what_is_written_is_read_back_as_line_and_as_json():
    for seed in range(200):
        actions = some(random.Random(seed))
        assert {type(action).__name__ for action in actions} == set(ACTIONS)
        assert parse("\n".join(map(dumps, actions))) == (actions, [])
        for action in actions:
            logged = json.loads(json.dumps(as_json(action)))
            assert made(logged.pop("do"), named=logged) == action
