import json

import pytest

from formlab.errors import DataBroken, NotAvailable
from formlab_arena.episode import RunSettings
from formlab_arena.form_url import fill_url
from tests.arena.conftest import events
from tests.arena.foreign import RIGHT, TEXT, hosting
from tests.systems.scripted_server import serving

# Where the fields of the form stand in a window of 1280 x 800 is what a model has to see.
PLAN = [
    {"do": "Click", "x": 180, "y": 135}, {"do": "Type", "text": "Ada Berg"},
    {"do": "Click", "x": 180, "y": 207}, {"do": "Type", "text": "lena.berg@example.org"},
    {"do": "Click", "x": 180, "y": 279}, {"do": "Type", "text": "05/07/2027"},
    {"do": "Click", "x": 180, "y": 351}, {"do": "Press", "key": "L"},
    {"do": "Press", "key": "Enter"},
    {"do": "Click", "x": 41, "y": 427}, {"do": "Click", "x": 40, "y": 497},
]  # fmt: skip
SEND = [{"do": "Click", "x": 108, "y": 578}]


def answer(actions):
    return json.dumps({"actions": actions})


@pytest.mark.browser
def test_model_fills_in_a_form_that_is_not_ours_and_a_second_run_asks_nothing(tmp_path):
    script = [answer(PLAN), "<html>I am done</html>", answer(SEND), answer([])]
    with hosting() as host, serving(*script) as model:
        options = {"base_url": model.url, "attempts": 1}
        settings = RunSettings("chat:m", options=options)
        result = fill_url(host.url, tmp_path, settings, text=TEXT)
        assert result["filled"] == RIGHT
        assert (result["status"], result["steps"], result["error"]) == ("ended", 4, None)
        assert len(host.sent) == 1
        assert len(model.calls) == 4
        logged = events(tmp_path)
        assert logged[-1]["final"] == RIGHT
        # What the page wanted from another server was stopped, and is told.
        assert logged[-1]["blocked"] == ["https://cdn.example.com/look.css"]
        answers = [event["answer"] for event in logged if "answer" in event]
        assert [note["status"] for note in answers] == ["ok", "bad_json", "ok", "ok"]
        assert [note["factor"] for note in answers] == [1, 1, 1, 1]
        again = fill_url(host.url, tmp_path, settings, text=TEXT)
        assert again == result | {"left_at": again["left_at"]}
        assert len(model.calls) == 4


@pytest.mark.browser
def test_model_that_never_gives_an_action_ends_unfinished_with_the_reason(tmp_path):
    with hosting() as host, serving("refused", "<p>Hello</p>", "truncated") as model:
        settings = RunSettings("chat:m", options={"base_url": model.url, "attempts": 1})
        result = fill_url(host.url, tmp_path, settings, text=TEXT)
    assert (result["status"], result["steps"]) == ("unfinished", 3)
    assert result["error"].startswith("3 unusable answers in a row: truncated")
    unusable = [event["unusable"] for event in events(tmp_path) if "unusable" in event]
    assert unusable == ["refused", "bad_json", "truncated"]
    assert not host.sent
    assert json.loads((tmp_path / "result.json").read_text()) == result


@pytest.mark.browser
def test_address_without_a_server_is_named(tmp_path):
    with hosting() as host:
        address = host.url
    with pytest.raises(NotAvailable, match="no page could be opened"):
        fill_url(address, tmp_path, RunSettings("oracle"), text="", values={})


def test_wrong_address_and_stray_answers_are_named(tmp_path):
    with pytest.raises(DataBroken, match="not an http address"):
        fill_url("file:///etc/passwd", tmp_path, RunSettings("oracle"), text="", values={})
    with pytest.raises(DataBroken, match="--values FILE"):
        fill_url("http://127.0.0.1:9/", tmp_path, RunSettings("rules"), text="", values={})
    with pytest.raises(DataBroken, match="--values FILE"):
        fill_url("http://127.0.0.1:9/", tmp_path, RunSettings("oracle"), text="")
    assert not list(tmp_path.iterdir())
