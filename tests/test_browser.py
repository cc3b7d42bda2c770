import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from formlab import browser
from formlab.errors import NotAvailable
from tests import leaking
from tests.states import ended, until, until_seen

ROOT = Path(__file__).parents[1]


def test_chromium_is_the_named_one_or_that_of_the_path_or_the_remedy_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    monkeypatch.delenv("FORMLAB_CHROMIUM", raising=False)
    with pytest.raises(NotAvailable, match="playwright install chromium"):
        browser.find()
    for name in ("google-chrome", "mine"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert browser.find() == tmp_path / "google-chrome"
    monkeypatch.setenv("FORMLAB_CHROMIUM", str(tmp_path / "mine"))
    assert browser.find() == tmp_path / "mine"


@pytest.mark.browser
def test_page_records_and_aborts_what_leaves_it(tmp_path):
    (tmp_path / "a.html").write_text(
        "<img src='https://beacon.invalid/x.png'>"
        "<script>console.error('odd'); throw new Error('broken')</script>"
    )
    with browser.page(tmp_path / "a.html") as visit:
        until_seen(visit.page, lambda: visit.requests and visit.page.page_errors())
        assert visit.requests == ["https://beacon.invalid/x.png"]
        assert {"https://beacon.invalid/x.png", "odd", "broken"} <= {*visit.trouble}


@pytest.mark.browser
def test_nothing_leaves_a_page_by_any_way(tmp_path):
    from playwright.sync_api import expect, sync_playwright

    file = tmp_path / "a.html"
    with leaking.listeners() as (tcp, udp, arrived):
        file.write_text(leaking.page(tcp, udp))
        with browser.page(file) as visit:
            expect(visit.page).to_have_title(leaking.TITLE)
            ways = {"fetch", "beacon", "worker", "prefetch", "font.woff2"}
            until_seen(
                visit.page, lambda: ways <= {url.rpartition("/")[2] for url in visit.requests}
            )
        assert arrived == []
        # In the same browser without what keeps it in, the page does leave.
        with sync_playwright() as playwright:
            flags = [f for f in browser.FLAGS if "webrtc" not in f and "resolver" not in f]
            free = playwright.chromium.launch(executable_path=browser.find(), args=flags)
            page = free.new_page()
            page.goto(file.as_uri(), wait_until="commit")
            until_seen(page, lambda: {"tcp", "udp"} <= {way for way, _ in arrived})
            free.close()


@pytest.mark.browser
def test_page_without_scripts_stays_and_asks_for_nothing(tmp_path):
    with leaking.listeners() as (tcp, udp, arrived):
        leave = '<meta http-equiv="refresh" content="0; url=HTTP/left">'
        with browser.page(scripts=False, allow=("data:",)) as visit:
            visit.page.set_content(leaking.filled(leave, tcp, udp) + leaking.page(tcp, udp))
            until_seen(visit.page, lambda: any(url.endswith("/left") for url in visit.requests))
            assert visit.page.url == "about:blank"
            assert visit.page.locator("p").inner_text() == "Canary"
    assert arrived == []
    asked = {url.rpartition("/")[2] for url in visit.requests}
    assert {"image.png", "prefetch", "font.woff2", "iframe", "left", "hostname"} <= asked
    assert not asked & {"fetch", "socket", "onload", "onerror", "events"}


@pytest.mark.browser
def test_browser_ends_with_a_process_that_is_killed():
    code = "from formlab import browser\nwith browser.page(): print('open', flush=True); input()"
    command = [sys.executable, "-c", code]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:
        assert process.stdout.readline() == b"open\n"
        theirs = psutil.Process(process.pid).children(recursive=True)
        process.kill()
    # Playwright's driver, and the processes of Chromium.
    assert len(theirs) >= 3
    until(lambda: ended(theirs))


@pytest.mark.browser
def test_quiet_page_has_no_trouble_and_each_visit_a_fresh_profile(tmp_path):
    (tmp_path / "a.html").write_text("<script>document.title = localStorage.n ??= 'first'</script>")
    for _ in range(2):
        with browser.page(tmp_path / "a.html", size=(390, 844), scheme="dark") as visit:
            assert visit.page.title() == "first"
            assert visit.page.evaluate("innerWidth") == 390
            assert visit.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
            visit.page.evaluate("localStorage.n = 'again'")
            assert visit.trouble == []
