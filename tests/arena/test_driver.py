import asyncio
import os
import signal
import time

import psutil
import pytest

from formlab import browser
from formlab_arena import driver as driver_module
from formlab_arena.driver import DialogOpen, Driver, PageLeft, TimeLimit
from tests.states import until, until_seen

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
