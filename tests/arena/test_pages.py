"""The forms in a real browser: conditions, pages, calendar, keyboard, narrow screens."""

import pytest
from playwright.sync_api import expect

from formlab import browser
from formlab_arena.run import serving
from formlab_arena.spec import forms

pytestmark = pytest.mark.browser


@pytest.fixture
def address(tmp_path):
    with serving(tmp_path / "s.sqlite") as server:
        yield server.ensure()


def visiting(address, code, **options):
    allow = (f"{address}/", "data:")
    return browser.page(f"{address}/forms/{code}", allow=allow, **options)


def test_conditional_field_shows_only_after_its_answer(address):
    with visiting(address, "C13") as visit:
        talks = visit.page.locator("#f-talks")
        expect(talks).to_be_hidden()
        visit.page.get_by_label("Yes", exact=True).check()
        expect(talks).to_be_visible()
        visit.page.get_by_label("No", exact=True).check()
        expect(talks).to_be_hidden()
        assert talks.is_disabled()
        assert visit.trouble == []


def test_next_page_comes_only_after_the_first_holds(address):
    with visiting(address, "C12") as visit:
        visit.page.get_by_role("button", name="Next").click()
        expect(visit.page.get_by_label("Author", exact=True)).to_be_visible()
        assert visit.page.evaluate("document.activeElement.name") == "author"


def test_calendar_writes_the_day_chosen(address):
    with visiting(address, "E12") as visit:
        visit.page.fill("#f-born", "1999-02-03")
        visit.page.get_by_role("button", name="Calendar for Born on").click()
        visit.page.get_by_role("button", name="Next month").click()
        visit.page.get_by_role("button", name="31", exact=True).click()
        assert visit.page.input_value("#f-born") == "1999-03-31"
        assert visit.trouble == []


def test_every_form_fits_a_narrow_screen_and_has_labels_for_all_controls(address):
    with visiting(address, "A11", size=(390, 844)) as visit:
        for code in forms():
            visit.page.goto(f"{address}/forms/{code}")
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390, code
            unlabelled = visit.page.evaluate(
                "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
                ".filter(e => !e.labels.length).map(e => e.name)"
            )
            assert unlabelled == [], code
        assert visit.trouble == []
