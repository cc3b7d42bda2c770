"""What several notebooks show: findings with their links."""

import json

import polars as pl
import pytest

from formlab import charts, tables
from formlab.analysis import Finding
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
    columns = table.payload["columns"]
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


def test_lines_of_two_trees_stand_side_by_side_and_what_is_kept_is_folded():
    rows = [  # path, predicted path, label, predicted label, edit
        ("/A", "/A", "A", "A", "kept"), ("/A/b", None, "b", None, "deleted"),
        (None, "/A/e", None, "e", "inserted"), ("/C", "/C", "C", "C", "kept"),
        *((f"/C/{n}", f"/C/{n}", n, n, "kept") for n in "1234"),
        ("/C/f", "/A/f", "f", "f", "moved"), ("/D", "/D", "D", "D", "kept"),
    ]  # fmt: skip
    names = ("path", "pred_path", "gold", "pred", "subtype")
    same = {"doc_id": "1", "level": "node"}
    cases = [same | dict(zip(names, row, strict=True)) for row in rows]
    for case in cases:
        case["depth"] = (case["path"] or case["pred_path"]).count("/")
    sizes = {"doc_id": "1", "distance": 3.0, "similarity": 0.5, "nodes": 5, "given": 5}
    over, table = charts.edit_trees(tables.table("cases", cases), pl.DataFrame([sizes]))
    assert over.text.startswith("1: 5 nodes in the gold tree, 5 predicted; ")
    assert table.frame.rows() == [
        ("A", "", "A"), ("\u2003b", "deleted", None), (None, "inserted", "\u2003e"),
        ("C", "", "C"), ("\u2003⋯ 4 kept", "", "\u2003⋯ 4 kept"),
        ("\u2003f", "moved", "\u2003f (now in A)"), ("D", "", "D"),
    ]  # fmt: skip
    nothing = charts.edit_trees(tables.table("cases", []), pl.DataFrame([sizes]).clear())
    assert [part.label for part in nothing] == ["Note"]
