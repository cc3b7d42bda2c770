import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import types
from pathlib import Path
from unittest.mock import Mock

import PIL.Image
import psutil
import pytest
from gymnasium.utils.env_checker import check_env

from formlab import browser
from formlab.systems.runs import Journal
from formlab_arena import driver as driver_module
from formlab_arena.driver import Driver, PageLeft
from formlab_arena.driving import LOG, Command, DriveTask, watch
from formlab_arena.env import FormEnv
from formlab_arena.evaluation import read_run
from formlab_arena.observation import Observation
from formlab_arena.run import Outcome, RunSettings, fill, play_all
from formlab_arena.web_tasks import WebTask
from tests.arena.conftest import events
from tests.states import ended, until

SETTINGS = RunSettings("oracle")
ROOT = Path(__file__).parents[2]


@pytest.mark.browser
def test_killed_run_leaves_no_process_and_goes_on_where_it_was(tmp_path):
    code = "import sys; from pathlib import Path; from formlab_arena.run import *; "
    code += "fill(Path(sys.argv[1]), RunSettings('oracle'), codes=['A11'], count=2)"
    process = subprocess.Popen([sys.executable, "-c", code, tmp_path], cwd=ROOT)
    journal = tmp_path / "episodes.jsonl"
    children = psutil.Process(process.pid).children
    try:
        until(lambda: journal.exists() and journal.read_bytes().count(b"\n"))
        # The next episode's browser.
        until(lambda: any("chrom" in p.name() for p in children(recursive=True)))
        theirs = children(recursive=True)
    finally:
        process.kill()
        process.wait()
    # The server, Playwright's driver and the browser's processes.
    assert len(theirs) >= 3
    until(lambda: ended(theirs))
    done = journal.read_bytes()
    results = fill(tmp_path, SETTINGS, codes=["A11"], count=2)
    right = [(r["status"], r["right"], r["fields"]) for r in results]
    assert right == [("submitted", 4, 4)] * 2
    for result in results:
        logged = events(tmp_path / result["doc_id"])
        pictures = [event["see"] for event in logged if "see" in event]
        assert len(pictures) == result["steps"]
        assert all((tmp_path / result["doc_id"] / name).is_file() for name in pictures)
    assert journal.read_bytes().startswith(done[: done.rfind(b"\n") + 1])
    assert read_run(tmp_path)[1].responses["doc_id"].n_unique() == 2


def named(*names):
    return [types.SimpleNamespace(name=name) for name in names]


def blank(task):
    return {"doc_id": task.name, "status": "crashed", "error": None}


def played(tasks, folder, play, *, workers=1, told=None):
    with Journal(folder / "episodes.jsonl") as journal:
        return play_all(
            tasks, journal, play, blank=blank, workers=workers,
            is_open=lambda task, entry: entry["status"] == "crashed",
            tell=[].append if told is None else told.append,
        )  # fmt: skip


def test_episodes_end_in_any_order_and_results_keep_that_of_the_tasks(tmp_path):
    both, caller, threads = threading.Barrier(2), threading.current_thread(), []

    def play(task, stopped):
        # Passed only if two run at the same time.
        both.wait(10)
        threads.append(threading.current_thread())
        return Outcome(blank(task) | {"status": "submitted"})

    told = []
    results = played(named("a", "b", "c", "d"), tmp_path, play, workers=2, told=told)
    assert [result["doc_id"] for result in results] == ["a", "b", "c", "d"]
    assert sorted(result["doc_id"] for result in told) == ["a", "b", "c", "d"]
    assert caller not in threads
    assert all(result["seconds"] >= 0 for result in results)
    # All of them have ended: nothing is played.
    assert played(named("d", "a"), tmp_path, None) == [results[3], results[0]]


def test_an_interrupted_run_ends_the_episodes_that_run_and_begins_none(tmp_path):
    ends = []

    def play(task, stopped):
        while task.name == "b" and not stopped():
            pass
        ends.append(task.name)
        return Outcome(blank(task))

    told = types.SimpleNamespace(append=Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        played(named(*"abcdefgh"), tmp_path, play, workers=2, told=told)
    assert "b" in ends
    assert "h" not in ends


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


def test_the_checker_of_gymnasium_finds_nothing_and_the_last_step_ends_an_episode(monkeypatch):
    @contextlib.contextmanager
    def opened(address, folder, text, *_, **__):
        yield Pretended(folder, (250, 200), text)

    # The checker opens a form a dozen times, which browsers make slow.
    monkeypatch.setattr("formlab_arena.env.open_session", opened)
    task = WebTask("small", "http://127.0.0.1:1/", "Name: Ada", gold={"Name": "Ada"})
    with contextlib.closing(FormEnv(task, steps=4, viewport=(500, 400), scale=0.5)) as env:
        check_env(env, skip_render_check=True)
        assert env.render().shape == env.observation_space["screenshot"].shape
        env.reset()
        ends = [env.step("noop()")[1:4] for _ in range(4)]
        assert ends == [(0.0, False, False)] * 3 + [(0.0, False, True)]


@pytest.fixture
def task(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "task.txt").write_text("Ada Berg")
    return DriveTask("http://127.0.0.1:1/", "Ada Berg", tmp_path / "task.txt", tmp_path / "files")


def driven(agent, task, *, ended=lambda: False, deadline=20.0, look=lambda: None):
    return watch(agent, "http://127.0.0.1:2", task, look=look, ended=ended, deadline=deadline)


def command(code):
    return Command(f'{sys.executable} -c "{code}"')


@pytest.mark.skipif(os.name != "posix", reason="ends groups of processes")
def test_the_deadline_ends_a_command_and_all_that_it_started(task):
    child = "import time; time.sleep(900)"
    code = f"import subprocess as s, sys; p = s.Popen([sys.executable, '-c', '{child}']); "
    code += "print(p.pid, flush=True); p.wait()"
    assert driven(command(code), task, deadline=1.0) == "not done after 1 s"
    number = int(task.text_file.with_name(LOG).read_text())
    with contextlib.suppress(psutil.NoSuchProcess):
        child = psutil.Process(number)
        until(lambda: ended([child]))


@pytest.mark.skipif(os.name != "posix", reason="ends groups of processes")
def test_a_command_ends_with_a_run_that_is_killed_and_so_does_what_it_started(task):
    agent = task.text_file.with_name("agent.py")
    agent.write_text("import subprocess\nsubprocess.run(['sleep', '900'])\n")
    run = "import sys; from pathlib import Path; from formlab_arena.driving import *; "
    run += "text = Path(sys.argv[1]); task = DriveTask('', '', text, text.parent); "
    run += f"Command(f'{sys.executable} {{text.parent}}/agent.py').drive('', task)"
    starter = subprocess.Popen([sys.executable, "-c", run, task.text_file], cwd=ROOT)
    children = psutil.Process(starter.pid).children
    until(lambda: any("sleep" in p.cmdline() for p in children(recursive=True)))
    processes = children(recursive=True)
    starter.kill()
    starter.wait()
    until(lambda: ended(processes))


@pytest.mark.browser
def test_page_is_used_under_a_running_loop_and_one_that_does_not_close_is_killed(monkeypatch):
    driver = Driver(30)
    launch = {"executable_path": browser.find(), "args": list(browser.FLAGS)}
    driver.start(launch, viewport={"width": 800, "height": 600})

    async def notebook_cell():
        driver.page.goto("data:text/html,<title>Camp</title><input type=file>")
        return driver.page.title(), driver.page.viewport_size["width"]

    assert asyncio.run(notebook_cell()) == ("Camp", 800)
    # Handles go in and come out. A page that has gone is told from one that hangs.
    handle = driver.page.evaluate_handle("document.querySelector('input')")
    assert driver.page.evaluate("([e]) => e.type", [handle]) == "file"
    driver.page.goto("about:blank")
    with pytest.raises(PageLeft):
        handle.evaluate("e => e.type")
    monkeypatch.setattr(driver_module, "CLOSING", 0.5)
    os.kill(driver.pid, signal.SIGSTOP)
    driver.close()
    until(lambda: not psutil.pid_exists(driver.pid))
    with pytest.raises(PageLeft):
        driver.page.title()
