import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from formlab import browser
from formlab_arena import driver as driver_module
from formlab_arena.driver import DialogOpen, Driver, PageLeft, TimeLimit
from formlab_arena.driving import LOG, Command, DriveTask, watch
from tests.states import ended, until, until_seen

ROOT = Path(__file__).parents[2]


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


PAGE = """data:text/html,<title>Camp</title><body style="margin:0">
<button style="width:90px;height:40px" onclick="r = confirm('Sure?'); q = prompt('Who?')">x</button>
<input type=file>"""


@pytest.fixture
def driver():
    driver = Driver(30)
    driver.start(
        {"executable_path": browser.find(), "args": list(browser.FLAGS)},
        viewport={"width": 800, "height": 600},
    )
    yield driver
    driver.close()


@pytest.mark.browser
def test_page_is_used_without_await_under_a_running_loop_too(driver, monkeypatch):
    page = driver.page

    async def notebook_cell():
        page.goto(PAGE)
        return page.title(), page.viewport_size["width"], page.main_frame.child_frames

    assert asyncio.run(notebook_cell()) == ("Camp", 800, [])
    # Handles go in and come out, and events arrive.
    handle = page.evaluate_handle("document.querySelector('input')")
    assert page.evaluate("([e]) => e.type", [handle]) == "file"
    assert page.locator("button").first.bounding_box()["width"] == 90
    choosers = []
    page.on("filechooser", choosers.append)
    handle.as_element().click()
    until_seen(page, lambda: choosers)
    assert choosers[0].element.evaluate("e => e.type") == "file"

    # A click that opens a dialog comes back, the page waits, and the answer lets it go on.
    with pytest.raises(DialogOpen):
        page.mouse.click(20, 20)
    assert [(dialog.type, dialog.message) for dialog in driver.dialogs] == [("confirm", "Sure?")]
    with pytest.raises(DialogOpen):
        page.screenshot()
    driver.answer(True)
    assert driver.dialogs[0].message == "Who?"
    driver.answer(True, "Ada")
    assert page.evaluate("[r, q]") == [True, "Ada"]

    # A page that goes and one that hangs are told apart.
    page.goto("about:blank")
    with pytest.raises(PageLeft):
        handle.evaluate("e => e.type")
    driver.deadline = time.monotonic() + 0.5
    with pytest.raises(TimeLimit):
        page.evaluate("for (;;);")
    assert driver.is_late
    # One that does not close is killed.
    monkeypatch.setattr(driver_module, "CLOSING", 0.5)
    os.kill(driver.pid, signal.SIGSTOP)
    driver.close()
    until(lambda: not psutil.pid_exists(driver.pid))
    with pytest.raises(PageLeft):
        page.title()
