"""What several notebooks show: causes, statuses, pages, weak slices, levels, findings."""

import json
import re

import polars as pl
import pytest

from formlab import analysis, charts, tables
from formlab.analysis import Finding
from formlab.charts import theme
from formlab.charts._shared import LINKS_VARIABLE
from tests.made_slices import of

KEY = {"benchmark": "funsd", "split": "test", "system": "ocr"}
COUNTS = {"case": 5, "missed": 1, "lookalike": 2, "digit": 4, "wrong_field": 1}


def wrong(counts=COUNTS):
    rows = [
        {"cause": cause, "path": f"/{cause}/{n}", "level": "field", "kind": "ab"[n % 2]}
        for cause, count in counts.items()
        for n in range(count)
    ]
    # Nothing is wrong with the first; a page and a node of a tree are no fields.
    more = [{"path": "/ok", "level": "field"}, {"cause": "case", "level": "page"}]
    more.append({"cause": "missed", "path": "/group", "level": "node"})
    return tables.table("cases", [*rows, *more])


def heads_of(*rows):
    base = {"n_docs": 2, "n_cases": 4, "n_missing": 0, "n_undefined": 0, "settings": {}}
    base |= {"split": "s", "system": "x"}
    made = [
        base | of(name, metric) | {"metric": metric, "value": value, "ci_low": value - 0.1,
                                   "ci_high": value + 0.1, "benchmark": benchmark, "mode": mode}
        for metric, name, value, benchmark, mode in rows
    ]  # fmt: skip
    return analysis.headlines(tables.table("summary", made))


def panels(chart):
    """The systems of each panel."""
    spec = chart.to_dict()
    systems = []
    for part in spec["vconcat"]:
        # The data of a single panel stand beside it.
        (name,) = set(re.findall(r"'name': '(data-\w+)'", str([part, spec.get("data")])))
        systems.append([row["system"] for row in spec["datasets"][name]])
    return systems


def test_no_panel_has_two_metrics_or_two_denominators():
    heads = heads_of(
        ("cer", "all", 0.2, "funsd", "fixed"), ("wer", "all", 0.4, "funsd", "fixed"),
        ("normalised_accuracy", "fields", 0.5, "funsd", "fixed"),
        ("normalised_accuracy", "fields", 0.6, "formcraft", "fixed"),
        ("cer", "all", 1.4, "sroie", "fixed"),
    )  # fmt: skip
    assert [len(panel) for panel in panels(charts.level_dots(heads))] == [2, 1, 1, 1]
    assert charts.level_dots(heads.clear()).label == "Note"
    assert set(charts.headline_table(heads).frame["level"]) == {"reading"}


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


def test_published_figures_join_the_panel_of_their_own_metric_and_mode():
    heads = heads_of(
        ("episodic_value", "all", 0.5, "formfactory", "official"),
        ("value_submitted_accuracy", "fields", 0.8, "formfactory", "official"),
    )
    printed = charts.published_levels().filter(why="")
    first, second = panels(charts.level_dots(heads, printed))
    assert "Qwen-VL-Max on formfactory" in first
    assert len(first) == 7
    # What was submitted is another measure than what stands anywhere: it has an axis of its own.
    assert second == ["x on formfactory:s"]
    other_mode = heads_of(("micro_f1", "all", 0.6, "vrdu", "fixed"))
    assert panels(charts.level_dots(other_mode, printed)) == [["x on vrdu:s"]]
