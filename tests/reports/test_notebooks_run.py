"""Notebooks of the project, run on the samples and opened with the network off."""

from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from formlab import browser, reports
from formlab.reports import record
from formlab.reports.plan import Notebook
from tests import executed
from tests.seeds import ALL

# A chart is drawn when it comes near: the page's observers look once in each frame. False if the
# browser stops to draw frames.
TO_THE_END = """async () => {
    const frame = () => Promise.race([
        new Promise((done) => requestAnimationFrame(() => done(true))),
        new Promise((done) => setTimeout(() => done(false), 20000)),
    ]);
    for (let y = 0; y < document.documentElement.scrollHeight; y += 800) {
        window.scrollTo({ top: y, behavior: "instant" });
        if (!(await frame() && await frame())) return false;
    }
    return true;
}"""
FEW = {} if ALL else {"resamples": 50, "permutations": 99, "worst": 20, "most": 20}
# In `make test` the contract runs 65 and 80, test_docs.py 00; 50, 70 and 90 take the longest.
ELSEWHERE = () if ALL else ("00", "50", "65", "70", "80", "90")
NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("[0-9]*.ipynb"))
NOTEBOOKS = [file for file in NOTEBOOKS if not file.name.startswith(ELSEWHERE)]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with reports of the notebooks, with few draws and swaps and small galleries.

    In `make test` all run in one process, in `make test-all` each in a kernel of its own.
    """
    out, listed = tmp_path_factory.mktemp("reports"), []
    for file in NOTEBOOKS:
        few = FEW.keys() & Notebook.read(file).defaults
        listed.append({"notebook": str(file), "parameters": {name: FEW[name] for name in few}})
    (out / "reports.yml").write_text(yaml.safe_dump({"reports": listed}))
    if ALL:
        reports.build_manifest(out / "reports.yml", out=out, workers=1, figures=False)
    else:
        given = ("--manifest", out / "reports.yml", "--out", out, "--set", "figures=off")
        executed.run(("report", *given, "--workers", "1"))
    return out


@pytest.mark.parametrize("name", [notebook.stem for notebook in NOTEBOOKS])
def test_notebook_runs_without_arguments(built, name):
    found = record.read(built, name)
    assert found.ok, found.error
    assert found.summary.finding


class Reader(ExitStack):
    """One browser for all pages of a size, until it stops to draw."""

    def __init__(self, width, scheme):
        super().__init__()
        self.window = {"size": (width, 900), "scheme": scheme}
        self.visit = None

    def open(self, file):
        """A visit to a page whose charts were all near."""
        for _ in range(2):
            if self.visit is None:
                self.visit = self.enter_context(browser.page(**self.window))
            visit = self.visit
            for seen in (visit.requests, visit.console, visit.errors, visit.dialogs):
                seen.clear()
            visit.page.goto(file.as_uri(), wait_until="load")
            if visit.page.evaluate(TO_THE_END):
                return visit
            # On a busy machine Chromium's process for graphics may stall for good.
            self.close()
            self.visit = None
        raise AssertionError(f"two browsers drew no frame of {file.name}")


# Of each kind of page one is opened in `make test`, and all in `make test-all`.
PAGES = ["index", *(notebook.stem for notebook in NOTEBOOKS)]
ON_DESKTOP = ["10_content_modality", "40_form_filling", "60_financial_facts"]
ON_DESKTOP = PAGES if ALL else ON_DESKTOP
ON_PHONE = PAGES if ALL else ["index", "72_counterfactual"]
WINDOWS = {"desktop": (1280, "light"), "phone": (390, "dark")}


@pytest.fixture(scope="module")
def reader(request):
    with Reader(*WINDOWS[request.param]) as reader:
        yield reader


@pytest.mark.browser
@pytest.mark.parametrize(
    ("reader", "name"),
    [*(("desktop", name) for name in ON_DESKTOP), *(("phone", name) for name in ON_PHONE)],
    indirect=["reader"],
)
def test_page_opens_offline_without_request_or_error(built, name, reader):
    visit = reader.open(built / f"{name}.html")
    page = visit.page
    waiting = page.locator('.fl-object:is([data-kind="vega"], [data-kind="plotly"]):visible')
    waiting.and_(page.locator(":not([data-state])")).first.wait_for(state="detached")
    assert page.locator('[data-state="failed"]').count() == 0
    assert page.locator("h1").text_content()
    # Charts are drawn, not only announced.
    assert page.locator("svg, canvas, table, a").count() > 0
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    assert visit.trouble == []
