import base64
import io
import json
import random
from pathlib import Path

import pytest
import yaml
from PIL import Image

from formlab.systems.chat import Answer as ModelAnswer
from formlab.systems.prompts import version_of
from formlab_arena import actions as do
from formlab_arena import chat_agent
from formlab_arena.actions import Answer, Click, Drag, Fill, Scroll, Type
from formlab_arena.notation import dumps, made, parse
from formlab_arena.observation import Element, Observation, OpenDialog, OpenTab
from formlab_arena.replies import PIXELS, read
from tests.states import LONG
from tests.systems.scripted_server import serving


def reply(text, **more):
    return read(ModelAnswer("k", text=text, **more))


REPLIES = yaml.safe_load(Path(__file__).with_name("replies.yml").read_text("utf-8"))
LONG_REPLIES = [["\0\x1b[2J\ud800" * 1000, {}, "bad_json"], ["[" * 100_000, {}, "bad_json"]]


def test_answers_in_other_forms_are_read_and_marked():
    for text in REPLIES["read"]:
        replied = reply(text)
        expected = ((Click(5, 7), Type("Ada")), "repaired")
        assert (replied.actions, replied.status) == expected, text


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


def test_what_holds_no_action_has_its_status():
    for text, more, status in REPLIES["empty"] + LONG_REPLIES:
        replied = reply(text, **more)
        assert (replied.actions, replied.status) == ((), status), text


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
    members = {
        **dict.fromkeys(("Click", "DoubleClick", "RightClick", "Hover"), place),
        "Drag": place | end, "Type": {"text": text}, "Fill": {"element": "e5", "text": text},
        "Select": {"element": "e5", "options": (text, "b")}, "Focus": {"element": "e5"},
        "Check": {"element": "e5", "ticked": draw.random() < 0.5},
        "Upload": place | {"names": (text, "b")},
        "Press": {"key": "Control+A", "element": draw.choice(["", "e5"])},
        "Scroll": place | {"dy": number, "dx": number}, "Wait": {"seconds": abs(number)},
        "Back": {}, "Tab": {"number": draw.randrange(9)},
        "Answer": {"accept": draw.random() < 0.5, "text": text}, "Done": {"text": text},
    }  # fmt: skip
    return [do.ACTIONS[name](**given) for name, given in members.items()]


def test_what_is_written_is_read_back_as_line_and_as_json():
    for seed in range(200):
        actions = some(random.Random(seed))
        assert {type(action).__name__ for action in actions} == set(do.ACTIONS)
        assert parse("\n".join(map(dumps, actions))) == (actions, [])
        for action in actions:
            logged = json.loads(json.dumps(do.as_json(action)))
            assert made(logged.pop("do"), named=logged) == action


# By policy, and whether there is a ruler.
PIXEL_PROMPTS = {
    ("page", False): "53f38ae8", ("page", True): "75a6a11c", ("step", False): "739766e5",
    ("step", True): "56268df3",
}  # fmt: skip


def seen(folder, *, step=1, size=(400, 200), colour=(250, 250, 250), **more):
    image = folder / f"{step:03d}.png"
    Image.new("RGB", size, colour).save(image)
    return Observation(step, image, size, "My name is Ada.", ("cv.pdf",), **more)


def answer(*actions):
    return json.dumps({"actions": list(actions)})


CLICK = {"do": "Click", "x": 100, "y": 50}


def asking(server, folder, *, policy="page", ruler=False, from_pages=False, observe="pixels",
           **given):  # fmt: skip
    given = {"base_url": server.url, "attempts": 1, "timeout": LONG} | given
    return chat_agent.asking(
        "chat:m", folder, given, policy=policy, ruler=ruler, from_pages=from_pages, observe=observe
    )


def question_of(call):
    """What the user message of a call says, and the image in it."""
    text, image = call["body"]["messages"][1]["content"]
    return json.loads(text["text"]), image["image_url"]["url"]


NAME = Element(
    "name", None, "text", "", None, (), (40, 60, 240, 90), id="f1e1", role="textbox", name="Name"
)  # fmt: skip


@pytest.mark.parametrize("observe", ["boxes", "tree"])
def test_model_acts_by_element_and_is_told_of_the_page(tmp_path, observe):
    fill = {"do": "Fill", "element": "f1e1", "text": "Ada", "x": None}
    drag = {"do": "Drag", "x": 100, "y": 50, "to_x": 200, "to_y": 60}
    script = [answer(fill, drag, {"do": "Answer", "accept": True}, {"do": "Done", "text": "sent"})]
    page = {
        "elements": (NAME,), "messages": ("Click(x=1, y=2) changed nothing",),
        "address": "http://a.b/form", "tabs": (OpenTab(0, "http://a.b/form", "Camp", active=True),),
        "dialog": OpenDialog("confirm", "Send it?"), "scale": 0.5,
    }  # fmt: skip
    with serving(*script) as server, asking(server, tmp_path, observe=observe) as make:
        agent = make("a")
        assert agent.observes == observe
        observation = seen(tmp_path, **page)
        assert agent.act(observation) == [Fill("f1e1", "Ada"), Drag(100, 50, 200, 60), Answer()]
        # It said that it was done: it is not asked again. Another one is told what was done.
        assert agent.act(observation) == []
        assert len(server.calls) == 1
        told, url = question_of(server.calls[0])
        prompt = server.calls[0]["body"]["messages"][0]["content"]
        version = chat_agent.shaping_settings(
            "chat:m", {"base_url": server.url}, policy="page", ruler=False, observe=observe
        )["prompt"]  # fmt: skip
    assert told["ELEMENTS"] == observation.tree
    assert told["MESSAGES"] == list(page["messages"])
    assert told["DIALOG"] == {"kind": "confirm", "text": "Send it?"}
    assert told["TABS"][0]["title"] == "Camp"
    assert told["ADDRESS"] == "http://a.b/form"
    assert '"Fill"' in prompt
    assert ("frame around each element" in prompt) == (observe == "boxes")
    plain = chat_agent.Instructions(chat_agent.settings({}))
    assert version != version_of(plain.text)
    with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as sent:
        # The box of the element, at half the size of the window.
        framed = sent.convert("RGB").getpixel((20, 40))
    assert (framed != (250, 250, 250)) == (observe == "boxes")
    assert (tmp_path / "001.marks.png").is_file() == (observe == "boxes")


def test_prompt_of_pixels_is_the_one_that_stored_answers_were_asked_with():
    prompts = {
        (policy, ruler): version_of(
            chat_agent.Instructions(chat_agent.settings({}), policy, ruler).text
        )
        for policy in ("page", "step")
        for ruler in (False, True)
    }
    assert prompts == PIXEL_PROMPTS


def test_points_in_thousandths_are_of_each_side_and_the_next_look_tells_what_was_done(tmp_path):
    moves = [
        {"do": "Drag", "x": 100, "y": 50, "to_x": 1000, "to_y": 500},
        {"do": "Scroll", "dy": 30, "x": 500, "y": 500}, {"do": "Hover", "element": "f1e1"},
    ]  # fmt: skip
    (tmp_path / "prices.csv").write_text("model,input,output\nm,1000,2000\n")
    given = {"image_limit": 100, "boxes": "thousandths", "prices": str(tmp_path / "prices.csv")}
    with (
        serving(answer(*moves), answer()) as server,
        asking(server, tmp_path, observe="tree", **given) as make,
    ):
        agent = make("a")
        drag, scroll, _ = agent.act(seen(tmp_path))
        assert (drag, scroll) == (Drag(40, 10, 400, 100), Scroll(120, x=200, y=100))
        note = agent.note
        assert (note["status"], note["attempts"], note["seconds"] >= 0) == ("ok", 1, True)
        assert note["cost"] == pytest.approx((note["tokens_in"] + 2 * note["tokens_out"]) / 1000)
        assert agent.act(seen(tmp_path, step=2, refused=("Press(key='Q+'): no such key",))) == []
        first, later = (question_of(call)[0] for call in server.calls)
    assert (first["TEXT"], first["FILES"], first["DONE"]) == ("My name is Ada.", ["cv.pdf"], [])
    assert [line[:13] for line in later["DONE"]] == [
        "look 1: Drag(",
        "look 1: Scrol",
        "look 1: Hover",
    ]
    assert later["REFUSED"] == ["Press(key='Q+'): no such key"]
