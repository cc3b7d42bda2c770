"""Episodes: what becomes of a form, and the account of what was sent."""

import concurrent.futures
import json
import time
from pathlib import Path

import pytest
import yaml

from formlab.errors import DataBroken
from formlab_arena.actions import Answer, Click, Press, Scroll, Type
from formlab_arena.agents import Unusable
from formlab_arena.episode import (
    UNUSABLE,
    RunSettings,
    check_same_settings,
    open_session,
    prepare,
    run_episode,
    run_steps,
)
from formlab_arena.observation import Observation
from tests.arena.web.hosting import site
from tests.states import LONG

from .conftest import events, go


class Scripted:
    """Answers from a list; what is an exception is raised."""

    name, observes = "scripted", "pixels"

    def __init__(self, *answers):
        self.answers = list(answers)

    def act(self, seen):
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, Exception):
            raise answer
        return answer


class Pretended:
    """A session without a browser: what is looked at, done and noted."""

    def __init__(self):
        self.step, self.done, self.noted = 0, [], []

    def look(self, observes="pixels"):
        self.step += 1
        return Observation(self.step, None, (100, 100), "", ())

    def do(self, action):
        self.done.append((self.step, action))

    def extend(self, seconds):
        pass

    def note(self, **event):
        self.noted.append(event)


SETTINGS = RunSettings("oracle")


class Sender:
    """Fills in the boxes at its first look and presses the button at the top."""

    name, observes = "sender", "tree"

    def act(self, seen):
        boxes = [target for target in seen.elements if target.kind == "text" and seen.step == 1]
        typed = [action for box in boxes for action in (Click(*box.middle), Type("Ada"))]
        return [*typed, Click(20, 20)] if seen.step == 1 else []


class Faulty(Sender):
    """Has a fault of its own."""

    def act(self, seen):
        return json.loads("[")


PAGES = yaml.safe_load(Path(__file__).with_name("episode.yml").read_text("utf-8"))


@pytest.mark.browser
def test_status_of_an_episode_is_what_became_of_the_form(tmp_path):
    def run(path, agent=None, **options):
        folder = tmp_path / path.strip("/")
        prepare(folder, "", {})
        settings = RunSettings("x", **options)
        return run_episode(server.url + path, folder, "", settings, agent or Sender())

    with site(PAGES) as server, concurrent.futures.ThreadPoolExecutor() as pool:
        asked = {path: pool.submit(run, path) for path in ("/refused", "/alerts", "/picture")}
        asked["/closes"] = pool.submit(run, "/closes")
        asked["/hangs"] = pool.submit(run, "/hangs", deadline=8.0)
        asked["/never"] = pool.submit(run, "/never", deadline=2.0)
        asked["/form"] = pool.submit(run, "/form", Faulty())
        result = {path: episode.result() for path, episode in asked.items()}
    # The tab may be gone when the agent is done, or before.
    assert result.pop("/closes").status in ("unsent", "unfinished")
    statuses = {path: (episode.status, episode.reason) for path, episode in result.items()}
    assert statuses == {
        "/picture": ("submitted", None), "/refused": ("unsent", None),
        "/alerts": ("unsent", None), "/hangs": ("unfinished", "deadline"),
        "/never": ("crashed", None), "/form": ("crashed", None),
    }  # fmt: skip
    assert result["/never"].left_at is None
    assert result["/hangs"].contents == {"name": "Ada"}
    assert result["/picture"].account["submissions"][0]["values"] == {"name": ["Ada"]}
    assert result["/alerts"].account["dialogs"][0]["text"] == "Welcome"
    fault = result["/form"]
    assert fault.why.startswith("JSONDecodeError: ")
    assert "test_episode.py, line " in fault.why
    assert 'json.loads("[")' in fault.traceback


@pytest.mark.browser
def test_a_session_has_cookies_of_a_file_which_are_not_logged_on_a_device(tmp_path):
    state = tmp_path / "state.json"
    prepare(tmp_path, "", {})
    with site({"/": "<h1>Home</h1>"}) as server:
        cookie = {"name": "who", "value": "s3cret", "url": server.url}
        storage = {"origin": server.url, "localStorage": [{"name": "seen", "value": "yes"}]}
        state.write_text(json.dumps({"cookies": [cookie], "origins": [storage]}))
        settings = RunSettings("x", device="iPhone 13")
        with open_session(server.url, tmp_path, "", settings, state=state) as session:
            kept = session.page.evaluate("[document.cookie, localStorage.seen]")
            assert (kept, session.look().size) == (["who=s3cret", "yes"], (390, 664))
    assert "s3cret" not in (tmp_path / "events.jsonl").read_text()


def test_folder_of_other_settings_is_refused_and_says_which(tmp_path):
    file = tmp_path / "run.json"
    check_same_settings(file, SETTINGS, {"temperature": 0.0})
    check_same_settings(file, SETTINGS, {"temperature": 0.0})
    for other, shaping, name in (
        (RunSettings("oracle", scale=0.5), {"temperature": 0.0}, "scale"),
        (RunSettings("oracle", policy="step"), {"temperature": 0.0}, "policy"),
        (SETTINGS, {"temperature": 1.0}, "temperature"),
    ):
        with pytest.raises(DataBroken, match=f"another {name}"):
            check_same_settings(file, other, shaping)


def test_all_actions_of_a_look_are_done_or_the_first_one_as_the_policy_says():
    two = [Click(1, 1), Type("x")]
    whole, single = Pretended(), Pretended()
    assert run_steps(whole, Scripted(two, two), SETTINGS).looks == 3
    assert whole.done == [(1, two[0]), (1, two[1]), (2, two[0]), (2, two[1])]
    assert run_steps(single, Scripted(two, two), RunSettings("x", policy="step")).looks == 3
    assert single.done == [(1, two[0]), (2, two[0])]


def test_unusable_answers_cost_a_look_each_and_three_in_a_row_end_the_episode():
    bad = Unusable("bad_json", "no JSON object")
    session = Pretended()
    ended = run_steps(
        session, Scripted(bad, bad, [Scroll(5)], bad, bad, bad, [Scroll(9)]), SETTINGS
    )
    assert session.done == [(3, Scroll(5))]
    assert ended == (6, "3 unusable answers in a row: bad_json: no JSON object", UNUSABLE)
    assert [event["unusable"] for event in session.noted] == ["bad_json"] * 5


GO = Click(20, 20)
FORMS = yaml.safe_load(Path(__file__).with_name("account.yml").read_text("utf-8"))


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("account")
    prepare(tmp_path, "", {"a b.pdf": b"%PDF", "é.pdf": b"%PDF"})
    with (
        site(FORMS) as server,
        open_session(f"{server.url}/", tmp_path, "", RunSettings("x")) as session,
    ):
        session.server = server
        yield session


def sent(session, path, typed="Ada", count=1):
    """The submissions of one page, when its first field was filled and its button clicked."""
    since = time.monotonic()
    go(session.page, session.server.url + path)
    session.do(Click(40, 75))
    session.do(Press("Control+A"))
    session.do(Type(typed))
    session.do(GO)
    return answered(session, since, count)


def answered(session, since, count=1):
    """The submissions since a moment, when so many have come: a busy machine takes its time."""
    end = time.monotonic() + LONG
    while True:
        session.driver.run(session.account.settled())
        items = session.account.submissions(session.contents, since)
        done = [item for item in items if item["outcome"] != "failed"]
        if len(done) >= count or time.monotonic() > end:
            return items
        session.page.wait_for_timeout(50)


@pytest.mark.browser
def test_account_of_forms_equals_what_the_server_received(session):
    server = session.server
    (plain,) = sent(session, "/", "Ada Møller & Co")
    assert plain["values"] == server.writes("/")[-1]
    assert plain["values"] == {"name": ["Ada Møller & Co"], "note": [""], "token": ["t"]}
    assert (plain["kind"], plain["status"], plain["outcome"]) == ("navigation", 200, "accepted")

    go(session.page, f"{server.url}/many")
    files = sorted(session.uploads.glob("*"))
    session.page.set_input_files("input[type=file]", files)
    since = time.monotonic()
    session.do(GO)
    (many,) = answered(session, since)
    assert many["values"] == server.writes("/received")[-1]
    assert many["values"]["pläne"] == [file.name for file in files]
    assert many["values"]["x"] == ["1", "2"]

    (search,) = sent(session, "/search")
    assert (search["method"], search["values"]) == ("GET", {"name": ["Ada"]})
    since = time.monotonic()
    session.do(Click(40, 40))
    session.page.wait_for_url("**?name=link")
    assert answered(session, since, 0) == []

    outcomes = {path: sent(session, path)[0] for path in ("/again", "/away", "/wrong")}
    assert [(item["status"], item["outcome"]) for item in outcomes.values()] == [
        (200, "returned"), (303, "accepted"), (404, "refused"),
    ]  # fmt: skip
    assert session.look().messages[-1] == "the server answered 404"
    assert session.account.summary({})["http_status"] == 404
    assert sent(session, "/new")[0]["outcome"] == "accepted"
    session.page.wait_for_load_state()
    assert [tab.active for tab in session.tabs] == [False, True]
    assert session.page.url == f"{server.url}/received"
    assert session.account.summary({})["blocked"] == []

    # A submission that the browser holds back is none, and the page's message is told.
    assert sent(session, "/must", "", count=0) == []
    messages = {
        item["field"]: item["message"] for item in session.account.summary({})["validation"]
    }
    assert sorted(messages) == ["mail", "name"]
    assert all(messages.values())


@pytest.mark.browser
def test_submission_of_a_script_is_told_from_what_it_sends_aside(session):
    (order,) = sent(session, "/app")
    assert order["url"].endswith("/orders")
    values = {"person.name": ["Ada"], "tags": ["a", "b"], "ok": ["true"]}
    assert session.server.writes("/orders")[0] == values | {"none": ["null"]}
    assert order["values"] == values
    assert (order["kind"], order["status"], order["outcome"]) == ("fetch", 201, "accepted")
    assert session.server.writes("/draft")
    assert session.server.writes("/clicked")

    # What is sent a while after the last click is waited for.
    since = time.monotonic()
    assert sent(session, "/late", count=0) == []
    session.finish()
    assert answered(session, since)[0]["outcome"] == "accepted"
    assert session.server.writes("/orders")[1] == {"name": ["Ada"]}


@pytest.mark.browser
def test_dialog_is_seen_logged_and_answered_or_dismissed(session):
    assert sent(session, "/sure", count=0) == []
    seen = session.look("tree")
    assert (seen.dialog.kind, seen.dialog.text) == ("confirm", "Sure?")
    session.do(Answer(accept=False))
    assert session.look().dialog is None
    session.do(GO)
    session.do(Press("Tab"))
    assert session.look().messages[-1] == "the dialog was dismissed, since it had no answer"
    session.do(GO)
    since = time.monotonic()
    session.do(Answer())
    assert answered(session, since)[0]["outcome"] == "accepted"
    assert session.server.writes("/received")[-1] == {"name": ["Ada"]}
    session.do(Answer())
    assert session.look().refused == ("Answer(): no dialog is open",)
    told = session.account.summary({})["dialogs"]
    assert [item["accepted"] for item in told] == [False, False, True]
    assert [e["dialog"]["text"] for e in events(session.folder) if "kind" in e.get("dialog", {})]
