import base64
import io
import json

import pytest
from PIL import Image

from formlab.systems.prompts import version_of
from formlab_arena import chat_agent
from formlab_arena.actions import Answer, Click, Drag, Fill, Scroll, Type
from formlab_arena.observation import Element, Observation, OpenDialog, OpenTab
from tests.states import LONG
from tests.systems.scripted_server import serving

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


def test_model_gets_screenshot_text_files_and_what_was_done_before(tmp_path):
    script = [answer(CLICK, {"do": "Type", "text": "Ada"}), answer()]
    with serving(*script) as server, asking(server, tmp_path) as make:
        agent = make("A11-001")
        assert agent.act(seen(tmp_path)) == [Click(100, 50), Type("Ada")]
        assert agent.note["status"] == "ok"
        second = seen(tmp_path, step=2, refused=("Press(key='Q+'): no such key",))
        assert agent.act(second) == []
        first, image = question_of(server.calls[0])
        assert first == {"TEXT": "My name is Ada.", "FILES": ["cv.pdf"], "DONE": [], "REFUSED": []}
        assert image.startswith("data:image/png;base64,")
        later, _ = question_of(server.calls[1])
        assert later["DONE"] == ["look 1: Click(x=100.0, y=50.0)", "look 1: Type(text='Ada')"]
        assert later["REFUSED"] == ["Press(key='Q+'): no such key"]


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
        # It said that it was done: it is not asked again.
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


def test_points_in_thousandths_are_of_each_side_for_all_actions(tmp_path):
    moves = [
        {"do": "Drag", "x": 100, "y": 50, "to_x": 1000, "to_y": 500},
        {"do": "Scroll", "dy": 30, "x": 500, "y": 500}, {"do": "Hover", "element": "f1e1"},
    ]  # fmt: skip
    with (
        serving(answer(*moves)) as server,
        asking(server, tmp_path, image_limit=100, boxes="thousandths", observe="tree") as make,
    ):
        drag, scroll, _ = make("a").act(seen(tmp_path))
    assert drag == Drag(40, 10, 400, 100)
    assert scroll == Scroll(120, x=200, y=100)


def test_what_an_answer_took_is_noted_at_the_prices_of_the_run(tmp_path):
    prices = tmp_path / "prices.csv"
    prices.write_text("model,input,output\nm,1000,2000\n")
    with serving(then=answer(CLICK)) as server:
        with asking(server, tmp_path) as make:
            agent = make("a")
            agent.act(seen(tmp_path))
            assert agent.note["cost"] is None
            assert agent.note["attempts"] == 1
            assert agent.note["seconds"] >= 0
            tokens = agent.note["tokens_in"], agent.note["tokens_out"]
        with asking(server, tmp_path, prices=str(prices)) as make:
            agent = make("a")
            agent.act(seen(tmp_path))
            assert agent.note["cost"] == pytest.approx((tokens[0] + 2 * tokens[1]) / 1000)
        assert len(server.calls) == 1
