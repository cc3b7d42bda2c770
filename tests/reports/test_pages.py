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
    assert visit.trouble == []


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


def test_nothing_hostile_runs_renders_or_calls_out_and_all_is_text(results, visit):
    visit.page.goto(results["hostile"].html.as_uri())
    page = visit.page
    draw_all(page)
    planted = "</script><script>globalThis.pwned=1</script>"
    expect(page.locator(".fl-cards")).to_contain_text(planted)
    expect(page.locator("main table").first).to_contain_text("<img src=x onerror")
    expect(page.locator(".fl-failed")).to_contain_text("ValueError")
    assert page.locator(".fl-vega svg, .fl-plotly .main-svg").count() >= 5
    for box in page.locator(".fl-vega svg:visible, .fl-plotly").all():
        box.scroll_into_view_if_needed()
        area = box.bounding_box()
        for across in (0.1, 0.3, 0.5, 0.7, 0.9):
            page.mouse.move(area["x"] + across * area["width"], area["y"] + 0.6 * area["height"])
        page.mouse.click(area["x"] + 0.5 * area["width"], area["y"] + 0.5 * area["height"])
    page.locator(".fl-card").first.click()
    page.keyboard.press("Escape")
    page.click("#fl-code")
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.wait_for_timeout(300)
    assert page.evaluate("typeof globalThis.pwned") == "undefined"
    assert page.evaluate("({}).polluted === undefined")
    assert (
        page.locator(
            "marker-element, iframe, main input:not(.fl-bar input, .fl-tools input)"
        ).count()
        == 0
    )
    assert page.locator("main style, main [style*=beacon]").count() == 0
    bad = "a => a.map(x => x.getAttribute('href') || x.getAttribute('xlink:href') || '')"
    # The tables behind figures are for saving; a browser opens none of them.
    links = page.eval_on_selector_all("a:not([download^='0'][href^='data:text/csv;'])", bad)
    assert not [link for link in links if link.strip().lower().startswith(("javascript", "data"))]
    handlers = (
        "[...document.querySelectorAll('main *')]"
        ".some(e => [...e.attributes].some(a => /^on/i.test(a.name)))"
    )
    assert not page.evaluate(handlers)
    expect(page.locator("body")).to_be_visible()
    assert (visit.requests, visit.errors, visit.dialogs) == ([], [], [])
    assert [line for line in visit.console if "Content Security Policy" in line] == []
