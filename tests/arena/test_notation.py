import json
import random

import pytest

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
BROWSERGYM = {
    "click('e5')": Click(element="e5"),
    "click('e5', button=\"right\")": RightClick(element="e5"),
    "click('e5', 'left', [])": Click(element="e5"),
    "dblclick('e5')": DoubleClick(element="e5"),
    "hover('e5')": Hover(element="e5"),
    "fill('e5', 'Ada \\\"B\\\"\\nEk')": Fill("e5", 'Ada "B"\nEk'),
    "fill(bid='e5', value='12')": Fill("e5", "12"),
    "clear('e5')": Fill("e5", ""),
    "focus('e5')": Focus("e5"),
    "check('e5')": Check("e5"),
    "uncheck('e5')": Check("e5", ticked=False),
    "select_option('e5', 'Tea')": Select("e5", ("Tea",)),
    "select_option('e5', ['Tea', 'Milk'])": Select("e5", ("Tea", "Milk")),
    "press('e5', 'Control+a')": Press("Control+a", "e5"),
    "drag_and_drop('e5', 'e6')": Drag(element="e5", to="e6"),
    "upload_file('e5', 'cv.pdf')": Upload("e5", ("cv.pdf",)),
    "upload_file('e5', ['a.pdf', 'b.pdf'])": Upload("e5", ("a.pdf", "b.pdf")),
    "scroll(-50.5, 200)": Scroll(200, dx=-50.5),
    "mouse_click(887.2, 68)": Click(887.2, 68),
    "mouse_click(56, 71, 'right')": RightClick(56, 71),
    "mouse_dblclick(5, 236)": DoubleClick(5, 236),
    "mouse_move(65.2, 158.5)": Hover(65.2, 158.5),
    "mouse_drag_and_drop(10.7, 325, 235.6, 24.5)": Drag(10.7, 325, 235.6, 24.5),
    "mouse_upload_file(13, 56, 'cv.pdf')": Upload(names=("cv.pdf",), x=13, y=56),
    "keyboard_press('Enter')": Press("Enter"),
    "keyboard_type('Hello world!')": Type("Hello world!"),
    "keyboard_insert_text('Hello')": Type("Hello"),
    "noop()": Wait(1.0),
    "noop(500)": Wait(0.5),
    "go_back()": Back(),
    "tab_focus(2)": Tab(2),
    "send_msg_to_user('All is sent.')": Done("All is sent."),
    "report_infeasible('no such field')": Done("no such field"),
    # As its agents write them.
    "```click('e5')```": Click(element="e5"),
    "press('Enter')": Press("Enter"),
    "click(120, 80)": Click(120, 80),
    "scroll(200)": Scroll(200),
}


@pytest.mark.parametrize("line", BROWSERGYM)
def test_browsergyms_notation_is_read(line):
    assert parse(f"```\n{line}\n```") == ([BROWSERGYM[line]], [])


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
