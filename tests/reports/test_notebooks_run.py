"""Notebooks of the project, run on the samples and opened with the network off."""

from pathlib import Path

import pytest
import yaml

from formlab import browser, reports
from formlab.reports import record
from formlab.reports.plan import Notebook
from tests import executed
from tests.seeds import ALL
from tests.states import draw_all

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
    found = record.every(built)[name]
    assert found.ok, found.error
    assert found.finding


# Of each kind of page one is opened in `make test`, and all in `make test-all`.
PAGES = ["index", *(notebook.stem for notebook in NOTEBOOKS)]
ON_DESKTOP = ["10_content_modality", "40_form_filling", "60_financial_facts"]
ON_DESKTOP = PAGES if ALL else ON_DESKTOP
ON_PHONE = PAGES if ALL else ["index", "72_counterfactual"]
WINDOWS = {"desktop": (1280, "light"), "phone": (390, "dark")}


@pytest.fixture(scope="module")
def visit(request):
    """One browser for all pages of a size."""
    width, scheme = WINDOWS[request.param]
    with browser.page(size=(width, 900), scheme=scheme) as opened:
        yield opened


@pytest.mark.browser
@pytest.mark.parametrize(
    ("visit", "name"),
    [*(("desktop", name) for name in ON_DESKTOP), *(("phone", name) for name in ON_PHONE)],
    indirect=["visit"],
)
def test_page_opens_offline_without_request_or_error(built, name, visit):
    page = visit.page
    page.goto((built / f"{name}.html").as_uri(), wait_until="load")
    draw_all(page)
    assert page.locator('[data-state="failed"]').count() == 0
    assert page.locator("h1").text_content()
    # Charts are drawn, not only announced.
    assert page.locator("svg, canvas, table, a").count() > 0
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    assert visit.trouble == []
