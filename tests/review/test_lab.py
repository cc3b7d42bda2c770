"""Both reviews in a real JupyterLab: decided and changed by keyboard, and reloaded."""

import contextlib
import os
import socket
import subprocess
import sys
import urllib.request

import nbformat
import pytest
from playwright.sync_api import expect

from formlab import browser, decisions
from tests.review import test_forms
from tests.states import LONG, until

desk_of_forms = test_forms.desk
CELL = """import formlab_review as review
from formlab import benchmarks
from formlab.folders import Corpus
corpus = Corpus.load("corpus")
pages = review.Pages(corpus.documents, corpus.root)
desk = review.Review(review.of_corpus(corpus), "reviews", "ada", pages)
forms = benchmarks.load("formcraft", root="drafts")
pages = review.Pages(forms.documents, forms.root)
display(*desk.show(), *review.FormReview(forms, "edits", "ada", pages).show())"""


@pytest.fixture
def lab(corpus, desk_of_forms, tmp_path):
    """The address of a JupyterLab over `tmp_path`, where a notebook opens both reviews."""
    corpus.save(tmp_path / "corpus")
    kernel = {"name": "python3", "display_name": "Python 3"}
    cells = [nbformat.v4.new_code_cell(CELL, id="desk")]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, tmp_path / "demo.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    homes = dict.fromkeys(("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"), str(tmp_path / "home"))
    env = {k: v for k, v in os.environ.items() if k != "FORMLAB_REPORT"} | homes
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
        f"--port={port}", "--IdentityProvider.token=", "--ServerApp.password=",
        "--LabApp.news_url=None", f"--ServerApp.root_dir={tmp_path}",
        "--LabApp.extension_manager=readonly", f"--LabApp.workspaces_dir={tmp_path / 'spaces'}",
    ]  # fmt: skip
    address, log = f"http://127.0.0.1:{port}", tmp_path / "lab.log"

    def answers():
        assert server.poll() is None, log.read_text()
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{address}/api", timeout=LONG).close()
            return True

    with log.open("w") as stream:
        server = subprocess.Popen(command, cwd=tmp_path, env=env, stdout=stream, stderr=stream)
        try:
            until(answers)
            yield address
        finally:
            server.terminate()
            server.wait(timeout=LONG)


def decide_by_keyboard(page):
    page.get_by_text("0 of 6 decided by ada").wait_for()
    page.locator(".fr-holder img").first.wait_for()
    page.locator(".fl-review").first.focus()
    # Accepted, edited, rejected, accepted and taken back.
    for key, count in (("a", 1), ("e", 2), ("r", 3), ("a", 4), ("u", 3)):
        page.keyboard.press(key)
        if key == "e":
            page.locator(".fr-parts textarea").first.fill("9.50")
            page.keyboard.press("Enter")
        page.get_by_text(f"{count} of 6 decided by ada").wait_for()
        if count == 2:
            # What a model wrote is text here.
            expect(page.locator(".fr-value").first).to_contain_text("<img src=x")


def change_by_keyboard(page):
    page.locator('[role="tree"] [role="treeitem"]').first.focus()

    def press(*keys, until):
        for key in keys:
            page.keyboard.press(key)
        page.locator(".fr-count", has_text=f"this one: {until}").wait_for()

    # Date goes into Patient and is renamed; a missing field is added; the question goes.
    press("ArrowDown", "Shift+ArrowRight", until="1 change,")
    for key, text, count in (("F2", "Day", 2), ("f", "Fax", 3)):
        page.keyboard.press(key)
        page.keyboard.type(text)
        press("Enter", until=f"{count} changes")
    press("End", "ArrowUp", "Delete", until="4 changes")
    press("u", until="3 changes")
    press("v", until="3 changes, verified")
    question = page.locator('[role="treeitem"][aria-selected="true"]')
    assert question.get_attribute("aria-level") == "2"
    expect(question).to_contain_text("<img src=x")


@pytest.mark.complete
@pytest.mark.browser
def test_decisions_and_changes_by_keyboard_outlive_a_reloaded_page(lab, tmp_path, desk_of_forms):
    allowed = (lab, lab.replace("http", "ws"), "data:", "blob:", "about:")
    with browser.page(allow=allowed, size=(1400, 1000)) as visit:
        page = visit.page
        page.goto(f"{lab}/lab/tree/demo.ipynb?reset")
        # A cell that is run before there is a kernel makes JupyterLab ask which one.
        page.get_by_text("| Idle").first.wait_for()
        page.locator(".jp-CodeCell .cm-content").first.click()
        page.keyboard.press("Shift+Enter")
        decide_by_keyboard(page)
        change_by_keyboard(page)
        page.keyboard.press("Control+s")
        page.locator(".lm-TabBar-tab.jp-mod-dirty").wait_for(state="detached")
        page.reload()
        page.get_by_text("3 of 6 decided by ada").wait_for()
        expect(page.locator(".fr-title bdi").first).to_have_text("/Blank")
        assert page.evaluate("typeof pwned") == "undefined"
        assert (visit.requests, visit.page.page_errors()) == ([], [])
    saved = decisions.read(tmp_path / "reviews" / "ada.jsonl").select("path", "decision").rows()
    assert dict(saved) == {"/Name": "accept", "/Total": "edit", "/Evil": "reject"}
    form = desk_of_forms.form("a")
    desk_of_forms.reload()
    form = desk_of_forms.form("a")
    fields = form.content()["groups"][0]["fields"]
    assert [field["label"] for field in fields] == ["Name", "Day", "Fax"]
    assert [node.kind for node in form.walk()].count("vqa") == 1
    assert form.verified
