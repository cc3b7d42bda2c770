"""Every notebook of the project, run on the samples and opened with the network off."""

from pathlib import Path

import pytest

from formlab import browser, reports

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
    height = page.evaluate("document.documentElement.scrollHeight")
    for place in range(0, height, 800):
        page.evaluate(f"window.scrollTo(0, {place})")
        page.wait_for_timeout(60)
    assert page.locator("h1").inner_text()
    # Charts are drawn, not only announced.
    assert page.locator("svg, canvas, table, a").count() > 0
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    assert visit.trouble == []
