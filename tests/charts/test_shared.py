"""What several notebooks show: findings with their links."""

import json

import polars as pl
import pytest

from formlab import charts
from formlab.analysis import Finding
from formlab.charts import theme
from formlab.charts._shared import LINKS_VARIABLE

KEY = {"benchmark": "funsd", "split": "test", "system": "ocr"}


@pytest.fixture
def findings():
    numbers = {"effect": 0.5, "ci_low": 0.4, "ci_high": 0.6, "n_cases": 4, "n_docs": 2}
    return [Finding("<b>half</b> is lost", "cause", what_to_try="look", **KEY, **numbers)]


def test_finding_links_to_the_report_beside_it_where_there_is_one(findings, monkeypatch):
    names = ["10_content_modality", "10_content_modality--ocr", "20_layout_structure"]
    built = {name: [] for name in names} | {names[1]: [":".join(KEY.values())]}
    monkeypatch.setenv(LINKS_VARIABLE, json.dumps(built))
    table = charts.findings_table(findings, {"funsd": "10_content_modality"})
    # Its own evaluation's before that of the sample.
    assert table.frame["report"].to_list() == ["10_content_modality--ocr.html"]
    columns = table._repr_mimebundle_()[theme.MIME.format("table")]["columns"]
    assert columns[-1]["link"] is True
    assert table.frame["effect"].to_list() == ["0.500 (0.400 to 0.600)"]
    # The page of a notebook that shows another sample is none of this benchmark.
    table = charts.findings_table(findings, {"funsd": "20_layout_structure--"})
    assert "report" not in table.frame.columns
    monkeypatch.delenv(LINKS_VARIABLE)
    assert "report" not in charts.findings_table(findings, {"funsd": "10"}).frame.columns
    assert charts.findings_table([], {}).label == "Note"


def test_only_a_page_beside_the_report_becomes_a_link():
    names = ["10_a.html", "javascript:alert(1)//.html", "../x.html", "<b>.html"]
    table = charts.Table(pl.DataFrame({"report": names}), links=("report",))
    page = table._repr_mimebundle_()["text/html"]
    assert page.count("<a ") == 1
    assert '<a href="10_a.html">10_a.html</a>' in page
