"""The review in a real JupyterLab: decided by keyboard, and reloaded."""

import pytest
from playwright.sync_api import expect

from formlab import browser, decisions
from tests.lab import allowed, jupyterlab, run_cell

CELL = """import formlab_review as review
from formlab.folders import Corpus
corpus = Corpus.load("corpus")
pages = review.Pages(corpus.documents, corpus.root)
desk = review.Review(review.of_corpus(corpus), "reviews", "ada", pages)
display(*desk.show())"""


@pytest.fixture
def lab(corpus, tmp_path):
    """The address of a JupyterLab over `tmp_path`, where a notebook opens the review."""
    corpus.save(tmp_path / "corpus")
    with jupyterlab(tmp_path, CELL) as address:
        yield address


def saved(tmp_path):
    file = tmp_path / "reviews" / "ada.jsonl"
    return {} if not file.exists() else dict(decisions.read(file).select("path", "decision").rows())


@pytest.mark.complete
@pytest.mark.browser
def test_decisions_by_keyboard_outlive_a_reloaded_page(lab, tmp_path):
    with browser.page(allow=allowed(lab), size=(1400, 1000)) as visit:
        page = visit.page
        page.goto(f"{lab}/lab/tree/demo.ipynb?reset")
        run_cell(page)
        page.get_by_text("0 of 6 decided by ada").wait_for()
        page.locator(".fr-holder img").wait_for()
        page.locator(".fl-review").focus()
        page.keyboard.press("a")
        page.get_by_text("1 of 6 decided by ada").wait_for()
        page.keyboard.press("e")
        page.locator(".fr-parts textarea").first.fill("9.50")
        page.keyboard.press("Enter")
        page.get_by_text("2 of 6 decided by ada").wait_for()
        # What a model wrote is text here.
        expect(page.locator(".fr-value").first).to_contain_text("<img src=x")
        page.keyboard.press("r")
        page.get_by_text("3 of 6 decided by ada").wait_for()
        page.keyboard.press("a")
        page.get_by_text("4 of 6 decided by ada").wait_for()
        page.keyboard.press("u")
        page.get_by_text("3 of 6 decided by ada").wait_for()
        want = {"/Name": "accept", "/Total": "edit", "/Evil": "reject"}
        assert saved(tmp_path) == want
        page.keyboard.press("Control+s")
        page.locator(".lm-TabBar-tab.jp-mod-dirty").wait_for(state="detached")
        page.reload()
        page.get_by_text("3 of 6 decided by ada").wait_for()
        expect(page.locator(".fr-title bdi")).to_have_text("/Blank")
        assert page.evaluate("typeof pwned") == "undefined"
        assert visit.requests == []
        assert visit.errors == []
