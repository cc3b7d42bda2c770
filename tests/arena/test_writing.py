import json

import pytest

from formlab_arena import texts, writing
from formlab_arena.texts import read, task_set
from tests.states import LONG
from tests.systems.scripted_server import serving

KEY = "sk-a-secret-of-forty-characters-in-all-0"
# Jun Berg, born 1999-08-18, wants a current account and has the identity card S1977413.
GOOD = (
    "Good morning, Jun Berg here, born 18 August 1999. For my salary I need what your leaflet calls"
    " the everyday one. I can show you my identity card, S1977413."
)
EVERYDAY = {"field": "account", "phrase": "the everyday one"}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def answer(text, *evidence):
    return json.dumps({"text": text, "evidence": list(evidence)})


def written(server, out, *, tries=3, codes=("E12",), **settings):
    settings = {"base_url": server.url, "attempts": 1, "timeout": LONG} | settings
    return writing.write(
        out, task_set(codes=list(codes)), system="chat:m", settings=settings, tries=tries
    )


def asked(call):
    return json.loads(call["body"]["messages"][1]["content"])


def test_text_is_asked_for_again_with_what_is_missing_and_then_never_again(tmp_path):
    script = [answer(GOOD.replace("S1977413", "S197"), EVERYDAY), answer(GOOD, EVERYDAY)]
    with serving(*script) as server:
        (entry,) = written(server, tmp_path)
        assert [asked(call).get("MISSING") for call in server.calls] == [None, ["number"]]
        assert asked(server.calls[1])["LAST"] == GOOD.replace("S1977413", "S197")
        assert asked(server.calls[0])["FIELDS"][1] == {
            "field": "born", "label": "Born on", "value": "18 August 1999",
        }  # fmt: skip
        assert written(server, tmp_path) == [entry]
        assert len(server.calls) == 2
    assert (entry["status"], entry["kind"], entry["tries"]) == ("written", "letter", 2)
    # The arena fills in from it: the values are those of the instance.
    (task,) = read(tmp_path / texts.FILE)
    assert (task.text, task.kind) == (GOOD, "letter")
    assert task.values == task_set(codes=["E12"]).instances[0].values


def test_limit_of_calls_leaves_plain_texts_and_a_later_run_goes_on(tmp_path):
    with serving(then=answer(GOOD, EVERYDAY)) as server:
        first = written(server, tmp_path, codes=("E12", "E11"), max_calls=1, concurrency=1)
        assert [entry["status"] for entry in first] == ["written", "plain"]
        assert first[1]["error"].startswith(("not asked", "values"))
        again = written(server, tmp_path, codes=("E12", "E11"), tries=1)
        assert again[0] == first[0]
        assert len(server.calls) == 2
