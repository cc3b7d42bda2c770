"""Every notebook of the project, run on the samples and opened with the network off."""

from pathlib import Path

import pytest

from formlab import browser, reports

# A chart is drawn when it comes near: the page's observers look once in each frame.
TO_THE_END = """async () => {
    const frame = () => new Promise(requestAnimationFrame);
    for (let y = 0; y < document.documentElement.scrollHeight; y += 800) {
        window.scrollTo({ top: y, behavior: "instant" });
        await frame();
        await frame();
    }
}"""
NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("[0-9]*.ipynb"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    out = tmp_path_factory.mktemp("reports")
    results = reports.build(NOTEBOOKS, out=out, workers=2, figures=False)
    return out, {result.notebook.stem: result for result in results}


@pytest.mark.parametrize("name", [notebook.stem for notebook in NOTEBOOKS])
def test_notebook_runs_without_arguments(built, name):
    result = built[1][name]
    assert result.ok, result.error
    assert result.summary.finding


@pytest.fixture(scope="module", params=[(1280, "light"), (390, "dark")], ids=["desktop", "phone"])
def visit(request):
    """One browser for all pages of a size."""
    width, scheme = request.param
    with browser.page(size=(width, 900), scheme=scheme) as visit:
        yield visit


@pytest.mark.browser
@pytest.mark.parametrize("name", ["index", *(notebook.stem for notebook in NOTEBOOKS)])
def test_page_opens_offline_without_request_or_error(built, name, visit):
    page = visit.page
    for seen in (visit.requests, visit.console, visit.errors, visit.dialogs):
        seen.clear()
    page.goto((built[0] / f"{name}.html").as_uri(), wait_until="load")
    page.evaluate(TO_THE_END)
    waiting = page.locator('.fl-object:is([data-kind="vega"], [data-kind="plotly"]):visible')
    waiting.and_(page.locator(":not([data-state])")).first.wait_for(state="detached")
    assert page.locator('[data-state="failed"]').count() == 0
    assert page.locator("h1").text_content()
    # Charts are drawn, not only announced.
    assert page.locator("svg, canvas, table, a").count() > 0
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    assert visit.trouble == []
