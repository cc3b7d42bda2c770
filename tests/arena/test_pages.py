"""The forms in a real browser: conditions, pages, calendar, keyboard, narrow screens."""

import pytest

from formlab import browser
from formlab_arena.spec import forms

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def shared_visit(arena):
    with browser.page(allow=(f"{arena}/", "data:")) as visit:
        yield visit


@pytest.fixture
def visiting(shared_visit, arena):
    """Opens a form in a window of the usual size, or of another one."""

    def visit(code, width=1280):
        # What an earlier test met is its own.
        for met in (shared_visit.requests, shared_visit.console, shared_visit.errors):
            met.clear()
        shared_visit.dialogs.clear()
        shared_visit.page.set_viewport_size({"width": width, "height": 800})
        shared_visit.page.goto(f"{arena}/forms/{code}")
        return shared_visit

    return visit


def test_every_form_fits_a_narrow_screen_and_has_labels_for_all_controls(visiting, arena):
    visit = visiting("A11", width=390)
    for code in forms():
        visit.page.goto(f"{arena}/forms/{code}")
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390, code
        unlabelled = visit.page.evaluate(
            "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
            ".filter(e => !e.labels.length).map(e => e.name)"
        )
        assert unlabelled == [], code
    assert visit.trouble == []
