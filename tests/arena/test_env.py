import contextlib

import PIL.Image
import pytest
from gymnasium.utils.env_checker import check_env

from formlab_arena.env import FormEnv
from formlab_arena.observation import Observation
from formlab_arena.web_tasks import WebTask

SMALL = {"viewport": (500, 400), "scale": 0.5}


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
