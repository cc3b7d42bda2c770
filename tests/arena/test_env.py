import asyncio
import contextlib

import PIL.Image
import pytest

from formlab.errors import DataBroken, UnknownName
from formlab_arena.observation import Observation
from formlab_arena.web_tasks import WebTask
from tests.arena.web import Page

gymnasium = pytest.importorskip("gymnasium", reason="the extra arena is not installed")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from formlab_arena.env import FormEnv  # noqa: E402

SMALL = {"viewport": (500, 400), "scale": 0.5}
PAGE = Page(
    "small",
    "<!doctype html><form method=post action=/accept><label>Name <input name=n></label>"
    "<label>Town <input name=t></label><button>Send</button></form>",
    {}, {},
)  # fmt: skip


def ids(seen):
    """The id of each element by its name."""
    lines = [line for line in seen["tree"].splitlines() if '"' in line]
    return {line.split('"')[1]: line.split("]")[0][1:] for line in lines}


class Pretended:
    """A session without a browser: it shows what was done to it."""

    def __init__(self, folder, size, text):
        self.folder, self.size, self.text, self.done, self.contents = folder, size, text, [], {}
        self.account = self

    def look(self, observes):
        image = self.folder / "seen.png"
        PIL.Image.new("RGB", self.size, "white").save(image)
        return Observation(1, image, self.size, self.text, (), messages=tuple(self.done))

    def do(self, action):
        self.done.append(repr(action))

    def summary(self, contents):
        return {"submissions": [], "dialogs": []}

    def extend(self, seconds):
        pass

    finish = dict


@pytest.fixture
def without_browser(monkeypatch):
    @contextlib.contextmanager
    def opened(address, folder, text, *_, **__):
        yield Pretended(folder, (250, 200), text)

    monkeypatch.setattr("formlab_arena.env.open_session", opened)


def test_the_checker_of_gymnasium_finds_nothing(without_browser):
    # It opens a form a dozen times, which browsers make slow.
    env = FormEnv(WebTask("small", "http://127.0.0.1:1/", "Name: Ada"), **SMALL)
    check_env(env, skip_render_check=True)
    assert env.render().shape == env.observation_space["screenshot"].shape
    env.close()


def test_an_episode_ends_by_its_last_step_with_what_was_sent_until_then(without_browser):
    task = WebTask("small", "http://127.0.0.1:1/", "Name: Ada", gold={"Name": "Ada"})
    env = FormEnv(task, steps=4, **SMALL)
    env.reset()
    ends = [env.step("noop()")[1:4] for _ in range(4)]
    assert ends == [(0.0, False, False)] * 3 + [(0.0, False, True)]
    env.close()


def test_instances_are_drawn_by_seed(without_browser):
    env = FormEnv("E11", **SMALL)
    first, again, other = (env.reset(seed=seed)[0]["text"] for seed in (1, 1, 2))
    assert first == again != other
    env.close()


@pytest.mark.browser
def test_forms_and_miniwob_are_played_and_end_when_sent_also_in_a_notebook():
    async def cell():
        env = gymnasium.make("formlab/Form-v0", task="E11", **SMALL)
        first, _ = env.reset(seed=1)
        assert "/forms/E11" in first["address"]
        assert first["screenshot"].shape == env.observation_space["screenshot"].shape
        env.close()
        web = FormEnv("miniwob:enter-text", **SMALL)
        seen, _ = web.reset(options={"instance": 3})
        assert seen["text"] == 'Enter "Thaddeus" into the text field and press Submit.'
        box, button = (line.split("]")[0][1:] for line in seen["tree"].splitlines()[:2])
        _, reward, ended, *_ = web.step(f"fill('{box}', 'Thaddeus')\nclick('{button}')")
        assert (reward, ended) == (1.0, True)
        assert web.render().shape == (200, 250, 3)
        web.close()

    asyncio.run(cell())


def test_wrong_tasks_and_settings_are_named():
    with pytest.raises(UnknownName, match="unknown form 'Q1'"):
        FormEnv("Q1")
    with pytest.raises(DataBroken, match="window of its own"):
        FormEnv("A11", device="iPhone 15")
