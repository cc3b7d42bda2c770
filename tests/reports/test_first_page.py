"""The first screen of a report in a browser: it fits a window, and leads to the cases."""

import re

import nbformat
import polars as pl
import pytest
from playwright.sync_api import expect

from formlab import analysis, browser, charts, gallery
from formlab.analysis.finding import KEYS
from formlab.charts import note
from formlab.reports import page

pytestmark = pytest.mark.browser

BOTTOM = "document.querySelector('[data-kind=cards]').getBoundingClientRect().bottom"
WIDE = "document.documentElement.scrollWidth"


@pytest.fixture
def report(tmp_path, monkeypatch):
    """A page of one evaluation with the most that a first screen holds."""
    monkeypatch.setenv("FORMLAB_REPORT", "1")
    result = analysis.open_evaluation(benchmark="funsd", system="ocr")
    found = analysis.findings([result], most=None, resamples=50)
    found = [analysis.Finding("No difference was shown", "kinds", holds=False), *found]
    found += [charts_wide(result)] * (6 - len(found))
    cards = [charts.Card(f"card {n}", 0.5, "95 % interval 0.400 to 0.600") for n in range(4)]
    first = charts.first_screen([result] * 3, found, cards=cards)
    cases = gallery.errors(result.cases, of=result, by=["kind"], findings=found, crop=False)
    cells = [
        ("# Where does a system with a rather long question over it fail, and why does it?"
         "\n\n**In:** this. **Out:** that."),
        (first, ["summary"]), ("## Empty"), (note("None."), []), ("## Cases"), (cases, []),
    ]  # fmt: skip
    made = []
    for cell in cells:
        if isinstance(cell, str):
            made.append(nbformat.v4.new_markdown_cell(cell))
            continue
        made.append(nbformat.v4.new_code_cell("x", metadata={"tags": cell[1]}))
        data = cell[0]._repr_mimebundle_()
        made[-1].outputs = [nbformat.v4.new_output("display_data", data=data)]
    cells = page.read(nbformat.v4.new_notebook(cells=made))
    page.write(cells, out=tmp_path / "a.html", name="a", facts={})
    behind = result.cases.join(found[1].cases, on=KEYS, how="semi", nulls_equal=True)
    wrong = behind.filter(~pl.col("outcome").is_in(["match", "unscored"])).height
    return tmp_path / "a.html", first.payload["findings"], wrong


def charts_wide(result):
    """A difference with an interval, in a sentence of two lines."""
    claim = "Where kind is answer and length is between one and five words, 55 % of 88 values are "
    return analysis.Finding(
        f"{claim}right, against 80 % elsewhere (p = 0.002, adjusted for 1,234 slices)", "slice",
        benchmark=result.benchmark, split=result.split, system=result.system, metric="outcome",
        effect=0.25, ci_low=0.1, ci_high=0.4, n_cases=88, n_docs=8,
    )  # fmt: skip


def test_first_screen_fits_a_window_and_its_link_leads_to_the_wrong_cases(report):
    file, findings, wrong = report
    with browser.page(file, size=(1440, 900)) as visit:
        page = visit.page
        page.wait_for_selector("html[data-ready=yes]", state="attached")
        assert page.evaluate(BOTTOM) <= 900
        assert page.locator(".fl-lead-finding, .fl-findings > li").count() == len(findings) == 5
        expect(page.locator(".fl-toc a")).to_have_text([])
        expect(page.locator(".fl-nothing li")).to_have_text("Empty None.")
        first = findings[0]
        link = page.locator(".fl-lead-finding a")
        assert link.get_attribute("href") == f"#finding={first['place']}" == "#finding=2"
        link.press("Enter")
        count = page.locator(".fl-count")
        expect(count).to_have_text(re.compile(rf"^{wrong} of "))
        expect(page.locator(".fl-gallery, .fl-bar").first).to_be_in_viewport()
        page.set_viewport_size({"width": 390, "height": 844})
        page.emulate_media(color_scheme="dark")
        assert page.evaluate(WIDE) <= 390
        assert visit.trouble == []
