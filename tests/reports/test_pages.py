"""The pages, opened in Chromium with every request outside the file aborted."""

import pytest
from playwright.sync_api import expect

from formlab import browser
from tests.states import draw_all

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browsing(results):
    # After the reports: building opens browsers, too, and a thread has one at a time.
    with browser.page() as visit:
        yield visit


@pytest.fixture
def visit(browsing):
    """The module's browser with its own window and colours."""
    browsing.page.set_viewport_size({"width": 1280, "height": 800})
    browsing.page.emulate_media(color_scheme="light")
    yield browsing
    # What a switch was set to is kept for the next page.
    browsing.page.evaluate("localStorage.clear()")


def test_sound_report_draws_everything_and_asks_for_nothing(results, visit):
    visit.page.goto(results["sound"].html.as_uri())
    draw_all(visit.page)
    states = visit.page.eval_on_selector_all(
        ".fl-object", "boxes => boxes.map(b => [b.dataset.kind, b.dataset.state])"
    )
    assert sorted(states) == sorted(
        [kind, "drawn"] for kind in ("cards", "caption", "vega", "table", "plotly", "gallery")
    )
    expect(visit.page.locator(".fl-vega svg .mark-rect path")).to_have_count(2)
    assert visit.page.locator(".fl-plotly canvas, .fl-plotly .heatmaplayer image").count() > 0
    expect(visit.page.locator(".fl-caption")).to_have_text("Figure 1. Exact by system")
    expect(visit.page.locator(".fl-how summary")).to_have_text("how it was computed")
    expect(visit.page.locator("main tbody tr").nth(1)).to_contain_text("–")
    # The tables of its figures are saved from the page itself.
    assert saved(visit.page, "a[download$='.csv']") == (
        "01-exact-by-system.csv", "exact,n,system\n0.25,1,a\n,2,b\n0.75,3,c\n",
    )  # fmt: skip
    assert saved(visit.page, "a[download^='02']") == (
        "02-table.csv", "system,Exact accuracy,n\na,0.25,1\nb,,2\nc,0.75,3\n",
    )  # fmt: skip
    assert visit.trouble == []


def saved(page, link):
    """The name and the text of a file that the page gives."""
    with page.expect_download() as download:
        page.locator(link).first.click()
    return download.value.suggested_filename, download.value.path().read_text("utf-8-sig")


def test_switches_work_and_phone_has_no_sideways_scroll(results, visit):
    visit.page.set_viewport_size({"width": 390, "height": 844})
    visit.page.emulate_media(color_scheme="dark")
    visit.page.goto(results["sound"].html.as_uri())
    page = visit.page
    draw_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.click("#fl-theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert page.evaluate(paper) != dark
    expect(page.locator(".fl-source").first).to_be_hidden()
    page.click("#fl-code")
    expect(page.locator(".fl-source pre").first).to_be_visible()
    assert visit.trouble == []
