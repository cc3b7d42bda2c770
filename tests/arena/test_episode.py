import asyncio
import concurrent.futures
import json

import pytest
from playwright import async_api

from formlab.errors import DataBroken
from formlab_arena.actions import Click, Scroll, Type
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
from tests.arena.sites import form, script, site


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


class Typist:
    """Sees both boxes and writes its plan for both; looks again where it is given time."""

    name, observes = "typist", "tree"

    def act(self, seen):
        empty = [target for target in seen.elements if not target.value]
        return [
            action
            for target in empty
            for action in (Click(*target.middle), Type(target.field.upper()))
        ]


class Sender(Typist):
    """Fills in the boxes and presses the button at the top."""

    def act(self, seen):
        if seen.step > 1:
            return []
        return [
            action
            for target in seen.elements
            if target.kind == "text"
            for action in (Click(*target.middle), Type("Ada"))
        ] + [Click(20, 20)]


class Faulty(Typist):
    """Has a fault of its own."""

    def act(self, seen):
        return json.loads("[")


FIELD = '<input name=name style="position:absolute;top:60px">'
PAGES = {
    "/form": form(FIELD, 'action="/thanks"'), "/thanks": "<h1>Thanks</h1>",
    "/refused": form(FIELD, 'action="/none"'),
    "/hangs": FIELD + script("send.onclick = () => { for (;;); }"),
    "/alerts": f"<script>alert('Welcome')</script>{form(FIELD, 'action=/thanks')}",
    "/picture": f"{form(FIELD, 'action=/thanks')}<img src=/never>",
    "/closes": FIELD + script("send.onclick = () => { close() }"),
    "/never": (0, {"seconds": 30}, ""),
}  # fmt: skip


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
def test_others_drive_the_same_browser_with_cookies_of_a_file_on_a_device(tmp_path):
    state = tmp_path / "state.json"
    prepare(tmp_path, "", {})
    with site(PAGES | {"/": "<h1>Home</h1>"}) as server:
        cookie = {"name": "who", "value": "s3cret", "url": server.url}
        storage = {"origin": server.url, "localStorage": [{"name": "seen", "value": "yes"}]}
        state.write_text(json.dumps({"cookies": [cookie], "origins": [storage]}))
        settings = RunSettings("x", device="iPhone 13")
        with open_session(server.url, tmp_path, "", settings, state=state, cdp=True) as session:
            assert session.page.evaluate("[document.cookie, localStorage.seen]") == [
                "who=s3cret", "yes",
            ]  # fmt: skip
            seen = session.look()
            assert seen.size == (390, 664)
            asyncio.run(drive(session.cdp_address, f"{server.url}/form"))
            assert session.page.url == f"{server.url}/thanks"
        assert session.summary["submissions"][0]["values"] == {"name": ["Bo"]}
    assert "s3cret" not in (tmp_path / "events.jsonl").read_text()


async def drive(address, form_at):
    """What an agent with its own Playwright does, in a tab that it opens."""
    async with async_api.async_playwright() as playwright:
        browser = await playwright.chromium.connect_over_cdp(address)
        page = await browser.contexts[0].new_page()
        await page.goto(form_at)
        await page.fill("input", "Bo")
        await page.click("#send")
        await page.wait_for_url("**/thanks")


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
